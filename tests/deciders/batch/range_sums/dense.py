"""The same matrices written out, for small tests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.batch.range_sums.hierarchy import Hierarchy, level_edges
from pqd.deciders.batch.range_sums.workload import RangeSums

Matrix = NDArray[np.float64]


def workload_matrix(workload: RangeSums) -> Matrix:
    """W: a row for each range."""
    found = np.zeros((len(workload.ranges), len(workload.buckets.ends)))
    for row, (start, stop) in zip(found, workload.ranges, strict=True):
        row[start:stop] = 1
    return found


def tree_matrix(hierarchy: Hierarchy) -> Matrix:
    """A: a row for each node that has a weight."""
    rows = []
    for edges, weights in zip(level_edges(hierarchy.leaves), hierarchy.weights, strict=True):
        for start, stop, weight in zip(edges[:-1], edges[1:], weights, strict=True):
            if weight:
                row = np.zeros(hierarchy.leaves)
                row[start:stop] = weight
                rows.append(row)
    return np.array(rows)


def cells_matrix(edges: NDArray[Any]) -> Matrix:
    """Sums of buckets in cells that begin at ``edges``."""
    buckets = np.arange(edges[-1])
    return ((edges[:-1, None] <= buckets) & (buckets < edges[1:, None])).astype(np.float64)


def column_norm(matrix: Matrix) -> float:
    """The L1 norm: the largest column sum."""
    return float(np.abs(matrix).sum(axis=0).max())
