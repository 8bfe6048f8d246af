"""Public lattices: bounds of each attribute, stated or taken from the copy, wider if needed.

Everything here is computed from the synthetic tables and from what the caller states.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders import Interval, Lattice, ParameterError, UnanswerableError, answer
from pqd.deciders.histogram import HALF
from pqd.deciders.note import Note, note
from pqd.deciders.numbers import number_text, plain
from pqd.deciders.options import option
from pqd.engine.cut_points import ORDERED, CutPoints, reaching
from pqd.engine.scan_plan import RANGE, Beyond, Measure, PrivacyUnit, Statistic
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.reports.models.audit import Condition
from pqd.sql.query import Query
from pqd.sql.regions import region
from pqd.sql.schema import Schema, quote_identifier
from pqd.sql.select import BoundExpression
from pqd.sql.tolerance import Tolerance
from pqd.stated.column_facts import (
    ColumnFacts,
    Facts,
    bounded_lattice,
    facts_of_attribute,
    row_lattice,
    span,
)

if TYPE_CHECKING:
    from pqd.deciders import Histogram
    from pqd.planning.bound_workload import QueryRequest

_COUNTING = Lattice(0, 1)
_COUNTS = ("COUNT", "COUNT DISTINCT")
_CLAMPED = ("SUM", "AVG")
NUMERIC = (*_CLAMPED, *ORDERED)
# Bounds of a WHERE that are farther apart are not taken.
_WIDEST = 1e9
_ZERO = Fraction(0)
_PER_CENT = Fraction(100)


# SQL of an attribute, whether it is a person's total, the ends that the WHERE states, and whether
# all rows count.
_Place = tuple[str, bool, tuple[float | None, float | None] | None, bool]


class Bounds:
    """Lattices of the attributes of a run, each computed once, and notes on their bounds."""

    def __init__(
        self, tables: SyntheticTables, schema: Schema, stated: Facts, unit: PrivacyUnit | None
    ) -> None:
        """Read no table yet."""
        self._tables, self._schema, self._stated, self._unit = tables, schema, stated, unit
        self._lattices: dict[_Place, Lattice] = {}
        # Bounds for the notes, by the name of the attribute.  They are taken from the copy
        # (``_copy_spans``), widened beyond it (``_wider_spans``) or stated (``_stated_spans``).
        # Of ``_half_spans`` one of the two is stated.
        self._copy_spans: dict[str, dict[str, None]] = {}
        self._wider_spans: dict[str, dict[str, None]] = {}
        self._where_spans: dict[str, dict[str, None]] = {}
        self._half_spans: dict[str, dict[str, None]] = {}
        self._stated_spans: dict[str, str] = {}
        # For each stated bound: does its aggregate move values between two steps?
        self._snapped: set[bool] = set()

    def notes(self) -> Iterator[Note]:
        """Notes on the bounds of all measures so far: one note for each kind of bounds."""
        if self._stated_spans:
            snapped = ("SUM and AVG" if len(self._snapped) > 1 else "all") * any(self._snapped)
            yield note("bounds-stated", bounds=tuple(self._stated_spans.items()), snapped=snapped)
        if self._where_spans:
            yield note("bounds-of-where", bounds=_spans(self._where_spans))
        if self._half_spans:
            yield note("bounds-half-stated", bounds=_spans(self._half_spans))
        if self._copy_spans:
            yield note("bounds-of-copy", bounds=_spans(self._copy_spans))
        if self._wider_spans:
            yield note("bounds-widened", bounds=_spans(self._wider_spans))

    def measure(self, query: Query, resolved: BoundExpression) -> Measure:
        """Measure of a query: the attribute that it aggregates, on its public lattice.

        Raises
        ------
        UnanswerableError
            If the attribute has no bounds, or is 0 everywhere in the synthetic table.
        """
        # For a SUM, add up each person's rows, since a person may have several rows.
        total_of = self._unit if query.aggregate == "SUM" else None
        attribute = query.attribute or ""
        facts = facts_of_attribute(self._stated, attribute) or ColumnFacts()
        ends = (None, None) if total_of else self._ends_of_where(query, resolved)
        of_where = not any(facts.stated) and None not in ends
        lattice = self._once(query, resolved, total_of, None)
        narrow, stated = self._with_ends(query, lattice, facts.stated, ends)
        of_ends: Lattice | None = None
        if of_where and not (query.aggregate == "SUM" and all(stated)):
            # The ends of the WHERE may lie beyond the copy's.
            lattice = narrow = of_ends = self._once(query, resolved, total_of, ends)
            stated = True, True
        elif query.aggregate == "AVG":
            lattice = narrow
        if total_of and not all(stated) and lattice.lower < 0:
            # A person's rows may lie on both sides of 0, so the bound of a total is none of rows.
            stated = False, False
        subject = f"a person's total of {attribute}" if total_of else attribute
        if of_where:
            self._where_spans.setdefault(subject, {})[span(narrow)] = None
        elif all(stated):
            self._snapped.add(query.aggregate in _CLAMPED)
            self._stated_spans[subject] = span(narrow)
        elif query.aggregate == "SUM":
            if lattice.lower == lattice.upper == 0:
                raise UnanswerableError(
                    f"{subject} is 0 throughout in the synthetic table, so that its bounds leave "
                    f"nothing to add up; state its bounds ({option('--bounds')})"
                )
            self._note_bounds(subject, narrow, stated, facts)
        beyond: tuple[Beyond, ...] = ()
        if query.aggregate in _CLAMPED and not all(facts.stated) and narrow is not of_ends:
            beyond = _beyond(facts, stated)
        measure = Measure(
            resolved.value or "",
            row_lattice(lattice) if total_of else lattice,
            lattice if total_of else None,
            stated=stated,
            beyond=beyond,
            accepted=facts.takes_copy,
        )
        if narrow == lattice:
            return measure
        alone = replace(measure, lattice=narrow, beyond=() if all(stated) else beyond)
        return replace(measure, alone=alone)

    def _once(
        self,
        query: Query,
        resolved: BoundExpression,
        total_of: PrivacyUnit | None,
        ends: tuple[float | None, float | None] | None,
    ) -> Lattice:
        """Lattice of an attribute, or of one between two ``ends``; each is computed once."""
        place = resolved.value or "", total_of is not None, ends, query.per_row
        if place not in self._lattices:
            self._lattices[place] = self._lattice(query, resolved, total_of, ends)
        return self._lattices[place]

    def _with_ends(
        self,
        query: Query,
        lattice: Lattice,
        stated: tuple[bool, bool],
        ends: tuple[float | None, float | None],
    ) -> tuple[Lattice, tuple[bool, bool]]:
        """Lattice, cut to whole steps at the ends of the WHERE, and which bounds are stated then.

        An end of the WHERE is taken if it costs nothing: if it lies on the lattice, or for a mean
        between the lattice and 0.  No row beyond it is selected, so the lattice as it was cuts no
        row there either; queries that sum up one measure are answered together on it.
        """
        step, low, high = lattice.step, lattice.lower, lattice.upper
        lower, upper = (None if end is None else Fraction(str(end)) for end in ends)
        least, most = low, high
        if query.aggregate == "AVG":
            least, most = min(low, _ZERO), max(high, _ZERO)
        # Whole steps must not carry an end across 0.
        if lower is not None and not stated[0] and least <= lower <= high:
            end = low + (lower - low) // step * step
            if not end < 0 <= lower:
                low, stated = end, (True, stated[1])
        if upper is not None and not stated[1] and lattice.lower <= upper <= most:
            end = high - (high - upper) // step * step
            if not upper <= 0 < end:
                high, stated = end, (stated[0], True)
        # Bounds of 0 alone would leave nothing to add up.
        is_cut = low < high or (low == high and low)
        cut = Lattice(low, high, step) if is_cut else lattice
        return with_zero(cut) if query.per_row else cut, stated

    def _note_bounds(
        self, subject: str, lattice: Lattice, stated: tuple[bool, bool], facts: ColumnFacts
    ) -> None:
        """Record bounds of which not both are stated, for the notes."""
        text = span(lattice)
        if not any(stated):
            self._copy_spans.setdefault(subject, {})[text] = None
            return
        place = stated.index(True)
        source = "stated" if facts.stated[place] else "from the WHERE"
        text += f" (the {('lower', 'upper')[place]} bound {source})"
        self._half_spans.setdefault(subject, {})[text] = None

    def for_tolerance(
        self, request: QueryRequest, statistic: Statistic, synthetic: Sequence[Histogram]
    ) -> Statistic:
        """Statistic of a query; the lattice of a mean is widened, unless its bounds are stated.

        The lattice of a mean must reach beyond the tolerance.  Otherwise, if the tolerance reached
        beyond the copy's bounds, every private mean would lie within the tolerance.

        Raises
        ------
        UnanswerableError
            If the lattice would be too wide.
        """
        query, measure = request.query, statistic.measure
        if query.aggregate != "AVG" or measure is None or measure.is_stated:
            return statistic
        if request.criteria.tolerance.of_rows:
            # Only numbers of rows have such a tolerance.
            return statistic
        pairs = tolerances(query, request.criteria.tolerance, statistic, synthetic, ())
        intervals = [pair[1] for pair in pairs if pair]
        wider = with_wider_lattice(query, statistic, intervals) if intervals else statistic
        if measure.lattice and wider.measure and wider.measure.lattice and any(measure.stated):
            facts = facts_of_attribute(self._stated, query.attribute or "") or ColumnFacts()
            self._note_bounds(query.attribute or "", wider.measure.lattice, measure.stated, facts)
        elif measure.lattice and wider.measure and wider.measure.lattice:
            spans = self._copy_spans if wider is statistic else self._wider_spans
            spans.setdefault(query.attribute or "", {})[span(wider.measure.lattice)] = None
        return wider

    def _ends_of_where(
        self, query: Query, resolved: BoundExpression
    ) -> tuple[float | None, float | None]:
        """Ends between which the WHERE itself keeps the column that a SUM or an AVG aggregates.

        An end is None if the WHERE has none.  Two ends that are too far apart for a lattice serve
        nobody.
        """
        if query.aggregate not in _CLAMPED or resolved.where is None:
            return None, None
        column = next(
            (name for name in resolved.columns if quote_identifier(name) == resolved.value), None
        )
        values = region(resolved.where).get(column) if column else None
        low, high = (
            None if end is None or not math.isfinite(end) else end
            for end in (values.ends if values else (None, None))
        )
        if low is not None and high is not None and not 0 <= high - low < _WIDEST:
            return None, None
        return low, high

    def _lattice(
        self,
        query: Query,
        resolved: BoundExpression,
        total_of: PrivacyUnit | None,
        ends: tuple[float | None, float | None] | None,
    ) -> Lattice:
        """Lattice of an attribute: the stated bounds and step, or else the bounds of the copies."""
        name = query.attribute or ""
        facts = facts_of_attribute(self._stated, name)
        if ends:
            low, high = (Fraction(str(end)) for end in ends)
            facts = replace(facts or ColumnFacts(), bounds=(low, high))
        try:
            synthetic = self._tables.profile(self._schema, resolved.value or "", total_of)
            lattice = bounded_lattice(facts, synthetic)
        except ParameterError as error:
            raise UnanswerableError(f"{name} in the synthetic table: {error}") from None
        if lattice is None:
            bounds = option("--bounds")
            message = f"{name} has no value in the synthetic table; state its bounds ({bounds})"
            raise UnanswerableError(message)
        return with_zero(lattice) if query.per_row else lattice


def _beyond(facts: ColumnFacts, stated: tuple[bool, bool]) -> tuple[Beyond, ...]:
    """Rows that are counted beyond bounds of which the caller does not state both."""
    # A WHERE selects no row beyond its ends, so these need not be left out here.
    own = facts.stated if any(stated) else (False, False)
    beyond: tuple[Beyond, ...] = tuple(s for s, known in zip(RANGE, own, strict=True) if not known)
    return beyond if facts.step is not None else (*beyond, "step")


def _spans(bounds: Mapping[str, Iterable[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Attributes, each with its bounds in all queries."""
    return tuple((subject, tuple(spans)) for subject, spans in bounds.items())


def exceeded_bounds(
    query: Query, tolerance: Tolerance, statistic: Statistic, synthetic: Sequence[Histogram]
) -> str:
    """Stated bounds, as text, if the tolerance reaches beyond them; else an empty text."""
    measure = statistic.measure
    if measure is None or measure.lattice is None or not any(measure.stated):
        return ""
    if query.aggregate not in ("AVG", *ORDERED):
        return ""
    lattice, (lower, upper) = measure.lattice, measure.stated
    for histogram in synthetic:
        centre = answer(query.aggregate, histogram, query.p or HALF)
        if centre is None or (tolerance.relative and not centre) or tolerance.of_rows:
            continue
        middle = centre * lattice.unit
        tau = tolerance.of(middle)
        below, above = middle - tau < lattice.lower, middle + tau > lattice.upper
        if lower and below and not upper:
            return f"{number_text(lattice.lower)} and more"
        if upper and above and not lower:
            return f"{number_text(lattice.upper)} and less"
        if (lower and below) or (upper and above):
            return span(lattice)
    return ""


def lattice_of(query: Query, statistic: Statistic) -> tuple[Lattice, Fraction]:
    """Lattice of the numbers that a query aggregates, and its unit measured in the query's unit.

    The unit of a share is per cent of all rows.
    """
    measure = statistic.measure
    lattice = (measure.total or measure.lattice if measure else None) or _COUNTING
    if query.per_row and measure is None:
        return lattice, _PER_CENT
    return lattice, Fraction(1) if query.aggregate in _COUNTS else lattice.unit


def with_zero(lattice: Lattice) -> Lattice:
    """Lattice that also holds 0, in steps of the lattice's unit if its step would miss 0."""
    lower, upper = min(lattice.lower, _ZERO), max(lattice.upper, _ZERO)
    is_stepped = (lattice.lower / lattice.step).denominator == 1
    return Lattice(lower, upper, lattice.step if is_stepped else lattice.unit)


def is_conditional(statistic: Statistic) -> bool:
    """Whether values are cut to bounds of which not both are stated."""
    measure = statistic.measure
    return measure is not None and bool(measure.beyond) and not measure.is_stated


def condition_of(
    query: Query, statistic: Statistic, rows_beyond: int | None = None
) -> Condition | None:
    """Condition of a verdict: the bounds to which values are cut, if nobody stated them."""
    measure = statistic.measure
    if measure is None or not is_conditional(statistic):
        return None
    lattice, (lower, upper) = lattice_of(query, statistic)[0], measure.stated
    return Condition(
        None if lower else plain(lattice.lower),
        None if upper else plain(lattice.upper),
        rows_beyond,
        measure.accepted,
    )


def synthetic_answer(query: Query, synthetic: Histogram) -> Fraction:
    """Synthetic answer in lattice units.

    Raises
    ------
    UnanswerableError
        If the query has no synthetic answer.
    """
    value = answer(query.aggregate, synthetic, query.p or HALF)
    if value is None:
        word = {"AVG": "mean", "MEDIAN": "median"}.get(query.aggregate, "quantile")
        raise UnanswerableError(
            f"no synthetic row matches, so there is no {word} to compare with; check the WHERE "
            "(text is case-sensitive)"
        )
    return value


def answer_of_all_rows(query: Query, rows: int) -> Fraction | None:
    """Answer of a COUNT that all ``rows`` match, in the query's unit; None for other queries."""
    if query.written != "COUNT":
        return None
    return _PER_CENT if query.per_row else Fraction(rows)


def tolerances(
    query: Query,
    tolerance: Tolerance,
    statistic: Statistic,
    synthetic: Sequence[Histogram],
    rows: Sequence[int],
) -> tuple[tuple[Fraction, Interval] | None, ...]:
    """Tolerance in the query's unit, and its interval in lattice units, for each synthetic table.

    ``rows`` are those of each synthetic table, for a tolerance that is a share of them.  The item
    of a table without an answer is None.  If the tolerance is relative and the answer is
    0, tau is one lattice unit, so only the answer 0 lies within the tolerance.
    """
    scale = lattice_of(query, statistic)[1]
    pairs: list[tuple[Fraction, Interval] | None] = []
    for number, histogram in enumerate(synthetic):
        centre = answer(query.aggregate, histogram, query.p or HALF)
        if centre is None:
            pairs.append(None)
            continue
        if tolerance.of_rows:
            tau = tolerance.of(centre, answer_of_all_rows(query, rows[number]))
        else:
            tau = tolerance.of(centre * scale) if centre or not tolerance.relative else scale
        pairs.append((tau, Interval.around(centre, tau / scale)))
    return tuple(pairs)


def with_wider_lattice(
    query: Query, statistic: Statistic, intervals: Sequence[Interval]
) -> Statistic:
    """Statistic on a lattice that reaches beyond ``intervals``, unless bounds are stated.

    Only the lattice of a mean or an order statistic is widened, because the synthetic table must
    not bound the private answer.

    Raises
    ------
    UnanswerableError
        If the lattice would be too wide.
    """
    measure = statistic.measure
    if query.aggregate not in ("AVG", *ORDERED) or measure is None or measure.is_stated:
        return statistic
    if measure.lattice is None:
        return statistic
    try:
        lattice = reaching(measure.lattice, intervals, measure.stated)
    except ParameterError as error:
        raise UnanswerableError(f"tau is too wide: {error}") from None
    if lattice is measure.lattice:
        return statistic
    return replace(statistic, measure=replace(measure, lattice=lattice))


def on_cut_points(
    statistic: Statistic, intervals: Sequence[Interval], scale: Fraction
) -> Statistic:
    """Statistic that compares private values with the ends of ``intervals``, without rounding."""
    measure = statistic.measure
    if measure is None or measure.lattice is None:
        return statistic
    lattice, (lower, upper) = measure.lattice, measure.stated
    ends = lattice.lower if lower else None, lattice.upper if upper else None
    bounds = ends if any(measure.stated) else None
    points = CutPoints.of(intervals, scale, bounds)
    return replace(statistic, measure=replace(measure, lattice=None, cut_points=points))
