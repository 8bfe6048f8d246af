"""Servers of PostgreSQL that are silent: none is waited for without end, whatever it does."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from pqd.engine.sources.postgres_session import PostgresSession, _Line
from pqd.engine.sources.source import UnreadableError
from pqd.engine.tables import open_table
from pqd.errors import RunError, TableError
from tests.support.batches import read_batch
from tests.support.postgres_server import STOP, WAKE, PostgresServer, break_scan
from tests.support.postgres_tables import opened

TOLD = "the server has been silent for 0.05 seconds; see whether it runs and is reached"


class Mute:
    """Server that lets everyone in and says nothing; ``url`` is that of a table."""

    def __init__(self, folder: Path) -> None:
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / ".s.PGSQL.5432"))
        self._listening.listen()
        self.url = f"postgresql://me@/db?host={folder}&connect_timeout=0&table=t"

    def accept(self) -> socket.socket:
        """Connection of the next who comes, once that has sent something."""
        connection, _ = self._listening.accept()
        connection.recv(1)
        return connection

    def close(self) -> None:
        """Let nobody in any more, nor those who wait."""
        self._listening.close()


@pytest.fixture
def mute(tmp_path: Path) -> Iterator[Mute]:
    before = set(threading.enumerate())
    server = Mute(tmp_path)
    yield server
    server.close()
    # No thread is left of a session that was given up.
    for thread in set(threading.enumerate()) - before:
        thread.join()


def test_a_server_that_never_answers_is_given_up(mute: Mute) -> None:
    with pytest.raises(TableError, match=f"cannot be read from its server: {TOLD}") as failure:
        open_table(f"{mute.url}&read_timeout=0.05", "private")

    assert failure.value.__context__ is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_for_a_server(mute: Mute, number: signal.Signals) -> None:
    def waken() -> None:
        with mute.accept():
            os.kill(os.getpid(), number)

    def ended(*_: object) -> None:
        raise InterruptedError

    before = signal.signal(number, ended)
    helper = threading.Thread(target=waken)
    helper.start()
    try:
        with pytest.raises(InterruptedError):
            open_table(f"{mute.url}&read_timeout=0", "private")
    finally:
        signal.signal(number, before)
        helper.join()


def test_a_backend_that_stands_still_is_given_up_and_stays_so(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_scan(server, monkeypatch, "crowd", STOP, patience=0.05)
    table = opened(server, "crowd")

    with pytest.raises(RunError, match=TOLD) as failure:
        read_batch(table, ["id", "name"])
    with pytest.raises(RunError, match=TOLD):
        read_batch(table, ["id"])

    assert str(failure.value).startswith("the private table public.crowd could not be read to its")
    assert failure.value.__context__ is None


def test_a_session_that_was_given_up_ends_once_the_server_speaks(server: PostgresServer) -> None:
    before = set(threading.enumerate())
    session = PostgresSession(server.url())
    ((_, backend),) = session.rows("SELECT pg_backend_pid() AS pid")[0].items()
    (thread,) = set(threading.enumerate()) - before
    server.run(STOP.format(backend=backend))
    session.patience = 0.05

    with pytest.raises(UnreadableError, match=TOLD):
        session.rows("SELECT 1 AS one")
    del session
    server.run(WAKE.format(backend=backend))

    thread.join()
    assert not thread.is_alive()


def test_a_server_is_silent_only_while_no_byte_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work of the thread shows that bytes come, however long a call takes."""
    looks, line, late = count(), _Line(0.001), threading.Event()

    def spent(_: _Line) -> int:
        look = next(looks)
        if look == 500:
            late.set()
        return look

    monkeypatch.setattr(_Line, "_spent", spent)
    assert line.ask(late.wait)


def test_a_server_that_may_be_silent_is_waited_for(server: PostgresServer) -> None:
    url = server.url("people&read_timeout=0").replace("%26", "&").replace("%3D", "=")
    session = open_table(url, "private").source.session  # type: ignore[attr-defined] # of any
    asked = "SELECT pg_catalog.current_setting('lock_timeout') AS wait"

    assert (session.patience, session.rows(asked)) == (0, [{"wait": "0"}])
    # By default a lock is told sooner than a silence.
    session = opened(server, "people").source.session  # type: ignore[attr-defined]
    assert (session.patience, session.rows(asked)) == (60, [{"wait": "30s"}])


@pytest.mark.parametrize("stated", ["soon", "-1", "inf", "nan", ""])
def test_a_silence_is_a_number_of_seconds(stated: str) -> None:
    with pytest.raises(TableError, match="is no number of seconds; write &read_timeout=600"):
        open_table(f"postgresql://me@/db?table=t&read_timeout={stated}", "private")
