"""Recognition of a table: by its file, else by all that it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.engine.earlier_recognition import earlier_digest

if TYPE_CHECKING:
    from pqd.accounting.ledger import Ledger
    from pqd.engine.duckdb import DuckDBEngine
    from pqd.engine.tables import Table

# Purpose of the key that rows are hashed under.
ROWS = "rows"


def fingerprint_of(ledger: Ledger, engine: DuckDBEngine, table: Table) -> str:
    """Fingerprint under which ``ledger`` keeps ``table``, or would.

    A file that is known is not read by rows.  A table that an earlier version has opened an account
    of is found by what that version knew it by.

    Raises
    ------
    RunError, TableError
        If the table cannot be read.
    """
    by_file = fingerprint_by_file(ledger, table)
    if by_file is not None:
        return by_file
    key = ledger.key(ROWS)
    fingerprint = ledger.fingerprint(engine.content(table, key))
    if ledger.holds_earlier_accounts and not ledger.account(fingerprint):
        earlier = ledger.earlier_fingerprint(engine.earlier_content(table, key))
        if ledger.account(earlier):
            return earlier
    return fingerprint


def fingerprint_by_file(ledger: Ledger, table: Table) -> str | None:
    """Fingerprint of the table that a file is known to hold, None if unknown, or of a frame."""
    known = ledger.fingerprint_of_file(ledger.keyed_digest(table.digest()))
    if known is None and ledger.holds_earlier_accounts:
        known = ledger.fingerprint_of_file(ledger.keyed_digest(earlier_digest(table)))
    return known
