"""The matrix mechanism's strategies: statistics to measure, their norm, and answers from them.

With T the diagonal of clamped weights, a strategy measures whole numbers ``M x`` of the vector form
x.  One row changes them by at most the L1 norm of M (its largest column), so noise of scale
``norm / epsilon`` on each is epsilon-DP (Li et al. 2015, Proposition 2; Dwork et al. 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pqd.deciders.batch.range_sums.hierarchy import Crossings, Hierarchy, level_edges
from pqd.deciders.batch.range_sums.workload import RangeSums, running_sums
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers

# Weights are whole multiples of 1/4096 of a column's norm; shares are tried in 200 steps.
NORM = 2**12
_SHARES = np.arange(200, 0, -1)[:, None] / 200


class _State(NamedTuple):
    """State of the nodes of a level if all their columns have norm 1.

    ``total`` is the variance of a node's count, and ``weighted`` that of the sum of its
    coefficients.  ``error`` is the sum of the variances of the ranges' parts in it.  ``shares``
    has for each cell the covariance of its estimate with its node's count.
    """

    total: Floats
    weighted: Floats
    error: Floats
    shares: Floats


def greedy_hierarchy(starts: Integers, stops: Integers, coefficients: Floats) -> Hierarchy:
    """Tree for ranges of cells, each cell times its coefficient.

    From the leaves upwards, every node takes the share of its columns' norm that minimises the
    variance of the ranges' parts in it; the rest goes to its children in the proportions found
    before.  The minimum is over a grid of shares and only for the tree below the node: the
    algorithm is greedy, not optimal.

    A range that holds a node's parent whole is left to the parent (ours), except for the part of
    its coefficients that is uncorrelated with the node's count: no total above measures that
    part.  Li, Hay and Miklau count such a range at every node, and let a node's gain fade with its
    depth; on all prefixes of 1,024 cells this has 1.3 times the squared error.
    """
    edges = level_edges(coefficients.size)
    crossings = [Crossings(level, starts, stops) for level in edges]
    whole = [level_crossings.held() for level_crossings in crossings]
    by_parent = [np.zeros_like(whole[0]), *(np.repeat(above, 2) for above in whole[:-1])]
    shares: list[Floats] = []
    state = _leaves(edges[-1], whole[-1] - by_parent[-1], coefficients)
    for depth in range(len(edges) - 2, -1, -1):
        running = running_sums(coefficients * state.shares)
        parts = crossings[depth].squares(running)
        gain = np.diff(running[edges[depth]]) ** 2
        ranges = _Ranges(parts, gain, whole[depth] - by_parent[depth], by_parent[depth])
        state, share = _joined(state, np.diff(edges[depth]), ranges)
        shares.insert(0, share)
    return hierarchy_of_shares(shares, coefficients.size)


class _Ranges(NamedTuple):
    """Ranges' demands on each node of a level.

    ``parts`` and ``gain`` are squared covariances with the node's count: ``parts`` of all ranges'
    parts in it together, ``gain`` of one range that holds it whole.  ``held`` is the number of
    ranges that hold it whole but not its parent; ``by_parent`` is the number that hold its parent.
    """

    parts: Floats
    gain: Floats
    held: Integers
    by_parent: Integers


def _leaves(edges: Integers, held: Integers, coefficients: Floats) -> _State:
    present = np.diff(edges)
    weighted = np.zeros(present.size)
    weighted[present > 0] = coefficients**2
    return _State(present.astype(float), weighted, held * weighted, np.ones(coefficients.size))


def _joined(below: _State, sizes: Integers, ranges: _Ranges) -> tuple[_State, Floats]:
    """Nodes made of pairs of the nodes ``below``, and the share that each takes."""
    total, weighted, error = (v[0::2] + v[1::2] for v in (below.total, below.weighted, below.error))
    # Each variance has two parts.  ``told`` falls with the variance of the node's count; ``beyond``
    # only grows as the children's share falls.  Both are computed for one range that holds the
    # node, and for all parts in it together.
    told_of_one = ranges.gain / total
    told = ranges.parts / total + ranges.held * told_of_one
    beyond_one = _beyond(weighted, told_of_one)
    beyond = _beyond(error + ranges.held * weighted, told)

    def variance(rest: Floats, mute: Floats, heard: Floats) -> Floats:
        return mute / rest**2 + heard / (rest**2 + total * (1 - rest) ** 2)

    errors = variance(_SHARES, beyond + ranges.by_parent * beyond_one, told)
    # A single cell is measured only once.
    rest = np.where(sizes > 1, _SHARES[np.argmin(errors, axis=0), 0], 1.0)
    shrunk = variance(rest, np.zeros(1), np.ones(1))
    state = _State(
        total * shrunk,
        variance(rest, beyond_one, told_of_one),
        variance(rest, beyond, told),
        below.shares * np.repeat(shrunk, sizes),
    )
    return state, 1 - rest


def _beyond(whole: Floats, part: Floats) -> Floats:
    """``whole - part``, set to 0 if it is only rounding: shares would magnify that."""
    difference = whole - part
    return np.where(difference > 1e-9 * whole, difference, 0.0)


def hierarchy_of_shares(taken: Sequence[Floats], leaves: int) -> Hierarchy:
    """Tree, given the share that each inner node takes of the norm that its parents leave.

    Weights are whole, add up to NORM on every path, and are at least 1 for a leaf.
    """
    left = np.array([NORM])
    weights: list[Integers] = []
    for shares in taken:
        weights.append(np.minimum(np.rint(shares * left).astype(np.int64), left - 1))
        left = np.repeat(left - weights[-1], 2)
    return Hierarchy((*weights, left * np.diff(level_edges(leaves)[-1])), leaves)


# Function from ranges of cells (starts, stops) and the cells' coefficients to a tree.
Chooser = Callable[[Integers, Integers, Floats], Hierarchy]


class Strategy(Protocol):
    """Strategy for one workload and one public threshold.

    Conformers: CountsStrategy, AnswersStrategy, TreeStrategy.
    """

    @property
    def norm(self) -> int:
        """Largest change of all statistics together by one row, at least 1."""
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
        """Largest product of a bucket's weight and the number of ranges that it counts in."""
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

    ``edges`` are where the cells begin.  An answer is the sum of its cells' least squares
    estimates times ``coefficients``.  Buckets that no range separates share a cell: nothing is
    lost, since the workload's columns are equal there, and A has full column rank.
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
        """TIMM (Wu 2019, Algorithm 7): A for W, on weighted counts ``Tx``."""
        edges = workload.edges()
        coefficients = np.ones(edges.size - 1)
        tree = choose(*workload.over(edges), coefficients)
        return cls(workload, edges, weights, coefficients, tree)

    @classmethod
    def of_counts(
        cls, workload: RangeSums, weights: Integers, choose: Chooser = greedy_hierarchy
    ) -> TreeStrategy:
        """TAMM (Wu 2019, Algorithm 8): A for WT, on counts ``x``."""
        edges = workload.edges(weights)
        coefficients = weights[edges[:-1]].astype(np.float64)
        tree = choose(*workload.over(edges), coefficients)
        return cls(workload, edges, np.ones_like(weights), coefficients, tree)

    @property
    def norm(self) -> int:
        """``||AT||_1`` or ``||A||_1``: columns of A have equal norms; the largest weight counts."""
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
