"""A binary tree of weighted counts: measurement, least squares, and variances of range sums.

The strategy matrix A of the matrix mechanism (Li et al. 2015) has a row for each node of a tree
over ``leaves`` cells: ``weight`` times the sum of the cells below the node.  A is never written
out: every computation is a pass over the levels of the tree.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.batch.range_sums.workload import running_sums
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers


def level_edges(leaves: int) -> list[Integers]:
    """First cells of the nodes at each depth: halves of halves, down to single cells."""
    depths = (leaves - 1).bit_length() + 1
    return [np.arange(2**depth + 1) * leaves // 2**depth for depth in range(depths)]


class Crossings:
    """Ranges of cells over the nodes of one level.

    A range holds the nodes ``first .. last - 1`` whole.  Its cells left of ``first`` lie in one
    node, and so do its cells right of ``last``.
    """

    def __init__(self, edges: Integers, starts: Integers, stops: Integers) -> None:
        """``starts`` and ``stops`` of the ranges, in cells; ``edges`` of the level's nodes."""
        self._edges, self._starts, self._stops = edges, starts, stops
        self.first = np.searchsorted(edges, starts)
        self.last = np.searchsorted(edges, stops, side="right") - 1
        self.left = np.maximum(self.first - 1, 0)
        self.right = np.minimum(self.last, edges.size - 2)

    def held(self) -> Integers:
        """Number of ranges that hold each node whole."""
        some = self.last > self.first
        number = self._edges.size
        opened = np.bincount(self.first[some], minlength=number)
        return np.cumsum(opened - np.bincount(self.last[some], minlength=number))[:-1]

    def parts(self, running: Floats) -> tuple[Floats, Floats]:
        """Parts of each range in its left and its right node, from running sums of the cells."""
        ends = np.minimum(self._stops, self._edges[self.first])
        left = running[ends] - running[self._starts]
        begin = np.where(self.last >= self.first, self._edges[self.last], self._stops)
        return left, running[self._stops] - running[begin]

    def squares(self, running: Floats) -> Floats:
        """Sum of the squares of these parts, for each node."""
        left, right = self.parts(running)
        number = self._edges.size - 1
        squares: Floats = np.bincount(self.left, left**2, number).astype(np.float64)
        return squares + np.bincount(self.right, right**2, number)


class _Level(NamedTuple):
    """Variances of node totals at unit noise: from the children, and with the node's own too."""

    children: Floats
    total: Floats


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Tree, given by the weights of its nodes at each depth, whole numbers >= 0.

    Every leaf that is a cell has a weight of at least 1, so A has full column rank.  Halving may
    leave a leaf without a cell; it has weight 0.
    """

    weights: tuple[Integers, ...]
    leaves: int

    @cached_property
    def _edges(self) -> list[Integers]:
        return level_edges(self.leaves)

    @property
    def norm(self) -> int:
        """Largest L1 norm of a column of A: the sum of the weights from the root to a leaf."""
        paths = self.weights[0]
        for level in self.weights[1:]:
            paths = np.repeat(paths, 2) + level
        return int(paths[np.diff(self._edges[-1]) > 0].max())

    def measure(self, cells: NDArray[Any]) -> list[int]:
        """``A cells``, whole numbers for whole cells, without the nodes of weight 0."""
        running = running_sums(cells.astype(object))
        measurements: list[int] = []
        for edges, weights in zip(self._edges, self.weights, strict=True):
            measured = weights > 0
            measurements += (np.diff(running[edges]) * weights.astype(object))[measured].tolist()
        return measurements

    def estimate(self, measured: Floats) -> Floats:
        """``A+ measured``, the least squares solution, in two passes (Hay et al. 2010).

        Upwards, a node's total is the mean of its own measurement and of its children's sum,
        weighted by precision.  Downwards, the difference between a node's total and its children's
        sum is shared among the children in proportion to their variances.
        """
        own = self._by_node(measured)
        totals_by_depth = [own[-1]]
        for depth in range(len(own) - 2, -1, -1):
            squared = self.weights[depth] ** 2.0
            level = self._levels[depth]
            below = _paired(totals_by_depth[0])
            totals_by_depth.insert(0, level.total * (squared * own[depth] + below / level.children))
        totals = totals_by_depth[0]
        for depth, here in enumerate(totals_by_depth[1:]):
            level, child = self._levels[depth], self._levels[depth + 1]
            missing = (totals - _paired(here)) / level.children
            totals = here + child.total * np.repeat(missing, 2)
        return totals[np.diff(self._edges[-1]) > 0]

    def _by_node(self, measured: Floats) -> list[Floats]:
        """Measurements divided by their weights; 0 for nodes without a measurement."""
        found, used = [], 0
        for weights in self.weights:
            level, kept = np.zeros(weights.size), weights > 0
            number = int(kept.sum())
            level[kept] = measured[used : used + number] / weights[kept]
            found.append(level)
            used += number
        return found

    @cached_property
    def _levels(self) -> list[_Level]:
        leaf = self.weights[-1]
        total = np.divide(1.0, leaf**2.0, out=np.zeros(leaf.size), where=leaf > 0)
        levels = [_Level(total, total)]
        for weights in reversed(self.weights[:-1]):
            children = _paired(levels[0].total)
            levels.insert(0, _Level(children, children / (1 + weights**2.0 * children)))
        return levels

    def variances(self, starts: Integers, stops: Integers, coefficients: Floats) -> Floats:
        """``w (A'A)^-1 w'`` for ranges w of cells, each cell times its coefficient.

        Below a node the estimates have covariance C, block by block.  The node's own measurement,
        of weight m, reduces it by ``m^2 / (1 + m^2 1'C1) (C1)(C1)'`` (Sherman and Morrison).
        """
        shares = self._levels[-1].total[np.diff(self._edges[-1]) > 0]
        squares = running_sums(coefficients**2 * shares)
        variances: Floats = squares[stops] - squares[starts]
        for depth in range(len(self.weights) - 2, -1, -1):
            edges, level = self._edges[depth], self._levels[depth]
            factor = self.weights[depth] ** 2.0 / (1 + self.weights[depth] ** 2.0 * level.children)
            running = running_sums(coefficients * shares)
            crossings = Crossings(edges, starts, stops)
            left, right = crossings.parts(running)
            whole = running_sums(factor * np.diff(running[edges]) ** 2)
            inner = whole[np.maximum(crossings.last, crossings.first)] - whole[crossings.first]
            variances = (
                variances
                - factor[crossings.left] * left**2
                - factor[crossings.right] * right**2
                - inner
            )
            shares = shares * np.repeat(level.total / level.children, np.diff(edges))
        return variances


def _paired(values: Floats) -> Floats:
    """Sums of neighbours two by two: the total of each node's two children."""
    sums: Floats = values[0::2] + values[1::2]
    return sums
