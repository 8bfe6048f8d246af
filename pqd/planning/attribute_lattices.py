"""Lattices of attributes: their bounds as stated, or else those of the synthetic tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pqd.deciders import Lattice, ParameterError, UnanswerableError, answer
from pqd.deciders.histogram import HALF
from pqd.deciders.note import Note, note
from pqd.engine.cut_points import ORDERED
from pqd.engine.scan_plan import Measure, PrivacyUnit, Statistic
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.statistics import tolerances, with_wider_lattice
from pqd.sql.query import BoundExpression, Query
from pqd.sql.schema import Schema
from pqd.sql.tolerance import Tolerance
from pqd.stated.column_facts import Facts, bounded_lattice, facts_of_attribute, row_lattice, span

if TYPE_CHECKING:
    from pqd.deciders import Histogram

_CLAMPED = ("SUM", "AVG")
NUMERIC = (*_CLAMPED, *ORDERED)


class Bounds:
    """Lattices of the attributes of a run, each computed once, with notes on their bounds."""

    def __init__(
        self, tables: SyntheticTables, schema: Schema, stated: Facts, unit: PrivacyUnit | None
    ) -> None:
        """Read no table yet."""
        self._tables, self._schema, self._stated, self._unit = tables, schema, stated, unit
        self._lattices: dict[tuple[str, bool], Lattice] = {}
        # What is said of bounds, by the attribute in words.
        self._of_copy: dict[str, dict[str, None]] = {}
        self._widened: dict[str, dict[str, None]] = {}
        self._as_stated: dict[bool, dict[str, str]] = {True: {}, False: {}}

    def notes(self) -> Iterator[Note]:
        """Notes on the bounds of all measures so far, one for all attributes that fare alike."""
        for snapped, stated in self._as_stated.items():
            if stated:
                yield note("bounds-stated", bounds=tuple(stated.items()), snapped=snapped)
        if self._of_copy:
            yield note("bounds-of-copy", bounds=_spans(self._of_copy))
        if self._widened:
            yield note("bounds-widened", bounds=_spans(self._widened))

    def measure(self, query: Query, resolved: BoundExpression) -> Measure:
        """Measure of a query: what it aggregates, on its public lattice.

        Raises
        ------
        UnanswerableError
            If there are no bounds, or nothing between them.
        """
        totalled = self._unit if query.aggregate == "SUM" else None
        place = resolved.value or "", totalled is not None
        facts = facts_of_attribute(self._stated, query.attribute or "")
        if place not in self._lattices:
            self._lattices[place] = self._bounded(query, resolved, totalled)
        lattice = self._lattices[place]
        stated = facts is not None and facts.bounds is not None
        attribute = query.attribute or ""
        what = f"a person's total of {attribute}" if totalled else attribute
        if stated:
            snapped = query.aggregate in _CLAMPED
            self._as_stated[snapped][what] = span(lattice)
        elif query.aggregate in _CLAMPED:
            if query.aggregate == "SUM" and lattice.lower == lattice.upper == 0:
                raise UnanswerableError(
                    f"{what} is 0 throughout in the synthetic table, so that its bounds leave "
                    "nothing to add up; state its bounds (--bounds)"
                )
            if query.aggregate == "SUM":
                self._of_copy.setdefault(what, {})[span(lattice)] = None
        if totalled:
            return Measure(resolved.value or "", row_lattice(lattice), lattice, stated=stated)
        return Measure(resolved.value or "", lattice, stated=stated)

    def for_tolerance(
        self, request: QueryRequest, statistic: Statistic, synthetic: Sequence[Histogram]
    ) -> Statistic:
        """Statistic of a mean with room beyond its tolerance, unless its bounds are stated.

        Within the copy's own bounds no private mean could lie outside a tolerance that reaches
        beyond them: the copy would bound the answer that it is compared with.

        Raises
        ------
        UnanswerableError
            If that is too wide a lattice.
        """
        query, measure = request.query, statistic.measure
        if query.aggregate != "AVG" or measure is None or measure.stated:
            return statistic
        found = tolerances(query, request.criteria.tolerance, statistic, synthetic)
        intervals = [each[1] for each in found if each]
        wider = with_wider_lattice(query, statistic, intervals) if intervals else statistic
        if measure.lattice and wider.measure and wider.measure.lattice:
            noted = self._of_copy if wider is statistic else self._widened
            of_attribute = noted.setdefault(query.attribute or "", {})
            of_attribute[span(wider.measure.lattice)] = None
        return wider

    def _bounded(
        self, query: Query, resolved: BoundExpression, totalled: PrivacyUnit | None
    ) -> Lattice:
        name = query.attribute or ""
        facts = facts_of_attribute(self._stated, name)
        try:
            seen = self._tables.profile(self._schema, resolved.value or "", totalled)
            lattice = bounded_lattice(facts, seen)
        except ParameterError as error:
            raise UnanswerableError(f"{name} in the synthetic table: {error}") from None
        if lattice is None:
            message = f"{name} has no value in the synthetic table; state its bounds (--bounds)"
            raise UnanswerableError(message)
        return lattice


def _spans(bounds: Mapping[str, Iterable[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Attributes, each with its bounds in all queries."""
    return tuple((what, tuple(spans)) for what, spans in bounds.items())


def exceeded_bounds(
    query: Query, tolerance: Tolerance, statistic: Statistic, synthetic: Sequence[Histogram]
) -> str:
    """Bounds, stated by the caller, beyond which a tolerance reaches; empty if it does not."""
    measure = statistic.measure
    if measure is None or measure.lattice is None or not measure.stated:
        return ""
    if query.aggregate not in ("AVG", *ORDERED):
        return ""
    lattice = measure.lattice
    for histogram in synthetic:
        centre = answer(query.aggregate, histogram, query.p or HALF)
        if centre is None or (tolerance.relative and not centre):
            continue
        middle = centre * lattice.unit
        tau = tolerance.of(middle)
        if middle - tau < lattice.lower or middle + tau > lattice.upper:
            return span(lattice)
    return ""
