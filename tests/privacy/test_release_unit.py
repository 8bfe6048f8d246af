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

from pqd.batches import workload_laplace
from pqd.batches.answers import ReleasePlan, select_batches
from pqd.batches.batch_measurement import BatchMeasurement
from pqd.batches.workload_laplace import WorkloadPlan, workload_sensitivity
from pqd.engine import histograms as histograms_home
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.run import execution
from pqd.sql.workload_files import as_queries
from tests.privacy.test_batch_linear import Recording
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


@cache
def planned() -> ReleasePlan:
    terms = Parameters.parse(tau=1, epsilon=EPSILON, columns=FACTS, alpha="0.05")
    tables = open_table(SYNTHETIC, "private"), open_table(SYNTHETIC, "synthetic")
    requests = [QueryRequest(query, terms) for query in as_queries(SQLS)]
    bound = bind(
        SyntheticTables(tables[1:], tables[0]), requests, terms.columns, PrivacyUnit("pid", 2)
    )
    bound.check()
    return select_batches(bound, terms)


def batches() -> list[BatchMeasurement]:
    return [each.batch for each in planned().batches]


def answers(rows: Sequence[Row]) -> list[NDArray[np.int64]]:
    """Exact answers of each batch about a private table, by the product's own scan."""
    here = replace(planned().measurements, private=open_table(frame_of(rows), "private"))
    counts = execution._scan(here, {each.cache_key: each for each in batches()})
    return [each.plan.read(counts[each.cache_key]) for each in batches()]


def scales(batch: BatchMeasurement) -> set[Fraction]:
    """Scales of the noise that the product draws for a batch."""
    noise = Recording()
    batch.plan.release(np.zeros(len(batch.statistics), np.int64), batch.epsilon, noise)
    return {scale for _, scale in noise.asked}


def check_neighbours(rows: Sequence[Row]) -> None:
    """Without any one person, the answers of all batches together cost at most what is charged."""
    whole = answers(rows)
    for person in people(rows):
        rest = answers([row for row in rows if row[0] != person])
        loss = Fraction(0)
        for batch, here, there in zip(batches(), whole, rest, strict=True):
            (scale,) = scales(batch)
            # The loss of discrete Laplace noise is the change in L1, divided by the scale.
            loss += int(np.abs(here - there).sum()) / scale
        assert loss <= EPSILON, person


def test_batches_are_charged_their_shares_for_persons() -> None:
    assert {each.name: len(each.statistics) for each in batches()} == {
        "COUNT": 5,
        "SUM(pay)": 3,
        "SUM(age)": 2,
    }
    assert sum(each.cost for each in batches()) == EPSILON
    assert [each.composition_cost.region for each in batches()] == [None] * 3
    assert {each.ledger_facts()["unit"] for each in batches()} == {"pid"}
    for batch in batches():
        assert isinstance(batch.plan, WorkloadPlan)
        assert batch.plan.most == len(batch.statistics)
    # Totals of pay lie between -2 and 5 in steps of a half, those of age between 0 and 7.
    assert [each.plan.parameters()["top"] for each in batches()] == [1, 10, 7]


@settings(max_examples=25)
@given(rows=repeated)
def test_a_person_moves_all_answers_by_what_is_charged(rows: list[Row]) -> None:
    check_neighbours(rows)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_people_with_many_rows_move_no_more(name: str) -> None:
    check_neighbours(ADVERSARIAL[name])


@settings(max_examples=20)
@given(rows=repeated)
def test_counts_are_of_persons(rows: list[Row]) -> None:
    found = dict(zip(batches()[0].sql, answers(rows)[0].tolist(), strict=True))
    for condition, rule in COUNTS.items():
        held = sum(any(map(rule, theirs)) for theirs in people(rows).values())
        assert found[f"SELECT COUNT(*) FROM D WHERE {condition}"] == held


# Broken twins


def of_rows(workload: Any, epsilon: Fraction) -> WorkloadPlan:
    """Noise for what one row can match: wrong, since a person may have a row for each query."""
    right = PLAN(workload, epsilon)
    predicates = [each.predicate for each in workload.statistics]
    return replace(right, most=workload_sensitivity(predicates))


def of_single_values(workload: Any, epsilon: Fraction) -> WorkloadPlan:
    """Noise of a step of one unit."""
    return replace(PLAN(workload, epsilon), top=1)


PLAN = WorkloadPlan.of
TWINS: dict[str, tuple[Any, str, Any]] = {
    "noise for what one row matches": (workload_laplace.WorkloadPlan, "of", of_rows),
    "noise for one unit": (workload_laplace.WorkloadPlan, "of", of_single_values),
    "COUNT of rows": (histograms_home, "_persons", rows_for_people),
    "SUM of rows": (histograms_home, "_persons", rows_for_totals),
    "open totals": (histograms_home, "_clamped", open_totals),
}


def check_all() -> None:
    for rows in ADVERSARIAL.values():
        check_neighbours(rows)


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_twin_is_caught(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr(*TWINS[name])
    planned.cache_clear()
    try:
        with pytest.raises(AssertionError):
            check_all()
    finally:
        planned.cache_clear()
    record_property("mutant", f"release with a unit: {name}")
    record_property("caught_by", "without a person: answers move more than is charged")
