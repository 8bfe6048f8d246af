"""Recognising a table: paths, formats, headers, frames."""

import gzip
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pqd.engine.sources.files import _File
from pqd.engine.sources.frame import Frame
from pqd.engine.sources.source import Place
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import Role, Table, open_table, opened_ahead
from pqd.errors import PqdError, TableError
from tests.pqd.engine.conformance.engines import Capsule
from tests.support.batches import read_batch


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("name,age", ("name", "age")),
        ("name;age", ("name", "age")),
        ("name\tage", ("name", "age")),
        ("name|age", ("name", "age")),
        ("age", ("age",)),
        ('"a,b",age', ("a,b", "age")),
        ('"say ""x""",age', ('say "x"', "age")),
        ("it's,größe", ("it's", "größe")),
        ("\ufeffname,age", ("name", "age")),
        ("name,age\r", ("name", "age")),
        (" name ,a ge", (" name ", "a ge")),
    ],
)
def test_the_header_names_the_columns(
    header: str, columns: tuple[str, ...], tmp_path: Path
) -> None:
    assert open_table(written(tmp_path / "t.csv", f"{header}\nx\n"), "private").columns == columns


def test_a_tsv_is_split_at_tabs_only(tmp_path: Path) -> None:
    path = written(tmp_path / "t.tsv", "a,b,c\td\n")
    assert open_table(path, "private").columns == ("a,b,c", "d")


def test_a_compressed_file_is_read_by_its_inner_suffix(tmp_path: Path) -> None:
    path = written(tmp_path / "t.tsv.gz", gzip.compress(b"a\tb\n"))
    assert open_table(path, "private").columns == ("a", "b")


REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("t.csv", "", "is empty"),
    "empty Parquet": ("t.parquet", "", "is empty"),
    "blank first line": ("t.csv", "\n1,2\n", "is empty"),
    "same name twice": ("t.csv", "zebra,b,zebra\n", r"capitals aside: columns 1 and 3;"),
    "same name in another case": ("t.csv", "zebra,ZEBRA\n", "columns 1 and 2;"),
    "two names twice": ("t.csv", "a,zebra,b,Zebra,a,a\n", "columns 1, 5 and 6;"),
    "column without a name": ("t.csv", "a,,b\n", "without a name"),
    "binary": ("t.csv", b"\x89PNG\xff\xfe\x00\x01", "is it a CSV"),
    "zero bytes": ("t.csv", b"a\0,b\n", "is it a CSV"),
    "not compressed": ("t.csv.gz", "a,b\n1,2\n", "is it a CSV"),
    "cut short": ("t.csv.gz", gzip.compress(b"a,b\n" * 9999)[:20], "is it a CSV"),
    "a spreadsheet": ("t.xlsx", "a,b\n", r"none of \.csv.* save the sheet as CSV UTF-8"),
    "a database": ("t.db", "a,b\n", r"none of \.csv.* of a DuckDB file, name a table: FILE::TABLE"),
    "no suffix": ("table", "a,b\n", r"none of .* and \.parquet$"),
    "compressed, unknown": ("t.gz", b"", r"none of .* and \.parquet$"),
}


@pytest.mark.parametrize("label", REFUSED)
@pytest.mark.parametrize("role", ["private", "synthetic"])
def test_a_file_that_is_no_table_is_refused(label: str, role: Any, tmp_path: Path) -> None:
    name, content, words = REFUSED[label]
    path = written(tmp_path / name, content)
    with pytest.raises(TableError, match=words) as caught:
        open_table(path, role)
    assert role in str(caught.value)
    assert name in str(caught.value)
    assert "zebra" not in str(caught.value).lower()


def closed(path: Path, *_: str) -> None:
    raise PermissionError(13, "Permission denied", str(path))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.parquet"])
def test_a_file_that_may_not_be_read_is_a_matter_of_permission(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read any file, so the system's refusal is played."""
    path = written(tmp_path / name, "a,b\n")
    monkeypatch.setattr(Path, "open", closed)
    with pytest.raises(TableError, match=r"may not be read: permission denied; ask") as caught:
        open_table(path, "private")
    assert "CSV" not in str(caught.value)


def test_a_folder_that_may_not_be_entered_is_a_matter_of_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "exists", closed)
    with pytest.raises(TableError, match="permission denied"):
        open_table(tmp_path / "closed" / "t.csv", "private")


def test_a_disk_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path, *_: str) -> None:
        raise OSError(5, "Input/output error", str(path))

    path = written(tmp_path / "t.csv", "a,b\n")
    monkeypatch.setattr(Path, "open", broken)
    with pytest.raises(TableError, match="cannot be opened: Input/output error"):
        open_table(path, "private")


def test_a_table_s_repr_holds_neither_names_nor_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({"zebra": [987654321]})
    for source in (frame, written(tmp_path / "t.csv", "zebra\n1\n")):
        assert not any(word in repr(open_table(source, "private")) for word in ("zebra", "9876"))


def test_a_missing_file_is_refused_without_its_neighbours(tmp_path: Path) -> None:
    written(tmp_path / "adult_private.csv", "a\n")
    with pytest.raises(TableError, match="does not exist; check its name") as caught:
        open_table(tmp_path / "adult_privat.csv", "private")
    assert "adult_private.csv" not in str(caught.value)


def test_an_empty_folder_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(TableError, match=r"t\.csv has no part: no file is there"):
        open_table(tmp_path / "t.csv", "synthetic")


@pytest.mark.parametrize("path", ["", ".", "/", "\0.csv", "x" * 5000 + ".csv"])
def test_paths_that_no_file_can_have(path: str) -> None:
    with pytest.raises(TableError, match="private"):
        open_table(path, "private")


def test_the_label_is_the_file_s_name_and_the_path_is_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "t.csv", "a\n")
    monkeypatch.chdir(tmp_path)
    table = open_table("t.csv", "private")
    assert table.label == "t.csv"
    assert table.source.places == (Place(tmp_path / "t.csv"),)
    assert table.textual


def test_frames() -> None:
    frame = pd.DataFrame({"a": [1], 7: [2]})
    table = open_table(frame, "synthetic")
    assert (table.columns, table.given is frame, table.textual) == (("a", "7"), True, False)
    table = open_table(pa.table({"a": [1], "b": [2]}), "private")
    assert (table.columns, table.label) == (("a", "b"), "private frame")


class BrokenFrame(Capsule):
    """Frame whose library fails on a cell, and says on which."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError("zebra is no number")


class LateFrame(BrokenFrame):
    """Frame that is evaluated as soon as anything is asked of it."""

    @property
    def dtypes(self) -> object:
        raise ValueError("zebra is no number")


class DerivedFrame(pd.DataFrame):
    """Frame of a library that derives its own from pandas."""


CELLS = pa.table({"text": ["x", "y", None, "x"], "number": [1, 2, 2, None]})


@pytest.mark.parametrize(
    "make",
    [
        Capsule,
        pl.from_arrow,
        lambda table: pl.DataFrame(table).with_columns(pl.col("text").cast(pl.Categorical)),
        lambda table: pl.DataFrame(table).with_columns(pl.col("text").cast(pl.Enum(["y", "x"]))),
        duckdb.from_arrow,
        lambda table: table.combine_chunks().to_batches()[0],
    ],
    ids=["its own", "polars", "categories", "enum", "relation", "batch"],
)
def test_any_frame_that_hands_on_arrow_is_a_table(make: Any) -> None:
    source = make(CELLS)
    table = open_table(source, "synthetic")
    assert (table.columns, table.given is source) == (("text", "number"), True)
    read = read_batch(table, table.columns)
    for name in table.columns:
        column = read.columns[name]
        held = column.values  # noqa: PD011 - no pandas
        assert held.take(pa.array(column.codes)).to_pylist() == CELLS[name].to_pylist()
        # What DuckDB evaluates on is no view.
        assert "view" not in str(held.type)


MOMENT = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
TYPED: dict[str, pl.Series] = {
    "text": pl.Series(["x", None, "größe"]),
    "categories": pl.Series(["x", None, "y"], dtype=pl.Categorical),
    "enum": pl.Series(["x", None, "y"], dtype=pl.Enum(["y", "x"])),
    "whole": pl.Series([1, None, -3]),
    "unsigned": pl.Series([1, None, (1 << 64) - 1], dtype=pl.UInt64),
    "small": pl.Series([1, None, -3], dtype=pl.Int8),
    "real": pl.Series([1.5, None, math.nan]),
    "single": pl.Series([1.5, None, math.inf], dtype=pl.Float32),
    "decimal": pl.Series(["1.25", None, "-3"]).cast(pl.Decimal(10, 2)),
    "boolean": pl.Series([True, None, False]),
    "day": pl.Series([MOMENT.date(), None, MOMENT.date()]),
    "moment": pl.Series([MOMENT, None, MOMENT], dtype=pl.Datetime("ns", "UTC")),
    "of day": pl.Series([MOMENT.time(), None, MOMENT.time()]),
    "duration": pl.Series([timedelta(1), None, timedelta(0, 1)]),
    "bytes": pl.Series([b"x", None, b"\xff"]),
    "list": pl.Series([[1, 2], None, []]),
    "struct": pl.Series([{"a": "x"}, None, {"a": None}]),
    "nothing": pl.Series([None, None, None]),
}


@pytest.mark.parametrize("label", TYPED)
def test_a_frame_of_polars_is_the_table_that_its_parquet_file_is(
    label: str, tmp_path: Path
) -> None:
    frame = pl.DataFrame({"cell": TYPED[label]})
    frame.write_parquet(tmp_path / "t.parquet")
    tables = [open_table(source, "private") for source in (frame, tmp_path / "t.parquet")]
    key = b"a key of 32 bytes for the tests."
    contents = [SyntheticTable().content(table, key) for table in tables]
    assert contents[0] == contents[1]
    other = open_table(frame.head(2), "private")
    assert SyntheticTable().content(other, key) != contents[0]


def test_a_frame_derived_from_pandas_is_pandas() -> None:
    frame = DerivedFrame({"a": ["x", 3]})
    source = open_table(frame, "private").source
    assert isinstance(source, Frame)
    assert source.frame is frame


STREAM = pa.RecordBatchReader.from_batches(CELLS.schema, CELLS.to_batches())
OBJECTS = pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)})


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (STREAM, r"can be read but once; give pyarrow\.table\(\.\.\.\) of it"),
        (OBJECTS, "has a column of the type Object; cast it"),
        (pl.DataFrame({"a": [1]}, schema={"a": pl.Int128}), "types that Arrow has"),
        (pl.Series([1]), "is a Series that cannot be taken over as a table"),
        (BrokenFrame(CELLS), "is a BrokenFrame that cannot be taken over"),
        (LateFrame(CELLS), "is a LateFrame that cannot be taken over"),
    ],
    ids=["stream", "objects", "type", "series", "broken", "late"],
)
def test_a_frame_that_arrow_cannot_take_over_is_refused_without_a_cell(
    source: object, words: str
) -> None:
    with pytest.raises(TableError, match=f"^the private table .*{words}") as caught:
        open_table(source, "private")
    assert "zebra" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "source", [None, 3, [[1, 2]], {"a": [1]}, pd.Series([1]), b"t.csv", object()]
)
def test_what_is_no_table_is_refused_with_the_formats(source: object) -> None:
    with pytest.raises(TableError, match=r"pqd reads \.csv"):
        open_table(source, "private")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["a", "A"]),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=[1, "1"]),
        pd.DataFrame([[1, 2]], columns=["a", ""]),
        pd.DataFrame(),
        pa.table([[1], [2]], names=["a", "a"]),
    ],
)
def test_frames_with_unusable_names_are_refused(frame: object) -> None:
    with pytest.raises(TableError, match="column"):
        open_table(frame, "private")


def test_the_digest_of_a_csv_is_taken_ahead_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "t.csv", "a\n1\n")
    plain = open_table(path, "private").digest()
    begun: list[Thread] = []
    monkeypatch.setenv("PQD_THREADS", "2")

    def start(thread: Thread) -> None:
        begun.append(thread)

    monkeypatch.setattr(Thread, "start", start)
    table = opened_ahead(str(path))
    assert isinstance(table, Table)
    assert open_table(table, "private") is table
    assert (table.role, table.given) == ("private", str(path))
    (thread,) = begun
    assert thread.daemon
    thread.run()
    with monkeypatch.context() as patch:
        patch.delattr(_File, "digest")
        assert table.digest() == plain
    written(path, "a\n1\n2\n")
    assert table.digest() == open_table(path, "private").digest() != plain


def test_nothing_but_a_csv_that_can_be_opened_is_opened_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty, table = written(tmp_path / "e.csv", ""), written(tmp_path / "t.csv", "a\n1\n")
    others = ("postgresql://host/d.csv", str(tmp_path / "none.csv"), str(tmp_path), "\0.csv")
    monkeypatch.setenv("PQD_THREADS", "2")
    for given in (*others, str(empty), str(tmp_path / "*.csv")):
        assert opened_ahead(given) is given
    monkeypatch.setenv("PQD_THREADS", "1")
    assert opened_ahead(str(table)) == str(table)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("role", ["private", "synthetic"])
def test_rows_are_read_of_the_file_whose_header_was_read(
    role: Role, suffix: str, tmp_path: Path
) -> None:
    """Else the columns of one file would have the names of another's."""

    def texts(table: Table) -> list[str]:
        column = read_batch(table, ["aa"]).columns["aa"]
        return [str(text) for text in column.values]  # noqa: PD011 - no pandas

    def packed(text: str) -> bytes:
        return gzip.compress(text.encode()) if suffix.endswith(".gz") else text.encode()

    path = written(tmp_path / f"t{suffix}", packed("aa,bb\n1,2\n"))
    table = open_table(path, role)
    assert texts(table) == ["1"]
    other = written(tmp_path / f"other{suffix}", packed("bb,aa\n3,4\n"))
    other.replace(path)
    with pytest.raises(PqdError, match="it was written since its header was read; run again"):
        texts(table)
    assert texts(open_table(path, role)) == ["4"]
