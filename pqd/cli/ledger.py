"""``pqd ledger``: what was spent, and whether the record is complete."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pqd.cli import outputs
from pqd.cli.display import DisplayOptions
from pqd.cli.option_groups import with_groups
from pqd.cli.options import path
from pqd.deciders.errors import ParameterError
from pqd.engine.sources.locations import location_of
from pqd.paths import usable

if TYPE_CHECKING:
    from pqd.accounting.accounts import Budget
    from pqd.accounting.ledger import Ledger
    from pqd.accounting.periods import PeriodKind

app = typer.Typer(
    help="Show, verify, limit or export the record of what was spent on private tables.",
    no_args_is_help=True,
)

# In place of a limit: there is none.
_NONE = "none"

Place = Annotated[
    str,
    typer.Argument(
        metavar="FILE|FOLDER",
        help="The ledger, or the private table or folder that it lies beside or in.",
        show_default=False,
    ),
]


@app.command()
def show(
    place: Place,
    json: outputs.Json = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Show every run and its queries whole; by default the last twenty, cut."
        ),
    ] = False,
) -> None:
    """Show, per data set, what was spent, on which copies and for which queries.

    Example: pqd ledger show private.csv
    """
    renderings = (outputs.Target("json", json),) if json else ()
    targets = outputs.Targets(renderings).beside(_input(place), ledger=_place(place))
    targets.finish(_opened(place).report(), DisplayOptions(all=every))


@app.command()
@with_groups
def statement(place: Place, written: outputs.OutputOptions) -> None:
    """Write a statement on what is guaranteed and what was spent, for a data protection officer.

    It names each private data set, who is protected, the limits, what was spent and by which
    mechanisms, under which conditions, and how to verify all of it.

    Example: pqd ledger statement private.csv --html statement.html
    """
    from pqd.run.costs import today

    targets = written.targets(_input(place), ledger=_place(place))
    targets.finish(_opened(place).statement(today()), DisplayOptions())


@app.command()
def verify(
    place: Place,
    head: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="A head noted earlier: is it still part of the chain?"),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            parser=path, metavar="FILE", help="An earlier export: does the ledger still begin so?"
        ),
    ] = None,
) -> None:
    """Check the whole hash chain, and that an earlier head or export is still part of it.

    A ledger that was deleted and begun anew, or put back to an old copy, is whole by itself: only
    a head or an export that was kept elsewhere reveals it.
    """
    ledger = _opened(place)
    ledger.verify(head, usable(export) if export else None)
    entries = len(ledger.entries)
    typer.echo(f"whole: {entries} entries, head {ledger.head}")


@app.command()
def limit(
    place: Place,
    epsilon: Annotated[
        str,
        typer.Argument(
            help="The most epsilon that may be spent on each private data set, all versions of a "
            "table together; none for no limit."
        ),
    ],
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="DELTA",
            help="The most delta on each; by default as it was, at first that of a wider limit, "
            "else 0: no run may use a delta.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Limit the data set of this table alone, by its number in `pqd ledger show`.",
        ),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="day|week|month|year",
            help="Limit what is spent in each day, week, month or year of the calendar (UTC), "
            "beside the limit on all that is ever spent.",
        ),
    ] = None,
    raising: Annotated[
        bool,
        typer.Option("--raise", help="Raise the limit; without this it can only be lowered."),
    ] = False,
) -> None:
    """Set the most that may be spent, in all runs together, on each data set of a ledger.

    A run that would spend more is refused, and spends nothing; of several limits the tightest
    holds.  A limit is lowered freely, and raised only with --raise.  The ledger is made if there is
    none.

    Example: pqd ledger limit private.csv 10
    """
    from pqd.accounting.accounts import NO_LIMIT, Budget
    from pqd.accounting.ledger import Ledger
    from pqd.accounting.periods import period_kind
    from pqd.deciders.exact import budget_of, exact

    kind = period_kind(period) if period else None
    most = None if epsilon == _NONE else budget_of(epsilon)
    granted = None if delta in {None, _NONE} else exact(str(delta), "delta")
    if granted is not None and not 0 <= granted < 1:
        raise ParameterError(f"delta is {delta}; it must be at least 0 and below 1")
    ledger = Ledger(_place(place))
    before = ledger.limit_of(table, kind)
    if delta is None and most is not None:
        wider = before, ledger.limit_of(table), ledger.limit
        granted = next((limit.delta for limit in wider if limit != NO_LIMIT), Fraction(0))
    ledger.set_limit(Budget(most, granted), table, period=kind, raising=raising)
    now = ledger.limit_of(table, kind)
    typer.echo(" ".join(_limit_sentences(before, now, _whom(table), kind)))


Table = Annotated[int, typer.Option(metavar="N", help="Number of the table in `pqd ledger show`.")]
Because = Annotated[
    str, typer.Option(metavar="TEXT", help="Why, in words that the ledger keeps for good.")
]


@app.command()
def end(place: Place, table: Table, because: Because) -> None:
    """End the data set of a table: later versions at its place hold other people.

    The next version at the place begins a new data set with a budget of its own.  Rows that were
    charged before stay in the old one.

    Example: pqd ledger end private.csv --table 1 --because "these are the patients of 2027"
    """
    ended = _opened(place).end(table, because)
    typer.echo(
        f"Data set {ended.number} ({ended.label}) is ended. The next version at its place begins "
        "a new data set."
    )


@app.command()
def forget(
    place: Place,
    table: Table,
    because: Because,
    undo: Annotated[
        bool, typer.Option("--undo", help="Declare that the table is private after all.")
    ] = False,
) -> None:
    """Declare that a table is public, and was given as the private one by mistake.

    The table may then be a synthetic copy, and is refused as a private table.  What was charged
    stays on the record, and counts for later versions at the same place.

    Example: pqd ledger forget private.csv --table 2 --because "the two tables were swapped"
    """
    account = _opened(place).declare(table, because, public=not undo)
    state = "private again" if undo else "public from now on, and cannot be the private table"
    typer.echo(f"Table {table} ({account.label}) is {state}.")


@app.command()
def rows_per_person(
    place: Place,
    rows: Annotated[
        int, typer.Argument(metavar="K", help="The most rows of one person in the table.")
    ],
    table: Table,
) -> None:
    """State the most rows of a person, so that charges per row count as charges per person.

    Every charge per row of the data set of the table, earlier and later, then counts up to K times,
    and runs with --unit may follow.  The budget holds for persons with at most K rows.  The number
    must be known: it must not be looked up in the table for this.

    Example: pqd ledger rows-per-person private.csv 12 --table 1
    """
    ledger = _opened(place)
    data_set = ledger.state_rows_per_person(table, rows)
    from pqd.deciders.numbers import epsilon_text

    spent = data_set.spent
    delta = f" and delta {float(spent.delta):.3g}" if spent.delta else ""
    typer.echo(
        f"Data set {data_set.number} ({data_set.label}): epsilon {epsilon_text(spent.epsilon)}"
        f"{delta} spent, for persons with at most {rows:,} rows."
    )


@app.command()
def export(
    place: Place,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Where the entries go.")] = "-",
) -> None:
    """Write every entry with its hash as JSON lines, for pqd ledger verify --export."""
    from pqd.accounting.ledger import is_export

    outputs.check_place(file, _input(place), ledger=_place(place), known=is_export)
    outputs.write(_opened(place).export(), file)


def _whom(table: int | None) -> str:
    return "every data set" if table is None else f"the data set of table {table}"


def _limit_sentences(
    before: Budget, now: Budget, whom: str, period: PeriodKind | None
) -> Iterator[str]:
    """Sentences on a limit that was set, and on the limit before."""
    from pqd.accounting.accounts import NO_LIMIT
    from pqd.reports.text.cost import limit_text

    most = limit_text(now.epsilon, now.delta)
    each = f" in each {period}" if period else ""
    yield f"{most[0].upper()}{most[1:]} on {whom}{each} from now on."
    if before not in {NO_LIMIT, now}:
        yield f"Before: {limit_text(before.epsilon, before.delta)}."
    if now.delta == 0:
        yield "A run that needs a delta is refused (--delta grants one)."


def _input(place: str) -> str | None:
    """File that the command reads; None for a folder, whose ledger is protected anyway."""
    return None if usable(place).is_dir() else place


def _place(place: str) -> Path:
    """Path of the ledger that ``place`` names: a ledger, its folder, or a table."""
    from pqd.accounting.hash_chain import is_ledger
    from pqd.accounting.ledger_location import FILE_NAME, ledger_path

    path = usable(place)
    if path.is_dir():
        return path / FILE_NAME
    if is_ledger(path) or path.suffix == ".sqlite":
        return path
    location = location_of(place)
    if not location.server and not any(file.exists() for file in location.files):
        raise ParameterError(f"{place} does not exist; name a ledger, a folder or a table")
    return ledger_path(place)


def _opened(place: str) -> Ledger:
    """Ledger at ``place``; ParameterError if it does not exist."""
    from pqd.accounting.ledger import Ledger

    path = _place(place)
    if not path.exists():
        raise ParameterError(f"there is no ledger {path}; nothing was charged there yet")
    return Ledger(path)
