"""Tallies by block: the rows of chosen cells, and their sum, in each block of ordered rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deciders.blocked_histogram import running
from pqd.engine.kernel.tallies import edges_of, tally_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.ordered_rows import OrderedRows

    Integers = NDArray[np.int64]

# Tables of blocks and cells up to this size are counted as a whole, where so many queries share it.
_LARGEST, _SHARED = 1 << 22, 8


class BlockTally(Protocol):
    """Rows by block and cell."""

    def counted(self, cells: Rows) -> tuple[Integers, Integers]:
        """Rows of ``cells`` (a mask) in each block, and their sum."""
        ...


def block_tally_of(
    ordered: OrderedRows, codes: NDArray[Any], cells_count: int, queries: int
) -> BlockTally:
    """Tally for so many ``queries``; ``codes`` are the cells of all rows of the table."""
    if queries >= _SHARED and ordered.blocks * cells_count <= _LARGEST:
        return _Table(ordered, codes, cells_count)
    return _Sorted(ordered, codes, cells_count)


class _Table:
    """Rows and sums of each block, running over the cells: a run of cells costs two look-ups."""

    def __init__(self, ordered: OrderedRows, codes: NDArray[Any], cells_count: int) -> None:
        cells, values = codes[ordered.order], ordered.units.astype(np.float64)[ordered.codes]
        shape = ordered.blocks, cells_count + 1
        self._rows, self._sums = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for block, bounds in enumerate(pairwise(ordered.starts)):
            within = slice(*bounds)
            own, each = cells[within], values[within]
            self._rows[block, 1:] = np.bincount(own, minlength=cells_count)
            # Exact: every sum is a whole number that a double holds (OrderedRows).
            self._sums[block, 1:] = np.bincount(own, each, minlength=cells_count)
        np.cumsum(self._rows, axis=1, out=self._rows)
        np.cumsum(self._sums, axis=1, out=self._sums)

    def counted(self, cells: Rows) -> tuple[Integers, Integers]:
        """Rows and sums of the runs of ``cells``."""
        edges = edges_of(cells)
        rows, sums = (
            table[:, edges[1::2]].sum(axis=1) - table[:, edges[::2]].sum(axis=1)
            for table in (self._rows, self._sums)
        )
        return rows, sums


class _Sorted:
    """Rows of each value, added up by block."""

    def __init__(self, ordered: OrderedRows, codes: NDArray[Any], cells_count: int) -> None:
        self._units, self._edges = ordered.units, ordered.edges
        self._tally = tally_of(codes[ordered.order], cells_count, ordered.codes, self._units.size)

    def counted(self, cells: Rows) -> tuple[Integers, Integers]:
        """Rows and sums."""
        codes, counts = self._tally.counted(cells)
        places = np.searchsorted(codes, self._edges)
        sums = running(self._units[codes] * counts)
        return np.diff(running(counts)[places]), np.diff(sums[places])
