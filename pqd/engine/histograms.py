"""Histograms of a whole workload: rows become cells, and each query adds up those that match.

The predicates of a query depend on few columns; queries on the same columns share one pass over the
rows.  What is left for a query is a mask of cells and the sum over them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from deciders import Histogram
from deciders.blocked_histogram import BlockedHistogram, rows_before, running
from pqd.engine.kernel.atom_classes import atom_classes
from pqd.engine.kernel.block_tallies import block_tally_of
from pqd.engine.kernel.cells import Cells
from pqd.engine.kernel.measures import Measured, measured
from pqd.engine.kernel.ordered_rows import MatchingRows, OrderedRows, pays
from pqd.engine.kernel.tallies import RowsByCell, Tally, tally_of
from pqd.engine.scan_sql import place_sql
from pqd.sql.predicate import atoms
from pqd.threads import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.evaluator import Evaluator, Names
    from pqd.engine.kernel.persons import Persons
    from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
    from pqd.sql.predicate import Predicate

    Integers = NDArray[np.int64]
    # Histogram of the cells that match.
    Builder = Callable[[Rows], Histogram]

Given = TypeVar("Given")
# Statistics that are answered from one set of classes; memory stays bounded.
_BLOCK = 1 << 13
# Totals beyond this are beyond any lattice; they are clamped all the same.
_BEYOND = 2.0**60


def histograms_of(
    evaluator: Evaluator, plan: ScanPlan, persons: Persons | None
) -> tuple[Histogram, ...]:
    """Histogram of each statistic of ``plan``; ``persons`` are those of its privacy unit."""
    statistics = plan.statistics
    measures = {
        measure: measured(evaluator, place_sql(measure))
        for measure in dict.fromkeys(one.measure.scanned for one in statistics if one.measure)
    }
    ordered = _ordered(statistics, measures, evaluator.rows, persons)
    histograms: dict[int, Histogram] = {}
    for first in range(0, len(statistics), _BLOCK):
        block = dict(enumerate(statistics[first : first + _BLOCK], first))
        histograms.update(_of_block(evaluator, block, measures, ordered, persons))
    return tuple(histograms[number] for number in range(len(statistics)))


def _ordered(
    statistics: Sequence[Statistic],
    measures: Mapping[Measure, Measured],
    rows: int,
    persons: Persons | None,
) -> Mapping[Measure, OrderedRows]:
    """Rows in the order of each measure, as scanned, of which there are many queries and values."""
    queries = Counter(
        one.measure.scanned for one in statistics if one.measure and not (persons and one.collapsed)
    )
    ordered = {}
    for measure, number in queries.items():
        units = _units(measure, measures[measure].values)
        if units is not None and pays(units, rows, number):
            kept = persons.kept if persons else None
            ordered[measure] = OrderedRows(measures[measure].codes, units, kept)
    return ordered


def _units(measure: Measure, values: NDArray[Any]) -> Integers | None:
    """Ascending ``values`` in units of their lattice, between cut points their own numbers."""
    if measure.cut_points:
        return np.arange(values.size)
    return measure.lattice.units_at(values) if measure.lattice else None


def _of_block(
    evaluator: Evaluator,
    statistics: Mapping[int, Statistic],
    measures: Mapping[Measure, Measured],
    ordered: Mapping[Measure, OrderedRows],
    persons: Persons | None,
) -> Iterable[tuple[int, Histogram]]:
    predicates = {number: one.predicate for number, one in statistics.items() if one.predicate}
    every = dict.fromkeys(atom for predicate in predicates.values() for atom in atoms(predicate))
    classes = atom_classes(evaluator, every)
    groups: dict[frozenset[Names], list[int]] = {}
    for number in statistics:
        held = atoms(predicates[number]) if number in predicates else ()
        names = frozenset(evaluator.names(atom.sql) for atom in held)
        groups.setdefault(names, []).append(number)

    @cache
    def in_order(measure: Measure, names: Names) -> NDArray[Any]:
        codes: NDArray[Any] = classes[names].codes[ordered[measure].order]
        return codes

    def of_group(names: frozenset[Names]) -> list[tuple[int, Histogram]]:
        numbers, parts = groups[names], sorted(names)
        cells = Cells([classes[each] for each in parts], evaluator.rows)
        given = [statistics[number].measure for number in numbers]
        queries = Counter(measure and measure.scanned for measure in given)
        blocked = {
            measure: BlockedGroup(
                cells, rows, [in_order(measure, each) for each in parts], queries[measure]
            )
            for measure, rows in ordered.items()
            if queries[measure]
        }
        group = QueryGroup(cells, measures, queries, persons, blocked)
        return [(number, group.histogram(statistics[number])) for number in numbers]

    for histograms in in_threads(of_group, groups):
        yield from histograms


class QueryGroup:
    """Queries whose predicates are on the same ``cells``; what they share is counted once.

    ``queries`` are how many there are of each measure, as scanned, and of none.  Those of
    ``blocked`` are counted by blocks.
    """

    def __init__(
        self,
        cells: Cells,
        measures: Mapping[Measure, Measured],
        queries: Mapping[Measure | None, int],
        persons: Persons | None,
        blocked: Mapping[Measure, BlockedGroup],
    ) -> None:
        """Nothing is counted yet."""
        self._cells, self._measures, self._persons = cells, measures, persons
        self._queries, self._blocked = queries, blocked
        self._tallies: dict[Measure, Tally] = {}
        self._totals: dict[Measure, PersonTotals] = {}

    def histogram(self, statistic: Statistic) -> Histogram:
        """Histogram of one statistic: of rows, of those kept, or of persons."""
        cells = self._cells.matching(statistic.predicate)
        measure = statistic.measure
        by_person = self._persons is not None and statistic.collapsed
        if measure is None:
            mass = self._people(cells) if by_person else int(self._counts[cells].sum())
            return Histogram.of_mass(mass)
        if by_person:
            return self._total(measure).histogram(cells)
        scanned, blocked = measure.scanned, self._blocked.get(measure.scanned)
        values = self._measures[scanned].values
        if measure.cut_points:
            bounds = np.append(measure.cut_points.starts(values), values.size)
            if blocked:
                below = blocked.below(statistic.predicate, cells, bounds)
            else:
                below = self._tally(scanned).below(cells, bounds)
            marks = np.array(measure.cut_points.marks, np.int64)
            return Histogram.weighted(marks, np.diff(below, prepend=0))
        if blocked:
            return blocked.histogram(statistic.predicate, cells)
        codes, counts = self._tally(scanned).counted(cells)
        # The code after those of all values is that of NULL.
        held = np.searchsorted(codes, values.size)
        if measure.lattice is None:
            return Histogram.from_values(counts[:held])
        units = measure.lattice.units_at(values[codes[:held]])
        return Histogram.ascending(units, counts[:held])

    def _kept(self, codes: NDArray[Any]) -> NDArray[Any]:
        return codes if self._persons is None else codes[self._persons.kept]

    @cached_property
    def _counts(self) -> Integers:
        """Rows in each cell, of a person's rows those that are kept."""
        return np.bincount(self._kept(self._cells.codes), minlength=self._cells.size)

    @cached_property
    def _persons_tally(self) -> Tally:
        persons = _known(self._persons)
        codes = self._cells.codes
        return tally_of(codes, self._cells.size, persons.codes, persons.size, self._queries[None])

    def _people(self, cells: Rows) -> int:
        """Persons with a row in ``cells``."""
        return self._persons_tally.counted(cells)[0].size

    def _tally(self, measure: Measure) -> Tally:
        """Rows with each value of ``measure``; the last is NULL."""
        if measure not in self._tallies:
            values = self._measures[measure]
            cells, codes = self._kept(self._cells.codes), self._kept(values.codes)
            self._tallies[measure] = tally_of(
                cells, self._cells.size, codes, values.size + 1, self._queries[measure]
            )
        return self._tallies[measure]

    def _total(self, measure: Measure) -> PersonTotals:
        if measure not in self._totals:
            values, persons = self._measures[measure.scanned], _known(self._persons)
            self._totals[measure] = PersonTotals(self._cells, measure, values, persons)
        return self._totals[measure]


class BlockedGroup:
    """Histograms, by blocks, of queries on the same ``cells`` and one measure, as scanned.

    ``codes`` are the classes of the ``ordered`` rows, of which the cells are combinations.
    """

    def __init__(
        self,
        cells: Cells,
        ordered: OrderedRows,
        codes: Sequence[NDArray[Any]],
        queries: int,
    ) -> None:
        """Count the rows and sums of all blocks, for so many ``queries``."""
        self._ordered, self._codes, self._words = ordered, codes, cells.classes
        self._tally = block_tally_of(ordered, cells.codes, cells.size, queries)

    def histogram(self, predicate: Predicate | None, cells: Rows) -> Histogram:
        """Histogram of the rows of ``cells``, which are those that match ``predicate``."""
        matching = self._matching(predicate)
        return BlockedHistogram(matching, *self._tally.counted(cells, matching))

    def below(self, predicate: Predicate | None, cells: Rows, bounds: Integers) -> Integers:
        """Number of those rows whose code is below each of ``bounds``."""
        matching = self._matching(predicate)
        rows = running(self._tally.rows(cells, matching))
        return np.array([rows_before(matching, rows, bound) for bound in bounds.tolist()])

    def _matching(self, predicate: Predicate | None) -> MatchingRows:
        return MatchingRows(self._ordered, self._words, self._codes, predicate)


class PersonTotals:
    """Adds up each person's rows to one value, clamped to the lattice of totals.

    Exact: a row is a whole number of steps below 2^53; its high and low 32 bits are added up apart.
    """

    def __init__(self, cells: Cells, measure: Measure, values: Measured, persons: Persons) -> None:
        """Take the rows with a value."""
        if measure.lattice is None or measure.total is None:
            raise ValueError("a total needs the lattices of rows and of totals")
        self._lattice, self._size = measure.total, persons.size
        held = values.codes < values.size
        steps = values.values + int(measure.lattice.lower / measure.lattice.step)
        self._rows = RowsByCell(
            cells.codes[held], cells.size, persons.codes[held], steps[values.codes[held]]
        )

    def histogram(self, cells: Rows) -> Histogram:
        """Histogram of the totals of rows in ``cells``, in units of their lattice."""
        persons, steps = self._rows.chosen(cells)
        high, low = np.zeros((2, self._size), np.int64)
        np.add.at(high, persons, steps >> 32)
        np.add.at(low, persons, steps & 0xFFFFFFFF)
        somebody = np.bincount(persons, minlength=self._size) > 0
        places = self._clamped(high[somebody], low[somebody])
        return Histogram.from_values(self._lattice.units_at(places))

    def _clamped(self, high: Integers, low: Integers) -> Integers:
        about = high.astype(np.float64) * 2.0**32 + low
        within = np.abs(about) < _BEYOND
        total = np.where(within, (np.where(within, high, 0) << 32) + low, 0)
        total = np.where(within, total, np.sign(about) * _BEYOND).astype(np.int64)
        first = round(self._lattice.lower / self._lattice.step)
        places: Integers = np.clip(total - first, 0, self._lattice.points - 1)
        return places


def _known(given: Given | None) -> Given:
    if given is None:
        raise ValueError("the scan gave none")
    return given
