"""Tables of PostgreSQL: each cell as a table must hold it, one moment, and failures that tell."""

from decimal import Decimal
from pathlib import Path

import adbc_driver_manager
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqd.engine.duckdb import DuckDBEngine
from pqd.engine.sources.postgres_address import without_address, without_password
from pqd.engine.sources.postgres_failures import advice_on
from pqd.engine.table_reader import TableReader
from pqd.engine.tables import Table, open_table
from pqd.errors import NotPublicError, RunError, TableError
from pqd.planning.table_separation import separate_tables
from tests.support.postgres_server import PASSWORD, PostgresServer, break_scan

KEY = b"k" * 32
ANALYST = {"user": "analyst", "password": "swordfish"}
SETUP = (
    "CREATE FUNCTION numbers(n int) RETURNS SETOF int LANGUAGE SQL RETURN generate_series(1, n)",
    "CREATE TYPE mood AS ENUM ('sad', 'glad')",
    "CREATE DOMAIN age AS integer CHECK (value >= 0)",
    "CREATE DOMAIN years AS age",
    "CREATE TABLE people (id bigint, gain numeric(12, 2), born date, name varchar(9))",
    "INSERT INTO people SELECT i, i * 1.25, date '1970-01-01' + i, 'n' || i % 7 FROM numbers(20) i",
    "CREATE TABLE nobody (id int, born date, seen timestamptz, name text)",
    'CREATE SCHEMA "Odd.Schema"',
    'CREATE TABLE "Odd.Schema"."Odd ""Table" AS SELECT 1 AS "Ä b", 2 AS "%s {0}"',
    "CREATE TABLE parent (part int, value int) PARTITION BY LIST (part)",
    "CREATE TABLE child PARTITION OF parent FOR VALUES IN (1)",
    "INSERT INTO parent SELECT 1, i FROM numbers(9) i",
    "CREATE VIEW some_people AS SELECT id, name FROM people WHERE id < 9",
    "CREATE TABLE copy AS SELECT id + 1 AS id, gain, born, name FROM people",
    "CREATE TABLE same_people AS SELECT * FROM people ORDER BY id DESC",
    "CREATE TABLE crowd AS SELECT i AS id, 'n' || i % 7 AS name FROM numbers(100000) i",
    "CREATE TABLE crowd_copy AS SELECT id + 1 AS id, name FROM crowd LIMIT 2000",
    "CREATE VIEW breaking AS SELECT ('secret-cell' || id)::int AS odd FROM people",
    "CREATE TABLE hidden (id int)",
    "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
    "CREATE USER analyst PASSWORD 'swordfish'",
    "GRANT SELECT ON hidden TO analyst",
)
# Type, cells as SQL writes them, and as the table must hold them, but for NULL.
CELLS: tuple[tuple[str, str, list[str]], ...] = (
    ("smallint", "'-32768'", ["-32768"]),
    ("bigint", "9223372036854775807", ["9223372036854775807"]),
    ("oid", "4294967295", ["4294967295"]),
    ("years", "44", ["44"]),
    ("real", "1.5", ["1.5"]),
    ("float8", "'NaN', 'Infinity', '-0', 0.1", ["nan", "inf", "-0.0", "0.1"]),
    ("numeric", "1e30 + 0.001, 'NaN'", ["1" + "0" * 30 + ".001", "NaN"]),
    ("numeric", "'-Infinity', 1e400", ["-Infinity", "1" + "0" * 400]),
    ("numeric(12, 2)", "1.1, 0", ["1.10", "0.00"]),
    ("money", "1234.5", ["1234.50"]),
    ("text", "'é', '', NULL", ["é", ""]),
    ("varchar(3)", "'a '", ["a "]),
    ("char(5)", "'ab'", ["ab"]),
    ("mood", "'glad'", ["glad"]),
    ("boolean", "true, NULL, false", ["true", "false"]),
    ("date", "'2020-02-29', '5874897-12-31'", ["2020-02-29", "5874897-12-31"]),
    ("date", "'infinity', '-infinity', NULL", ["infinity", "-infinity"]),
    ("timestamp", "'2020-01-01 10:00:00.000001'", ["2020-01-01 10:00:00.000001"]),
    ("timestamp", "'infinity', '-infinity'", ["infinity", "-infinity"]),
    ("timestamp", "'4713-01-01 BC'", ["4713-01-01 (BC) 00:00:00"]),
    ("timestamp", "'294247-01-11', '294276-12-31', NULL", []),
    ("timestamptz", "'2020-01-01 10:00+02'", ["2020-01-01 08:00:00+00"]),
    ("timestamptz", "'infinity', NULL", ["infinity"]),
    ("time", "'23:59:59', '24:00'", ["23:59:59"]),
    ("timetz", "'10:00+02'", ["10:00:00+02"]),
    ("interval", "'1 day 2 hours'", ["1 day 02:00:00"]),
    (
        "uuid",
        "'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11'",
        ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    ),
    ("json", "'{\"a\":  1}'", ['{"a":  1}']),
    ("jsonb", "'{\"a\":  1}'", ['{"a": 1}']),
    ("int[]", "'{1,NULL}'", ["{1,NULL}"]),
    ("timestamptz[]", "'{2020-01-01 10:00+02}'", ['{"2020-01-01 08:00:00+00"}']),
    ("int4range", "'[1,5]'", ["[1,6)"]),
    ("bytea", r"'\x00ff'", [r"\x00\xFF"]),
    ("inet", "'10.0.0.1'", ["10.0.0.1/32"]),
    ("point", "'(0.1,2)'", ["(0.1,2)"]),
    ("bit(3)", "'101'", ["101"]),
)


@pytest.fixture(scope="session")
def server(postgres_server: PostgresServer) -> PostgresServer:
    """Server with the tables of these tests."""
    columns = ", ".join(f"c{place} {kind}" for place, (kind, _, _) in enumerate(CELLS))
    filled = (
        f"INSERT INTO every (c{place}) VALUES ({written.replace(', ', '), (')})"
        for place, (_, written, _) in enumerate(CELLS)
    )
    postgres_server.run(*SETUP, f"CREATE TABLE every ({columns})")
    postgres_server.run(*filled)
    return postgres_server


def cells_of(given: object) -> dict[str, list[str | None]]:
    """Texts of the distinct values of each column."""
    engine = DuckDBEngine()
    table = open_table(given, "private")
    columns = TableReader(table).columns(table.columns)
    return {name: list(engine._texts(col.values)) for name, col in columns.by_name.items()}


def opened(server: PostgresServer, name: str, **who: str) -> Table:
    return open_table(server.url(name, **who), "private")


@pytest.fixture(scope="session")
def every(server: PostgresServer) -> dict[str, list[str | None]]:
    return cells_of(server.url("every"))


@pytest.mark.parametrize("place", range(len(CELLS)), ids=[kind for kind, _, _ in CELLS])
def test_a_cell_is_as_a_table_must_hold_it(every: dict[str, list[str | None]], place: int) -> None:
    texts = {text for text in every[f"c{place}"] if text is not None}

    assert texts == set(CELLS[place][2])


def test_the_same_rows_are_the_same_as_in_parquet(server: PostgresServer, tmp_path: Path) -> None:
    numbers = range(1, 21)
    gains = pa.array([Decimal(n) * 125 / 100 for n in numbers], pa.decimal128(12, 2))
    stored = pa.table(
        {
            "name": [f"n{n % 7}" for n in numbers],
            "born": pa.array(list(numbers), pa.int32()).view(pa.date32()),
            "gain": gains,
            "id": list(numbers),
        }
    )
    pq.write_table(stored, tmp_path / "people.parquet")
    engine = DuckDBEngine()

    contents = [
        engine.content(open_table(given, "private"), KEY)
        for given in (server.url("people"), tmp_path / "people.parquet")
    ]

    assert contents[0] == contents[1]


def test_a_table_without_rows_has_the_types(server: PostgresServer) -> None:
    table = opened(server, "nobody")
    columns = TableReader(table).columns(table.columns)

    types = [str(column.values.type) for column in columns.by_name.values()]
    assert columns.rows == 0
    assert types == ["int32", "date32[day]", "timestamp[us, tz=UTC]", "large_string"]


def test_names_are_as_stored_whatever_they_are(server: PostgresServer) -> None:
    table = opened(server, '"Odd.Schema"."Odd ""Table"')

    assert (table.label, table.columns) == ('Odd.Schema.Odd "Table', ("Ä b", "%s {0}"))
    assert cells_of(server.url('"Odd.Schema"."Odd ""Table"')) == {"Ä b": ["1"], "%s {0}": ["2"]}


def test_a_name_without_a_schema_is_looked_for_and_told_whole(server: PostgresServer) -> None:
    assert (
        opened(server, "people").label == opened(server, "public.people").label == "public.people"
    )


ENCODINGS = {
    "LATIN1": ({"ö": ["é"]}, ""),
    "SQL_ASCII": ({"ö": [None, "é"]}, "a name in it is not in UTF-8; rename it"),
    "WIN1252": ({}, "in a database of the encoding WIN1252; pqd reads UTF8, LATIN1, SQL_ASCII"),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_texts_are_read_or_refused_by_the_encoding(server: PostgresServer, encoding: str) -> None:
    """No cell decides: what the server cannot convert would be an error on some cells only."""
    base = encoding.lower()
    server.run(f"CREATE DATABASE {base} ENCODING '{encoding}' TEMPLATE template0")
    sent = encoding if encoding == "SQL_ASCII" else "UTF8"
    filled = [f"SET client_encoding = '{sent}'", 'CREATE TABLE "tä" ("ö" text)']
    filled += [r"INSERT INTO tä VALUES (E'\xe9')"] if encoding == "SQL_ASCII" else []
    server.run(*filled, "INSERT INTO \"tä\" VALUES ('é')", base=base)
    cells, refused = ENCODINGS[encoding]
    if cells:
        assert cells_of(server.url("tä", base=base)) == cells
    if encoding == "SQL_ASCII":
        server.run(r"""DO $$ BEGIN EXECUTE E'ALTER TABLE tä ADD "\xe9" int'; END $$""", base=base)
    if refused:
        with pytest.raises(TableError, match=refused):
            open_table(server.url("tä", base=base), "private")


def test_a_table_is_of_one_moment_whatever_others_write(server: PostgresServer) -> None:
    server.run("DROP TABLE IF EXISTS moving", "CREATE TABLE moving AS SELECT 1 AS a, 1 AS b")
    table = opened(server, "moving")
    first = TableReader(table).columns(["a"])
    server.run("UPDATE moving SET b = 2", "INSERT INTO moving VALUES (3, 3)")

    second = TableReader(table).columns(["b"])
    content = DuckDBEngine().content(table, KEY)

    assert (first.rows, second.rows) == (1, 1)
    assert second.by_name["b"].values.to_pylist() == [1]
    assert DuckDBEngine().content(opened(server, "moving"), KEY) != content


def test_a_table_cannot_be_dropped_while_it_is_used(server: PostgresServer) -> None:
    server.run("DROP TABLE IF EXISTS kept", "CREATE TABLE kept AS SELECT 1 AS a")
    table = opened(server, "kept")

    with pytest.raises(adbc_driver_manager.Error, match="lock timeout"):
        server.run("SET lock_timeout = 1", "DROP TABLE kept")
    assert TableReader(table).columns(["a"]).rows == 1


def test_a_scan_that_was_left_early_leaves_the_moment_as_it_was(server: PostgresServer) -> None:
    table = opened(server, "people")
    for _ in table.source.blocks(["id"], 0, table.memory.note):
        break

    assert TableReader(table).columns(["id"]).rows == 20


OPENING = {
    "no server": ("people", {"host": "nowhere"}, "no server answers there"),
    "password": ("people", {"password": "wrong"}, "does not let the user in"),
    "user": ("people", {"user": "stranger"}, "does not let the user in"),
    "database": ("people", {"base": "lost"}, "no such database"),
    "table": ("lost", {}, "not in the database"),
    "capitals": ("People", {}, "not in the database; give its name as it is stored, capitals too"),
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
        TableReader(table).columns(["id", "name"])
    with pytest.raises(RunError, match="could not be read to its end"):
        TableReader(table).columns(["id"])

    assert str(failure.value).startswith("the private table public.crowd could not be read to its")
    assert failure.value.__context__ is None


def test_a_cell_that_a_view_cannot_compute_is_not_told(server: PostgresServer) -> None:
    table = opened(server, "breaking")

    with pytest.raises(RunError, match="its own log says why") as failure:
        TableReader(table).columns(["odd"])
    assert "secret-cell" not in str(failure.value)


def test_rows_that_are_hidden_from_the_user_are_an_error(server: PostgresServer) -> None:
    table = opened(server, "hidden", **ANALYST)

    with pytest.raises(RunError, match="permission denied"):
        TableReader(table).columns(["id"])


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


def test_a_failure_that_nobody_foresaw_is_not_quoted() -> None:
    assert "41.5" not in advice_on(OSError("the cell 41.5 is odd"))
