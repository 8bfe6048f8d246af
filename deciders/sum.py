"""Deciders of SUM queries that compare a noisy estimate (Patwa 2023, sections 5.1 and 5.2)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deciders.count import laplace_threshold
from deciders.decider import Bounded, Decision
from deciders.effectiveness import Threshold
from deciders.errors import DeciderError
from deciders.exact import Number, as_float, budget_of, probability
from deciders.histogram import Histogram
from deciders.interval import Interval
from deciders.laplace import Floats, as_probability, laplace_cdf, probability_inside
from deciders.noise import Noise, noisy_value


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceSum(Bounded):
    """Algorithm 1 with ``Lap(GS/epsilon)``, ``GS = max(|lower|, |upper|)``.

    Guarantee: epsilon-DP (Patwa 2023, Observation 5.1): one row changes the sum by at most GS.
    Negative values are allowed.
    """

    id: ClassVar[str] = "lm_sum"
    aggregate: ClassVar[str] = "SUM"

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Return ``F(r - q) - F(l - q)``."""
        scale = self.noise_scale(budget_of(epsilon))
        return probability_inside(histogram.total, interval, scale)

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """Return one epsilon-DP verdict."""
        scale = self.noise_scale(budget_of(epsilon))
        return Decision(interval.contains(noisy_value(histogram.total, scale, noise)))

    def tau_min(self, histogram_public: Histogram, epsilon: Number, alpha: Number) -> Threshold:
        """Return the exact ``(GS/epsilon) ln(1/alpha)`` (ours; Prop. 5.2 prints too little)."""
        return laplace_threshold(self.noise_scale(budget_of(epsilon)), alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated(Bounded):
    """Mix-in of the deciders that truncate at rungs ``t_j = 2^j``, ``j = 1 .. ceil(log2 GS)``.

    Truncation at a rung removes the rows above it.  Values must be >= 0; GS is taken as >= 2.
    """

    def __post_init__(self) -> None:
        """Raise DeciderError if the attribute may be negative."""
        if self.lower < 0:
            raise DeciderError(
                f"it needs values >= 0 but the lower bound is {self.lower} units; "
                "use lm_sum, or bounds that start at 0 or above"
            )

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Return a bound on ``t log2(GS)/epsilon`` for every rung: the last may be twice GS."""
        return 128 * self.noise_scale(budget_of(epsilon))

    @property
    def log_sensitivity(self) -> float:
        """``log2(GS)``, at least 1."""
        return math.log2(max(2, self.global_sensitivity))

    @property
    def rungs(self) -> tuple[int, ...]:
        """The truncation thresholds ``2, 4, ..., 2^ceil(log2 GS)``."""
        return tuple(1 << j for j in range(1, max(1, (self.upper - 1).bit_length()) + 1))

    def truncated_sums(self, histogram: Histogram) -> tuple[int, ...]:
        """``q(D, t_j)`` for every rung, exactly."""
        return tuple(histogram.sum_at_most(rung) for rung in self.rungs)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceToTheTopSum(Truncated):
    """Algorithm 1 with Race-to-the-Top (Dong et al. 2022; Patwa 2023, eqs. 17-18).

    The estimate is the largest of 0 and ``q(D, t_j) + Lap(b_j) - b_j ln(log2(GS)/beta)`` with
    ``b_j = t_j log2(GS) / epsilon``; ``beta`` is the probability that it exceeds the truth.

    Guarantee: epsilon-DP.  The paper splits epsilon into log2(GS) parts but races over
    ceil(log2 GS) rungs; that does not overspend (ours): a row of value v moves only rungs with
    ``t_j >= v``, each by v, so it costs ``epsilon/log2(GS) * sum_j v/t_j``, and with J rungs that
    sum is below ``2 - 2^(1-J) <= log2(GS)``.
    """

    beta: float = 0.05

    id: ClassVar[str] = "r2t_sum"
    aggregate: ClassVar[str] = "SUM"

    def __post_init__(self) -> None:
        """Raise an error for a negative lattice or a beta outside (0, 1)."""
        Truncated.__post_init__(self)
        probability(self.beta, "beta")

    def scales(self, epsilon: Number) -> tuple[Fraction, ...]:
        """``b_j`` for every rung."""
        share = Fraction(self.log_sensitivity) / budget_of(epsilon)
        return tuple(rung * share for rung in self.rungs)

    @property
    def _penalty(self) -> float:
        return math.log(self.log_sensitivity / self.beta)

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Return ``Pr[max < r] - Pr[max <= l]``, a product over the independent rungs."""
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

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """Return one epsilon-DP verdict."""
        return Decision(interval.contains(self.race(histogram, epsilon, noise)))

    def race(self, histogram: Histogram, epsilon: Number, noise: Noise) -> Fraction:
        """Return one epsilon-DP estimate."""
        penalty = Fraction(self._penalty)
        estimate = Fraction(0)
        sums = self.truncated_sums(histogram)
        for truncated, scale in zip(sums, self.scales(epsilon), strict=True):
            estimate = max(estimate, noisy_value(truncated, scale, noise) - scale * penalty)
        return estimate
