"""Marginals: rows counted by the cells of one or several columns; the cells are public."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.kernel.combinations import as_codes, at_codes
from pqd.engine.partitions import number_sql
from pqd.engine.reading.buffers import numpy_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.kernel.evaluator import Evaluator
    from pqd.engine.kernel.persons import Persons
    from pqd.engine.partitions import Partition
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.sql.schema import Kind

    Codes = Mapping[Partition, NDArray[Any]]

# The most cells of a joint table that several marginals are added up from; it stays in the cache.
_MOST_JOINT = 2**16
# Rows whose cells are counted at a time, so that they stay in the cache.
_CHUNK = 1 << 16


# Two marginals are one only if they are the same object: a scan counts each object once.
@dataclass(frozen=True, eq=False)
class RowMap(ABC):
    """Map of each row to one of ``size`` cells, by the cells of its columns alone; public.

    Conformers: Marginal, Unseen, Predictions (pqd/marginals/target.py).
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
        """All that the cell of a row is a function of, for a cache key."""


@dataclass(frozen=True, eq=False)
class Marginal(RowMap):
    """Marginal of one or several columns: a cell for each combination of theirs.

    The first column counts slowest: ``counts.reshape(shape)`` has an axis for each column.
    """

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(partition.size for partition in self.partitions)

    @property
    def size(self) -> int:
        """Number of cells: the product of the columns'."""
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
    """Whether any column of a row holds a value that the copy never has: cell 1, else 0."""

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
        """Columns and their cells, and which of these is unseen: none where edges are stated."""
        return ["unseen", [[one.facts(), one.unseen] for one in self.partitions]]


@dataclass(frozen=True)
class MarginalPlan:
    """Row maps that one scan counts; ``key`` chooses which rows of a person are kept.

    With a ``unit`` at most ``max_rows`` rows of each person are kept.
    """

    marginals: tuple[RowMap, ...]
    unit: PrivacyUnit | None = None
    key: bytes = field(default=b"", repr=False)

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
        """Name of the type alone: what it counts may be private, and a traceback may show this."""
        return "MarginalCounts(...)"


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Distinct values of a column of a synthetic table, ascending, and the rows with each; public.

    Times are microseconds since 1970.  ``values`` may be empty where they are too many.
    """

    values: NDArray[Any]
    counts: NDArray[np.int64]
    distinct: int
    nulls: int
    rows: int


def value_counts_of(evaluator: Evaluator, column: str, kind: Kind) -> ValueCounts:
    """Value counts of a column; 0 and -0 are one value."""
    values = _values(evaluator, number_sql(column, kind))
    rows = evaluator.typed(column).counts()
    held = (
        ~np.isnan(values)
        if values.dtype.kind == "f"
        else np.array([value is not None for value in values], np.bool_)
    )
    distinct, places = np.unique(values[held], return_inverse=True)
    counts = np.zeros(distinct.size, np.int64)
    np.add.at(counts, places, rows[held])
    nulls = evaluator.rows - int(counts.sum())
    return ValueCounts(distinct, counts, distinct.size, nulls, evaluator.rows)


def codes_of(evaluator: Evaluator, partitions: Sequence[Partition]) -> Codes:
    """Cell of each row in each of ``partitions``, looked up by its value."""
    values = {sql: _values(evaluator, sql) for sql in {one.sql for one in partitions}}
    codes = {}
    for partition in partitions:
        cells = partition.codes(values[partition.sql])
        column = evaluator.typed(partition.column)
        codes[partition] = at_codes(as_codes(cells, partition.size), column.codes)
    return codes


def _values(evaluator: Evaluator, sql: str) -> NDArray[Any]:
    """Values of an expression of one column, on each distinct cell of it."""
    names = evaluator.names(sql)

    def values() -> NDArray[Any]:
        parts = evaluator.values(names, evaluator.occupied(names), [sql])
        return np.concatenate([numpy_of(values) for (values,) in parts])

    return evaluator.looked_up(names, ("values", sql), values)


def counted(evaluator: Evaluator, plan: MarginalPlan, persons: Persons | None) -> MarginalCounts:
    """Rows in each cell of every row map of ``plan``; of ``persons`` those that are kept."""
    tally = Tally(plan.marginals)
    if persons is None:
        for batch in evaluator.batches():
            _add(tally, codes_of(batch, plan.partitions), batch.rows)
    else:
        codes = codes_of(evaluator, plan.partitions)
        kept = {one: cells[persons.kept] for one, cells in codes.items()}
        _add(tally, kept, int(np.count_nonzero(persons.kept)))
    return tally.counts()


def _add(tally: Tally, codes: Codes, rows: int) -> None:
    """Count so many rows, chunk by chunk."""
    for first in range(0, rows, _CHUNK):
        part = slice(first, first + _CHUNK)
        tally.add({one: cells[part].astype(np.int64) for one, cells in codes.items()})


class Tally:
    """Counts of the cells of row maps, added up chunk by chunk.

    Marginals are added up from joint tables of several columns: few of these hold all pairs.
    """

    def __init__(self, row_maps: Sequence[RowMap]) -> None:
        """No rows yet."""
        self._row_maps = row_maps
        self._home = joint_tables([one for one in row_maps if isinstance(one, Marginal)])
        counted = dict.fromkeys(
            self._home[one] if isinstance(one, Marginal) else one for one in row_maps
        )
        self._counts = {one: np.zeros(one.size, np.int64) for one in counted}

    def add(self, codes: Codes) -> None:
        """Count the rows of a chunk."""
        for each in self._counts:
            self._counts[each] += np.bincount(each.cells(codes), minlength=each.size)

    def counts(self) -> MarginalCounts:
        """Rows in each cell of each row map, over all chunks."""
        return MarginalCounts(
            {
                one: self._summed(one) if isinstance(one, Marginal) else self._counts[one]
                for one in self._row_maps
            }
        )

    def _summed(self, marginal: Marginal) -> NDArray[np.int64]:
        """Counts of a marginal, added up from those of its joint table."""
        joint = self._home[marginal]
        axes = [joint.partitions.index(partition) for partition in marginal.partitions]
        others = tuple(axis for axis in range(len(joint.partitions)) if axis not in axes)
        summed = self._counts[joint].reshape(joint.shape).sum(axis=others)
        # The axes that are left are in the joint table's order.
        return np.ascontiguousarray(summed.transpose(np.argsort(np.argsort(axes)))).ravel()


def joint_tables(marginals: Sequence[Marginal]) -> dict[Marginal, Marginal]:
    """Joint table of each marginal: one of at most 65,536 cells that holds its columns, or itself.

    Found greedily: a table grows by the column that adds most pairs which no table holds yet.
    """
    partitions = tuple(dict.fromkeys(part for one in marginals for part in one.partitions))
    place = {partition: number for number, partition in enumerate(partitions)}
    sizes = np.array([partition.size for partition in partitions], dtype=np.float64)
    places = {one: [place[partition] for partition in one.partitions] for one in marginals}
    open_pairs = np.zeros((len(partitions), len(partitions)), bool)
    for two in (each for each in places.values() if len(each) == 2):
        open_pairs[np.ix_(two, two)] = True
    np.fill_diagonal(open_pairs, val=False)
    tables: list[tuple[set[int], Marginal]] = []
    first = np.full(open_pairs.shape, -1)
    home: dict[Marginal, Marginal] = {}
    for one in sorted(marginals, key=lambda one: -len(one.partitions)):
        own = places[one]
        # A column and a pair are looked up, the few larger marginals searched for.
        number = int(first[own[0], own[-1]]) if len(own) <= 2 else _holding(tables, own)
        if number < 0:
            grown = _grown(own, open_pairs, sizes)
            square = np.ix_(grown, grown)
            open_pairs[square] = False
            number = len(tables)
            first[square] = np.where(first[square] < 0, number, first[square])
            table = Marginal(tuple(partitions[part] for part in grown))
            tables.append((set(grown), table))
        home[one] = tables[number][1]
    return home


def _holding(tables: Sequence[tuple[set[int], Marginal]], places: Sequence[int]) -> int:
    """Number of the first table that holds all of ``places``, -1 if none does."""
    return next((n for n, (held, _) in enumerate(tables) if held.issuperset(places)), -1)


def _grown(
    places: Sequence[int], open_pairs: NDArray[np.bool_], sizes: NDArray[np.float64]
) -> list[int]:
    """``places`` and the columns that their table grows by while it stays small."""
    grown = list(places)
    while True:
        gain = open_pairs[grown].sum(axis=0)
        gain[grown] = 0
        gain[sizes * np.prod(sizes[grown]) > _MOST_JOINT] = 0
        best = int(np.lexsort((sizes, -gain))[0])
        if not gain[best]:
            return grown
        grown.append(best)
