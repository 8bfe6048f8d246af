"""Deciders of SUM queries that compare a noisy estimate (Patwa 2023, sections 5.1 and 5.2)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from pqd.deciders.bounds import ValueBounds
from pqd.deciders.distributions import probability_inside
from pqd.deciders.estimators.laplace import LaplaceEstimate
from pqd.deciders.estimators.race_to_the_top import RaceEstimate
from pqd.deciders.evaluation.effectiveness import Threshold, laplace_threshold
from pqd.deciders.evaluation.needed_budget import inverse_epsilon
from pqd.deciders.evaluation.trials import Trial
from pqd.deciders.exact import Number, budget_of, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.single.base import NO_ALONE, DeciderDefaults
from pqd.deciders.single.generic_decider import GenericDecider, LaplaceRule


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceSum(LaplaceRule, ValueBounds, DeciderDefaults):
    """Algorithm 1 with ``Lap(GS/epsilon)``, ``GS = max(|lower|, |upper|)``.

    Guarantee: epsilon-DP (Patwa 2023, Observation 5.1), since one row changes the sum by at most
    GS.  The guarantee covers the noisy sum, which is shown.  Values may be negative.
    """

    id: ClassVar[str] = "lm_sum"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step")
    aggregate: ClassVar[str] = "SUM"

    def estimator(self, interval: Interval, epsilon: Number) -> LaplaceEstimate:
        """Noisy sum on the fine grid."""
        low, high, step = self.bounds
        estimator = LaplaceEstimate(aggregate="SUM", lower=low, upper=high, step=step)
        return estimator.finely(epsilon)

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``F(r - q) - F(l - q)``."""
        scale = self.noise_scale(budget_of(epsilon))
        return probability_inside(histogram.total, interval, scale)

    def tau_min(self, histogram_public: Histogram, epsilon: Number, alpha: Number) -> Threshold:
        """Exact ``(GS/epsilon) ln(1/alpha)`` (ours; the printed Prop. 5.2 is too small)."""
        return laplace_threshold(self.noise_scale(budget_of(epsilon)), alpha)

    def least_epsilon(self, trials: Iterable[Trial], alpha: Number) -> float:
        """Exact ``(GS/tau) ln(1/alpha)``."""
        level = probability(alpha, "alpha")
        return inverse_epsilon(-self.global_sensitivity * math.log(level), trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceToTheTopSum(GenericDecider, RaceEstimate, DeciderDefaults):
    """Algorithm 1 with Race-to-the-Top: whether the estimate lies inside the interval.

    Guarantee: epsilon-DP, like ``RaceEstimate``.  Only a no has a p-value, and only if the estimate
    lies beyond the upper end.
    """

    id: ClassVar[str] = "r2t_sum"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "beta")
    proves: ClassVar[frozenset[bool]] = NO_ALONE

    def estimator(self, interval: Interval, epsilon: Number) -> RaceEstimate:
        """The decider itself, which is the estimator."""
        return self

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``Pr[max < r] - Pr[max <= l]``, a product over the independent rungs."""
        return self.chance_inside(histogram, interval, epsilon)
