"""Histogram that is held by blocks of values; each look-up reads one block."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from pqd.deciders.histogram import Histogram, Integers, place_in
from pqd.deciders.running_sums import Key, first_at

# Number of blocks whose values ``surely_exceeds`` counts.
_LOOKED_AT = 8


class Block:
    """Rows of one block: the number of rows of each of its values."""

    def __init__(self, counts: Integers, values: Integers) -> None:
        """Add up the rows now, and the sums on first use."""
        self._counts, self._values = counts, values
        self.rows = running(counts)

    def __repr__(self) -> str:
        """Name of the type alone: the contents may be private, and a traceback may show this."""
        return "Block(...)"

    @cached_property
    def sums(self) -> Integers:
        """Sum of the rows with one of the first ``k`` values; ``rows`` holds their number."""
        return running(self._counts * self._values)


class Blocks(Protocol):
    """Rows by blocks of ascending values: every value that the table may hold has a place.

    A value's place is its number in ascending order.  Block ``i`` has the places from
    ``edges[i]`` to ``edges[i + 1] - 1``.
    """

    @property
    def values(self) -> Integers:
        """Ascending values of all places."""
        ...

    @property
    def edges(self) -> Sequence[int]:
        """First place of each block, then the number of places."""
        ...

    def within(self, number: int) -> Block:
        """Rows of block number ``number``."""
        ...

    def whole(self) -> Histogram:
        """Histogram of all rows."""
        ...


class BlockedHistogram(Histogram):
    """Histogram that holds only the number of rows and the sum of each block of values.

    Every answer is exactly that of ``whole()``.  Places count all values that the table may hold,
    also values without rows; this changes no result of the look-ups of ``RunningSums``.
    """

    def __init__(self, blocks: Blocks, rows: Integers, sums: Integers) -> None:
        """Take the number of rows and the sum of each block; the sums fit in 64 bits."""
        self._blocks, self._edges, self._held = blocks, blocks.edges, blocks.values
        self._rows, self._sums = running(rows), running(sums)

    @property
    def values(self) -> Integers:
        """Ascending distinct values that have rows."""
        return self._blocks.whole().values

    @property
    def counts(self) -> Integers:
        """Number of rows of each value."""
        return self._blocks.whole().counts

    @property
    def cumulative_counts(self) -> Integers:
        """Rows with one of the first ``k`` of ``values``."""
        return self._blocks.whole().cumulative_counts

    @property
    def mass(self) -> int:
        """Number of rows."""
        return self._rows.item(-1)

    @property
    def total(self) -> int:
        """Exact sum."""
        return self._sums.item(-1)

    @property
    def size(self) -> int:
        """Number of places."""
        return self._held.size

    def value_at(self, place: int) -> int:
        """Value of a place."""
        return self._held.item(place)

    def rows_before(self, place: int) -> int:
        """Rows with a value of one of the first ``place`` places."""

        def inside(number: int) -> int:
            return self._blocks.within(number).rows.item(place - self._edges[number])

        return rows_before(self._edges, self._rows, place, inside)

    def sum_before(self, place: int) -> int:
        """Sum of the rows with a value of one of the first ``place`` places."""
        number = bisect_right(self._edges, place) - 1
        before, within = self._sums.item(number), place - self._edges[number]
        if not within or self._rows.item(number) == self._rows.item(number + 1):
            return before
        return before + self._blocks.within(number).sums.item(within)

    def first_beyond(self, key: Key, bound: int, places: range) -> int:
        """First of ``places`` at which an ascending ``key`` exceeds ``bound``, else their stop.

        The rows and sums at the edges give the block; only that block is then searched.
        """
        edges, rows, sums = self._edges, self._rows.item, self._sums.item
        inner = range(bisect_left(edges, places.start), bisect_left(edges, places.stop))
        found = first_at(lambda n, *held: key(edges[n], *held), rows, sums, bound, inner)
        low = edges[found - 1] + 1 if found > inner.start else places.start
        high = edges[found] if found < inner.stop else places.stop
        if low >= high:
            return high
        number = bisect_right(edges, low) - 1
        start, before, total = edges[number], rows(number), sums(number)
        if before == rows(number + 1):
            return bisect_right(range(high), bound, low, key=lambda at: key(at, before, total))
        block = self._blocks.within(number)
        more_rows, more_sums = block.rows.item, block.sums.item

        def at(place: int) -> int:
            return key(place, before + more_rows(place - start), total + more_sums(place - start))

        return bisect_right(range(high), bound, low, key=at)

    def place_below(self, bound: int) -> int:
        """Number of places whose value is < ``bound``."""
        return place_in(self._held, bound, "left")

    def place_up_to(self, bound: int) -> int:
        """Number of places whose value is <= ``bound``."""
        return place_in(self._held, bound, "right")

    @property
    def largest(self) -> int:
        """Largest value held by a row; 0 for no rows."""
        return self.smallest(self.mass) if self.mass else 0

    def surely_exceeds(self, values: int) -> bool:
        """Whether the few blocks with room for the most values have more than ``values``."""
        most = np.minimum(np.diff(self._rows), np.diff(self._edges))
        found = 0
        for number in np.argsort(-most, kind="stable")[:_LOOKED_AT].tolist():
            found += int(np.count_nonzero(np.diff(self._blocks.within(number).rows)))
            if found > values:
                return True
        return False

    @property
    def whole(self) -> Histogram:
        """Histogram of all rows, with the places of ``values``."""
        return self._blocks.whole()

    def place_holding(self, k: int) -> int:
        """Place of the ``k``-th smallest row."""
        if k > self.mass:
            return self.size
        number = int(self._rows[1:].searchsorted(k))
        first, last = self._edges[number], self._edges[number + 1]
        if last - first == 1 or k < 1:
            return first
        rows = self._blocks.within(number).rows
        return first + int(rows[1:].searchsorted(k - self._rows.item(number)))


def rows_before(
    edges: Sequence[int], rows: Integers, place: int, inside: Callable[[int], int]
) -> int:
    """Rows with a value of one of the first ``place`` places, from the running ``rows`` of blocks.

    ``inside(number)`` counts the rows before ``place`` in its block.  It is called only if the
    block has rows and ``place`` is not its first place.
    """
    number = bisect_right(edges, place) - 1
    before = rows.item(number)
    if place == edges[number] or before == rows.item(number + 1):
        return before
    return before + inside(number)


def running(gains: Integers) -> Integers:
    """Sums of the first ``k`` gains, for ``k = 0 .. len(gains)``."""
    sums = np.zeros(gains.size + 1, np.int64)
    gains.cumsum(out=sums[1:])
    return sums
