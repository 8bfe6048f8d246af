"""Session with a PostgreSQL server: one connection, and one transaction on one snapshot.

While the server is silent, the driver waits and lets no signal in.  So the driver's calls run in a
thread of their own, and the thread that waits for them can give up.

Failures are reported in pqd's own words, since a server's message may quote a cell or a password.
pqd recognises a failure by its SQLSTATE or, before there is a connection, by libpq's message.
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
from pqd.engine.sources.source import UnreadableError

with needed("postgres", "a table of PostgreSQL"):
    import adbc_driver_manager
    import adbc_driver_postgresql
    from adbc_driver_manager._reader import AdbcRecordBatchReader

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    Calls = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]

Result = TypeVar("Result")
# Errors of this reader have a SQLSTATE, those of pyarrow's reader have none.
_imported = AdbcRecordBatchReader._import_from_c  # noqa: SLF001 - the driver has no other way
_BREAKS = (adbc_driver_manager.Error, pa.ArrowException, OSError)
# Approximate bytes of a batch: few enough to stay in the processor's cache.
_BATCH = {"adbc.postgresql.batch_size_hint_bytes": str(1 << 22)}
# Checks of a silent server before pqd gives up; without a limit, seconds between two checks.
_LOOKS, _PAUSE = 60, 1.0

_ACCOUNT = "check its user, and its password in PGPASSWORD or in the password file (~/.pgpass)"
_UNREACHABLE = "no server answers there; check the host and port of its URL, and that it runs"
_ENCRYPTED = "the connection is not encrypted as was asked for; check sslmode and the certificates"
_FULL = "the server has no connection left; try again later"
_STARTING = "the server is starting or shutting down; try again later"
_LOST = "the server ended the connection; run again"
_URL = (
    "libpq cannot read its URL; check its form, and escape odd signs of its parts by their "
    "numbers, such as %40 for @"
)
_UNKNOWN = "the server broke it off; its own log says why"
_RIGHT = "permission denied; ask its owner for the right to read it (GRANT SELECT ON ... TO ...)"
_MISSING = (
    "a name in it is not found; a function that a view calls looks for names without a schema in "
    "the search_path of the user: set that (&options=-csearch_path%3Dhr in the URL for the schema "
    "hr, or ALTER ROLE ... SET search_path), or the function's own (ALTER FUNCTION ... SET "
    "search_path); if it was changed or dropped just now, run again"
)
_CONNECT = "the user may not connect to the database; ask its owner (GRANT CONNECT ON DATABASE ...)"

_STATES = {
    "42501": _RIGHT,
    **dict.fromkeys(("42P01", "42703", "42883", "42704", "3F000"), _MISSING),
    "57014": "the server cancelled it, as it does after statement_timeout; give the user a longer "
    "one (ALTER ROLE ... SET statement_timeout), or run when the server is less busy",
    "55P03": "another session keeps it locked; run again when that has ended",
    "57P01": _LOST,
    "57P02": _LOST,
    "57P03": _STARTING,
    "57P05": _LOST,
    "25P04": "the server ended the transaction, as it does after transaction_timeout; give the "
    "user a longer one",
    "25P02": "the read before it broke; run again",
    "40001": "the server needed the rows that it was about to read for recovery; read from the "
    "primary server, or let the standby wait longer (max_standby_streaming_delay)",
    "53300": _FULL,
    "28000": f"the server does not let the user in; {_ACCOUNT}",
    "28P01": f"the server does not let the user in; {_ACCOUNT}",
    "3D000": "the server has no such database; check the name in its URL",
}
# Parts of libpq's English messages, each with the advice; the first match counts.
_SAID = (
    (("unexpected spaces", "unexpected character", "key/value separator", "end of string"), _URL),
    (("no connection to", "closed ", "receive data", "send data"), _LOST),
    (("permission denied",), _CONNECT),
    (("pg_hba.conf",), "the server admits no such connection; its pg_hba.conf says which"),
    (("password", "authentication failed", "role "), _STATES["28P01"]),
    (('database "',), _STATES["3D000"]),
    (("SSL", "certificate", "GSSAPI"), _ENCRYPTED),
    (("too many clients", "connection slots"), _FULL),
    (("starting up", "shutting down"), _STARTING),
    (("invalid ", "definition of service"), _URL),
    (("refused", "No such file", "translate host name", "timeout", "unreachable"), _UNREACHABLE),
)


class _Line:
    """Line to a server: a thread that makes the calls, in their order.

    ``patience`` is the number of seconds that the server may be silent; 0 sets no limit.
    """

    def __init__(self, patience: float) -> None:
        """Start the thread as a daemon, which does not keep Python running."""
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
            If the server is silent, or was silent in an earlier call: then no call is made.
        """
        if not self._dead:
            done: Future[Result] = Future()
            self._calls.put((done, call))
            # An exception may end the wait while the thread is stuck in the call.
            self._dead = True
            if self._answered(done):
                self._dead = False
                return done.result()
        raise UnreadableError(silent(self.patience))

    def _answered(self, done: Future[Any]) -> bool:
        """Whether the call ended before the server was silent for too long."""
        looks, spent = 0, self._spent()
        while not wait([done], self.patience / _LOOKS or _PAUSE).done:
            before, spent = spent, self._spent()
            # A byte from the server wakes the thread, which then uses CPU time.
            looks = looks + 1 if self.patience and before == spent else 0
            if looks == _LOOKS:
                return False
        return True

    def _spent(self) -> int:
        """CPU time of the thread (ns); 0 if there is no clock, so a whole call counts as silent."""
        if not hasattr(time, "pthread_getcpuclockid") or self._thread.ident is None:
            return 0
        return time.clock_gettime_ns(time.pthread_getcpuclockid(self._thread.ident))

    def tell(self, call: Callable[[], None]) -> None:
        """Queue a call without a wait for its end, since the garbage collector must not wait."""
        self._calls.put((Future(), call))


def _serve(calls: Calls) -> None:
    while call := calls.get():
        done, work = call
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            done.set_exception(error)
        # The thread holds no object while it waits for the next call.
        del call, done, work


class PostgresSession:
    """Session; each of its failures is an UnreadableError, which quotes nothing.

    ``patience`` is the number of seconds that the server may be silent; 0 sets no limit.
    """

    def __init__(self, database: str, patience: float = 0) -> None:
        """Connect to the database."""
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
        """Rows of a statement, batch by batch, and a batch without rows at the end."""
        scan = self._scan(sql)
        following = partial(next, scan, None)
        try:
            while (batch := self._line.ask(following)) is not None:
                yield batch
        finally:
            self._line.tell(scan.close)

    def _scan(self, sql: str) -> Generator[pa.RecordBatch]:
        """Rows of a statement; the thread of the line fetches each batch."""
        advice = ""
        try:
            with adbc_driver_manager.AdbcStatement(self._connection) as statement:
                statement.set_options(**_BATCH)
                statement.set_sql_query(sql)
                handle, _ = statement.execute_query()
                with _imported(handle.address) as reader:
                    yield from reader
                    # An empty batch tells the types even if there is no row.
                    columns = [pa.nulls(0, field.type) for field in reader.schema]
                    yield pa.RecordBatch.from_arrays(columns, reader.schema.names)
        except _BREAKS as error:
            advice = advice_on(error)
        # Raised outside the handler, since the server's own message may hold a value.
        if advice:
            raise UnreadableError(advice)

    def close(self) -> None:
        """Close the connection, if the server still answers."""
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


# Open sessions, which are closed when Python ends: Python itself does not close them.
_SESSIONS = weakref.WeakSet[PostgresSession]()


@atexit.register
def _close_all() -> None:
    for session in list(_SESSIONS):
        session.close()


def advice_on(error: Exception) -> str:
    """Advice on an error of the driver; the error is not quoted."""
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return _STATES.get(state, _UNKNOWN)
    said = str(error)
    return next((advice for parts, advice in _SAID if any(map(said.__contains__, parts))), _UNKNOWN)


def silent(patience: float) -> str:
    """Advice on a server that sends nothing for ``patience`` seconds."""
    return (
        f"the server has been silent for {patience:g} seconds; see whether it runs and is reached, "
        "and run again; if a view takes it so long, add a longer &read_timeout= to the URL"
    )
