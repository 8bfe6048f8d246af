"""AVG by a noisy sum and a noisy count: around a public centre (ours), or as the paper divides."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pqd.deciders.distributions import (
    Floats,
    as_probability,
    mean_of,
    mean_of_cdfs,
    pair_quantile,
    pair_tail,
)
from pqd.deciders.errors import ParameterError
from pqd.deciders.estimators.base import BonferroniClaims, Cut, EstimatorOutput, Span
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.monotone_search import bracket
from pqd.deciders.noise import Noise, fineness

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

    @property
    def _share(self) -> Fraction:
        """Part of the budget that pays for n."""
        return _COUNT_SHARE

    def scales(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        """Scales of the noise of S and of n."""
        reach = max(self.upper - self.centre, self.centre - self.lower, 1)
        return _scales_of(reach, self._share, epsilon)

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Larger of the scales of S and of n."""
        return max(self.scales(epsilon))

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """Noisy sum and noisy count."""
        sums, counts = self.scales(epsilon)
        total = histogram.total - self.centre * histogram.mass
        return EstimatorOutput((noise.laplace(total, sums), noise.laplace(histogram.mass, counts)))

    def span(self, interval: Interval) -> Span:
        """Ends of the interval itself, because a mean may be any number."""
        return interval.lower, interval.upper

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Chance that the noisy sum lies between the interval's ends times the noisy count."""
        sums, counts = self.scales(epsilon)
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

    def _pair(self, released: EstimatorOutput) -> tuple[Fraction, Fraction]:
        """Noisy S and noisy n."""
        total, count = released.numbers
        return Fraction(total), Fraction(count)

    def _excess(self, released: EstimatorOutput, cut: Cut) -> Fraction:
        total, count = self._pair(released)
        return total - (cut - self.centre) * count

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that lowers an excess of 0 to the observed excess, cut to its range."""
        least = Fraction(self.lower - cut) * max(self._pair(released)[1], Fraction(0))
        return self._tail(-max(self._excess(released, cut), least), cut, epsilon)

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that raises an excess of 0 to the observed excess, cut to its range."""
        most = Fraction(self.upper - cut) * max(self._pair(released)[1], Fraction(0))
        return self._tail(min(self._excess(released, cut), most), cut, epsilon)

    def _tail(self, excess: Fraction, cut: Cut, epsilon: Number) -> float:
        """``Pr[Z_S - (cut - centre) Z_n >= excess]``; the noise is symmetric."""
        sums, counts = self.scales(epsilon)
        noises, chances = _around(counts)
        needed = as_float(excess) + as_float(Fraction(cut - self.centre)) * noises
        # Subtract a little, so that rounding can only raise a p-value.
        needed -= 1e-9 * (1 + np.abs(needed))
        return as_probability(mean_of(_tails(np.ceil(needed), sums), chances) + 1e-15)

    def estimate(self, released: EstimatorOutput) -> Fraction | None:
        """Ratio of the two numbers, cut to the bounds; None for a count below 1."""
        total, count = self._pair(released)
        if count < 1:
            return None
        ratio = self.centre + total / count
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SumOverCount(SumAndCount):
    """The sum itself and n, each with noise on a fine grid, as the paper divides them.

    Patwa 2023, end of section 6.2: an average is a SUM divided by a COUNT, each at some of the
    budget.  ``share`` of epsilon pays for n, the rest for the sum.  ``grids`` holds the grid points
    of one unit of the sum and of one row.

    Guarantee: epsilon-DP by sequential composition (Dwork et al. 2006).  One row changes the sum by
    at most ``max(|lower|, |upper|)`` and n by 1.

    The claims are those of ``SumAndCount`` with the centre 0.  Their error ``Z_S - e Z_n`` is a sum
    of two Laplace draws, whose tail has a closed form (``pair_tail``).
    """

    share: Fraction = Fraction(1, 2)
    grids: tuple[int, int] = (1, 1)

    id: ClassVar[str] = "sum_over_count"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "centre", "share", "grids")

    def __post_init__(self) -> None:
        """Raise ParameterError unless the share is between 0 and 1, and the centre is 0."""
        probability(self.share, "the share of the count")
        if self.centre:
            raise ParameterError(f"the centre is {self.centre}; the paper's is 0")

    @classmethod
    def finely(
        cls, bounds: tuple[int, int, int], share: Fraction, epsilon: Number
    ) -> "SumOverCount":
        """Estimator for values within ``bounds``, with noise on the fine grids of this budget."""
        lower, upper, step = bounds
        plain = cls(lower=lower, upper=upper, step=step, share=share)
        sums, counts = map(fineness, plain.scales(epsilon))
        return replace(plain, grids=(sums, counts))

    @property
    def _share(self) -> Fraction:
        return self.share

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """Noisy sum and noisy count, in grid points."""
        true = histogram.total, histogram.mass
        return EstimatorOutput(
            tuple(
                noise.laplace(number * grid, scale * grid)
                for number, grid, scale in zip(true, self.grids, self.scales(epsilon), strict=True)
            )
        )

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Chance that ``contains`` holds; see ``RatioLaw``."""
        return RatioLaw(histogram.total, histogram.mass, interval, self)(budget_of(epsilon))

    def _pair(self, released: EstimatorOutput) -> tuple[Fraction, Fraction]:
        (total, count), (sums, counts) = released.numbers, self.grids
        return Fraction(total, sums), Fraction(count, counts)

    def _tail(self, excess: Fraction, cut: Cut, epsilon: Number) -> float:
        """``Pr[Z_S - cut Z_n >= excess]``, rounded up.

        Discrete noise is real-valued noise that is moved by less than one grid point.
        """
        sums, counts = self.grids
        moved = Fraction(1, sums) + abs(Fraction(cut)) / counts
        larger, less = self.noise_of(cut, epsilon)
        return pair_tail(as_float((excess - moved) / larger), as_float(less))

    def noise_of(self, cut: Cut, epsilon: Number) -> tuple[Fraction, Fraction]:
        """Larger scale of the two draws in ``Z_S - cut Z_n``, and 1 less the scales' ratio."""
        sums, counts = self.scales(epsilon)
        smaller, larger = sorted((sums, abs(Fraction(cut)) * counts))
        return larger, 1 - smaller / larger


@dataclass(frozen=True, slots=True)
class RatioLaw:
    """Chances of a noisy sum over a noisy count; not private, for analysis only.

    ``total`` and ``mass`` are the exact numbers.  The noise counts as real-valued.  Lengths are in
    scales of the sum's noise, X is the noise of n in its own scale.
    """

    total: int
    mass: int
    interval: Interval
    estimator: SumOverCount

    def __call__(self, epsilon: Fraction) -> float:
        """``Pr[l n~ < S~ < r n~]``, which includes ``n~ > 0``."""
        return self._inside(epsilon, 0.0, 0.0, 0.0)

    def proof_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Chance of a yes with a p-value of at most alpha.

        Both excesses must reach the quantiles of their noise, and so must their ranges at the noisy
        n (``SumAndCount``).
        """
        level = float(probability(alpha, "alpha"))
        left, right = self.interval.lower, self.interval.upper
        low, high = (self._quantile(end, level) for end in (left, right))
        rows = max(
            self._rows(low, self.estimator.upper - left, epsilon),
            self._rows(high, right - self.estimator.lower, epsilon),
            self._rows(low + high, right - left, epsilon),
        )
        return self._inside(epsilon, low, high, rows)

    def refutation_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Chance of a no with a p-value of at most alpha, which is twice that of a side."""
        level = float(probability(alpha, "alpha")) / 2
        left, right = self.interval.lower, self.interval.upper
        low, high = (self._quantile(end, level) for end in (left, right))
        below = self._rows(low, left - self.estimator.lower, epsilon)
        above = self._rows(high, self.estimator.upper - right, epsilon)
        offset, slope = self._line(right, high, epsilon)
        return as_probability(
            self._mean(self._line(left, -low, epsilon), below, epsilon)
            + self._mean((-offset, -slope), above, epsilon)
        )

    def _inside(self, epsilon: Fraction, low: float, high: float, rows: float) -> float:
        """``Pr[S~ - l n~ > low and r n~ - S~ > high and n~ >= rows]``."""
        left, right = self.interval.lower, self.interval.upper
        return as_probability(
            self._mean(self._line(right, -high, epsilon), rows, epsilon)
            - self._mean(self._line(left, low, epsilon), rows, epsilon)
        )

    def _quantile(self, end: Fraction, level: float) -> float:
        """Distance that ``Z_S - end Z_n`` passes with chance ``level``, at least 0; any budget."""
        larger, less = self.estimator.noise_of(end, 1)
        share = as_float(larger / self.estimator.scales(1)[0])
        return max(share * pair_quantile(level, as_float(less)), 0.0)

    def _rows(self, distance: float, width: Fraction, epsilon: Fraction) -> float:
        """Rows of which a sum of ``width`` each reaches ``distance``; infinite if none do."""
        if width <= 0:
            return math.inf if distance > 0 else 0.0
        return distance * as_float(self.estimator.scales(epsilon)[0] / width)

    def _line(self, end: Fraction, distance: float, epsilon: Fraction) -> tuple[float, float]:
        """``end n~ - S + distance`` as offset and slope of X."""
        sums, counts = self.estimator.scales(epsilon)
        return as_float((end * self.mass - self.total) / sums) + distance, as_float(
            end * counts / sums
        )

    def _mean(self, line: tuple[float, float], rows: float, epsilon: Fraction) -> float:
        """Chance that the sum's noise is below the line, and that the noisy n is >= ``rows``."""
        if math.isinf(rows):
            return 0.0
        counts = as_float(self.estimator.scales(epsilon)[1])
        return mean_of_cdfs([line], (rows - self.mass) / counts)


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
def _scales_of(reach: int, share: Fraction, epsilon: Number) -> tuple[Fraction, Fraction]:
    """Scales of the sum and of the count, which has the part ``share`` of the budget."""
    budget = budget_of(epsilon)
    return reach / (budget * (1 - share)), 1 / (budget * share)


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
