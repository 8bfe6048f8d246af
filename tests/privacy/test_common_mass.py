"""One noise vector for several measures: what a row moves of all cells, exactly, and twins.

The cells of a plan are what its noise is added to; all answers follow from them.  So the joint law
of all answers on a table with and without a row is that of the cells, and its loss is the change of
the cells by the norm of the noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.batches import common_mass
from pqd.batches.common_mass import ClassesPlan, JointPlan, SelectionsPlan
from pqd.batches.row_classes import RowClasses
from pqd.batches.workload_laplace import exact_answers
from pqd.deciders import Lattice
from pqd.deciders.batch.cell_sums import CellSum, NoisyCells
from pqd.engine.contingency import ContingencyTable
from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.sql.query import Query
from tests.support.noises import LaplaceAlone

EPSILON = Fraction(3, 2)
# Every kind of row: NULLs, both signs, values beyond the bounds.
ROWS = pd.DataFrame(
    list(product([None, -1.0, 1.0, 2.0], [None, -9.0, -1.0, 0.0, 3.0], [None, 0.0, 2.0, 40.0])),
    columns=["a", "b", "c"],
)
COPY = ROWS.iloc[[5, 30, 66]]
LATTICES = {"a": Lattice(0, 2), "b": Lattice(-2, 3), "c": Lattice(1, 7), "a * a": Lattice(0, 4)}
MEASURES = ["COUNT(*)", "COUNT(a)", "COUNT(c)", *(f"SUM({name})" for name in LATTICES)]
CONDITIONS = ["", "a > 0", "a = 2 OR b > 1", "c IS NULL", "b < 0", "NOT (c = 2)"]
Asked = list[tuple[str, str]]
workloads = st.lists(
    st.tuples(st.sampled_from(MEASURES), st.sampled_from(CONDITIONS)),
    min_size=2,
    max_size=7,
    unique=True,
)
TIGHT: Asked = [
    ("COUNT(*)", ""),
    ("SUM(a)", ""),
    ("SUM(b)", "a > 0"),
    ("SUM(c)", ""),
    ("SUM(c)", "b < 0"),
]


class Scale(LaplaceAlone):
    """Noise of 0 that keeps its one scale."""

    simulated = False
    scale = Fraction(0)

    def laplace(self, statistic: int, scale: Fraction) -> int:
        assert self.scale in {0, scale}
        self.scale = scale
        return statistic

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        self.scale = scale
        return tuple(statistics)

    def choose(self, logit: float) -> bool:
        raise AssertionError(logit)


@cache
def engine() -> Any:
    found, tables = SyntheticTable(), [open_table(t, "synthetic") for t in (COPY, ROWS)]
    return found, tables, found.schema(tables[1], {"a", "b", "c"}, {})


def scanned(asked: Asked) -> tuple[ScanPlan, ContingencyTable, ContingencyTable]:
    """Workload, the contingency table of every kind of row, and that of the copy."""
    scans, (copy, every), schema = engine()
    statistics = []
    for what, condition in asked:
        where = f" WHERE {condition}" if condition else ""
        found = Query(f"SELECT {what} FROM D{where}").resolve(schema)
        name = what.removeprefix("SUM(").removesuffix(")")
        measure = Measure(found.value, LATTICES[name]) if found.value else None
        statistics.append(Statistic(found.predicate, measure, found.columns, collapsed=True))
    workload = ScanPlan(tuple(statistics))
    return workload, *(scans.contingency(table, schema, workload) for table in (every, copy))


def plans(asked: Asked) -> tuple[list[Any], ContingencyTable]:
    workload, every, copy = scanned(asked)
    classes = RowClasses.of(workload, copy.words)
    return [
        ClassesPlan.of(workload, classes, EPSILON),
        SelectionsPlan.of(workload, EPSILON),
        JointPlan.of(workload, EPSILON),
    ], every


def singles(cells: ContingencyTable) -> list[ContingencyTable]:
    one = np.ones(1, np.int64)
    return [
        ContingencyTable(cells.words[n : n + 1], cells.places[n : n + 1], one)
        for n in range(len(cells.counts))
    ]


def loss(plan: Any, every: ContingencyTable) -> Fraction:
    """Largest privacy loss by one row, beside any other rows: cells are sums over rows."""
    noise = Scale()
    plan.release(plan.read(every), EPSILON, noise)
    added = [np.abs(np.array(plan.read(row), object)) for row in singles(every)]
    whole = sum(
        np.array(plan.read(row), object) * int(n)
        for row, n in zip(singles(every), every.counts, strict=True)
    )
    assert np.array_equal(whole, np.array(plan.read(every), object))
    joint = isinstance(plan, JointPlan)
    return max(int(cells.max() if joint else cells.sum()) for cells in added) / noise.scale


@settings(max_examples=4)
@given(workloads)
def test_no_row_moves_all_cells_by_more_than_epsilon(asked: Asked) -> None:
    check_loss(asked)


@pytest.mark.thorough
@settings(max_examples=150)
@given(workloads)
def test_no_row_moves_all_cells_by_more_than_epsilon_under_any_workload(asked: Asked) -> None:
    check_loss(asked)


def check_loss(asked: Asked) -> None:
    every_plan, every = plans(asked)
    for plan in every_plan:
        assert 0 < loss(plan, every) <= EPSILON


def test_the_whole_budget_is_used() -> None:
    (identity, workload, joint), every = plans(TIGHT)
    assert loss(identity, every) == loss(joint, every) == EPSILON
    # No row has the largest amount in each of the three selections.
    assert EPSILON * Fraction(7, 8) < loss(workload, every) < EPSILON


@settings(max_examples=15)
@given(workloads)
def test_answers_without_noise_are_exact(asked: Asked) -> None:
    """For ``identity`` of rows as their classes know them: all conditions but one column's."""
    (identity, workload, joint), every = plans(asked)
    exact = exact_answers(workload.workload, every)
    for plan in (workload, joint):
        assert plan.release(plan.read(every), EPSILON, Scale()).answers == tuple(exact)
    if not identity.classes.open_conditions:
        assert identity.release(identity.read(every), EPSILON, Scale()).answers == tuple(exact)


def test_answers_are_those_of_pandas() -> None:
    (identity, workload, joint), every = plans(TIGHT)
    ends = {"a": (0, 2), "b": (-2, 3), "c": (1, 7)}
    held = {name: ROWS[name].clip(*pair).fillna(0) for name, pair in ends.items()}
    expected = (
        len(ROWS),
        held["a"].sum(),
        held["b"][ROWS.a > 0].sum(),
        held["c"].sum(),
        held["c"][ROWS.b < 0].sum(),
    )
    for plan in (identity, workload, joint):
        assert plan.release(plan.read(every), EPSILON, Scale()).answers == expected


@pytest.mark.parametrize("count", ["COUNT(*)", "COUNT(a)"])
def test_a_count_costs_a_sum_nothing(count: str) -> None:
    """One SUM of amounts from 0 on, with and without COUNT: the same noise."""
    sums = [("SUM(a)", ""), ("SUM(a)", "c IS NULL")]
    alone, _ = plans(sums)
    both, _ = plans([*sums, (count, ""), (count, "c IS NULL")])
    for one, two in list(zip(alone, both, strict=True))[:2]:
        assert one.noise(EPSILON)[:2] == two.noise(EPSILON)[:2]


# The joint law ------------------------------------------------------------------------------------


def log_laplace(moved: Sequence[int], scale: Fraction) -> float:
    """Logarithm of the law of independent discrete Laplace noise, but for its constant."""
    return -float(sum(map(abs, moved)) / scale)


def test_the_joint_law_of_two_answers_changes_by_epsilon() -> None:
    """COUNT and SUM of amounts 0 .. 2: all outcomes on a table with and without each row."""
    plan, _ = plans([("COUNT(*)", ""), ("SUM(a)", "")])
    mechanism = plan[1].mechanism
    assert (mechanism.cells, mechanism.norm) == (2, 2)
    scale = mechanism.largest_scale(EPSILON)
    base = np.array([3, 1])
    ratios = []
    for amount in range(3):
        moved = base + np.array([2 - amount, amount])
        for outcome in product(range(-9, 12), repeat=2):
            one, other = (log_laplace(np.array(outcome) - cells, scale) for cells in (base, moved))
            ratios.append(abs(one - other))
    assert max(ratios) == pytest.approx(float(EPSILON))


# Twins --------------------------------------------------------------------------------------------


def each_measure_apart(_unit: Any, measures: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Blocks of one measure each."""
    return [(measure,) for measure in measures] or [()]


def of_one_measure(factor: Fraction) -> Callable[..., NoisyCells]:
    def made(name: str, cells: int, norm: int, sums: tuple[CellSum, ...]) -> NoisyCells:
        return NoisyCells(name, cells, int(norm * factor), sums)

    return made


@pytest.mark.parametrize("place", [0, 1])
def test_a_twin_with_noise_for_one_measure_is_caught(
    place: int, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.setattr(common_mass, "NoisyCells", of_one_measure(Fraction(3, 7)))
    every_plan, every = plans(TIGHT)
    assert loss(every_plan[place], every) > EPSILON
    record_property("mutant", f"common mass {place}: the noise of one measure")
    record_property("caught_by", "what one row moves of all cells")


def test_a_twin_that_pays_for_one_block_of_several_is_caught(
    monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """Each measure has cells of its own, and the noise is that of one mass."""
    monkeypatch.setattr(common_mass.CommonUnit, "parts", each_measure_apart)
    (identity, *_), every = plans(TIGHT)
    assert loss(identity, every) <= EPSILON
    assert loss(replace(identity, most=1), every) > EPSILON
    record_property("mutant", "common mass: the noise of one block of several")
    record_property("caught_by", "what one row moves of all cells")


def test_a_twin_whose_joint_answers_are_not_in_the_common_unit_is_caught(
    record_property: Callable[[str, object], None],
) -> None:
    (*_, joint), every = plans(TIGHT)
    double = tuple(replace(each, divisor=2 * each.divisor) for each in joint.sums)
    assert loss(replace(joint, sums=double), every) > EPSILON
    record_property("mutant", "common mass, joint: twice the unit")
    record_property("caught_by", "what one row moves of each cell")
