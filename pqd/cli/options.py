"""Options that several commands share, and how their texts become what the library takes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciders.errors import ParameterError, PqdError
from pqd.paths import unlinked, usable, writable, write_text

if TYPE_CHECKING:
    from fractions import Fraction

    from rich.console import RenderableType

    from pqd.parameters import Criteria
    from pqd.sql.query import Query
    from reports.models.audit import AuditReport
    from reports.models.check import CheckReport
    from reports.models.compare import CompareReport
    from reports.models.plan import PlanReport
    from reports.models.release import ReleaseReport

    AnyReport = AuditReport | CheckReport | CompareReport | PlanReport | ReleaseReport

# What a report is never written to, whether or not it is a table of this run.
_TABLES = {".csv", ".tsv", ".parquet", ".gz"}

Synthetic = Annotated[
    str, typer.Argument(help="The synthetic copy, taken as public.", show_default=False)
]
QueryTexts = Annotated[
    list[str] | None,
    typer.Option("--query", "-q", metavar="SQL", help="A query; may be given several times."),
]
QueryFile = Annotated[
    Path | None,
    typer.Option(
        "--queries",
        metavar="FILE",
        help="A file of queries: .sql (statements end in ;, '-- id: NAME' before one names it) "
        "or .csv (columns id, aggregate, attribute, where_sql).",
    ),
]
Tau = Annotated[
    str | None,
    typer.Option(
        metavar="TAU",
        help="Tolerance: an amount (10), or a share of the synthetic answer (3.2%).",
    ),
]
Alpha = Annotated[str, typer.Option(metavar="P", help="Error probability that you accept.")]
DeciderName = Annotated[
    str,
    typer.Option(
        "--decider",
        metavar="NAME",
        help="auto (errs least on public data), paper (its Table 4), or the id of a decider.",
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=LOW:HIGH[:STEP]",
        help="Public bounds of an aggregated column; else from the synthetic table.",
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COLUMN=KIND",
        help="Kind of a column: number, text, boolean or time; else from the synthetic table.",
    ),
]
Bins = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=LOW:HIGH:WIDTH",
        help="Ask each query once per bin of a number; disjoint bins are charged once.",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="All rows with one value of this column are one person; else one row is one person.",
    ),
]
MaxRows = Annotated[
    str,
    typer.Option(
        "--max-rows",
        metavar="N",
        help="With --unit: how many rows of a person count where rows do (not COUNT and SUM); "
        "the cost is N times epsilon there.",
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Where the budget is kept; else as the variable PQD_LEDGER says, else "
        "pqd-ledger.sqlite beside the private table.",
        show_default=False,
    ),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Ask and pay again what the ledger could replay at no cost."),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Also draw Pr[yes] against the true gap per decider."),
]
Json = Annotated[
    str | None,
    typer.Option(metavar="FILE|-", help="Write the report as JSON; - for standard output."),
]
Html = Annotated[
    str | None,
    typer.Option(metavar="FILE|-", help="Write the report as one page of HTML."),
]
Markdown = Annotated[
    str | None,
    typer.Option(metavar="FILE|-", help="Write a summary in Markdown, as for a pull request."),
]


def terms_of(
    *,
    tau: str | None,
    alpha: str,
    decider: str,
    bounds: list[str] | None,
    types: list[str] | None,
    detailed: bool,
    planning: bool = False,
) -> Criteria:
    """Read the options that state the terms of an audit or a plan, but for the budget."""
    from pqd.parameters import Criteria

    if not tau:
        raise ParameterError("--tau is missing; give it a value such as 10 or 3.2%")
    return Criteria.of(
        tau=tau,
        alpha=alpha,
        decider=decider,
        columns=_columns(bounds or [], types or []),
        detailed=detailed,
        planning=planning,
    )


def budget(text: str) -> Fraction:
    """Return a budget that is stated on the command line."""
    from pqd.parameters import stated_budget

    return stated_budget(text)


def _columns(bounds: list[str], types: list[str]) -> dict[str, dict[str, Any]]:
    from pqd.columns import parse_bounds, parse_type

    columns: dict[str, dict[str, Any]] = {}
    for name, facts in [*map(parse_bounds, bounds), *map(parse_type, types)]:
        entry = columns.setdefault(name, {})
        if entry.keys() & facts.keys():
            raise ParameterError(f'the same fact about "{name}" is given twice')
        entry.update(facts)
    return columns


def selected(
    texts: list[str] | None, file: Path | None, bins: str | None, *tables: str
) -> tuple[Query, ...]:
    """Return the queries given one by one, then those of the file; each once per bin."""
    from pqd.sql.grouping import Bins
    from pqd.sql.workload_files import as_queries, read_queries

    queries = as_queries([*(texts or []), *(read_queries(usable(file), tables) if file else ())])
    if bins is None:
        return queries
    cut = Bins.parse(bins)
    return tuple(one for query in queries for one in cut.of(query))


@dataclass(frozen=True, slots=True)
class Targets:
    """Where renderings go, by kind: a file, or ``-`` for standard output."""

    places: Mapping[str, str]

    @property
    def takes_stdout(self) -> bool:
        """Whether one goes to standard output, in place of the terminal report."""
        return "-" in self.places.values()

    def check(self, *inputs: str) -> None:
        """Refuse what cannot or must not be written, before anything is spent."""
        for target in self.places.values():
            check_target(target, *inputs)

    def write(self, report: AnyReport) -> None:
        """Write each; the first that fails is raised after all others are written."""
        failed: PqdError | None = None
        for kind, target in self.places.items():
            try:
                write(rendered(kind, report), target)
            except PqdError as error:
                failed = failed or error
        if failed:
            raise failed


def targets(**places: str | None) -> Targets:
    """Return the renderings that are asked for.

    Raises
    ------
    ParameterError
        If two go to the same place.
    """
    asked = {kind: target for kind, target in places.items() if target is not None}
    files = [str(usable(Path(t)).resolve()) if t != "-" else t for t in asked.values()]
    if len(set(files)) < len(files):
        raise ParameterError("two outputs go to the same place; name different files")
    return Targets(asked)


def rendered(kind: str, report: AnyReport) -> str:
    """Return a report as ``json``, ``markdown`` or ``html``."""
    if kind == "json":
        return report.to_json()
    if kind == "markdown":
        return report.to_markdown()
    return report.to_html(command_line())


def command_line() -> str:
    """Return the command that is running, as one would type it."""
    return shlex.join(["pqd", *sys.argv[1:]])


def named(*paths: Path | None) -> tuple[str, ...]:
    """Return the files that are given."""
    return tuple(str(path) for path in paths if path)


def check_target(target: str | None, *inputs: str) -> None:
    """Refuse a file that cannot or must not be written, before anything is spent."""
    if target in {None, "-"}:
        return
    path = unlinked(usable(str(target)))
    if path.is_dir():
        raise ParameterError(f"{target} cannot be written: it is a folder; name a file in it")
    if path.suffix.lower() in _TABLES:
        raise ParameterError(f"{target} is named like a table; name a report, such as report.json")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"{target} cannot be written: there is no such folder")
    writable(path)
    from pqd.accounting.hash_chain import is_ledger

    if any(path.resolve() == usable(Path(one)).resolve() for one in inputs) or is_ledger(path):
        raise ParameterError(f"{target} is an input of this run, or a ledger; write elsewhere")


def new_table(path: str | None) -> Path | None:
    """Return where a table is to be made, or refuse it, before anything is spent."""
    if path is None:
        return None
    from pqd.engine.export import check_new

    return check_new(path)


def write(text: str, target: str, *, append: bool = False) -> None:
    """Write a rendering to a file, or to standard output for ``-``."""
    if target == "-":
        typer.echo(text, nl=False)
        return
    write_text(Path(target), text, append=append)


def show(renderable: RenderableType) -> None:
    """Print a report; a reader that closes the pipe ends the run without a word."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    Terminal(highlight=False).print(renderable)
