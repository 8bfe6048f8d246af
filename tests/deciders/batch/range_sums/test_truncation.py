"""Thresholds: without noise they are as the paper defines them; their laws; their sensitivity."""

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.range_workloads import equal_buckets
from pqd.deciders import Histogram, ParameterError, SimulatedNoise
from pqd.deciders.batch.range_sums.truncation import (
    NoTruncation,
    RecursiveTruncation,
    SparseVectorTruncation,
    Truncation,
)
from pqd.deciders.batch.range_sums.workload import Buckets
from pqd.deciders.exact import Number
from pqd.deciders.histogram import Integers
from tests.support.drawing import fractions
from tests.support.noises import Silent

EACH = Buckets(tuple(range(1, 41)))
ROWS = st.lists(st.integers(1, 40), max_size=15)
BUDGET = Fraction(1, 2)


def counts_of(rows: Iterable[int], buckets: Buckets = EACH) -> Integers:
    return buckets.counts(Histogram.from_values(list(rows)))


def svt_from(start: Number, **others: Number) -> SparseVectorTruncation:
    """Wu's ratio and part kept, from any first rung."""
    return SparseVectorTruncation(start=start, **{"growth": "1.2", "kept": "0.998"} | others)


def test_rungs_of_the_experiments() -> None:
    rungs = svt_from(50_000).rungs(124_416)
    assert rungs == [50_000, 60_000, 72_000, 86_400, 103_680]
    assert svt_from(1).rungs(5) == [1, 2, 3, 4]
    assert svt_from("0.4", growth=2).rungs(5) == [1, 3]


@settings(max_examples=50)
@given(ROWS, fractions("1/9", "8/9", 9), st.integers(2, 40))
def test_sparse_vector_without_noise_is_the_first_rung_with_enough_rows(
    rows: list[int], kept: Fraction, top: int
) -> None:
    svt = SparseVectorTruncation(start=2, growth=Fraction(3, 2), kept=kept)
    rungs = svt.rungs(top)
    enough = (j for j in rungs if sum(v <= j for v in rows) >= kept * len(rows))
    noise = Silent()
    assert svt.threshold(counts_of(rows), EACH, top, BUDGET, noise) == next(enough, top)
    assert max(noise.scales) <= svt.largest_scale(BUDGET)


def recursive_index(rows: list[int], start: int, beta: float) -> int:
    """``min{i >= 0: w_(n-i) <= theta e^(i beta)}``, as defined; no rows below the first."""
    ascending = [0, *sorted(rows)]
    number = len(rows)
    return next(i for i in range(number + 1) if ascending[number - i] <= start * math.exp(i * beta))


@settings(max_examples=40)
@given(ROWS, st.integers(1, 6), fractions("1/7", 2, 7))
def test_recursive_index_is_as_defined(rows: list[int], start: int, rate: Fraction) -> None:
    truncation = RecursiveTruncation(start=start, rate=rate)
    found = truncation.index(counts_of(rows), EACH, BUDGET)
    assert found == recursive_index(rows, start, float(rate * BUDGET))
    noise = Silent()
    threshold = truncation.threshold(counts_of(rows), EACH, 40, BUDGET, noise)
    exact = start * math.exp(0.5 + float(rate * BUDGET) * found)
    assert threshold == min(40, math.floor(exact))
    assert noise.scales == [truncation.largest_scale(BUDGET)]


@settings(max_examples=40)
@given(ROWS, st.integers(1, 40), st.integers(1, 6))
def test_one_row_moves_the_recursive_index_by_one_at_most(
    rows: list[int], row: int, start: int
) -> None:
    truncation = RecursiveTruncation(start=start, rate=Fraction(1, 5))
    here, there = (
        truncation.index(counts_of(table), EACH, BUDGET) for table in (rows, [*rows, row])
    )
    assert here <= there <= here + 1


def test_an_empty_table_has_thresholds() -> None:
    nothing = counts_of([])
    assert RecursiveTruncation(start=2).index(nothing, EACH, BUDGET) == 0
    # Every rung keeps all of no rows.
    assert svt_from(2).threshold(nothing, EACH, 40, BUDGET, Silent()) == 2


@settings(max_examples=50)
@given(ROWS, st.integers(1, 40))
def test_clamping_is_the_recursive_mechanism(rows: list[int], threshold: int) -> None:
    """Theorem 1: ``min_i H_i + (n - i) Delta`` is the sum of clamped values."""
    ascending = sorted(rows)
    bounds = [sum(ascending[:i]) + (len(rows) - i) * threshold for i in range(len(rows) + 1)]
    assert min(bounds) == sum(min(v, threshold) for v in rows)


def exact_law(svt: SparseVectorTruncation, counts: Integers, budget: Fraction) -> list[float]:
    """The discrete law: a sum over the threshold's noise, 60 scales to either side."""
    a, b = Fraction(svt.kept).as_integer_ratio()
    once, each = float(2 * max(a, b - a) / budget), float(2 * b / budget)
    needed = np.arange(-int(60 * once), int(60 * once) + 1)
    chance = np.exp(-np.abs(needed) / once)
    chance /= chance.sum()
    reached, found = np.ones(needed.size), []
    for rung in svt.rungs(EACH.top):
        surplus = b * int(counts[:rung].sum()) - a * int(counts.sum())
        short = surplus - needed
        tail = math.exp(-1 / each)
        passed = np.where(
            short >= 0,
            1 - tail ** (np.maximum(short, 0) + 1) / (1 + tail),
            tail ** np.maximum(-short, 0) / (1 + tail),
        )
        found.append(float((chance * reached * passed).sum()))
        reached *= 1 - passed
    return [*found, float((chance * reached).sum())]


@pytest.mark.parametrize("kept", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 5)])
def test_law_of_sparse_vector_is_the_exact_one(kept: Fraction) -> None:
    svt = SparseVectorTruncation(start=2, growth=Fraction(3, 2), kept=kept)
    counts, budget = counts_of([3] * 30 + [9] * 20 + [35] * 6), Fraction(1, 20)
    law = svt.law(counts, EACH, budget)
    assert [threshold for threshold, _ in law] == [*svt.rungs(40), 40]
    # The law takes the noise as continuous.
    assert [chance for _, chance in law] == pytest.approx(exact_law(svt, counts, budget), abs=1e-5)
    assert sum(chance for _, chance in law) == pytest.approx(1)


@pytest.mark.parametrize("truncation", [NoTruncation(), svt_from(2), RecursiveTruncation(start=2)])
def test_laws_are_those_of_draws(truncation: Truncation) -> None:
    counts, runs = counts_of([3] * 60 + [9] * 30 + [35] * 6), 2_000
    budget, noise = Fraction(1, 4), SimulatedNoise(5)
    drawn = np.array([truncation.threshold(counts, EACH, 40, budget, noise) for _ in range(runs)])
    law = truncation.law(counts, EACH, budget)
    for bound in range(1, 41):
        expected = sum(chance for threshold, chance in law if threshold <= bound)
        assert abs(float((drawn <= bound).mean()) - expected) < 4.5 * math.sqrt(0.25 / runs)


WIDE = equal_buckets(10**4, 1000)


@pytest.mark.parametrize("budget", [Fraction(1, 500), Fraction(1, 20), Fraction(2)])
@pytest.mark.parametrize("start", [10**4, 10**6, 10**9], ids=["low", "middle", "beyond"])
def test_law_of_a_recursive_threshold_is_the_exact_one(budget: Fraction, start: int) -> None:
    """Index by index; a law of 128 parts of equal mass lost a sixth of the second moment."""
    rows = np.random.default_rng(1).gamma(2.0, 20_000, 5_000).astype(int)
    counts, truncation = counts_of(rows.tolist(), WIDE), RecursiveTruncation(start=start)
    index, rate = truncation.index(counts, WIDE, budget), float(budget)
    noises = np.arange(-math.ceil(60 / rate), math.ceil(60 / rate) + 1)
    exact = math.tanh(rate / 2) * np.exp(-rate * np.abs(noises))
    reached = np.array([truncation.at(index + z, WIDE.top, budget) for z in noises.tolist()])
    thresholds, chances = map(np.array, zip(*truncation.law(counts, WIDE, budget), strict=True))
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert len(chances) < 150
    top = chances[thresholds == WIDE.top].sum()
    assert top == pytest.approx(exact[reached == WIDE.top].sum(), rel=1e-9)
    for power in (1, 2):
        moment = float(chances @ thresholds.astype(float) ** power)
        assert moment == pytest.approx(float(exact @ reached.astype(float) ** power), rel=2e-3)
    for bound in (2 * 10**4, 10**5, 10**6, 5 * 10**6):
        # A cell, a tenth wide, may lie on either side of the bound.
        near = [float(exact[reached <= bound * factor].sum()) for factor in (0.9, 1.11)]
        assert near[0] - 1e-9 <= chances[thresholds <= bound].sum() <= near[1] + 1e-9


def test_wrong_parameters_are_refused() -> None:
    for wrong in ({"kept": 1}, {"share": 0}, {"start": 0}, {"growth": 1}):
        with pytest.raises(ParameterError):
            svt_from(**{"start": 2} | wrong)
    for wrong in ({"start": 0}, {"rate": 0}, {"share": 1}):
        with pytest.raises(ParameterError):
            RecursiveTruncation(**{"start": 2} | wrong)
