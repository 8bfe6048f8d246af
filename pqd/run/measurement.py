"""Measurement: one run of a mechanism on the private table, stored under a cache key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pqd.accounting.cache_keys import digest
from pqd.accounting.disjoint_groups import MeasurementCost
from pqd.deciders.distances.noise_laws import LaplaceLaw, NoiseLaw
from pqd.deciders.estimators import LaplaceEstimate
from pqd.deciders.exact import positive
from pqd.deciders.note import Note
from pqd.engine.counting.persons import parts_per_row
from pqd.engine.engine import Engine
from pqd.engine.marginals import RowMap
from pqd.engine.scan_plan import (
    BoundsSource,
    PrivacyUnit,
    Statistic,
    rows_per_person,
)
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table
from pqd.sql.predicate import canonical
from pqd.sql.query import Query
from pqd.sql.regions import Region, region
from pqd.sql.schema import Schema, fold_case

if TYPE_CHECKING:
    from pqd.deciders import Noise

Output = TypeVar("Output")
# Name and kind of each column that a query reads.
Kinds = tuple[tuple[str, str], ...]
# Probability that the noise of a released number of rows reaches farther than the ledger says.
ROWS_LEVEL = 0.01


def rows_changed(statistic: Statistic, unit: PrivacyUnit | None) -> int:
    """Number of rows of a statistic's histogram that one person may change."""
    return 1 if statistic.collapsed else rows_per_person(unit)


def counted_noun(statistic: Statistic, unit: PrivacyUnit | None) -> str:
    """Noun for a count of 1 in a statistic's histogram: people, or rows of people."""
    return "rows" if rows_changed(statistic, unit) > 1 else "people"


def bounds_of(statistics: Sequence[Statistic]) -> BoundsSource | None:
    """Weakest source of the bounds to which the values of some statistics are cut."""
    return weakest_bounds({each.measure.bounds for each in statistics if each.measure})


def weakest_bounds(sources: AbstractSet[BoundsSource | None]) -> BoundsSource | None:
    """Weakest of several sources of bounds; None if no value is cut."""
    order: tuple[BoundsSource, ...] = ("copy", "half stated", "stated")
    return next((source for source in order if source in sources), None)


def law_of_rows(query: Query, estimator: object, epsilon: Fraction) -> NoiseLaw | None:
    """Law of the noise of an estimate of the number of all rows; None for other estimates."""
    if not (query.counts_rows and isinstance(estimator, LaplaceEstimate)):
        return None
    return LaplaceLaw(estimator.scale(epsilon)) if estimator.fineness == 1 else None


# Without slots, since ``cached_property`` needs a ``__dict__``.
@dataclass(frozen=True, kw_only=True)
class Measurement(ABC, Generic[Output]):
    """Measurement of a table at a budget; all of its fields are public.

    Attributes
    ----------
    kinds
        The columns that the measurement reads, with their kinds.
    unit
        The privacy unit; None if one row is one person.
    epsilon
        The budget for each row of a person that counts.
    """

    kinds: Kinds
    unit: PrivacyUnit | None
    epsilon: Fraction

    def __post_init__(self) -> None:
        """Raise ParameterError unless epsilon is greater than 0."""
        positive(self.epsilon, "epsilon")

    @property
    @abstractmethod
    def id(self) -> str:
        """Name in reports and in the ledger."""

    @cached_property
    def is_constant(self) -> bool:
        """Whether all tables within the bounds have the same output; it then costs nothing."""
        return False

    @property
    def question(self) -> str:
        """Hash of what a verdict asks, whatever its epsilon and decider; empty for a release."""
        return ""

    @property
    def joint_statistics(self) -> tuple[Statistic, ...]:
        """Statistics that are counted in one contingency table; empty for a histogram."""
        return ()

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginals whose cells are counted; empty for a histogram or a contingency table."""
        return ()

    @property
    def sets(self) -> tuple[MeasurementSet, ...]:
        """Sets whose measurements this measurement is about; empty for all but a gate."""
        return ()

    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """Parameters that the output depends on: the mechanism's ``id``, the ``kind``, and others.

        The names are those of pqd/accounting/cache_keys.py.
        """

    @abstractmethod
    def run(self, counts: Any, noise: Noise) -> Output:  # noqa: ANN401 - see below
        """Private output; it is ``epsilon``-DP in the counted rows."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of counted rows that one person may change."""

    @property
    def rows_law(self) -> NoiseLaw | None:
        """Law of the noise of the first released number, if it is the number of private rows."""
        return None

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps of the charge.

        They name the SQL, or the columns of the marginals.  They say how far the noise of a
        released number of rows reaches.  With a unit such a number is one of counted rows, and they
        say nothing of it.
        """
        law = None if self.unit else self.rows_law
        columns = dict.fromkeys(name for each in self.marginals for name in each.columns)
        return {
            "id": self.id,
            "sql": "",
            "columns": [*columns],
            "epsilon": str(self.epsilon),
            "decider": self.parameters()["id"],
            "unit": self.unit.column if self.unit else None,
            "max_rows": self.unit.max_rows if self.unit else None,
            **({} if law is None else {"rows_within": law.quantile(ROWS_LEVEL / 2)}),
        }

    @property
    @abstractmethod
    def composition_cost(self) -> MeasurementCost:
        """Cost to be composed with the costs of other measurements."""

    @property
    @abstractmethod
    def cache_key(self) -> str:
        """Ledger cache key: SHA-256 of all facts behind the output, except table and noise."""

    @cached_property
    def cost(self) -> Fraction:
        """Cost by itself: epsilon times the number of counted rows of a person (group privacy).

        If a person is counted once, or by one total, this number is 1.
        """
        return 0 * self.epsilon if self.is_constant else self.rows * self.epsilon

    @property
    def counted_noun(self) -> str:
        """Noun for a count of 1: people, or rows of people."""
        return "rows" if self.rows > 1 else "people"


# Without slots, since ``cached_property`` needs a ``__dict__``.
@dataclass(frozen=True, kw_only=True)
class QueryMeasurement(Measurement[Output]):
    """Measurement of one query, or of a batch of queries.

    Attributes
    ----------
    query
        The query; for a batch the first query.
    statistic
        The statistic that the engine must count.
    composition_group
        Name of the group of queries that are charged once, if queries share a budget.
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
            **super().ledger_facts(),
            "sql": self.query.sql,
            "bounds": bounds_of([self.statistic]),
        }

    @property
    def rows(self) -> int:
        """Number of rows of the histogram that one person may change."""
        return rows_changed(self.statistic, self.unit)

    @property
    def parts(self) -> int:
        """Parts of a row in which rows are counted; 1 if whole rows, or persons, are counted."""
        return parts_per_row(self.unit) if self.statistic.weighted else 1

    @cached_property
    def region(self) -> Region | None:
        """Region of the rows that the measurement reads; None if it reads rows beyond it.

        With a unit it may depend on all rows of a person, who may be in many regions.  It reads all
        rows of a table if it counts them.
        """
        if self.unit or self.statistic.per_row:
            return None
        return region(self.statistic.predicate)

    @property
    def composition_cost(self) -> MeasurementCost:
        """Cost to be composed with the costs of its composition group."""
        blocks = frozenset([self.query.block] if self.query.block else [])
        return MeasurementCost(self.id, self.cost, self.region, self.composition_group, blocks)

    @cached_property
    def cache_key(self) -> str:
        """Ledger cache key: SHA-256 of all facts behind the output, except table and noise.

        Of a synthetic table the key contains only the interval, the bounds and the kinds.  So two
        copies that lead to the same measurement give the same key.
        """
        unit, predicate = self.unit, self.statistic.predicate
        return self.key_of(
            {
                "rows": canonical(predicate) if predicate else None,
                "aggregate": self.query.aggregate,
                "unit": (fold_case(unit.column), self.rows) if unit else None,
                **({"scale": self.query.scale} if self.statistic.per_row else {}),
            }
        )

    def key_of(self, selection: Mapping[str, Any]) -> str:
        """Cache key of a measurement that reads the rows of ``selection``."""
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
    """Measurements for one synthetic table; they share the scans of the private table.

    Attributes
    ----------
    engine
        The engine that reads the private table.
    private
        The private table.
    schema
        The columns and their kinds, as they were bound.
    unit
        The privacy unit.
    measurements
        The measurements in the order of the queries; one measurement may occur twice.
    warnings
        Notes to show before anything is spent.
    copies
        Names of the copies, as the ledger keeps them.
    """

    engine: Engine
    private: Table
    schema: Schema
    unit: PrivacyUnit | None
    measurements: tuple[Measurement[Any], ...]
    warnings: tuple[Note, ...] = ()
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundTables:
    """Tables of a run, with the kinds of the columns that it reads.

    Attributes
    ----------
    tables
        The synthetic tables, and the private table if there is one.
    schema
        The columns and their kinds.
    unit
        The privacy unit.
    notes
        Notes to show.
    """

    tables: SyntheticTables
    schema: Schema
    unit: PrivacyUnit | None
    notes: tuple[Note, ...]

    @property
    def private(self) -> Table:
        """Private table; TypeError without one."""
        if self.tables.private is None:
            raise TypeError("nothing can be measured without a private table")
        return self.tables.private

    @property
    def warnings(self) -> tuple[Note, ...]:
        """Notes that are shown before anything is spent."""
        return tuple(note for note in self.notes if note.warns)

    def measurement_set(self, measurements: Sequence[Measurement[Any]]) -> MeasurementSet:
        """Set of ``measurements`` on these tables."""
        return MeasurementSet(
            self.tables.engine,
            self.private,
            self.schema,
            self.unit,
            tuple(measurements),
            self.warnings,
            self.tables.copy_names,
        )
