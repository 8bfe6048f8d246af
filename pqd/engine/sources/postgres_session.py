"""Session with a PostgreSQL server: one connection, one transaction that sees one moment.

The driver waits for the server as long as that is silent, and lets no signal in meanwhile.  So its
calls run in a thread of their own, and who waits for that thread can give up.
"""

from __future__ import annotations

import atexit
import time
import weakref
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from pqd.deciders.extras import needed
from pqd.engine.sources.postgres_failures import advice_on, silent
from pqd.engine.sources.source import UnreadableError

with needed("postgres", "a table of PostgreSQL"):
    import adbc_driver_manager
    import adbc_driver_postgresql
    from adbc_driver_manager._reader import AdbcRecordBatchReader

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    Calls = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]

Result = TypeVar("Result")
# The reader's own errors have the SQLSTATE, those of pyarrow's reader have none.
_imported = AdbcRecordBatchReader._import_from_c  # noqa: SLF001 - the driver has no other way
_BREAKS = (adbc_driver_manager.Error, pa.ArrowException, OSError)
# Bytes of a batch, about: few enough to stay in the processor's cache.
_BATCH = {"adbc.postgresql.batch_size_hint_bytes": str(1 << 22)}
# Looks at a silent server before it is given up, and seconds between two where it never is.
_LOOKS, _PAUSE = 60, 1.0


class _Line:
    """Line to a server: a thread that does one call after the other.

    ``patience`` is for how many seconds the server may be silent, 0 for any.
    """

    def __init__(self, patience: float) -> None:
        """Start the thread; it is no reason for Python to stay."""
        self.patience = patience
        self._dead = False
        self._calls: Calls = SimpleQueue()
        self._thread = Thread(target=_serve, args=(self._calls,), name="postgres", daemon=True)
        self._thread.start()
        weakref.finalize(self, self._calls.put, None).atexit = False

    def ask(self, call: Callable[[], Result]) -> Result:
        """Result of a call.

        Raises
        ------
        UnreadableError
            If the server is silent, now or before: nothing more is asked of it.
        """
        if not self._dead:
            done: Future[Result] = Future()
            self._calls.put((done, call))
            # Whatever ends the wait, the thread may be stuck in the call.
            self._dead = True
            if self._answered(done):
                self._dead = False
                return done.result()
        raise UnreadableError(silent(self.patience))

    def _answered(self, done: Future[Any]) -> bool:
        """Whether the call came to its end before the server was silent for too long."""
        looks, spent = 0, self._spent()
        while not wait([done], self.patience / _LOOKS or _PAUSE).done:
            before, spent = spent, self._spent()
            # A byte of the server would have woken the thread.
            looks = looks + 1 if self.patience and before == spent else 0
            if looks == _LOOKS:
                return False
        return True

    def _spent(self) -> int:
        """CPU time of the thread; where the system does not tell, a whole call counts as silent."""
        if not hasattr(time, "pthread_getcpuclockid") or self._thread.ident is None:
            return 0
        return time.clock_gettime_ns(time.pthread_getcpuclockid(self._thread.ident))

    def tell(self, call: Callable[[], None]) -> None:
        """Have a call done when it is its turn; a collector of garbage may not wait for it."""
        self._calls.put((Future(), call))


def _serve(calls: Calls) -> None:
    while call := calls.get():
        done, work = call
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            done.set_exception(error)
        # Nothing is held while there is nothing to do.
        del call, done, work


class PostgresSession:
    """Session; each of its failures is an UnreadableError, which quotes nothing.

    ``patience`` is for how many seconds the server may be silent, 0 for any.
    """

    def __init__(self, database: str, patience: float = 0) -> None:
        """Connect."""
        self._line = _Line(patience)
        self._connection = self._line.ask(partial(_connected, database))
        weakref.finalize(self, self._line.tell, self._connection.close).atexit = False
        _SESSIONS.add(self)

    @property
    def patience(self) -> float:
        """Seconds for which the server may be silent."""
        return self._line.patience

    @patience.setter
    def patience(self, seconds: float) -> None:
        self._line.patience = seconds

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
        scan = self._scan(sql)
        following = partial(next, scan, None)
        try:
            while (batch := self._line.ask(following)) is not None:
                yield batch
        finally:
            self._line.tell(scan.close)

    def _scan(self, sql: str) -> Generator[pa.RecordBatch]:
        """Rows of a statement, each batch asked for in the thread of the line."""
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

    def close(self) -> None:
        """Tell the server that this was all, if it is still heard."""
        with suppress(UnreadableError, RuntimeError, *_BREAKS):
            self._line.ask(self._connection.close)

    def __repr__(self) -> str:
        """Name of the type alone."""
        return "PostgresSession(...)"


def _connected(database: str) -> adbc_driver_manager.AdbcConnection:
    try:
        return adbc_driver_manager.AdbcConnection(adbc_driver_postgresql.connect(database))
    except _BREAKS as error:
        advice = advice_on(error)
    raise UnreadableError(advice)


# Sessions until the end of Python, which would tell no server.
_SESSIONS = weakref.WeakSet[PostgresSession]()


@atexit.register
def _close_all() -> None:
    for session in list(_SESSIONS):
        session.close()
