"""Batches of rows: each column as codes of its distinct values.

A batch gives counts, and counts add up.  Nothing else crosses from one batch to the next but what
is remembered of single values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqd.engine.kernel.combinations import Combinations, combined
from pqd.engine.reading.columns import Column, batches_of
from pqd.interrupts import heed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from pqd.engine.reading.columns import Columns

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Batch:
    """Some rows of a table, their columns by public name.

    Where persons are told apart, ``person`` (rows,) numbers whose row each row is, in ascending
    order, and ``kept`` (rows,) tells the rows that count by themselves.  All rows of a person are
    in one batch.
    """

    rows: int
    columns: Mapping[str, Column]
    person: NDArray[np.integer] | None = None
    kept: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "Batch(...)"

    def combinations(self, names: Names) -> Combinations:
        """Combinations of the cells of columns ``names`` that rows hold; the values of one column.

        The columns' own codes are the digits of a combination.
        """
        columns = [self.columns[name] for name in names]
        return combined([(each.codes, len(each.values)) for each in columns], self.rows)


def row_batches(columns: Columns, stored: Mapping[str, str]) -> Iterator[Batch]:
    """Rows in their order, batch by batch; ``stored`` gives the stored name of each public one.

    There is one batch at least.
    """
    by_name = {name: columns.by_name[own] for name, own in stored.items()}
    for first, last in batches_of(columns.rows):
        heed()
        some = {
            name: Column(each.between(first, last), each.values) for name, each in by_name.items()
        }
        yield Batch(last - first, some)
