"""MEDIAN and QUANTILE by three noisy counts: all rows, and the rows beyond each end.

Patwa 2023, Algorithm 3, and the end of section 6.2 for quantiles.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pqd.deciders.distributions import (
    as_probability,
    mean_of_cdfs,
    pair_quantile,
    pair_tail,
)
from pqd.deciders.errors import ParameterError
from pqd.deciders.estimators.base import (
    BonferroniClaims,
    Cut,
    EstimatorOutput,
    Span,
    by_cuts,
    whole_span,
)
from pqd.deciders.exact import Number, as_float, budget_of, probability, ratio
from pqd.deciders.histogram import HALF, Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise, fineness


@dataclass(frozen=True, slots=True, kw_only=True)
class MajorityCounts(BonferroniClaims):
    """Noisy n, noisy ``q1 = #(v < a)`` and noisy ``q2 = #(v >= b)`` for the cuts a < b.

    Each number has noise of scale ``2/epsilon``, drawn on a grid of ``fineness`` points per row.

    Guarantee: epsilon-DP (Patwa 2023, Prop. 6.2; Dwork et al. 2006).  A row changes n by 1, which
    costs epsilon/2.  It changes at most one of q1 and q2 by 1, because they count the rows beyond
    two different ends; this costs epsilon/2 (McSherry 2009).  By composition all three may be
    shown.

    With ``p = c/d`` the p-quantile is below b exactly if ``(d - c) n - d q2 >= 0``, and not below a
    exactly if ``c n - d q1 >= 1``, for every n (docs/theory.md, Lemma 2).  A table without rows
    counts as below every cut, and so as outside.  The release gives the left sides with the errors
    ``(d - c) X + d Y`` and ``c X + d Y``, where X and Y are noises of the same scale.  The tails of
    these errors are known.
    """

    cuts: tuple[int, int]
    p: Fraction = HALF
    aggregate: str = "MEDIAN"
    fineness: int = 1

    id: ClassVar[str] = "majority_counts"
    exact: ClassVar[bool] = True

    @classmethod
    def finely(
        cls, interval: Interval, epsilon: Number, p: Fraction = HALF, aggregate: str = "MEDIAN"
    ) -> "MajorityCounts":
        """Counts beyond the ends of ``interval``, with noise on the fine grid."""
        grid = fineness(2 / budget_of(epsilon))
        return cls(cuts=whole_span(interval), p=p, aggregate=aggregate, fineness=grid)

    @property
    def bounds(self) -> tuple[None, None, int]:
        """No bounds."""
        return None, None, 1

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Noise scale of every count."""
        return 2 / budget_of(epsilon)

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """Noisy n, q1 and q2, in grid points."""
        scale = self.largest_scale(epsilon) * self.fineness
        counts = counts_beyond(histogram, self.cuts)
        return EstimatorOutput(tuple(noise.laplace(n * self.fineness, scale) for n in counts))

    def span(self, interval: Interval) -> Span:
        """First lattice unit inside, and the first unit above the interval."""
        return whole_span(interval)

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Chance that ``contains`` holds for the cuts of ``interval``; see ``MajorityLaw``."""
        counts = counts_beyond(histogram, whole_span(interval))
        return MajorityLaw(*counts, self.p)(budget_of(epsilon))

    def contains(self, released: EstimatorOutput, span: Span) -> bool:
        """Whether both noisy claims hold: each is compared halfway between true and false."""
        low, high = (self._excess(released, cut) for cut in span)
        return 2 * low < -self.fineness < 2 * high

    def reaches_half(self, released: EstimatorOutput) -> bool:
        """Whether a noisy side reaches ``ceil(n~/2)``, as in Algorithm 3."""
        mass, below, above = released.numbers
        majority = -(-mass // (2 * self.fineness)) * self.fineness
        return max(below, above) >= majority

    def _check(self, *cuts: Cut) -> None:
        for cut in cuts:
            if cut not in self.cuts:
                raise ParameterError(f"{cut} is none of the cuts of this release")

    def _excess(self, released: EstimatorOutput, cut: Cut) -> int:
        """Noisy ``(d - c) #(v < cut) - c #(v >= cut)``, in grid points.

        The quantile is below the cut exactly if the exact number is not negative.
        """
        self._check(cut)
        mass, below, above = released.numbers
        part, whole = self.p.as_integer_ratio()
        if cut == self.cuts[1]:
            return (whole - part) * mass - whole * above
        return whole * below - part * mass

    def _tail(self, points: int, cut: Cut, epsilon: Number) -> float:
        """``Pr[w X + d Y >= points]``, rounded up; w is the weight of n at the cut.

        Discrete noise is real-valued noise that is moved by less than one grid point.  So the
        tails of both are equal at points that are at most ``w + d`` grid points apart.
        """
        part, whole = self.p.as_integer_ratio()
        weight = whole - part if cut == self.cuts[1] else part
        scale = self.largest_scale(epsilon) * self.fineness * whole
        return pair_tail(as_float((points - weight - whole) / scale), ratio(whole - weight, whole))

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that raises an excess of -1 to the observed excess."""
        return self._tail(self._excess(released, cut) + self.fineness, cut, epsilon)

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that lowers an excess of 0 to the observed excess."""
        return self._tail(-self._excess(released, cut), cut, epsilon)

    def estimate(self, released: EstimatorOutput) -> None:
        """None, because the release shows only which side holds the median."""
        return

    def confidence(
        self, released: EstimatorOutput, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """Cuts that the claims reach from either side."""
        return by_cuts(self, self.cuts, released, epsilon, alpha)


def counts_beyond(histogram: Histogram, cuts: tuple[int, int]) -> tuple[int, int, int]:
    """All rows, the rows below the first cut, and the rows not below the second cut."""
    low, high = cuts
    return histogram.mass, histogram.count_below(low), histogram.mass - histogram.count_below(high)


# The exponential of any smaller number is 0 in doubles.
_UNDERFLOW = -750.0
# Terms coef * exp(rate * x / scale) of the Laplace law's F(x), for x < 0 and for x >= 0.
_BEFORE = ((0.5, 1),)
_AFTER = ((1.0, 0), (-0.5, -1))


def majority_probability(mass: int, below: int, above: int, epsilon: Fraction) -> float:
    """``sum_k Pr[ceil((mass + Lap)/2) = k] F(k - below) F(k - above)``, all of scale 2/epsilon.

    Between certain whole numbers k every factor is a sum of exponentials.  So the series is a sum
    of finite geometric series, which needs no loop over k and no truncation.
    """
    numerator, denominator = epsilon.as_integer_ratio()
    scale = ratio(2 * denominator, numerator)
    half, odd = divmod(mass, 2)
    cuts = sorted({below, above, half + 1, half + 1 + odd})
    decays = [math.expm1(-rate / scale) for rate in range(5)]
    total = 0.0
    for first, last in zip((-math.inf, *cuts), (*(cut - 1 for cut in cuts), math.inf), strict=True):
        inner = first if last == math.inf else last
        share, rise, centre = _half_mass_piece(inner, half, odd, decays)
        for low, low_rate in _BEFORE if inner < below else _AFTER:
            for high, high_rate in _BEFORE if inner < above else _AFTER:
                rate = rise + low_rate + high_rate
                peak = last if rate > 0 or first == -math.inf else first
                exponent = rise * (peak - centre)
                exponent += low_rate * (peak - below) + high_rate * (peak - above)
                if exponent < _UNDERFLOW * scale:
                    continue
                term, terms = share * low * high * math.exp(exponent / scale), last - first + 1
                if rate:
                    decay = abs(rate)
                    total += term * math.expm1(-decay / scale * terms) / decays[decay]
                else:
                    total += term * terms
    return as_probability(total)


def _half_mass_piece(
    k: float, half: int, odd: int, decays: Sequence[float]
) -> tuple[float, int, float]:
    """``Pr[ceil((n + Lap)/2) = k]`` for ``n = 2 half + odd``, near ``k``."""
    if k <= half:
        return -decays[2] / 2, 2, half + odd / 2
    if odd and k == half + 1:
        return -decays[1], 0, k
    return -decays[2] / 2, -2, half + odd / 2 + 1


@dataclass(frozen=True, slots=True)
class MajorityLaw:
    """Chances of three noisy counts, given the exact ones; not private, for analysis only.

    ``mass`` counts all rows, ``below`` and ``above`` the rows beyond either end.  Noise of scale
    2/epsilon on each counts as real-valued.
    """

    mass: int
    below: int
    above: int
    p: Fraction = HALF

    def __call__(self, epsilon: Fraction) -> float:
        """``Pr[yes]``: both claims hold, each compared halfway between true and false."""
        return self._both(*self._bars[0], epsilon)

    def proof_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Chance of a yes with a p-value of at most alpha: both claims hold by far."""
        low, high = self._reaches(epsilon, float(probability(alpha, "alpha")))
        (first, second), _ = self._bars
        return self._both(max(low, first), max(high - 2 * self._half, second), epsilon)

    def refutation_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Chance of a no with a p-value of at most alpha: a claim fails by far.

        The p-value is twice that of the side (Bonferroni).
        """
        low, high = self._reaches(epsilon, float(probability(alpha, "alpha")) / 2)
        _, (first, second) = self._bars
        return 1 - self._both(min(2 * self._half - low, first), min(-high, second), epsilon)

    @property
    def _half(self) -> Fraction:
        """Half of the step between true and false claims, in rows."""
        return Fraction(1, 2 * self.p.denominator)

    @property
    def _bars(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """Sides of the claims beyond which the verdict is yes, and below one of which it is no."""
        bars = self._half, -self._half
        return bars, bars

    def _reaches(self, epsilon: Fraction, level: float) -> tuple[Fraction, Fraction]:
        """Distances, in rows, that the noise of either claim passes with chance ``level``."""
        low, high = (pair_quantile(level, less) for less in self._lesser)
        return Fraction(low) * 2 / epsilon, Fraction(high) * 2 / epsilon

    @property
    def _lesser(self) -> tuple[float, float]:
        """1 less the weight of n in the claims of the lower and of the upper end."""
        part, whole = self.p.as_integer_ratio()
        return ratio(whole - part, whole), ratio(part, whole)

    def _both(self, low: Fraction, high: Fraction, epsilon: Fraction) -> float:
        """``Pr[p n~ - q1~ >= low and (1 - p) n~ - q2~ >= high]``, integrated over n's noise."""
        scale = 2 / epsilon
        first = as_float((self.p * self.mass - self.below - low) / scale)
        second = as_float(((1 - self.p) * self.mass - self.above - high) / scale)
        return mean_of_cdfs([(first, as_float(self.p)), (second, as_float(1 - self.p))])


@dataclass(frozen=True, slots=True)
class HalfLaw(MajorityLaw):
    """Chances of Algorithm 3, which rounds the noisy half of n up.

    Beyond an epsilon of about 6 the chance of a proof is a lower bound, since a verdict is read off
    whole rows and its p-value off the counts.
    """

    def __call__(self, epsilon: Fraction) -> float:
        """``Pr[yes]``."""
        return majority_probability(self.mass, self.below, self.above, epsilon)

    @property
    def _bars(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """At 0 every verdict is yes; a no may need a row."""
        return (Fraction(0), Fraction(0)), (Fraction(-1), Fraction(-1))
