"""Tallies by block: the rows of chosen cells, and their sum, in each block of ordered rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deciders.blocked_histogram import BlockedHistogram, rows_before, running
from pqd.engine.kernel.ordered_rows import MatchingRows
from pqd.engine.kernel.tallies import edges_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deciders import Histogram
    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.cells import Cells
    from pqd.engine.kernel.ordered_rows import OrderedRows
    from pqd.sql.predicate import Predicate

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

        def sums(within: slice) -> NDArray[Any]:
            # Exact: every sum is a whole number that a double holds (OrderedRows).
            return np.bincount(self._codes[within], values[within], minlength=self._size)

        return self._table(sums)

    def _table(self, counted: Callable[[slice], NDArray[Any]]) -> Integers:
        table = np.zeros((self._ordered.blocks, self._size + 1), np.int64)
        for block, bounds in enumerate(pairwise(self._ordered.starts)):
            table[block, 1:] = counted(slice(*bounds))
        return np.cumsum(table, axis=1, out=table)

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


class BlockedGroup:
    """Histograms, by blocks, of queries on the same ``cells`` and one measure, as scanned.

    ``codes`` are the classes of the ``ordered`` rows, of which the cells are combinations.
    """

    def __init__(
        self,
        cells: Cells,
        ordered: OrderedRows,
        codes: Sequence[NDArray[Any]],
        queries: int,
    ) -> None:
        """Count the rows and sums of all blocks, for so many ``queries``."""
        self._ordered, self._codes, self._words = ordered, codes, cells.classes
        self._tally = block_tally_of(ordered, cells.codes, cells.size, queries)

    def histogram(self, predicate: Predicate | None, cells: Rows) -> Histogram:
        """Histogram of the rows of ``cells``, which are those that match ``predicate``."""
        matching = self._matching(predicate)
        return BlockedHistogram(matching, *self._tally.counted(cells, matching))

    def below(self, predicate: Predicate | None, cells: Rows, bounds: Integers) -> Integers:
        """Number of those rows whose code is below each of ``bounds``."""
        matching = self._matching(predicate)
        rows = running(self._tally.rows(cells, matching))
        return np.array([rows_before(matching, rows, bound) for bound in bounds.tolist()])

    def _matching(self, predicate: Predicate | None) -> MatchingRows:
        return MatchingRows(self._ordered, self._words, self._codes, predicate)
