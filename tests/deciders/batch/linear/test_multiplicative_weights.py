"""Multiplicative weights against a literal transcription of MWEM."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.base import PrivacyBudget
from pqd.deciders.batch.linear.conditions import Intervals, Ranges
from pqd.deciders.batch.linear.multiplicative_weights import GroupedWeights, MultiplicativeWeights
from pqd.deciders.batch.linear.queries import (
    CappedQueries,
    NumericalQueries,
    ThresholdQueries,
    doubling,
)
from pqd.deciders.batch.linear.universe import DigitUniverse, LevelUniverse
from tests.support.linear_mechanisms import LINE, TABLE, Silent, dense_unit_queries


def literal_mwem(
    linear_queries: Any, counts: Any, size: int, rounds: int, replays: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """MWEM without noise on a dense matrix, from the algorithm of Hardt et al."""
    matrix = dense_unit_queries(linear_queries)
    estimate = np.full(counts.size, size / counts.size)
    past: list[tuple[int, float]] = []
    for _ in range(rounds):
        errors = np.abs(matrix @ counts - matrix @ estimate)
        past.append((int(errors.argmax()), float(matrix[errors.argmax()] @ counts)))
        for query, answer in [past[-1]] + past * replays:
            gap = answer - matrix[query] @ estimate
            estimate = estimate * np.exp(matrix[query] * gap / (2 * size))
            estimate *= size / estimate.sum()
    return estimate


@pytest.mark.parametrize("replays", [0, 3])
def test_multiplicative_weights_are_those_of_mwem(replays: int) -> None:
    queries = NumericalQueries(LINE, DigitUniverse(6, 20))
    linear_queries = ThresholdQueries(queries, doubling(1, queries.peak))
    counts = queries.counts(TABLE)
    size = int(counts.sum())
    weights = MultiplicativeWeights(rounds=6, replays=replays)
    tails, budget = linear_queries.tails(counts), PrivacyBudget(Fraction(10**9))
    found = weights.fit(linear_queries, tails, size, budget, Silent()).cells
    assert found == pytest.approx(literal_mwem(linear_queries, counts, size, 6, replays))
    assert found.sum() == pytest.approx(size)


@pytest.mark.parametrize("answer", [0.0, 200.0])
def test_many_pulls_in_one_direction_keep_finite_weights(answer: float) -> None:
    """All cells have the worth 1, so a wrong total pulls every weight down, or every weight up."""
    queries = NumericalQueries(Ranges((Intervals.up_to(6, 6),)), DigitUniverse(6, 20))
    linear_queries = ThresholdQueries(queries, doubling(1, queries.peak))
    all_cells = 5 * 2 * (doubling(1, queries.peak).size - 1)
    weights = GroupedWeights(linear_queries, 100)
    weights.divide(linear_queries.query(all_cells))
    weights.pull([answer], 5000)
    assert weights.cells == pytest.approx(np.full(30, 100 / 30))


def test_with_rounds_and_budget_enough_every_answer_comes_out() -> None:
    queries = NumericalQueries(LINE, LevelUniverse.up_to(6, 12))
    counts = queries.counts(TABLE)
    for linear_queries in (
        ThresholdQueries(queries, doubling(1, 12)),
        CappedQueries(queries, queries.limits),
    ):
        errors, tails = [], linear_queries.tails(counts)
        for rounds in (5, 150):
            weights = MultiplicativeWeights(rounds=rounds).fit(
                linear_queries, tails, 300, PrivacyBudget(Fraction(10**6)), SimulatedNoise(1)
            )
            errors.append(np.abs(weights.answers - linear_queries.answers(tails)).max())
        assert errors[1] < min(3, errors[0] / 3)
