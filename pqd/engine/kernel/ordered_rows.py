"""Rows in the order of a measure's values, cut into blocks, in which histograms are looked up."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pqd.deciders.blocked_histogram import Block, rows_before, running
from pqd.deciders.histogram import Histogram
from pqd.engine.kernel.combinations import at_codes
from pqd.engine.kernel.tallies import occurring
from pqd.engine.reading.columns import occurrences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.cells import ClassWords
    from pqd.sql.predicate import Predicate

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

# Rows are cut into about so many blocks, and as many of a single value; a byte numbers them all.
_BLOCKS = 126
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
    """Rows in the order of a measure's values, cut into blocks of whole codes.

    ``units`` (codes,) are the values, ascending and in units of their lattice; ``counts`` the rows
    with each, and ``block_of`` their blocks.  A double holds each and every sum of them (``pays``).
    ``row_codes`` (rows,) are the codes of all rows, ``units.size`` for no value.  ``order`` are all
    rows, those without a value last, and None once all columns lie in it (``arrange``).  Block
    ``i`` has the codes from ``edges[i]`` on, of the rows in order from ``starts[i]`` on.
    """

    def __init__(self, codes: NDArray[Any], units: Integers, kept: Rows | None = None) -> None:
        """Order the rows; all but those ``kept`` count as without a value."""
        self.units, none = units, units.size
        if kept is not None:
            codes = np.where(kept, codes, codes.dtype.type(none))
        self.row_codes = codes
        self.counts = occurrences(codes, none + 1)[:none]
        below = running(self.counts)
        rows = below.item(-1)
        # A code that many rows hold is a block of its own.
        sampled = np.searchsorted(below[1:], np.arange(0, rows, rows // _BLOCKS + 1), "right")
        self.edges = sorted({0, none, *sampled.tolist(), *(sampled + 1).tolist()})
        edges = np.array(self.edges)
        self.starts: list[int] = below[edges].tolist()
        block_of = np.zeros(none + 1, np.uint8)
        block_of[edges[1:]] = 1
        np.cumsum(block_of, dtype=np.uint8, out=block_of)
        self.block_of = block_of
        # Stable, and of bytes: they are counted, not compared.
        self.order: Integers | None = np.argsort(at_codes(block_of, codes), kind="stable")
        self.within = lru_cache(_KEPT_BLOCKS)(self._within)
        self.whole = lru_cache(_KEPT_WHOLE)(self._whole)

    def arrange(self, order: Integers) -> None:
        """Take the rows of the table to lie in this ``order``, which is its own."""
        self.row_codes, self.order = self.row_codes.take(order), None

    def ordered(self, column: NDArray[Any]) -> NDArray[Any]:
        """Part of a ``column`` (rows,) on the rows that have a value, in order."""
        rows = self.starts[-1]
        return column[:rows] if self.order is None else column.take(self.order[:rows])

    def valued(self, rows: Integers) -> tuple[NDArray[Any], NDArray[Any], slice | Rows]:
        """Codes and blocks of those of ascending ``rows`` that have a value; which these are."""
        codes = self.row_codes.take(rows)
        if self.order is None:
            edges = np.searchsorted(rows, self.starts)
            some = slice(edges[-1])
            return codes[some], np.repeat(np.arange(self.blocks), np.diff(edges)), some
        held = codes < self.units.size
        return codes[held], at_codes(self.block_of, codes[held]), held

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "OrderedRows(...)"

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.edges) - 1

    @cached_property
    def codes(self) -> NDArray[Any]:
        """Codes of the rows that have a value, in order."""
        return self.ordered(self.row_codes)

    @cached_property
    def packing(self) -> Packing | None:
        """Packing of rows and their sum; None where a double does not hold a block's."""
        return Packing.of(self)

    def _within(self, rows: MatchingRows, number: int) -> Block:
        first, last = self.edges[number : number + 2]
        start, stop = self.starts[number : number + 2]
        codes = self.codes[start:stop].take(np.flatnonzero(rows.mask(start, stop)))
        counts = np.bincount(codes - codes.dtype.type(first), minlength=last - first)
        return Block(counts, self.units[first:last])

    def _whole(self, rows: MatchingRows) -> Histogram:
        codes, counts = occurring(self.codes.take(rows.places), self.units.size)
        return Histogram.ascending(self.units[codes], counts)


class Packing(NamedTuple):
    """Number of some rows of a block and the sum of their values, as one whole number.

    That is ``rows << shift`` and the sum of what each value has above ``base``, the block's first.
    ``weights`` (codes,) are the packed numbers of a row with each value; they add up exactly.
    """

    weights: Floats
    bases: Integers
    shifts: Integers

    @classmethod
    def of(cls, ordered: OrderedRows) -> Packing | None:
        """Packing of all blocks; None where that of all rows of one is beyond a double."""
        edges = np.array(ordered.edges)
        values, bases = np.diff(edges), ordered.units[edges[:-1]]
        above = ordered.units - np.repeat(bases, values)
        sums = np.add.reduceat(above * ordered.counts, edges[:-1])
        shifts = [total.bit_length() for total in sums.tolist()]
        rows = np.diff(ordered.starts).tolist()
        # The sum of all is less than one row's part more.
        if any((n + 1) << shift > _EXACT for n, shift in zip(rows, shifts, strict=True)):
            return None
        weights = above + np.repeat(np.exp2(shifts), values)
        return cls(weights, bases, np.array(shifts, np.int64))

    def rows(self, packed: Integers) -> Integers:
        """Rows of each block."""
        return packed >> self.shifts

    def both(self, packed: Integers) -> tuple[Integers, Integers]:
        """Rows of each block, and the sum of their values."""
        rows = self.rows(packed)
        return rows, packed - (rows << self.shifts) + rows * self.bases

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "Packing(...)"


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

    @property
    def places(self) -> Integers:
        """Place in order of each row that matches."""
        return np.flatnonzero(self.mask(0, self._ordered.codes.size))

    def rows_before(self, bound: int, rows: Integers) -> int:
        """Rows that match with a code below ``bound``; ``rows`` are those of the first blocks."""

        def inside(number: int) -> int:
            start, stop = self._ordered.starts[number : number + 2]
            below = self._ordered.codes[start:stop] < bound
            return int(np.count_nonzero(self.mask(start, stop) & below))

        return rows_before(self.edges, rows, bound, inside)

    def within(self, number: int) -> Block:
        """Rows of block ``number`` that match."""
        return self._ordered.within(self, number)

    def whole(self) -> Histogram:
        """Histogram of all rows."""
        return self._ordered.whole(self)
