"""Noisy counts between cuts: chances, levels of claims, estimates."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders import (
    Histogram,
    Interval,
    ParameterError,
)
from pqd.deciders.estimators import (
    EstimatorOutput,
    RankCounts,
    inside,
)
from pqd.deciders.estimators.base import whole_span
from pqd.deciders.histogram import EMPTY
from tests.support.estimators import (
    HALF,
    QUANTILES,
    VALUES,
    chances_of,
    ends_of,
    holds,
    intervals,
    level_of,
    released,
    says,
    summed,
)
from tests.support.noises import Silent


@settings(max_examples=400)
@given(VALUES, intervals(), QUANTILES, st.sets(st.integers(-9, 12), max_size=4))
def test_without_noise_ranks_tell_the_answer(
    values: list[int], interval: Interval, p: Fraction, others: set[int]
) -> None:
    histogram = Histogram.from_values(values)
    cuts = tuple(sorted({*whole_span(interval), *others}))
    ranks = RankCounts(cuts=cuts, p=p, aggregate="QUANTILE")
    assert says(ranks, histogram, interval) == holds("QUANTILE", histogram, interval, p)


@pytest.mark.parametrize("p", [HALF, Fraction(9, 10), Fraction(1, 4)])
@pytest.mark.parametrize(
    ("values", "cuts", "interval", "epsilon", "reach"),
    [
        ([1, 4, 4, 7], (3, 6), Interval(2, 6), 2, 12),
        ([], (3, 6), Interval(2, 6), 2, 12),
        ([5] * 6, (3, 6), Interval(2, 6), 3, 9),
        ([1, 4, 4, 7], (3, 6, 8), Interval(2, 6), 4, 6),
        ([1, 4, 4, 7], (1, 3, 6), Interval(2, 6), 4, 6),
        ([1, 4, 4, 7], (2, 4, 8), Interval(1, 8), 4, 6),
        ([1, 4, 4, 7], (3,), Interval(2, 3), 2, 12),
    ],
)
def test_accept_of_ranks_is_the_sum_over_the_bins(
    values: list[int],
    cuts: tuple[int, ...],
    interval: Interval,
    epsilon: int,
    reach: int,
    p: Fraction,
) -> None:
    histogram, ranks = Histogram.from_values(values), RankCounts(cuts=cuts, p=p)
    silent = Silent()
    statistics = ranks.release(histogram, epsilon, silent).numbers
    expected = summed(ranks, statistics, silent.scales, [reach] * len(statistics), interval)
    assert ranks.accept(histogram, interval, epsilon) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("p", [HALF, Fraction(9, 10), Fraction(1, 4)])
def test_claims_of_ranks_have_exact_levels(p: Fraction) -> None:
    """Over all noises of three bins, for a table where the surplus is 0 or -1."""
    gain, loss = p.denominator - p.numerator, p.numerator
    ranks = RankCounts(cuts=(3, 6), p=p)
    drawn = list(itertools.product(chances_of(HALF, 12), repeat=3))
    chances = [math.prod(chance for _, chance in noises) for noises in drawn]
    low, high = 2 * loss, 2 * gain
    for above, claim in ((high, ranks.at_least), (high + 1, ranks.below)):
        p_values = [
            claim(released(low + x, y, above + z), 3, 2) for (x, _), (y, _), (z, _) in drawn
        ]
        for alpha in (0.3, 0.1, 0.05, 0.01):
            assert level_of(p_values, chances, alpha) <= alpha * (1 + 1e-9)
        reached = [level_of(p_values, chances, alpha * (1 + 1e-9)) for alpha in p_values[:9]]
        if loss == 1 or claim == ranks.at_least:
            assert reached == pytest.approx(p_values[:9], rel=1e-6, abs=1e-9)


# Regression: RankCounts.estimate returns the upper cut itself where its surplus is 0 (ranks.py).
def test_an_estimate_of_ranks_lies_where_the_ranks_put_the_quantile() -> None:
    """Five of ten rows lie below 5, so the median does; so must its estimate."""
    histogram = Histogram.from_values(list(range(10)))
    ranks = RankCounts(lower=0, upper=9, cuts=(3, 5))
    found = ranks.release(histogram, 1, Silent())
    assert ranks.contains(found, (3, 5))
    guess = ranks.estimate(found)
    assert guess is not None
    assert 3 <= guess < 5


# Regression: RankCounts.estimate rounds down past a cut between lattice points (ranks.py).
def test_an_estimate_on_a_coarse_lattice_agrees_with_clear_claims() -> None:
    """The lattice is 0, 5, 10: whatever is not below 1 and below 6 is 5."""
    ranks = RankCounts(lower=0, upper=10, step=5, cuts=(1, 6))
    found = ranks.release(Histogram.from_values([5] * 1000), 1, Silent())
    low, high = ends_of(ranks, found, 1, "0.05")
    guess = ranks.estimate(found)
    assert guess is not None
    assert 0 < low <= 5
    assert high == 5
    assert low <= guess <= high


def test_ranks_of_no_rows() -> None:
    ranks = RankCounts(lower=0, upper=10, cuts=(3, 6))
    found = ranks.release(EMPTY, 1, Silent())
    assert found == released(0, 0, 0)
    assert ends_of(ranks, found, 1, "0.05") == (-math.inf, math.inf)
    guess = ranks.estimate(found)
    assert guess is not None
    assert 0 <= guess <= 10
    assert not ranks.contains(found, (3, 6))


def test_an_estimate_of_ranks_stays_on_the_lattice_whatever_the_noise() -> None:
    rng = np.random.default_rng(3)
    for _ in range(400):
        cuts = tuple(sorted({int(x) for x in rng.integers(-9, 40, rng.integers(1, 6))}))
        ranks = RankCounts(lower=-4, upper=26, step=3, cuts=cuts, p=Fraction(1, 3))
        guess = ranks.estimate(released(*rng.integers(-20, 30, len(cuts) + 1).tolist()))
        assert guess is not None
        assert -4 <= guess <= 26
        assert (guess + 4) % 3 == 0


def test_ranks_without_bounds_have_ends_only_where_claims_hold() -> None:
    ranks = RankCounts(cuts=(3, 6))
    assert ranks.estimate(released(5, 5, 5)) is None
    for numbers, ends in (
        ((0, 0, 0), (-math.inf, math.inf)),
        ((0, 900, 0), (3, 5)),
        ((0, 0, 900), (6, math.inf)),
        ((900, 0, 0), (-math.inf, 2)),
    ):
        assert ends_of(ranks, EstimatorOutput(numbers), 1, "0.05") == ends


def test_a_cut_that_was_not_released_is_refused() -> None:
    ranks, found = RankCounts(cuts=(3, 6)), released(1, 2, 3)
    for cut in (4, 0, 7, Fraction(7, 2)):
        for ask in (ranks.below, ranks.at_least):
            with pytest.raises(ParameterError, match="none of the cuts"):
                ask(found, cut, 1)
    with pytest.raises(ParameterError, match="none of the cuts"):
        inside(ranks, found, Interval(2, 7))
    assert ranks.below(found, Fraction(3), 1) == ranks.below(found, 3, 1)


@pytest.mark.parametrize("cuts", [(), (3, 3), (4, 2), (1, 5, 4)])
def test_cuts_that_do_not_ascend_are_refused(cuts: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="ascend"):
        RankCounts(cuts=cuts)
