"""Measurement: one run of a mechanism on the private table, charged for and cached."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pqd.accounting.cache_keys import digest
from pqd.accounting.disjoint_groups import MeasurementCost
from pqd.deciders.exact import positive
from pqd.deciders.note import Note
from pqd.engine.duckdb import DuckDBEngine
from pqd.engine.marginals import RowMap
from pqd.engine.scan_plan import PrivacyUnit, Statistic, rows_per_person
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table
from pqd.sql.predicate import canonical
from pqd.sql.query import Query
from pqd.sql.regions import Region, region
from pqd.sql.schema import Schema, fold_case

if TYPE_CHECKING:
    from pqd.deciders import Noise

Output = TypeVar("Output")
# Columns that a query reads, by name, with the kind that each has.
Kinds = tuple[tuple[str, str], ...]


def rows_changed(statistic: Statistic, unit: PrivacyUnit | None) -> int:
    """Rows of a statistic's histogram that one person may change."""
    return 1 if statistic.collapsed else rows_per_person(unit)


def counted_noun(statistic: Statistic, unit: PrivacyUnit | None) -> str:
    """Word for what changes a statistic's histogram by one: people, or rows of people."""
    return "rows" if rows_changed(statistic, unit) > 1 else "people"


# Without slots, so that facts which cost time are computed once.
@dataclass(frozen=True, kw_only=True)
class Measurement(ABC, Generic[Output]):
    """Measurement of a table at a budget; all of it public.

    Attributes
    ----------
    kinds
        The columns that it reads, with their kinds.
    unit
        The privacy unit, None where one row is one person.
    epsilon
        The budget, per row of a person that counts.
    """

    kinds: Kinds
    unit: PrivacyUnit | None
    epsilon: Fraction

    def __post_init__(self) -> None:
        """Raise ParameterError unless there is a budget to draw at."""
        positive(self.epsilon, "epsilon")

    @property
    @abstractmethod
    def id(self) -> str:
        """Name in reports and in the ledger."""

    @cached_property
    def is_constant(self) -> bool:
        """Whether every table within the bounds has the same output, which then costs nothing."""
        return False

    @property
    def joint_statistics(self) -> tuple[Statistic, ...]:
        """Statistics whose rows are counted in one contingency table; none: a histogram."""
        return ()

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginals whose cells are counted; none: what is counted is no marginal."""
        return ()

    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """Mechanism by ``id``, ``kind`` of use, and every parameter that the output depends on.

        The names are those of pqd/accounting/cache_keys.py.
        """

    @abstractmethod
    def run(self, counts: Any, noise: Noise) -> Output:  # noqa: ANN401 - see below
        """Private output, ``epsilon``-DP in the rows of what was counted."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Rows of what is counted that one person may change."""

    @abstractmethod
    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps of the charge."""

    @property
    @abstractmethod
    def composition_cost(self) -> MeasurementCost:
        """Cost as it is composed with those of other measurements."""

    @property
    @abstractmethod
    def cache_key(self) -> str:
        """Ledger cache key: SHA-256 of all that the output depends on, but table and noise."""

    @cached_property
    def cost(self) -> Fraction:
        """Cost by itself: epsilon per row of a person that counts.

        A person who counts once, or by one total, changes the histogram as one row does; one who
        counts by ``max_rows`` rows changes it by that many (group privacy).
        """
        return 0 * self.epsilon if self.is_constant else self.rows * self.epsilon

    @property
    def counted_noun(self) -> str:
        """Word for what changes the counts by one."""
        return "rows" if self.rows > 1 else "people"


# Without slots, for the same reason.
@dataclass(frozen=True, kw_only=True)
class QueryMeasurement(Measurement[Output]):
    """Measurement of one query, or of a batch of them.

    Attributes
    ----------
    query
        The query; of a batch the first.
    statistic
        What the engine must count.
    composition_group
        Name that those have which are charged once, where queries share a budget.
    """

    query: Query
    statistic: Statistic
    composition_group: str = ""

    @property
    def id(self) -> str:
        """Name of the query."""
        return self.query.id or ""

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps of the charge."""
        return {
            "id": self.id,
            "sql": self.query.sql,
            "epsilon": str(self.epsilon),
            "decider": self.parameters()["id"],
            "unit": self.unit.column if self.unit else None,
        }

    @property
    def rows(self) -> int:
        """Rows of the histogram that one person may change."""
        return rows_changed(self.statistic, self.unit)

    @cached_property
    def region(self) -> Region | None:
        """Region of the rows that it reads, None where it reads more of a person than those."""
        if self.unit and self.statistic.collapsed:
            return None
        return region(self.statistic.predicate)

    @property
    def composition_cost(self) -> MeasurementCost:
        """Cost as it is composed with those of its composition group."""
        blocks = frozenset([self.query.block] if self.query.block else [])
        return MeasurementCost(self.id, self.cost, self.region, self.composition_group, blocks)

    @cached_property
    def cache_key(self) -> str:
        """Ledger cache key: SHA-256 of all that the output depends on, but table and noise.

        A synthetic table takes part through tolerance interval, bounds and kinds alone: another
        one that leads to the same measurement has the same key.
        """
        unit, predicate = self.unit, self.statistic.predicate
        return self.key_of(
            {
                "rows": canonical(predicate) if predicate else None,
                "aggregate": self.query.aggregate,
                "unit": (fold_case(unit.column), self.rows) if unit else None,
            }
        )

    def key_of(self, selection: Mapping[str, Any]) -> str:
        """Cache key of a ``selection`` of rows: with measure, kinds, epsilon and mechanism."""
        measure = self.statistic.measure
        facts: dict[str, Any] = {
            "measured": [measure.sql, measure.lattice, measure.total] if measure else None,
            "kinds": self.kinds,
            "epsilon": self.epsilon,
            "mechanism": self.parameters(),
        }
        if measure and measure.cut_points:
            facts["fences"] = measure.cut_points.facts
        return digest({**selection, **facts})


@dataclass(frozen=True, slots=True)
class MeasurementSet:
    """Measurements that one scan of the private table serves: those against one synthetic table.

    Attributes
    ----------
    engine
        Reads the private table.
    private
        The private table.
    schema
        The columns and their kinds, as they were bound.
    unit
        The privacy unit.
    measurements
        In the order of the queries; one may be there twice.
    warnings
        Remarks to show before anything is spent.
    """

    engine: DuckDBEngine
    private: Table
    schema: Schema
    unit: PrivacyUnit | None
    measurements: tuple[Measurement[Any], ...]
    warnings: tuple[Note, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundTables:
    """Synthetic tables with the kinds of the columns that are read; of the private one the header.

    Attributes
    ----------
    tables
        The synthetic tables, and the private one if there is any.
    schema
        The columns and their kinds.
    unit
        The privacy unit.
    notes
        Remarks to show.
    """

    tables: SyntheticTables
    schema: Schema
    unit: PrivacyUnit | None
    notes: tuple[Note, ...]

    @property
    def private(self) -> Table:
        """Private table; TypeError if there is none."""
        if self.tables.private is None:
            raise TypeError("nothing can be measured without a private table")
        return self.tables.private

    @property
    def warnings(self) -> tuple[Note, ...]:
        """Notes that are shown before anything is spent."""
        return tuple(note for note in self.notes if note.warns)

    def measurement_set(self, measurements: Sequence[Measurement[Any]]) -> MeasurementSet:
        """Set of ``measurements``, with the engine, the tables and the unit that they need."""
        return MeasurementSet(
            self.tables.engine,
            self.private,
            self.schema,
            self.unit,
            tuple(measurements),
            self.warnings,
        )
