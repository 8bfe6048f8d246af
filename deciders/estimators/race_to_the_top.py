"""SUM by Race-to-the-Top, for public bounds that are far above the values that occur."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.bounds import TruncationRungs
from pqd.deciders.distributions import Floats, as_probability, laplace_cdf
from pqd.deciders.estimators.base import Cut, EstimatorOutput, Span, whole_span
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise, noisy_value


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceEstimate(TruncationRungs):
    """Race-to-the-Top (Dong et al. 2022; Patwa 2023, eqs. 17-18).

    The estimate is the largest of 0 and ``q(D, t_j) + Lap(b_j) - b_j ln(log2(GS)/beta)`` with
    ``b_j = t_j log2(GS) / epsilon``.  It exceeds the truth with probability ``beta``.

    Guarantee: epsilon-DP.  The paper splits epsilon into log2(GS) parts and has as many rungs,
    which is seldom a whole number (docs/errata.md, 15).  Here there are ceil(log2 GS) rungs, and
    the total is still at most epsilon (ours).  A row of value v moves only rungs with
    ``t_j >= v``, each by v, so it costs ``epsilon/log2(GS) * sum_j v/t_j``.  With J rungs the sum
    is at most ``2 - 2^(1-J) <= log2(GS)``.

    The estimate exceeds the sum by x >= 0 with probability at most
    ``sum_j exp(-x / b_j) beta / (2 log2 GS)`` (a union bound over the rungs).  This is a p-value
    of "at least".  The estimate may fall short by any amount that the truncation hides.  So there
    is no p-value of "below", and no verdict of yes has a p-value.
    """

    beta: float = 0.05

    id: ClassVar[str] = "race_to_the_top"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "beta")
    aggregate: ClassVar[str] = "SUM"
    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise an error for a negative lattice or for a beta outside (0, 1)."""
        TruncationRungs.__post_init__(self)
        probability(self.beta, "beta")

    @property
    def parts(self) -> Fraction:
        """``log2(GS)``: the parts into which the paper splits epsilon."""
        return Fraction(self.log_sensitivity)

    def scales(self, epsilon: Number) -> tuple[Fraction, ...]:
        """``b_j`` for every rung, in units."""
        share = self.parts / budget_of(epsilon)
        return tuple(rung * share for rung in self.rungs)

    @property
    def _penalty(self) -> float:
        return math.log(self.log_sensitivity / self.beta)

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """Estimate as a fraction, given by its numerator and its denominator."""
        penalty = Fraction(self._penalty)
        largest = Fraction(0)
        sums = self.truncated_sums(histogram)
        for truncated, scale in zip(sums, self.scales(epsilon), strict=True):
            largest = max(largest, noisy_value(truncated, scale, noise) - scale * penalty)
        return EstimatorOutput((largest.numerator, largest.denominator))

    def span(self, interval: Interval) -> Span:
        """First whole number inside, and the first number above the interval."""
        return whole_span(interval)

    def chance_inside(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``Pr[max < r] - Pr[max <= l]``, a product over the independent rungs."""
        scales = self.scales(epsilon)
        sums = self.truncated_sums(histogram)

        def below(bound: Fraction, *, closed: bool) -> float:
            if bound < 0 or (bound == 0 and not closed):
                return 0.0
            gaps = [as_float((bound - q) / b) for q, b in zip(sums, scales, strict=True)]
            factors: Floats = laplace_cdf(np.array(gaps) + self._penalty)
            return float(np.prod(factors))

        return as_probability(
            below(interval.upper, closed=False) - below(interval.lower, closed=True)
        )

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``Pr[a <= max < b]`` for the cuts a and b, including the point mass at 0."""
        low, high = whole_span(interval)
        if low >= high:
            return 0.0
        # The estimate is continuous except for its point mass at 0, which is inside if a <= 0.
        ends = Interval(low if low > 0 else -1, max(high, 0))
        return self.chance_inside(histogram, ends, epsilon)

    def contains(self, released: EstimatorOutput, span: Span) -> bool:
        """Whether the estimate lies between the cuts."""
        return span[0] <= self.estimate(released) < span[1]

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """1, because the truncation may hide any amount."""
        return 1.0

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance that the estimate exceeds ``cut - 1`` by at least the observed amount."""
        estimate = self.estimate(released)
        excess = as_float(estimate - math.ceil(cut) + 1)
        if excess < 0 or not estimate:
            return 1.0
        weight = self.beta / (2 * self.log_sensitivity)
        return min(1.0, weight * sum(math.exp(-excess / as_float(b)) for b in self.scales(epsilon)))

    def apart(self, released: EstimatorOutput, span: Span, epsilon: Number) -> float:
        """P-value of "at least", the only claim that the release can support."""
        return self.at_least(released, span[1], epsilon)

    def estimate(self, released: EstimatorOutput) -> Fraction:
        """Released estimate."""
        return Fraction(*released.numbers)

    def confidence(
        self, released: EstimatorOutput, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """Lower end at level alpha; no upper end, since nothing bounds the sum from above."""
        level, estimate = float(probability(alpha, "alpha")), self.estimate(released)

        def holds(end: int) -> bool:
            return self.at_least(released, Fraction(end), epsilon) <= level

        ends = range(1, math.floor(estimate) + 2)
        return Fraction(bisect_left(ends, x=True, key=lambda end: not holds(end))), None
