"""Deciders of COUNT queries (Patwa 2023, section 4); they use only the number of rows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from pqd.deciders.bounds import NoBounds
from pqd.deciders.estimators.laplace import LaplaceEstimate
from pqd.deciders.evaluation.effectiveness import Threshold, laplace_threshold
from pqd.deciders.evaluation.needed_budget import inverse_epsilon
from pqd.deciders.evaluation.trials import Trial
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.single.base import DeciderDefaults, ExponentialDecider, LaplaceRule


@dataclass(frozen=True, slots=True)
class LaplaceCount(LaplaceRule, NoBounds, DeciderDefaults):
    """Algorithm 1 with the Laplace mechanism: yes if ``n + Lap(1/epsilon)`` is in the interval.

    Guarantee: epsilon-DP (Patwa 2023, Observation 4.1; Dwork et al. 2006), since the count has
    sensitivity 1.  The guarantee covers the noisy count, which is released.  The comparison is
    post-processing.
    """

    id: ClassVar[str] = "lm_count"
    key_fields: ClassVar[tuple[str, ...]] = ()
    aggregate: ClassVar[str] = "COUNT"

    @property
    def answer(self) -> LaplaceEstimate:
        """Noisy count."""
        return LaplaceEstimate(aggregate="COUNT")

    def tau_min(self, histogram_public: Histogram, epsilon: Number, alpha: Number) -> Threshold:
        """Exact ``(1/epsilon) ln(1/alpha)`` (ours).

        Prop. 4.3 states ``ln(1/(2 alpha))``, but at that value the false-no rate is 2 alpha.  The
        proof of Prop. 4.3, eq. (24), needs the value given here.
        """
        return laplace_threshold(1 / budget_of(epsilon), alpha)


@dataclass(frozen=True, slots=True)
class NaiveExponentialCount(ExponentialDecider, NoBounds, DeciderDefaults):
    """Exponential mechanism on {no, yes} with the 0/1 score (Patwa 2023, section 4.2.1).

    Guarantee: epsilon-DP (Prop. 4.4: the score has sensitivity 1).  Its error is
    ``1 / (1 + exp(epsilon/2))`` for every gap.  The paper uses it as a simple comparison, and it is
    kept for the same purpose.
    """

    id: ClassVar[str] = "em_count_naive"
    key_fields: ClassVar[tuple[str, ...]] = ()
    aggregate: ClassVar[str] = "COUNT"

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``+epsilon/2`` inside the interval, ``-epsilon/2`` outside (eqs. 6 and 7)."""
        half = as_float(budget_of(epsilon) / 2)
        return half if interval.contains(histogram.mass) else -half

    def tau_min(self, histogram_public: Histogram, epsilon: Number, alpha: Number) -> Threshold:
        """0 if ``epsilon/2 >= ln((1 - alpha)/alpha)``, else infinity (ours)."""
        suffices = float(budget_of(epsilon)) / 2 >= log_odds(alpha)
        return Threshold(0.0 if suffices else math.inf, exact=True)


@dataclass(frozen=True, slots=True)
class ExponentialCount(ExponentialDecider, NoBounds, DeciderDefaults):
    """Exponential mechanism with the sloped score u' (Patwa 2023, section 4.2.2, eqs. 10-16).

    Guarantee: epsilon-DP (Observation 4.6), since u' has a sensitivity of at most 1/(2 tau).
    Prop. 4.5 says that it is 1/(2 tau), but below ``tau = 1/2`` it is 1, and budget is wasted
    (docs/errata.md, 16).  With ``2 * sensitivity = 1/tau`` the log-odds of yes are
    ``epsilon tau (2 u'(yes) - 1)``.  This is ``epsilon`` times the signed distance to the nearer
    end of the interval, which is positive inside.  The log-odds are never below ``-epsilon tau``.
    They are computed exactly and rounded once to a double.  OpenDP makes the draw
    (``SecureNoise.choose``).
    """

    id: ClassVar[str] = "em_count"
    key_fields: ClassVar[tuple[str, ...]] = ()
    aggregate: ClassVar[str] = "COUNT"

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``epsilon tau (2 u'(yes) - 1)``."""
        count = Fraction(histogram.mass)
        depth = min(count - interval.lower, interval.upper - count)
        return as_float(budget_of(epsilon) * max(-interval.tau, depth))

    def tau_min(self, histogram_public: Histogram, epsilon: Number, alpha: Number) -> Threshold:
        """Exact ``(1/epsilon) ln((1 - alpha)/alpha)`` (Prop. 4.7)."""
        return Threshold(max(0.0, log_odds(alpha) / float(budget_of(epsilon))), exact=True)

    def least_epsilon(self, trials: Iterable[Trial], alpha: Number) -> float:
        """Exact ``(1/tau) ln((1 - alpha)/alpha)``."""
        return inverse_epsilon(max(0.0, log_odds(alpha)), trials)


@lru_cache(maxsize=16)
def log_odds(alpha: Number) -> float:
    """``ln((1 - alpha)/alpha)``."""
    level = probability(alpha, "alpha")
    return math.log((1 - level) / level)
