"""Risk of tables in folders, databases and servers: the same rows have the same report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqd.attacks.parameters import RiskParameters
from pqd.commands.risk import run_risk
from tests.end_to_end.test_risk import HELD_OUT, LEAKED, SECRET
from tests.support.noises import Absent
from tests.support.postgres_server import PostgresServer

Command = Callable[..., tuple[int, str, str]]
TABLES = {"private": SECRET[:400], "copy": LEAKED[:400], "held_out": HELD_OUT[:300]}


def arrow(table: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(table, preserve_index=False)


def in_parts(name: str, table: pd.DataFrame, folder: Path) -> str:
    """Parquet files of a folder; the rows are cut unevenly, and one part is empty."""
    (folder / name).mkdir()
    for place, (first, last) in enumerate(((0, 7), (7, 7), (7, 250), (250, len(table)))):
        pq.write_table(arrow(table[first:last]), folder / name / f"part-{place}.parquet")
    return str(folder / name / "*.parquet")


def in_duckdb(name: str, table: pd.DataFrame, folder: Path) -> str:
    """A table of a DuckDB file for each name."""
    own = arrow(table)  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect(str(folder / f"{name}.duckdb")) as base:
        base.execute("CREATE TABLE people AS SELECT * FROM own")
    return f"{folder / name}.duckdb::people"


def on_server(name: str, table: pd.DataFrame, server: PostgresServer) -> str:
    """A table of PostgreSQL; names that differ in a number alone would be parts of one table."""
    stored = server.store(arrow(table)).rpartition("=")[2]
    server.run(f"DROP TABLE IF EXISTS risk_{name}", f"ALTER TABLE {stored} RENAME TO risk_{name}")
    return server.url(f"risk_{name}")


@pytest.fixture(params=["parts", "duckdb", "postgres"])
def sources(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Sources of the three tables, all of one kind."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        return {name: on_server(name, table, server) for name, table in TABLES.items()}
    stored = {"parts": in_parts, "duckdb": in_duckdb}[request.param]
    return {name: stored(name, table, tmp_path) for name, table in TABLES.items()}


def test_every_source_has_the_report_of_a_frame(sources: dict[str, str]) -> None:
    def attacks(private: Any, copy: Any, held_out: Any) -> Any:
        stated = RiskParameters.parse(secrets=["job", "pay"])
        report = run_risk(private, copy, stated, Absent(), held_out=held_out)
        return report.attacks, report.curve, report.roc

    assert attacks(**sources) == attacks(**TABLES)


def test_the_tables_of_a_source_have_accounts_and_are_not_taken_for_each_other(
    sources: dict[str, str], command: Command
) -> None:
    private, copy, held_out = sources.values()
    given = ("risk", private, copy, "--held-out", held_out, "--attacks", "copied")
    code, shown, told = command(*given)
    assert code == 0, told
    assert "epsilon 1 spent" in shown
    code, again, _ = command(*given)
    assert code == 0
    assert "nothing spent: all replayed" in again
    # The rows are recognised, wherever they are.
    code, _, told = command("risk", private, copy, "--held-out", private)
    assert code == 2
    assert "is the private table, or shares a part" in " ".join(told.split())
    code, _, told = command("risk", private, private)
    assert code == 2
    assert "private table" in " ".join(told.split())


@pytest.mark.parametrize("place", ["private", "copy", "--held-out"])
def test_a_table_of_spark_is_refused_wherever_it_is_named(
    place: str, tmp_path: Path, command: Command
) -> None:
    for name, table in TABLES.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    named = {name: str(tmp_path / f"{name}.csv") for name in TABLES}
    named[place.replace("--held-out", "held_out")] = "spark://main.people"
    code, shown, told = command(
        "risk", named["private"], named["copy"], "--held-out", named["held_out"]
    )
    assert (code, shown) == (2, "")
    assert "cannot read a table of Spark yet; give a file, a frame or a database table" in (
        " ".join(told.split())
    )
    assert "Traceback" not in told
    assert not list(tmp_path.rglob("*.sqlite"))
