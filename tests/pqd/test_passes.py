"""Passes over the files: each command reads each table once, whatever the ledger knows."""

import shutil
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import pqd
from pqd.engine import scan
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import Table
from pqd.errors import NotPublicError

QUERIES = ["SELECT COUNT(*) FROM D WHERE a > 3", "SELECT SUM(b) FROM D", "SELECT AVG(b) FROM D"]
SPEC = """[private]
path = "{private}"
[columns.b]
bounds = "copy"
[synthetic.one]
path = "{one}"
[synthetic.two]
path = "{two}"
[defaults]
tau = "10%"
epsilon = 1
[[check]]
id = "count"
sql = "SELECT COUNT(*) FROM D WHERE a > 3"
[[check]]
id = "sum"
sql = "SELECT SUM(b) FROM D"
[[check]]
id = "distance"
marginal = ["c"]
tau = 0.1
"""
Tables = dict[str, Path]


@pytest.fixture(params=["csv", "parquet"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    """Private table and two copies, that differ in every column."""
    made = {}
    for number, name in enumerate(("private", "one", "two")):
        columns = {
            "a": [(n + number) % (7 + number) for n in range(300)],
            "b": [n * (number + 2) % 11 for n in range(300)],
            "c": ["xyzzy"[n * n % (3 + number)] for n in range(300)],
            "unused": list(range(300)),
        }
        made[name] = tmp_path / f"{name}.{request.param}"
        write = pq.write_table if request.param == "parquet" else pcsv.write_csv
        write(pa.table(columns), made[name])
    return made


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Passes over each table."""
    counted: Counter[str] = Counter()
    batches = scan._record_batches

    def watched(table: Table, wanted: Sequence[str], *, ahead: bool) -> Generator[pa.RecordBatch]:
        counted[Path(table.label).stem] += 1
        return batches(table, wanted, ahead=ahead)

    monkeypatch.setattr(scan, "_record_batches", watched)
    return counted


def audit(t: Tables) -> None:
    pqd.audit(t["private"], t["one"], QUERIES, tau="10%", epsilon=1)


def profile(t: Tables) -> None:
    pqd.profile(t["private"], t["one"], total_epsilon=1, anyway=True)


def compare(t: Tables) -> None:
    copies = {name: t[name] for name in ("one", "two")}
    pqd.compare(t["private"], copies, QUERIES, tau="10%", epsilon=1)


def rank(t: Tables) -> None:
    copies = {name: t[name] for name in ("one", "two")}
    pqd.compare(t["private"], copies, total_epsilon=1)


def plan(t: Tables) -> None:
    pqd.plan(t["one"], QUERIES, tau="10%", epsilon=1)


def release(t: Tables) -> None:
    pqd.release(t["private"], t["one"], QUERIES[:2], total_epsilon=1)


def check(t: Tables) -> None:
    spec = t["private"].with_name("audit.toml")
    spec.write_text(SPEC.format(**{name: path.name for name, path in t.items()}), "utf-8")
    pqd.check(spec)


@pytest.mark.parametrize("command", [audit, check, compare, rank, plan, profile, release])
def test_each_table_is_read_once(
    command: Callable[[Tables], None], tables: Tables, passes: Counter[str]
) -> None:
    for before in (None, None, audit):
        if before:
            before(tables)
        passes.clear()
        command(tables)
        assert passes["one"] == 1
        assert set(passes.values()) == {1}, passes


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tables whose rows are hashed."""
    made: list[str] = []
    read = SyntheticTable.read

    def watched(
        self: SyntheticTable,
        table: Table,
        names: Sequence[str],
        keys: Sequence[bytes],
        *,
        ahead: bool,
    ) -> None:
        made.extend(Path(table.label).stem for _ in keys)
        read(self, table, names, keys, ahead=ahead)

    monkeypatch.setattr(SyntheticTable, "read", watched)
    return made


def test_rows_are_hashed_where_a_file_is_new_or_a_copy_may_be_another_account(
    tables: Tables, hashed: list[str]
) -> None:
    audit(tables)
    assert hashed == ["private"], "a new ledger has no account to compare a copy with"
    hashed.clear()
    audit(tables)
    assert hashed == [], "the only account is the private table's own, which is read beside"
    third = tables["private"].with_stem("third")
    shutil.copy(tables["two"], third)
    pqd.audit(third, tables["one"], QUERIES, tau="10%", epsilon=1)
    assert sorted(hashed) == ["one", "third"], "an account is another table's"
    hashed.clear()
    audit(tables)
    assert hashed == ["one"]
    with pytest.raises(NotPublicError, match="is known to the ledger"):
        pqd.audit(tables["private"], tables["two"], QUERIES, tau="10%", epsilon=1)


def test_the_only_account_s_rows_are_no_copy_either(tables: Tables) -> None:
    audit(tables)
    rows = pq.read_table if tables["private"].suffix == ".parquet" else pcsv.read_csv
    frame = rows(tables["private"])
    shuffled = frame.take(pa.array(range(len(frame))[::-1])).rename_columns(
        ["A", "b", "c", "unused"]
    )
    with pytest.raises(NotPublicError, match="holds the same rows"):
        pqd.audit(tables["private"], shuffled, QUERIES, tau="10%", epsilon=1)
