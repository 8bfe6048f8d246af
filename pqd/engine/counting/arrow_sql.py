"""SQL over an Arrow table: DuckDB evaluates expressions on its rows, and keeps their order."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pqd.engine.counting.typed_sql import mark_of
from pqd.engine.reading.buffers import arrow_of, numpy_of
from pqd.engine.sources.duckdb_tables import without_meddling
from pqd.interrupts import heeded
from pqd.threads import thread_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import duckdb
    import pandas as pd

    from pqd.engine.counting.batch import Batch

# Rows and expressions that one statement evaluates, to bound memory.
_CHUNK = 1 << 18
_WIDTH = 64
SOURCE = "arrow_rows"


def locked_connection(threads: int) -> duckdb.DuckDBPyConnection:
    """Locked connection to a DuckDB in memory, which can read no file and load no extension."""
    # Imported here, so that it loads while tables are read.
    import duckdb  # noqa: PLC0415

    connection = duckdb.connect(":memory:")
    (bar,) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0]
    for setting in (
        # In Jupyter, where the bar cannot be shown, it is off already.
        *(["SET enable_progress_bar = false"] if bar else []),
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        "SET temp_directory = ''",
        "SET TimeZone = 'UTC'",
        without_meddling(connection),
        f"SET threads = {threads}",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        with heeded():
            connection.execute(setting)
    return connection


class ArrowSQL:
    """Runner of SQL on Arrow tables, by one locked connection.

    It raises DuckDB's own errors, whose messages may hold a value of the table.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection | None = None) -> None:
        """Nothing is registered yet; without a ``connection`` it opens a connection of its own.

        Raises
        ------
        ParameterError
            If PQD_THREADS is no number of threads.
        """
        self._opened, self._opening = connection, Lock()
        # The number of threads is read here, since another thread may open the connection.
        self._threads = thread_count() if connection is None else 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy for another process: the ``ArrowSQL`` of that process."""
        return worker_sql, ()

    def open(self) -> duckdb.DuckDBPyConnection:
        """Connection, opened on first use, since this takes as long as to read a small table.

        Several threads may call this.
        """
        with self._opening:
            if self._opened is None:
                self._opened = locked_connection(self._threads)
            return self._opened

    @property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return self.open()

    def fetched(self, table: pa.Table, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a statement that reads ``table`` as SOURCE."""
        with heeded():
            self._connection.register(SOURCE, table)
            try:
                rows: list[tuple[Any, ...]] = self._connection.execute(sql).fetchall()
            finally:
                self._connection.unregister(SOURCE)
        return rows

    def frame(self, table: pa.Table) -> pd.DataFrame:
        """Frame of the rows of ``table``, in their order."""
        with heeded():
            self._connection.register(SOURCE, table)
            try:
                frame: pd.DataFrame = self._connection.execute(f"SELECT * FROM {SOURCE}").df()
            finally:
                self._connection.unregister(SOURCE)
        return frame

    def types_of(self, columns: Mapping[str, pa.Array]) -> dict[str, str]:
        """Name of DuckDB's type of each of ``columns``."""
        if not columns:
            return {}
        parts, names = [values[:0] for values in columns.values()], map(str, range(len(columns)))
        rows = self.fetched(pa.table(parts, list(names)), f"DESCRIBE {SOURCE}")
        return {name: str(row[1]) for name, row in zip(columns, rows, strict=True)}

    def texts(self, values: pa.Array) -> Sequence[str | None]:
        """Texts of distinct values; several threads may call this at once."""
        if pa.types.is_large_string(values.type):
            plain: list[str | None] = values.to_pylist()
            return plain
        own = ArrowSQL(self._connection.cursor())
        texts: list[str | None] = own.of_values(values, "CAST(value AS VARCHAR)").to_pylist()
        return texts

    def of_values(self, values: pa.Array, expression: str) -> pa.ChunkedArray:
        """Values of an expression, over ``value``, on each of ``values``, in their order."""
        return joined(self.evaluated(pa.table({"value": values}), [expression]))

    def evaluated(
        self, table: pa.Table, expressions: Sequence[str]
    ) -> Iterator[list[pa.ChunkedArray]]:
        """Values of ``expressions`` on the rows of ``table``, chunk by chunk (``chunks_of``)."""
        for first, last in chunks_of(table.num_rows):
            part = table.slice(first, last - first)
            yield [
                values
                for start in range(0, len(expressions), _WIDTH)
                for values in self._selected(part, expressions[start : start + _WIDTH])
            ]

    def _selected(self, table: pa.Table, expressions: Sequence[str]) -> list[pa.ChunkedArray]:
        number = f"{mark_of(table.column_names)}n"
        outputs = ", ".join(f"{sql} AS o{place}" for place, sql in enumerate(expressions))
        numbered = table.append_column(number, arrow_of(np.arange(table.num_rows)))
        with heeded():
            self._connection.register(SOURCE, numbered)
            try:
                relation = self._connection.sql(f"SELECT {number}, {outputs} FROM {SOURCE}")
                values = relation.to_arrow_table()
            finally:
                self._connection.unregister(SOURCE)
        order = numpy_of(values.column(0))
        # DuckDB does not promise to keep the order of the rows.
        if np.any(np.diff(order) != 1):
            values = values.take(arrow_of(np.argsort(order)))
        columns: list[pa.ChunkedArray] = values.columns[1:]
        return columns


@cache
def worker_sql() -> ArrowSQL:
    """DuckDB of a worker of Spark, locked like any other."""
    return ArrowSQL()


def chunks_of(rows: int) -> Iterator[tuple[int, int]]:
    """First row of each chunk, and the row after its last; no rows make one chunk."""
    for first in range(0, max(1, rows), _CHUNK):
        yield first, min(first + _CHUNK, rows)


def joined(parts: Iterable[Sequence[pa.ChunkedArray]]) -> pa.ChunkedArray:
    """Chunks of one expression as one array."""
    outcomes = [outcome for (outcome,) in parts]
    chunks = [chunk for outcome in outcomes for chunk in outcome.chunks]
    return pa.chunked_array(chunks, outcomes[0].type)


def arrow_table(batch: Batch) -> pa.Table:
    """Rows of ``batch`` as an Arrow table of dictionaries."""
    if not batch.columns:
        return pa.table({"none": arrow_of(np.zeros(batch.rows, np.bool_))})
    return pa.table(
        {
            name: pa.DictionaryArray.from_arrays(arrow_of(each.codes), each.values)
            for name, each in batch.columns.items()
        }
    )
