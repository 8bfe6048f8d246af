"""The matrix mechanism's strategies: what is measured, its norm, and answers from it.

With T the diagonal of clamped weights, a strategy measures whole numbers ``M x`` of the vector form
x.  The L1 norm of M (the largest column) is what one row changes in them, so noise of scale
``norm / epsilon`` on each is epsilon-DP (Li et al. 2015, Proposition 2; Dwork et al. 2006).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pqd.deciders.batch.range_sums.greedy_h import greedy_hierarchy
from pqd.deciders.batch.range_sums.hierarchy import Hierarchy
from pqd.deciders.batch.range_sums.workload import RangeSums, running_sums
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers

# From ranges of cells (starts, stops) and the cells' coefficients to a tree.
Chooser = Callable[[Integers, Integers, Floats], Hierarchy]


class Strategy(Protocol):
    """Strategy for one workload and one public threshold.

    Conformers: CountsStrategy, AnswersStrategy, TreeStrategy.
    """

    @property
    def norm(self) -> int:
        """Most that one row changes in all statistics together, at least 1."""
        ...

    def statistics(self, counts: Integers) -> list[int]:
        """``M x``, exact."""
        ...

    def answers(self, measured: Floats) -> Floats:
        """Workload's answers from noisy statistics."""
        ...

    def variances(self) -> Floats:
        """Variance of each answer, per unit variance of the noise."""
        ...


@dataclass(frozen=True, slots=True)
class CountsStrategy:
    """IDENTITY: every bucket's count, ``WT(x + noise)``."""

    workload: RangeSums
    weights: Integers

    @property
    def norm(self) -> int:
        """One: a row lies in one bucket."""
        return 1

    def statistics(self, counts: Integers) -> list[int]:
        """``x``."""
        statistics: list[int] = counts.tolist()
        return statistics

    def answers(self, measured: Floats) -> Floats:
        """``WT measured``."""
        return self.workload.sums(self.weights * measured)

    def variances(self) -> Floats:
        """Sums of squared weights."""
        return self.workload.sums(self.weights**2.0)


@dataclass(frozen=True, slots=True)
class AnswersStrategy:
    """WORKLOAD: every answer, ``WTx + noise``."""

    workload: RangeSums
    weights: Integers

    @property
    def norm(self) -> int:
        """Largest weight times the number of ranges that it counts in."""
        changed = self.weights.astype(object) * self.workload.containing
        return max(1, int(changed.max()))

    def statistics(self, counts: Integers) -> list[int]:
        """``WTx``."""
        statistics: list[int] = self.workload.sums(self.weights.astype(object) * counts).tolist()
        return statistics

    def answers(self, measured: Floats) -> Floats:
        """Measured answers."""
        return measured

    def variances(self) -> Floats:
        """Ones."""
        return np.ones(len(self.workload.ranges))


@dataclass(frozen=True, slots=True)
class TreeStrategy:
    """GreedyH on cells of neighbouring buckets: A times the sums of ``scaled`` rows in each cell.

    ``edges`` are where the cells begin; an answer is the sum of its cells' least squares estimates
    times ``coefficients``.  Buckets that no range tells apart share a cell: that loses nothing (the
    workload's columns are equal there) and makes A of full column rank.
    """

    workload: RangeSums
    edges: Integers
    scaled: Integers
    coefficients: Floats
    hierarchy: Hierarchy

    @classmethod
    def of_sums(
        cls, workload: RangeSums, weights: Integers, choose: Chooser = greedy_hierarchy
    ) -> "TreeStrategy":
        """TIMM (Wu 2019, Algorithm 7): A for W, on weighted counts ``Tx``."""
        edges = workload.edges()
        coefficients = np.ones(edges.size - 1)
        tree = choose(*workload.over(edges), coefficients)
        return cls(workload, edges, weights, coefficients, tree)

    @classmethod
    def of_counts(
        cls, workload: RangeSums, weights: Integers, choose: Chooser = greedy_hierarchy
    ) -> "TreeStrategy":
        """TAMM (Wu 2019, Algorithm 8): A for WT, on counts ``x``."""
        edges = workload.edges(weights)
        coefficients = weights[edges[:-1]].astype(np.float64)
        tree = choose(*workload.over(edges), coefficients)
        return cls(workload, edges, np.ones_like(weights), coefficients, tree)

    @property
    def norm(self) -> int:
        """``||AT||_1`` or ``||A||_1``: columns of A share one norm, so the largest row counts."""
        return self.hierarchy.norm * max(1, int(self.scaled.max()))

    def statistics(self, counts: Integers) -> list[int]:
        """``ATx`` or ``Ax``."""
        running = running_sums(self.scaled.astype(object) * counts)
        return self.hierarchy.measure(np.diff(running[self.edges]))

    def answers(self, measured: Floats) -> Floats:
        """``W A+ measured`` or ``WT A+ measured``."""
        starts, stops = self.workload.over(self.edges)
        running = running_sums(self.coefficients * self.hierarchy.estimate(measured))
        answers: Floats = running[stops] - running[starts]
        return answers

    def variances(self) -> Floats:
        """``w (A'A)^-1 w'`` of each row of W or WT."""
        return self.hierarchy.variances(*self.workload.over(self.edges), self.coefficients)
