"""A release with a privacy unit: what one person, whatever rows, moves of all answers together."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from pqd.batches import common_mass, workload_laplace
from pqd.batches.answers import ReleasePlan, select_batches
from pqd.batches.batch_measurement import BatchMeasurement
from pqd.batches.common_mass import JointPlan, SelectionsPlan
from pqd.batches.workload_laplace import WorkloadPlan, exact_answers, workload_sensitivity
from pqd.deciders.batch.cell_sums import JointCells
from pqd.engine import histograms as histograms_home
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.run import execution
from pqd.sql.workload_files import as_queries
from tests.privacy.test_privacy_unit import (
    ADVERSARIAL,
    FACTS,
    SYNTHETIC,
    Row,
    frame_of,
    open_totals,
    people,
    repeated,
    rows_for_people,
    rows_for_totals,
)

EPSILON = Fraction(3, 2)
COUNTS: dict[str, Callable[[Row], bool]] = {
    "job = 'a'": lambda row: row[3] == "a",
    "job = 'b'": lambda row: row[3] == "b",
    "job = 'c'": lambda row: row[3] == "c",
    "age > 1": lambda row: row[1] > 1,
    "age <= 1": lambda row: row[1] <= 1,
}
SUMS = ("SUM(pay) {} job = 'a'", "SUM(pay) {} job = 'b' AND age > 1", "SUM(pay) {} job = 'c'")
AGES = ("SUM(age) {} pay > 0", "SUM(age) {} pay <= 0")
SQLS = (
    *(f"SELECT COUNT(*) FROM D WHERE {condition}" for condition in COUNTS),
    *(f"SELECT {sql.format('FROM D WHERE')}" for sql in (*SUMS, *AGES)),
)


MECHANISMS = ("workload", "joint")


class Asked:
    """Noise of 0 that keeps the scales that it was asked for, by the law of the noise."""

    simulated = False

    def __init__(self) -> None:
        self.scales: set[tuple[str, Fraction]] = set()

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.scales.add(("laplace", scale))
        return statistic

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        self.scales.add(("cube", scale))
        return tuple(statistics)

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        raise AssertionError(statistic, sigma)

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        raise AssertionError(scores, scale)

    def choose(self, logit: float) -> bool:
        raise AssertionError(logit)


@cache
def planned(mechanism: str) -> ReleasePlan:
    terms = Parameters.parse(
        tau=1, epsilon=EPSILON, columns=FACTS, alpha="0.05", mechanism=mechanism
    )
    tables = open_table(SYNTHETIC, "private"), open_table(SYNTHETIC, "synthetic")
    requests = [QueryRequest(query, terms) for query in as_queries(SQLS)]
    bound = bind(
        SyntheticTables(tables[1:], tables[0]), requests, terms.columns, PrivacyUnit("pid", 2)
    )
    bound.check()
    return select_batches(bound, terms)


def batches(mechanism: str) -> list[BatchMeasurement]:
    return [each.batch for each in planned(mechanism).batches]


def counted(rows: Sequence[Row], mechanism: str) -> list[Any]:
    """What each batch counts of a private table, by the product's own scan."""
    every, private = batches(mechanism), open_table(frame_of(rows), "private")
    here = replace(planned(mechanism).measurements, private=private)
    counts = execution._scan(here, {each.cache_key: each for each in every})
    return [counts[each.cache_key] for each in every]


def answers(rows: Sequence[Row], mechanism: str) -> list[NDArray[np.int64]]:
    """Whole numbers of each batch to which noise is added."""
    pairs = zip(batches(mechanism), counted(rows, mechanism), strict=True)
    return [np.array(each.plan.read(counts), object) for each, counts in pairs]


def loss(batch: BatchMeasurement, moved: NDArray[np.int64]) -> Fraction:
    """Privacy loss of a batch whose exact answers are moved, by the noise that it draws."""
    noise = Asked()
    batch.plan.release(0 * moved, batch.epsilon, noise)
    ((law, scale),) = noise.scales
    # Discrete Laplace noise loses the change in L1, cube noise that of the largest answer.
    return int(moved.sum() if law == "laplace" else moved.max()) / scale


def check_neighbours(rows: Sequence[Row], mechanism: str) -> None:
    """Without any one person, the answers of all batches together cost at most what is charged."""
    whole = answers(rows, mechanism)
    for person in people(rows):
        rest = answers([row for row in rows if row[0] != person], mechanism)
        triples = zip(batches(mechanism), whole, rest, strict=True)
        assert sum(loss(batch, np.abs(one - other)) for batch, one, other in triples) <= EPSILON


def test_batches_are_charged_their_shares_for_persons() -> None:
    every = batches("workload")
    assert {each.name: len(each.statistics) for each in every} == {
        "COUNT, SUM(age)": 7,
        "SUM(pay)": 3,
    }
    assert [each.cost for each in every] == [EPSILON * 7 / 10, EPSILON * 3 / 10]
    assert [each.composition_cost.region for each in every] == [None] * 2
    assert {each.ledger_facts()["unit"] for each in every} == {"pid"}
    assert {each.plan.id for each in every} == {"workload"}
    several, pay = (each.plan for each in every)
    # COUNTs and SUMs of age are of different rows, so each is a group of its own.
    assert isinstance(several, SelectionsPlan)
    assert (several.most, several.cells) == (7, 7)
    assert isinstance(pay, WorkloadPlan)
    # Totals of pay lie between -2 and 5 in steps of a half.
    assert (pay.most, pay.top) == (3, 10)


def test_joint_noise_on_all_measures_is_charged_for_persons() -> None:
    (batch,) = batches("joint")
    assert batch.name == "COUNT, SUM(age), SUM(pay)"
    assert batch.cost == batch.epsilon == EPSILON
    assert batch.composition_cost.region is None
    assert batch.ledger_facts()["unit"] == "pid"
    # The mass is a multiple of 10 that is nearly a multiple of 7; no amount has less noise.
    assert isinstance(batch.plan, JointPlan)
    assert [batch.plan.unit.tops[each.measure] for each in batch.statistics] == [
        *([1] * 5),
        *([7] * 2),
        *([10] * 3),
    ]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=15)
@given(rows=repeated)
def test_a_person_moves_all_answers_by_what_is_charged(mechanism: str, rows: list[Row]) -> None:
    check_neighbours(rows, mechanism)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_people_with_many_rows_move_no_more(name: str, mechanism: str) -> None:
    check_neighbours(ADVERSARIAL[name], mechanism)


@settings(max_examples=20)
@given(rows=repeated)
def test_counts_are_of_persons(rows: list[Row]) -> None:
    (batch, _), (counts, _) = batches("workload"), counted(rows, "workload")
    exact = exact_answers(batch.workload, counts).tolist()
    found = dict(zip(batch.sql, exact, strict=True))
    for condition, rule in COUNTS.items():
        held = sum(any(map(rule, theirs)) for theirs in people(rows).values())
        assert found[f"SELECT COUNT(*) FROM D WHERE {condition}"] == held


# Broken twins


def of_rows(workload: Any, epsilon: Fraction, *, joint: bool) -> WorkloadPlan:
    """Noise for what one row can match: wrong, since a person may have a row for each query."""
    right = PLAN(workload, epsilon, joint=joint)
    predicates = [each.predicate for each in workload.statistics]
    return replace(right, most=workload_sensitivity(predicates))


def of_one_unit(cells: int, _top: int, sums: Any) -> JointCells:
    """Noise of a step of one unit."""
    return JointCells(cells, 1, sums)


def of_one_measure(cells: int, top: int, sums: Any) -> JointCells:
    """Noise for the smaller of the two largest totals, 7 and 10."""
    return JointCells(cells, top * 7 // 10, sums)


def whole_factor(unit: common_mass.CommonUnit, _measure: object) -> int:
    """Factor of COUNT for every measure."""
    return unit.mass


def of_single_values(workload: Any, epsilon: Fraction, *, joint: bool) -> WorkloadPlan:
    """Noise of a step of one unit."""
    return replace(PLAN(workload, epsilon, joint=joint), top=1)


PLAN = WorkloadPlan.of
TWINS: dict[str, tuple[Any, str, Any]] = {
    "COUNT of rows": (histograms_home, "_persons", rows_for_people),
    "SUM of rows": (histograms_home, "_persons", rows_for_totals),
    "open totals": (histograms_home, "_clamped", open_totals),
}
ALONE: dict[str, tuple[Any, str, Any]] = {
    "noise for one unit": (workload_laplace.WorkloadPlan, "of", of_single_values),
    "noise for what one row matches": (workload_laplace.WorkloadPlan, "of", of_rows),
}
TOGETHER: dict[str, tuple[Any, str, Any]] = {
    "noise for one unit": (common_mass, "JointCells", of_one_unit),
    "noise for one of the measures": (common_mass, "JointCells", of_one_measure),
    "a factor for the amount of one row": (common_mass.CommonUnit, "factor", whole_factor),
}
CAUGHT = [
    *(("workload", name, twin) for name, twin in (TWINS | ALONE).items()),
    *(("joint", name, twin) for name, twin in (TWINS | TOGETHER).items()),
]


def check_all(mechanism: str) -> None:
    for rows in ADVERSARIAL.values():
        check_neighbours(rows, mechanism)


@pytest.mark.parametrize(("mechanism", "name", "twin"), CAUGHT)
def test_a_broken_twin_is_caught(
    mechanism: str,
    name: str,
    twin: tuple[Any, str, Any],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr(*twin)
    planned.cache_clear()
    try:
        with pytest.raises(AssertionError):
            check_all(mechanism)
    finally:
        planned.cache_clear()
    record_property("mutant", f"release with a unit, {mechanism}: {name}")
    record_property("caught_by", "without a person: answers move more than is charged")
