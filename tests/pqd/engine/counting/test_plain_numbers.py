"""Numbers of plain columns, cast without a statement: the same as DuckDB's, value by value."""

from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.counting import column_types
from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.counting.column_types import plain_numbers, typed_values
from pqd.sql.schema import Kind
from tests.support.drawing import examples

# Half steps, neighbours of halves and of 2^53, what is no number, and what only one of both reads.
ODD_TEXTS = (
    *("0.5", "-0.5", "1.5", "2.5", "0.49999999999999994", "4503599627370497.5", "1e308", "5e-324"),
    *("9007199254740992", "9007199254740993", "-9007199254740993", "18446744073709551616"),
    *("inf", "-inf", "nan", "-0", "0", "-00", "007", "+3", " 4", "1_000", "1.0", "3-4", "--5", "-"),
    *("0x10", "1/2", "", "9223372036854775807"),
)
whole = st.integers(-300, 300).map(str)
texts = st.lists(whole, min_size=1, max_size=40, unique=True) | st.lists(
    whole | st.sampled_from(ODD_TEXTS) | st.none(), min_size=1, max_size=12, unique=True
)


@pytest.fixture(scope="module")
def sql() -> Iterator[ArrowSQL]:
    with duckdb.connect() as connection:
        yield ArrowSQL(connection)


def bits(values: pa.Array) -> tuple[str, list[bytes | None]]:
    """Doubles to the bit: 0 is not -0."""
    return str(values.type), [
        None if each is None else np.float64(each).tobytes() for each in values.to_pylist()
    ]


def agree(sql: ArrowSQL, values: pa.Array) -> None:
    """The cast with and without a statement is the same, to the bit."""
    fast = typed_values(sql, values, Kind.NUMBER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_types, "plain_numbers", lambda _: None)
        assert bits(fast) == bits(typed_values(sql, values, Kind.NUMBER))


@examples(150)
@given(texts)
def test_texts_that_say_numbers_are_cast_as_the_engine_does(
    sql: ArrowSQL, cells: list[str | None]
) -> None:
    agree(sql, pa.array(cells, pa.large_string()))


@examples(100)
@given(
    st.lists(st.none() | st.floats(width=32), min_size=1, max_size=30, unique_by=repr)
    | st.lists(st.integers(-(2**54), 2**54).map(float), min_size=1, max_size=30, unique=True),
    st.sampled_from([pa.float64(), pa.float32()]),
)
def test_floating_numbers_are_cast_as_the_engine_does(
    sql: ArrowSQL, cells: list[float | None], kind: pa.DataType
) -> None:
    agree(sql, pa.array(cells, kind))


@examples(60)
@given(
    st.lists(st.none() | st.integers(0, 2**63 - 1) | st.integers(0, 90), min_size=1, unique=True),
    st.sampled_from([pa.int64(), pa.uint64()]),
)
def test_whole_numbers_are_cast_as_the_engine_does(
    sql: ArrowSQL, cells: list[int | None], kind: pa.DataType
) -> None:
    agree(sql, pa.array(cells, kind))


def test_most_columns_of_numbers_take_no_statement(
    sql: ArrowSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    def selected(*_: object) -> None:
        pytest.fail("a statement")

    monkeypatch.setattr(ArrowSQL, "_selected", selected)
    texts = pa.array(["12", "-7", None, "007"], pa.large_string())
    assert typed_values(sql, texts, Kind.NUMBER).to_pylist() == [12.0, -7.0, None, 7.0]


@pytest.mark.parametrize("cells", [["-0", "1"], ["9007199254740993"], ["1.0"], ["x"], [""]])
def test_other_texts_are_left_to_the_engine(cells: list[str]) -> None:
    assert plain_numbers(pa.array(cells, pa.large_string())) is None
