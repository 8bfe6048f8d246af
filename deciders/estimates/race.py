"""SUM by Race-to-the-Top, where public bounds are far above the values that occur."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deciders.estimates.estimator import Cut, Released, Span, whole_span
from deciders.exact import Number, as_float, probability
from deciders.histogram import Histogram
from deciders.interval import Interval
from deciders.noise import Noise
from deciders.sum import RaceToTheTopSum


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceEstimate(RaceToTheTopSum):
    """The estimate of ``r2t_sum``, the largest of 0 and the penalised noisy truncated sums.

    Guarantee: epsilon-DP, as ``RaceToTheTopSum``.

    It exceeds the sum by x >= 0 with probability at most ``sum_j exp(-x / b_j) beta / (2 log2 GS)``
    (a union bound over the rungs), which is a p-value of "at least".  It may fall short by any
    amount that the truncation hides, so there is none of "below", and no verdict of yes has one.
    """

    id: ClassVar[str] = "race_to_the_top"
    exact: ClassVar[bool] = False

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> Released:
        """Return the estimate as a fraction: its numerator and its denominator."""
        found = self.race(histogram, epsilon, noise)
        return Released((found.numerator, found.denominator))

    def span(self, interval: Interval) -> Span:
        """Return the first whole number inside and the first one above."""
        return whole_span(interval)

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Return ``Pr[a <= max < b]`` for the cuts a and b, the atom at 0 among them."""
        low, high = whole_span(interval)
        if low >= high:
            return 0.0
        # The estimate is continuous but for its atom at 0, which is inside if a <= 0.
        return RaceToTheTopSum.accept(
            self, histogram, Interval(low if low > 0 else -1, max(high, 0)), epsilon
        )

    def contains(self, released: Released, span: Span) -> bool:
        """Say whether the estimate lies between the cuts."""
        return span[0] <= self.estimate(released) < span[1]

    def below(self, released: Released, cut: Cut, epsilon: Number) -> float:
        """Return 1: the truncation may hide any amount."""
        return 1.0

    def at_least(self, released: Released, cut: Cut, epsilon: Number) -> float:
        """Return the chance that the estimate exceeds ``cut - 1`` by as much."""
        found = self.estimate(released)
        excess = as_float(found - math.ceil(cut) + 1)
        if excess < 0 or not found:
            return 1.0
        weight = self.beta / (2 * self.log_sensitivity)
        return min(1.0, weight * sum(math.exp(-excess / as_float(b)) for b in self.scales(epsilon)))

    def estimate(self, released: Released) -> Fraction:
        """Return the estimate."""
        return Fraction(*released.numbers)

    def confidence(
        self, released: Released, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """Return the lower end at level alpha; nothing bounds the sum from above."""
        level, found = float(probability(alpha, "alpha")), self.estimate(released)
        low, high = Fraction(0), Fraction(math.floor(found) + 2)
        while high - low > 1:
            middle = Fraction((low + high) // 2)
            holds = self.at_least(released, middle, epsilon) <= level
            low, high = (middle, high) if holds else (low, middle)
        return low, None
