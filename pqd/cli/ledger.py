"""``pqd ledger``: what was spent, and whether the record is complete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pqd.cli import outputs
from pqd.cli.display import DisplayOptions
from pqd.cli.options import path
from pqd.deciders.errors import ParameterError
from pqd.engine.sources.locations import location_of
from pqd.paths import usable

if TYPE_CHECKING:
    from pqd.accounting.ledger import Ledger

app = typer.Typer(
    help="Show, verify, limit or export the record of what was spent on private tables.",
    no_args_is_help=True,
)

Place = Annotated[
    str,
    typer.Argument(
        metavar="path",
        help="The ledger, or the private table or folder that it lies beside or in.",
        show_default=False,
    ),
]


@app.command()
def show(
    place: Place,
    json: outputs.Json = None,
) -> None:
    """Show, per table, what was spent and for which queries.

    Example: pqd ledger show private.csv
    """
    renderings = (outputs.Target("json", json),) if json else ()
    targets = outputs.Targets(renderings).beside(_input(place), ledger=_place(place))
    targets.finish(_opened(place).statement(), DisplayOptions())


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
        str, typer.Argument(help="The most epsilon that may be spent on each private table.")
    ],
    delta: Annotated[str, typer.Option(metavar="DELTA", help="The most delta on each.")] = "0",
    table: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Limit this table alone, by its number in `pqd ledger show`."
        ),
    ] = None,
) -> None:
    """Set the most that may ever be spent, in all runs together, on each private table of a ledger.

    A run that would spend more is refused, and spends nothing; of several limits the tightest
    holds.  The ledger is made if there is none.

    Example: pqd ledger limit private.csv 10
    """
    from pqd.accounting.accounts import Budget
    from pqd.accounting.ledger import Ledger
    from pqd.deciders.exact import budget_of, exact

    most = exact(delta, "delta")
    if not 0 <= most < 1:
        raise ParameterError(f"delta is {delta}; it must be at least 0 and below 1")
    budget = Budget(budget_of(epsilon), most)
    Ledger(_place(place)).set_limit(budget, table)
    typer.echo(f"At most epsilon {epsilon} and delta {delta} on {_whom(table)} from now on.")


@app.command()
def export(
    place: Place,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Where the entries go.")] = "-",
) -> None:
    """Write every entry with its hash as JSON lines, for pqd ledger verify --export."""
    outputs.check_place(file, _input(place), ledger=_place(place))
    outputs.write(_opened(place).export(), file)


def _whom(table: int | None) -> str:
    return "every table" if table is None else f"table {table}"


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
