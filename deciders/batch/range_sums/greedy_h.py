"""GreedyH: the weights of a tree of counts, chosen for a workload (Li, Hay and Miklau 2014)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pqd.deciders.batch.range_sums.hierarchy import Crossings, Hierarchy, level_edges
from pqd.deciders.batch.range_sums.workload import running_sums
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers

# Weights are whole multiples of 1/4096 of a column's norm; shares are tried in 200 steps.
NORM = 2**12
_SHARES = np.arange(200, 0, -1)[:, None] / 200


class _State(NamedTuple):
    """State of the nodes of a level when all their columns have norm 1.

    ``total`` is the variance of a node's count, ``weighted`` that of its coefficients' sum, and
    ``error`` the sum of the variances of the ranges' parts in it.  ``shares`` has, for each cell,
    the covariance of its estimate with its node's count.
    """

    total: Floats
    weighted: Floats
    error: Floats
    shares: Floats


def greedy_hierarchy(starts: Integers, stops: Integers, coefficients: Floats) -> Hierarchy:
    """Tree for ranges of cells, each cell times its coefficient.

    From the leaves upward, every node takes the share of its columns' norm that makes the variance
    of the ranges' parts in it least, the rest goes to its children in the proportions found
    before.  Least over a grid of shares, and only for the tree below: greedy, not optimal.

    A range that holds a node's parent whole is left to the parent (ours), but for what no total
    above can tell: the part of its coefficients that is uncorrelated with the node's count.  Li,
    Hay and Miklau count it at every node and let what a node gains fade with its depth; on all
    prefixes of 1,024 cells that has 1.3 times the squared error.
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
    """Demand of the ranges on each node of a level.

    ``parts`` and ``gain`` are squared covariances with its count: of the ranges' parts in it, all
    together, and of one that holds it whole.  ``held`` is how many do that but do not hold its
    parent, ``by_parent`` how many hold its parent.
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
    """Nodes made of pairs of those ``below``, and the share that each takes."""
    total, weighted, error = (v[0::2] + v[1::2] for v in (below.total, below.weighted, below.error))
    # Variance that falls with that of the node's count, and variance that only grows as the
    # children's share falls: of a range that holds the node, and of all parts in it together.
    told_of_one = ranges.gain / total
    told = ranges.parts / total + ranges.held * told_of_one
    beyond_one = _beyond(weighted, told_of_one)
    beyond = _beyond(error + ranges.held * weighted, told)

    def variance(rest: Floats, mute: Floats, heard: Floats) -> Floats:
        return mute / rest**2 + heard / (rest**2 + total * (1 - rest) ** 2)

    errors = variance(_SHARES, beyond + ranges.by_parent * beyond_one, told)
    # A single cell is measured once.
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
    """``whole - part``, 0 where it is but rounding: shares would magnify that."""
    difference = whole - part
    return np.where(difference > 1e-9 * whole, difference, 0.0)


def hierarchy_of_shares(taken: Sequence[Floats], leaves: int) -> Hierarchy:
    """Tree from the share that each inner node takes of what its parents leave.

    Weights are whole, add up to NORM on every path, and are at least 1 for a leaf.
    """
    left = np.array([NORM])
    weights: list[Integers] = []
    for shares in taken:
        weights.append(np.minimum(np.rint(shares * left).astype(np.int64), left - 1))
        left = np.repeat(left - weights[-1], 2)
    return Hierarchy((*weights, left * np.diff(level_edges(leaves)[-1])), leaves)
