"""Batches of range sums over one attribute: public buckets, and ranges of them (Wu 2019, 2)."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.errors import ParameterError
from pqd.deciders.histogram import Histogram, Integers

# Python integers of any size, because sums that feed the noise must not wrap around.
Exact = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Buckets:
    """Public bins of an attribute with values >= 0, by their ascending upper ends in lattice units.

    Bucket i contains ``ends[i - 1] < v <= ends[i]`` and counts each of its rows as ``ends[i]``, as
    in the paper.  Values above the last end are clamped to it, and values below the first end are
    raised to it.  So a table of buckets is the table under a map of single rows, which costs no
    privacy.  With one bucket for each lattice value the table does not change.
    """

    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raise ParameterError unless the ends ascend from 0 or more up to 1 or more."""
        ascending = all(low < high for low, high in pairwise(self.ends))
        if not self.ends or not ascending or self.ends[0] < 0 or self.ends[-1] < 1:
            raise ParameterError("bucket ends must ascend from 0 or more, and the last be positive")

    @property
    def top(self) -> int:
        """Largest weight of a row."""
        return self.ends[-1]

    def counts(self, histogram: Histogram) -> Integers:
        """Vector form ``x``: the number of rows in each bucket."""
        places = np.searchsorted(np.array(self.ends), histogram.values)
        counts = np.zeros(len(self.ends), np.int64)
        np.add.at(counts, np.minimum(places, counts.size - 1), histogram.counts)
        return counts


@dataclass(frozen=True, eq=False)
class RangeSums:
    """Workload W: for each range ``(start, stop)`` the sum over the buckets start .. stop - 1.

    W is never built as a matrix.  Sums come from running sums.  The most that one row can change
    comes from the number of ranges that contain its bucket.
    """

    buckets: Buckets
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        """Raise ParameterError unless there are ranges, all nonempty and within the buckets."""
        number = len(self.buckets.ends)
        if not self.ranges or any(not 0 <= low < high <= number for low, high in self.ranges):
            raise ParameterError(f"ranges must be pairs 0 <= start < stop <= {number}")

    @cached_property
    def starts(self) -> Integers:
        """First bucket of each range."""
        return np.array([start for start, _ in self.ranges])

    @cached_property
    def stops(self) -> Integers:
        """First bucket above each range."""
        return np.array([stop for _, stop in self.ranges])

    @cached_property
    def tops(self) -> Integers:
        """Largest weight of a row in each range: the sensitivity of its sum."""
        return np.array(self.buckets.ends)[self.stops - 1]

    @cached_property
    def containing(self) -> Integers:
        """Number of ranges that contain each bucket, which are the column norms of W."""
        number = len(self.buckets.ends) + 1
        opened = np.bincount(self.starts, minlength=number)
        return np.cumsum(opened - np.bincount(self.stops, minlength=number))[:-1]

    def weights(self, threshold: int) -> Integers:
        """Diagonal of T: ends clamped to ``threshold``; 0 for buckets in no range."""
        clamped = np.minimum(self.buckets.ends, threshold)
        return np.where(self.containing > 0, clamped, 0)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """``W values``, exact for an array of Python integers."""
        running = running_sums(values)
        sums_of_ranges: NDArray[Any] = running[self.stops] - running[self.starts]
        return sums_of_ranges

    def answers(self, counts: Integers, thresholds: int | Integers | None = None) -> Exact:
        """Exact sums ``WDx``, or ``WTx`` clamped to one threshold, or to one per range."""
        ends = np.array(self.buckets.ends)
        clamp = np.asarray(self.buckets.top if thresholds is None else thresholds)
        above = np.clip(np.searchsorted(ends, clamp, side="right"), self.starts, self.stops)
        rows = running_sums(counts.astype(object))
        sums = running_sums(ends.astype(object) * counts)
        clamped = clamp.astype(object) * (rows[self.stops] - rows[above])
        answers_of_ranges: Exact = sums[above] - sums[self.starts] + clamped
        return answers_of_ranges

    def edges(self, weights: Integers | None = None) -> Integers:
        """First buckets of the cells, which ranges or steps of ``weights`` separate."""
        edges = [self.starts, self.stops, np.array([0, len(self.buckets.ends)])]
        if weights is not None:
            edges.append(np.flatnonzero(np.diff(weights)) + 1)
        return np.unique(np.concatenate(edges))

    def over(self, edges: Integers) -> tuple[Integers, Integers]:
        """Starts and stops of the ranges, counted in cells that begin at ``edges``."""
        return np.searchsorted(edges, self.starts), np.searchsorted(edges, self.stops)


def running_sums(values: NDArray[Any]) -> NDArray[Any]:
    """Sums of the first 0, 1, 2, ... values, of the same type as the values."""
    running: NDArray[Any] = np.concatenate((np.zeros(1, values.dtype), np.cumsum(values)))
    return running
