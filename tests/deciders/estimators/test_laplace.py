"""Counts and sums with Laplace noise: chances, levels of claims, confidence."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders import (
    Histogram,
    Interval,
    answer,
)
from pqd.deciders.distributions import noise_tail
from pqd.deciders.estimators import (
    LaplaceEstimate,
    inside,
    outside,
    within,
)
from tests.support.drawing import fractions
from tests.support.estimators import (
    COUNTS,
    VALUES,
    chances_of,
    intervals,
    level_of,
    released,
)
from tests.support.noises import Silent


@settings(max_examples=300)
@given(VALUES, st.data())
def test_without_noise_a_laplace_estimate_is_the_answer(
    values: list[int], data: st.DataObject
) -> None:
    histogram = Histogram.from_values(values)
    for estimator, table in (
        (COUNTS, histogram),
        (LaplaceEstimate(aggregate="COUNT DISTINCT"), histogram.multiplicities()),
        (LaplaceEstimate(aggregate="SUM", lower=-6, upper=9), histogram),
    ):
        true = answer(estimator.aggregate, table)
        assert true is not None
        interval = data.draw(intervals(int(true)))
        found = estimator.release(table, 1, Silent())
        assert inside(estimator, found, interval) == interval.contains(true)
        assert estimator.estimate(found) == true


@pytest.mark.parametrize("side", [1, -1])
def test_a_laplace_estimate_keeps_its_digits_far_in_the_tails(side: int) -> None:
    """``a^x (1 - a^width)/(1 + a)``, whichever side the interval lies on."""
    for far in (50, 300, 600):
        count = 1000
        ends = sorted((count + side * far, count + side * (far + 6)))
        a = math.exp(-1)
        # The nearest whole number inside is far + 1 away; there are five.
        expected = a ** (far + 1) * (1 - a**5) / (1 + a)
        found = COUNTS.accept(Histogram.of_mass(count), Interval(*ends), 1)
        assert found == pytest.approx(expected, rel=1e-12)
    away = Interval(*sorted((side * 10**6, side * 10**6 + 2)))
    assert COUNTS.accept(Histogram.of_mass(1000), away, 1) == 0


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 3])
@pytest.mark.parametrize(
    "estimator", [COUNTS, LaplaceEstimate(aggregate="SUM", lower=-3, upper=7)], ids=["1", "7"]
)
def test_claims_of_a_laplace_estimate_have_exact_levels(
    estimator: LaplaceEstimate, epsilon: float
) -> None:
    """At the p-values that occur the level is reached, for the nearest false claim."""
    scale, true = estimator.scale(epsilon), 20
    drawn = chances_of(scale, math.ceil(40 * scale))
    found = [released(true + z) for z, _ in drawn]
    chances = [chance for _, chance in drawn]
    below = [estimator.below(r, true, epsilon) for r in found]
    at_least = [estimator.at_least(r, true + 1, epsilon) for r in found]
    for p_values in (below, at_least):
        for alpha in (0.3, 0.1, 0.05, 0.01):
            assert level_of(p_values, chances, alpha) <= alpha * (1 + 1e-9)
        for alpha in p_values[:: max(1, len(p_values) // 20)]:
            reached = level_of(p_values, chances, alpha * (1 + 1e-9))
            assert reached == pytest.approx(alpha, rel=1e-6, abs=1e-12)
    # A claim that is further from the truth is made less often.
    farther = [estimator.below(r, true - 3, epsilon) for r in found]
    assert level_of(farther, chances, 0.1) <= level_of(below, chances, 0.1)
    single = [outside(estimator, r, Interval(true - 1, true + 1), epsilon) for r in found]
    ended = [within(estimator, r, Interval(true, true + 99), epsilon) for r in found]
    for p_values in (single, ended):
        assert level_of(p_values, chances, 0.1) <= 0.1


# Regression: LaplaceEstimate.at_least takes cut - 1 for the nearest answer below (laplace.py).
@settings(max_examples=100)
@given(st.integers(-40, 40), fractions(-9, 9, 5))
def test_a_cut_between_whole_numbers_is_the_one_above(noisy: int, cut: Fraction) -> None:
    """No whole answer lies between, so the two claims are the same."""
    whole = math.ceil(cut)
    found = released(noisy)
    assert COUNTS.below(found, cut, 1) == COUNTS.below(found, whole, 1)
    assert COUNTS.at_least(found, cut, 1) == COUNTS.at_least(found, whole, 1)


@given(
    st.integers(-50, 50),
    st.sampled_from([0.02, 0.3, 1, 9, 10**5]),
    st.sampled_from([0.001, 0.05, 0.3, 0.9]),
)
def test_confidence_of_a_laplace_estimate_is_the_least_reach(
    noisy: int, epsilon: float, alpha: float
) -> None:
    signed = LaplaceEstimate(aggregate="SUM", lower=-3, upper=2)
    low, high = signed.confidence(released(noisy), epsilon, alpha)
    assert low is not None
    assert high is not None
    assert low + high == 2 * noisy
    reach, scale = int(high) - noisy, signed.scale(epsilon)
    assert noise_tail(reach + 1, scale) <= alpha * (1 + 1e-12)
    assert reach == 1 or noise_tail(reach, scale) > alpha * (1 - 1e-12)
    least, most = COUNTS.confidence(released(noisy), epsilon, alpha)
    assert least is not None
    assert most is not None
    assert 0 <= least <= most
