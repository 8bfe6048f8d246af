"""Partial scans: what a scan gathers of some rows, so that it adds up to that of all.

A worker of Spark evaluates a chunk of rows by the same kernel as any other table, and hands on
counts; what they add up to is put together here again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import pyarrow as pa

from pqd.deciders import Histogram
from pqd.engine.contingency import ContingencyTable, ascending_cells, contingency_of, words_of
from pqd.engine.histograms import histograms_of, is_distinct, row_histograms
from pqd.engine.kernel.arrow_sql import joined
from pqd.engine.kernel.evaluator import Evaluator
from pqd.engine.kernel.measures import numbered
from pqd.engine.kernel.persons import persons_of
from pqd.engine.marginals import MarginalCounts, MarginalPlan, counted
from pqd.engine.partial_content import canonical, hashed, worker_sql
from pqd.engine.reading.buffers import arrow_of
from pqd.engine.reading.columns import Columns
from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.engine.scan_plan import Measure, ScanPlan, TablePlan
from pqd.engine.spark.partial_counts import PartialCounts, counts_of, joined_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.persons import Persons
    from pqd.engine.partial_content import Contents, PersonCells
    from pqd.engine.spark.partial_counts import Block
    from pqd.sql.schema import Schema

Plan = TypeVar("Plan", bound=TablePlan)
Whole = TypeVar("Whole")
# Bytes of the hash that stands for a value of which only equality matters.
_WORD = 16


class Gathering(ABC, Generic[Plan, Whole]):
    """What is gathered from a scan: of all rows at once, or of some, to be put together."""

    @abstractmethod
    def of_rows(self, evaluator: Evaluator, plan: Plan, persons: Persons | None) -> Whole:
        """Whole of all rows."""

    @abstractmethod
    def partial(
        self, evaluator: Evaluator, plan: Plan, persons: Persons | None, key: bytes
    ) -> PartialCounts:
        """Counts of some rows; ``key`` is that of hashes that stand for values."""

    @abstractmethod
    def whole(self, plan: Plan, counts: PartialCounts) -> Whole:
        """Whole of all rows, from the sums of the counts of some."""

    def is_distinct(self, plan: Plan) -> bool:  # noqa: ARG002 - of histograms alone
        """Whether rows are counted by values of which only equality matters."""
        return False


class HistogramGathering(Gathering[ScanPlan, tuple[Histogram, ...]]):
    """Histogram of each statistic of a plan."""

    def of_rows(
        self, evaluator: Evaluator, plan: ScanPlan, persons: Persons | None
    ) -> tuple[Histogram, ...]:
        """Histograms of all rows."""
        return histograms_of(evaluator, plan, persons)

    def partial(
        self, evaluator: Evaluator, plan: ScanPlan, persons: Persons | None, key: bytes
    ) -> PartialCounts:
        """Counts by value; of COUNT DISTINCT by a hash of the value."""
        words: dict[Measure, pa.Array] = {}
        parts = []
        for number, one in row_histograms(evaluator, plan, persons):
            measure = plan.statistics[number].measure
            if measure is None or not is_distinct(measure):
                parts.append(counts_of(number, one.values, one.counts))
                continue
            if measure not in words:
                words[measure] = _words(evaluator, measure.sql, key)
            chosen = words[measure].take(arrow_of(one.values))
            parts.append(counts_of(number, np.zeros_like(one.values), one.counts, chosen))
        return joined_counts(parts)

    def whole(self, plan: ScanPlan, counts: PartialCounts) -> tuple[Histogram, ...]:
        """Histograms of all rows."""
        every = counts.by_part(len(plan.statistics))
        return tuple(Histogram.weighted(one.places, one.rows) for one in every)

    def is_distinct(self, plan: ScanPlan) -> bool:
        """Whether there is a COUNT DISTINCT."""
        return any(one.measure and is_distinct(one.measure) for one in plan.statistics)


class ContingencyGathering(Gathering[ScanPlan, ContingencyTable]):
    """Contingency table of a plan."""

    def of_rows(
        self,
        evaluator: Evaluator,
        plan: ScanPlan,
        persons: Persons | None,  # noqa: ARG002 - a row is a person
    ) -> ContingencyTable:
        """Table of all rows."""
        return contingency_of(evaluator, plan)

    def partial(
        self,
        evaluator: Evaluator,
        plan: ScanPlan,
        persons: Persons | None,  # noqa: ARG002 - a row is a person
        key: bytes,  # noqa: ARG002 - words are the atoms themselves
    ) -> PartialCounts:
        """Counts by place and atoms."""
        table = contingency_of(evaluator, plan)
        words = [row.tobytes() for row in np.ascontiguousarray(table.words)]
        return counts_of(0, table.places, table.counts, pa.array(words, pa.binary()))

    def whole(self, plan: ScanPlan, counts: PartialCounts) -> ContingencyTable:
        """Table of all rows."""
        cells = counts.of(0)
        packed = b"".join(cells.words.to_pylist())
        width = words_of(len(plan.atoms))
        words = np.frombuffer(packed, np.uint64).reshape(cells.places.size, width)
        return ascending_cells(words, cells.places, cells.rows)


class MarginalGathering(Gathering[MarginalPlan, MarginalCounts]):
    """Rows in each cell of the row maps of a plan."""

    def of_rows(
        self, evaluator: Evaluator, plan: MarginalPlan, persons: Persons | None
    ) -> MarginalCounts:
        """Counts of all rows."""
        return counted(evaluator, plan, persons)

    def partial(
        self,
        evaluator: Evaluator,
        plan: MarginalPlan,
        persons: Persons | None,
        key: bytes,  # noqa: ARG002 - nothing is hashed
    ) -> PartialCounts:
        """Counts by cell, of cells with a row."""
        counts = counted(evaluator, plan, persons)
        parts = []
        for number, marginal in enumerate(plan.marginals):
            cells = np.flatnonzero(counts[marginal])
            parts.append(counts_of(number, cells, counts[marginal][cells]))
        return joined_counts(parts)

    def whole(self, plan: MarginalPlan, counts: PartialCounts) -> MarginalCounts:
        """Counts of all rows."""
        every = counts.by_part(len(plan.marginals))
        held = {}
        for marginal, one in zip(plan.marginals, every, strict=True):
            held[marginal] = np.zeros(marginal.size, np.int64)
            held[marginal][one.places] = one.rows
        return MarginalCounts(held)


HISTOGRAMS, CONTINGENCY, MARGINALS = (
    HistogramGathering(),
    ContingencyGathering(),
    MarginalGathering(),
)


@dataclass(frozen=True, eq=False, repr=False)
class ScanCounting(Generic[Plan, Whole]):
    """Partial scan for Spark: ``gathering`` of rows in columns ``columns``.

    ``names`` gives the stored name of each public one.  ``content`` is counted too: it tells
    whether these are the rows that were recognised.  ``person`` is the stored column of the unit.
    """

    gathering: Gathering[Plan, Whole]
    plan: Plan
    schema: Schema
    names: Mapping[str, str]
    content: Contents
    key: bytes
    person: str | None = None
    persons: PersonCells | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Stored columns that are read."""
        own = [*self.names.values(), *self.content.columns]
        return tuple(dict.fromkeys([*own, *([self.person] if self.person else [])]))

    @property
    def distinct(self) -> bool:
        """Whether rows are counted by values of which only equality matters."""
        return self.gathering.is_distinct(self.plan)

    def counts(self, blocks: Sequence[Block], ranks: NDArray[np.uint64] | None) -> PartialCounts:
        """Counts of the rows of ``blocks``."""
        builders = {name: ColumnBuilder() for name in self.columns}
        for block in blocks:
            for name, builder in builders.items():
                builder.add(block[name])
        rows = sum(len(block[self.columns[0]]) for block in blocks)
        by_name = {name: builder.column() for name, builder in builders.items()}
        schema = {name: self.schema[name] for name in self.names}
        evaluator = Evaluator(worker_sql(), Columns(rows, by_name, ranks), schema, self.names)
        unit = self.plan.unit
        persons = persons_of(evaluator, self.person, unit.max_rows) if unit else None
        counts = self.gathering.partial(evaluator, self.plan, persons, self.key)
        return joined_counts([counts, self.content.counts(blocks)])

    def __repr__(self) -> str:
        """Name of the type alone: it holds a key."""
        return "ScanCounting(...)"


def _words(evaluator: Evaluator, sql: str, key: bytes) -> pa.Array:
    """Keyed hash of each distinct value of an expression, as ``measured`` numbers them."""
    names = evaluator.names(sql)
    values = joined(evaluator.values(names, evaluator.combinations(names), [sql]))
    distinct, codes = numbered(values)
    first = np.zeros(distinct.size, np.int64)
    held = np.flatnonzero(codes < distinct.size)[::-1]
    first[codes[held]] = held
    told = canonical(values.combine_chunks().take(arrow_of(first)))
    hashes = [hashed(text, key, _WORD) for text in evaluator.sql.texts(told)]
    return pa.array(hashes, pa.binary())
