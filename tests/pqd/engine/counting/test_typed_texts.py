"""What a cell says hangs on no other row, whatever type the cells of others make of its column.

A column of one type is read; then with one more cell, which changes that type or might break its
conversion; then each row by itself.  Every kind of reading is that of the row alone: its text,
number, truth and time, whose it is, and its rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.counting.column_types import typed_values
from pqd.engine.counting.facts import Facts, TypedSQL
from pqd.engine.counting.persons import person_codes
from pqd.engine.reading import frames
from pqd.engine.reading.buffers import numpy_of
from pqd.engine.reading.common_types import as_type, common_type
from pqd.engine.reading.object_texts import text_of
from pqd.engine.reading.values import encoded
from pqd.engine.tables import open_table
from pqd.sql.schema import Kind
from tests.support.batches import read_batch
from tests.support.drawing import examples

KEY = b"a key of the tests"
WHOLE = [0, 1, -7, 3, 10**15, -(2**53) + 1, 2**53 + 1, 2**60 + 1]
REAL = [0.0, 1.0, -2.5, 1e-7, 1e22, 2.0**53, math.inf, -0.5]
MOMENTS = ["2020-01-02", "1969-12-31 23:59:59.5", "2020-02-29 12:30:00.123456", "1905-07-01"]
SQL = ArrowSQL()


def python(values: pa.Array) -> list[Any]:
    """Values, of which moments are microseconds: Python has no year 20000."""
    found: list[Any] = (
        values.view(pa.int64()) if pa.types.is_timestamp(values.type) else values
    ).to_pylist()
    return found


def readings(frame: object, rows: int) -> dict[str, list[Any]]:
    """Each reading of the column's first rows."""
    columns = read_batch(open_table(frame, "private"), ["code"])
    column = columns.columns["code"]
    found: dict[str, list[Any]] = {}
    for kind in Kind:
        values = python(TypedSQL(SQL, {"code": kind}).typed("code", column.values))
        found[kind.value] = [values[code] for code in column.codes[:rows]]
    codes = person_codes(column).codes[:rows].tolist()
    found["persons"] = [codes.index(code) for code in codes]
    return found


def texts(frame: object) -> list[str | None]:
    """Text of each row's cell, as conditions see it."""
    rows = len(frame)  # type: ignore[arg-type] # a frame
    found: list[str | None] = readings(frame, rows)["text"]
    return found


# Columns of pandas, by their type.
MOMENT: Any = pd.to_datetime(pd.Series(MOMENTS), format="ISO8601").dt.as_unit("us")
NUMBERED: dict[str, Any] = {
    **{kind: pd.Series(WHOLE, dtype=kind) for kind in ("int64", "Int64", "int64[pyarrow]")},
    "uint64": pd.Series([0, 1, 2**53 + 1, 2**64 - 1], dtype="uint64"),
    "int8": pd.Series([0, 1, -7], dtype="int8"),
    **{kind: pd.Series(REAL, dtype=kind) for kind in ("float64", "Float64", "double[pyarrow]")},
    "float32": pd.Series([0.1, 1, -2.5, math.inf], dtype="float32"),
    "float16": pd.Series([0.1, 1, -2.5], dtype="float16"),
    "decimal": pd.Series([Decimal("1.50"), Decimal(3)], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
}
OTHERS: dict[str, Any] = {
    **{kind: pd.Series([True, False], dtype=kind) for kind in ("bool", "boolean", "bool[pyarrow]")},
    **{kind: pd.Series(["1", "a", "nan", "None", ""], dtype=kind) for kind in ("str", "object")},
    "large_string[pyarrow]": pd.Series(["1", "ä"], dtype=pd.ArrowDtype(pa.large_string())),
    **{f"datetime64[{unit}]": MOMENT.astype(f"datetime64[{unit}]") for unit in ("us", "ms", "s")},
    "datetime64[ns]": MOMENT.dt.as_unit("ns") + pd.Timedelta(1999, "ns"),
    "ns before 1970": pd.Series(pd.to_datetime([-1, -999, -1001, 1999], unit="ns")),
    "zone": MOMENT.dt.tz_localize("Europe/Berlin"),
    "zone of Arrow": pd.Series(MOMENT, dtype=pd.ArrowDtype(pa.timestamp("us"))).dt.tz_localize(
        "Asia/Tokyo"
    ),
    "year 20000": pd.Series(np.array(["20000-01-01", "-0044-03-15"], "M8[us]")),
    "timestamp[pyarrow]": pd.Series(MOMENT, dtype=pd.ArrowDtype(pa.timestamp("ns"))),
    "date[pyarrow]": pd.Series([date(2020, 1, 2)], dtype=pd.ArrowDtype(pa.date32())),
    "time[pyarrow]": pd.Series([time(12, 30, 0, 500)], dtype=pd.ArrowDtype(pa.time64("us"))),
    "span": pd.Series(pd.to_timedelta(["25:01:01", "-00:00:05.5"])),
    "span of Arrow": pd.Series(
        pd.to_timedelta(["25:01:01", "-00:00:05.5"]), dtype=pd.ArrowDtype(pa.duration("us"))
    ),
    "bytes[pyarrow]": pd.Series([b"x", b"\xff", b"\\"], dtype=pd.ArrowDtype(pa.binary())),
    "period": pd.Series(pd.period_range("2020", periods=2, freq="Y")),
    "interval": pd.Series(pd.interval_range(0, 2)),
    "complex": pd.Series([1j, 2.0]),
    "sparse": pd.Series(pd.arrays.SparseArray([0, 5])),
    "mixed": pd.Series([1, 2.5, "1", True, None, b"x", Decimal("2.50"), date(2020, 1, 1)]),
}
COLUMNS = {**NUMBERED, **OTHERS}
ODD: list[Any] = [
    *(None, "x", "\ud800", 2.5, 5, 10**400, 2**63, True, Decimal("0.1"), Decimal("1E+400")),
    *(b"\xff", date(1, 1, 1), pd.NaT, pd.Timestamp("2020-01-01 00:00:00.000000001")),
    *(datetime(2020, 1, 1, tzinfo=UTC), pd.Timedelta(1), timedelta(1), {"a": 1}, [1], object()),
]


def with_one_more(column: Any, odd: object) -> Iterator[pd.DataFrame]:
    """Frames of a column and one more cell, in the types that pandas may give it."""
    cell = pd.Series([None], dtype=object)
    cell.iloc[0] = odd
    yield pd.DataFrame({"code": pd.concat([column.astype(object), cell], ignore_index=True)})
    if not isinstance(column.dtype, pd.SparseDtype):
        # Of which pandas itself refuses most.
        yield pd.DataFrame({"code": pd.concat([column, cell], ignore_index=True)})
    if odd is None or odd is pd.NaT:
        yield pd.DataFrame({"code": column.reindex(range(len(column) + 1))})


def categories(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The same as categories, where the cells can be."""
    try:
        yield frame.astype("category")
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        # Lists, and numbers beyond what pandas sorts.
        return


@pytest.mark.parametrize("name", COLUMNS)
def test_one_more_cell_changes_how_no_other_is_read(name: str) -> None:
    column, rows = COLUMNS[name], len(COLUMNS[name])
    whole = readings(pd.DataFrame({"code": column}), rows)
    # Each column with some of them, each of them with some columns; all were tried by hand.
    some = ODD[list(COLUMNS).index(name) % 10 :: 10]
    larger = [frame for odd in some for frame in with_one_more(column, odd)]
    if name != "mixed":
        # To pandas 1, 1.0 and True are one category.
        larger += categories(pd.DataFrame({"code": column}))
        larger += categories(larger[0])
    for frame in larger:
        found = readings(frame, rows)
        assert found == whole, (str(frame["code"].dtype), frame["code"].iloc[-1])


@pytest.mark.parametrize("name", COLUMNS)
def test_each_row_alone_says_the_same(name: str) -> None:
    column = COLUMNS[name]
    whole = readings(pd.DataFrame({"code": column}), len(column))
    for place in range(len(column)):
        kind = (object, column.dtype)[place % 2]
        alone = readings(pd.DataFrame({"code": column.iloc[place : place + 1].astype(kind)}), 1)
        del alone["persons"]
        assert alone == {key: [whole[key][place]] for key in alone}


# Lists of cells of which pandas makes a type of its own, unless one more is no such cell.
NUMPY_MOMENT: Any = np.datetime64
NUMPY_SPAN: Any = np.timedelta64
OF_NUMPY: dict[str, list[Any]] = {
    "moments": [
        *map(NUMPY_MOMENT, (*MOMENTS[:2], "2020", "2020-03", "2020-02-29T10", "NaT")),
        *map(NUMPY_MOMENT, ("2020-01-01 00:00:09.000001999", "1969-12-31 23:59:59.999998999")),
        *map(NUMPY_MOMENT, ("2020-01-01 00:00:09.5", "1970-01-01 00:00:00.000001999999")),
    ],
    "before 1970": [NUMPY_MOMENT(-1001, "ns"), NUMPY_MOMENT(-1, "Y"), NUMPY_MOMENT(-1, "W")],
    "spans": [
        *map(NUMPY_SPAN, (timedelta(3), timedelta(0, -90061, 5), "NaT", 5000)),
        *(NUMPY_SPAN(-3, "W"), NUMPY_SPAN(25, "h"), NUMPY_SPAN(-1999, "ns")),
    ],
    "numbers": [1, 0.1, -7, 2**53 + 1, math.inf, math.nan],
    "single numbers": [np.float32(0.1), np.float32(3)],
}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_cells_of_numpy_say_the_same_whatever_type_a_list_of_them_has(name: str) -> None:
    cells = OF_NUMPY[name]
    column = pd.Series(cells)
    whole = readings(pd.DataFrame({"code": column}), len(cells))
    for odd in ("x", 1j, None):
        for larger in (pd.Series([*cells, odd]), pd.concat([column, pd.Series([odd])])):
            assert readings(pd.DataFrame({"code": larger}), len(cells)) == whole, larger.dtype
    objects = pd.Series(cells, dtype=object)
    assert readings(pd.DataFrame({"code": objects}), len(cells)) == whole


def test_what_is_no_number_is_missing_in_every_type() -> None:
    cells = pa.chunked_array([pa.array([math.nan, None, 1.0, math.nan])])
    column = pd.Series(pd.arrays.ArrowExtensionArray(cells))
    whole = readings(pd.DataFrame({"code": column}), 4)
    assert (whole["text"], whole["persons"]) == ([None, None, "1", None], [0, 0, 2, 0])
    for odd in ("x", None, True):
        (larger, *_) = with_one_more(column, odd)
        assert readings(larger, 4) == whole


@pytest.mark.parametrize(("unit", "zone"), [("s", "Asia/Tokyo"), ("ms", "America/New_York")])
def test_a_moment_that_its_zone_brings_out_of_range_breaks_no_run(unit: str, zone: str) -> None:
    ticks = np.array([0, 2**63 - 1, -(2**63) + 1, 10**9], np.int64).view(f"M8[{unit}]")
    moments: Any = pd.Series(ticks).dt.tz_localize("UTC").dt.tz_convert(zone)
    whole = texts(pd.DataFrame({"code": moments}))
    assert whole[1:3] == [None, None]
    kept = pd.DataFrame({"code": moments.iloc[[0, 3]]})
    assert texts(kept) == [whole[0], whole[3]]
    assert None not in texts(kept)


def test_a_twin_that_reads_a_whole_column_as_text_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As was done where Arrow refused one cell."""
    monkeypatch.setattr(frames, "text_of", lambda cell: None if cell is None else str(cell))
    with pytest.raises(AssertionError):
        test_one_more_cell_changes_how_no_other_is_read("float64")


# Types that files and frames of Arrow give to the same values.
BIG = 10**17 + 1
SAME: dict[str, list[pa.Array]] = {
    "whole": [pa.array([3, -7, 0], kind) for kind in ("int8", "int64", "float", "double")]
    + [
        pa.array([Decimal(3), Decimal(-7), Decimal(0)], pa.decimal128(20, scale))
        for scale in (0, 9)
    ]
    + [pa.array([Decimal(3), Decimal(-7), Decimal(0)], pa.decimal256(60, 2))],
    "of 64 bits": [
        *(pa.array([BIG, 2**53 + 1, 3], kind) for kind in (pa.int64(), pa.uint64())),
        pa.array([float(BIG), float(2**53 + 1), 3.0]),
        pa.array(map(Decimal, [BIG, 2**53 + 1, 3]), pa.decimal128(38, 0)),
    ],
    "tenths": [
        pa.array([0.1, 2.5]),
        *(
            pa.array([Decimal("0.1"), Decimal("2.5")], pa.decimal128(38, scale))
            for scale in (1, 25, 33)
        ),
    ],
    "single": [pa.array([0.1], pa.float32()), pa.array([float(np.float32(0.1))])],
    "moments": [
        pa.array([-1, 10**9, 0], pa.timestamp("s")),
        pa.array([-(10**6), 10**15, 0], pa.timestamp("us")),
        pa.array([-(10**9) - 999, 10**18 + 1, 0], pa.timestamp("ns")),
    ],
    "spans": [
        pa.array([5 * 10**9 + 1, -1], pa.duration("ns")),
        pa.array([5000000, 0], "duration[us]"),
    ],
    "texts": [pa.array(["3", "x"], kind) for kind in ("string", "large_string")],
    "bytes": [pa.array([b"3", b"x"], kind) for kind in ("binary", "large_binary")],
}
NOTHING = [pa.string(), pa.float64(), pa.bool_(), pa.null()]


@pytest.mark.parametrize("name", SAME)
def test_the_same_values_of_another_type_say_the_same(name: str, tmp_path: Path) -> None:
    first, *others = SAME[name]
    rows = len(first)
    whole = readings(pa.table({"code": first}), rows)
    for values in others:
        table = pa.table({"code": values})
        assert readings(table, rows) == whole, values.type
        if not pa.types.is_decimal256(values.type):
            # Which polars lacks.
            assert readings(pl.from_arrow(table), rows) == whole, values.type
    for place, values in enumerate(SAME[name]):
        pq.write_table(pa.table({"code": values}), tmp_path / "1.parquet")
        kinds = (SAME[name][place - 1].type, NOTHING[place % len(NOTHING)])
        for kind in kinds:
            pq.write_table(pa.table({"code": pa.nulls(1, kind)}), tmp_path / "2.parquet")
            assert readings(tmp_path / "*.parquet", rows) == whole, (values.type, kind)


def test_truths_are_the_same_beside_numbers_and_texts(tmp_path: Path) -> None:
    pq.write_table(pa.table({"code": [True, False]}), tmp_path / "1.parquet")
    whole = readings(tmp_path / "1.parquet", 2)
    assert (whole["text"], whole["number"]) == (["true", "false"], [1.0, 0.0])
    for other in ([5], [0.5], ["x"], [None], [math.nan]):
        pq.write_table(pa.table({"code": other}), tmp_path / "2.parquet")
        assert readings(tmp_path / "*.parquet", 2) == whole


@pytest.mark.parametrize("kind", ["BIGINT", "UBIGINT", "HUGEINT", "DOUBLE", "DECIMAL(38, 5)"])
def test_tables_of_duckdb_say_the_same_in_every_type(kind: str, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT CAST(n AS {kind}) AS code FROM (VALUES (3), ({BIG})) AS _(n)"
        )
    read = readings(f"{tmp_path / 't.duckdb'}::t", 2)
    assert read["text"] == ["3", "1e+17"]
    assert read == readings(pd.DataFrame({"code": [3, BIG]}), 2)


@pytest.mark.parametrize("condition", ["code = '9007199254740993'", "code LIKE '9%'", "code > '4'"])
def test_a_missing_cell_decides_no_condition_on_texts(condition: str) -> None:
    """Of 64 bits, where the copy has texts."""
    numbers = [2**53 + 1, 2**60, 4, 5]
    found = []
    for cells in (numbers, [*numbers, None]):
        table = open_table(pd.DataFrame({"code": cells}), "private")
        batch = read_batch(table, ["code"])
        sql = TypedSQL(SQL, {"code": Kind.TEXT})
        facts = Facts(sql, ("code",), [condition], lambda held: [*map(numpy_of, held)])
        codes, (truths,) = facts.of(batch)
        found.append([truths[code] for code in codes[:4].tolist()])
    assert found[0] == found[1]


def test_a_missing_value_changes_the_text_of_no_other_row() -> None:
    whole = texts(pd.DataFrame({"code": WHOLE}))
    assert whole[:-2] == list(map(str, WHOLE[:-2]))
    assert whole[-2:] == ["9007199254740992.0", "1.152921504606847e+18"]
    missing = pd.DataFrame({"code": [*WHOLE[:-1], None]})
    assert missing["code"].dtype == "float64", "as pandas has it, which is what this is about"
    assert texts(missing)[:-1] == whole[:-1]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()])
def test_other_floating_numbers_keep_their_texts(kind: pa.DataType) -> None:
    cells = pa.array([0.5, -0.0, math.inf, -math.inf, math.nan, None, 2.0], kind)
    expected = ["0.5", "0", "inf", "-inf", None, None, "2"]
    assert texts(pa.table({"code": cells})) == expected


def test_numbers_too_large_to_be_told_apart_keep_their_texts() -> None:
    assert texts(pa.table({"code": [2.0**53, 1e300, -1e300]})) == [
        "9007199254740992.0",
        "1e+300",
        "-1e+300",
    ]


@examples(10)
@given(numbers=st.lists(st.floats(allow_nan=False), min_size=50))
def test_texts_of_doubles_are_duckdbs_but_for_whole_ones(numbers: list[float]) -> None:
    for number, text in zip(numbers, SQL.texts(pa.array(numbers)), strict=True):
        whole = number.is_integer() and abs(number) < 2**53
        assert text_of(number) == (str(int(number)) if whole else text)


moments = st.integers(-9_223_372_022_399_999_999, (1 << 63) - 2)


@examples(10)
@given(ticks=st.lists(moments | st.integers(-(10**16), 10**16), min_size=50))
def test_texts_of_times_are_duckdbs(ticks: list[int]) -> None:
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.duration("us")):
        values = pa.array(ticks, pa.int64()).view(kind)
        theirs = typed_values(SQL, values, Kind.TEXT).to_pylist()
        nothing = pa.array(["x"])
        texts_ = readings_of_parts(values, nothing)
        assert texts_[:-1] == theirs


def readings_of_parts(*parts: pa.Array) -> list[str | None]:
    """Texts of cells of several types."""
    blocks = [encoded(part) for part in parts]
    kind = common_type(block.dictionary.type for block in blocks)
    return [text for each in blocks for text in as_type(each, kind).dictionary_decode().to_pylist()]
