"""A PostgreSQL server of the tests' own, on a socket of its own: no port, no network.

Its settings are odd on purpose: what a table holds must not hang on them.
"""

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import adbc_driver_manager
import adbc_driver_postgresql
import pyarrow as pa
import pytest

from pqd.engine.sources import postgres_session
from pqd.engine.sources.postgres_session import PostgresSession

# Read before tests begin, which take it out of their surroundings.
IN_CI = bool(os.environ.get("CI"))
OWNER, PASSWORD = "owner", "hunter-2"
ADVICE = "needs a PostgreSQL server (Debian: apt-get install postgresql)"
# Its backend stands still, and is not woken by anything that is asked of it.
STOP = "COPY (SELECT 1) TO PROGRAM 'cat >/dev/null; kill -STOP {backend}'"
WAKE = STOP.replace("STOP", "CONT")
# Stops the server when its standard input is closed, at the latest when the tests are killed.
SCRIPT = """
"$1/initdb" -D data --username "$2" --pwfile password --auth scram-sha-256 \\
  --encoding UTF8 --locale C --no-sync >log &&
"$1/pg_ctl" -D data start --wait --log log --options "$3" >>log && echo ready
read -r _
"$1/pg_ctl" -D data stop --mode immediate >>log
rm -rf "$PWD" 2>/dev/null
"""
NUMBERS = itertools.count(1)
SETTINGS = {
    "fsync": "off",
    "autovacuum": "off",
    "listen_addresses": "",
    "shared_buffers": "16MB",
    "max_connections": "20",
    "log_min_messages": "panic",
    "datestyle": "German, DMY",
    "intervalstyle": "iso_8601",
    "timezone": "Asia/Kathmandu",
    "bytea_output": "escape",
    "extra_float_digits": "-3",
}


@dataclass(frozen=True)
class PostgresServer:
    """A server; ``folder`` is that of its socket."""

    folder: Path

    def url(
        self,
        table: str = "",
        user: str = OWNER,
        password: str = PASSWORD,
        base: str = "postgres",
    ) -> str:
        """URL of a table."""
        host = quote(str(self.folder), safe="")
        named = f"&table={quote(table)}" if table else ""
        return f"postgresql://{user}:{password}@/{base}?host={host}{named}"

    def store(self, table: pa.Table) -> str:
        """URL of a new table of these rows."""
        name = f"stored_{next(NUMBERS)}"
        database = adbc_driver_postgresql.connect(self.url())
        with (
            adbc_driver_manager.AdbcConnection(database) as connection,
            adbc_driver_manager.AdbcStatement(connection) as statement,
        ):
            statement.set_options(**{"adbc.ingest.target_table": name})
            statement.bind_stream(table)
            statement.execute_update()
        return self.url(name)

    def run(self, *statements: str, base: str = "postgres") -> None:
        """Run statements, each in a transaction of its own."""
        database = adbc_driver_postgresql.connect(self.url(base=base))
        with adbc_driver_manager.AdbcConnection(database) as connection:
            for sql in statements:
                with adbc_driver_manager.AdbcStatement(connection) as statement:
                    statement.set_sql_query(sql)
                    statement.execute_update()


def break_scan(
    server: PostgresServer,
    patch: pytest.MonkeyPatch,
    table: str,
    statement: str = "SELECT pg_terminate_backend({backend})",
    number: int = 1,
    patience: float = 0,
) -> None:
    """Run a statement about its backend in the middle of a scan of ``table``, the one so many.

    From then on the server may be silent for so long.
    """
    batches = PostgresSession.batches
    scans = itertools.count(1)
    patch.setattr(postgres_session, "_BATCH", {"adbc.postgresql.batch_size_hint_bytes": "65536"})

    def broken(session: PostgresSession, sql: str) -> Iterator[pa.RecordBatch]:
        backends = []
        if f'FROM "public"."{table}"' in sql and next(scans) == number:
            for batch in batches(session, "SELECT pg_backend_pid() AS pid"):
                backends += batch.column(0).to_pylist()
        scan = batches(session, sql)
        yield next(scan)
        for backend in backends:
            server.run(statement.format(backend=backend))
            session.patience = patience
        try:
            yield from scan
        finally:
            for backend in backends if statement == STOP else ():
                server.run(WAKE.format(backend=backend))

    patch.setattr(PostgresSession, "batches", broken)


def binaries() -> Path | None:
    """Folder of the server's programs, of the newest version, None for none."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    elsewhere = shutil.which("initdb")
    places = [*found, *([Path(elsewhere).resolve()] if elsewhere else [])]
    return places[-1].parent if places else None


@contextmanager
def running() -> Iterator[PostgresServer]:
    """A server that is new and runs; a test is skipped where there is none, but not in CI."""
    programs = binaries()
    if programs is None:
        (pytest.fail if IN_CI else pytest.skip)(ADVICE)
    folder = Path(tempfile.mkdtemp(prefix="pqd-postgres-"))
    (folder / "password").write_text(PASSWORD)
    # The server refuses to run as root.
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    if account:
        for place in (folder, folder / "password"):
            os.chown(place, account.pw_uid, account.pw_gid)
    settings = SETTINGS | {"unix_socket_directories": str(folder)}
    options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
    with subprocess.Popen(  # noqa: S603 - the tests' own script
        ["/bin/sh", "-c", SCRIPT, "sh", programs, OWNER, options],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"LC_ALL": "C"},
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
        # Ctrl-C is for the tests.
        start_new_session=True,
    ) as script:
        assert script.stdout is not None
        assert script.stdout.readline() == b"ready\n", "the PostgreSQL server did not start"
        yield PostgresServer(folder)
    shutil.rmtree(folder, ignore_errors=True)
