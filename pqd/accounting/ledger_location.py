"""Where ledgers lie: the one that keeps account of a table, and all that may know it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pqd.accounting.accounts import NO_LIMIT
from pqd.accounting.ledger import FILE_NAME, LEDGER_VARIABLE, Ledger
from pqd.errors import ParameterError
from pqd.paths import usable

if TYPE_CHECKING:
    from pqd.accounting.accountant import Accountant
    from pqd.engine.tables import Table


def ledger_path(
    private: object, ledger: str | Path | None = None, otherwise: Path | None = None
) -> Path:
    """Return where a table's ledger lies: as stated, as PQD_LEDGER or else ``otherwise`` says.

    Without any of these it lies beside the table, for a frame in the working folder.

    Raises
    ------
    ParameterError
        If the system cannot follow the path.
    """
    stated = ledger or _variable() or otherwise
    if stated:
        return usable(stated)
    if isinstance(private, (str, Path)):
        return usable(private, "the path of the private table").resolve().parent / FILE_NAME
    return Path.cwd() / FILE_NAME


def _variable() -> str:
    return os.environ.get(LEDGER_VARIABLE, "").strip()


def _beside(table: Table) -> Path:
    """Return where the ledger of a table lies if nothing else is said."""
    return (table.path.parent if table.path else Path.cwd()) / FILE_NAME


def check_bound(private: Table, accountant: Accountant) -> None:
    """Refuse to keep account elsewhere while the ledger beside the table states a limit.

    Else whoever names the ledger, a spec or a caller, would choose the limit too.

    Raises
    ------
    ParameterError
        Naming the ledger that must be used.
    LedgerError
        If the ledger beside the table cannot be read.
    """
    own = _beside(private)
    if not own.exists() or own.resolve() == accountant.path.resolve():
        return
    with _opened(own) as ledger:
        limits = {ledger.limit, *(account.limit for account in ledger.accounts)}
    if limits != {NO_LIMIT}:
        raise ParameterError(
            f"the ledger {own.name} beside the private table states a limit (pqd ledger limit), so "
            f"what is asked of the table must be kept there and not in {accountant.path.name}. "
            "Nothing was spent. Leave the other ledger out ([ledger], --ledger, PQD_LEDGER), or "
            "move the one beside the table away if that is yours to decide"
        )


def around(tables: Sequence[Table], accountant: Accountant | None) -> Iterator[Ledger]:
    """Yield every ledger that may know one of ``tables``, once, and let go of it.

    Of the run itself, of PQD_LEDGER, and beside the tables.

    Raises
    ------
    LedgerError
        If one of them is there and cannot be read.
    """
    own = accountant.path.resolve() if accountant and accountant.exists() else None
    if accountant and own:
        yield accountant.ledger
    places = [Path(_variable())] if _variable() else []
    places += [_beside(table) for table in tables]
    for place in dict.fromkeys(_present(places)):
        if place != own:
            with _opened(place) as ledger:
                yield ledger


def _present(places: Sequence[Path]) -> Iterator[Path]:
    for place in places:
        try:
            there = place.exists()
        except (OSError, ValueError):
            there = False
        if there:
            yield place.resolve()


@contextmanager
def _opened(path: Path) -> Iterator[Ledger]:
    ledger = Ledger(path)
    try:
        yield ledger
    finally:
        ledger.close()
