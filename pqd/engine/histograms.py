"""From chunks of rows to one histogram per statistic: by rows, or by persons."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deciders import Histogram, Lattice
from pqd.engine.bitmaps import Rows
from pqd.engine.cut_points import CutPoints
from pqd.engine.scan_plan import Measure, Statistic

Integers = NDArray[np.int64]
# Totals beyond this are beyond any lattice; they are clamped all the same.
_BEYOND = 2.0**60


@dataclass(frozen=True, slots=True, repr=False)
class Chunk:
    """Some rows: the place of each number, or itself, and with a privacy unit each row's person."""

    size: int
    places: Mapping[Measure, NDArray[Any]]
    person: Integers | None = None
    kept: Rows | None = None

    def __repr__(self) -> str:
        """Name of the type alone: what it counts may be private, and a traceback may show this."""
        return "Chunk(...)"


class HistogramBuilder(Protocol):
    """Takes chunks in any order; the histogram does not depend on it."""

    def add(self, chunk: Chunk, rows: Rows | None) -> None:
        """Take the ``rows`` of a chunk that match, None for all."""
        ...

    def histogram(self) -> Histogram:
        """Histogram of all that was taken."""
        ...


def builder_of(statistic: Statistic, *, by_person: bool) -> HistogramBuilder:
    """Builder of the histogram of a statistic."""
    if by_person and statistic.collapsed:
        return PersonTotals(statistic.measure) if statistic.measure else PersonMass()
    if statistic.measure and statistic.measure.cut_points:
        return Marks(statistic.measure, statistic.measure.cut_points)
    return Values(statistic.measure) if statistic.measure else Mass()


class Mass:
    """Counts rows."""

    def __init__(self) -> None:
        """Start at none."""
        self._mass = 0

    def add(self, chunk: Chunk, rows: Rows | None) -> None:
        """Count."""
        self._mass += chunk.size if rows is None else int(np.count_nonzero(rows))

    def histogram(self) -> Histogram:
        """Mass, at value 0."""
        return Histogram.of_mass(self._mass)


class Values:
    """Keeps the values of rows; of a person's rows those that are kept."""

    def __init__(self, measure: Measure) -> None:
        """Start with none."""
        self._measure = measure
        self._parts: list[Histogram] = []

    def add(self, chunk: Chunk, rows: Rows | None) -> None:
        """Take the rows with a value."""
        values = _chosen(chunk, rows, self._measure)
        self._parts.append(_on(self._measure.lattice, Histogram.from_values(values[values >= 0])))

    def histogram(self) -> Histogram:
        """Histogram in lattice units; without a lattice, that of the multiplicities."""
        merged = Histogram.merged(self._parts)
        return merged if self._measure.lattice else merged.multiplicities()


class Marks:
    """Counts the values of rows by the cut points that they have passed."""

    def __init__(self, measure: Measure, cut_points: CutPoints) -> None:
        """Start at none."""
        self._scanned, self._cut_points = measure.scanned, cut_points
        self._counts: Integers = np.zeros(len(cut_points.marks), np.int64)

    def add(self, chunk: Chunk, rows: Rows | None) -> None:
        """Count the rows with a value."""
        values = _chosen(chunk, rows, self._scanned)
        self._counts = self._counts + self._cut_points.counted(values[~np.isnan(values)])

    def histogram(self) -> Histogram:
        """Histogram of the marks."""
        return Histogram.weighted(np.array(self._cut_points.marks, np.int64), self._counts)


def _chosen(chunk: Chunk, rows: Rows | None, measure: Measure) -> NDArray[Any]:
    """Values of the rows that match, of a person's rows those that are kept."""
    values = chunk.places[measure]
    selected = rows if chunk.kept is None else chunk.kept if rows is None else rows & chunk.kept
    # The rows first: they are few, and asking for values is then quick.
    return values if selected is None else values[selected]


class PersonMass:
    """Counts persons with at least one row that matches."""

    def __init__(self) -> None:
        """Start with nobody."""
        self._parts: list[Integers] = []

    def add(self, chunk: Chunk, rows: Rows | None) -> None:
        """Note who matches."""
        who = _persons(chunk)
        self._parts.append(np.unique(who if rows is None else who[rows]))

    def histogram(self) -> Histogram:
        """Number of them, at value 0."""
        return Histogram.of_mass(np.unique(np.concatenate(self._parts or [_NOBODY])).size)


class PersonTotals:
    """Adds up each person's rows to one value, clamped to the lattice of totals.

    Exact: a row is a whole number of steps below 2^53; its high and low 32 bits are added up apart.
    """

    def __init__(self, measure: Measure) -> None:
        """Start with nobody."""
        if measure.lattice is None or measure.total is None:
            raise ValueError("a total needs the lattices of rows and of totals")
        self._measure, self._rows, self._total = measure, measure.lattice, measure.total
        self._parts: list[tuple[Integers, Integers, Integers]] = []

    def add(self, chunk: Chunk, rows: Rows | None) -> None:
        """Add up the rows with a value."""
        places = chunk.places[self._measure]
        chosen = (places >= 0) if rows is None else (places >= 0) & rows
        steps = places[chosen] + int(self._rows.lower / self._rows.step)
        self._parts.append(_summed(_persons(chunk)[chosen], steps >> 32, steps & 0xFFFFFFFF))

    def histogram(self) -> Histogram:
        """Histogram of the totals, in units of their lattice."""
        if not self._parts:
            return Histogram.of_mass(0)
        _, high, low = _summed(*map(np.concatenate, zip(*self._parts, strict=True)))
        about = high.astype(np.float64) * 2.0**32 + low
        within = np.abs(about) < _BEYOND
        total = np.where(within, (np.where(within, high, 0) << 32) + low, 0)
        total = np.where(within, total, np.sign(about) * _BEYOND).astype(np.int64)
        first = round(self._total.lower / self._total.step)
        places = np.clip(total - first, 0, self._total.points - 1)
        return _on(self._total, Histogram.from_values(places))


_NOBODY: Integers = np.empty(0, np.int64)


def _summed(person: Integers, high: Integers, low: Integers) -> tuple[Integers, Integers, Integers]:
    """Distinct persons, each with the sums of its two halves."""
    who, place = np.unique(person, return_inverse=True)
    sums = np.zeros((2, who.size), np.int64)
    np.add.at(sums[0], place, high)
    np.add.at(sums[1], place, low)
    return who, sums[0], sums[1]


def _persons(chunk: Chunk) -> Integers:
    if chunk.person is None:
        raise ValueError("the scan gave no persons")
    return chunk.person


def _on(lattice: Lattice | None, places: Histogram) -> Histogram:
    """Histogram, in lattice units, of places on the lattice."""
    if lattice is None:
        return places
    return Histogram(lattice.units_at(places.values), places.counts)
