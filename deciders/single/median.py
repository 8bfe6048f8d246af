"""Deciders of MEDIAN and QUANTILE queries (Patwa 2023, section 6); the median is the lower one."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.bounds import LatticeBounds, QuantileBounds
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.estimators.base import Estimator, EstimatorOutput, whole_span
from pqd.deciders.estimators.exponential import ExponentialQuantile
from pqd.deciders.estimators.majority import HalfLaw, MajorityCounts, MajorityLaw, counts_beyond
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.histogram import HALF, Histogram, Integers
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
            raise ParameterError(f"{self.id} chooses among lattice points: give lower and upper")
        return self.lower, self.upper

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Log-odds that a lattice point inside the interval is chosen (Prop. C.1)."""
        return self._logit_at(HALF, histogram, interval, epsilon)

    def _logit_at(
        self, p: Fraction, histogram: Histogram, interval: Interval, epsilon: Number
    ) -> float:
        """Log-odds with the score ``-|rank(e) - p n|``, of sensitivity at most 1."""
        lower, upper = self._ends()
        runs = np.concatenate(([_LOWEST], histogram.values, [_HIGHEST]))
        first, last = math.floor(interval.lower) + 1, math.ceil(interval.upper) - 1
        inside = self._points(runs, max(first, lower), min(last, upper))
        points = self._points(runs, lower, upper)
        part, whole = p.as_integer_ratio()
        ranks = histogram.cumulative_counts
        # Products beyond 64 bits would wrap around and break the guarantee.
        if whole * (histogram.mass + 1) >= 2**62:
            ranks = ranks.astype(object)
        scores = -np.abs(whole * ranks - part * histogram.mass)
        # First subtract the best score, in integers, so that a large epsilon does not underflow all
        # weights.
        scores -= scores.max()
        exponents = as_float(budget_of(epsilon)) * scores.astype(np.float64) / (2 * whole)
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
class ExponentialQuantileRank(QuantileBounds, ExponentialMedian):
    """``em_median`` for the p-quantile: the score of ``e`` is ``-|rank(e) - p n|``.

    Guarantee: epsilon-DP.  Patwa 2023, end of section 6.2, puts p n in place of n/2 and keeps the
    mechanism, so the score counts as one of sensitivity 1.  One more row moves ``rank(e)`` by 0 or
    1 and ``p n`` by p, so the sensitivity is ``max(p, 1 - p)``: the rest of epsilon is wasted.
    Points after many equal values are favoured as by ``em_median`` (docs/errata.md, 4).
    """

    id: ClassVar[str] = "em_quantile"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "p")
    aggregate: ClassVar[str] = "QUANTILE"

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Log-odds that a lattice point inside the interval is chosen."""
        return self._logit_at(self.p, histogram, interval, epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedExponentialMedian(ExponentialMedian):
    """``em_median`` with a score that knows ties, at its true sensitivity (ours).

    The score of ``e`` is minus the number of rows to add or remove until ``e`` is the median.  It
    is 0 at the median alone, so that enough budget finds it (docs/errata.md, 3 and 4).

    Guarantee: epsilon-DP (McSherry and Talwar 2007), like the estimator ``ExponentialQuantile``:
    one row changes the number of rows by at most 1.  Only the yes/no choice is released.
    """

    id: ClassVar[str] = "em_median_corrected"

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Log-odds that a lattice point inside the interval is chosen."""
        lower, upper = self._ends()
        estimator = ExponentialQuantile(lower=lower, upper=upper, step=self.step)
        return estimator.logit(histogram, interval, epsilon)


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
        if not isinstance(estimator, MajorityCounts):
            raise TypeError("the rule is that of three noisy counts")
        return not estimator.reaches_half(released)

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Chance of a yes; see ``acceptance``."""
        return self.acceptance(histogram, interval)(budget_of(epsilon))

    def acceptance(self, histogram: Histogram, interval: Interval) -> MajorityLaw:
        """``sum_k Pr[ceil(n~/2) = k] F(k - q1) F(k - q2)`` as a function of epsilon."""
        return HalfLaw(*counts_beyond(histogram, whole_span(interval)))

    def answer_estimate(
        self, decision: Decision, interval: Interval, epsilon: Number, alpha: Number
    ) -> Estimate:
        """Bounds on the answer; each bound is an end of the interval or None.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramQuantile(QuantileBounds, HistogramMedian):
    """Algorithm 3 for the p-quantile: yes unless one side of the interval holds too many rows.

    Let ``q1`` count the values <= l, ``q2`` the values >= r, and n all rows.  Each count has noise
    ``Lap(2/epsilon)``.  With ``p = c/d`` the verdict is yes exactly if ``c n~ - d q1~ > 1/2`` and
    ``(d - c) n~ - d q2~ > -1/2``.  Without noise the verdict is true on every table: the left sides
    are whole numbers, at least 1 and at least 0 exactly if the quantile is inside.

    Patwa 2023, end of section 6.2, has ``q1~ >= ceil(p n~)`` and ``q2~ >= ceil((1 - p) n~)`` for a
    no.  The second is wrong without noise if d divides n, and with noise both depend on its sign
    alone where a claim barely holds (docs/errata.md, 5).  So nothing is rounded here.

    Guarantee: epsilon-DP, as for ``hist_median``, which releases the same three counts.  The
    guarantee does not depend on p, which is public and enters only afterwards.
    """

    id: ClassVar[str] = "hist_quantile"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "p")
    aggregate: ClassVar[str] = "QUANTILE"

    def estimator(self, interval: Interval, epsilon: Number) -> MajorityCounts:
        """Estimator of the three noisy counts on the fine grid."""
        return MajorityCounts.finely(interval, epsilon, self.p, self.aggregate)

    def rule(self, estimator: Estimator, released: EstimatorOutput, interval: Interval) -> bool:
        """Verdict: whether both noisy claims hold."""
        return estimator.contains(released, estimator.span(interval))

    def acceptance(self, histogram: Histogram, interval: Interval) -> MajorityLaw:
        """``Pr[yes]`` as a function of epsilon, an integral over the noise of n."""
        return MajorityLaw(*counts_beyond(histogram, whole_span(interval)), self.p)
