"""Statistics of bound queries on public lattices, with room for their tolerances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders import Interval, Lattice, ParameterError, UnanswerableError, answer
from pqd.deciders.histogram import HALF
from pqd.engine.cut_points import ORDERED, CutPoints, reaching
from pqd.engine.scan_plan import Statistic
from pqd.sql.query import Query
from pqd.sql.tolerance import Tolerance

if TYPE_CHECKING:
    from pqd.deciders import Histogram

_COUNTING = Lattice(0, 1)
_COUNTS = ("COUNT", "COUNT DISTINCT")


def lattice_of(query: Query, statistic: Statistic) -> tuple[Lattice, Fraction]:
    """Lattice of what is aggregated, and the size of its unit in the query's own unit."""
    measure = statistic.measure
    lattice = (measure.total or measure.lattice if measure else None) or _COUNTING
    return lattice, Fraction(1) if query.aggregate in _COUNTS else lattice.unit


def synthetic_answer(query: Query, synthetic: Histogram) -> Fraction:
    """Synthetic answer in lattice units.

    Raises
    ------
    UnanswerableError
        If there is none.
    """
    value = answer(query.aggregate, synthetic, query.p or HALF)
    if value is None:
        word = {"AVG": "mean", "MEDIAN": "median"}.get(query.aggregate, "quantile")
        raise UnanswerableError(
            f"no synthetic row matches, so there is no {word} to compare with; check the WHERE "
            "(text is case-sensitive)"
        )
    return value


def tolerances(
    query: Query, tolerance: Tolerance, statistic: Statistic, synthetic: Sequence[Histogram]
) -> tuple[tuple[Fraction, Interval] | None, ...]:
    """Tolerance around each synthetic answer in the query's own unit, and its interval in units.

    None where a table has no answer.  A share of 0 is one unit of the lattice: only that answer
    itself is within.
    """
    scale = lattice_of(query, statistic)[1]
    found: list[tuple[Fraction, Interval] | None] = []
    for histogram in synthetic:
        centre = answer(query.aggregate, histogram, query.p or HALF)
        if centre is None:
            found.append(None)
            continue
        tau = tolerance.of(centre * scale) if centre or not tolerance.relative else scale
        found.append((tau, Interval.around(centre, tau / scale)))
    return tuple(found)


def with_wider_lattice(
    query: Query, statistic: Statistic, intervals: Sequence[Interval]
) -> Statistic:
    """Statistic on a lattice that reaches beyond ``intervals``, unless bounds are stated.

    For means and order statistics: the synthetic table must not bound the private answer.

    Raises
    ------
    UnanswerableError
        If that is too wide a lattice.
    """
    measure = statistic.measure
    if query.aggregate not in ("AVG", *ORDERED) or measure is None or measure.stated:
        return statistic
    if measure.lattice is None:
        return statistic
    try:
        lattice = reaching(measure.lattice, intervals)
    except ParameterError as error:
        raise UnanswerableError(f"tau is too wide: {error}") from None
    if lattice is measure.lattice:
        return statistic
    return replace(statistic, measure=replace(measure, lattice=lattice))


def on_cut_points(
    statistic: Statistic, intervals: Sequence[Interval], scale: Fraction
) -> Statistic:
    """Statistic in which private values are compared with the ends of ``intervals`` as they are."""
    measure = statistic.measure
    if measure is None or measure.lattice is None:
        return statistic
    lattice = measure.lattice
    bounds = (lattice.lower, lattice.upper) if measure.stated else None
    points = CutPoints.of(intervals, scale, bounds)
    return replace(statistic, measure=replace(measure, lattice=None, cut_points=points))
