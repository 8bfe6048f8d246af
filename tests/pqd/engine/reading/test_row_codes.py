"""Codes of rows are the same wherever their parts are kept, and the file says nothing of them."""

import gc
import io
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.reading import columns, row_codes
from pqd.engine.reading.columns import Column
from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.engine.reading.row_codes import CodeStore, RowCodes
from pqd.engine.table_reader import TableReader
from pqd.engine.tables import open_table
from pqd.errors import RunError
from tests.support.drawing import examples

PART = 5


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Parts of five rows, of which memory holds none, and batches of seven."""
    monkeypatch.setattr(row_codes, "PART", PART)
    monkeypatch.setattr(row_codes, "_HELD", 0)
    monkeypatch.setattr(columns, "BATCH", 7)
    return monkeypatch


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Temporary files, as they are made."""
    made: list[Any] = []
    make = tempfile.TemporaryFile

    def remembered(*args: Any, **named: Any) -> Any:
        made.append(make(*args, **named))
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", remembered)
    return made


def added(blocks: list[Any]) -> RowCodes:
    codes = RowCodes(CodeStore())
    for block in blocks:
        codes.add(block)
    return codes


@examples(60)
@given(
    st.lists(st.integers(0, 12), max_size=6),
    st.integers(0, 60),
    st.integers(0, 60),
    st.sampled_from([0, 12, 1 << 26]),
)
def test_rows_are_what_was_added(sizes: list[int], first: int, last: int, held: int) -> None:
    """Blocks of any size, from 1 byte to 4, in memory and in the file: all rows, in their order."""
    types = [np.uint8, np.uint8, np.uint16, np.uint16, np.uint32, np.uint32]
    blocks = [
        (np.arange(size) * 37 % 251 + number * (type_ != np.uint8) * 300).astype(type_)
        for number, (size, type_) in enumerate(zip(sizes, types, strict=False))
    ]
    whole = np.concatenate([np.empty(0, np.uint8), *blocks])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_codes, "PART", PART)
        patch.setattr(row_codes, "_HELD", held)
        codes = added(blocks)
        assert len(codes) == whole.size
        first, last = (min(end, whole.size) for end in sorted((first, last)))
        assert codes.between(first, last).tolist() == whole[first:last].tolist()
        assert codes.in_memory == (held > 12 or whole.size < PART or (held and whole.size < 10))
        codes.renumber(np.arange(2_000, dtype=np.uint16)[::-1])
        assert codes.between(0, whole.size).tolist() == (1999 - whole.astype(int)).tolist()


@pytest.mark.usefixtures("tiny")
def test_parts_of_all_widths_come_back_from_the_file(files: list[Any]) -> None:
    blocks = [np.arange(10, dtype=t) for t in (np.uint8, np.uint16, np.uint32)]
    codes = added(blocks)
    assert not codes.in_memory
    assert os.fstat(files[0].fileno()).st_size == 10 * (1 + 2 + 4)
    assert codes.between(0, 30).tolist() == list(range(10)) * 3


@pytest.mark.usefixtures("tiny")
def test_the_file_has_no_name_and_nothing_in_the_clear(files: list[Any]) -> None:
    codes = added([np.zeros(40_000, np.uint8)])
    (file,) = files
    status = os.fstat(file.fileno())
    assert status.st_nlink == 0
    assert stat.S_IMODE(status.st_mode) == stat.S_IRUSR | stat.S_IWUSR
    file.seek(0)
    held = np.frombuffer(file.read(), np.uint8)
    assert held.size == 40_000
    # Equal parts are stored in 8,000 ways, and all bytes are about as frequent: 156 on average.
    assert len(np.unique(held.reshape(-1, PART), axis=0)) == 8_000
    assert np.abs(np.bincount(held, minlength=256) - 40_000 / 256).max() < 100
    assert not codes.between(0, 40_000).any()


@pytest.mark.usefixtures("tiny")
def test_the_file_goes_with_the_rows(files: list[Any]) -> None:
    codes = added([np.zeros(50, np.uint8)])
    (file,) = files
    number = file.fileno()
    os.fstat(number)
    del codes
    files.clear()
    del file
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def no_folder(*_: Any, **__: Any) -> Any:
    raise FileNotFoundError("No usable temporary directory found")


class Full:
    """A disk that takes some bytes and no more."""

    def __init__(self, after: int, *, silent: bool) -> None:
        self.after, self.silent, self.file = after, silent, io.BytesIO()

    def write(self, octets: Any) -> int:
        self.after -= len(octets)
        if self.after < 0 and not self.silent:
            raise OSError(28, "No space left on device")
        return self.file.write(bytes(octets)[: max(0, len(octets) + min(0, self.after))])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@pytest.mark.parametrize("silent", [True, False])
@pytest.mark.parametrize("after", [0, 3, 5, 12])
def test_where_the_disk_is_full_memory_holds_the_rest(
    after: int, silent: bool, tiny: pytest.MonkeyPatch
) -> None:
    tiny.setattr(tempfile, "TemporaryFile", lambda **_: Full(after, silent=silent))
    codes = added([np.arange(23, dtype=np.uint8)])
    assert codes.between(0, 23).tolist() == list(range(23))
    assert codes.in_memory == (after < PART)


def test_where_there_is_no_folder_memory_holds_all(tiny: pytest.MonkeyPatch) -> None:
    tiny.setattr(tempfile, "TemporaryFile", no_folder)
    codes = added([np.arange(23, dtype=np.uint8)])
    assert codes.between(0, 23).tolist() == list(range(23))
    assert codes.in_memory


class Worn(Full):
    """A disk that takes all and gives nothing back."""

    def read(self, size: int) -> bytes:
        raise OSError(5, f"Input/output error at {size}")


@pytest.mark.parametrize("how", ["cut short", "worn"])
def test_a_disk_that_fails_ends_the_run_without_a_word_of_the_rows(
    how: str, tiny: pytest.MonkeyPatch
) -> None:
    disk = (Worn if how == "worn" else Full)(1 << 20, silent=True)
    tiny.setattr(tempfile, "TemporaryFile", lambda **_: disk)
    codes = added([np.arange(23, dtype=np.uint8)])
    if how == "cut short":
        disk.truncate(2)
    with pytest.raises(RunError, match="temporary file of this run could not be read again") as no:
        codes.between(0, 23)
    assert no.value.__context__ is None


@pytest.mark.usefixtures("tiny")
def test_values_that_no_row_has_are_left_out() -> None:
    """A dictionary may hold values without a row: COUNT DISTINCT must not see them."""
    builder = ColumnBuilder()
    for _ in range(4):
        indices = pa.array([4, 2, None, 2], pa.int32())
        builder.add(pa.DictionaryArray.from_arrays(indices, pa.array(list("abcde"))))
    column = builder.column()
    assert isinstance(column.kept, RowCodes)
    assert sorted(column.values.to_pylist(), key=str) == [None, "c", "e"]  # noqa: PD011
    assert [column.values[int(c)].as_py() for c in column.codes] == ["e", "c", None, "c"] * 4  # noqa: PD011
    assert sorted(column.counts().tolist()) == [4, 4, 8]


@pytest.mark.usefixtures("tiny")
def test_counts_are_those_of_all_batches() -> None:
    codes = np.arange(100, dtype=np.uint8) % 3
    assert Column(codes, pa.array(["a", "b", "c"])).counts().tolist() == [34, 33, 33]


@pytest.mark.usefixtures("tiny")
def test_what_keeps_codes_does_not_show_them() -> None:
    codes = added([np.full(23, 77, np.uint8)])
    assert repr(codes) == "RowCodes(...)"
    assert "77" not in repr(vars(codes)["_parts"])


@pytest.mark.usefixtures("tiny")
def test_a_table_that_is_read_in_two_passes_is_one(tmp_path: Path) -> None:
    rows = {"age": range(400), "job": ["a", "b", "c", None] * 100, "pay": [7, 8] * 200}
    pd.DataFrame(rows).to_csv(tmp_path / "private.csv", index=False)
    reader = TableReader(open_table(tmp_path / "private.csv", "private"))
    whole = pd.read_csv(tmp_path / "private.csv", dtype=str).fillna("")
    for names in (["age"], ["job", "age"], ["pay", "job"]):
        read = reader.columns(names)
        for name in names:
            column = read.by_name[name]
            cells = [column.values[int(code)].as_py() or "" for code in column.codes]  # noqa: PD011
            assert cells == whole[name].tolist()
