"""Tallies by block: the rows of chosen cells, and their sum, in each block of ordered rows."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pqd.deciders.blocked_histogram import BlockedHistogram, running
from pqd.engine.kernel.combinations import at_codes
from pqd.engine.kernel.ordered_rows import MatchingRows
from pqd.engine.kernel.tallies import edges_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pqd.deciders import Histogram
    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.cells import Cells
    from pqd.engine.kernel.ordered_rows import OrderedRows
    from pqd.sql.predicate import Predicate

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

# A table of blocks and cells is made where so many queries share it, of at most so many places, and
# so many for each row that they would go through without it.
_SHARED, _LARGEST, _PLACES = 4, 1 << 22, 0.5


class BlockTally(Protocol):
    """Rows by block and cell; those of ``cells`` (a mask) are those ``matching``."""

    def rows(self, cells: Rows, matching: MatchingRows) -> Integers:
        """Rows of ``cells`` in each block."""
        ...

    def counted(self, cells: Rows, matching: MatchingRows) -> tuple[Integers, Integers]:
        """Rows of ``cells`` in each block, and their sum."""
        ...


def block_tally_of(ordered: OrderedRows, cells: Cells, queries: int) -> BlockTally:
    """Tally for so many ``queries``."""
    places = ordered.blocks * cells.size
    if queries >= _SHARED and places <= min(_LARGEST, queries * ordered.row_codes.size * _PLACES):
        return _Table(ordered, cells)
    return _Scanned(ordered)


class _Table:
    """Rows and sums of each block, running over the cells: a run of cells costs two look-ups.

    Both are in one number where it holds them (``Packing``), which halves the work.
    """

    def __init__(self, ordered: OrderedRows, cells: Cells) -> None:
        self._ordered, self._cells = ordered, cells

    @cached_property
    def _packed(self) -> Floats:
        packing = self._ordered.packing
        return self._table(None if packing is None else packing.weights)

    @cached_property
    def _sums(self) -> Floats:
        return self._table(self._ordered.units.astype(np.float64))

    def _table(self, weights: Floats | None) -> Floats:
        """Rows, or sums of the ``weights`` of their values: exact, since a double holds each."""
        if self._cells.rows is None:
            return self._block_by_block(weights)
        return self._row_by_row(weights, self._cells.rows)

    def _block_by_block(self, weights: Floats | None) -> Floats:
        ordered, size = self._ordered, self._cells.size
        cells = ordered.ordered(self._cells.codes)
        table = np.empty((ordered.blocks, size + 1))
        table[:, 0] = 0
        for block, (start, stop) in zip(table, pairwise(ordered.starts), strict=True):
            within = None if weights is None else weights.take(ordered.codes[start:stop])
            counts = np.bincount(cells[start:stop], within, minlength=size)
            # While what was counted is still in the processor's cache.
            np.cumsum(counts, dtype=np.float64, out=block[1:])
        return table

    def _row_by_row(self, weights: Floats | None, rows: Integers) -> Floats:
        """Table of a few ``rows``, whose numbers ascend."""
        ordered, width = self._ordered, self._cells.size + 1
        codes, blocks, held = ordered.valued(rows)
        places = blocks * np.int64(width) + self._cells.codes[held] + 1
        within = None if weights is None else at_codes(weights, codes)
        counts = np.bincount(places, within, minlength=ordered.blocks * width)
        table = counts.reshape(-1, width).astype(np.float64, copy=False)
        return np.cumsum(table, axis=1, out=table)

    def rows(self, cells: Rows, matching: MatchingRows) -> Integers:
        """Rows of the runs of ``cells``."""
        del matching
        found, packing = _added(self._packed, edges_of(cells)), self._ordered.packing
        return found if packing is None else packing.rows(found)

    def counted(self, cells: Rows, matching: MatchingRows) -> tuple[Integers, Integers]:
        """Rows and sums of the runs of ``cells``."""
        del matching
        edges, packing = edges_of(cells), self._ordered.packing
        found = _added(self._packed, edges)
        return (found, _added(self._sums, edges)) if packing is None else packing.both(found)


def _added(table: Floats, edges: Integers) -> Integers:
    """What each block of a ``table`` that runs over the cells holds of runs of them."""
    found: Integers = (table[:, edges[1::2]] - table[:, edges[::2]]).sum(axis=1).astype(np.int64)
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
        sums = running(ordered.units.take(ordered.codes.take(places)))
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
        self._tally = block_tally_of(ordered, cells, queries)

    def histogram(self, predicate: Predicate | None, cells: Rows) -> Histogram:
        """Histogram of the rows of ``cells``, which are those that match ``predicate``."""
        matching = self._matching(predicate)
        return BlockedHistogram(matching, *self._tally.counted(cells, matching))

    def below(self, predicate: Predicate | None, cells: Rows, bounds: Integers) -> Integers:
        """Number of those rows whose code is below each of ``bounds``."""
        matching = self._matching(predicate)
        rows = running(self._tally.rows(cells, matching))
        return np.array([matching.rows_before(bound, rows) for bound in bounds.tolist()])

    def _matching(self, predicate: Predicate | None) -> MatchingRows:
        return MatchingRows(self._ordered, self._words, self._codes, predicate)
