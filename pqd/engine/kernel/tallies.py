"""Tallies: how often each code occurs on the rows of some cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pqd.engine.kernel.combinations import at_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.bitmaps import Rows

    Integers = NDArray[np.int64]

# Tables of cells and codes up to this size, or a quarter of the rows, are counted as a whole; where
# more queries than this share it, up to a place for each row.
_SMALL, _SOME = 1 << 16, 2
# Else all rows are sorted where more queries than this share it: to sort takes as long as so many
# scans, and as three tables.
FEW = 6
# Rows that are counted at a time: their numbers stay in the processor's cache.
_AT_A_TIME = 1 << 15
# Codes are counted in a table of up to so many places for each of them, else they are sorted.
_SPARSE = 16


class Tally(Protocol):
    """Occurrences of codes, cell by cell."""

    def counted(self, cells: Rows) -> tuple[NDArray[Any], Integers]:
        """Ascending codes that occur in ``cells`` (a mask), and the number of rows with each."""
        ...

    def below(self, cells: Rows, bounds: Integers) -> Integers:
        """Number of rows in ``cells`` whose code is below each of ``bounds``."""
        ...

    @property
    def rows(self) -> Integers | None:
        """Rows in each cell, None where they are not at hand."""
        ...


def tally_of(
    cells: NDArray[Any], cells_count: int, codes: NDArray[Any], size: int, queries: int
) -> Tally:
    """Tally of rows of which each has one of ``cells`` and one of ``codes``, below ``size``.

    So many ``queries`` ask it.
    """
    most = codes.size if queries > _SOME else codes.size // 4
    if cells_count * size <= max(_SMALL, most):
        return _Table(cells, cells_count, codes, size)
    if queries <= FEW:
        return _Scanned(cells, codes, size)
    return _Sorted(cells, cells_count, codes, size)


class _Table:
    """A count for each cell and code."""

    def __init__(
        self, cells: NDArray[Any], cells_count: int, codes: NDArray[Any], size: int
    ) -> None:
        counts = np.zeros(cells_count * size, np.int64)
        room = np.empty(min(_AT_A_TIME, cells.size), np.intp)
        for first in range(0, cells.size, _AT_A_TIME):
            some = slice(first, min(first + _AT_A_TIME, cells.size))
            joint = room[: some.stop - first]
            np.multiply(cells[some], size, out=joint, dtype=np.intp)
            joint += codes[some]
            np.add.at(counts, joint, 1)
        self._counts = counts.reshape(cells_count, size)

    @property
    def rows(self) -> Integers:
        """Sums over the codes."""
        rows: Integers = self._counts.sum(axis=1)
        return rows

    def _total(self, cells: Rows) -> Integers:
        total: Integers = self._counts[cells].sum(axis=0)
        return total

    def counted(self, cells: Rows) -> tuple[NDArray[Any], Integers]:
        """Codes and rows, of all cells."""
        return _held(self._total(cells))

    def below(self, cells: Rows, bounds: Integers) -> Integers:
        """Rows below each bound."""
        return np.append(0, np.cumsum(self._total(cells)))[bounds]


class _Sorted:
    """Codes of the rows, cell by cell."""

    rows = None

    def __init__(
        self, cells: NDArray[Any], cells_count: int, codes: NDArray[Any], size: int
    ) -> None:
        self._size = size
        self._rows = RowsByCell(cells, cells_count, codes)

    def counted(self, cells: Rows) -> tuple[NDArray[Any], Integers]:
        """Codes and rows."""
        return occurring(self._rows.chosen(cells)[0], self._size)

    def below(self, cells: Rows, bounds: Integers) -> Integers:
        """Rows below each bound."""
        (codes,) = self._rows.chosen(cells)
        return np.array([np.count_nonzero(codes < bound) for bound in bounds], np.int64)


class _Scanned:
    """Codes of all rows, of which those in the cells are found anew for each query."""

    rows = None

    def __init__(self, cells: NDArray[Any], codes: NDArray[Any], size: int) -> None:
        self._cells, self._codes, self._size = cells, codes, size

    def counted(self, cells: Rows) -> tuple[NDArray[Any], Integers]:
        """Codes and rows."""
        rows = np.flatnonzero(at_codes(cells, self._cells))
        return occurring(self._codes.take(rows), self._size)

    def below(self, cells: Rows, bounds: Integers) -> Integers:
        """Rows below each bound."""
        rows = at_codes(cells, self._cells)
        within = (rows & (self._codes < bound) for bound in bounds.tolist())
        return np.array([np.count_nonzero(each) for each in within], np.int64)


def occurring(codes: NDArray[Any], size: int) -> tuple[NDArray[Any], Integers]:
    """Ascending distinct ``codes``, below ``size``, and how often each occurs."""
    if codes.size * _SPARSE >= size:
        return _held(np.bincount(codes, minlength=size))
    codes = np.sort(codes)
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    return codes[first], np.diff(first, append=codes.size)


def _held(counts: Integers) -> tuple[Integers, Integers]:
    """Codes whose count is not 0, and the counts."""
    codes = np.flatnonzero(counts != 0)
    return codes, counts[codes]


class RowsByCell:
    """Values of rows in the order of their cells."""

    def __init__(self, cells: NDArray[Any], cells_count: int, *columns: NDArray[Any]) -> None:
        """Put ``columns`` in that order."""
        # A stable sort of 16 bits goes by digits: it does not compare.
        narrow = np.uint16 if cells_count <= 1 << 16 else cells.dtype
        order = np.argsort(cells.astype(narrow, copy=False), kind="stable")
        self._columns = [column[order] for column in columns]
        self._starts = np.append(0, np.cumsum(np.bincount(cells, minlength=cells_count)))

    def chosen(self, cells: Rows) -> list[NDArray[Any]]:
        """Values of each column on the rows of ``cells``."""
        return [of_cells(cells, self._starts, column) for column in self._columns]


def of_cells(cells: Rows, starts: Integers, values: NDArray[Any]) -> NDArray[Any]:
    """Values of the rows of chosen cells; those of cell ``i`` begin at ``starts[i]``."""
    runs = _runs(cells, starts)
    if len(runs) == 1:
        return values[slice(*runs[0])]
    return np.concatenate([values[:0], *(values[slice(*run)] for run in runs)])


def _runs(cells: Rows, starts: Integers) -> Sequence[tuple[int, int]]:
    """First row, and the one after the last, of each run of chosen cells."""
    edges = starts[edges_of(cells)].tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def edges_of(cells: Rows) -> Integers:
    """First cell, and the one after the last, of each run of chosen cells, one after the other."""
    bounded = np.concatenate(([False], cells, [False]))
    return np.flatnonzero(bounded[1:] != bounded[:-1])
