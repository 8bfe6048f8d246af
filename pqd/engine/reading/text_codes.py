"""Codes of texts, by the distinct ones that are known: looked up, or as the whole numbers they are.

Which way is taken decides how long it takes, and how values are numbered; never which they are.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pqd.engine.reading.buffers import arrow_of, numpy_of, octets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

# Most values that are looked up by their texts, and places of a table of whole numbers.
_FEW, _PLACES = 1 << 10, 1 << 22


class TextDictionary:
    """Dictionary of texts, which grows; a value keeps its code, and at most one is null."""

    def __init__(self) -> None:
        """No texts."""
        self.values: pa.Array = pa.nulls(0, pa.large_string())
        self._numbers: _WholeNumbers | None = None
        self._plain = False

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "TextDictionary(...)"

    def codes(self, blocks: Sequence[pa.LargeStringArray]) -> NDArray[np.integer]:
        """Codes of the cells of blocks; texts that are not known become the next values."""
        if len(self.values) <= _FEW:
            return self._looked_up(pa.chunked_array(blocks))
        cells = pa.concat_arrays(blocks)
        if self._numbers is None and not self._plain:
            self._numbers = _WholeNumbers.of(self.values)
        if self._numbers:
            found = self._numbers.codes(cells)
            if found:
                self.values = pa.concat_arrays([self.values, found[1]])
                return found[0]
        self._numbers, self._plain = None, True
        every = pa.concat_arrays([self.values, cells]).dictionary_encode(null_encoding="encode")
        known, self.values = len(self.values), every.dictionary
        codes = numpy_of(every.indices)
        return codes[known:]

    def _looked_up(self, cells: pa.ChunkedArray) -> NDArray[np.integer]:
        codes = pc.index_in(cells, value_set=self.values)
        if codes.null_count:
            new = cells.filter(codes.is_null()).unique()
            self.values = pa.concat_arrays([self.values, new])
            codes = pc.index_in(cells, value_set=self.values)
        return numpy_of(codes)


class _WholeNumbers:
    """Whole numbers as Python writes them, and a table of their codes from the least to the last.

    A text that says a number in any other way (``007``) is longer than that, so texts are all of
    this kind where they have as many bytes in total as their numbers take.
    """

    def __init__(self, values: int, null: int | None) -> None:
        """So many values have a code, of which ``null`` is that of a null."""
        self._null = null
        self._least = 0
        self._places = np.empty(0, np.int32)
        self._widths = np.zeros(values, np.int64)

    @classmethod
    def of(cls, values: pa.LargeStringArray) -> Self | None:
        """Distinct texts that are whole numbers, but for a null; None if they are not."""
        valid = numpy_of(values.is_valid())
        made = cls(len(values), int(np.argmin(valid)) if values.null_count else None)
        texts = values.drop_null()
        numbers = _whole(texts)
        if numbers is None or not made._reaches(numbers):
            return None
        written = _written(numbers)
        if not written.equals(texts):
            return None
        codes = np.flatnonzero(valid)
        made._places[numbers - made._least] = codes
        made._widths[codes] = _lengths(written)
        return made

    def codes(self, cells: pa.LargeStringArray) -> tuple[NDArray[np.integer], pa.Array] | None:
        """Codes of cells, and the texts of new values; None if not all are whole numbers.

        After None it is of no more use.
        """
        texts = cells.drop_null()
        numbers = _whole(texts)
        if numbers is None or not self._reaches(numbers):
            return None
        codes = self._places.take(numbers - self._least)
        # With counts, since without them numpy loads what is for masked arrays.
        fresh, _ = np.unique(numbers[codes < 0], return_counts=True)
        new = _written(fresh)
        if fresh.size:
            self._places[fresh - self._least] = self._widths.size + np.arange(fresh.size)
            self._widths = np.concatenate([self._widths, _lengths(new)])
            codes = self._places.take(numbers - self._least)
        if int(self._widths[codes].sum()) != octets(texts).size:
            return None
        if not cells.null_count:
            return codes, new
        if self._null is None:
            self._null = self._widths.size
            self._widths = np.append(self._widths, 0)
            new = pa.concat_arrays([new, pa.nulls(1, new.type)])
        every = np.full(len(cells), self._null, np.int32)
        every[numpy_of(cells.is_valid())] = codes
        return every, new

    def _reaches(self, numbers: NDArray[np.int64]) -> bool:
        """Whether the table reaches to all numbers, which is made so unless they are too far."""
        if not numbers.size:
            return True
        least, last = int(numbers.min()), int(numbers.max())
        if self._places.size:
            least = min(least, self._least)
            last = max(last, self._least + self._places.size - 1)
        if last - least >= _PLACES:
            return False
        if last - least >= self._places.size:
            places = np.full(last - least + 1, -1, np.int32)
            places[self._least - least :][: self._places.size] = self._places
            self._least, self._places = least, places
        return True


def whole_numbers(texts: pa.LargeStringArray) -> pa.Int64Array | None:
    """Whole numbers that texts say, null for null.

    None if one is not of digits and signs alone, or too large; the first tell most.
    """
    for some in (texts[:_FEW], texts):
        signs = octets(some.drop_null())
        if signs.size and (signs.min() < ord("-") or signs.max() > ord("9")):
            return None
    # The error quotes a cell.
    with suppress(pa.ArrowInvalid):
        return texts.cast(pa.int64())
    return None


def _whole(texts: pa.LargeStringArray) -> NDArray[np.int64] | None:
    """Whole numbers that texts say, of which none is null; None as above."""
    numbers = whole_numbers(texts)
    return None if numbers is None else numpy_of(numbers)


def _written(numbers: NDArray[np.int64]) -> pa.LargeStringArray:
    return arrow_of(numbers).cast(pa.large_string())


def _lengths(texts: pa.LargeStringArray) -> NDArray[np.int64]:
    return numpy_of(pc.binary_length(texts))
