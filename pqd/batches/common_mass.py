"""Plans that answer COUNT and the SUMs of several measures with one noise vector.

A row that counts in a group of rows spreads one ``mass`` over the group's corners
(deciders/batch/corners.py), whatever it adds to the sums.  So a group costs what one sum costs, and
COUNT costs nothing more.  For ``identity`` the groups are row classes, and a row is in one of them.
For ``workload`` the groups are the rows that a query selects.  ``joint`` has no groups: all answers
are brought to one unit, and have cube noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pqd.batches.batch_measurement import selection
from pqd.batches.batch_plan import MOST_DRAWN, PurePlan
from pqd.batches.mechanisms import JOINT, WORKLOAD
from pqd.batches.workload_laplace import (
    BatchCounts,
    amounts_of_cells,
    exact_answers,
    largest_amount,
    lattice_of_amounts,
    workload_sensitivity,
)
from pqd.deciders.batch.base import BatchOutput, NoiseLaw
from pqd.deciders.batch.cell_sums import CellSum, JointCells, NoisyCells
from pqd.deciders.batch.corners import Corners, common_mass
from pqd.deciders.exact_sums import exact_sum, sums_by_group
from pqd.deciders.noise import check_scale
from pqd.engine.contingency import ContingencyTable, selections
from pqd.sql.predicate import Atom, canonical, combined

if TYPE_CHECKING:
    from pqd.batches.row_classes import RowClasses
    from pqd.deciders import Histogram, Noise
    from pqd.engine.contingency import Integers
    from pqd.engine.scan_plan import Measure, ScanPlan

# Measures whose corners are made together, without and with amounts below 0.  More at once cost
# more draws for each answer than they save noise (docs/theory.md, Theorem Q11).
_UNSIGNED, _SIGNED = 3, 2
# Amounts (measures, rows or cells) in units, by measure.
Amounts = Mapping["Measure | None", "Integers"]


@dataclass(frozen=True, eq=False)
class CommonUnit:
    """Common unit of the statistics of ``workload``: the ``mass`` of a row or person."""

    workload: ScanPlan

    @cached_property
    def tops(self) -> dict[Measure | None, int]:
        """Largest amount of each measure, in units; ParameterError if it is too large."""
        unit = self.workload.unit
        return {each.measure: largest_amount(each, unit) for each in self.workload.statistics}

    @cached_property
    def mass(self) -> int:
        """Mass of a row or person."""
        return common_mass([*self.tops.values()])

    @cached_property
    def ranges(self) -> dict[Measure | None, tuple[int, int]]:
        """Least and largest amount of each measure, in units, where 0 is an amount."""
        ranges: dict[Measure | None, tuple[int, int]] = {}
        for each in self.workload.statistics:
            if lattice := lattice_of_amounts(each, self.workload.unit):
                ranges[each.measure] = min(lattice.lower_units, 0), max(lattice.upper_units, 0)
        return ranges

    def factor(self, measure: Measure | None) -> int:
        """Mass of one unit of a measure, or of one row for COUNT."""
        return self.mass // self.tops[measure]

    def parts(self, measures: Sequence[Measure]) -> list[tuple[Measure, ...]]:
        """Measures in parts whose corners are made together; one empty part if there are none.

        With a privacy unit each part has one measure, because persons' totals are counted apart.
        """
        size = _SIGNED if any(self.ranges[each][0] < 0 for each in measures) else _UNSIGNED
        number = -(-len(measures) // (1 if self.workload.unit else size)) or 1
        parts = np.array_split(np.arange(len(measures)), number)
        return [tuple(measures[place] for place in part) for part in parts]

    def parameters(self) -> dict[str, Any]:
        """Mass, and the factor of each statistic."""
        factors = [self.factor(each.measure) for each in self.workload.statistics]
        return {"mass": self.mass, "factors": factors}


@dataclass(frozen=True, eq=False)
class Block:
    """Corners of ``measures`` in one group of rows; the cells of the corners begin at ``start``.

    The empty corner has a cell only if rows are ``counted``.
    """

    group: int
    measures: tuple[Measure, ...]
    counted: bool
    corners: Corners
    start: int

    @property
    def first(self) -> int:
        """First corner that has a cell."""
        return int(not self.counted)

    @property
    def stop(self) -> int:
        """Place after the last cell."""
        return self.start + len(self.corners.sides) - self.first

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.stop - self.start

    def cells_of(self, measure: Measure | None, sign: int) -> Iterator[int]:
        """Cells whose corners have a side of ``measure``; all cells for COUNT."""
        if measure is not None and measure not in self.measures:
            return
        for place, corner in enumerate(self.corners.sides[self.first :], self.start):
            if measure is None or (self.measures.index(measure), sign) in corner:
                yield place


def blocks_of(unit: CommonUnit, groups: Sequence[Mapping[Measure | None, None]]) -> list[Block]:
    """Blocks of all groups, given the measures (None for COUNT) that are asked of each group."""
    blocks: list[Block] = []
    for group, asked in enumerate(groups):
        for part in unit.parts([measure for measure in asked if measure]):
            corners = Corners(unit.mass, tuple(unit.ranges[each] for each in part))
            start = blocks[-1].stop if blocks else 0
            blocks.append(Block(group, part, None in asked, corners, start))
    return blocks


def places_of_groups(workload: ScanPlan) -> list[int]:
    """Place of the statistic whose rows are the group of each statistic.

    It is the COUNT of the same rows, or for a SUM the COUNT of the same rows with a value, since
    rows without a value add nothing.  Else it is the first statistic of the same rows.
    """
    first: dict[str, int] = {}
    counts: dict[str, int] = {}
    for place, each in enumerate(workload.statistics):
        first.setdefault(selection(each), place)
        if each.measure is None:
            counts.setdefault(selection(each), place)
    places = []
    for each in workload.statistics:
        texts = [selection(each)]
        if each.measure:
            present = Atom(f"NOT {each.measure.sql} IS NULL")
            both = (each.predicate, present) if each.predicate else (present,)
            texts.insert(0, canonical(combined("and", both)))
        counted = [counts[text] for text in texts if text in counts]
        places.append(counted[0] if counted else first[texts[-1]])
    return places


class _CellIndex:
    """Cells that answer COUNT or the SUM of a measure, by the groups of rows."""

    def __init__(self, unit: CommonUnit, blocks: Sequence[Block], groups: int) -> None:
        self._unit, self._blocks, self._groups = unit, blocks, groups
        self._known: dict[tuple[bool, Measure | None, int], tuple[Integers, Integers]] = {}
        self._numbers = np.bincount([block.group for block in blocks], minlength=groups)
        smallest: dict[int, Block] = {}
        for block in sorted(blocks, key=lambda block: block.cells, reverse=True):
            smallest[block.group] = block
        self._smallest = tuple(smallest[group] for group in sorted(smallest))

    def sum(self, measure: Measure | None, groups: Integers) -> CellSum:
        """Sum of cells that answers COUNT or the SUM of a measure over some ``groups``.

        Each block of a group counts all of the group's rows.  So COUNT is the mean over the blocks,
        if all groups have the same number of blocks, and else it takes the smallest block of each
        group.
        """
        if measure is not None:
            plus, minus = (self._cells(groups, measure, sign) for sign in (1, -1))
            return CellSum(plus, minus, self._unit.factor(measure))
        numbers = np.unique(self._numbers[groups])
        alike = numbers.size <= 1
        cells = self._cells(groups, None, 1, smallest=not alike)
        number = int(numbers.max(initial=1)) if alike else 1
        return CellSum(cells, np.zeros(0, np.int64), number * self._unit.mass)

    def _cells(
        self, groups: Integers, measure: Measure | None, sign: int, *, smallest: bool = False
    ) -> Integers:
        """Cells with a side of a measure, in some groups, or in the smallest block of each."""
        key = smallest, measure, sign
        if key not in self._known:
            blocks = self._smallest if smallest else self._blocks
            pairs = [(c, block.group) for block in blocks for c in block.cells_of(measure, sign)]
            cells, group_of = np.array(pairs, np.int64).reshape(-1, 2).T
            self._known[key] = cells, group_of
        cells, group_of = self._known[key]
        asked = np.zeros(self._groups, np.bool_)
        asked[groups] = True
        held: Integers = cells[asked[group_of]]
        return held


@dataclass(frozen=True, eq=False)
class _CellsPlan(PurePlan):
    """Plan with Laplace noise on all cells of all blocks.

    Guarantee: epsilon-DP (Theorem Q11).  A row or person counts in at most ``most`` blocks.  In
    each it moves the cells by the mass in total, whatever it holds.  ``most``, the blocks and the
    mass are public: they come from the SQL, the lattices and the row classes.
    """

    unit: CommonUnit
    blocks: tuple[Block, ...]
    groups: tuple[Integers, ...]
    most: int

    id: ClassVar[str]

    @property
    def workload(self) -> ScanPlan:
        """Statistics of all queries."""
        return self.unit.workload

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.blocks[-1].stop if self.blocks else 0

    @cached_property
    def mechanism(self) -> NoisyCells:
        """Noise on the cells, and the answers as sums of cells."""
        index = _CellIndex(self.unit, self.blocks, 1 + max(block.group for block in self.blocks))
        pairs = zip(self.workload.statistics, self.groups, strict=True)
        sums = tuple(index.sum(statistic.measure, groups) for statistic, groups in pairs)
        return NoisyCells(self.id, self.cells, self.most * self.unit.mass, sums)

    @property
    def quick(self) -> bool:
        """Whether the mechanism is quick enough for ``auto``."""
        return self.cells <= MOST_DRAWN

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs, which is larger for fewer cells."""
        return _runs(self.cells)

    def parameters(self) -> Mapping[str, Any]:
        """Id of the mechanism, the most blocks of a row or person, and the factors."""
        return {"id": self.id, "most": self.most, **self.unit.parameters()}

    @property
    def note(self) -> None:
        """None."""
        return

    def noise(self, epsilon: Fraction) -> NoiseLaw:
        """Noise law of each answer; noise is the only error."""
        return self.mechanism.noise_law(epsilon)

    def release(self, rows: Sequence[int], epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Answers that are epsilon-DP."""
        return self.mechanism.release(rows, epsilon, noise)


@dataclass(frozen=True, eq=False)
class ClassesPlan(_CellsPlan):
    """``identity``: the groups are row classes; an answer adds up the cells of its classes."""

    classes: RowClasses

    id: ClassVar[str] = "identity"

    @classmethod
    def of(cls, workload: ScanPlan, classes: RowClasses, epsilon: Fraction) -> ClassesPlan:
        """Plan of a batch.

        Raises
        ------
        ParameterError
            If values are too large, or the sampler cannot draw the noise.
        """
        unit, matrix = CommonUnit(workload), classes.matrix
        if not classes.open_conditions:
            # The classes of the rows with a value, if these are counted, are all that a SUM needs.
            matrix = matrix[places_of_groups(workload)]
        asked: list[dict[Measure | None, None]] = [{} for _ in range(classes.size)]
        for statistic, selected in zip(workload.statistics, matrix, strict=True):
            for group in np.flatnonzero(selected).tolist():
                asked[group][statistic.measure] = None
        blocks = blocks_of(unit, asked)
        # A row is in one class.
        most = int(np.bincount([block.group for block in blocks]).max())
        check_scale(most * unit.mass / epsilon)
        return cls(unit, tuple(blocks), tuple(map(np.flatnonzero, matrix)), most, classes)

    def read(self, counts: ContingencyTable) -> list[int]:
        """Mass of each cell; not private."""
        amounts = amounts_of_cells(self.workload, counts)
        classes, size = self.classes.of_words(counts.words), counts.counts.size
        cells = [0] * self.cells
        # Blocks of the same measures share their corners, so each kind of block is counted once.
        kinds: dict[tuple[Measure, ...], list[Block]] = {}
        for block in self.blocks:
            kinds.setdefault(block.measures, []).append(block)
        for blocks in kinds.values():
            masses = blocks[0].corners.masses(_stacked(blocks[0], amounts, size))
            for corner, line in enumerate(masses):
                totals = sums_by_group(classes, line, counts.counts, self.classes.size)
                for block in blocks:
                    if corner >= block.first:
                        cells[block.start + corner - block.first] = totals[block.group]
        return cells


@dataclass(frozen=True, eq=False)
class SelectionsPlan(_CellsPlan):
    """``workload``: the groups are the rows that a query selects; any conditions fit."""

    id: ClassVar[str] = WORKLOAD

    @classmethod
    def of(cls, workload: ScanPlan, epsilon: Fraction) -> SelectionsPlan:
        """Plan of a batch.

        Raises
        ------
        ParameterError
            If values are too large, or the sampler cannot draw the noise.
        """
        unit, places = CommonUnit(workload), places_of_groups(workload)
        asked: dict[int, dict[Measure | None, None]] = {}
        for place, each in zip(places, workload.statistics, strict=True):
            asked.setdefault(place, {})[each.measure] = None
        blocks = blocks_of(unit, [*asked.values()])
        numbers = {place: number for number, place in enumerate(asked)}
        groups = tuple(np.array([numbers[place]]) for place in places)
        # With a unit, a person may have rows for every selection.
        conditions = [workload.statistics[place].predicate for place in asked]
        repeated = [conditions[block.group] for block in blocks]
        most = len(blocks) if workload.unit else workload_sensitivity(repeated)
        check_scale(most * unit.mass / epsilon)
        return cls(unit, tuple(blocks), groups, most)

    @property
    def classes(self) -> None:
        """None, because the mechanism uses no row classes."""
        return

    def read(self, counts: BatchCounts) -> list[int]:
        """Mass of each cell, where a row counts in the first ``most`` blocks; not private."""
        if isinstance(counts, ContingencyTable):
            return self._of_rows(counts)
        return self._of_persons(counts)

    def _of_rows(self, counts: ContingencyTable) -> list[int]:
        amounts, size = amounts_of_cells(self.workload, counts), counts.counts.size
        masks = selections(self.workload, list(counts.words.T), size)
        selected = [masks[place] for place in dict.fromkeys(places_of_groups(self.workload))]
        matches, cells = np.zeros(size, np.int64), list[int]()
        masses: dict[tuple[Measure, ...], Integers] = {}
        for block in self.blocks:
            counted = selected[block.group] & (matches < self.most)
            matches += counted
            if block.measures not in masses:
                masses[block.measures] = block.corners.masses(_stacked(block, amounts, size))
            rows = counts.counts[counted]
            lines = masses[block.measures][block.first :]
            cells += [exact_sum(line[counted], rows) for line in lines]
        return cells

    def _of_persons(self, counts: Sequence[Histogram]) -> list[int]:
        """Masses from the totals of persons; a person without a total has the mass of no side."""
        triples = zip(self.groups, self.workload.statistics, counts, strict=True)
        held = {(int(group[0]), each.measure): histogram for group, each, histogram in triples}
        cells = list[int]()
        for block in self.blocks:
            line = np.zeros((0, 0), np.int64)
            if block.measures:
                histogram = held[block.group, block.measures[0]]
                line, rows = histogram.values[None], histogram.counts
            lines = block.corners.masses(line)[1:]
            sides = [exact_sum(each, rows) for each in lines]
            if block.counted:
                persons = held[block.group, None].mass
                sides.insert(0, persons * self.unit.mass - sum(sides))
            cells += sides
        return cells


def _stacked(block: Block, amounts: Amounts, rows: int) -> Integers:
    """Amounts (measures, rows) of the measures of a block."""
    lines = [amounts[measure] for measure in block.measures]
    return np.stack(lines) if lines else np.zeros((0, rows), np.int64)


@dataclass(frozen=True, eq=False)
class JointPlan(PurePlan):
    """``joint`` for several measures: cube noise on all answers, each in the common unit.

    Guarantee: epsilon-DP (Theorem Q12).  The cell of an answer is the answer times the whole factor
    of its measure, which a row or person moves by at most the mass.  Where the COUNT of the same
    rows is asked too, and no amount is below 0 (or none above), the cell of a SUM is twice that
    less the count times the mass.  A row that is selected moves it by a number between minus the
    mass and the mass.  So the noise of the SUM is half as large, but for that of the count.
    """

    unit: CommonUnit
    sums: tuple[CellSum, ...]

    classes: ClassVar[None] = None
    note: ClassVar[None] = None
    quick: ClassVar[bool] = True

    @classmethod
    def of(cls, workload: ScanPlan, epsilon: Fraction) -> JointPlan:
        """Plan of a batch.

        Raises
        ------
        ParameterError
            If values are too large, or the sampler cannot draw the noise.
        """
        unit = CommonUnit(workload)
        sums = []
        for place, count in enumerate(places_of_groups(workload)):
            measure, counted = (workload.statistics[n].measure for n in (place, count))
            low, high = unit.ranges.get(measure, (0, 0))
            factor = unit.factor(measure)
            if measure is None or counted is not None or low < 0 < high:
                sums.append(CellSum.of([place], [], factor))
            elif low < 0:
                sums.append(CellSum.of([place], [count], 2 * factor))
            else:
                sums.append(CellSum.of([place, count], [], 2 * factor))
        plan = cls(unit, tuple(sums))
        check_scale(plan.mechanism.largest_scale(epsilon))
        return plan

    @property
    def workload(self) -> ScanPlan:
        """Statistics of all queries."""
        return self.unit.workload

    @property
    def mechanism(self) -> JointCells:
        """Cube noise on the cells, and the answers as sums of cells."""
        return JointCells(len(self.sums), self.unit.mass, self.sums)

    @property
    def id(self) -> str:
        """Name of the mechanism."""
        return JOINT

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs, which is larger for fewer cells."""
        return _runs(self.mechanism.cells)

    def parameters(self) -> Mapping[str, Any]:
        """Id of the mechanism, the mass and the factors, and the cells of each answer."""
        cells = [[e.plus.tolist(), e.minus.tolist(), e.divisor] for e in self.sums]
        return {"id": self.id, "cells": cells, **self.unit.parameters()}

    def noise(self, epsilon: Fraction) -> NoiseLaw:
        """Noise law of each answer; noise is the only error."""
        return self.mechanism.noise_law(epsilon)

    def read(self, counts: BatchCounts) -> list[int]:
        """Cell of each answer; not private."""
        answers = exact_answers(self.workload, counts).tolist()
        cells = []
        for place, (each, answer) in enumerate(zip(self.sums, answers, strict=True)):
            centre = sum(answers[n] for n in each.plus.tolist() if n != place)
            centre -= sum(answers[n] for n in each.minus.tolist())
            cells.append(each.divisor * answer - centre * self.unit.mass)
        return cells

    def release(self, rows: Sequence[int], epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Answers that are epsilon-DP."""
        return self.mechanism.release(rows, epsilon, noise)


def _runs(cells: int) -> int:
    """Number of simulation runs of a mechanism that draws for each of ``cells`` cells."""
    return max(8, min(64, 2**14 // max(1, cells)))
