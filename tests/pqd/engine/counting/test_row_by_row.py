"""Counters against their slow twin: the same SQL by plain DuckDB, row by row over the whole table.

Every kind of predicate and measure, on a grid of cells that hold what is odd: NULL, no number,
infinities, cells that do not convert, ends of 64 bits, texts that differ in case or accents alone.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import isnan
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from pqd.deciders import Histogram, Interval, Lattice
from pqd.engine.contingency import ContingencyCounter, ContingencyTable
from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.counting.facts import ByValue, TypedSQL
from pqd.engine.counting.tally import folded
from pqd.engine.cut_points import CutPoints
from pqd.engine.histograms import HistogramCounter
from pqd.engine.scan_plan import Measure, ScanPlan, Statistic, predicate_sql
from pqd.sql.query import Query
from pqd.sql.schema import Kind
from tests.support.batches import batch_of, batches_of
from tests.support.typed_sql import typed_sql

SCHEMA = {"x": Kind.NUMBER, "y": Kind.NUMBER, "s": Kind.TEXT, "b": Kind.BOOLEAN, "t": Kind.TIME}
NUMBERS = [None, "nan", "inf", "-inf", "-0.0", "0", "1", "1.0", "2.5", "old", "1e300"]
NUMBERS += ["9223372036854775807", "-9223372036854775808", "9007199254740993"]
TEXTS = [None, "", "a", "A", "a ", "é", "e\u0301", "Zoë", "100%", "_", "it's", 'say "x"', "x\0y"]
FLAGS = [None, "true", "FALSE", "maybe", "1"]
TIMES = [None, "2020-02-29", "2020-02-29 00:00:00.000001", "yesterday", "infinity"]


def grid(rows: int) -> pa.Table:
    """Rows in which cells meet in many ways."""
    at = np.arange(rows)
    values = {
        "x": (NUMBERS, at),
        "y": (NUMBERS, at // 3 + at),
        "s": (TEXTS, at * 5 + at // 11),
        "b": (FLAGS, at // 2),
        "t": (TIMES, at // 7 + at),
    }
    return pa.table(
        {
            name: pa.array([cells[place % len(cells)] for place in places], pa.string())
            for name, (cells, places) in values.items()
        }
    )


CONDITIONS = [
    None,
    "x > 0",
    "x <> 1 OR x IS NULL",
    "NOT (x < 1 AND s <> 'a')",
    "x BETWEEN 0 AND 2.5",
    "x NOT IN (1, 2.5, NULL)",
    "x + y > 1",
    "x * y = 0 AND NOT b",
    "x = y OR s IS NULL",
    "s = 'A' OR s ILIKE 'a'",
    "s LIKE 'Zo_' AND x >= 0",
    "s NOT LIKE '%\"x\"%'",
    "LOWER(s) = 'a' OR LENGTH(s) > 2",
    "b",
    "b IS NOT TRUE AND t IS NOT NULL",
    "t >= '2020-02-29' AND t < '2020-03-01'",
    "YEAR(t) = 2020 OR x < y",
    "CASE WHEN b THEN x ELSE y END > 1",
    "NULL",
    "1 = 1 AND x IS NOT NULL",
]
CENTS = Lattice(-3, 5, "0.5")
CUTS = CutPoints.of([Interval(0, 2)], Fraction(1), (Fraction(-5), Fraction(9)))
MEASURES: dict[str, tuple[Lattice | None, CutPoints | None]] = {
    "COUNT(*)": (None, None),
    "SUM(x)": (CENTS, None),
    "SUM(x * y + 1)": (CENTS, None),
    "MEDIAN(y)": (CENTS, CUTS),
    "COUNT(DISTINCT x)": (None, None),
    "COUNT(DISTINCT s)": (None, None),
    "COUNT(DISTINCT x - x)": (None, None),
    "COUNT(DISTINCT b OR x > y)": (None, None),
    "COUNT(DISTINCT t)": (None, None),
}


def plan() -> ScanPlan:
    """All conditions with all measures."""
    statistics = []
    for aggregate, (lattice, cuts) in MEASURES.items():
        for condition in CONDITIONS:
            where = f" WHERE {condition}" if condition else ""
            bound = Query(f"SELECT {aggregate} FROM D{where}").resolve(SCHEMA)
            measure = Measure(bound.value, lattice, cut_points=cuts) if bound.value else None
            statistics.append(Statistic(bound.predicate, measure, bound.columns, collapsed=False))
    return ScanPlan(tuple(statistics))


PLAN = plan()


@cache
def plain_database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def typed() -> TypedSQL:
    return TypedSQL(ArrowSQL(plain_database().cursor()), SCHEMA)


def typed_rows(table: pa.Table) -> duckdb.DuckDBPyConnection:
    """Plain DuckDB with the typed rows as ``D``."""
    connection = duckdb.connect(config={"threads": 1})
    connection.register("whole", table)
    typed = typed_sql("whole", SCHEMA, {name: name for name in SCHEMA})
    connection.execute(f"CREATE TABLE D AS SELECT * FROM {typed}")
    return connection


def row_by_row(connection: duckdb.DuckDBPyConnection, statistic: Statistic) -> Counter[Any]:
    """Rows by what is measured of them, as plain DuckDB says."""
    where = predicate_sql(statistic.predicate) if statistic.predicate else "TRUE"
    value = statistic.measure.sql if statistic.measure else "0"
    sql = f"SELECT v, count(*) FROM (SELECT {value} AS v FROM D WHERE {where}) GROUP BY v"
    return Counter({v: n for v, n in connection.execute(sql).fetchall() if v is not None})


def expected(connection: duckdb.DuckDBPyConnection, statistic: Statistic) -> Counter[Any]:
    """Entries of the histogram, from the values of single rows."""
    held, measure = row_by_row(connection, statistic), statistic.measure
    if measure is None:
        return Counter({0: held[0]} if held else {})
    if measure.cut_points:
        numbers = [v for v, n in held.items() if not isnan(v) for _ in range(n)]
        passed = (sum((v > 0, v >= 2)) for v in numbers)
        return Counter(measure.cut_points.marks[each] for each in passed)
    if measure.lattice is None:
        return Counter(held.values())
    entries: Counter[Any] = Counter()
    for value, count in held.items():
        if not isnan(value):
            entries[snapped(value, measure.lattice)] += count
    return entries


def snapped(value: float, lattice: Lattice) -> int:
    clamped = min(max(value, float(lattice.lower)), float(lattice.upper))
    steps = int((Fraction(clamped) - lattice.lower) / lattice.step + Fraction(1, 2))
    return int((lattice.lower + steps * lattice.step) / lattice.unit)


def entries(histogram: Histogram) -> Counter[Any]:
    values, counts = histogram.values.tolist(), histogram.counts.tolist()
    return Counter(dict(zip(values, counts, strict=True)))


@cache
def by_row(rows: int) -> list[Counter[Any]]:
    with typed_rows(grid(rows)) as connection:
        return [expected(connection, statistic) for statistic in PLAN.statistics]


def check(rows: int, batch: int = 1000) -> None:
    counter = HistogramCounter(typed(), PLAN)
    counts = folded(map(counter.count, batches_of(grid(rows), batch)))
    histograms = counter.whole(counts.multiplicities(counter.distinct))
    for statistic, histogram, held in zip(PLAN.statistics, histograms, by_row(rows), strict=True):
        assert entries(histogram) == held, statistic


@pytest.mark.parametrize(
    ("rows", "batch"), [(0, 9), (1, 9), (150, 1000), (150, 17), (150, 50), (150, 149)]
)
def test_histograms_are_those_of_counting_row_by_row(rows: int, batch: int) -> None:
    check(rows, batch)


SIZES: dict[str, dict[str, int]] = {
    "chunks of 5 combinations": {"counting.arrow_sql._CHUNK": 5},
    "statements of 2 expressions": {"counting.arrow_sql._WIDTH": 2},
    "codes that are looked up": {"counting.combinations._SMALL": 0},
    "bitmaps of few atoms at once": {"histograms._ATOMS": 3},
    "values that are forgotten": {"counting.facts.MOST": 0},
}


@pytest.mark.parametrize("name", SIZES)
def test_no_size_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, size in SIZES[name].items():
        monkeypatch.setattr(f"pqd.engine.{place}", size)
    check(150, 70)


def test_a_twin_that_takes_one_batch_s_values_for_the_next_one_s_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = ByValue.of
    first: dict[int, Any] = {}
    monkeypatch.setattr(
        ByValue, "of", lambda by, values: first.setdefault(id(by), found(by, values))
    )
    with pytest.raises((AssertionError, IndexError, ValueError)):
        check(150, 40)


def contingency_plan() -> ScanPlan:
    """Conditions of several columns, more than one word holds, and one number."""
    wheres = [condition for condition in CONDITIONS if condition] + [f"x > {n}" for n in range(60)]
    bound = [Query(f"SELECT SUM(x) FROM D WHERE {where}").resolve(SCHEMA) for where in wheres]
    measure = Measure('"x"', CENTS)
    return ScanPlan(
        tuple(Statistic(each.predicate, measure, each.columns, collapsed=True) for each in bound)
    )


def cells_by_row(table: pa.Table, scan: ScanPlan) -> list[tuple[Any, ...]]:
    truths = ", ".join(f"COALESCE({atom.sql}, FALSE)" for atom in scan.atoms)
    return typed_rows(table).execute(f'SELECT {truths}, "x" FROM D').fetchall()


def packed_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    *truths, number = row
    words = [
        sum(1 << bit for bit, truth in enumerate(truths[first : first + 64]) if truth)
        for first in range(0, len(truths), 64)
    ]
    snap = None if number is None else snapped(number, CENTS)
    place = -1 if snap is None else int((snap * CENTS.unit - CENTS.lower) / CENTS.step)
    return (*words, place)


def keys_of(cells: ContingencyTable) -> list[tuple[Any, ...]]:
    pairs = zip(cells.words.tolist(), cells.places.tolist(), strict=True)
    return [(*words, *places) for words, places in pairs]


@pytest.mark.parametrize(("rows", "batch"), [(0, 1), (1, 1), (300, 300), (300, 7)])
def test_cells_of_rows_are_those_of_each_row(rows: int, batch: int) -> None:
    table, scan = grid(rows), contingency_plan()
    each = [packed_row(row) for row in cells_by_row(table, scan)]
    counter = ContingencyCounter(typed(), scan)
    assert keys_of(counter.by_row(batch_of(table))) == each
    cells = counter.whole(folded(map(counter.count, batches_of(table, batch))))
    keys = keys_of(cells)
    assert dict(zip(keys, cells.counts.tolist(), strict=True)) == dict(Counter(each))
    assert keys == sorted(keys, key=lambda key: (*key[-2::-1], key[-1]))


# Broken twins


def unknown_is_true(sql: ArrowSQL, table: pa.Table, expressions: list[str]) -> Any:
    return EVALUATED(sql, table, [one.replace(", FALSE)", ", TRUE)") for one in expressions])


def a_chunk_is_lost(sql: ArrowSQL, table: pa.Table, expressions: list[str]) -> Any:
    chunks = list(EVALUATED(sql, table, expressions))
    return chunks[:1] * len(chunks)


def another_order(sql: ArrowSQL, table: pa.Table, expressions: list[str]) -> Any:
    return EVALUATED(sql, table.take(np.arange(table.num_rows)[::-1]), expressions)


EVALUATED = ArrowSQL.evaluated
TWINS: dict[str, Callable[..., Any]] = {
    "what is unknown counts as true": unknown_is_true,
    "one chunk stands for all": a_chunk_is_lost,
    "values in another order than their codes": another_order,
}


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_twin_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pqd.engine.counting.arrow_sql._CHUNK", 7)
    monkeypatch.setattr(ArrowSQL, "evaluated", TWINS[name])
    with pytest.raises((AssertionError, IndexError, ValueError)):
        check(150)
