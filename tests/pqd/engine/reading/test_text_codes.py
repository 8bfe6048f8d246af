"""Codes of texts: the same values for the same cells, whichever way they are found."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.reading import dictionaries, text_codes
from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.engine.reading.text_codes import TextDictionary
from tests.support.drawing import examples

Cell = str | None

# What could be taken for a whole number that is written in another way.
ODD: list[Cell] = [
    *("", "-", "+5", " 5", "5 ", "5.", "5.0", "5e0", "0x10", "0xFFFFF", "007", "-0", "--5", "1_0"),
    *("-00", "5-", "/", "٣", "½", "5\0", "9223372036854775807", "9223372036854775808", "1" * 30),
    *("-9223372036854775808", "4194304", "-4194304", "é", "\n", None),
]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers from the third value on, and folds of a row or two."""
    monkeypatch.setattr(text_codes, "_FEW", 2)
    monkeypatch.setattr(dictionaries, "_TEXTS", 0)


def texts(cells: Sequence[Cell]) -> pa.Array:
    return pa.array(cells, pa.large_string())


def decoded(blocks: Sequence[Sequence[Cell]]) -> list[Cell]:
    """Cells of a column that is built of blocks."""
    builder = ColumnBuilder()
    for block in blocks:
        builder.add(texts(block))
    column = builder.column()
    values = column.values.to_pylist()
    assert len(set(values)) == len(values) == len(set(column.codes.tolist()))
    assert column.codes.dtype == np.min_scalar_type(max(len(values) - 1, 0))
    return [values[code] for code in column.codes]


NUMBERS = st.integers(-30, 30) | st.integers(-(1 << 22), 1 << 22) | st.integers(-(1 << 65), 1 << 65)


@examples(200)
@given(
    st.lists(
        st.lists(NUMBERS.map(str) | st.none() | st.sampled_from(ODD), max_size=6)
        | st.lists(st.integers(-30, 30).map(str) | st.none(), max_size=6),
        max_size=8,
    )
)
def test_cells_are_what_they_were_whatever_stands_beside_them(blocks: list[list[Cell]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # Rows that wait, of one block or of several.
        for rows, few in product((0, 7), (0, 2, 1 << 10)):
            patch.setattr(dictionaries, "_TEXTS", rows)
            patch.setattr(text_codes, "_FEW", few)
            assert decoded(blocks) == [cell for block in blocks for cell in block]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", [0, 1, 5])
def test_one_odd_cell_among_whole_numbers(odd: Cell, place: int) -> None:
    cells: list[Cell] = [str(number) for number in range(-3, 17)]
    blocks = [cells[first : first + 4] for first in range(0, 20, 4)]
    blocks[place % 5].insert(place % 4, odd)
    blocks.append(cells[::-1])
    assert decoded(blocks) == [cell for block in blocks for cell in block]


@pytest.mark.usefixtures("few")
def test_whole_numbers_are_looked_up_as_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """And others are not: the fast way is taken where it is meant to be."""
    found: list[bool] = []
    codes = text_codes._WholeNumbers.codes

    def told(self: text_codes._WholeNumbers, cells: pa.Array) -> object:
        held = codes(self, cells)
        found.append(held is not None)
        return held

    monkeypatch.setattr(text_codes._WholeNumbers, "codes", told)
    numbers = TextDictionary()
    for first in range(0, 50, 10):
        numbers.codes([texts([str(n * n % 50) for n in range(first, first + 10)])])
    assert found == [True] * 4
    others = TextDictionary()
    for cells in (["1", "2", "3"], ["4", None, "1"], ["5", None], ["06"], ["7"]):
        others.codes([texts(cells)])
    assert found[4:] == [True, True, False], "after the first that is no number it is not tried"


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("far", [1 << 22, (1 << 63) - 1, -(1 << 63)])
def test_numbers_that_are_far_apart_make_no_long_table(far: int) -> None:
    dictionary = TextDictionary()
    for cells in (["1", "2", "0"], ["5", str(far)]):
        codes = dictionary.codes([texts(cells)])
        assert [dictionary.values[int(code)].as_py() for code in codes] == cells
    assert dictionary._numbers is None


def test_what_was_read_does_not_show() -> None:
    dictionary = TextDictionary()
    dictionary.codes([texts(["zebra"])])
    assert repr(dictionary) == "TextDictionary(...)"


def test_texts_are_looked_at_a_few_times_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A column of as many texts as rows is no worse for being long."""
    looked, concat = [0], pa.concat_arrays

    def counted(arrays: Sequence[pa.Array]) -> pa.Array:
        looked[0] += sum(map(len, arrays))
        return concat(arrays)

    monkeypatch.setattr(pa, "concat_arrays", counted)
    builder, rows = ColumnBuilder(), 400_000
    for first in range(0, rows, 10_000):
        builder.add(texts([f"row {n}" for n in range(first, first + 10_000)]))
    assert len(builder.column().values) == rows
    assert looked[0] < 6 * rows
