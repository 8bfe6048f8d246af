"""Sums of noise, and their chances by convolution."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from pqd.deciders.distributions import Floats, NoiseSum

NOISE = [
    NoiseSum(1, Fraction(3)),
    NoiseSum(1, Fraction(1, 5)),
    NoiseSum(2, Fraction(1, 3)),
    NoiseSum(3, Fraction(1, 50)),
    NoiseSum(2, Fraction(22, 7)),
    NoiseSum(5, Fraction(5, 2)),
    NoiseSum(40, Fraction(1)),
    # No draw of these is ever anything but 0.
    NoiseSum(1, Fraction(1, 10**6)),
    NoiseSum(4, Fraction(1, 10**6)),
]


def named(noise: NoiseSum) -> str:
    return f"{noise.count} of {noise.scale}"


@cache
def convolved(count: int, scale: Fraction) -> Floats:
    """``Pr[sum = z]`` for z in ``-reach .. reach``, the middle of the array."""
    reach = math.ceil(45 * scale) + 2
    a = math.exp(-1 / float(scale))
    single = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1, dtype=np.float64))
    found = np.ones(1)
    for _ in range(count):
        found = np.convolve(found, single)
    return found


def chances(noise: NoiseSum) -> dict[int, float]:
    """Every value of the noise but for 1e-19."""
    found = convolved(noise.count, noise.scale)
    reach = found.size // 2
    return {z - reach: float(p) for z, p in enumerate(found) if p > 1e-22}


def tail(noise: NoiseSum, x: int) -> float:
    """``Pr[sum >= x]``, from the characteristic function, for a sum that has no far values.

    ``Pr[sum = k]`` is the mean of ``f(t) cos(t k)`` over the angles ``t`` of a circle so long that
    the sum does not go around it; those at which ``f`` vanishes are left out.
    """
    rate = np.longdouble(noise.scale.denominator) / np.longdouble(noise.scale.numerator)
    a, less = np.exp(-rate), -np.expm1(-rate)
    deviation = float(noise.scale) * math.sqrt(2 * noise.count)
    half = max(64, math.ceil(30 * deviation))
    few = math.expm1(min(60 / noise.count, 50)) * float(less) ** 2
    bend = math.sqrt(few / max(float(4 * a), few))
    last = min(half, math.ceil(2 * math.asin(bend) * half / math.pi) + 1)
    angles = np.arange(1, last + 1, dtype=np.longdouble) * (np.arccos(np.longdouble(-1)) / half)
    sine = np.sin(angles / 2)
    f = np.exp(-noise.count * np.log1p(4 * a * sine**2 / less**2))
    summed = np.sin(angles * (half - 0.5)) - np.sin(angles * (x - np.longdouble(0.5)))
    weights = np.where(np.arange(1, last + 1) == half, 1, 2)
    return float((half - x + np.sum(weights * f * summed / (2 * sine))) / (2 * half))
