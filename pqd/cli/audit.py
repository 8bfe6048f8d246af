"""``pqd audit``: one verdict per query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciders.errors import ParameterError

if TYPE_CHECKING:
    from pqd.query import Query
    from reports.model import AuditReport


def audit(
    private: Annotated[
        str, typer.Argument(help="The private table: .csv, .tsv or .parquet.", show_default=False)
    ],
    synthetic: Annotated[
        str, typer.Argument(help="Its synthetic copy, taken as public.", show_default=False)
    ],
    query: Annotated[
        list[str] | None,
        typer.Option("--query", "-q", metavar="SQL", help="A query; may be given several times."),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file of queries: .sql (statements end in ;, '-- id: NAME' before one names it) "
            "or .csv (columns id, aggregate, attribute, where_sql).",
        ),
    ] = None,
    tau: Annotated[
        str,
        typer.Option(
            metavar="TAU",
            help="Tolerance: an amount (10), or a share of the synthetic answer (3.2%).",
            show_default=False,
        ),
    ] = "",
    epsilon: Annotated[
        str,
        typer.Option(
            metavar="EPSILON", help="Privacy budget per query, such as 0.25.", show_default=False
        ),
    ] = "",
    alpha: Annotated[
        str,
        typer.Option(metavar="P", help="Error probability that thresholds are given for."),
    ] = "0.05",
    decider: Annotated[
        str, typer.Option(metavar="NAME", help="auto, or the id of a decider.")
    ] = "auto",
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=LOW:HIGH[:STEP]",
            help="Public bounds of a summed or median column; else from the synthetic table.",
        ),
    ] = None,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=KIND",
            help="Kind of a column: number, text, boolean or time; else from the synthetic table.",
        ),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE|-", help="Write the report as JSON; - for standard output."),
    ] = None,
) -> None:
    """Decide, per query, whether the synthetic answer is within TAU of the private one.

    Spends EPSILON per query on the private table. One row counts as one person.

    Example: pqd audit private.csv copy.csv -q "SELECT COUNT(*) FROM D WHERE age > 40" --tau 5%
    --epsilon 0.25
    """
    if not tau or not epsilon:
        missing = "--tau" if not tau else "--epsilon"
        example = "10 or 3.2%" if not tau else "0.25"
        raise ParameterError(f"{missing} is missing; give it a value such as {example}")
    _check_target(json)
    from deciders import SecureNoise

    noise = SecureNoise()
    from deciders.exact import positive, probability
    from pqd.auditor import run
    from pqd.cli.progress import progress
    from pqd.parameters import Tolerance, parse_columns
    from pqd.questions import Terms

    terms = Terms(
        Tolerance.parse(tau),
        positive(epsilon, "epsilon"),
        probability(alpha, "alpha"),
        decider,
        parse_columns(_columns(bounds or [], type_ or [])),
    )
    selected = _selected(query or [], queries)
    with progress() as show:
        report = run(private, synthetic, selected, terms, noise, show)
    _publish(report, json)


def _check_target(json: str | None) -> None:
    """Refuse a JSON target that cannot be written before anything is spent."""
    if json and json != "-" and (Path(json).is_dir() or not Path(json).absolute().parent.is_dir()):
        raise ParameterError(f"--json {json} cannot be written: there is no such folder")


def _columns(bounds: list[str], types: list[str]) -> dict[str, dict[str, Any]]:
    from pqd.parameters import parse_bounds, parse_type

    columns: dict[str, dict[str, Any]] = {}
    for name, facts in [*map(parse_bounds, bounds), *map(parse_type, types)]:
        entry = columns.setdefault(name, {})
        if entry.keys() & facts.keys():
            raise ParameterError(f'the same fact about "{name}" is given twice')
        entry.update(facts)
    return columns


def _selected(texts: list[str], file: Path | None) -> tuple[Query, ...]:
    from pqd.queries import as_queries, read_queries

    return as_queries([*texts, *(read_queries(file) if file else ())])


def _publish(report: AuditReport, json: str | None) -> None:
    if json == "-":
        typer.echo(report.to_json(), nl=False)
        return
    if json:
        try:
            Path(json).write_text(report.to_json(), encoding="utf-8")
        except OSError as error:
            typer.echo(f"pqd: {json} was not written: {error.strerror}", err=True)
    from rich.console import Console

    from reports.terminal import TerminalReport

    Console(highlight=False, soft_wrap=False).print(TerminalReport(report))
