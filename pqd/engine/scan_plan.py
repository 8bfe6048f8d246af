"""Scan plan: the statistics of the queries that share one scan of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from pqd.engine.counting.typed_sql import finite_sql
from pqd.engine.cut_points import CutPoints
from pqd.sql.predicate import Atom, Predicate, atoms

if TYPE_CHECKING:
    from pqd.deciders import Lattice


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Unit of privacy: rows with one value of ``column`` are one person, rows of NULL another.

    If a person's rows are counted one by one, a person counts as at most ``max_rows`` rows: each
    row of a person with j rows has the weight ``min(1, max_rows / j)``.
    """

    column: str
    max_rows: int = 1


def rows_per_person(unit: PrivacyUnit | None) -> int:
    """Most rows that a person counts as; without a unit each row is a person."""
    return unit.max_rows if unit else 1


class TablePlan(Protocol):
    """Plan of one scan of a table; a ScanPlan or MarginalPlan (pqd/engine/marginals.py)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""

    @property
    def unit(self) -> PrivacyUnit | None:
        """Privacy unit; None if each row is a person."""


# Source of bounds: the copy, the caller, or one of two bounds from the caller.
BoundsSource = Literal["copy", "half stated", "stated"]
# Rows that are counted beyond a lattice: those below it, above it, or off its step.
Beyond = Literal["below", "above", "step"]
RANGE: tuple[Beyond, ...] = "below", "above"
# Part of a step by which a double may miss the step that it stands for.
_SAME_STEP = "1e-6"


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure of a row: its SQL over typed columns, and its public lattice.

    Without a lattice, values are counted by equality (COUNT DISTINCT).  With ``cut_points``, they
    are counted by the cut points that they have passed (MEDIAN, QUANTILE).  ``total`` is the
    lattice of a person's total, if the person's rows are added up first.  ``stated`` says of the
    lower and of the upper bound whether it comes from the caller, not from the synthetic table.

    ``accepted``: the caller takes the synthetic table's bounds.

    ``alone`` is the measure for a query that is answered by itself: its bounds follow the WHERE.

    ``beyond`` says which rows are counted once more, apart; empty if none are.  If some are, a cell
    that holds something, but does not read as its kind, counts as well.
    """

    sql: str
    lattice: Lattice | None
    total: Lattice | None = None
    cut_points: CutPoints | None = None
    # Two measures that differ in ``stated`` or ``accepted`` alone are one number, counted once.
    stated: tuple[bool, bool] = field(default=(False, False), compare=False)
    beyond: tuple[Beyond, ...] = ()
    accepted: bool = field(default=False, compare=False)
    alone: Measure | None = field(default=None, compare=False)

    def __hash__(self) -> int:
        """Hash of the SQL alone, since different measures rarely have the same SQL."""
        return hash(self.sql)

    @property
    def is_stated(self) -> bool:
        """Whether both bounds come from the caller."""
        return all(self.stated)

    @property
    def bounds(self) -> BoundsSource | None:
        """Source of the bounds to which values are cut; None if no value is cut."""
        if self.lattice is None or self.cut_points is not None:
            return None
        return ("copy", "half stated", "stated")[sum(self.stated)]

    @property
    def number(self) -> str:
        """SQL of the measured number; empty if only equality matters."""
        return "" if self.lattice is None and self.cut_points is None else self.sql

    @property
    def scanned(self) -> Measure:
        """Measure that the scan evaluates: the value alone, shared by measures with cut points."""
        return self if self.cut_points is None else Measure(self.sql, None, cut_points=CutPoints())


@dataclass(frozen=True, slots=True)
class Statistic:
    """Statistic of one query: its predicate, and the measure of the rows that match.

    If ``collapsed``, a person counts once (COUNT) or by one total (SUM).  If not, the rows of a
    person share a weight, or few of a person's distinct values count (COUNT DISTINCT).  The flag
    changes nothing if each row is a person.

    If ``per_row``, all rows count: a row that does not match, or has no value, counts as 0.  A row
    that matches counts as 1 if there is no measure.  The lattice of the measure then has a 0.
    """

    predicate: Predicate | None
    measure: Measure | None
    columns: frozenset[str]
    collapsed: bool
    per_row: bool = False

    @property
    def weighted(self) -> bool:
        """Whether the rows of a person share a weight; not where a person counts once.

        Distinct values have no weights: at most ``max_rows`` of a person count.
        """
        return not self.collapsed and (self.measure is None or bool(self.measure.number))

    @property
    def zero(self) -> int:
        """Place of the value 0; ValueError if it is not on the lattice."""
        lattice = self.measure.lattice if self.measure else None
        if lattice is None:
            return 0
        place = -lattice.lower / lattice.step
        if place.denominator != 1 or not 0 <= place < lattice.points:
            raise ValueError("a row that does not match counts as 0, which is not on the lattice")
        return int(place)


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """Statistics of one table; each distinct atom and number is evaluated once."""

    statistics: tuple[Statistic, ...]
    unit: PrivacyUnit | None = None

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


def place_sql(measure: Measure, unreadable: str = "FALSE") -> str:
    """SQL of the lattice place of a number: snapped and clamped, NULL stays NULL.

    Between cut points it is the number itself, without a lattice the value as it is.  Where rows
    beyond the lattice are counted, the place of a row that is changed is raised by the number of
    points, and a row with an ``unreadable`` cell (SQL) has twice that number.
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
    if not measure.beyond:
        return f"CASE WHEN ({number}) IS NULL THEN NULL ELSE CAST({place} AS BIGINT) END"
    steps = f"(({number} - {lower}) / {step})"
    changes = {
        "below": f"{steps} < -{_SAME_STEP}",
        "above": f"{steps} > {lattice.points - 1}e0 + {_SAME_STEP}",
        "step": f"abs({steps} - round({steps})) > {_SAME_STEP}",
    }
    changed = " OR ".join(changes[each] for each in measure.beyond)
    raised = f"CASE WHEN {changed} THEN {lattice.points} ELSE 0 END"
    missing = f"CASE WHEN {unreadable} THEN {2 * lattice.points} END"
    return (
        f"CASE WHEN ({number}) IS NULL THEN {missing} ELSE CAST({place} AS BIGINT) + {raised} END"
    )


def predicate_sql(predicate: Predicate) -> str:
    """Predicate as SQL, true exactly on the rows that match."""
    if isinstance(predicate, Atom):
        return f"COALESCE({predicate.sql}, FALSE)"
    return f"({f' {predicate.how.upper()} '.join(map(predicate_sql, predicate.parts))})"
