"""Histograms of a whole workload: rows become cells, and each query adds up those that match.

The predicates of a query depend on few columns; queries on the same columns share one pass over the
rows.  What is left for a query is a mask of cells and the sum over them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from pqd.deciders import Histogram
from pqd.deciders.histogram import EMPTY
from pqd.engine.kernel.atom_classes import atom_classes
from pqd.engine.kernel.block_tallies import BlockedGroup
from pqd.engine.kernel.cells import Cells, MatchedCells
from pqd.engine.kernel.measures import Measured, alike, measured
from pqd.engine.kernel.ordered_rows import OrderedRows, pays
from pqd.engine.kernel.persons import PersonTotals
from pqd.engine.kernel.query_groups import query_groups
from pqd.engine.kernel.tallies import Tally, tally_of
from pqd.engine.reading.columns import occurrences
from pqd.engine.scan_plan import place_sql
from pqd.sql.predicate import atoms

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from pqd.engine.kernel.atom_classes import AtomClasses
    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.evaluator import Evaluator, Names
    from pqd.engine.kernel.persons import Persons
    from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
    from pqd.sql.predicate import Predicate

    Integers = NDArray[np.int64]
    Statistics = Mapping[int, Statistic]

Given = TypeVar("Given")
# Statistics that are answered from one set of classes; memory stays bounded.
_BLOCK = 1 << 13
# Bytes of the masks of the cells that the queries of a group match, of which all are kept or none:
# for each row, and of all.
_MASKED, _MASKS = 1 << 5, 1 << 26


def histograms_of(
    evaluator: Evaluator, plan: ScanPlan, persons: Persons | None
) -> tuple[Histogram, ...]:
    """Histogram of each statistic of ``plan``; ``persons`` are those of its privacy unit."""
    histograms = {
        number: _finished(plan.statistics[number], rows)
        for number, rows in row_histograms(evaluator, plan, persons)
    }
    return tuple(histograms[number] for number in range(len(histograms)))


def row_histograms(
    evaluator: Evaluator, plan: ScanPlan, persons: Persons | None
) -> Iterator[tuple[int, Histogram]]:
    """Histograms by the number of their statistic; of COUNT DISTINCT of the values' numbers."""
    statistics = dict(enumerate(plan.statistics))
    batches = evaluator.batches()
    first = next(batches)
    alone = persons is not None or first is evaluator
    added = {} if alone else _added_up(first, statistics, evaluator.rows)
    others = {number: one for number, one in statistics.items() if number not in added}
    if added:
        yield from _of_batches(chain((first,), batches), added)
    yield from _answered(evaluator, others, persons)


def _added_up(batch: Evaluator, statistics: Statistics, rows: int) -> Statistics:
    """Statistics that are counted batch by batch; ``batch`` is the first, of so many ``rows``.

    All but those held by blocks, and the distinct values of several columns, whose numbers are of
    one batch.
    """
    measures = Measures.of(batch, statistics)
    blocked = _by_blocks(statistics, measures, rows, None)
    at_once = {measure for measure, other in measures.counted.items() if other in blocked}
    for measure in (one.measure for one in statistics.values()):
        if measure and is_distinct(measure) and len(batch.names(measure.sql)) > 1:
            at_once.add(measure)
    return {
        number: one
        for number, one in statistics.items()
        if not one.measure or one.measure.scanned not in at_once
    }


def _of_batches(
    batches: Iterable[Evaluator], statistics: Statistics
) -> Iterable[tuple[int, Histogram]]:
    """Histograms of the rows of all batches."""
    sums = dict.fromkeys(statistics, EMPTY)
    for batch in batches:
        scan = _Scan(batch, Measures.of(batch, statistics))
        for number, rows in _of_rows(scan, statistics):
            sums[number] = Histogram.merged((sums[number], rows))
    return sums.items()


def _answered(
    evaluator: Evaluator, statistics: Statistics, persons: Persons | None
) -> Iterable[tuple[int, Histogram]]:
    """Histograms of all rows at once."""
    scan = _Scan(evaluator, Measures.of(evaluator, statistics), persons)
    for measure, units in _by_blocks(statistics, scan.measures, evaluator.rows, persons).items():
        scan.arrange(measure, units)
    return _of_rows(scan, statistics)


def _finished(statistic: Statistic, rows: Histogram) -> Histogram:
    """Histogram of a statistic from that of the rows of each value."""
    measure = statistic.measure
    return rows.multiplicities() if measure and is_distinct(measure) else rows


def is_distinct(measure: Measure) -> bool:
    """Whether only equality matters."""
    return not measure.number


class Measures(NamedTuple):
    """Measures as scanned: their ``values``, and by whose codes the rows of each are ``counted``.

    Between cut points only codes matter, and most often they are those on a lattice.
    """

    values: Mapping[Measure, Measured]
    counted: Mapping[Measure, Measure]

    @classmethod
    def of(cls, evaluator: Evaluator, statistics: Statistics) -> Self:
        """All that ``statistics`` measure."""
        every = dict.fromkeys(one.measure.scanned for one in statistics.values() if one.measure)
        values = {
            each: measured(evaluator, place_sql(each), each.number, each.lattice) for each in every
        }
        lattices = [measure for measure in values if measure.lattice]

        def same(measure: Measure) -> Iterator[Measure]:
            return (other for other in lattices if alike(values[measure], values[other]))

        counted = {
            measure: next(same(measure), measure) if measure.cut_points else measure
            for measure in values
        }
        return cls(values, counted)

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "Measures(...)"

    def reordered(self, order: Integers) -> Measures:
        """The same of the rows in another ``order``."""
        values = {measure: each.reordered(order) for measure, each in self.values.items()}
        return Measures(values, self.counted)


class _Scan:
    """Rows of one table as they are scanned, by ``evaluator``.

    ``ordered`` are the measures that are counted by blocks.  The rows lie in the order of the first
    of these, where a block is a run of rows: no histogram hangs on their order.
    """

    def __init__(
        self, evaluator: Evaluator, measures: Measures, persons: Persons | None = None
    ) -> None:
        """Rows in the order of the table."""
        self.evaluator, self.measures, self.persons = evaluator, measures, persons
        self.ordered: dict[Measure, OrderedRows] = {}
        self._order: Integers | None = None

    def __repr__(self) -> str:
        """Name of the type alone."""
        return "_Scan(...)"

    def arrange(self, measure: Measure, units: Integers) -> None:
        """Order the rows of one more measure; its values are so many ``units``."""
        kept = self.persons.kept if self.persons else None
        ordered = OrderedRows(self.measures.values[measure].codes, units, kept)
        self.ordered[measure] = ordered
        if self._order is None and ordered.order is not None:
            self._order = ordered.order
            ordered.arrange(self._order)
            self.measures = self.measures.reordered(self._order)
            self.persons = self.persons and self.persons.reordered(self._order)

    def classes(self, predicates: Iterable[Predicate]) -> Mapping[Names, AtomClasses]:
        """Classes of the atoms of ``predicates``, by their columns."""
        every = dict.fromkeys(atom for predicate in predicates for atom in atoms(predicate))
        classes = atom_classes(self.evaluator, every)
        if self._order is None:
            return classes
        return {names: each.reordered(self._order) for names, each in classes.items()}


def _by_blocks(
    statistics: Statistics,
    measures: Measures,
    rows: int,
    persons: Persons | None,
) -> Mapping[Measure, Integers]:
    """Units of each measure, as counted, of which there are many queries and values.

    That of the most queries comes first.
    """
    given = statistics.values()
    queries = Counter(
        measures.counted[one.measure.scanned]
        for one in given
        if one.measure and not (persons and one.collapsed)
    )
    found = {}
    for measure, number in queries.most_common():
        units = _units(measure, measures.values[measure].values)
        if units is not None and pays(units, rows, number):
            found[measure] = units
    return found


def _of_rows(scan: _Scan, statistics: Statistics) -> Iterable[tuple[int, Histogram]]:
    """Histograms of all rows of a scan: of COUNT DISTINCT by the values' numbers."""
    numbers = list(statistics)
    for first in range(0, len(numbers), _BLOCK):
        block = {number: statistics[number] for number in numbers[first : first + _BLOCK]}
        yield from _of_block(scan, block)


def _units(measure: Measure, values: NDArray[Any]) -> Integers | None:
    """Ascending ``values`` in units of their lattice, between cut points their own numbers."""
    if measure.cut_points:
        return np.arange(values.size)
    return measure.lattice.units_at(values) if measure.lattice else None


def _of_block(scan: _Scan, statistics: Statistics) -> Iterable[tuple[int, Histogram]]:
    evaluator, measures, persons = scan.evaluator, scan.measures, scan.persons
    classes = scan.classes([one.predicate for one in statistics.values() if one.predicate])
    names_of = {
        number: frozenset(evaluator.names(atom.sql) for atom in atoms(one.predicate))
        if one.predicate
        else frozenset(())
        for number, one in statistics.items()
    }
    counted = measures.counted
    measure_of = {n: one.measure and counted[one.measure.scanned] for n, one in statistics.items()}
    sizes = {names: len(each.words) for names, each in classes.items()}
    groups = query_groups(names_of, measure_of, sizes)

    @cache
    def in_order(measure: Measure, names: Names) -> NDArray[Any]:
        return scan.ordered[measure].ordered(classes[names].codes)

    # One after the other: threads would wait for each other between short steps.
    for names, numbers in groups.items():
        # A run of the classes of the last part is a run of cells: of that with most of them.
        parts = sorted(names, key=lambda each: (sizes[each], each))
        cells = Cells([classes[each] for each in parts], evaluator.rows)
        queries = Counter(measure_of[number] for number in numbers)
        masks = len(numbers) * cells.size
        # Where rows are counted alone, to take them out takes longer.
        if persons is None and any(queries) and masks <= min(_MASKED * evaluator.rows, _MASKS):
            cells = MatchedCells(cells, [statistics[number].predicate for number in numbers])
        blocked = {
            measure: BlockedGroup(
                cells, rows, [in_order(measure, each) for each in parts], queries[measure]
            )
            for measure, rows in scan.ordered.items()
            if queries[measure]
        }
        group = QueryGroup(cells, measures, queries, persons, blocked)
        yield from ((number, group.histogram(statistics[number])) for number in numbers)
        # Before the next one is made.
        del cells, blocked, group


class QueryGroup:
    """Queries whose predicates are on the same ``cells``; what they share is counted once.

    ``queries`` are how many there are of each measure, as counted, and of none; those of
    ``blocked`` are counted by blocks.
    """

    def __init__(
        self,
        cells: Cells,
        measures: Measures,
        queries: Mapping[Measure | None, int],
        persons: Persons | None,
        blocked: Mapping[Measure, BlockedGroup],
    ) -> None:
        """Nothing is counted yet."""
        self._cells, self._measures, self._persons = cells, measures.values, persons
        self._counted = measures.counted
        self._queries, self._blocked = queries, blocked
        self._tallies: dict[Measure, Tally] = {}
        self._totals: dict[Measure, PersonTotals] = {}

    def histogram(self, statistic: Statistic) -> Histogram:
        """Histogram of one statistic: of rows, of those kept, or of persons.

        Without a lattice the values are their numbers among those measured.
        """
        cells = self._cells.matching(statistic.predicate)
        measure = statistic.measure
        by_person = self._persons is not None and statistic.collapsed
        if measure is None:
            mass = self._people(cells) if by_person else int(self._counts[cells].sum())
            return Histogram.of_mass(mass)
        if by_person:
            return self._total(measure).histogram(cells)
        counted, values = self._counted[measure.scanned], self._measures[measure.scanned].values
        blocked = self._blocked.get(counted)
        if measure.cut_points:
            bounds = np.append(measure.cut_points.starts(values), values.size)
            if blocked:
                below = blocked.below(statistic.predicate, cells, bounds)
            else:
                below = self._tally(counted).below(cells, bounds)
            marks = np.array(measure.cut_points.marks, np.int64)
            return Histogram.weighted(marks, np.diff(below, prepend=0))
        if blocked:
            return blocked.histogram(statistic.predicate, cells)
        codes, counts = self._tally(counted).counted(cells)
        # The code after those of all values is that of NULL.
        held = np.searchsorted(codes, values.size)
        if measure.lattice is None:
            return Histogram.ascending(codes[:held].astype(np.int64), counts[:held])
        units = measure.lattice.units_at(values[codes[:held]])
        return Histogram.ascending(units, counts[:held])

    def _kept(self, codes: NDArray[Any]) -> NDArray[Any]:
        return codes if self._persons is None else codes[self._persons.kept]

    @cached_property
    def _counts(self) -> Integers:
        """Rows in each cell, of a person's rows those that are kept."""
        # What is measured of them has counted them, if in a table.
        tallied = (each for each in self._queries if each and each not in self._blocked)
        if self._persons is None:
            for measure in tallied:
                if (rows := self._tally(measure).rows) is not None:
                    return rows
        return occurrences(self._kept(self._cells.codes), self._cells.size)

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
            rows = self._cells.rows
            cells = self._kept(self._cells.codes)
            codes = self._kept(values.codes) if rows is None else values.codes.take(rows)
            self._tallies[measure] = tally_of(
                cells, self._cells.size, codes, values.size + 1, self._queries[measure]
            )
        return self._tallies[measure]

    def _total(self, measure: Measure) -> PersonTotals:
        if measure not in self._totals:
            values, persons = self._measures[measure.scanned], _known(self._persons)
            lattices = _known(measure.lattice), _known(measure.total)
            self._totals[measure] = PersonTotals(self._cells, lattices, values, persons)
        return self._totals[measure]


def _known(given: Given | None) -> Given:
    if given is None:
        raise ValueError("the scan gave none")
    return given
