"""Separation of tables: a private table that is given as public is refused, before any output.

A report shows exact answers of the synthetic table.  If that is the private table by mistake (a
link to it, a copy of it, arguments swapped), they are exact answers of the private one, for free.
The refusal says that two tables are the same, and nothing else (docs/limitations.md).
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from pqd.accounting.ledger_location import check_governing_ledger, ledgers_of
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import NotPublicError, RunError, TableError
from pqd.exception_barrier import sealed
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from pathlib import Path

    from pqd.accounting.accountant import Accountant
    from pqd.accounting.ledger import Ledger
    from pqd.engine.duckdb import DuckDBEngine
    from pqd.engine.tables import Table

_ITSELF = "is the private table itself; give the synthetic copy"
_ALIKE = "holds the same rows as the private table; give the synthetic copy"


def separate_tables(
    private: object, *synthetic: object, accountant: Accountant | None = None
) -> SyntheticTables:
    """Tables of a run, opened, after a check that none of the public ones is private.

    Raises
    ------
    PqdError
        If one cannot be opened, and as ``check_separation``.
    """
    secret = open_table(private, "private")
    tables = SyntheticTables([open_table(source, "synthetic") for source in synthetic], secret)
    check_separation(tables, accountant)
    return tables


def public_tables(*synthetic: object) -> SyntheticTables:
    """Tables of a plan, opened, after a check that no ledger knows one as private.

    Raises
    ------
    PqdError
        As ``separate_tables``.
    """
    tables = SyntheticTables([open_table(source, "synthetic") for source in synthetic])
    check_separation(tables)
    return tables


def check_separation(tables: SyntheticTables, accountant: Accountant | None = None) -> None:
    """Refuse tables of which a public one is private, and a ledger that evades a limit.

    Every run begins with it.  One that only plans has no private table and no accountant.

    Raises
    ------
    NotPublicError
        If a public table is the private one, holds the same rows, or is known to a ledger (the
        run's, PQD_LEDGER's, one beside a table) as a private table.
    TableError
        If a public table cannot be read.
    ParameterError, LedgerError
        As ``check_governing_ledger``.
    RunError
        If the private table cannot be read.
    """
    private = tables.private
    for public in tables.tables:
        if private and public.frame is not None and public.frame is private.frame:
            raise _refusal(public, _ITSELF)
        if private and private.path:
            check_other_file(private.path, public)
    if private and accountant:
        check_governing_ledger(private, accountant)
    suspects = [_Suspect(*pair) for pair in zip(tables.engines, tables.tables, strict=True)]
    for ledger in ledgers_of([*tables.tables, *([private] if private else [])], accountant):
        for suspect in suspects:
            suspect.check_unknown(ledger)
    if private:
        secret = _Secret(tables.engine, private)
        for suspect in suspects:
            suspect.check_other_rows(secret)


def check_other_file(private: Path, public: Table) -> None:
    """Refuse a public table that is the private file under whatever name; neither need exist."""
    same = False
    with suppress(OSError, ValueError, RuntimeError):
        same = public.path is not None and private.samefile(public.path)
    if same:
        raise _refusal(public, _ITSELF)


def _refusal(public: Table, what: str) -> NotPublicError:
    name = public.label if public.path is None else f"synthetic table {public.label}"
    return NotPublicError(f"the {name} {what}. Nothing was spent")


def _names(table: Table) -> list[str]:
    return sorted(map(fold_case, table.columns))


class _Secret:
    """Private table, and its content under a key that is never stored."""

    def __init__(self, engine: DuckDBEngine, table: Table) -> None:
        self.names, self.key = _names(table), os.urandom(32)
        self.content = cache(
            lambda most: sealed(lambda: engine.content(table, self.key, most, loosely=True))
        )


class _Suspect:
    """Public table, read as if it were private: compared with ledgers and the private table."""

    def __init__(self, engine: DuckDBEngine, public: Table) -> None:
        table = open_table(public.source, "private")
        # Its messages are about the table that it was given as.
        self._table = engine.described(replace(table, role=public.role, label=public.label))
        self._engine, self._public = engine, public
        self._digest = cache(self._table.digest)

    def check_unknown(self, ledger: Ledger) -> None:
        """Refuse a table that a ledger has an account of."""
        if not ledger.accounts:
            return
        known = ledger.fingerprint_of_file(ledger.keyed_digest(self._digest()))
        account = ledger.account(known or ledger.fingerprint(self._content(ledger.key("rows"))))
        if account:
            raise _refusal(
                self._public,
                f"is known to the ledger {ledger.path.name} as a private table (number "
                f"{account.number} there); are the two tables swapped? If it was public all along, "
                "move that ledger away",
            )

    def check_other_rows(self, secret: _Secret) -> None:
        """Refuse a table that holds the private table's rows, however its cells are written."""
        if _names(self._table) != secret.names:
            return
        # Most tables that differ do so in their first column.
        for most in (1, None):
            if secret.content(most) != self._content(secret.key, most, loosely=True):
                return
        raise _refusal(self._public, _ALIKE)

    def _content(self, key: bytes, most: int | None = None, *, loosely: bool = False) -> str:
        try:
            return self._engine.content(self._table, key, most, loosely=loosely)
        except RunError as error:
            raise TableError(str(error)) from None
