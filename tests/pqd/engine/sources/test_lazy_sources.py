"""Frames that are evaluated when they are read: lazy frames, relations, datasets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import pqd
from pqd.engine.sources.lazy_sources import LazySource
from pqd.engine.sources.source import UnreadableError
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table, table_of
from pqd.errors import NotPublicError, RunError, TableError
from tests.support.batches import read_batch

CANARY = "zebra-canary"
ROWS = pa.table({"text": ["x", "y", None, "x"], "number": [1, 2, 2, None], "^odd.*$": [True] * 4})
KEY = b"a key of 32 bytes for the tests."
MAKERS: dict[str, Callable[[pa.Table], Any]] = {
    "lazy frame": lambda table: pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
    "relation": duckdb.from_arrow,
    "dataset": ds.dataset,
}


def cells(source: object, names: list[str]) -> dict[str, list[object]]:
    columns = read_batch(open_table(source, "private"), names)
    return {
        name: [column.values[int(code)].as_py() for code in column.codes]
        for name, column in columns.columns.items()
    }


@pytest.mark.parametrize("kind", MAKERS)
def test_a_lazy_source_is_the_table_that_it_gives(kind: str) -> None:
    source = MAKERS[kind](ROWS)
    table = open_table(source, "private")
    assert (table.columns, table.given is source, table.label) == (
        ("text", "number", "^odd.*$"),
        True,
        "private frame",
    )
    assert (table.textual, table.files, table.version()) == (False, (), None)
    assert cells(source, ["number", "^odd.*$"]) == ROWS.select(["number", "^odd.*$"]).to_pydict()
    content = SyntheticTable().content(table, KEY)
    assert content == SyntheticTable().content(open_table(ROWS, "private"), KEY)


def test_a_polars_that_gives_no_batches_collects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its version 1.34."""
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    assert cells(MAKERS["lazy frame"](ROWS), ["text"]) == ROWS.select(["text"]).to_pydict()


@pytest.mark.parametrize("kind", MAKERS)
def test_a_lazy_source_without_rows(kind: str) -> None:
    assert read_batch(open_table(MAKERS[kind](ROWS.slice(0, 0)), "private"), ["text"]).rows == 0


def test_only_wanted_columns_are_evaluated() -> None:
    """What is not asked for would break."""
    broken = {
        "lazy": pl.LazyFrame({"a": [1, 2], "b": [CANARY, "1"]}).with_columns(
            pl.col("b").cast(pl.Int64)
        ),
        "relation": duckdb.sql(
            f"SELECT a, CAST(b AS INT) AS b FROM (VALUES (1, '{CANARY}'), (2, '1')) t(a, b)"
        ),
    }
    for source in broken.values():
        assert cells(source, ["a"]) == {"a": [1, 2]}


class PanicException(BaseException):
    """What a library of Rust raises where it breaks."""


def panicking(_: object) -> object:
    raise PanicException(CANARY)


BROKEN: dict[str, Callable[[], object]] = {
    "lazy": lambda: pl.LazyFrame({"b": [CANARY]}).select(pl.col("b").cast(pl.Int64)),
    "in Python": lambda: pl.LazyFrame({"b": [CANARY]}).select(
        pl.col("b").map_batches(lambda cells: [][len(cells)], return_dtype=pl.Int64)
    ),
    "relation": lambda: duckdb.sql(f"SELECT CAST(b AS INT) AS b FROM (VALUES ('{CANARY}')) t(b)"),
}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("role", ["private", "synthetic"])
def test_a_lazy_source_that_fails_quotes_no_cell(kind: str, role: Any) -> None:
    words = f"^the {role} frame could not be read to its end"
    with pytest.raises((RunError, TableError), match=words) as caught:
        read_batch(open_table(BROKEN[kind](), role), ["b"])
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None
    assert isinstance(caught.value, TableError if role == "synthetic" else RunError)


def test_a_panic_is_an_error_and_ctrl_c_is_none() -> None:
    lazy = LazySource("t", ("a",), pa.schema([("a", pa.int64())]), panicking)  # type: ignore[arg-type]
    with pytest.raises(UnreadableError) as caught:
        list(lazy.batches(["a"], lambda *_: None))
    assert CANARY not in str(caught.value)

    def pressed(_: object) -> object:
        raise KeyboardInterrupt

    lazy = LazySource("t", ("a",), pa.schema([("a", pa.int64())]), pressed)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        list(lazy.batches(["a"], lambda *_: None))


UNUSABLE: dict[str, tuple[Callable[[], object], str]] = {
    "no column": (
        lambda: pl.LazyFrame({CANARY: [1]}).select("other"),
        "is a LazyFrame that cannot be taken over",
    ),
    "type": (lambda: pl.LazyFrame({"a": [1]}, schema={"a": pl.Int128}), "types that Arrow has"),
    "object": (
        lambda: pl.LazyFrame({"a": pl.Series([object()], dtype=pl.Object)}),
        "has a column of the type Object; cast it",
    ),
    "names": (lambda: pl.LazyFrame({"a": [1], "A": [2]}), "columns of the same name"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_a_lazy_source_that_cannot_be_used_is_refused(kind: str) -> None:
    made, words = UNUSABLE[kind]
    with pytest.raises(TableError, match=f"^the private .*{words}") as caught:
        open_table(made(), "private")
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


class TurningScan:
    """Scan that gives its rows in another order each time."""

    def __init__(self) -> None:
        self.passes = 0

    def __call__(self, wanted: list[str]) -> list[pa.RecordBatch]:
        self.passes += 1
        turned = pa.concat_tables([ROWS.slice(self.passes % 4), ROWS.slice(0, self.passes % 4)])
        batches: list[pa.RecordBatch] = turned.select(wanted).to_batches()
        return batches


def test_columns_of_two_passes_are_of_one_order() -> None:
    scan = TurningScan()
    table = open_table(ROWS, "private")
    lazy = LazySource("t", table.columns, ROWS.schema, scan)  # type: ignore[arg-type]
    turning = table_of(lazy, "private")
    for names in (["text"], ["number"], ["text", "number"]):
        columns = read_batch(turning, names)
        found = [
            [c.values[int(code)].as_py() for code in c.codes] for c in columns.columns.values()
        ]
    rows = set(zip(*found, strict=True))
    assert rows == set(zip(*(ROWS[name].to_pylist() for name in ("text", "number")), strict=True))
    assert scan.passes == 2
    engine = SyntheticTable()
    engine.schema(table_of(lazy, "synthetic"), ["number"], {})
    frame = engine.frame(table_of(lazy, "synthetic"))
    assert [*frame["number"].fillna(0)] == [*engine.loaded()["number"].fillna(0)]


def test_relations_of_one_connection_are_read_at_once() -> None:
    connection = duckdb.connect()
    private, copy = (
        connection.sql(f"SELECT range % {number} AS a, range AS b FROM range(300)")
        for number in (3, 4)
    )
    report = pqd.audit(private, copy, "SELECT COUNT(*) FROM D WHERE a = 1", tau=30, epsilon=2)
    assert report.verdicts[0].q_synthetic == 75


def test_files_of_a_dataset_are_known(tmp_path: Path) -> None:
    for name in ("a", "b"):
        pq.write_table(ROWS, tmp_path / f"{name}.parquet")
    table = open_table(ds.dataset(tmp_path), "private")
    assert [path.name for path in table.files] == ["a.parquet", "b.parquet"]
    before = table.version()
    pq.write_table(ROWS.slice(1), tmp_path / "b.parquet")
    assert before != table.version() != ()
    assert table.digest() is None
    query = "SELECT COUNT(*) FROM D"
    with pytest.raises(NotPublicError, match="shares a part with the private table"):
        pqd.audit(ds.dataset(tmp_path), tmp_path / "a.parquet", query, tau=30, epsilon=2)
    (tmp_path / "b.parquet").unlink()
    assert table.version() == ()


def test_a_lazy_source_given_as_its_own_copy_is_refused() -> None:
    frame = MAKERS["lazy frame"](ROWS)
    with pytest.raises(NotPublicError, match="is the private table itself"):
        pqd.audit(frame, frame, "SELECT COUNT(*) FROM D", tau=30, epsilon=2)
    other = MAKERS["relation"](ROWS)
    with pytest.raises(NotPublicError, match="holds the same rows"):
        pqd.audit(frame, other, "SELECT COUNT(*) FROM D", tau=30, epsilon=2)
