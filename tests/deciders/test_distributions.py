"""Tails of one draw of noise are the sums of its chances."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pqd.deciders.distributions import budget_tail, mean_of, noise_tail


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
