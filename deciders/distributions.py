"""Closed forms of the Laplace, discrete Laplace and logistic laws, accurate in both tails."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqd.deciders.exact import as_float, ratio
from pqd.deciders.interval import Interval

Floats = NDArray[np.float64]


def laplace_cdf(x: ArrayLike) -> Floats:
    """``Pr[Lap(0, 1) <= x]`` elementwise."""
    points = np.asarray(x, dtype=np.float64)
    tail = np.exp(-np.abs(points)) / 2
    return np.where(points < 0, tail, 1 - tail)


def noise_tail(steps: Fraction | int, scale: Fraction) -> float:
    """``Pr[Z >= steps]`` of discrete Laplace noise, ``Pr[Z = z]`` proportional to a^|z|.

    For a whole number of steps >= 1 it is ``a^steps / (1 + a)`` with ``a = exp(-1/scale)``.
    """
    size, parts = scale.as_integer_ratio()
    return rate_tail(math.ceil(steps), parts, size)


def budget_tail(steps: int, epsilon: Fraction) -> float:
    """``noise_tail`` of a whole number of steps at the scale ``1/epsilon``."""
    return rate_tail(steps, *epsilon.as_integer_ratio())


def rate_tail(steps: int, numerator: int, denominator: int) -> float:
    """``noise_tail`` of a whole number of steps at the scale ``denominator / numerator``."""
    a = math.exp(-ratio(numerator, denominator))
    far = math.exp(-ratio(max(steps, 1 - steps) * numerator, denominator)) / (1 + a)
    return far if steps >= 1 else 1 - far


def noise_variance(scale: Fraction) -> float:
    """Variance of discrete Laplace noise, ``2a / (1 - a)^2`` with a = exp(-1/scale)."""
    rate = as_float(1 / scale)
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


def probability_inside(statistic: Fraction | int, interval: Interval, scale: Fraction) -> float:
    """``Pr[statistic + Lap(scale) in interval]`` = ``F(r - q) - F(l - q)``.

    Outside the interval the difference is computed as one product, which keeps its relative
    accuracy far in the tail.
    """
    below = _in_scales(statistic, interval.lower, scale)
    above = -_in_scales(statistic, interval.upper, scale)
    if below >= 0 and above >= 0:
        return 1 - (math.exp(-below) + math.exp(-above)) / 2
    near = max(-below, -above)
    return -math.exp(-near) * math.expm1(-(below + above)) / 2


def _in_scales(number: Fraction | int, origin: Fraction, scale: Fraction) -> float:
    """``(number - origin) / scale``, rounded once."""
    top, bottom = number.as_integer_ratio()
    first, parts = origin.as_integer_ratio()
    size, share = scale.as_integer_ratio()
    return ratio((top * parts - first * bottom) * share, bottom * parts * size)


def doubled_tail(x: float) -> float:
    """``Pr[X + 2 Y >= x]`` for independent Laplace(0, 1) draws X and Y.

    Its density is ``(2 exp(-|x|/2) - exp(-|x|)) / 6``, by partial fractions of the characteristic
    function ``1 / ((1 + t^2)(1 + 4 t^2))``.
    """
    far = (4 * math.exp(-abs(x) / 2) - math.exp(-abs(x))) / 6
    return far if x >= 0 else 1 - far


def as_probability(value: float) -> float:
    """``value``, moved into 0 .. 1: rounding may carry a sum just outside."""
    return min(max(float(value), 0.0), 1.0)


def mean_of(numbers: Floats, chances: Floats) -> float:
    """Mean of ``numbers`` weighted by ``chances``, summed in pairs by one thread.

    A vector product would use all threads of the machine: their number would change the order of
    the additions and so the rounding.
    """
    return float(np.sum(numbers * chances))


def sigmoid(x: float) -> float:
    """``1 / (1 + exp(-x))`` without overflow, accurate near 0."""
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    small = math.exp(x)
    return small / (1 + small)
