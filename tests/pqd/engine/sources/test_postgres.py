"""Tables of PostgreSQL: each cell as a table must hold it, and the rows of one moment."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import adbc_driver_manager
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqd.engine.sources.postgres_session import PostgresSession
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import RunError, TableError
from tests.support.batches import read_batch
from tests.support.postgres_server import PASSWORD, PostgresServer
from tests.support.postgres_tables import ANALYST, opened

KEY = b"k" * 32
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


def cells_of(given: object) -> dict[str, list[str | None]]:
    """Texts of the distinct values of each column."""
    engine = SyntheticTable()
    table = open_table(given, "private")
    columns = read_batch(table, table.columns)
    return {name: list(engine._sql.texts(col.values)) for name, col in columns.columns.items()}


@pytest.fixture(scope="session")
def every(server: PostgresServer) -> dict[str, list[str | None]]:
    columns = ", ".join(f"c{place} {kind}" for place, (kind, _, _) in enumerate(CELLS))
    filled = (
        f"INSERT INTO every (c{place}) VALUES ({written.replace(', ', '), (')})"
        for place, (_, written, _) in enumerate(CELLS)
    )
    server.run(f"CREATE TABLE every ({columns})", *filled)
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
    engine = SyntheticTable()

    contents = [
        engine.content(open_table(given, "private"), KEY)
        for given in (server.url("people"), tmp_path / "people.parquet")
    ]

    assert contents[0] == contents[1]


@pytest.mark.parametrize("way", ["variable", "file"])
def test_a_password_need_not_be_in_the_url(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    kept = tmp_path / "passwords"
    kept.write_text(f"*:*:*:owner:{PASSWORD}\n")
    kept.chmod(0o600)
    if way == "variable":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
    else:
        monkeypatch.setenv("PGPASSFILE", str(kept))
    monkeypatch.setenv("PGHOST", str(server.folder))
    monkeypatch.setenv("PGDATABASE", "postgres")

    assert open_table("postgresql://owner@?table=people", "private").label == "public.people"


def test_a_table_without_rows_has_the_types(server: PostgresServer) -> None:
    table = opened(server, "nobody")
    columns = read_batch(table, table.columns)

    types = [str(column.values.type) for column in columns.columns.values()]
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


def test_a_view_finds_names_as_the_user_does(server: PostgresServer) -> None:
    """A function without schemas in it, which looks in the search_path."""
    url = server.url("hr.of_staff")
    table = open_table(f"{url}&options=-csearch_path%3Dhr", "private")
    assert read_batch(table, ["id"]).rows == 4
    with pytest.raises(RunError, match="looks for names without a schema in the search_path of"):
        read_batch(open_table(url, "private"), ["id"])


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
    first = read_batch(table, ["a"])
    server.run("UPDATE moving SET b = 2", "INSERT INTO moving VALUES (3, 3)")

    second = read_batch(table, ["b"])
    content = SyntheticTable().content(table, KEY)

    assert (first.rows, second.rows) == (1, 1)
    assert second.columns["b"].values.to_pylist() == [1]
    assert SyntheticTable().content(opened(server, "moving"), KEY) != content


def test_a_server_may_give_rows_in_another_order_in_another_pass(server: PostgresServer) -> None:
    """By an index for one column, as they are stored for two."""
    server.run(
        "CREATE TABLE shuffled AS SELECT i * 7919 % 1009 AS a, i AS b FROM numbers(1008) i",
        "CREATE INDEX ON shuffled (a)",
        "CREATE USER indexed PASSWORD 'swordfish'",
        "ALTER USER indexed SET enable_seqscan = off",
        "ALTER USER indexed SET enable_bitmapscan = off",
        "GRANT SELECT ON shuffled TO indexed",
    )
    table = opened(server, "shuffled", user="indexed", password=ANALYST["password"])
    first = next(table.source.batches(["a"], table.memory.note))["a"].to_pylist()
    read_batch(table, ["a"])

    columns = read_batch(table, ["a", "b"]).columns

    a, b = (
        [columns[name].values.to_pylist()[code] for code in columns[name].codes] for name in "ab"
    )
    assert first == sorted(first) != a
    assert a == [i * 7919 % 1009 for i in b]


def test_the_moment_comes_after_the_lock(server: PostgresServer) -> None:
    """A table that is emptied and filled anew meanwhile is seen as filled, not as empty."""
    server.run("CREATE TABLE refilled AS SELECT 1 AS a")
    waits = "SELECT 1 AS one FROM pg_locks WHERE NOT granted AND relation = 'refilled'::regclass"
    writer, watcher = PostgresSession(server.url()), PostgresSession(server.url())
    writer.run("BEGIN")
    writer.run("TRUNCATE refilled")
    writer.run("INSERT INTO refilled VALUES (2)")
    with ThreadPoolExecutor(1) as pool:
        table = pool.submit(opened, server, "refilled")
        while not watcher.rows(waits) and not table.done():
            pass
        writer.run("COMMIT")

        columns = read_batch(table.result(), ["a"])
    assert columns.columns["a"].values.to_pylist() == [2]


def test_a_table_cannot_be_dropped_while_it_is_used(server: PostgresServer) -> None:
    server.run("DROP TABLE IF EXISTS kept", "CREATE TABLE kept AS SELECT 1 AS a")
    table = opened(server, "kept")

    with pytest.raises(adbc_driver_manager.Error, match="lock timeout"):
        server.run("SET lock_timeout = 1", "DROP TABLE kept")
    assert read_batch(table, ["a"]).rows == 1


def test_a_scan_that_was_left_early_leaves_the_moment_as_it_was(server: PostgresServer) -> None:
    table = opened(server, "people")
    for _ in table.source.batches(["id"], table.memory.note):
        break

    assert read_batch(table, ["id"]).rows == 20
