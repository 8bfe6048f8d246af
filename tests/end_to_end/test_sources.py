"""Where a table is changes no number of a report: every command, on sources of several kinds."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import pqd
from tests.support import seeded_noise

QUERIES = ["SELECT COUNT(*) FROM D WHERE a > 3", "SELECT SUM(b) FROM D WHERE c = 'x'"]
ROWS = 300
Tables = Mapping[str, Any]


def table(number: int) -> pa.Table:
    return pa.table(
        {
            "a": [(n + number) % (7 + number) for n in range(ROWS)],
            "b": [n * (number + 2) % 11 for n in range(ROWS)],
            "c": ["xyz"[n * n % (2 + number % 2)] for n in range(ROWS)],
        }
    )


def parts(name: str, number: int, folder: Path) -> str:
    (folder / name).mkdir()
    for first in range(0, ROWS, 100):
        pq.write_table(table(number).slice(first, 100), folder / name / f"{first:03}.parquet")
    return f"{folder}/{name}/*.parquet"


def stored(name: str, number: int, folder: Path) -> str:
    with duckdb.connect(folder / "store.duckdb") as connection:
        connection.register("given", table(number))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return f"{folder}/store.duckdb::{name}"


def lazy(name: str, number: int, _: Path) -> pl.LazyFrame:
    assert name
    return pl.from_arrow(table(number)).lazy()  # type: ignore[union-attr]


SOURCES: dict[str, Callable[[str, int, Path], object]] = {
    "parts": parts,
    "duckdb file": stored,
    "lazy frame": lazy,
    "relation": lambda _, number, __: duckdb.from_arrow(table(number)),
    "dataset": lambda name, number, folder: ds.dataset(
        Path(parts(name, number, folder)).parent, format="parquet"
    ),
}


def audit(t: Tables) -> object:
    return pqd.audit(t["private"], t["one"], QUERIES, tau="10%", epsilon=1)


def profile(t: Tables) -> object:
    return pqd.profile(t["private"], t["one"], total_epsilon=1, anyway=True)


def compare(t: Tables) -> object:
    copies = {name: t[name] for name in ("one", "two")}
    return pqd.compare(t["private"], copies, QUERIES, tau="10%", epsilon=1)


def rank(t: Tables) -> object:
    copies = {name: t[name] for name in ("one", "two")}
    return pqd.compare(t["private"], copies, total_epsilon=1)


def plan(t: Tables) -> object:
    return pqd.plan(t["one"], QUERIES, tau="10%", epsilon=1)


def release(t: Tables) -> object:
    target = t["folder"] / f"released-{t['kind']}.csv"
    report = pqd.release(t["private"], t["one"], QUERIES, total_epsilon=1, table=target)
    # Rows of the corrected copy are drawn by their place: their order may be another.
    copies = [path.read_text("utf-8").splitlines() for path in t["folder"].glob("released-*.csv")]
    assert len({len(lines) for lines in copies}) == 1
    assert all(0.9 * ROWS < len(lines) < 1.1 * ROWS for lines in copies)
    return report


RUNS = [
    (audit, "parts"),
    (profile, "duckdb file"),
    (compare, "lazy frame"),
    (rank, "parts"),
    (plan, "relation"),
    (release, "lazy frame"),
    (release, "duckdb file"),
    (audit, "dataset"),
]


@pytest.mark.parametrize(("command", "kind"), RUNS)
def test_the_report_is_that_of_tables_in_memory(
    command: Callable[[Tables], Any], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []
    for each in ("memory", kind):
        names = enumerate(("private", "one", "two"))
        made = {
            name: table(number) if each == "memory" else SOURCES[kind](name, number, tmp_path)
            for number, name in names
        }
        monkeypatch.setenv("PQD_LEDGER", str(tmp_path / f"{each}.sqlite"))
        seeded_noise.begin_anew()
        report = command({**made, "folder": tmp_path, "kind": each})
        reports.append(numbers(json.loads(report.to_json())))
    assert reports[0] == reports[1]
    assert reports[0]


# What names the tables.
LABELS = {"private", "synthetic", "file", "cost", "notes"}


def numbers(report: Any) -> Any:
    """Report without what names the tables."""
    if isinstance(report, dict):
        return {name: numbers(value) for name, value in report.items() if name not in LABELS}
    return [numbers(value) for value in report] if isinstance(report, list) else report
