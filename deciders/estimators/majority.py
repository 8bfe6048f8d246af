"""MEDIAN by three noisy counts: all rows, and the rows beyond each end (Patwa 2023, Alg. 3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.distributions import (
    Floats,
    as_probability,
    doubled_quantile,
    doubled_tail,
    integral,
    laplace_cdf,
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
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise, fineness

# Most grid points by which the noise of a claim may exceed real-valued noise.
_ROUNDED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MajorityCounts(BonferroniClaims):
    """Noisy n, noisy ``q1 = #(v < a)`` and noisy ``q2 = #(v >= b)`` for the cuts a < b.

    Each number has noise of scale ``2/epsilon``, drawn on a grid of ``fineness`` points per row.

    Guarantee: epsilon-DP (Patwa 2023, Prop. 6.2; Dwork et al. 2006).  A row changes n by 1, which
    costs epsilon/2.  It changes at most one of q1 and q2 by 1, because they count the rows beyond
    two different ends; this costs epsilon/2 (McSherry 2009).  By composition all three may be
    shown.

    The lower median is below b exactly if ``n - 2 q2 >= 0``, and not below a exactly if
    ``n - 2 q1 >= 1``, for odd, even and zero n (docs/theory.md, Lemma 2).  A table without rows
    counts as below every cut, and so as outside.  The release gives each left side with an error
    ``X + 2 Y``, where X and Y are noises of the same scale.  The tails of this error are known.
    """

    cuts: tuple[int, int]
    fineness: int = 1

    id: ClassVar[str] = "majority_counts"
    aggregate: ClassVar[str] = "MEDIAN"
    exact: ClassVar[bool] = True

    @classmethod
    def finely(cls, interval: Interval, epsilon: Number) -> "MajorityCounts":
        """Counts beyond the ends of ``interval``, with noise on the fine grid."""
        return cls(cuts=whole_span(interval), fineness=fineness(2 / budget_of(epsilon)))

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
        """``sum_k Pr[ceil(n~/2) = k] F(k - q1) F(k - q2)``."""
        counts = counts_beyond(histogram, whole_span(interval))
        return majority_probability(*counts, budget_of(epsilon))

    def contains(self, released: EstimatorOutput, span: Span) -> bool:
        """Whether neither side reaches ``ceil(n~/2)``, as in Algorithm 3."""
        self._check(span[0], span[1])
        mass, below, above = released.numbers
        majority = -(-mass // (2 * self.fineness)) * self.fineness
        return max(below, above) < majority

    def _check(self, *cuts: Cut) -> None:
        for cut in cuts:
            if cut not in self.cuts:
                raise ParameterError(f"{cut} is none of the cuts of this release")

    def _excess(self, released: EstimatorOutput, cut: Cut) -> int:
        """Noisy ``#(v < cut) - #(v >= cut)``, in grid points.

        The median is below the cut exactly if the exact number is not negative.
        """
        self._check(cut)
        mass, below, above = released.numbers
        return mass - 2 * above if cut == self.cuts[1] else 2 * below - mass

    def _tail(self, points: int, epsilon: Number) -> float:
        """``Pr[X + 2 Y >= points]``, rounded up.

        Discrete noise is real-valued noise that is moved by less than one grid point.  So the
        tails of both are equal at points that are at most one grid point apart.
        """
        scale = self.largest_scale(epsilon) * self.fineness
        return doubled_tail(as_float((points - _ROUNDED) / scale))

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that raises an excess of -1 row to the observed excess."""
        return self._tail(self._excess(released, cut) + self.fineness, epsilon)

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that lowers an excess of 0 to the observed excess."""
        return self._tail(-self._excess(released, cut), epsilon)

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
    2/epsilon on each counts as real-valued.  Beyond an epsilon of about 6 the chance of a proof is
    a lower bound, since a verdict is read off whole rows and its p-value off the counts.
    """

    mass: int
    below: int
    above: int

    def __call__(self, epsilon: Fraction) -> float:
        """``Pr[yes]``."""
        return majority_probability(self.mass, self.below, self.above, epsilon)

    def proof_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Chance of a yes with a p-value of at most alpha: both sides lie well below one half."""
        scale, level = as_float(2 / epsilon), float(probability(alpha, "alpha"))
        far = scale * doubled_quantile(level)
        return self._below_half(max(far, 0.0), max(far - 1, 0.0), scale)

    def refutation_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Chance of a no with a p-value of at most alpha: a side lies well above one half.

        The p-value is twice that of the side (Bonferroni), and a no needs up to two rows.
        """
        scale, level = as_float(2 / epsilon), float(probability(alpha, "alpha"))
        far = scale * doubled_quantile(level / 2)
        return 1 - self._below_half(-max(far - 1, 2.0), -max(far, 2.0), scale)

    def _below_half(self, low: float, high: float, scale: float) -> float:
        """``Pr[n~ - 2 q1~ >= low and n~ - 2 q2~ >= high]``, an integral over the noise of n."""
        first = (self.mass - low) / 2 - self.below
        second = (self.mass - high) / 2 - self.above

        def chance(noise: Floats) -> Floats:
            density = np.exp(-np.abs(noise)) / 2
            both = laplace_cdf(first / scale + noise / 2) * laplace_cdf(second / scale + noise / 2)
            return (density * both)[None, :]

        kinks = [-2 * first / scale, -2 * second / scale]
        return as_probability(integral(chance, kinks).item())
