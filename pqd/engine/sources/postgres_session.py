"""Session with a PostgreSQL server: one connection, one transaction that sees one moment."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deciders.extras import needed
from pqd.engine.sources.postgres_failures import advice_on
from pqd.engine.sources.source import UnreadableError

with needed("postgres", "a table of PostgreSQL"):
    import adbc_driver_manager
    import adbc_driver_postgresql
    from adbc_driver_manager._reader import AdbcRecordBatchReader

if TYPE_CHECKING:
    from collections.abc import Iterator

# The reader's own errors have the SQLSTATE, those of pyarrow's reader have none.
_imported = AdbcRecordBatchReader._import_from_c  # noqa: SLF001 - the driver has no other way
_BREAKS = (adbc_driver_manager.Error, pa.ArrowException, OSError)
# Bytes of a batch, about: few enough to stay in the processor's cache.
_BATCH = {"adbc.postgresql.batch_size_hint_bytes": str(1 << 22)}


class PostgresSession:
    """Session; each of its failures is an UnreadableError, which quotes nothing."""

    def __init__(self, database: str) -> None:
        """Connect."""
        advice = ""
        try:
            held = adbc_driver_postgresql.connect(database)
            self._connection = adbc_driver_manager.AdbcConnection(held)
        except _BREAKS as error:
            advice = advice_on(error)
        if advice:
            raise UnreadableError(advice)
        self.close = weakref.finalize(self, self._connection.close)

    def run(self, sql: str) -> None:
        """Run a statement that has no rows."""
        self.rows(sql)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Rows of a statement, all at once."""
        with suppress(UnicodeDecodeError):
            return [row for batch in self.batches(sql) for row in batch.to_pylist()]
        raise UnreadableError("a name in it is not in UTF-8; rename it")

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """Rows of a statement as they come, and a batch without rows at the end."""
        advice = ""
        try:
            with adbc_driver_manager.AdbcStatement(self._connection) as statement:
                statement.set_options(**_BATCH)
                statement.set_sql_query(sql)
                handle, _ = statement.execute_query()
                with _imported(handle.address) as reader:
                    yield from reader
                    # The types are told even where there is no row.
                    columns = [pa.nulls(0, field.type) for field in reader.schema]
                    yield pa.RecordBatch.from_arrays(columns, reader.schema.names)
        except _BREAKS as error:
            advice = advice_on(error)
        # Outside the handler, since the server's own message may hold a value.
        if advice:
            raise UnreadableError(advice)

    def __repr__(self) -> str:
        """Name of the type alone."""
        return "PostgresSession(...)"
