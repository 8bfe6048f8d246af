"""Tallies by block: the rows of chosen cells, and their sum, in each block of ordered rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deciders.blocked_histogram import running
from pqd.engine.kernel.tallies import edges_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.ordered_rows import MatchingRows, OrderedRows

    Integers = NDArray[np.int64]

# A table of blocks and cells is made where so many queries share it, of at most so many places, and
# so many for each row that they would go through without it.
_SHARED, _LARGEST, _PLACES = 4, 1 << 22, 0.125


class BlockTally(Protocol):
    """Rows by block and cell; those of ``cells`` (a mask) are those ``matching``."""

    def rows(self, cells: Rows, matching: MatchingRows) -> Integers:
        """Rows of ``cells`` in each block."""
        ...

    def counted(self, cells: Rows, matching: MatchingRows) -> tuple[Integers, Integers]:
        """Rows of ``cells`` in each block, and their sum."""
        ...


def block_tally_of(
    ordered: OrderedRows, codes: NDArray[Any], cells_count: int, queries: int
) -> BlockTally:
    """Tally for so many ``queries``; ``codes`` are the cells of all rows of the table."""
    places = ordered.blocks * cells_count
    if queries >= _SHARED and places <= min(_LARGEST, queries * codes.size * _PLACES):
        return _Table(ordered, codes, cells_count)
    return _Scanned(ordered)


class _Table:
    """Rows and sums of each block, running over the cells: a run of cells costs two look-ups."""

    def __init__(self, ordered: OrderedRows, codes: NDArray[Any], cells_count: int) -> None:
        self._ordered, self._codes, self._size = ordered, codes.take(ordered.order), cells_count

    @cached_property
    def _rows(self) -> Integers:
        return self._table(lambda within: np.bincount(self._codes[within], minlength=self._size))

    @cached_property
    def _sums(self) -> Integers:
        values = self._ordered.values

        def sums(within: slice) -> Integers:
            # Exact: every sum is a whole number that a double holds (OrderedRows).
            found = np.bincount(self._codes[within], values[within], minlength=self._size)
            return found.astype(np.int64)

        return self._table(sums)

    def _table(self, counted: Callable[[slice], Integers]) -> Integers:
        table = np.zeros((self._ordered.blocks, self._size + 1), np.int64)
        for block, bounds in enumerate(pairwise(self._ordered.starts)):
            np.cumsum(counted(slice(*bounds)), out=table[block, 1:])
        return table

    def rows(self, cells: Rows, matching: MatchingRows) -> Integers:
        """Rows of the runs of ``cells``."""
        del matching
        return _added(self._rows, edges_of(cells))

    def counted(self, cells: Rows, matching: MatchingRows) -> tuple[Integers, Integers]:
        """Rows and sums of the runs of ``cells``."""
        del matching
        edges = edges_of(cells)
        return _added(self._rows, edges), _added(self._sums, edges)


def _added(table: Integers, edges: Integers) -> Integers:
    """What each block of a ``table`` that runs over the cells holds of runs of them."""
    found: Integers = table[:, edges[1::2]].sum(axis=1) - table[:, edges[::2]].sum(axis=1)
    return found


class _Scanned:
    """Ordered rows, of which those that match are found anew for each query."""

    def __init__(self, ordered: OrderedRows) -> None:
        self._ordered = ordered

    def rows(self, cells: Rows, matching: MatchingRows) -> Integers:
        """Rows that match."""
        del cells
        return np.diff(np.searchsorted(matching.places, self._ordered.starts))

    def counted(self, cells: Rows, matching: MatchingRows) -> tuple[Integers, Integers]:
        """Rows that match, and their sums."""
        del cells
        places, ordered = matching.places, self._ordered
        edges = np.searchsorted(places, ordered.starts)
        sums = running(ordered.values.take(places).astype(np.int64))
        return np.diff(edges), np.diff(sums[edges])
