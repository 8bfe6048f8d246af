"""Repeated rows of a public table: rows that are equal in every cell, or in all cells but one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pqd.engine.counting.batch import occurrences
from pqd.engine.counting.combinations import combined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pqd.engine.counting.batch import Batch

    # Codes of rows, and the number of codes.
    Codes = tuple[NDArray[np.unsignedinteger], int]


class RepeatedRows(NamedTuple):
    """Rows with a twin that is equal in every cell.

    ``repeated`` is the number of these rows, ``most`` the number of the most frequent row, and
    ``pairs`` the number of pairs of equal rows.  ``nearly`` has, for each column, the number of
    pairs of rows that are equal in all other columns.
    """

    repeated: int
    most: int
    pairs: int
    nearly: tuple[int, ...]


def repeated_rows(batch: Batch) -> RepeatedRows:
    """Repeated rows of ``batch``, by the cells as they are stored."""
    parts = [(column.codes, len(column.values)) for column in batch.columns.values()]
    counts = occurrences(*_joined(parts, batch.rows))
    pairs = _pairs(counts)
    if not pairs:
        return RepeatedRows(0, int(counts.max(initial=0)), 0, ())
    # Codes of the columns before each column, and of the columns behind it.
    before, behind = _running(parts, batch.rows), _running(parts[::-1], batch.rows)[::-1]
    nearly = (
        _pairs(occurrences(*_joined(sides, batch.rows)))
        for sides in zip(before, behind, strict=True)
    )
    return RepeatedRows(int(counts[counts > 1].sum()), int(counts.max()), pairs, tuple(nearly))


def _running(parts: Sequence[Codes], rows: int) -> list[Codes]:
    """For each part, the joined codes of all parts before it."""
    running = [_joined([], rows)]
    for part in parts[:-1]:
        running.append(_joined([running[-1], part], rows))
    return running


def _joined(parts: Sequence[Codes], rows: int) -> Codes:
    combinations = combined(parts, rows)
    return combinations.codes, combinations.size


def _pairs(counts: NDArray[np.int64]) -> int:
    """Number of pairs of equal rows; ``counts`` are the rows of each combination."""
    return sum(count * (count - 1) // 2 for count in counts[counts > 1].tolist())
