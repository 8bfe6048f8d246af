"""Tails of one draw of noise are the sums of its chances."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pqd.deciders import Interval
from pqd.deciders.distributions import (
    Floats,
    budget_tail,
    integral,
    laplace_cdf,
    mean_of,
    mean_of_cdfs,
    noise_tail,
    pair_quantile,
    pair_tail,
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


@pytest.mark.parametrize("less", [0.0, 1e-12, 1e-6, 0.1, 0.5, 0.75, 1 - 1e-9, 1.0])
def test_the_tail_of_two_draws_is_their_convolution(less: float) -> None:
    """Partial fractions with 60 digits; equal scales and a single draw are limits."""
    for x in (-30.0, -2.0, 0.0, 0.4, 3.0, 25.0, 60.0):
        with mpmath.workdps(60):
            u = 1 - mpmath.mpf(less or 1e-30)
            size = abs(mpmath.mpf(x))
            inner = u**2 * mpmath.exp(-size / u) if u else 0
            far = (mpmath.exp(-size) - inner) / (2 * (1 - u**2))
            expected = float(far if x >= 0 else 1 - far)
        assert pair_tail(x, less) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("tail", [1e-300, 1e-9, 0.01, 0.3, 0.5, 0.8, 1 - 1e-9])
@pytest.mark.parametrize("less", [0.0, 0.1, 0.5, 1.0])
def test_the_quantile_of_two_draws_has_their_tail(tail: float, less: float) -> None:
    assert pair_tail(pair_quantile(tail, less), less) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize("start", [-math.inf, -2.5, 0.0, 1.25])
def test_the_mean_of_cdfs_is_an_integral(start: float) -> None:
    rng = np.random.default_rng(6)
    for slope in (-2.0, -1.0, -1e-9, 0.0, 0.3, 1.0, 1.7):
        lines = [(float(rng.normal() * 3), slope), (float(rng.normal()), 0.8)]

        def product(x: Floats, lines: list[tuple[float, float]] = lines) -> Floats:
            cdfs = [laplace_cdf(offset + slope * x) for offset, slope in lines]
            weights: Floats = np.exp(-np.abs(x)) / 2 * (x >= start)
            return np.array([np.prod(cdfs, axis=0) * weights])

        kinks = [-offset / slope for offset, slope in lines if slope]
        kinks += [start] if math.isfinite(start) else []
        assert mean_of_cdfs(lines, start) == pytest.approx(
            integral(product, kinks).item(), abs=1e-12
        )


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
