"""Scan plan: the statistics of the queries that share one scan of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pqd.engine.counting.typed_sql import finite_sql
from pqd.engine.cut_points import CutPoints
from pqd.sql.predicate import Atom, Predicate, atoms

if TYPE_CHECKING:
    from pqd.deciders import Lattice


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """All rows with one value of ``column`` are one person; rows without one are one more.

    Where a person counts by their rows, at most ``max_rows`` of them are kept.
    """

    column: str
    max_rows: int = 1


def rows_per_person(unit: PrivacyUnit | None) -> int:
    """Most rows of one person that count; without a unit one row is one person."""
    return unit.max_rows if unit else 1


class TablePlan(Protocol):
    """Plan of what is read of one table: ScanPlan, MarginalPlan (pqd/engine/marginals.py).

    With a ``unit``, ``key`` chooses which rows of a person are kept.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""

    @property
    def unit(self) -> PrivacyUnit | None:
        """Privacy unit, None where one row is one person."""

    @property
    def key(self) -> bytes:
        """Key of the hashes by which the rows of a person rank."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure of a row: its SQL over typed columns, and its public lattice.

    Without a lattice only equality matters (COUNT DISTINCT), or with ``cut_points`` which of them a
    value has passed (MEDIAN, QUANTILE).  ``total`` is the lattice of a person's total, where their
    rows are added up first.  ``stated``: the bounds are the caller's, not the synthetic table's.
    """

    sql: str
    lattice: Lattice | None
    total: Lattice | None = None
    cut_points: CutPoints | None = None
    # Two measures that differ in this alone are one number, which is counted once.
    stated: bool = field(default=False, compare=False)

    def __hash__(self) -> int:
        """Hash of the SQL alone: two measures with the same SQL are rare."""
        return hash(self.sql)

    @property
    def number(self) -> str:
        """SQL of the number that is measured, empty where only equality matters."""
        return "" if self.lattice is None and self.cut_points is None else self.sql

    @property
    def scanned(self) -> Measure:
        """Measure that the scan takes; with cut points it is the value, which all of them share."""
        return self if self.cut_points is None else Measure(self.sql, None, cut_points=CutPoints())


@dataclass(frozen=True, slots=True)
class Statistic:
    """Statistic of one query: the rows that it matches, and what is counted of them.

    ``collapsed``: a person counts once (COUNT) or by one total (SUM), whatever their rows; else by
    the rows kept.  It changes nothing where one row is one person.
    """

    predicate: Predicate | None
    measure: Measure | None
    columns: frozenset[str]
    collapsed: bool


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """Statistics of one table; distinct atoms and numbers are evaluated once.

    ``key`` chooses which rows of a person are kept.
    """

    statistics: tuple[Statistic, ...]
    unit: PrivacyUnit | None = None
    key: bytes = field(default=b"", repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that a statistic reads."""
        return tuple(sorted({name for statistic in self.statistics for name in statistic.columns}))

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Every distinct atomic condition."""
        every = (
            atom
            for statistic in self.statistics
            if statistic.predicate
            for atom in atoms(statistic.predicate)
        )
        return tuple(dict.fromkeys(every))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Every distinct measure, in the form that the scan takes."""
        return tuple(
            dict.fromkeys(
                statistic.measure.scanned for statistic in self.statistics if statistic.measure
            )
        )


def place_sql(measure: Measure) -> str:
    """SQL of the lattice place of a number: snapped and clamped, NULL stays NULL.

    Between cut points it is the number itself, without a lattice the value as it is.
    """
    lattice = measure.lattice
    if measure.cut_points:
        return f"CAST({finite_sql(measure.sql)} AS DOUBLE)"
    if lattice is None:
        return measure.sql
    lower, step = (f"{float(x)!r}::DOUBLE" for x in (lattice.lower, lattice.step))
    number = finite_sql(measure.sql)
    place = f"LEAST(GREATEST(round(({number} - {lower}) / {step}), 0e0), {lattice.points - 1}e0)"
    # GREATEST and LEAST ignore a NULL, so CASE looks for it first.
    return f"CASE WHEN ({number}) IS NULL THEN NULL ELSE CAST({place} AS BIGINT) END"


def predicate_sql(predicate: Predicate) -> str:
    """Predicate as SQL, true exactly on the rows that match."""
    if isinstance(predicate, Atom):
        return f"COALESCE({predicate.sql}, FALSE)"
    return f"({f' {predicate.how.upper()} '.join(map(predicate_sql, predicate.parts))})"
