"""Columns in memory: each distinct value once, and each row's cell by its code.

Whatever is asked of a row's cells is asked of the distinct values, once each, and looked up by
code.  What a row counts is a function of its own cells: the values and the codes of other rows
decide nothing but the numbering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.reading.row_codes import PART, RowCodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

# Rows of a batch, in whole parts: what is counted of them at once has arrays of this length.
BATCH = 2 * PART
# Rows that are counted at a time, whose numbers stay in the processor's cache; and for each code.
_CACHED, _WIDE = 1 << 15, 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """Cells of one column: row ``i`` holds ``values[codes[i]]``.

    ``kept`` are the codes (rows,): unsigned whole numbers of the least size that holds them, or
    where they are looked up.  ``values`` is a pyarrow array, in the type that the table stores
    (text for CSV), of distinct values, at most one of them null; their order says nothing.
    ``known_counts`` (values,) are the rows with each value, where they were counted before.
    """

    kept: NDArray[Any] | RowCodes
    values: pa.Array
    known_counts: NDArray[np.int64] | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.kept)

    @property
    def codes(self) -> NDArray[Any]:
        """Codes of all rows, in one array."""
        return self.between(0, self.rows)

    def between(self, first: int, last: int) -> NDArray[Any]:
        """Codes of the rows ``first .. last``."""
        if isinstance(self.kept, RowCodes):
            return self.kept.between(first, last)
        return self.kept[first:last]

    def counts(self) -> NDArray[np.int64]:
        """Rows with each value."""
        if self.known_counts is not None:
            return self.known_counts
        counts = np.zeros(len(self.values), np.int64)
        for first, last in batches_of(self.rows):
            counts += occurrences(self.between(first, last), counts.size)
        return counts

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "Column(...)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Columns:
    """Some columns of one table, by the names it stores them under, all of one length.

    ``ranks`` (rows,), where asked for, are 64-bit keyed hashes of each whole row, of every column
    of the table, by which the rows of a person are put in order.
    """

    rows: int
    by_name: Mapping[str, Column]
    ranks: NDArray[Any] | None = None

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "Columns(...)"


def batches_of(rows: int) -> Iterator[tuple[int, int]]:
    """First row of each batch, and the one after its last; without rows there is one batch."""
    for first in range(0, max(rows, 1), BATCH):
        yield first, min(first + BATCH, rows)


def occurrences(codes: NDArray[Any], size: int) -> NDArray[np.int64]:
    """How often each of ``size`` codes occurs."""
    counts = np.zeros(size, np.int64)
    step = max(_CACHED, _WIDE * size)
    for first in range(0, codes.size, step):
        counts += np.bincount(codes[first : first + step], minlength=size)
    return counts
