"""Deciders of SUM queries: Laplace, Race-to-the-Top, sparse vector (Patwa 2023, section 5).

The inverse-sensitivity decider of a sum is in inverse_sensitivity.py, its margin in margins.py.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.bounds import TruncationRungs, ValueBounds
from pqd.deciders.distributions import (
    Floats,
    as_probability,
    integral,
    laplace_cdf,
)
from pqd.deciders.estimators.laplace import LaplaceEstimate
from pqd.deciders.estimators.race_to_the_top import RaceEstimate
from pqd.deciders.evaluation.effectiveness import Threshold, laplace_threshold
from pqd.deciders.exact import Number, as_float, budget_of, exact, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise, fineness
from pqd.deciders.single.base import (
    NO_ALONE,
    DeciderDefaults,
    Decision,
    GenericDecider,
    LaplaceRule,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceSum(LaplaceRule, ValueBounds, DeciderDefaults):
    """Algorithm 1 with ``Lap(GS/epsilon)``, ``GS = max(|lower|, |upper|)``.

    Guarantee: epsilon-DP (Patwa 2023, Observation 5.1), since one row changes the sum by at most
    GS.  The guarantee covers the noisy sum, which is released.  Values may be negative.
    """

    id: ClassVar[str] = "lm_sum"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step")
    aggregate: ClassVar[str] = "SUM"

    @property
    def answer(self) -> LaplaceEstimate:
        """Noisy sum."""
        low, high, step = self.bounds
        return LaplaceEstimate(aggregate="SUM", lower=low, upper=high, step=step)

    def tau_min(self, histogram_public: Histogram, epsilon: Number, alpha: Number) -> Threshold:
        """Exact ``(GS/epsilon) ln(1/alpha)`` (ours; the printed Prop. 5.2 is too small)."""
        return laplace_threshold(self.noise_scale(budget_of(epsilon)), alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceToTheTopSum(GenericDecider, RaceEstimate, DeciderDefaults):
    """Algorithm 1 with Race-to-the-Top: the verdict is whether the estimate lies in the interval.

    Guarantee: epsilon-DP, as for ``RaceEstimate``.  Only a no has a p-value, and only if the
    estimate lies beyond the upper end.
    """

    id: ClassVar[str] = "r2t_sum"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "beta")
    options: ClassVar[tuple[str, ...]] = ("beta",)
    proves: ClassVar[frozenset[bool]] = NO_ALONE

    def estimator(self, interval: Interval, epsilon: Number) -> RaceEstimate:
        """The decider itself, because it is also the estimator."""
        return self

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``Pr[max < r] - Pr[max <= l]``, a product over the independent rungs."""
        return self.chance_inside(histogram, interval, epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class TightRaceToTheTopSum(RaceToTheTopSum):
    """Race-to-the-Top with the least noise that the budget allows (ours).

    The scales are ``b_j = (2 - 2^(1-J)) t_j / epsilon`` for J rungs, where the paper has
    ``log2(GS) t_j / epsilon``.  Penalty, rule and p-value are those of ``r2t_sum``, with the
    smaller ``b_j``.

    Guarantee: epsilon-DP.  Let i be the first rung with ``v <= t_i``, for a row of value v > 0.
    The row changes ``q(D, t_j)`` by v at the rungs ``j >= i`` and by 0 at the others.  The rungs
    double, so the privacy loss is at most::

        sum over j >= i of v / b_j  <=  sum over j >= i of t_i / b_j
                                     =  epsilon (2 - 2^(i-J)) / (2 - 2^(1-J))  <=  epsilon.

    A row of value 0 changes nothing.  The penalty is public, and the maximum is post-processing.
    A row of value ``t_1 = 2`` loses exactly epsilon, so no smaller common factor is safe.
    """

    id: ClassVar[str] = "r2t_sum_tight"

    @property
    def parts(self) -> Fraction:
        """``2 - 2^(1-J)`` for J rungs."""
        return 2 - Fraction(2, 2 ** len(self.rungs))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainSparseVectorSum(TruncationRungs, DeciderDefaults):
    """Algorithm 2 as printed: sparse vector (SVT) over every rung, with all scales ``2/epsilon``.

    The queries ``q(D, t_j)/t_j`` have sensitivity 1 and are monotonic.  A first pass answers no if
    any noisy query reaches ``(r/t_j) + rho``.  Otherwise a second pass, with the same ``rho``,
    answers yes if any noisy query reaches ``(l+1)/t_j + rho``, and else no.  ``l + 1`` stands for
    the next possible sum above l.

    Guarantee: epsilon-DP (Theorem 5.8; Lyu et al. 2017, Theorem 3).  Half of the budget is spent on
    ``rho``, half on the single query that exceeds its threshold.
    """

    id: ClassVar[str] = "svt_sum_plain"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step")
    aggregate: ClassVar[str] = "SUM"

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Integral over rho: pass 1 finds no query above, and pass 2 finds some query above."""
        scale = 2 / budget_of(epsilon)
        return as_probability(self._accept_by_rung(histogram, interval, scale)[-1])

    def _accept_by_rung(self, histogram: Histogram, interval: Interval, scale: Fraction) -> Floats:
        """``Pr[yes]`` of Algorithm 2 on the first k rungs, for ``k = 1 .. len(rungs)``."""
        high, low = self._distances(histogram, interval, scale)

        def accepted(rho: Floats) -> Floats:
            untopped = np.cumprod(laplace_cdf(high[:, None] + rho), axis=0)
            silent = np.cumprod(laplace_cdf(low[:, None] + rho), axis=0)
            return untopped * (1 - silent) * np.exp(-np.abs(rho)) / 2

        return integral(accepted, np.concatenate((-high, -low)))

    def _distances(
        self, histogram: Histogram, interval: Interval, scale: Fraction
    ) -> tuple[Floats, Floats]:
        """Thresholds minus queries for both passes, in units of the noise scale."""
        sums, rungs = self.truncated_sums(histogram), np.array(self.rungs, dtype=np.float64)
        high, low = interval.upper, _next_above(interval.lower)
        # The differences are exact; only the results are rounded.
        above = np.array([as_float(high - q) for q in sums])
        below = np.array([as_float(Fraction(low - q)) for q in sums])
        return above / rungs / as_float(scale), below / rungs / as_float(scale)

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """One epsilon-DP verdict."""
        scale = 2 / budget_of(epsilon)
        return self._sparse_vector(histogram, interval, scale, len(self.rungs), noise)

    def _sparse_vector(
        self, histogram: Histogram, interval: Interval, scale: Fraction, rungs: int, noise: Noise
    ) -> Decision:
        """Algorithm 2 on the first ``rungs`` rungs; it spends the budget ``2/scale``."""
        grid = fineness(scale)
        steps = scale * grid
        rho = noise.laplace(0, steps)
        thresholds = self.rungs[:rungs]
        queries = [histogram.sum_at_most(t) * grid // t for t in thresholds]
        for query, t in zip(queries, thresholds, strict=True):
            if noise.laplace(query, steps) >= interval.upper * grid / t + rho:
                return Decision(outcome=False)
        for query, t in zip(queries, thresholds, strict=True):
            if noise.laplace(query, steps) >= Fraction(_next_above(interval.lower) * grid, t) + rho:
                return Decision(outcome=True)
        return Decision(outcome=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVectorSum(PlainSparseVectorSum):
    """Algorithm 2 on the rungs up to a private bound of the largest value from Algorithm 4.

    A third of the budget finds the first rung that keeps a fraction ``theta`` of the rows.  The
    rest runs Algorithm 2 up to that rung, with all scales ``3/epsilon``.

    Guarantee: epsilon-DP (Observation B.2).  The decider is biased even without noise, because it
    cuts off the rows above the rung.  So it underestimates a sum that consists of a few large
    values.
    """

    theta: float = 0.95

    id: ClassVar[str] = "svt_sum"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "theta")
    options: ClassVar[tuple[str, ...]] = ("theta",)

    def __post_init__(self) -> None:
        """Raise an error for a negative lattice or for a theta outside (0, 1)."""
        TruncationRungs.__post_init__(self)
        probability(self.theta, "theta")

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Chance of a yes under Algorithm 2, averaged over the rung that Algorithm 4 returns."""
        budget = budget_of(epsilon)
        by_rung = self._accept_by_rung(histogram, interval, 3 / budget)
        return as_probability(float(self._rung_probabilities(histogram, 9 / budget) @ by_rung))

    def _rung_probabilities(self, histogram: Histogram, scale: Fraction) -> Floats:
        """Distribution of the rung that Algorithm 4 returns.

        The threshold of Algorithm 4 is ``theta n + w``.  Here ``w`` is the sum of two Laplace
        variables, of scales ``scale`` and ``theta * scale``.
        """
        theta = exact(self.theta)
        needed = theta * histogram.mass
        distance = np.array(
            [as_float((needed - histogram.count_at_most(t)) / scale) for t in self.rungs]
        )
        ratio = float(theta)

        def stops(w: Floats) -> Floats:
            density = np.exp(-np.abs(w)) - ratio * np.exp(-np.abs(w) / ratio)
            going_on = np.cumprod(laplace_cdf(distance[:, None] + w), axis=0)
            return going_on * density / (2 * (1 - ratio**2))

        passed = integral(stops, -distance)
        reached = np.concatenate(([1.0], passed[:-1]))
        return np.append(reached[:-1] - passed[:-1], reached[-1])

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """One epsilon-DP verdict."""
        budget = budget_of(epsilon)
        rungs = self._private_rung(histogram, 9 / budget, noise)
        return self._sparse_vector(histogram, interval, 3 / budget, rungs, noise)

    def _private_rung(self, histogram: Histogram, scale: Fraction, noise: Noise) -> int:
        """Rung that Algorithm 4 finds; it spends the budget ``3/scale``."""
        grid = fineness(scale)
        steps = scale * grid
        threshold = exact(self.theta) * noise.laplace(histogram.mass * grid, steps)
        threshold += noise.laplace(0, steps)
        for j, t in enumerate(self.rungs, start=1):
            if noise.laplace(histogram.count_at_most(t) * grid, steps) >= threshold:
                return j
        return len(self.rungs)


def _next_above(end: Fraction) -> int:
    """Least possible sum (a whole number of units) above ``end``: the ``l + 1`` of the paper."""
    return math.floor(end) + 1
