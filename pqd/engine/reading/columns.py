"""Columns in memory: each distinct value once, and each row's cell by its code.

Whatever is asked of a row's cells is asked of the distinct values, once each, and looked up by
code.  What a row counts is a function of its own cells: the values and the codes of other rows
decide nothing but the numbering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """Cells of one column: row ``i`` holds ``values[codes[i]]``.

    ``codes`` (rows,) are unsigned whole numbers of the least size that holds them.  ``values`` is a
    pyarrow array, in the type that the table stores (text for CSV), of distinct values, at most one
    of them null; their order says nothing.
    """

    codes: NDArray[Any]
    values: pa.Array

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
