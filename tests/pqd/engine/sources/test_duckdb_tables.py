"""Tables of DuckDB files: ``FILE.duckdb::TABLE``, read in a connection that can do nothing else."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import pqd
from pqd.engine.sources import duckdb_tables
from pqd.engine.sources.source import Place
from pqd.engine.tables import Table, open_table
from pqd.errors import NotPublicError, RunError, TableError
from pqd.planning.table_separation import separate_tables
from tests.support.batches import read_batch

CANARY = "zebra-canary"
Command = Callable[..., tuple[int, str, str]]
MADE = f"""
CREATE TABLE people AS SELECT range AS age, 'n' || range % 3 AS name FROM range(100);
CREATE TABLE copy AS SELECT range + 1 AS age, 'n' || range % 4 AS name FROM range(100);
CREATE VIEW old AS SELECT age AS "the ""age" FROM people WHERE age >= 90;
CREATE VIEW young AS SELECT * FROM people WHERE age < 60;
CREATE VIEW few AS WITH f AS (SELECT * FROM young) SELECT f.* FROM f WHERE age > 55;
CREATE SCHEMA other;
CREATE TABLE other.people AS SELECT 7 AS age;
CREATE TABLE other."Odd. name" AS SELECT 1 AS a;
CREATE VIEW broken AS SELECT CAST(name AS INT) AS age FROM people;
CREATE VIEW outside AS SELECT * FROM read_csv('{{folder}}/{CANARY}.csv');
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / f"{CANARY}.csv").write_text("age\n1\n", "utf-8")
    path = tmp_path / "store.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(MADE.format(folder=tmp_path))
    return path


def rows(table: Table) -> int:
    return read_batch(table, table.columns).rows


NAMES: dict[str, tuple[Any, ...]] = {
    "other.people": (("age",), 1, "other.people"),
    "OTHER.People": (("age",), 1, "other.people"),
    "main.people": (("age", "name"), 100, "main.people"),
    "old": (('the "age',), 10, "main.old", "main.people"),
    "odd. name": (("a",), 1, "other.odd. name"),
    'other."odd. name"': (("a",), 1, "other.odd. name"),
    '"main"."people"': (("age", "name"), 100, "main.people"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_table_or_view_is_named_with_its_schema_or_without(file: Path, name: str) -> None:
    table = open_table(f"{file}::{name}", "private")
    columns, number, *places = NAMES[name]
    assert (table.columns, rows(table)) == (columns, number)
    assert table.label == f"store.duckdb::{name}"
    assert table.source.places == tuple(Place(file, place) for place in places)
    assert table.source.folder == file.parent
    assert not table.textual


REFUSED = {
    "::people": r"is in several schemas of that file; write schema\.table",
    "::zebra": "is not in that file; check the table's name",
    "::peopel": "is not in that file; the nearest is people$",
    "": r"is a DuckDB file; name its table: .*store\.duckdb::TABLE",
    "::": "name its table",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_is_not_there_is_refused_without_names_unlike_it(
    file: Path, name: str
) -> None:
    with pytest.raises(TableError, match=REFUSED[name]) as caught:
        open_table(f"{file}{name}", "private")
    assert "Odd" not in str(caught.value)
    assert caught.value.__context__ is None


def test_what_is_no_duckdb_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.duckdb").write_text(CANARY * 99, "utf-8")
    with pytest.raises(TableError, match="is no DuckDB file that can be read") as caught:
        open_table(f"{tmp_path}/t.duckdb::t", "private")
    assert CANARY not in str(caught.value)
    with pytest.raises(TableError, match="does not exist"):
        open_table(f"{tmp_path}/other.duckdb::t", "private")
    assert not (tmp_path / "other.duckdb").exists()


@pytest.mark.parametrize("role", ["private", "synthetic"])
def test_a_view_that_fails_quotes_no_cell(file: Path, role: Any) -> None:
    table = open_table(f"{file}::broken", role)
    with pytest.raises((RunError, TableError), match="could not be read to its end") as caught:
        rows(table)
    assert "n0" not in str(caught.value)
    assert caught.value.__context__ is None


def test_the_connection_is_locked(file: Path, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="is a view that cannot be read by itself") as caught:
        open_table(f"{file}::outside", "private")
    assert CANARY not in str(caught.value)
    before = sorted(tmp_path.iterdir())
    forbidden = [
        "SELECT * FROM read_text('/etc/passwd')",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/other.duckdb'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET threads = 1",
        "CREATE TABLE t AS SELECT 1",
        "DELETE FROM people",
    ]
    with duckdb_tables._connected(file) as first, duckdb_tables._connected(file) as second:
        for connection in (first, second):
            for statement in forbidden:
                with pytest.raises(duckdb.Error):
                    connection.execute(statement).fetchall()
            settings = connection.execute(
                "SELECT current_setting('disabled_optimizers'), current_setting('temp_directory')"
            ).fetchone()
            assert settings is not None
            assert "statistics_propagation" in settings[0]
            assert settings[1] == ""
    assert sorted(tmp_path.iterdir()) == before


HELD = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def held(file: Path) -> Iterator[Path]:
    with subprocess.Popen(  # noqa: S603 - the arguments are the test's own
        [sys.executable, "-c", HELD, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"held\n"
        yield file
        process.stdin.close()
        process.wait()


def test_a_file_that_another_process_holds_is_told(held: Path) -> None:
    with pytest.raises(TableError, match=r"another program holds it open.* a copy of the file"):
        open_table(f"{held}::people", "private")


def test_a_file_that_this_process_writes_is_told(file: Path) -> None:
    table = open_table(f"{file}::main.people", "synthetic")
    with duckdb.connect(str(file)):
        with pytest.raises(TableError, match="or this one does to write"):
            open_table(f"{file}::people", "private")
        with pytest.raises(TableError, match=r"could not be read to its end; .* holds it open"):
            rows(table)


def test_what_is_not_in_the_file_yet_is_read_and_seen(file: Path) -> None:
    """DuckDB keeps a log beside the file until it is closed well."""
    table = open_table(f"{file}::main.people", "private")
    version, digest = table.version(), table.digest()
    code = (
        "import duckdb, os, sys\nc = duckdb.connect(sys.argv[1])\n"
        "c.execute('INSERT INTO main.people VALUES (1, NULL)')\nos._exit(0)"
    )
    arguments = [sys.executable, "-c", code, str(file)]
    subprocess.run(arguments, check=True)  # noqa: S603 - the arguments are the test's own
    assert file.with_name("store.duckdb.wal").exists()
    assert rows(open_table(f"{file}::main.people", "private")) == 101
    assert table.version() != version
    assert table.digest() != digest


def test_two_tables_of_one_file_are_private_and_public(
    file: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PQD_LEDGER")
    query = "SELECT COUNT(*) FROM D WHERE age > 50"
    report = pqd.audit(f"{file}::main.people", f"{file}::copy", query, tau=30, epsilon=2)
    assert report.verdicts[0].q_synthetic == 50
    assert (file.parent / "pqd-ledger.sqlite").is_file()
    with pytest.raises(NotPublicError, match="is the private table itself"):
        pqd.audit(f"{file}::main.people", f"{file}::MAIN.PEOPLE", query, tau=30, epsilon=2)
    for pair in (("main.people", "young"), ("young", "main.people"), ("young", "few")):
        with pytest.raises(NotPublicError, match="shares a part with the private table"):
            pqd.audit(f"{file}::{pair[0]}", f"{file}::{pair[1]}", query, tau=30, epsilon=2)
    arguments = ["audit", f"{file}::main.people", f"{file}::copy", "-q", query, "--tau", "30"]
    code, out, _ = command(*arguments, "--epsilon", "2")
    assert code == 0
    assert "store.duckdb::copy" in out
    assert command("ledger", "show", f"{file}::main.people")[0] == 0
    code, _, err = command("init", f"{file}::copy", f"{file}::copy", "--file", "-")
    assert (code, "is the private table itself" in err) == (2, True)
    code, out, err = command("init", f"{file}::main.people", f"{file}::copy", "--file", "-")
    assert (code, "store.duckdb::main.people" in out) == (0, True)
    code, _, err = command(f"{file}::main.people", f"{file}::copy")
    assert "to begin with: pqd profile" in err


VIEWS = {
    "a part of it": "SELECT * FROM main.people WHERE age > 3",
    "of a view of it": 'SELECT "the ""age" AS age FROM old',
    "by a macro": "SELECT age FROM grown(3)",
    "within a query": "SELECT (SELECT max(age) FROM people) AS age",
    "joined": (
        "WITH q AS (SELECT * FROM people) SELECT q.age FROM q JOIN (SELECT 1 AS age) USING (age)"
    ),
}


@pytest.mark.parametrize("what", VIEWS)
def test_a_view_of_the_private_table_is_not_public(file: Path, what: str) -> None:
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE MACRO grown(least) AS TABLE SELECT * FROM people WHERE age > least"
        )
        connection.execute(f"CREATE VIEW part AS {VIEWS[what]}")
    with pytest.raises(NotPublicError, match="shares a part with the private table"):
        separate_tables(f"{file}::main.people", f"{file}::part")


@pytest.mark.parametrize("pair", [("seen", "copy"), ("main.people", "shown"), ("seen", "shown")])
def test_views_of_other_tables_are_public(file: Path, pair: tuple[str, str]) -> None:
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM main.people WHERE age > 3")
        connection.execute("CREATE VIEW shown AS SELECT * FROM copy WHERE age > 5")
    one, other = pair
    assert separate_tables(f"{file}::{one}", f"{file}::{other}").label.endswith(other)


def test_names_of_tables_that_a_view_reads_are_those_of_their_places(file: Path) -> None:
    with duckdb.connect(str(file)) as connection:
        connection.execute('CREATE SCHEMA "a ""b"; CREATE TABLE "a ""b"."""" AS SELECT 1 AS a')
        connection.execute('CREATE VIEW odd AS SELECT 1 AS a FROM "a ""b"."""", other."Odd. name"')
    names = [place.table for place in open_table(f"{file}::odd", "private").source.places]
    assert names == ["main.odd", 'a "b."', "other.odd. name"]
