"""Deciders of MEDIAN queries (Patwa 2023, section 6); the median is the lower one."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pqd.deciders.bounds import LatticeBounds
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.estimators.base import Estimator, EstimatorOutput, whole_span
from pqd.deciders.estimators.majority import MajorityCounts, MajorityLaw, counts_beyond
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.histogram import Histogram, Integers
from pqd.deciders.interval import Interval
from pqd.deciders.single.base import (
    DeciderDefaults,
    Decision,
    Estimate,
    ExponentialDecider,
    GenericDecider,
)

_LOWEST = -(2**62)
_HIGHEST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMedian(ExponentialDecider, LatticeBounds, DeciderDefaults):
    """Algorithm 1 with the exponential mechanism over the lattice (Cormode et al. 2011).

    The score of ``e`` is ``-|rank(e) - n/2|`` with ``rank(e) = #(A < e)``.  All lattice points
    between two neighbouring data values have the same score, so the mechanism is evaluated on runs
    of lattice points.  A lattice of 10^9 points costs no more than the number of distinct values.

    Guarantee: epsilon-DP (Patwa 2023, Observation 6.1, with sensitivity 1 for the score).  The
    decider releases only whether the chosen point lies inside the interval.  So OpenDP draws a
    single yes/no choice with the exact odds (``SecureNoise.choose``).  The odds are a ratio of sums
    of exponentials, computed in double precision: this decider needs floating point
    (docs/limitations.md).
    """

    id: ClassVar[str] = "em_median"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step")
    aggregate: ClassVar[str] = "MEDIAN"

    def __post_init__(self) -> None:
        """Raise ParameterError unless both bounds are given and form a lattice."""
        LatticeBounds.__post_init__(self)
        self._ends()

    def _ends(self) -> tuple[int, int]:
        if self.lower is None or self.upper is None:
            raise ParameterError("em_median chooses among lattice points: give lower and upper")
        return self.lower, self.upper

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Log-odds that a lattice point inside the interval is chosen (Prop. C.1)."""
        lower, upper = self._ends()
        runs = np.concatenate(([_LOWEST], histogram.values, [_HIGHEST]))
        first, last = math.floor(interval.lower) + 1, math.ceil(interval.upper) - 1
        inside = self._points(runs, max(first, lower), min(last, upper))
        points = self._points(runs, lower, upper)
        doubled = -np.abs(2 * histogram.cumulative_counts - histogram.mass)
        # First subtract the best score, in integers, so that a large epsilon does not underflow all
        # weights.
        exponents = as_float(budget_of(epsilon)) * (doubled - doubled.max()) / 4
        return _log_weight(inside, exponents) - _log_weight(points - inside, exponents)

    def _points(self, runs: Integers, first: int, last: int) -> Floats:
        """Number of lattice points within ``first .. last``, per run ``(runs[i], runs[i+1]]``."""
        if first > last:
            return np.zeros(runs.size - 1)
        clipped = np.clip(runs, first - 1, last)
        index = (clipped - self._ends()[0]) // self.step
        return np.diff(index).astype(np.float64)


def _log_weight(points: Floats, exponents: Floats) -> float:
    """``ln sum points * exp(exponents)``; -inf if there are no points."""
    present = points > 0
    if not present.any():
        return -math.inf
    return float(np.logaddexp.reduce(np.log(points[present]) + exponents[present]))


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramMedian(GenericDecider, LatticeBounds, DeciderDefaults):
    """Algorithm 3: the verdict is yes unless one side of the interval holds a noisy majority.

    The verdict is no if ``q1 + Lap(2/epsilon)`` or ``q2 + Lap(2/epsilon)`` reaches ``ceil(n~/2)``.
    Here ``q1`` counts the values <= l, ``q2`` counts the values >= r and
    ``n~ = n + Lap(2/epsilon)``.

    Guarantee: epsilon-DP (Patwa 2023, Prop. 6.2).  Half of the budget is for n, half for the two
    disjoint counts.  The guarantee covers the three noisy counts, which are released.
    """

    id: ClassVar[str] = "hist_median"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step")
    aggregate: ClassVar[str] = "MEDIAN"
    compares: ClassVar[bool] = True

    def estimator(self, interval: Interval, epsilon: Number) -> MajorityCounts:
        """Estimator of the three noisy counts on the fine grid."""
        return MajorityCounts.finely(interval, epsilon)

    def rule(self, estimator: Estimator, released: EstimatorOutput, interval: Interval) -> bool:
        """Verdict of Algorithm 3."""
        return estimator.contains(released, estimator.span(interval))

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``sum_k Pr[ceil(n~/2) = k] F(k - q1) F(k - q2)``."""
        return self.acceptance(histogram, interval)(budget_of(epsilon))

    def acceptance(self, histogram: Histogram, interval: Interval) -> MajorityLaw:
        """``accept`` as a function of epsilon; the counts are taken once."""
        return MajorityLaw(*counts_beyond(histogram, whole_span(interval)))

    def answer_estimate(
        self, decision: Decision, interval: Interval, epsilon: Number, alpha: Number
    ) -> Estimate:
        """Bounds on the median; each bound is an end of the interval or None.

        Values are compared, unrounded, with the ends of the interval, so each cut stands for an
        end.
        """
        estimate = GenericDecider.answer_estimate(self, decision, interval, epsilon, alpha)
        low, high = self.estimator(interval, epsilon).cuts
        ends = {low: interval.lower, high: interval.upper}
        return Estimate(
            low=None if estimate.low is None else ends[int(estimate.low)],
            high=None if estimate.high is None else ends[int(estimate.high) + 1],
        )
