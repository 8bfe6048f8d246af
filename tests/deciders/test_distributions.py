"""Tails of one draw of noise are the sums of its chances."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pqd.deciders import Interval
from pqd.deciders.distributions import (
    budget_tail,
    laplace_cdf,
    mean_of,
    noise_tail,
    probability_inside,
)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(6)])
def test_a_tail_is_the_sum_of_the_chances(scale: Fraction) -> None:
    with mpmath.workdps(60):
        a = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        for steps in (-9, -2, -1, 0, 1, 2, 3, 40, Fraction(1, 2), Fraction(-7, 3), Fraction(9, 4)):
            chances = [(1 - a) / (1 + a) * a ** abs(z) for z in range(-600, 900) if z >= steps]
            expected = float(mpmath.fsum(chances))
            assert noise_tail(steps, scale) == pytest.approx(expected, rel=1e-13)
            assert budget_tail(math.ceil(steps), 1 / scale) == noise_tail(steps, scale)


def test_tails_of_extreme_scales() -> None:
    assert noise_tail(1, Fraction(1, 10**12)) == 0
    assert noise_tail(0, Fraction(1, 10**12)) == 1
    assert noise_tail(0, Fraction(10**12)) == pytest.approx(0.5, rel=1e-11)
    assert noise_tail(10**40, Fraction(1)) == 0
    assert noise_tail(-(10**40), Fraction(1)) == 1


def test_a_mean_is_rounded_as_pairs_are() -> None:
    """The error grows with the logarithm of the number of terms."""
    numbers, chances = np.full(2**16, 0.1), np.full(2**16, 2.0**-16)
    assert mean_of(numbers, chances) == pytest.approx(0.1, rel=2e-15, abs=0)


@pytest.mark.parametrize("statistic", [-7, -1, 0, 1, 4, 5, 6, 12])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3)])
def test_the_chance_inside_is_a_difference_of_tails(statistic: int, scale: Fraction) -> None:
    """Below the interval, at its ends, inside and above it."""
    ends = (float((end - statistic) / scale) for end in (Fraction(0), Fraction(5)))
    low, high = (float(laplace_cdf(end)) for end in ends)
    found = probability_inside(statistic, Interval(0, 5), scale)
    assert found == pytest.approx(high - low, rel=1e-9)


def test_the_chance_inside_keeps_its_accuracy_far_outside() -> None:
    expected = (math.exp(-100) - math.exp(-105)) / 2
    for statistic in (-100, 105):
        found = probability_inside(statistic, Interval(0, 5), Fraction(1))
        assert found == pytest.approx(expected, rel=1e-12)
