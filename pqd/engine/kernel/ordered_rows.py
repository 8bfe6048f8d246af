"""Rows in the order of a measure's values, cut into blocks, in which histograms are looked up."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from deciders.histogram import EMPTY, Histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.cells import ClassWords
    from pqd.sql.predicate import Predicate

    Integers = NDArray[np.int64]

# Rows are cut into about so many blocks, and as many of a single value.
_BLOCKS = 128
# Values that all histograms of a measure may hold, for each row, before they are held by blocks.
_HELD = 4
# Doubles hold every whole number below.
_EXACT = 1 << 53
# Blocks, and histograms of all values, that are kept once they were asked for.
_KEPT_BLOCKS, _KEPT_WHOLE = 256, 2


def pays(units: Integers, rows: int, queries: int) -> bool:
    """Whether histograms of so many ``queries`` are held by blocks; all sums must be exact."""
    many = units.size > 2 * _BLOCKS and queries * units.size > _HELD * rows
    return many and max(abs(units.item(0)), abs(units.item(-1))) * rows < _EXACT


class OrderedRows:
    """Rows that have a value, in ascending order of its code; each block has whole codes.

    ``units`` (codes,) are the values, ascending and in units of their lattice; every sum of rows is
    exact in doubles.  ``order`` are the rows, ``codes`` their codes; block ``i`` has the codes from
    ``edges[i]`` on, of the rows from ``starts[i]`` on.
    """

    def __init__(self, codes: NDArray[Any], units: Integers, kept: Rows | None = None) -> None:
        """Order the rows, all or those ``kept``; the code ``units.size`` is no value."""
        self.units = units
        bits = codes.size.bit_length()
        keys = codes.astype(np.int64)
        keys <<= bits
        keys |= np.arange(codes.size)
        if kept is not None:
            keys = keys[kept]
        keys.sort()
        keys = keys[: np.searchsorted(keys, units.size << bits)]
        self.order = (keys & ((1 << bits) - 1)).astype(np.min_scalar_type(codes.size))
        self.codes = (keys >> bits).astype(np.min_scalar_type(units.size))
        # A code that many rows hold is a block of its own.
        sampled = self.codes[:: self.codes.size // _BLOCKS + 1].astype(np.int64)
        edges = np.unique(np.concatenate(([0], sampled, sampled + 1, [units.size])))
        self.edges: list[int] = edges.tolist()
        self.starts: list[int] = np.searchsorted(self.codes, edges).tolist()
        self.within = lru_cache(_KEPT_BLOCKS)(self._within)
        self.whole = lru_cache(_KEPT_WHOLE)(self._whole)

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "OrderedRows(...)"

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.edges) - 1

    def _within(self, rows: MatchingRows, number: int) -> tuple[Integers, Integers]:
        first, last = self.edges[number : number + 2]
        start, stop = self.starts[number : number + 2]
        codes = self.codes[start:stop].take(np.flatnonzero(rows.mask(start, stop)))
        counts = np.bincount(codes - codes.dtype.type(first), minlength=last - first)
        running, sums = np.zeros((2, last - first + 1), np.int64)
        np.cumsum(counts, out=running[1:])
        np.cumsum(counts * self.units[first:last], out=sums[1:])
        return running, sums

    def _whole(self, rows: MatchingRows) -> Histogram:
        codes = self.codes.take(np.flatnonzero(rows.mask(0, self.codes.size)))
        if not codes.size:
            return EMPTY
        first = np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))
        return Histogram.ascending(self.units[codes[first]], np.diff(first, append=codes.size))


class MatchingRows:
    """Rows of ``ordered`` that match a predicate, by blocks of their values.

    ``codes`` are, for each set of columns of ``words``, the class of each row in order.
    """

    def __init__(
        self,
        ordered: OrderedRows,
        words: ClassWords,
        codes: Sequence[NDArray[Any]],
        predicate: Predicate | None,
    ) -> None:
        """Nothing is looked up yet."""
        self.values: Integers = ordered.units
        self.edges: Sequence[int] = ordered.edges
        self._ordered, self._words, self._codes = ordered, words, codes
        self._predicate = predicate

    def __repr__(self) -> str:
        """Name of the type alone."""
        return "MatchingRows(...)"

    def mask(self, start: int, stop: int) -> Rows:
        """Mask of the rows ``start .. stop`` in order that match."""
        if self._predicate is None:
            return np.ones(stop - start, np.bool_)
        codes = [each[start:stop] for each in self._codes]
        return self._words.matching(self._predicate, codes)

    def within(self, number: int) -> tuple[Integers, Integers]:
        """Rows with one of the first ``k`` values of block ``number``, and the sum of them."""
        return self._ordered.within(self, number)

    def whole(self) -> Histogram:
        """Histogram of all rows."""
        return self._ordered.whole(self)
