"""Arguments and options that several commands share, in groups."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from pqd.cli.option_groups import option_group
from pqd.deciders.errors import ParameterError
from pqd.engine.sources.locations import is_address, like_table, location_of, short_name
from pqd.errors import for_all
from pqd.paths import usable
from pqd.progress import strict as warnings_are_errors
from pqd.threads import stated_threads

if TYPE_CHECKING:
    from pqd.accounting.accountant import Accountant
    from pqd.attacks.planned_risk import RiskRequest
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.parameters import Criteria
    from pqd.sql.query import Query
    from pqd.stated.column_facts import Facts
    from pqd.stated.text_formats import TextFormats


def path(text: str) -> Path:
    """Path of a file as given; the code that opens the file checks it with ``usable``.

    Typer's own parser is not used: in some versions it breaks on a path that the system cannot
    follow.
    """
    return Path(text)


PRIVATE = (
    "The private table: .csv, .tsv, .jsonl or .parquet, a folder or 'pattern' of such parts, "
    "FILE.duckdb::TABLE, spark://schema.table, or "
    "postgresql://user@host/db?table=schema.name."
)
Private = Annotated[str, typer.Argument(help=PRIVATE, show_default=False)]
Synthetic = Annotated[
    str, typer.Argument(help="The synthetic table, taken as public.", show_default=False)
]
Epsilon = Annotated[
    str | None,
    typer.Option(metavar="EPSILON", help="Privacy budget of each query, such as 0.25."),
]
TotalEpsilon = Annotated[
    str | None,
    typer.Option(
        metavar="EPSILON", help="Privacy budget of all queries of the run together, such as 1."
    ),
]
Sure = Annotated[
    str | None,
    typer.Option(
        metavar="P%",
        help="State how sure verdicts must be, such as 95% (alpha is the rest), in place of a "
        "budget: each query gets the least epsilon that decides it.",
    ),
]
AtMost = Annotated[
    str | None,
    typer.Option(
        metavar="EPSILON",
        help="With --sure: the most that all queries of the run may cost together.",
    ),
]
Alpha = Annotated[
    str, typer.Option(metavar="P", help="Accepted risk of a wrong verdict (0.05 is 5 %).")
]
PrivateRows = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Number of rows of the private table, where it may be published, for a copy of "
        "another size. It is never compared with the table.",
    ),
]
GateOption = Annotated[
    str | None,
    typer.Option(
        "--gate",
        metavar="EPSILON",
        help="Make one test of whether all conditions hold, for this epsilon in all, in place of a "
        "verdict on each.",
    ),
]
NamesOption = Annotated[
    str | None,
    typer.Option(
        "--names",
        metavar="EPSILON",
        help="Name the worst condition if the gate does not pass, for this epsilon, spent only "
        "then.",
    ),
]
HeldOut = Annotated[
    str | None,
    typer.Option(
        metavar="TABLE",
        help="Rows of the same population, of other persons, that the generator never saw; "
        "private too, with an account of its own. Without them attacks have no verdicts.",
    ),
]
HeldOutDataset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Data set of which the held-out table is a version, as --dataset is that of the "
        "private table; needed where the ledger has a limit and does not know the table.",
    ),
]
_THREADS = "threads"
Type = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COLUMN=KIND",
        help="Kind of a column: number, text, boolean or time; else from the synthetic table.",
    ),
]
Threads = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Number of threads that read tables, 1 to 1023; by default the variable PQD_THREADS, "
        "else one per core. No result depends on it.",
        show_default=False,
    ),
]
_STRICT = "strict"
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Stop at a warning, before anything is spent. Warnings concern a text or number that "
        "the copy never holds, an unusual tolerance or budget, or cells of another kind.",
    ),
]


@option_group
class QueryOptions:
    """Queries of a run, given one by one or in a file; with bins each query is asked per bin."""

    query: Annotated[
        list[str] | None,
        typer.Option("--query", "-q", metavar="SQL", help="A query; may be given several times."),
    ] = None
    queries: Annotated[
        Path | None,
        typer.Option(
            parser=path,
            metavar="FILE",
            help="A file of queries: .sql (statements end in ;, and before one may stand '-- id: "
            "NAME', '-- tau: 5%', '-- bins: age=20:80:10', '-- weight: 3') or .csv (columns id, "
            "sql or id, aggregate, attribute, where_sql; tau, bins, weight).",
        ),
    ] = None
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="CONDITION",
            help="A rule that each row keeps, such as 'age >= 18': about as many private rows "
            "as rows of the copy violate it, within 0.1% of rows; may be given several times.",
        ),
    ] = None
    bins: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=BINS",
            help="Take each query once per bin of a number, LOW:HIGH:WIDTH, unless it states its "
            "own; disjoint bins are charged once.",
        ),
    ] = None

    @property
    def stated(self) -> bool:
        """Whether a query, a file of queries or a bin is given."""
        return bool(self.query or self.queries or self.rule or self.bins)

    def check(self, *tables: str, explain: str | None = None) -> None:
        """Refuse a run without a query, and offer ``pqd profile`` of its ``tables``.

        ``explain`` names the verdict of an earlier run that the caller wants to see, if any.
        """
        from pqd.stated.queries import check_stated

        named = self.query or self.queries or self.rule or None
        check_stated(named, " ".join(["pqd profile", *map(shlex.quote, tables)]), explain)

    def read(self, *tables: str) -> tuple[Query, ...]:
        """Queries given one by one, queries of the file, which must not be a table, and rules."""
        from pqd.sql.query import Query
        from pqd.sql.workload_files import as_queries, read_queries

        for text in self.query or ():
            if text.lower().endswith((".sql", ".csv")) and not text.split()[1:]:
                write = shlex.quote(text)
                raise ParameterError(f"the query {text} looks like a file; write --queries {write}")
        files = [file for table in tables for file in location_of(table).files]
        file = read_queries(usable(self.queries), files) if self.queries else ()
        rules = [
            Query.rule(must, f"rule{number}") for number, must in enumerate(self.rule or [], 1)
        ]
        return as_queries([*(self.query or []), *file, *rules], self.bins)


@option_group
class CriteriaOptions:
    """Tolerance and level of a verdict."""

    tau: Annotated[
        str | None,
        typer.Option(
            metavar="TAU",
            help="Tolerance: an amount (10), a share of the synthetic answer (3.2%), or of a COUNT "
            "a share of all rows ('0.1% of rows'). Needed unless every query has its own.",
        ),
    ] = None
    alpha: Alpha = "0.05"
    tau_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=TAU",
            help="Tolerance of one query; it goes before the one in the file of queries and before "
            "--tau. May be given several times.",
        ),
    ] = None
    private_rows: PrivateRows = None
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="rows",
            help="The copy has another size: compare a COUNT as a share of all rows, and a SUM per "
            "row.",
        ),
    ] = None

    def of(self, queries: tuple[Query, ...]) -> tuple[tuple[Query, ...], Self]:
        """Queries, of which some have a tolerance of their own, and criteria for all others."""
        from pqd.stated.queries import scaled, with_tolerances

        stated = values_by_name(self.tau_of or [], "tolerance", "q1=5%", last=True)
        workload, tau = with_tolerances(scaled(queries, self.scale), self.tau or None, stated)
        return workload, replace(self, tau=str(tau))


@option_group
class VerdictOptions(CriteriaOptions):
    """Tolerance and level of a verdict, and its decider."""

    decider: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (the decider that is wrong least often on public data), paper (of the "
            "paper's deciders that one), or the id of a decider.",
        ),
    ] = "auto"
    decider_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option of the decider that --decider names: beta of r2t_sum and r2t_sum_tight "
            "(0.05), theta of svt_sum (0.95), share of epsilon for the count of lm_mean (0.5). May "
            "be given several times.",
        ),
    ] = None
    outside: Annotated[
        bool,
        typer.Option(
            "--outside",
            help="Take a tenth of each epsilon to count the rows beyond bounds that nobody stated; "
            "where some lie beyond, a verdict within these bounds is withheld.",
        ),
    ] = False


@option_group
class ColumnOptions:
    """Public facts about columns."""

    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=RANGE",
            help="Public bounds of an aggregated column, LOW:HIGH or LOW:HIGH:STEP, or one of them "
            "(LOW: or :HIGH); else from the synthetic table.",
        ),
    ] = None
    type_: Type = None

    metadata: Annotated[
        Path | None,
        typer.Option(
            parser=path,
            metavar="FILE",
            help="Facts of columns, as JSON: metadata of SDV for one table, or a table schema of "
            "Frictionless. --bounds, --type and --cells go before it. By default the file "
            "COPY.metadata.json beside the copy, unless the private table lies there too.",
            show_default=False,
        ),
    ] = None

    @property
    def stated(self) -> bool:
        """Whether bounds, a type or a file of facts are given."""
        return bool(self.bounds or self.type_ or self.metadata)

    def facts(self, private: str | None, copies: Sequence[str], unit: UnitOptions) -> Facts:
        """Facts of columns, joined with those of the file that is named or beside one copy."""
        from pqd.stated.metadata_files import stated_facts

        asks = not unit.stated
        return stated_facts(self.read(), self.metadata, private, copies, asks_unit=asks)

    def read(self) -> dict[str, dict[str, Any]]:
        """Stated facts by column, in the form that ``pqd.audit`` accepts."""
        from pqd.stated.column_facts import parse_bounds, parse_type

        columns: dict[str, dict[str, Any]] = {}
        texts = [
            *((parse_bounds, text) for text in self.bounds or []),
            *((parse_type, text) for text in self.type_ or []),
        ]
        for name, facts in for_all(lambda each: each[0](each[1]), texts):
            known = columns.setdefault(name, {})
            if known.keys() & facts.keys():
                raise ParameterError(f'the same fact about "{name}" is given twice')
            known.update(facts)
        return columns


@option_group
class TextOptions:
    """Format of the cells of delimited text, in both tables or in one."""

    decimal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIGN",
            help="Sign before the decimals of numbers in CSV: . (if left out) or ,. This and the "
            "next options hold for both tables, or for one: --decimal private=,",
        ),
    ] = None
    thousands: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIGN",
            help="Sign between the thousands of numbers in CSV: . or , or ' or a blank; else there "
            "is none.",
        ),
    ] = None
    dates: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORM",
            help="Form of days or times in text, such as %d.%m.%Y or '%d.%m.%Y %H:%M', beside ISO; "
            "may be given several times.",
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXTS",
            help="More texts in CSV that mean a missing cell, such as k.A.,unknown, beside the "
            "usual ones (NA, N/A, NaN, NULL, None, -, #NV and the like); '' sets these aside.",
        ),
    ] = None

    @property
    def stated(self) -> bool:
        """Whether some part of a format is given."""
        return any((self.decimal, self.thousands, self.dates, self.missing))

    def over(self, facts: Facts) -> TextFormats:
        """Formats as ``read``, with what the file of the facts states beside the options."""
        from pqd.stated.column_facts import format_of_file

        return self.read().over(format_of_file(facts))

    def read(self) -> TextFormats:
        """Formats of the private table and of the synthetic tables, as options state them."""
        from pqd.stated.text_formats import parse_text_formats

        stated = {
            "decimal": self.decimal,
            "thousands": self.thousands,
            "dates": self.dates,
            "missing": self.missing,
        }
        return parse_text_formats({name: each for name, each in stated.items() if each})


@option_group
class UnitOptions:
    """Privacy unit: the column that names the person to whom a row belongs."""

    unit: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="All rows with one value of this column are one person; else one row is one "
            "person.",
        ),
    ] = None
    max_rows: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="With --unit: as how many rows a person counts at most where rows count (AVG, "
            "MEDIAN, QUANTILE, profiles; COUNT and SUM count a person once). The cost is N times "
            "epsilon there.",
        ),
    ] = "1"

    row_is_person: Annotated[
        bool,
        typer.Option(
            "--row-is-person",
            help="State that each row is one person. Without it and without --unit a run stops "
            "before it spends where the copy has a column like person_id that repeats.",
        ),
    ] = False

    @property
    def stated(self) -> bool:
        """Whether the caller says who is a person."""
        return bool(self.unit is not None or self.row_is_person)

    def read(self) -> PrivacyUnit | None:
        """Privacy unit; None if one row is one person."""
        from pqd.parameters import privacy_unit

        return privacy_unit(self.unit, self.max_rows, row_is_person=self.row_is_person)


@option_group
class LedgerOptions:
    """Ledger: the account of the private table."""

    ledger: Annotated[
        Path | None,
        typer.Option(
            parser=path,
            metavar="FILE",
            help="Ledger that keeps the budget; by default the variable PQD_LEDGER, else "
            "pqd-ledger.sqlite beside the private table.",
            show_default=False,
        ),
    ] = None
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Measure, and pay for, again what the ledger could replay at no cost."
        ),
    ] = False

    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Data set of which the private table is a version: its name, or its number in "
            "`pqd ledger show`. The budget belongs to the data set; by default the place and the "
            "content of the table find it.",
            show_default=False,
        ),
    ] = None

    def accountant(
        self, private: str, *, replaying: bool = False, row_is_person: bool = False
    ) -> Accountant:
        """Accountant of a private table; if ``replaying``, it spends nothing."""
        from pqd.accounting.accountant import Accountant
        from pqd.accounting.ledger_location import ledger_path

        path = ledger_path(private, self.ledger)
        return Accountant(
            path,
            fresh=self.fresh,
            replaying=replaying,
            row_is_person=row_is_person,
            dataset=self.dataset,
        )


@option_group
class AttackOptions:
    """Attacks that another report tries too, with a budget of their own."""

    risk: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="Also say whether a copy gives anybody away, by the attacks of pqd risk, for "
            "this epsilon beside --total-epsilon.",
        ),
    ] = None
    held_out: HeldOut = None
    held_out_dataset: HeldOutDataset = None

    @property
    def stated(self) -> dict[str, object]:
        """Stated options by name."""
        return {
            "--risk": self.risk,
            "--held-out": self.held_out,
            "--held-out-dataset": self.held_out_dataset,
        }

    def read(
        self,
        formats: TextFormats,
        ledger: LedgerOptions,
        *,
        replaying: bool,
        row_is_person: bool,
    ) -> RiskRequest | None:
        """Request of attacks; None if none is stated."""
        from pqd.attacks.planned_risk import risk_request

        accountant = None
        if self.held_out is not None:
            apart = replace(ledger, dataset=self.held_out_dataset)
            accountant = apart.accountant(
                self.held_out, replaying=replaying, row_is_person=row_is_person
            )
        return risk_request(
            self.risk,
            held_out=formats.table(self.held_out, "held-out"),
            held_out_dataset=self.held_out_dataset,
            accountant=accountant,
        )


def criteria(
    stated: CriteriaOptions,
    columns: Facts,
    decider: str,
    *,
    detailed: bool = False,
    planning: bool = False,
) -> Criteria:
    """Criteria of verdicts, without a budget."""
    texts = stated.decider_option if isinstance(stated, VerdictOptions) else None
    from pqd.parameters import Criteria, Detail

    return Criteria.of(
        tau=stated.tau or None,
        alpha=stated.alpha,
        mechanism=decider,
        columns=columns,
        options=values_by_name(texts or [], "decider option", "beta=0.05"),
        outside=getattr(stated, "outside", False),
        private_rows=stated.private_rows or None,
        detail=Detail.CURVES if detailed else Detail.BUDGETS if planning else Detail.THRESHOLDS,
    )


def with_threads(command: Callable[..., None]) -> Callable[..., None]:
    """Command that also has the options ``--threads`` and ``--strict``."""

    @functools.wraps(command)
    def run(
        threads: str | None = None,
        strict: bool = False,
        **values: Any,  # noqa: ANN401 - any option
    ) -> None:
        with stated_threads(threads), warnings_are_errors(stated=strict):
            command(**values)

    signature = inspect.signature(command)
    kind = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(_THREADS, kind, annotation=Threads, default=None),
        inspect.Parameter(_STRICT, kind, annotation=Strict, default=False),
    ]
    parameters = [*signature.parameters.values(), *options]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, _THREADS: Threads, _STRICT: Strict}
    return run


def values_by_name(
    texts: list[str], what: str, example: str, *, last: bool = False
) -> dict[str, str]:
    """Values by name from ``NAME=VALUE`` texts; with ``last`` the name ends at the last ``=``."""
    values: dict[str, str] = {}

    def read(text: str) -> None:
        name, sign, value = text.rpartition("=") if last else text.partition("=")
        if is_address(text) or (not sign and like_table(text)):
            write = shlex.quote(f"{short_name(text)}={text}")
            raise ParameterError(f"{what} {text!r} has no name; write it as {write}")
        if not sign or not name.strip() or not value:
            raise ParameterError(f"{what} {text!r} is not understood; write it as {example}")
        if name in values:
            raise ParameterError(f"two {what}s are called {name!r}; names must differ")
        values[name] = value

    for_all(read, texts)
    return values
