"""Shapes: tables that the private table might resemble, made from the synthetic histogram.

A needed budget is a forecast for an unknown private table: it is the worst over these shapes.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Histogram, Integers, Sums, rank, sums_of
from pqd.deciders.running_sums import Mirrored, RunningSums

_SHAPED = ("AVG", "MEDIAN", "QUANTILE")
_DRAWN = 2
# With at most this many values, rows are drawn anew value by value.  With more values, they are
# drawn in this many ranges of equally many rows.
_BLOCKS = 1024
# Function from a running count to a new running count, or from an array to an array.
Ranks = Callable[[Any], Any]


# Without slots: the arrays are cached, and are made only if a mechanism reads them.
@dataclass(frozen=True, eq=False)
class Reranked(RunningSums):
    """Table with the values of ``base`` and with new running counts, rounded to whole rows.

    The shape of the histogram is kept.  A value may have no rows.  If ``listed``, all running
    counts are computed at once.  Otherwise each running count is computed when it is read, and
    sums may not be read.
    """

    base: Histogram
    ranks: Ranks
    listed: bool

    @cached_property
    def mass(self) -> int:
        """Number of rows."""
        return self.rows_before(self.size)

    @cached_property
    def _running(self) -> Floats:
        running: Floats = np.rint(self.ranks(self.base.cumulative_counts.astype(np.float64)))
        return running

    @cached_property
    def _sums(self) -> Sums:
        counts = np.diff(self._running).astype(np.int64)
        return sums_of(self.base.values, counts, self.mass)

    @cached_property
    def total(self) -> int:
        """Sum of the values."""
        return int(self._sums[-1])

    @property
    def size(self) -> int:
        """Number of values."""
        return self.base.size

    def value_at(self, place: int) -> int:
        """Value that has ``place`` distinct values below it."""
        return self.base.value_at(place)

    def place_holding(self, k: int) -> int:
        """Place of the ``k``-th smallest row."""
        if self.listed:
            return int(self._running[1:].searchsorted(k))
        # Find the number of rows of ``base`` that is mapped to ``k``.
        rows = range(self.base.mass + 1)
        return self.base.place_holding(bisect_left(rows, k, key=self._ranked))

    def _ranked(self, rows: int) -> int:
        return round(float(self.ranks(rows)))

    def rows_before(self, place: int) -> int:
        """Rows with one of the first ``place`` values."""
        if self.listed:
            return int(self._running.item(place))
        return self._ranked(self.base.rows_before(place))

    def sum_before(self, place: int) -> int:
        """Sum of the rows with one of the first ``place`` values."""
        total: int = self._sums.item(place)
        return total

    def place_below(self, bound: int) -> int:
        """Number of values < ``bound``."""
        return self.base.place_below(bound)

    def place_up_to(self, bound: int) -> int:
        """Number of values <= ``bound``."""
        return self.base.place_up_to(bound)

    @property
    def mirrored(self) -> Mirrored:
        """Table of the values times -1."""
        return Mirrored(self)

    def quantile(self, p: Fraction) -> int:
        """``p``-quantile."""
        return self.value_at(self.place_holding(rank(p, self.mass)))

    @cached_property
    def copy(self) -> Histogram:
        """Histogram of the table."""
        counts = np.diff(self._running).astype(np.int64)
        present = counts > 0
        return Histogram(self.base.values[present], counts[present])

    @property
    def values(self) -> Integers:
        """Values of the table."""
        return self.copy.values

    @property
    def counts(self) -> Integers:
        """Number of rows of each value."""
        return self.copy.counts

    @property
    def cumulative_counts(self) -> Integers:
        """Number of rows with one of the first k values, for every k."""
        return self.copy.cumulative_counts


def shapes(histogram: Histogram, aggregate: str) -> Iterator[Reranked]:
    """Yield tables that the private table might resemble, beginning with the hardest to decide.

    AVG, MEDIAN and QUANTILE depend on the number of values near the answer.  For them there are
    four kinds of shapes.  The first has half of the rows.  In the second the weights of the rows
    rise with their values, from a half to one and a half.  In the third the weights fall in the
    same way.  In the others the rows are drawn anew (bootstrap, from fixed seeds).  Other
    aggregates have no shapes.  Each shape is judged around its own answer.
    """
    if aggregate not in _SHAPED or not histogram.mass:
        return
    # With few values it is cheaper to rank all values at once than one by one.
    few = histogram.size <= _BLOCKS
    for ranks in _every_ranks(histogram, few=few):
        yield Reranked(histogram, ranks, listed=few or aggregate == "AVG")


def _every_ranks(histogram: Histogram, *, few: bool) -> Iterator[Ranks]:
    mass = histogram.mass
    half = max(1, mass // 2) / mass
    yield lambda rows: rows * half
    yield lambda rows: (rows + rows * (rows / mass)) / 2
    yield lambda rows: (3 * rows - rows * (rows / mass)) / 2
    for seed in range(_DRAWN):
        yield _drawn(histogram, seed, few=few)


@dataclass(frozen=True, eq=False)
class DrawnRanks:
    """Map from running counts ``before`` to the running counts ``after``, of rows drawn anew.

    Values between the known counts are interpolated.
    """

    before: Floats
    after: Floats

    def __call__(self, rows: Any) -> Any:  # noqa: ANN401 - as ``Ranks``
        """New running count for a running count, or an array for an array, as ``np.interp``."""
        if isinstance(rows, np.ndarray):
            return np.interp(rows, self.before, self.after)
        # Single numbers use a bisection, because numpy calls are slow for them.
        before, after = self._lists
        at = bisect_right(before, rows) - 1
        if at + 1 == len(before) or before[at] == rows:
            return after[at]
        slope = (after[at + 1] - after[at]) / (before[at + 1] - before[at])
        return slope * (rows - before[at]) + after[at]

    @cached_property
    def _lists(self) -> tuple[list[float], list[float]]:
        return self.before.tolist(), self.after.tolist()


def _drawn(histogram: Histogram, seed: int, *, few: bool) -> DrawnRanks:
    """Map of ranks for as many rows drawn anew from a fixed seed, at the same values."""
    mass, generator = histogram.mass, np.random.default_rng(seed)
    if few:
        drawn = generator.multinomial(mass, histogram.counts / mass)
        return DrawnRanks(histogram.cumulative_counts.astype(np.float64), _running(drawn))
    drawn = generator.multinomial(mass, np.full(_BLOCKS, 1 / _BLOCKS))
    return DrawnRanks(np.linspace(0, mass, _BLOCKS + 1), _running(drawn))


def _running(counts: Integers) -> Floats:
    return np.concatenate(([0.0], np.cumsum(counts)))
