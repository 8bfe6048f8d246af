"""Laws of noise, accurate in both tails: closed forms, and sums of discrete Laplace noise.

If all weights are 1, a sum has a closed form; otherwise its law is found by a Fourier transform.
The laws serve only p-values and error rates, so floating point costs no privacy.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import as_float, ratio
from pqd.deciders.interval import Interval

Floats = NDArray[np.float64]
# A Laplace variable lies beyond the last edge with probability below 1e-17.  The pieces widen
# outwards, because the density is smaller there and needs less precision.
_EDGES = np.concatenate((np.arange(10.0), np.arange(10.0, 20.0, 2), np.arange(20.0, 41.0, 4)))
# Probability that the law of a weighted sum may lose, and the most places of its circle.
_LOST, _LONGEST = 1e-15, 2**20
# Halvings that leave nothing of an interval of quantiles.
_HALVINGS = 60
# Factor that is larger than the rounding error of a tail, so that a tail is never too small.
_ROUNDED_UP = 1 + 1e-8
# Terms of a sum, each as the weight of one unit of noise and the number of terms of this weight.
Terms = tuple[tuple[int, int], ...]


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
    """``Pr[statistic + Lap(scale) in interval]``, which is ``F(r - q) - F(l - q)``.

    Outside the interval the difference is computed as one product.  The product keeps its relative
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


def pair_tail(x: float, less: float) -> float:
    """``Pr[Y + (1 - less) X >= x]`` for independent Laplace(0, 1) draws X and Y, 0 <= less <= 1.

    With ``u = 1 - less`` the characteristic function is ``1 / ((1 + t^2)(1 + u^2 t^2))``.  So by
    partial fractions the density is ``(exp(-|x|) - u exp(-|x|/u)) / (2 (1 - u^2))``.  The tail is
    written so that nothing cancels for u near 1; for u = 1 it is ``(1 + x/2) exp(-x) / 2``.
    """
    size = abs(x)
    if less >= 1:
        share = 1.0
    elif less:
        lost = 2 * math.log1p(-less)
        share = math.expm1(lost - size * less / (1 - less)) / math.expm1(lost)
    else:
        share = 1 + size / 2
    far = share * math.exp(-size) / 2
    return far if x >= 0 else 1 - far


@lru_cache(maxsize=256)
def pair_quantile(tail: float, less: float) -> float:
    """Point x with ``pair_tail(x, less) = tail``, rounded outwards in the last digits."""
    small = min(tail, 1 - tail)
    # The tail lies between ``exp(-x)/2`` and ``(1 + x/2) exp(-x)/2``, which is below exp(-x/2)/2.
    low, high = -math.log(2 * small), -2 * math.log(2 * small)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if pair_tail(middle, less) > small else (low, middle)
    return high if tail <= 1 / 2 else -low


def mean_of_cdfs(lines: Sequence[tuple[float, float]], start: float = -math.inf) -> float:
    """Mean of ``prod_i F(offset_i + slope_i X)`` over the draws ``X >= start``, in closed form.

    X is Laplace(0, 1), F its cdf, and ``lines`` holds the pairs (offset, slope).  Between the kinks
    every factor is a sum of exponentials, and so is the product.
    """
    kinks = {0.0, *(-offset / slope for offset, slope in lines if slope)}
    edges = [start, *sorted(kink for kink in kinks if kink > start), math.inf]
    total = 0.0
    for first, last in itertools.pairwise(edges):
        inner = first + 1 if last == math.inf else last - 1 if first == -math.inf else None
        middle = (first + last) / 2 if inner is None else inner
        # Terms (factor, rate, exponent at 0) of the density times the factors so far.
        terms = [(0.5, -1.0 if middle > 0 else 1.0, 0.0)]
        for offset, slope in lines:
            if offset + slope * middle < 0:
                factors = [(0.5, slope, offset)]
            else:
                factors = [(1.0, 0.0, 0.0), (-0.5, -slope, -offset)]
            terms = [(a * x, b + y, c + z) for a, b, c in terms for x, y, z in factors]
        total += math.fsum(_between(first, last, *term) for term in terms)
    return as_probability(total)


def _between(first: float, last: float, factor: float, rate: float, exponent: float) -> float:
    """Integral of ``factor exp(rate x + exponent)`` from ``first`` to ``last``."""
    peak = last if rate > 0 else first
    height = factor * math.exp(min(rate * peak + exponent, 0.0))
    return (
        height * (last - first)
        if not rate
        else (height * -math.expm1(-abs(rate) * (last - first)) / abs(rate))
    )


def as_probability(value: float) -> float:
    """``value``, moved into 0 .. 1, because rounding may carry a sum just outside."""
    return min(max(float(value), 0.0), 1.0)


def mean_of(numbers: Floats, chances: Floats) -> float:
    """Mean of ``numbers`` weighted by ``chances``, with pairwise sums in one thread.

    A vector product would use all threads of the machine.  The number of threads would change the
    order of the additions, and so the rounding.
    """
    return float(np.sum(numbers * chances))


def sigmoid(x: float) -> float:
    """``1 / (1 + exp(-x))`` without overflow, accurate near 0."""
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    small = math.exp(x)
    return small / (1 + small)


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(12)
    return nodes, weights


def integral(function: Callable[[Floats], Floats], kinks: Sequence[float] | Floats) -> Floats:
    """Integral of each row of ``function(x)`` over the real line, to about 1e-12.

    ``function`` maps nodes to an array (rows, nodes).  It must decay like ``exp(-|x|)`` and be
    analytic between the ``kinks`` and 0.  Gauss-Legendre quadrature is used between the kinks and
    ``_EDGES``.
    """
    inner = np.asarray(kinks, dtype=np.float64)
    inner = inner[np.abs(inner) < _EDGES[-1]]
    edges = np.unique(np.concatenate((inner, -_EDGES, _EDGES)))
    nodes, weights = _gauss_legendre()
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half) + half * nodes
    values = function(points.ravel())
    result: Floats = values @ (half * weights).ravel()
    return result


class SymmetricNoise(ABC):
    """Public law of whole-numbered noise Z, symmetric with one peak; NoiseSum or CubeError."""

    symmetric: ClassVar[bool] = True

    @property
    def is_silent(self) -> bool:
        """Whether Z is 0 always."""
        return False

    @abstractmethod
    def _tail(self, x: int) -> float:
        """``Pr[Z >= x]`` for ``x > 0``."""

    def at_least(self, x: int) -> float:
        """``Pr[Z >= x]``, by symmetry also ``Pr[Z <= -x]``; increased by 1e-8 of its size."""
        tail = self._tail(x) if x > 0 else 1 - self._tail(1 - x)
        return as_probability(tail * _ROUNDED_UP)

    def inside(self, first: int, beyond: int) -> float:
        """``Pr[first <= Z < beyond]``, computed from the side with small tails."""
        if first >= beyond:
            return 0.0
        if first > 0:
            return as_probability(self.at_least(first) - self.at_least(beyond))
        if beyond <= 0:
            return self.inside(1 - beyond, 1 - first)
        above = self.at_least(beyond)
        below = above if 1 - first == beyond else self.at_least(1 - first)
        return as_probability(1 - above - below)


@dataclass(frozen=True)
class NoiseSum(SymmetricNoise):
    """Sum of ``count`` draws of discrete Laplace noise of ``scale``; its law is public."""

    count: int
    scale: Fraction

    @property
    def is_silent(self) -> bool:
        """Whether nothing is drawn."""
        return not self.count

    def _tail(self, x: int) -> float:
        """``Pr[sum >= x]`` for ``x > 0``.

        The sum is the difference of two numbers of failures before success number ``count``.  A
        failure has the chance ``a = exp(-1/scale)``.  Let y be the second number.  The sum is
        ``>= x`` if fewer than ``count`` successes come in two places together: before failure x,
        and between failures x and ``x + y``.  The chance is a sum of positive terms
        (docs/theory.md, Theorem B2).
        """
        if self.count <= 1:
            return noise_tail(x, self.scale) if self.count else 0.0
        rate, places = 1 / as_float(self.scale), np.arange(1, self.count)
        # The chance of j successes before failure x, computed from the chance of j - 1.
        ratios = np.log((places - 1.0 + x) / places) + math.log(-math.expm1(-rate))
        logs = np.concatenate(([0.0], np.cumsum(ratios))) - x * rate
        return float(np.exp(logs) @ self._fewer[::-1])

    @cached_property
    def _fewer(self) -> Floats:
        """``Pr[successes <= j]`` for ``j < count``, before as many failures as the second count.

        The generating function of these chances is ``((1 - (1 - a) z) / (1 + a - z))^count``.  Its
        logarithmic derivative gives each chance from the two chances before it.  The code keeps
        ratios of chances, because the first chance may underflow.
        """
        rate = 1 / as_float(self.scale)
        a, b = math.exp(-rate), -math.expm1(-rate)
        ratio, logs = 0.0, np.empty(self.count)
        logs[0] = -self.count * math.log1p(a)
        for j in range(self.count - 1):
            before = b * (j - 1) / ratio if ratio else 0.0
            ratio = ((1 + b * (1 + a)) * j + self.count * a * a - before) / ((1 + a) * (j + 1))
            logs[j + 1] = logs[j] + (math.log(ratio) if ratio > 0 else -math.inf)
        chances: Floats = np.minimum(np.cumsum(np.exp(logs)), 1.0)
        return chances


@dataclass(frozen=True, slots=True)
class WeightedNoiseSum:
    """Weighted sum of noise: ``chances[x + reach]`` is ``Pr[sum = x]`` for x in -reach .. reach."""

    reach: int
    chances: Floats
    tails: Floats

    def at_least(self, x: ArrayLike) -> Floats:
        """``Pr[sum >= x]`` for whole numbers x; the result is too small by at most 1e-15."""
        places = np.clip(np.asarray(x, dtype=np.float64) + self.reach, 0, 2 * self.reach + 1)
        return self.tails[places.astype(np.int64)]

    @property
    def support(self) -> NDArray[np.int64]:
        """Values that have a chance, ``-reach .. reach``."""
        return np.arange(-self.reach, self.reach + 1)


@lru_cache(maxsize=64)
def weighted_noise_sum(terms: Terms, scale: Fraction) -> WeightedNoiseSum:
    """Distribution of the sum of ``terms``, each with noise of ``scale``, by Fourier inversion.

    The characteristic function of a sum of independent terms is the product of the functions of
    the terms.  For m terms of weight w it is ``((1 - a)^2 / (1 - 2 a cos(w t) + a^2))^m``, which is
    real.  Its inverse transform on a circle is the distribution.  The circle is so long that less
    than 1e-15 of probability wraps around.

    Raises
    ------
    ParameterError
        The errors of ``circle_of``.
    """
    reach, length = circle_of(terms, scale)
    a, rest = math.exp(-1 / as_float(scale)), -math.expm1(-1 / as_float(scale))
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    factors: Floats = np.ones_like(angles)
    for weight, count in terms:
        # 1 - 2 a cos + a^2, written so that nothing cancels near an angle of 0.
        spread = rest**2 + 4 * a * np.sin(weight * angles / 2) ** 2
        factors *= (rest**2 / spread) ** count
    circle = np.fft.irfft(factors, length)
    chances = np.maximum(np.concatenate((circle[-reach:], circle[: reach + 1])), 0.0)
    tails = np.concatenate((np.cumsum(chances[::-1])[::-1], [0.0])) + _LOST
    return WeightedNoiseSum(reach, chances, np.minimum(tails, 1.0))


def circle_of(terms: Terms, scale: Fraction) -> tuple[int, int]:
    """Reach of the sum except for 1e-15 of probability, and length of a circle that holds it.

    Raises
    ------
    ParameterError
        If the length exceeds 2^20, as for a quantile with many digits or a tiny budget.
    """
    reach = _reach(terms, as_float(scale))
    length = 1 << (2 * reach + 1).bit_length()
    if length > _LONGEST:
        raise ParameterError(
            "the noise of this quantile reaches too far; use a larger epsilon, or a p with fewer "
            "digits"
        )
    return reach, length


def _reach(terms: Terms, scale: float) -> int:
    """Reach of the sum except for 1e-15 of probability, by Chernoff's bound."""
    heaviest = max((weight for weight, _ in terms), default=1)
    tilt = 1 / (2 * heaviest * scale)
    a = math.exp(-1 / scale)
    log_moment = sum(
        count
        * (
            2 * math.log1p(-a)
            - math.log1p(-math.exp(weight * tilt - 1 / scale))
            - math.log1p(-math.exp(-weight * tilt - 1 / scale))
        )
        for weight, count in terms
    )
    return math.ceil((log_moment - math.log(_LOST)) / tilt) + 1
