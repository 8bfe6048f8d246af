"""Marginals of any table: equal to counting row by row, whatever kind of input, chunk or order."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.counting.persons import PARTS
from pqd.engine.marginals import Marginal, MarginalPlan, RowMap, Unseen
from pqd.engine.partitions import Categories
from pqd.engine.reading.text_format import USUAL
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import RunError, TableError
from pqd.sql.schema import Kind
from tests.support.cell_rows import (
    BINS,
    BIRTHS,
    BORN,
    COPY,
    EVERY,
    FLAGS,
    FORMATS,
    JOBS,
    ORDERED,
    POINTS,
    SCHEMA,
    TYPES,
    Row,
    arrow,
    brute_counts,
    counted,
    rows,
)
from tests.support.drawing import examples

MARGINALS = tuple(
    Marginal(parts)
    for parts in [
        *((one,) for one in EVERY),
        *combinations((JOBS, BINS, FLAGS, BIRTHS), 2),
        *((FLAGS, JOBS), (BIRTHS, BINS, JOBS), (JOBS, POINTS, FLAGS, BIRTHS)),
    ]
)
UNSEEN = Unseen((JOBS, BINS, ORDERED, BIRTHS, FLAGS))
EVERY_MAP: tuple[RowMap, ...] = (*MARGINALS, UNSEEN)


def plain(row: Row) -> Row:
    """Row as a CSV can hold it, in which usual texts such as ``NULL`` are missing cells."""
    text = (row["job"] or "").replace("\0", "")
    missing = not text or text.strip(" \t\n\r\v\f") in USUAL.missing_texts
    return {**row, "job": None if missing else text}


def unseen_rows(table: list[Row]) -> list[int]:
    parts = [one for one in UNSEEN.partitions if one.unseen is not None]
    every = [brute_counts([row], [one])[one.unseen] for row in table for one in parts]
    found = sum(any(every[at : at + len(parts)]) for at in range(0, len(every), len(parts)))
    return [len(table) - found, found]


@pytest.mark.parametrize("kind", FORMATS)
def test_cells_are_those_of_counting_row_by_row(kind: str, tmp_path: Path) -> None:
    @given(st.lists(rows, max_size=12))
    @examples(12)
    def check(table: list[Row]) -> None:
        held = list(map(plain, table)) if kind == "csv" else table
        counts = counted(FORMATS[kind](arrow(held), tmp_path), EVERY_MAP)
        for marginal in MARGINALS:
            found = counts[marginal]
            assert found.tolist() == brute_counts(held, marginal.partitions).tolist()
            assert (str(found.dtype), found.shape) == ("int64", (marginal.size,))
        assert counts[UNSEEN].tolist() == unseen_rows(held)

    check()


def test_cells_that_do_not_convert_are_null(tmp_path: Path) -> None:
    path = tmp_path / "private.csv"
    path.write_text(
        "born,flag,job,age\n"
        "2020-01-01,true,a,1\nyesterday,maybe,A,old\n,,,\n2020-01-02 00:00:00,0,a ,nan\n"
        '2020-01-05,1,it\'s,-0.0\ninfinity,false,"b,c",inf\n1,2\n',
        encoding="utf-8",
    )
    counts = counted(path, EVERY_MAP)
    by_part = {marginal.partitions: counts[marginal].tolist() for marginal in MARGINALS}
    assert by_part[JOBS,] == [1, 1, 1, 0, 3]
    assert by_part[POINTS,] == [3, 1, 1, 0, 0, 1]
    assert by_part[FLAGS,] == [2, 2, 2, 0]
    # An infinite time is no number of microseconds.
    assert by_part[BIRTHS,] == [3, 1, 1, 1, 0]


def test_columns_of_another_type_have_the_copys_kinds() -> None:
    private = pa.table(
        {
            "AGE": ["1", "2.0", "x", "", "7"],
            "job": [1.0, 2.0, None, 1.0, 1.0],
            "Flag": [1, 0, 2, None, 1],
            "born": ["2020-01-01", "2020-01-09", None, "?", "2020-01-01 00:00:00.000001"],
        }
    )
    # A whole number is a text without a fraction, also in a floating column, and 2 is no truth.
    one_text = Categories("job", Kind.TEXT, ("1",))
    maps = [Marginal((part,)) for part in (POINTS, one_text, FLAGS, BIRTHS, BORN)]
    counts = counted(private, maps)
    assert [counts[one].tolist() for one in maps] == [
        [2, 0, 1, 1, 1, 0],
        [1, 3, 1],
        [2, 1, 2, 0],
        [2, 1, 0, 0, 2],
        [2, 0, 1, 1, 0, 0, 0, 1],
    ]


def test_a_category_column_of_every_length_of_text() -> None:
    """A text of two signs, of the engine's inlined length, and beyond, capitals and blanks."""
    known = tuple(sign * length for sign in "aA " for length in (1, 2, 4, 11, 12, 13, 40, 5_000))
    part = Categories("job", Kind.TEXT, known[::2], known[1::2])
    table = [{"job": text + tail} for text in known for tail in ("", "", " ", "\0", "é")]
    counts = counted(pa.table({"job": [row["job"] for row in table]}), [Marginal((part,))])
    (marginal,) = counts.counts
    assert counts[marginal].tolist() == brute_counts(table, [part]).tolist()


def large(number: int) -> dict[str, NDArray[Any]]:
    """Columns of rows that fall into other cells the further down they are."""
    place = np.arange(number)
    return {
        "age": place % 9 - 1.0,
        "job": np.array(["a", "it's", "Zoë", "zebra"], dtype=object)[place * 4 // number],
    }


def expected(columns: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    ages, jobs = pd.Series(columns["age"]), pd.Series(columns["job"])
    age = ages.map({value: cell for cell, value in enumerate(POINTS.values, 1)}).fillna(5)
    job = jobs.map({"a": 1, "it's": 2, "Zoë": 3, "b\0c": 3}).fillna(4)
    table = pd.crosstab(job, age).reindex(index=range(5), columns=range(6), fill_value=0)
    return table.to_numpy().ravel()


@pytest.mark.parametrize("kind", ["pyarrow", "parquet", "csv"])
def test_chunks_do_not_show(kind: str, tmp_path: Path) -> None:
    """Half a million rows are more than one chunk, and more than one row group."""
    columns = large(500_000)
    full = pa.table({**columns, "flag": [True] * 500_000, "born": [None] * 500_000}).cast(TYPES)
    pair = Marginal((JOBS, POINTS))
    counts = counted(FORMATS[kind](full, tmp_path), [pair])
    assert counts[pair].tolist() == expected(columns).tolist()


def test_small_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = large(9_000)
    pair = Marginal((JOBS, POINTS))
    whole = counted(pa.table(columns), [pair])[pair]
    monkeypatch.setattr("pqd.engine.counting.arrow_sql._CHUNK", 1)
    monkeypatch.setattr("pqd.engine.marginals._CHUNK", 7)
    assert counted(pa.table(columns), [pair])[pair].tolist() == whole.tolist()
    assert whole.tolist() == expected(columns).tolist()


def test_batches_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = large(9_000)
    pair = Marginal((JOBS, POINTS))
    monkeypatch.setattr("pqd.engine.scan.JOINED", 1_000)
    assert counted(pa.table(columns), [pair])[pair].tolist() == expected(columns).tolist()


def test_the_copy_is_counted_as_it_was_loaded() -> None:
    tables = SyntheticTables([open_table(COPY, "synthetic")])
    assert tables.schema(tables.columns, {}) == SCHEMA
    counts = tables.engine.marginals(tables.tables[0], SCHEMA, MarginalPlan(EVERY_MAP))
    held = COPY.to_pylist()
    for marginal in MARGINALS:
        assert counts[marginal].tolist() == brute_counts(held, marginal.partitions).tolist()
    assert counts[UNSEEN].tolist() == [5, 0]


def test_codes_are_in_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(5)
    place = rng.integers(0, 5, 20_000)
    copy = COPY.take(place)
    tables = SyntheticTables([open_table(copy, "synthetic")])
    tables.schema(tables.columns, {})
    codes = tables.engine.codes(SCHEMA, EVERY)
    own = [[brute_counts([row], [part]).argmax() for part in EVERY] for row in COPY.to_pylist()]
    assert codes.shape == (20_000, len(EVERY))
    assert codes.tolist() == np.array(own)[place].tolist()


def test_value_counts_are_those_of_the_copy() -> None:
    copy = pa.table(
        {
            "age": [1.0, -0.0, 0.0, None, float("nan"), float("inf"), 1.0],
            "job": ["b", "a", "B", None, "b\0", "b", "Zoë"],
            "flag": [True] * 7,
            "born": [None] * 7,
        }
    ).cast(TYPES)
    tables = SyntheticTables([open_table(copy, "synthetic")])
    tables.schema(tables.columns, {})
    found = {name: tables.engine.value_counts(SCHEMA, name) for name in SCHEMA}
    values = {name: one.values.tolist() for name, one in found.items()}  # noqa: PD011 - no pandas
    counts = {name: one.counts.tolist() for name, one in found.items()}
    assert {name: (values[name], counts[name]) for name in found} == {
        "age": ([0.0, 1.0, float("inf")], [2, 2, 1]),
        "job": (["B", "Zoë", "a", "b", "b\0"], [1, 1, 1, 2, 1]),
        "flag": (["true"], [7]),
        "born": ([], []),
    }
    assert [(one.distinct, one.nulls, one.rows) for one in found.values()] == [
        (3, 2, 7),
        (5, 1, 7),
        (1, 0, 7),
        (0, 7, 7),
    ]


def crowd(people: int, most: int) -> list[Row]:
    """Rows of people who have 1 .. ``most`` of them, in other cells each."""
    texts = [*JOBS.values, *JOBS.merged, "zebra"]
    return [
        {"who": person, "age": float(number % 8), "job": texts[(person + number) % 5]}
        for person in range(people)
        for number in range(person % most + 1)
    ]


def units(table: list[Row], most: int, maps: list[RowMap]) -> list[NDArray[np.int64]]:
    unit = PrivacyUnit("who", most)
    counts = counted(pd.DataFrame(table), maps, unit, copy=COPY)
    return [counts[one] for one in maps]


def test_a_person_counts_as_the_most_rows_at_most() -> None:
    table = crowd(40, 6)
    maps: list[RowMap] = [Marginal((JOBS,)), Marginal((BINS, JOBS)), Unseen((JOBS, BINS))]
    for most in (1, 2, 6):
        rows = sum(min(person % 6 + 1, most) for person in range(40))
        assert [counts.sum() for counts in units(table, most, maps)] == [PARTS * rows] * 3
    every = units(table, 6, maps)
    assert every[1].tolist() == (PARTS * brute_counts(table, [BINS, JOBS])).tolist()


def test_a_copy_without_people_has_one_row_each() -> None:
    tables = SyntheticTables([open_table(COPY, "synthetic")])
    tables.schema(tables.columns, {})
    maps = (Marginal((JOBS,)),)
    plan = MarginalPlan(maps, PrivacyUnit("who", 1))
    assert tables.engine.marginals(tables.tables[0], SCHEMA, plan)[maps[0]].sum() == 5 * PARTS


def test_counts_are_hidden_from_tracebacks() -> None:
    counts = counted(COPY, [Marginal((JOBS,))])
    assert repr(counts) == "MarginalCounts(...)"
    assert "secret" not in repr(counts)


def test_a_table_without_the_columns_is_refused() -> None:
    with pytest.raises(TableError, match='"job" is in the synthetic table but not in the private'):
        counted(pa.table({"age": [1.0]}), [Marginal((JOBS,))])
    with pytest.raises(TableError, match='"who"'):
        counted(COPY, [Marginal((JOBS,))], PrivacyUnit("who", 1))


def test_an_error_of_the_engine_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    selected = ArrowSQL._selected

    def broken(sql: ArrowSQL, part: pa.Table, expressions: Sequence[str]) -> Any:
        # The kinds of the copy, which is public, are found out first.
        if any("(value" in each for each in expressions):
            return selected(sql, part, expressions)
        raise duckdb.Error("could not read zebra-canary")

    monkeypatch.setattr(ArrowSQL, "_selected", broken)
    with pytest.raises(RunError) as caught:
        counted(COPY, [Marginal((JOBS,))])
    assert "zebra" not in str(caught.value)
    assert caught.value.__context__ is None
