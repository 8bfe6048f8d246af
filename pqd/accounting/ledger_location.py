"""Location of ledgers: the ledger of a table, and all ledgers that may know the table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pqd.accounting.accountant import Accountant
from pqd.accounting.free_places import LEDGER_VARIABLE
from pqd.accounting.ledger import Ledger
from pqd.deciders.options import option
from pqd.engine.sources.locations import LEDGER_NAME, is_address, location_of
from pqd.engine.sources.spark_address import is_spark
from pqd.engine.tables import Table
from pqd.errors import ParameterError
from pqd.paths import usable

FILE_NAME = LEDGER_NAME
_UNNAMED = (
    f"a table on a server has no folder for its ledger, and there is no {FILE_NAME} here; name a "
    "file that lasts, always the same one: {0}, [ledger] path in a spec, or the variable "
    f"{LEDGER_VARIABLE}. Nothing was spent"
)


def ledger_path(
    private: object, ledger: str | Path | None = None, otherwise: str | Path | None = None
) -> Path:
    """Path of a table's ledger: ``ledger``, else PQD_LEDGER, else ``otherwise``.

    Without all three the ledger lies next to the table, in the folder of its parts, or for a frame
    in the working folder.  For a table on a server the ledger must exist already: otherwise each
    new working folder would get a new ledger, and the same rows a fresh budget.

    Raises
    ------
    ParameterError
        If the system cannot follow the path, or if a table on a server has no ledger.
    """
    stated = ledger or _variable() or otherwise
    if stated:
        return usable(stated)
    folder = Path.cwd()
    if isinstance(private, (str, Path)):
        location = location_of(private)
        usable(location.path, "the path of the private table")
        folder = location.folder
    own = folder / FILE_NAME
    if not own.exists() and (is_address(private) or is_spark(private)):
        raise ParameterError(_UNNAMED.format(option("--ledger FILE")))
    return own


def _variable() -> str:
    return os.environ.get(LEDGER_VARIABLE, "").strip()


def _default_paths(table: Table) -> list[Path]:
    """Default paths of a table's ledgers: the ledger of the table, and those beside its files.

    The files of a pattern or of a dataset may lie in several folders, each with its own ledger.
    """
    folders = [table.source.folder or Path.cwd(), *(file.parent for file in table.files)]
    return [folder / FILE_NAME for folder in dict.fromkeys(folders)]


def check_governing_ledger(private: Table, accountant: Accountant) -> None:
    """Refuse another ledger if the ledger next to the table states a limit.

    Otherwise a spec or a call could evade the limit by naming another ledger.

    Raises
    ------
    ParameterError
        If the run uses another ledger; the message names the ledger that must be used.
    LedgerError
        If the ledger next to the table cannot be read.
    """
    for own in _default_paths(private):
        if own.exists() and own.resolve() != accountant.path.resolve():
            _check_unlimited(own, accountant)


def _check_unlimited(own: Path, accountant: Accountant) -> None:
    """Refuse the run if the ledger beside the private table states a limit."""
    with _open_ledger(own) as ledger:
        limited = ledger.limited
    if limited:
        raise ParameterError(
            f"the ledger {own.name} beside the private table states a limit (pqd ledger limit), so "
            f"this run must be charged there and not in {accountant.path.name}. "
            "Nothing was spent. Leave the other ledger out ([ledger], "
            f"{option('--ledger')}, PQD_LEDGER), or "
            "move the one beside the table away if that is yours to decide"
        )


def ledgers_of(tables: Sequence[Table], accountant: Accountant | None) -> Iterator[Ledger]:
    """Yield every ledger that may know one of ``tables``; each is closed after its use.

    These ledgers are the run's ledger, the ledger that PQD_LEDGER names, and the ledgers next to
    the tables.  Each is yielded once.

    Raises
    ------
    LedgerError
        If a ledger exists and cannot be read.
    """
    own = accountant.path.resolve() if accountant and accountant.exists() else None
    if accountant and own:
        yield accountant.ledger
    places = [Path(_variable())] if _variable() else []
    places += [path for table in tables for path in _default_paths(table)]
    for place in dict.fromkeys(_present(places)):
        if place != own:
            with _open_ledger(place) as ledger:
                yield ledger


def _present(places: Sequence[Path]) -> Iterator[Path]:
    for place in places:
        try:
            exists = place.exists()
        except (OSError, ValueError):
            exists = False
        if exists:
            yield place.resolve()


@contextmanager
def _open_ledger(path: Path) -> Iterator[Ledger]:
    ledger = Ledger(path)
    try:
        yield ledger
    finally:
        ledger.close()
