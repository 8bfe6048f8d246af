"""Kinds of columns of text: the same as by a test of every value of each column by itself."""

from functools import cache

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.counting import column_types
from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.counting.column_types import kind_tests, text_kinds
from pqd.engine.reading.text_format import USUAL
from pqd.sql.schema import Kind
from tests.support.drawing import examples

TEXTS = (
    *("1", "0", "-20", "-0", "007", " 00 ", "00.5", "-01", "-2.5", "1e3", "nan"),
    *("9007199254740993", "true", "FALSE", "2020-01-31", "2020-02-30", "12:30", "a", ""),
)
TESTS = kind_tests(USUAL)


@cache
def fits(value: str, kind: Kind) -> bool:
    test = f"SELECT {TESTS[kind]} FROM (SELECT CAST(? AS VARCHAR) AS value)"
    return duckdb.execute(test, [value]).fetchall() == [(True,)]


def is_code(value: str) -> bool:
    digits = value.strip()
    return len(digits) > 1 and set(digits) <= set("0123456789") and digits[0] == "0"


def plain_kind(values: list[str | None]) -> Kind:
    """First kind that every value fits, each looked at by itself."""
    held = [value for value in values if value is not None]
    kinds = [kind for kind in TESTS if held and all(fits(value, kind) for value in held)]
    if kinds[:1] == [Kind.NUMBER] and any(is_code(value) for value in held):
        return Kind.TEXT
    return kinds[0] if kinds else Kind.TEXT


single = [[text, None][: 1 + n % 2] for n, text in enumerate(TEXTS)]
columns = st.lists(
    st.lists(st.none() | st.sampled_from(TEXTS), max_size=5, unique=True), max_size=4
)


@cache
def plain_database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@examples(40)
@given(columns | st.just([*single, [], [None]]), st.integers(1, 4))
def test_a_column_has_the_first_kind_that_all_of_its_values_fit(
    cells: list[list[str | None]], first: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, plain_database().cursor() as connection:
        patch.setattr(column_types, "_FIRST", first)
        arrays = {f"c{n}": pa.array(each, pa.large_string()) for n, each in enumerate(cells)}
        found = text_kinds(ArrowSQL(connection), arrays)
    assert found == {f"c{n}": plain_kind(each) for n, each in enumerate(cells)}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["06680", "13055"], Kind.TEXT),
        (["01", "12", None], Kind.TEXT),
        (["1.5", "007"], Kind.TEXT),
        (["0", "10", "-0"], Kind.NUMBER),
        (["0.5", "00.5", "+1"], Kind.NUMBER),
        (["00.5", "1e05"], Kind.NUMBER),
        (["2020-01-01"], Kind.TIME),
    ],
)
def test_a_column_with_a_code_holds_texts(cells: list[str | None], kind: Kind) -> None:
    with duckdb.connect() as connection:
        found = text_kinds(ArrowSQL(connection), {"x": pa.array(cells, pa.large_string())})
    assert found == {"x": kind}


def test_types_of_columns_of_any_length_take_one_look() -> None:
    arrays = {"a b": pa.array([1, 2]), "A b": pa.array(["x"]), '"': pa.array([], pa.float32())}
    with duckdb.connect() as connection:
        sql = ArrowSQL(connection)
        assert sql.types_of(arrays) == {"a b": "BIGINT", "A b": "VARCHAR", '"': "FLOAT"}
        assert sql.types_of({}) == {}
