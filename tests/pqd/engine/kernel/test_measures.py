"""Numbers of plain columns, computed without a statement: the same as DuckDB's, value by value."""

from collections.abc import Iterator
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders import Lattice
from pqd.engine.cut_points import CutPoints
from pqd.engine.kernel import column_types, measures
from pqd.engine.kernel.arrow_sql import ArrowSQL
from pqd.engine.kernel.column_types import plain_numbers
from pqd.engine.kernel.evaluator import Evaluator
from pqd.engine.kernel.measures import lattice_of, measured
from pqd.engine.reading.columns import Column, Columns
from pqd.engine.scan_plan import Measure, place_sql
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
fractions = st.builds(Fraction, st.integers(-400, 400), st.sampled_from([1, 2, 10, 100]))
lattices = st.builds(
    lambda lower, step, points: Lattice(lower, lower + points * step, step),
    fractions,
    st.sampled_from(["0.01", "0.1", "0.5", "1", "3"]).map(Fraction),
    st.integers(0, 500),
)
MEASURES = (
    Measure('"x"', Lattice(0, 2**53 - 2)),
    Measure('"x"', None, cut_points=CutPoints()),
    Measure('"x"', None),
)


@pytest.fixture(scope="module")
def sql() -> Iterator[ArrowSQL]:
    with duckdb.connect() as connection:
        yield ArrowSQL(connection)


def of(sql: ArrowSQL, values: pa.Array) -> Evaluator:
    """Evaluator of a column with each value once, and the first once more."""
    codes = np.append(np.arange(len(values)), 0).astype(np.uint8)
    columns = Columns(codes.size, {"x": Column(codes, values)})
    return Evaluator(sql, columns, {"x": Kind.NUMBER}, {"x": "x"})


class Slow(Evaluator):
    """Evaluator that has the engine compute everything."""

    def doubles(self, expression: str) -> None:
        del expression


def slow(sql: ArrowSQL, values: pa.Array) -> Evaluator:
    """The same, of which the engine computes everything."""
    fast = of(sql, values)
    made = Slow(sql, fast.columns, {"x": Kind.NUMBER}, {"x": "x"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_types, "plain_numbers", lambda _: None)
        made.typed("x")
    return made


def bits(values: pa.Array) -> tuple[str, list[bytes | None]]:
    """Doubles to the bit: 0 is not -0."""
    return str(values.type), [
        None if each is None else np.float64(each).tobytes() for each in values.to_pylist()
    ]


def told(made: Evaluator, measure: Measure) -> tuple[list[int], list[object]]:
    """Values of the rows, and the distinct ones that they are codes of."""
    found = measured(made, place_sql(measure), measure.number, measure.lattice)
    return found.codes.tolist(), found.values.tolist()


def agree(sql: ArrowSQL, values: pa.Array, lattice: Lattice) -> None:
    fast, plain = of(sql, values), slow(sql, values)
    assert bits(fast.typed("x").values) == bits(plain.typed("x").values)
    assert lattice_of(fast, '"x"', None) == lattice_of(plain, '"x"', None)
    for measure in (Measure('"x"', lattice), *MEASURES):
        assert told(fast, measure) == told(plain, measure)


@examples(40)
@given(texts, lattices)
def test_texts_that_say_numbers_are_measured_as_the_engine_does(
    sql: ArrowSQL, cells: list[str | None], lattice: Lattice
) -> None:
    agree(sql, pa.array(cells, pa.large_string()), lattice)


@examples(50)
@given(
    st.lists(st.none() | st.floats(width=32), min_size=1, max_size=30, unique_by=repr)
    | st.lists(st.integers(-(2**54), 2**54).map(float), min_size=1, max_size=30, unique=True),
    st.sampled_from([pa.float64(), pa.float32()]),
    lattices,
)
def test_floating_numbers_are_measured_as_the_engine_does(
    sql: ArrowSQL, cells: list[float | None], kind: pa.DataType, lattice: Lattice
) -> None:
    agree(sql, pa.array(cells, kind), lattice)


@examples(40)
@given(
    st.lists(st.none() | st.integers(0, 2**63 - 1) | st.integers(0, 90), min_size=1, unique=True),
    st.sampled_from([pa.int64(), pa.uint64()]),
    lattices,
)
def test_whole_numbers_are_measured_as_the_engine_does(
    sql: ArrowSQL, cells: list[int | None], kind: pa.DataType, lattice: Lattice
) -> None:
    agree(sql, pa.array(cells, kind), lattice)


def test_most_columns_of_numbers_take_no_statement(
    sql: ArrowSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    def selected(*_: object) -> None:
        pytest.fail("a statement")

    made = of(sql, pa.array(["12", "-7", None, "007"], pa.large_string()))
    monkeypatch.setattr(ArrowSQL, "_selected", selected)
    assert lattice_of(made, '"x"', None) == Lattice(-7, 12)
    assert told(made, Measure('"x"', Lattice(0, 10))) == ([2, 0, 3, 1, 2], [0, 7, 10])


@pytest.mark.parametrize("cells", [["-0", "1"], ["9007199254740993"], ["1.0"], ["x"], [""]])
def test_other_texts_are_left_to_the_engine(cells: list[str]) -> None:
    assert plain_numbers(pa.array(cells, pa.large_string())) is None


@pytest.mark.parametrize("step", [1 << 22, 3])
def test_ranks_are_those_of_a_sort(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Whether they are looked up or sorted."""
    monkeypatch.setattr(measures, "_PLACES", step)
    random = np.random.default_rng(7)
    for dtype in (np.int64, np.uint64, np.int32, np.float64, np.float32, np.float16):
        for numbers in (random.integers(0, 90, 400), np.array([5]), np.array([], np.int64)):
            values, ranks = measures._ranked(numbers.astype(dtype))
            expected, others = np.unique(numbers.astype(dtype), return_inverse=True)
            assert values.dtype == expected.dtype
            assert values.tolist() == expected.tolist()
            assert ranks.tolist() == others.tolist()
    large = 2**53 + random.integers(0, 9, 400)
    for dtype, more in ((np.int64, 0), (np.int64, 2**62), (np.uint64, 2**63)):
        numbers = large.astype(dtype) + dtype(more)
        values, ranks = measures._ranked(numbers)
        assert values.dtype == dtype
        assert values.tolist() == sorted(set(numbers.tolist()))
        assert values[ranks].tolist() == numbers.tolist()
    ends = np.array([-128, 127, 0, 5], np.int8)
    assert measures._ranked(np.tile(ends, 99))[0].tolist() == [-128, 0, 5, 127]
    far = np.array([1, 2**25, 2**25 + 4, 3], np.float32)
    values, ranks = measures._ranked(np.tile(far, 1 << 20))
    assert (values.tolist(), ranks[:4].tolist()) == ([1, 3, 2**25, 2**25 + 4], [0, 2, 3, 1])
