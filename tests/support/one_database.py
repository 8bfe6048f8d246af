"""One locked DuckDB for all runs in a process of the tests; the same SQL on the same rows run once.

To open a database and to ask it takes most of a small run's time.  Nothing is lost by sharing it:
its settings are locked, it holds no table, and what is remembered is found by the content of all
rows and the whole SQL, so rows of another private table are DuckDB's to evaluate.  Tests of the
engine remember nothing; those of its lock, threads and interrupts open what the program opens.
"""

from collections.abc import Iterator, Sequence
from threading import Lock

import duckdb
import pyarrow as pa
import pytest

from pqd.engine.counting import arrow_sql
from pqd.engine.counting.arrow_sql import ArrowSQL

# Modules that open what the program opens, and modules and folders in which nothing is remembered.
OWN = {
    "test_lock",
    "test_interrupt",
    "test_exception_barrier",
    "test_threads",
    "test_thread_option",
}
ANEW = OWN | {"engine"}
# Larger tables are evaluated each time: finding them would take as long.
MOST_BYTES = 1 << 16

Key = tuple[bytes, tuple[str, ...]]


DATABASES: dict[int, duckdb.DuckDBPyConnection] = {}
OPENING = Lock()
KNOWN: dict[Key, list[pa.ChunkedArray]] = {}
SELECTED = ArrowSQL._selected
LOCKED = arrow_sql.locked_connection


def opened(threads: int) -> duckdb.DuckDBPyConnection:
    """Database of so many threads, opened and locked by the first engine that asks for it."""
    with OPENING:
        if threads not in DATABASES:
            DATABASES[threads] = LOCKED(threads)
        return DATABASES[threads]


def selected(sql: ArrowSQL, table: pa.Table, expressions: Sequence[str]) -> list[pa.ChunkedArray]:
    """Values as ``ArrowSQL`` gives them: arrays that nothing changes."""
    if table.nbytes > MOST_BYTES:
        return SELECTED(sql, table, expressions)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    key = sink.getvalue().to_pybytes(), tuple(expressions)
    if key not in KNOWN:
        KNOWN[key] = SELECTED(sql, table, expressions)
    return KNOWN[key]


@pytest.fixture(scope="session")
def databases() -> Iterator[None]:
    """Close them before Python ends, where DuckDB would tell of them as leaked."""
    yield
    DATABASES.clear()


@pytest.fixture(scope="module", autouse=True)
def one_database(request: pytest.FixtureRequest) -> Iterator[None]:
    """Share the database and its answers, but in modules whose point is either."""
    request.getfixturevalue("databases")
    within = {*request.path.parts, request.path.stem}
    with pytest.MonkeyPatch.context() as patch:
        if not OWN & within:
            patch.setattr(arrow_sql, "locked_connection", opened)
        if not ANEW & within:
            patch.setattr(ArrowSQL, "_selected", selected)
        yield
