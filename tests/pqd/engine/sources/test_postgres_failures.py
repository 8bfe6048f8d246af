"""Tables of PostgreSQL: failures that tell and keep secrets, and what is not taken as public."""

import pytest

from pqd.engine.sources.postgres_address import FORM, without_address, without_password
from pqd.engine.sources.postgres_session import advice_on
from pqd.engine.tables import open_table
from pqd.errors import NotPublicError, RunError, TableError
from pqd.planning.table_separation import separate_tables
from tests.support.batches import read_batch
from tests.support.postgres_server import PASSWORD, PostgresServer, break_scan
from tests.support.postgres_tables import ANALYST, opened

OPENING = {
    "no server": ("people", {"host": "nowhere"}, "no server answers there"),
    "password": ("people", {"password": "wrong"}, "does not let the user in"),
    "user": ("people", {"user": "stranger"}, "does not let the user in"),
    "database": ("people", {"base": "lost"}, "no such database"),
    "table": ("lost", {}, "not in the database"),
    "capitals": ("People", {}, "not in the database; the nearest are public.people, "),
    "schema": ("lost.people", {}, "not in the database"),
    "sequence": ("pg_catalog.pg_class_oid_index", {}, "no table and no view"),
    "no name": ("", {}, "names no table"),
    "three names": ("a.b.c", {}, "names no table"),
    "right": ("people", ANALYST, "permission denied"),
    "option": ("people&colour=red", {}, "libpq cannot read its URL"),
}


@pytest.mark.parametrize("name", OPENING)
def test_a_table_that_cannot_be_opened_is_told_and_no_secret(
    server: PostgresServer, name: str
) -> None:
    table, who, told = OPENING[name]
    url = server.url(table, **{key: value for key, value in who.items() if key != "host"})
    if "host" in who:
        url = url.replace("?host=", "?host=/nowhere")
    if "&" in table:
        url = url.replace("%26", "&").replace("%3D", "=")

    with pytest.raises(TableError, match=told) as failure:
        open_table(url, "private")

    assert failure.value.__context__ is None
    assert not any(secret in str(failure.value) for secret in (PASSWORD, "swordfish", "host="))


SCANNING = {
    "killed": ("SELECT pg_terminate_backend({backend})", "the server ended the connection"),
    "cancelled": (
        "SELECT pg_cancel_backend({backend})",
        "the server cancelled it, as it does after",
    ),
}


@pytest.mark.parametrize("name", SCANNING)
def test_a_scan_that_breaks_is_told_and_stays_broken(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    statement, told = SCANNING[name]
    break_scan(server, monkeypatch, "crowd", statement)
    table = opened(server, "crowd")

    with pytest.raises(RunError, match=told) as failure:
        read_batch(table, ["id", "name"])
    with pytest.raises(RunError, match="could not be read to its end"):
        read_batch(table, ["id"])

    assert str(failure.value).startswith("the private table public.crowd could not be read to its")
    assert failure.value.__context__ is None


def test_a_cell_that_a_view_cannot_compute_is_not_told(server: PostgresServer) -> None:
    table = opened(server, "breaking")

    with pytest.raises(RunError, match="its own log says why") as failure:
        read_batch(table, ["odd"])
    assert "secret-cell" not in str(failure.value)


def test_rows_that_are_hidden_from_the_user_are_an_error(server: PostgresServer) -> None:
    table = opened(server, "hidden", **ANALYST)

    with pytest.raises(RunError, match="permission denied"):
        read_batch(table, ["id"])


@pytest.mark.parametrize(
    ("private", "public"),
    [
        ("people", "public.people"),
        ("people", "some_people"),
        ("some_people", "people"),
        ("parent", "child"),
        ("child", "parent"),
    ],
)
def test_what_reads_the_private_table_is_not_taken_as_public(
    server: PostgresServer, private: str, public: str
) -> None:
    with pytest.raises(
        NotPublicError, match=r"is the private table itself|shares a part with the private table"
    ):
        separate_tables(server.url(private), server.url(public))


def test_another_table_with_the_same_rows_is_not_taken_as_public(server: PostgresServer) -> None:
    with pytest.raises(NotPublicError, match="holds the same rows"):
        separate_tables(server.url("people"), server.url("same_people"))


def test_a_copy_is_taken_as_public(server: PostgresServer) -> None:
    assert separate_tables(server.url("people"), server.url("copy")).label == "public.copy"


def test_no_repr_has_an_address(server: PostgresServer) -> None:
    table = opened(server, "people")

    assert not any(secret in repr((table, table.source)) for secret in (PASSWORD, "host="))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:pw@host/db?table=a.b", "postgresql://?table=a.b"),
        ("tree=postgres://me:pw@host/db?x=1&table=a.b&y=2", "tree=postgresql://?table=a.b"),
        ("at postgresql://me:pw@host/db it is", "at postgresql:// it is"),
        (
            "at postgresql+psycopg2://me:pw@host/db?table=a.b it is",
            "at postgresql+psycopg2://?table=a.b it is",
        ),
        ("POSTGRES://me:pw@host/db", "postgresql://"),
        ("mysql://me:p:w@host/db", "mysql://"),
        ("mysql://me:p/w@host/db, or none", "mysql://, or none"),
        ("no host=h password=pw user=me", "no host=h password=... user=me"),
        ("s3://bucket/me@here/copy.csv", "s3://bucket/me@here/copy.csv"),
        ("'postgresql://me:pw@host/db?table=a', or none", "'postgresql://?table=a', or none"),
        (f"write {FORM}; or not", f"write {FORM}; or not"),
        ("copy.csv", "copy.csv"),
    ],
)
def test_of_an_address_the_table_alone_is_shown(text: str, shown: str) -> None:
    assert without_address(text) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:p:w@host/db?table=a",
        "postgresql://me@host/db?password=pw&table=a",
        "postgresql://me@host/db?sslpassword=pw&password=pw&table=a",
    ],
)
def test_a_password_is_taken_out(url: str) -> None:
    assert without_password(url) == "postgresql://me@host/db?table=a"


FAILED = 'connection to server at "db" (10.0.0.1), port 5432 failed: '
SAID = {
    f'{FAILED}FATAL:  no pg_hba.conf entry for host "h", user "u", database "d"': "admits no",
    f'{FAILED}FATAL:  permission denied for database "d"': "may not connect to the database",
    f'{FAILED}FATAL:  password authentication failed for user "u"': "let the user in",
    f"{FAILED}fe_sendauth: no password supplied": "let the user in",
    f'{FAILED}FATAL:  role "u" does not exist': "let the user in",
    f'{FAILED}FATAL:  database "d" does not exist': "no such database",
    f"{FAILED}server does not support SSL, but SSL was required": "not encrypted",
    f"{FAILED}FATAL:  sorry, too many clients already": "no connection left",
    f"{FAILED}FATAL:  the database system is starting up": "starting or shutting down",
    f"{FAILED}Connection refused": "no server answers",
    f"{FAILED}timeout expired": "no server answers",
    'could not translate host name "db" to address: Name or service not known': "no server answers",
    'invalid port number: "x"': "libpq cannot read its URL",
    'unexpected spaces found in "a password"': "libpq cannot read its URL",
    'missing key/value separator "=" in URI query parameter: "x"': "libpq cannot read its URL",
    "server closed the connection unexpectedly": "ended the connection",
    "SSL connection has been closed unexpectedly": "ended the connection",
    "could not receive data from server: Connection timed out": "ended the connection",
    "no connection to the server": "ended the connection",
}


@pytest.mark.parametrize("said", SAID)
def test_what_libpq_says_becomes_advice(said: str) -> None:
    assert SAID[said] in advice_on(OSError(f"IO: [libpq] {said}"))


def test_a_failure_that_nobody_foresaw_is_not_quoted() -> None:
    assert "41.5" not in advice_on(OSError("the cell 41.5 is odd"))
