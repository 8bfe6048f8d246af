"""Scan of a table in Spark: a worker counts chunks of rows, as any table is counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pqd.engine.kernel.batch import row_batches
from pqd.engine.kernel.persons import person_batches
from pqd.engine.kernel.tally import Counter, Counts, folded
from pqd.engine.reading.columns import Columns
from pqd.engine.reading.dictionaries import ColumnBuilder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pqd.engine.partial_content import Contents, PersonCells
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.engine.spark.partial_counts import Block


@dataclass(frozen=True, eq=False, repr=False)
class ScanCounting:
    """Counts of ``counter`` for Spark, and of the ``content`` of the same rows.

    The content tells whether these are the rows that were recognised.  ``names`` gives the stored
    name of each public one; ``person`` is the stored column of the ``unit``.
    """

    counter: Counter[Any]
    names: Mapping[str, str]
    content: Contents
    unit: PrivacyUnit | None = None
    person: str | None = None
    persons: PersonCells | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Stored columns that are read."""
        own = [*self.names.values(), *self.content.columns]
        return tuple(dict.fromkeys([*own, *([self.person] if self.person else [])]))

    @property
    def distinct(self) -> frozenset[int]:
        """Statistics of which is asked how many keys occur 1, 2, ... times."""
        return self.counter.distinct

    def counts(self, blocks: Sequence[Block], ranks: NDArray[np.uint64] | None) -> Counts:
        """Counts of the rows of ``blocks``."""
        builders = {name: ColumnBuilder() for name in self.columns}
        for block in blocks:
            for name, builder in builders.items():
                builder.add(block[name])
        rows = sum(len(block[self.columns[0]]) for block in blocks)
        by_name = {name: builder.column() for name, builder in builders.items()}
        columns = Columns(rows, by_name, ranks)
        if self.unit:
            batches = person_batches(columns, self.names, self.person, self.unit.max_rows)
        else:
            batches = row_batches(columns, self.names)
        return folded(map(self.counter.count, batches)) + self.content.counts(blocks)

    def __repr__(self) -> str:
        """Name of the type alone: it holds a key."""
        return "ScanCounting(...)"
