"""``workload`` query by query: what one row, whatever it holds, moves of all answers together.

Every row of a domain is looked at by itself, under drawn workloads: overlapping ranges, IN lists,
patterns, NULLs, names in any case, one query under several ids, sums of either sign.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.batches import workload_laplace as direct
from pqd.batches.workload_laplace import WorkloadPlan, exact_answers
from pqd.deciders import Lattice
from pqd.engine.contingency import ContingencyTable
from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import Table, open_table
from pqd.sql.query import Query
from pqd.sql.schema import Schema
from tests.privacy.test_batch_linear import Recording
from tests.support.drawing import predicates_of

EPSILON = Fraction(1, 3)
ROWS = pd.DataFrame(
    list(
        product(
            [None, -1.0, 0.5, 1.0, 2.0, 1e300],
            [None, "", "x", "X", "xy"],
            [None, -7.0, 0.0, 2.5, 40.0],
            [0.0, 3.0],
        )
    ),
    columns=["a", "name", "pay", "b"],
)
# All of it holds x and little else: next to nothing of what a private row may meet.
COPY = pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "x"], "pay": [1.0, 3.0], "b": [0.0, 0.0]})
ATOMS = [
    *("a = 1", "A = 1.0", "a <> 1", "a BETWEEN 0 AND 1", "a BETWEEN 1 AND 2", "a IN (1, 2, 1)"),
    *("a IS NULL", "NOT (a > 0.5)", "a * 2 > 1", "b < a", "b = 3", "b <> 3", "pay < 0"),
    *("name = 'x'", "NAME = 'x'", "\"Name\" = 'X'", "name LIKE 'x%'", "name ILIKE 'x'"),
    *("name NOT IN ('x', 'y')", "name IS NOT NULL", "LOWER(name) = 'x'", "1 = 1", "a = NULL"),
]
LATTICES = {"COUNT(*)": None, "SUM(pay)": Lattice(-5, 20), "SUM(a)": Lattice(0, 2, Fraction(1, 2))}
predicates = predicates_of(ATOMS, leaves=3)
workloads = st.tuples(st.sampled_from(list(LATTICES)), st.lists(predicates, min_size=1, max_size=7))
Drawn = tuple[str, list[str]]


@cache
def engine() -> tuple[SyntheticTable, Table, Table, Schema]:
    tables = open_table(COPY, "synthetic"), open_table(ROWS, "private")
    found = SyntheticTable()
    public, secret = (table for table in tables)
    return found, public, secret, found.schema(public, {"a", "b", "name", "pay"}, {})


def scanned(drawn: Drawn) -> tuple[ScanPlan, ContingencyTable, ContingencyTable]:
    """Workload, every row of the domain, and the copy's."""
    what, conditions = drawn
    scans, public, secret, schema = engine()
    queries = [Query(f"SELECT {what} FROM D WHERE {condition}") for condition in conditions]
    statistics = []
    for query in queries:
        found = query.resolve(schema)
        measure = Measure(found.value, LATTICES[what]) if found.value else None
        statistics.append(Statistic(found.predicate, measure, found.columns, collapsed=True))
    workload = ScanPlan(tuple(statistics))
    every = scans.contingency(secret, schema, workload)
    return workload, every, scans.contingency(public, schema, workload)


def singles(cells: ContingencyTable) -> list[ContingencyTable]:
    """Table of one row for each kind of row."""
    one = np.ones(1, np.int64)
    return [
        ContingencyTable(cells.words[n : n + 1], cells.places[n : n + 1], one)
        for n in range(len(cells.counts))
    ]


def most_moved(plan: WorkloadPlan, every: ContingencyTable) -> int:
    """Most that one row moves of all answers."""
    return max(int(np.abs(plan.read(row)).sum()) for row in singles(every))


def check(plan: WorkloadPlan, every: ContingencyTable) -> None:
    assert most_moved(plan, every) <= plan.most * plan.top
    noise = Recording()
    plan.release(plan.read(every), EPSILON, noise)
    assert {scale for _, scale in noise.asked} == {plan.most * plan.top / EPSILON}


@settings(max_examples=60, deadline=None)
@given(workloads)
def test_no_row_moves_answers_by_more_than_the_norm(drawn: Drawn) -> None:
    workload, every, _ = scanned(drawn)
    plan = WorkloadPlan.of(workload, EPSILON)
    check(plan, every)
    # Nothing was left out to that end.
    assert plan.read(every).tolist() == exact_answers(workload, every).tolist()
    # And rows do not depend on each other.
    assert (
        plan.read(every).tolist()
        == sum(
            plan.read(row) * count for row, count in zip(singles(every), every.counts, strict=True)
        ).tolist()
    )


@settings(max_examples=25, deadline=None)
@given(workloads)
def test_answers_are_those_of_plain_sql(drawn: Drawn) -> None:
    what, conditions = drawn
    workload, every, _ = scanned(drawn)
    lattice = LATTICES[what]
    expected = []
    for condition in conditions:
        column = "pay" if "pay" in what else "a"
        worth: Any = pd.Series(1, ROWS.index)
        if lattice:
            clipped = ROWS[column].clip(float(lattice.lower), float(lattice.upper)).fillna(0)
            worth = (clipped / float(lattice.unit)).round(6)
        met = matched(condition)
        expected.append(worth[met].sum())
    found = WorkloadPlan.of(workload, EPSILON).read(every)
    if lattice is None:
        assert found.tolist() == expected
    else:
        # Values are snapped to the lattice, a half step at most.
        assert np.abs(found - expected).max() <= len(ROWS)


@cache
def plain_database() -> duckdb.DuckDBPyConnection:
    """DuckDB with the rows as ``D``."""
    return duckdb.connect().register("D", ROWS)


@cache
def matched(condition: str) -> Any:
    """Mask of the rows that match, as plain DuckDB says."""
    sql = f"SELECT coalesce(({condition}), FALSE) AS met FROM D"
    return plain_database().execute(sql).fetchnumpy()["met"].astype(bool)


@pytest.mark.parametrize("what", LATTICES)
def test_one_query_under_two_ids_counts_twice(what: str) -> None:
    workload, every, _ = scanned((what, ["a = 1", "A = 1.0", "a IN (1)", "a BETWEEN 1 AND 1"]))
    plan = WorkloadPlan.of(workload, EPSILON)
    assert plan.most == 4
    check(plan, every)


def test_values_below_zero_count_by_their_size() -> None:
    workload, every, _ = scanned(("SUM(pay)", ["pay < 0", "pay > 0"]))
    wide = [
        replace(statistic, measure=Measure(statistic.measure.sql, Lattice(-30, 20)))
        for statistic in workload.statistics
        if statistic.measure
    ]
    assert WorkloadPlan.of(workload, EPSILON).top == 20
    assert WorkloadPlan.of(ScanPlan(tuple(wide)), EPSILON).top == 30
    assert WorkloadPlan.of(workload, EPSILON).most == 1
    check(WorkloadPlan.of(workload, EPSILON), every)


# Twins --------------------------------------------------------------------------------------------

MEETING: Drawn = ("COUNT(*)", ["a = 1", "a IS NULL", "name IS NULL OR a < 0", "NOT (b = 0)"])


def of_the_copy(drawn: Drawn) -> tuple[WorkloadPlan, ContingencyTable, ScanPlan]:
    """Wrong: what rows of the copy meet at most."""
    workload, every, copy = scanned(drawn)
    most = max(int(exact_answers(workload, row).sum()) for row in singles(copy))
    assert most < max(int(exact_answers(workload, row).sum()) for row in singles(every))
    return WorkloadPlan(workload, most, 1), every, workload


def test_a_twin_that_takes_the_rows_of_the_copy_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, every, workload = of_the_copy(MEETING)
    # It is still private, as no row counts more often; but it is wrong about some.
    check(plan, every)
    assert plan.read(every).tolist() != exact_answers(workload, every).tolist()
    # Where rows count as often as they like, it is not.
    monkeypatch.setattr(
        direct, "exact_answers", lambda workload, cells, _most=None: exact_answers(workload, cells)
    )
    with pytest.raises(AssertionError):
        check(plan, every)


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(9, 10)])
def test_a_twin_with_less_noise_is_caught(factor: Fraction) -> None:
    workload, every, _ = scanned(("SUM(pay)", ["b = 3", "b <> 0", "name = 'x'"]))
    plan = WorkloadPlan.of(workload, EPSILON)
    less = replace(plan, top=int(plan.top * factor))
    check(plan, every)
    with pytest.raises(AssertionError):
        check(less, every)


def test_a_twin_that_takes_the_upper_bound_for_the_largest_is_caught() -> None:
    workload, every, _ = scanned(("SUM(pay)", ["b = 3"]))
    statistics = [
        replace(statistic, measure=Measure(statistic.measure.sql, Lattice(-9, 2)))
        for statistic in workload.statistics
        if statistic.measure
    ]
    scans, _, secret, schema = engine()
    lower = ScanPlan(tuple(statistics))
    every = scans.contingency(secret, schema, lower)
    check(WorkloadPlan.of(lower, EPSILON), every)
    with pytest.raises(AssertionError):
        check(replace(WorkloadPlan.of(lower, EPSILON), top=2), every)
