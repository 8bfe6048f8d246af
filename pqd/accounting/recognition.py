"""Recognition of a table: by its file, else by its whole content."""

from __future__ import annotations

from pqd.accounting.ledger import Ledger
from pqd.engine.duckdb import DuckDBEngine
from pqd.engine.tables import Table

# Purpose of the key under which rows are hashed.
ROWS = "rows"


def fingerprint_of(ledger: Ledger, engine: DuckDBEngine, table: Table) -> str:
    """Fingerprint under which ``ledger`` keeps ``table``, or would keep it.

    The rows are not read if the ledger knows the file.

    Raises
    ------
    RunError, TableError
        If the table cannot be read.
    """
    by_file = fingerprint_by_file(ledger, table)
    if by_file is not None:
        return by_file
    return ledger.fingerprint(engine.content(table, ledger.key(ROWS)))


def fingerprint_by_file(ledger: Ledger, table: Table) -> str | None:
    """Fingerprint of the table that a file is known to hold; None if unknown, and for a frame."""
    return ledger.fingerprint_of_file(ledger.keyed_digest(table.digest()))
