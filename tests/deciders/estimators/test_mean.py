"""A mean by a noisy sum and a noisy count: chances, claims, confidence."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders import (
    Histogram,
    Interval,
    ParameterError,
    answer,
)
from pqd.deciders.estimators import (
    SumAndCount,
    inside,
)
from tests.support.estimators import (
    VALUES,
    ends_of,
    holds,
    intervals,
    released,
    says,
    summed,
)
from tests.support.noises import Silent


def test_a_count_of_a_mean_that_reaches_too_far_is_refused() -> None:
    mean = SumAndCount(lower=0, upper=9)
    with pytest.raises(ParameterError, match="larger epsilon"):
        mean.below(released(1, 2), 3, Fraction(1, 10**5))


@settings(max_examples=400)
@given(VALUES, intervals(), st.integers(-6, 9))
def test_without_noise_a_mean_is_the_answer(
    values: list[int], interval: Interval, centre: int
) -> None:
    histogram, mean = Histogram.from_values(values), SumAndCount(lower=-6, upper=9, centre=centre)
    assert says(mean, histogram, interval) == holds("AVG", histogram, interval)
    found = mean.release(histogram, 1, Silent())
    assert mean.estimate(found) == answer("AVG", histogram)


@settings(max_examples=200)
@given(VALUES, intervals(), st.integers(-6, 9))
def test_at_a_huge_budget_accept_of_a_mean_is_the_truth(
    values: list[int], interval: Interval, centre: int
) -> None:
    histogram, mean = Histogram.from_values(values), SumAndCount(lower=-6, upper=9, centre=centre)
    assert mean.accept(histogram, interval, 10**4) == pytest.approx(
        float(holds("AVG", histogram, interval)), abs=1e-12
    )


# Regression: SumAndCount.accept multiplies the ends by counts as doubles (mean.py).
def test_a_mean_on_an_end_is_outside_though_the_end_is_no_double() -> None:
    """49 rows with the mean 1/49: 49 times the double next to 1/49 is not 1."""
    mean = SumAndCount(lower=0, upper=1)
    histogram = Histogram.from_values([1] + [0] * 48)
    interval = Interval(Fraction(1, 49), 1)
    assert not says(mean, histogram, interval)
    assert mean.accept(histogram, interval, 10**4) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("values", "mean", "interval"),
    [
        ([1, 2, 6], SumAndCount(lower=0, upper=6, centre=3), Interval(2, 4)),
        ([1, 2, 6], SumAndCount(lower=0, upper=6, centre=3), Interval(3, "10/3")),
        ([1, 2, 6], SumAndCount(lower=0, upper=6), Interval("1/3", 3)),
        ([-4, -1], SumAndCount(lower=-5, upper=2, centre=-2), Interval("-5/2", "-3/7")),
        ([], SumAndCount(lower=-5, upper=2, centre=-2), Interval(-3, 1)),
        ([4], SumAndCount(lower=0, upper=4), Interval("7/2", 5)),
    ],
)
def test_accept_of_a_mean_is_the_sum_over_both_noises(
    values: list[int], mean: SumAndCount, interval: Interval
) -> None:
    histogram, silent = Histogram.from_values(values), Silent()
    statistics = mean.release(histogram, 16, silent).numbers
    reaches = [math.ceil(25 * scale) for scale in silent.scales]
    expected = summed(mean, statistics, silent.scales, reaches, interval)
    assert mean.accept(histogram, interval, 16) == pytest.approx(expected, abs=1e-9)


def test_a_mean_of_a_large_table_keeps_its_p_values() -> None:
    """The noise of the sum against the noise of the count, where all sums are large."""
    mean, epsilon = SumAndCount(lower=0, upper=10, centre=5), 2
    sums, counts = Fraction(5) / (epsilon * Fraction(7, 8)), 1 / (epsilon * Fraction(1, 8))
    noisy, count, cut = 10**9 + 40, 10**9, Fraction(6)
    needed = noisy - count
    with mpmath.workdps(40):
        a, c = (mpmath.exp(-mpmath.mpf(s.denominator) / s.numerator) for s in (sums, counts))
        chances = []
        for z in range(-300, 301):
            first = needed + z
            far = a ** max(first, 1 - first) / (1 + a)
            chances.append((1 - c) / (1 + c) * c ** abs(z) * (far if first >= 1 else 1 - far))
        expected = float(mpmath.fsum(chances))
    found = mean.at_least(released(noisy, count), cut, epsilon)
    assert found == pytest.approx(expected, rel=1e-9)
    assert found >= expected * (1 - 1e-12)


def test_a_mean_of_less_than_one_row_is_unknown() -> None:
    mean = SumAndCount(lower=-5, upper=20, centre=3)
    for count in (0, -1, -40):
        found = released(7, count)
        assert mean.estimate(found) is None
        assert ends_of(mean, found, 1, "0.1") == (-5, 20)
        assert not inside(mean, found, Interval(-100, 100))
    assert mean.estimate(released(7, 1)) == 10
    assert mean.estimate(released(-7, 2)) == Fraction(-1, 2)
    assert mean.estimate(released(10**6, 3)) == 20
    assert mean.estimate(released(-(10**6), 3)) == -5


@given(st.integers(-900, 900), st.integers(1, 300), st.sampled_from([0.1, 1, 20]))
@settings(max_examples=30)
def test_confidence_of_a_mean_is_where_the_claims_end(
    total: int, count: int, epsilon: float
) -> None:
    mean, level = SumAndCount(lower=-5, upper=20, centre=3), 0.05
    found = released(total, count)
    low, high = mean.confidence(found, epsilon, level)
    middle = mean.estimate(found)
    assert low is not None
    assert high is not None
    assert middle is not None
    assert -5 <= low <= middle <= high <= 20
    hair = Fraction(1, 10**6)
    if low > -5:
        assert mean.at_least(found, low, epsilon) <= level
        assert low + hair > middle or mean.at_least(found, low + hair, epsilon) > level
    if high < 20:
        assert mean.below(found, high, epsilon) <= level
        assert high - hair < middle or mean.below(found, high - hair, epsilon) > level


@pytest.mark.parametrize("centre", [-1, 10])
def test_a_centre_outside_the_bounds_is_refused(centre: int) -> None:
    with pytest.raises(ParameterError, match="centre"):
        SumAndCount(lower=0, upper=9, centre=centre)


@pytest.mark.parametrize("scale", [10**15, 10**18])
def test_products_beyond_64_bits_are_exact(scale: int) -> None:
    """Values, bounds and interval of a larger unit leave the chances as they are."""

    def chance(unit: int, low: int, high: int) -> float:
        values = [4 * unit] * 300 + [7 * unit] * 100
        mean = SumAndCount(lower=0, upper=9 * unit)
        interval = Interval(low * unit // 100, high * unit // 100)
        return mean.accept(Histogram.from_values(values), interval, "0.5")

    for low, high in ((400, 500), (475, 500), (470, 476)):
        assert chance(scale, low, high) == pytest.approx(chance(10**6, low, high), abs=1e-6)
