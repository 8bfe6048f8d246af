"""Dictionaries of a column's blocks, folded into one as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pqd.engine.reading.buffers import arrow_of, filled, numpy_of
from pqd.engine.reading.columns import Column
from pqd.engine.reading.row_codes import CodeStore, RowCodes
from pqd.engine.reading.text_codes import TextDictionary

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Distinct values, and rows, that wait at least before they are folded; and rows of texts.
_FEW, _ROWS = 1 << 16, 1 << 18
_TEXTS = 1 << 16


class ColumnBuilder:
    """Column of which blocks are added: one dictionary for all, codes of 1, 2 or 4 bytes a row.

    Dictionaries wait until they, or their rows, are as many as the values that are known, so each
    value is looked at a fixed number of times for each row on average, however many there are.
    """

    def __init__(self, store: CodeStore | None = None) -> None:
        """Column without rows; a ``store`` keeps those that are too many for memory."""
        self._values: pa.Array | None = None
        self._texts = TextDictionary()
        self._waiting: list[pa.Array] = []
        self._entries = self._rows = 0
        self._store = store or CodeStore()
        self._codes = RowCodes(self._store)

    def add(self, block: pa.DictionaryArray | pa.LargeStringArray) -> None:
        """Add the rows of a block; its dictionary may be any, with codes in 32 bits.

        All blocks have a dictionary, or all are texts.
        """
        self._waiting.append(block)
        self._rows += len(block)
        if not isinstance(block, pa.DictionaryArray):
            if self._rows > max(_TEXTS, self.size):
                self._fold()
            return
        self._entries += len(block.dictionary) + 1
        if self._entries > max(_FEW, self.size) or self._rows > max(_ROWS, 4 * self.size):
            self._fold()

    @property
    def size(self) -> int:
        """Number of distinct values that are known: a value keeps its code when more come."""
        return 0 if self._values is None else len(self._values)

    def since(self, rows: int) -> tuple[NDArray[np.unsignedinteger], pa.Array]:
        """Codes of what follows the first ``rows`` rows, and the values known by now."""
        self._fold()
        codes = self._codes.between(rows, len(self._codes))
        return codes, pa.nulls(0) if self._values is None else self._values

    def forget_rows(self) -> None:
        """Let go of the rows, and keep the values."""
        self._fold()
        self._codes = RowCodes(self._store)

    def _fold(self) -> None:
        """Bring the dictionaries that wait into the one of the column."""
        if not self._waiting:
            return
        waiting, self._waiting, self._entries, self._rows = self._waiting, [], 0, 0
        if not isinstance(waiting[0], pa.DictionaryArray):
            codes = self._texts.codes(waiting)
            self._values = self._texts.values
            self._codes.add(narrowed(codes, len(self._values)))
            return
        known = [] if self._values is None else [self._values]
        parts = [_with_null(block) for block in waiting]
        every = pa.concat_arrays([*known, *parts]).dictionary_encode(null_encoding="encode")
        self._values = every.dictionary
        places = numpy_of(every.indices)
        first = sum(map(len, known))
        for block, part in zip(waiting, parts, strict=True):
            place = narrowed(places[first : first + len(part)], len(self._values))
            self._codes.add(place.take(codes_of(block)))
            first += len(part)

    def column(self) -> Column:
        """Column of all rows that were added."""
        self._fold()
        if self._values is None:
            return Column(np.empty(0, np.uint8), pa.nulls(0, pa.large_string()))
        rows: NDArray[np.unsignedinteger] | RowCodes = self._codes
        if self._codes.in_memory:
            rows = self._codes.between(0, len(self._codes))
            # One array is looked up fastest; the parts are let go of.
            self._codes = RowCodes(self._store)
        if self._values is self._texts.values:
            # A text came with its row.
            return Column(rows, self._values)
        return _without_unused(rows, self._values)


def distinct_values(block: pa.DictionaryArray | pa.LargeStringArray) -> pa.Array:
    """Values of a block's cells, or of its dictionary, that are not null."""
    values = block.dictionary if isinstance(block, pa.DictionaryArray) else block.unique()
    return values.drop_null()


def _without_unused(rows: NDArray[np.unsignedinteger] | RowCodes, values: pa.Array) -> Column:
    """Column of these cells, with the values that a row has and no others."""
    counts = Column(rows, values).counts()
    used = counts > 0
    if used.all():
        return Column(rows, values, counts)
    places = narrowed(np.cumsum(used) - 1, int(used.sum()))
    if isinstance(rows, RowCodes):
        rows.renumber(places)
    else:
        rows = places.take(rows)
    return Column(rows, values.filter(arrow_of(used)), counts[used])


def codes_of(block: pa.DictionaryArray) -> NDArray[np.integer]:
    """Place in ``_with_null(block)`` of each cell of a block."""
    return filled(block.indices, len(block.dictionary))


def _with_null(block: pa.DictionaryArray) -> pa.Array:
    """Dictionary of a block, with a null at its end if a cell is null."""
    if not block.indices.null_count:
        return block.dictionary
    return pa.concat_arrays([block.dictionary, pa.nulls(1, block.dictionary.type)])


def narrowed(codes: NDArray[np.generic], values: int) -> NDArray[np.unsignedinteger]:
    """Codes in the least unsigned type that numbers ``values`` values."""
    narrow: NDArray[np.unsignedinteger] = codes.astype(np.min_scalar_type(max(values - 1, 0)))
    return narrow
