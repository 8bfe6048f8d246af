"""AVG by a noisy sum around a public centre and a noisy count (ours)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pqd.deciders.distributions import Floats, as_probability, mean_of
from pqd.deciders.errors import ParameterError
from pqd.deciders.estimators.base import BonferroniClaims, Cut, EstimatorOutput, Span
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.monotone_search import bracket
from pqd.deciders.noise import Noise

# Part of the budget for the count, whose noise is weighted by the mean's distance from the centre.
_COUNT_SHARE = Fraction(1, 8)
_REACH = 40
_MOST_TERMS = 2**22
_HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SumAndCount(BonferroniClaims):
    """``S = sum (v - centre)`` and ``n``, each with discrete Laplace noise.

    The mean is below e exactly if ``S - (e - centre) n < 0``.  The release gives the left side with
    the error ``Z_S - (e - centre) Z_n``.  The tails of this error are summed exactly over Z_n.  For
    an empty table the left side is 0, so an empty table counts as outside.

    For n rows the left side lies in ``(lower - e) n .. (upper - e) n``.  The evidence for a claim
    is cut to this range, at the noisy n, before its p-value is taken.  The cut makes no p-value
    smaller, so each p-value stays valid.

    Guarantee: epsilon-DP by sequential composition (Dwork et al. 2006).  7/8 of epsilon pay for S,
    which one row changes by at most ``max(upper - centre, centre - lower)``.  1/8 pays for n.
    ``centre`` is public; the nearer it is to the mean, the less the noise of n matters.
    """

    lower: int
    upper: int
    step: int = 1
    centre: int = 0

    id: ClassVar[str] = "sum_and_count"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "centre")
    aggregate: ClassVar[str] = "AVG"
    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Raise ParameterError if the centre is outside the bounds."""
        if not self.lower <= self.centre <= self.upper:
            raise ParameterError(f"the centre {self.centre} is not in {self.lower}..{self.upper}")

    @property
    def bounds(self) -> tuple[int, int, int]:
        """Lower bound, upper bound and step of the lattice, in units."""
        return self.lower, self.upper, self.step

    def _scales(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        return _scales_of(max(self.upper - self.centre, self.centre - self.lower, 1), epsilon)

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Larger of the scales of S and of n."""
        return max(self._scales(epsilon))

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """Noisy sum and noisy count."""
        sums, counts = self._scales(epsilon)
        total = histogram.total - self.centre * histogram.mass
        return EstimatorOutput((noise.laplace(total, sums), noise.laplace(histogram.mass, counts)))

    def span(self, interval: Interval) -> Span:
        """Ends of the interval itself, because a mean may be any number."""
        return interval.lower, interval.upper

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Chance that the noisy sum lies between the interval's ends times the noisy count."""
        sums, counts = self._scales(epsilon)
        total = histogram.total - self.centre * histogram.mass
        noises, chances = _around(counts)
        masses = histogram.mass + noises
        low, high = (end - self.centre for end in (interval.lower, interval.upper))
        top = max(abs(low.numerator), abs(high.numerator)) * int(np.abs(masses).max() + 1)
        whole = masses.astype(np.int64 if top < 2**62 else object)
        first = (low.numerator * whole // low.denominator - total + 1).astype(np.float64)
        last = (-(-high.numerator * whole // high.denominator) - total).astype(np.float64)
        inside = _tails(first, sums) - _tails(last, sums)
        return as_probability(mean_of(np.where(masses > 0, np.maximum(inside, 0), 0), chances))

    def contains(self, released: EstimatorOutput, span: Span) -> bool:
        """Whether the noisy numbers place the mean strictly between the cuts."""
        return self._excess(released, span[0]) > 0 > self._excess(released, span[1])

    def _excess(self, released: EstimatorOutput, cut: Cut) -> Fraction:
        total, count = released.numbers
        return total - (cut - self.centre) * Fraction(count)

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that lowers an excess of 0 to the observed excess, cut to its range."""
        least = Fraction(self.lower - cut) * max(released.numbers[1], 0)
        return self._tail(-max(self._excess(released, cut), least), cut, epsilon)

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that raises an excess of 0 to the observed excess, cut to its range."""
        most = Fraction(self.upper - cut) * max(released.numbers[1], 0)
        return self._tail(min(self._excess(released, cut), most), cut, epsilon)

    def _tail(self, excess: Fraction, cut: Cut, epsilon: Number) -> float:
        """``Pr[Z_S - (cut - centre) Z_n >= excess]``; the noise is symmetric."""
        sums, counts = self._scales(epsilon)
        noises, chances = _around(counts)
        needed = as_float(excess) + as_float(Fraction(cut - self.centre)) * noises
        # Subtract a little, so that rounding can only raise a p-value.
        needed -= 1e-9 * (1 + np.abs(needed))
        return as_probability(mean_of(_tails(np.ceil(needed), sums), chances) + 1e-15)

    def estimate(self, released: EstimatorOutput) -> Fraction | None:
        """Ratio of the two numbers, cut to the bounds; None for a count below 1."""
        total, count = released.numbers
        if count < 1:
            return None
        ratio = self.centre + Fraction(total, count)
        return min(max(ratio, Fraction(self.lower)), Fraction(self.upper))

    def confidence(
        self, released: EstimatorOutput, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """Means that neither claim rules out at alpha (Fieller), within the bounds."""
        level = float(probability(alpha, "alpha"))
        middle, low, high = self.estimate(released), Fraction(self.lower), Fraction(self.upper)
        if middle is None:
            return low, high
        return (
            _edge(lambda cut: self.at_least(released, cut, epsilon) <= level, low, middle),
            _edge(lambda cut: self.below(released, cut, epsilon) <= level, high, middle),
        )


def _edge(ruled_out: Callable[[Fraction], bool], end: Fraction, middle: Fraction) -> Fraction:
    """Last value that is ruled out on the way from ``end``; ``end`` if it is not ruled out."""
    if end == middle or not ruled_out(end):
        return end
    if ruled_out(middle):
        return middle
    return bracket(
        lambda cut: not ruled_out(cut), end, middle, _rounded_middle, halvings=_HALVINGS
    )[0]


def _rounded_middle(low: Fraction, high: Fraction) -> Fraction:
    """Middle of two numbers, rounded to a double so that the fractions stay short."""
    return Fraction(as_float((low + high) / 2))


# The cache helps because one release is compared with many cuts.
@lru_cache(maxsize=128, typed=True)
def _scales_of(reach: int, epsilon: Number) -> tuple[Fraction, Fraction]:
    """Scales of the sum and of the count."""
    budget = budget_of(epsilon)
    return reach / (budget * (1 - _COUNT_SHARE)), 1 / (budget * _COUNT_SHARE)


@lru_cache(maxsize=4)
def _around(scale: Fraction) -> tuple[Floats, Floats]:
    """Values of noise of ``scale``, up to 1e-17 of probability, with their chances; read-only."""
    reach = math.ceil(as_float(scale) * _REACH) + 1
    if reach > _MOST_TERMS:
        raise ParameterError("the noise of a count reaches too far; use a larger epsilon")
    noises = np.arange(-reach, reach + 1, dtype=np.float64)
    rate = as_float(1 / scale)
    chances = np.exp(-np.abs(noises) * rate) * math.tanh(rate / 2)
    for numbers in (noises, chances):
        numbers.setflags(write=False)
    return noises, chances


def _tails(steps: Floats, scale: Fraction) -> Floats:
    """``Pr[Z >= steps]`` elementwise for whole numbers."""
    rate = as_float(1 / scale)
    far = np.exp(-np.maximum(steps, 1 - steps) * rate) / (1 + math.exp(-rate))
    tails: Floats = np.where(steps >= 1, far, 1 - far)
    return tails
