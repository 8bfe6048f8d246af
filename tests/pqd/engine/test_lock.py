"""What the engine's DuckDB must not be able to do, whatever SQL were to reach it."""

from pathlib import Path

import duckdb
import pytest

from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table

FORBIDDEN = [
    "SELECT * FROM read_csv('/etc/passwd', header = false, columns = {{'a': 'VARCHAR'}})",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '{folder}/neighbour.csv'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_text('{folder}/neighbour.csv')",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "ATTACH '{folder}/other.db'",
    "EXPORT DATABASE '{folder}/dump'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SELECT * FROM read_csv('https://example.org/x.csv')",
    "SET enable_external_access = true",
    "RESET enable_external_access",
    "SET lock_configuration = false",
    "SET allowed_paths = ['/etc/passwd']",
    "SET allowed_directories = ['/']",
    "SET temp_directory = '{folder}'",
    "SET autoload_known_extensions = true",
]


@pytest.fixture
def engine(tmp_path: Path) -> SyntheticTable:
    (tmp_path / "neighbour.csv").write_text("age\n1\n", encoding="utf-8")
    path = tmp_path / "synthetic.csv"
    path.write_text("age\n1\n", encoding="utf-8")
    engine = SyntheticTable()
    engine.schema(open_table(path, "synthetic"), ["age"], {})
    assert engine.rows() == 1
    return engine


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_engine_is_locked(statement: str, engine: SyntheticTable, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises((duckdb.PermissionException, duckdb.InvalidInputException)):
        engine._sql._connection.execute(statement.format(folder=tmp_path)).fetchall()
    assert sorted(tmp_path.iterdir()) == before


def test_the_engine_itself_opens_no_file_not_even_its_tables(
    engine: SyntheticTable, tmp_path: Path
) -> None:
    path = tmp_path / "synthetic.csv"
    for sql in (f"SELECT * FROM read_csv('{path}')", f"COPY (SELECT 7) TO '{path}'"):
        with pytest.raises(duckdb.PermissionException):
            engine._sql._connection.execute(sql)
    assert path.read_text(encoding="utf-8") == "age\n1\n"
