"""Five mechanisms for a batch of range sums, each with any truncation (Wu 2019, Table 1).

Four of them use a strategy of the matrix mechanism.  Let T be the diagonal matrix of clamped
weights, and x the vector form of the table.  A strategy measures whole numbers ``M x``.  One row
changes them by at most the L1 norm of M (its largest column).  So noise of scale ``norm / epsilon``
on each number is epsilon-DP (Li et al. 2015, Proposition 2; Dwork et al. 2006).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.range_sums.hierarchy import Hierarchy, greedy_hierarchy
from pqd.deciders.batch.range_sums.truncation import NoTruncation, Truncation
from pqd.deciders.batch.range_sums.workload import RangeSums, running_sums
from pqd.deciders.distributions import Floats, noise_variance
from pqd.deciders.exact import Number, budget_of, exact
from pqd.deciders.histogram import Histogram, Integers
from pqd.deciders.noise import Noise

_NO_TRUNCATION = NoTruncation()
# Function from ranges of cells (starts, stops) and the cells' coefficients to a tree.
Chooser = Callable[[Integers, Integers, Floats], Hierarchy]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangeSumMechanism(ABC):
    """One mechanism for one workload, as a frozen value; a ``BatchMechanism`` of histograms.

    Subclasses: SingleQueries, IdentityMechanism, WorkloadMechanism, TruncationIndependent,
    TruncationAware.  Values are assumed to be >= 0.  A mechanism has one threshold, or one for
    each range that chose its own.  Given its thresholds, an answer is an unbiased estimate of the
    *truncated* sum, with its standard deviation.  The amount by which truncation lowers the sum is
    not known.
    """

    workload: RangeSums
    truncation: Truncation = _NO_TRUNCATION

    id: ClassVar[str]

    def budgets(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        """Budget of one threshold, ``rho epsilon``, and budget of the noise after it."""
        budget = budget_of(epsilon)
        spent = exact(self.truncation.share) * budget
        return spent, budget - spent

    @abstractmethod
    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> BatchOutput:
        """Epsilon-DP answers; each conformer states its guarantee and source."""

    def noise_law(self, epsilon: Number) -> None:
        """None, because the loss by truncation and buckets depends on the rows."""
        return

    @abstractmethod
    def variances(self, threshold: int, epsilon: Number) -> Floats:
        """Variance of each answer, given the threshold."""

    @abstractmethod
    def untruncated_scale(self, epsilon: Number) -> Fraction:
        """Largest noise scale of the answers, which is the scale without truncation."""

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the noise scales that ``release`` draws; public."""
        of_threshold = self.truncation.largest_scale(self.budgets(epsilon)[0])
        return max(of_threshold, self.untruncated_scale(epsilon))

    def errors(self, histogram: Histogram, threshold: int, epsilon: Number) -> Floats:
        """Expected squared error of each answer, given the threshold (Wu 2019, A.3, A.4).

        It is the square of the bias ``W(D - T)x`` plus the variance.  Not private, for analysis
        only.
        """
        counts = self.workload.buckets.counts(histogram)
        bias = self.workload.answers(counts) - self.workload.answers(counts, threshold)
        squares: Floats = bias.astype(np.float64) ** 2
        return squares + self.variances(threshold, epsilon)

    def law(self, histogram: Histogram, epsilon: Number) -> dict[int, float]:
        """Thresholds and their probabilities; not private, for analysis only."""
        buckets = self.workload.buckets
        law = self.truncation.law(buckets.counts(histogram), buckets, self.budgets(epsilon)[0])
        chances: dict[int, float] = {}
        for threshold, chance in law:
            chances[threshold] = chances.get(threshold, 0.0) + chance
        return chances


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SingleQueries(RangeSumMechanism):
    """SQM (Wu 2019, Algorithms 1-3): each range is answered alone, with its own threshold t.

    An answer is the sum with weights clamped to t, plus noise of scale ``min(t, top) / eps``, where
    ``top`` is the largest weight in the range.

    Guarantee: epsilon-DP by sequential composition (Dwork et al. 2006).  Each of m ranges has
    ``epsilon / m``, and its threshold spends the share rho of that.  Algorithm 1 splits epsilon
    as this code does.  Algorithms 2 and 3 as printed spend epsilon on every range, and clamp rows
    before they select them, so that all rows above a range count (docs/errata.md, 11.3 and 11.4).
    """

    id: ClassVar[str] = "sqm"
    key_fields: ClassVar[tuple[str, ...]] = ()

    def budgets(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        """Budgets of one range."""
        spent, rest = RangeSumMechanism.budgets(self, epsilon)
        ranges = len(self.workload.ranges)
        return spent / ranges, rest / ranges

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> BatchOutput:
        """Epsilon-DP answers."""
        spent, rest = self.budgets(epsilon)
        buckets = self.workload.buckets
        counts = buckets.counts(histogram)
        thresholds = [
            self.truncation.threshold(counts, buckets, max(1, top), spent, noise)
            for top in self.workload.tops.tolist()
        ]
        sums = self.workload.answers(counts, np.array(thresholds))
        answers = [noise.laplace(q, t / rest) for q, t in zip(sums, thresholds, strict=True)]
        deviations = [math.sqrt(noise_variance(t / rest)) for t in thresholds]
        return BatchOutput.of(answers, thresholds, deviations)

    def variances(self, threshold: int, epsilon: Number) -> Floats:
        """Variances of the noise of each range."""
        rest = self.budgets(epsilon)[1]
        clamped = np.maximum(1, np.minimum(self.workload.tops, threshold))
        distinct, places = np.unique(clamped, return_inverse=True)
        return np.array([noise_variance(t / rest) for t in distinct.tolist()])[places]

    def untruncated_scale(self, epsilon: Number) -> Fraction:
        """Noise scale of the range with the largest weight."""
        return max(1, int(self.workload.tops.max())) / self.budgets(epsilon)[1]


@dataclass(frozen=True, slots=True)
class CountsStrategy:
    """IDENTITY: the count of every bucket is measured, ``WT(x + noise)``."""

    workload: RangeSums
    weights: Integers

    @property
    def norm(self) -> int:
        """One, because a row lies in one bucket."""
        return 1

    def statistics(self, counts: Integers) -> list[int]:
        """Measured numbers ``x``."""
        statistics: list[int] = counts.tolist()
        return statistics

    def answers(self, measured: Floats) -> Floats:
        """Answers ``WT measured``."""
        return self.workload.sums(self.weights * measured)

    def variances(self) -> Floats:
        """Sums of squared weights, one for each range."""
        return self.workload.sums(self.weights**2.0)


@dataclass(frozen=True, slots=True)
class AnswersStrategy:
    """WORKLOAD: every answer is measured, ``WTx + noise``."""

    workload: RangeSums
    weights: Integers

    @property
    def norm(self) -> int:
        """Largest product of a bucket's weight and the number of ranges that contain the bucket."""
        changed = self.weights.astype(object) * self.workload.containing
        return max(1, int(changed.max()))

    def statistics(self, counts: Integers) -> list[int]:
        """Measured numbers ``WTx``."""
        statistics: list[int] = self.workload.sums(self.weights.astype(object) * counts).tolist()
        return statistics

    def answers(self, measured: Floats) -> Floats:
        """Answers, which are the measured numbers."""
        return measured

    def variances(self) -> Floats:
        """Ones, because each answer has one unit of noise."""
        return np.ones(len(self.workload.ranges))


@dataclass(frozen=True, slots=True)
class TreeStrategy:
    """GreedyH on cells of neighbouring buckets: A times the sums of ``scaled`` rows in each cell.

    Each cell begins at one of the ``edges``.  An answer is the sum, over its cells, of the cell's
    least squares estimate times its coefficient.  Buckets that no range separates share a cell.
    Nothing is lost, because the workload's columns are equal there and A has full column rank.
    """

    workload: RangeSums
    edges: Integers
    scaled: Integers
    coefficients: Floats
    hierarchy: Hierarchy

    @classmethod
    def of_sums(
        cls, workload: RangeSums, weights: Integers, choose: Chooser = greedy_hierarchy
    ) -> TreeStrategy:
        """TIMM (Wu 2019, Algorithm 7): A is chosen for W and measures weighted counts ``Tx``."""
        edges = workload.edges()
        coefficients = np.ones(edges.size - 1)
        tree = choose(*workload.over(edges), coefficients)
        return cls(workload, edges, weights, coefficients, tree)

    @classmethod
    def of_counts(
        cls, workload: RangeSums, weights: Integers, choose: Chooser = greedy_hierarchy
    ) -> TreeStrategy:
        """TAMM (Wu 2019, Algorithm 8): A is chosen for WT and measures counts ``x``."""
        edges = workload.edges(weights)
        coefficients = weights[edges[:-1]].astype(np.float64)
        tree = choose(*workload.over(edges), coefficients)
        return cls(workload, edges, np.ones_like(weights), coefficients, tree)

    @property
    def norm(self) -> int:
        """``||AT||_1`` or ``||A||_1``: the norm of A's equal columns times the largest weight."""
        return self.hierarchy.norm * max(1, int(self.scaled.max()))

    def statistics(self, counts: Integers) -> list[int]:
        """Measured numbers ``ATx`` or ``Ax``."""
        running = running_sums(self.scaled.astype(object) * counts)
        return self.hierarchy.measure(np.diff(running[self.edges]))

    def answers(self, measured: Floats) -> Floats:
        """Answers ``W A+ measured`` or ``WT A+ measured``."""
        starts, stops = self.workload.over(self.edges)
        running = running_sums(self.coefficients * self.hierarchy.estimate(measured))
        answers: Floats = running[stops] - running[starts]
        return answers

    def variances(self) -> Floats:
        """``w (A'A)^-1 w'`` for each row w of W or WT."""
        return self.hierarchy.variances(*self.workload.over(self.edges), self.coefficients)


# Strategies for one workload and one public threshold.  ``statistics`` gives ``M x`` exactly, and
# ``variances`` gives the answers' variances per unit variance of the noise.
Strategy = CountsStrategy | AnswersStrategy | TreeStrategy


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatrixMechanism(RangeSumMechanism):
    """Mix-in of the batch query mode (Wu 2019, Algorithm 9): a threshold, then a strategy.

    Guarantee: epsilon-DP by sequential composition: ``rho epsilon`` for the threshold, the rest
    for the strategy's statistics.  These are whole numbers, and one row changes them by at most
    the strategy's norm in total.  Each statistic has noise of its own.  Algorithm 9 shares one
    noise vector among four mechanisms, whose answers together are not private (docs/errata.md,
    11.10).  The strategy depends on the released threshold, not on the table.  The answers are
    post-processing.
    """

    @abstractmethod
    def strategy(self, weights: Integers) -> Strategy:
        """Strategy for rows that count by ``weights``, which is the diagonal of T."""

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> BatchOutput:
        """Epsilon-DP answers."""
        spent, rest = self.budgets(epsilon)
        buckets = self.workload.buckets
        counts = buckets.counts(histogram)
        threshold = self.truncation.threshold(counts, buckets, buckets.top, spent, noise)
        strategy = self.strategy(self.workload.weights(threshold))
        scale = strategy.norm / rest
        measured = [noise.laplace(value, scale) for value in strategy.statistics(counts)]
        answers = strategy.answers(np.array(measured, dtype=np.float64))
        deviations = np.sqrt(strategy.variances() * noise_variance(scale))
        return BatchOutput.of(answers, (threshold,), deviations)

    def variances(self, threshold: int, epsilon: Number) -> Floats:
        """Variances of the strategy times the variance of the noise."""
        strategy = self.strategy(self.workload.weights(threshold))
        return strategy.variances() * noise_variance(strategy.norm / self.budgets(epsilon)[1])

    def untruncated_scale(self, epsilon: Number) -> Fraction:
        """Noise scale at the strategy's norm when no weight is clamped."""
        weights = self.workload.weights(self.workload.buckets.top)
        return self.strategy(weights).norm / self.budgets(epsilon)[1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdentityMechanism(MatrixMechanism):
    """IDENTITY (Wu 2019, Algorithm 5): noise on each bucket's count.  Guarantee: epsilon-DP."""

    id: ClassVar[str] = "identity"
    key_fields: ClassVar[tuple[str, ...]] = ()

    def strategy(self, weights: Integers) -> Strategy:
        """Strategy that measures counts."""
        return CountsStrategy(self.workload, weights)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkloadMechanism(MatrixMechanism):
    """WORKLOAD (Wu 2019, Algorithm 6): noise on each answer.  Guarantee: epsilon-DP."""

    id: ClassVar[str] = "workload"
    key_fields: ClassVar[tuple[str, ...]] = ()

    def strategy(self, weights: Integers) -> Strategy:
        """Strategy that measures answers."""
        return AnswersStrategy(self.workload, weights)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TruncationIndependent(MatrixMechanism):
    """TIMM (Wu 2019, Algorithm 7): GreedyH for W on weighted counts.  Guarantee: epsilon-DP."""

    id: ClassVar[str] = "timm"
    key_fields: ClassVar[tuple[str, ...]] = ()

    def strategy(self, weights: Integers) -> Strategy:
        """Strategy that measures a tree of sums."""
        return TreeStrategy.of_sums(self.workload, weights)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TruncationAware(MatrixMechanism):
    """TAMM (Wu 2019, Algorithm 8): GreedyH for WT on counts.  Guarantee: epsilon-DP."""

    id: ClassVar[str] = "tamm"
    key_fields: ClassVar[tuple[str, ...]] = ()

    def strategy(self, weights: Integers) -> Strategy:
        """Strategy that measures a tree of counts."""
        return TreeStrategy.of_counts(self.workload, weights)
