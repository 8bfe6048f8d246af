"""Marginals: rows counted by the cells of one or several columns; the cells are public."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.counting.combinations import as_codes, at_codes
from pqd.engine.counting.facts import Facts
from pqd.engine.counting.persons import row_weights
from pqd.engine.counting.tally import Counts, Tally
from pqd.engine.reading.buffers import numpy_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from pqd.engine.counting.batch import Batch
    from pqd.engine.counting.facts import FactArrays, TypedSQL
    from pqd.engine.partitions import Partition
    from pqd.engine.scan_plan import PrivacyUnit

    Codes = Mapping[Partition, NDArray[Any]]

# Rows whose cells are counted at a time, so that they stay in the cache.
_CHUNK = 1 << 16


# Row maps are compared by identity: a scan counts each object once.
@dataclass(frozen=True, eq=False)
class RowMap(ABC):
    """Public map of each row to one of ``size`` cells; the cell depends on the row alone.

    Conformers: Marginal, Unseen, EveryRow, Predictions (pqd/marginals/target.py).
    """

    partitions: tuple[Partition, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(partition.column for partition in self.partitions)

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of cells."""

    @abstractmethod
    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Cell of each row, ``0 .. size - 1``, by the codes of its columns.

        The cell of one row depends on that row alone.
        """

    @abstractmethod
    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """All facts that determine the cell of a row, for a cache key."""


@dataclass(frozen=True, eq=False)
class Marginal(RowMap):
    """Marginal of one or several columns: a cell for each combination of the columns' cells.

    The first column varies slowest: ``counts.reshape(shape)`` has an axis for each column.
    """

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(partition.size for partition in self.partitions)

    @property
    def size(self) -> int:
        """Number of cells: the product over the columns."""
        return math.prod(self.shape)

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Cell of each row."""
        first, *others = self.partitions
        cells = codes[first]
        for partition in others:
            cells = cells * partition.size + codes[partition]
        return cells

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Columns and their cells."""
        return ["marginal", [partition.facts() for partition in self.partitions]]


@dataclass(frozen=True, eq=False)
class Unseen(RowMap):
    """Two cells: 1 if a column of the row holds a value that the copy never has, else 0."""

    @property
    def size(self) -> int:
        """Two."""
        return 2

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Cell of each row."""
        unseen = [codes[one] == one.unseen for one in self.partitions if one.unseen is not None]
        rows = next(iter(codes.values())).size
        any_unseen: NDArray[np.bool_] = np.logical_or.reduce(unseen or [np.zeros(rows, bool)])
        return any_unseen.astype(np.int64)

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Cells of each column, and its unseen cell, which is None if its edges are stated."""
        return ["unseen", [[one.facts(), one.unseen] for one in self.partitions]]


@dataclass(frozen=True, eq=False)
class EveryRow(RowMap):
    """One cell for all rows; the partitions only say which column is read."""

    @property
    def size(self) -> int:
        """One."""
        return 1

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Cell of each row."""
        return np.zeros(next(iter(codes.values())).size, np.int64)

    def facts(self) -> list[str]:
        """Name of the map: its cells depend on nothing."""
        return ["every row"]


@dataclass(frozen=True)
class MarginalPlan:
    """Row maps that one scan counts.

    With a ``unit`` a person counts as at most ``max_rows`` rows, and counts are in parts of a row.
    """

    marginals: tuple[RowMap, ...]
    unit: PrivacyUnit | None = None

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Every distinct partition."""
        return tuple(dict.fromkeys(one for each in self.marginals for one in each.partitions))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(sorted({partition.column for partition in self.partitions}))


@dataclass(frozen=True, slots=True, repr=False)
class MarginalCounts:
    """Rows in each cell of each row map of a plan."""

    counts: Mapping[RowMap, NDArray[np.int64]]

    def __getitem__(self, marginal: RowMap) -> NDArray[np.int64]:
        """Rows in each cell of ``marginal``."""
        return self.counts[marginal]

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the counts may be private."""
        return "MarginalCounts(...)"


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Distinct values of a synthetic column, ascending, and the number of rows with each; public.

    Times are microseconds since 1970.  ``values`` may be empty if there are too many values.
    """

    values: NDArray[Any]
    counts: NDArray[np.int64]
    distinct: int
    nulls: int
    rows: int


class MarginalCounter:
    """Counter of rows in each cell of the row maps; with persons, in parts of a row."""

    distinct: frozenset[int] = frozenset()

    def __init__(self, sql: TypedSQL, plan: MarginalPlan) -> None:
        """Nothing is evaluated yet."""
        self._row_maps, self._cells = plan.marginals, CellFacts(sql, plan.partitions)

    def count(self, batch: Batch) -> Counts:
        """Rows of ``batch`` in each cell, by the number of the row map."""
        codes = self._cells.of(batch)
        weights = None if batch.person is None else row_weights(batch.person, batch.max_rows)
        counts = [np.zeros(one.size, np.int64) for one in self._row_maps]
        for first in range(0, batch.rows, _CHUNK):
            part = slice(first, first + _CHUNK)
            chunk = {one: cells[part].astype(np.int64) for one, cells in codes.items()}
            for number, one in enumerate(self._row_maps):
                # Sums of weights are doubles below 2^53, so they are exact.
                own = None if weights is None else weights[part]
                sums = np.bincount(one.cells(chunk), own, minlength=one.size)
                counts[number] += sums.astype(np.int64, copy=False)
        return Counts({number: Tally.of_cells(count) for number, count in enumerate(counts)})

    def whole(self, counts: Counts) -> MarginalCounts:
        """Rows in each cell of each row map."""
        held = {one: np.zeros(one.size, np.int64) for one in self._row_maps}
        for number, one in enumerate(self._row_maps):
            tally = counts[number]
            held[one][tally.keys] = tally.counts
        return MarginalCounts(held)

    def __repr__(self) -> str:
        """Name of the type alone, since cached values may be private."""
        return "MarginalCounter(...)"


class CellFacts:
    """Cells of rows in each partition, computed once for each distinct value."""

    def __init__(self, sql: TypedSQL, partitions: Sequence[Partition]) -> None:
        """Nothing is evaluated yet."""
        by_sql: dict[str, list[Partition]] = {}
        for each in partitions:
            by_sql.setdefault(each.sql, []).append(each)
        self._facts = [
            (own, Facts(sql, sql.names(expression), [expression], partial(_cells, own)))
            for expression, own in by_sql.items()
        ]

    def of(self, batch: Batch) -> Codes:
        """Cell of each row of ``batch`` in each partition."""
        cells: dict[Partition, NDArray[Any]] = {}
        for own, facts in self._facts:
            codes, found = facts.of(batch)
            cells.update((one, at_codes(each, codes)) for one, each in zip(own, found, strict=True))
        return cells


def _cells(partitions: Sequence[Partition], values: Sequence[pa.Array]) -> FactArrays:
    """Cell of each value in each of ``partitions``."""
    held = numpy_of(values[0])
    return [as_codes(one.codes(held), one.size) for one in partitions]
