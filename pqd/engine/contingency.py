"""Contingency table: how many rows have each combination of atoms and each place on one lattice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.kernel.atom_classes import atom_classes, distinct_rows
from pqd.engine.kernel.bitmaps import WORD, matching
from pqd.engine.kernel.combinations import combined
from pqd.engine.kernel.measures import measured
from pqd.engine.scan_plan import place_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pqd.engine.kernel.atom_classes import AtomClasses
    from pqd.engine.kernel.bitmaps import Rows, Words
    from pqd.engine.kernel.evaluator import Evaluator
    from pqd.engine.scan_plan import ScanPlan
    from pqd.sql.predicate import Atom

    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContingencyTable:
    """Distinct combinations that rows have, and how many rows have each; a row is one cell.

    ``words`` (cells, words) packs the atoms as the workload numbers them.  ``places`` are those on
    the lattice of what is measured: -1 is NULL, and all are 0 where nothing is measured.
    """

    words: NDArray[np.uint64]
    places: Integers
    counts: Integers

    def __repr__(self) -> str:
        """Name of the type alone: what it counts may be private, and a traceback may show this."""
        return "ContingencyTable(...)"


def contingency_of(evaluator: Evaluator, plan: ScanPlan) -> ContingencyTable:
    """Cells that rows have, in ascending order.

    Raises
    ------
    ValueError
        If more than one thing is measured, or persons are to be told apart.
    """
    tables = [_table(*_cells(batch, plan)) for batch in evaluator.batches()]
    if len(tables) == 1:
        return tables[0]
    every = ContingencyTable(
        np.concatenate([each.words for each in tables]),
        np.concatenate([each.places for each in tables]),
        np.concatenate([each.counts for each in tables]),
    )
    codes, first = distinct_rows(np.column_stack((every.words, every.places.view(np.uint64))))
    # Batches number their own cells; a double holds every number of rows.
    counts = np.bincount(codes, every.counts, first.size).astype(np.int64)
    return ascending_cells(every.words[first], every.places[first], counts)


def _table(codes: NDArray[Any], words: NDArray[np.uint64], places: Integers) -> ContingencyTable:
    """Table of rows by their cells."""
    return ascending_cells(words, places, np.bincount(codes, minlength=places.size))


def ascending_cells(
    words: NDArray[np.uint64], places: Integers, counts: Integers
) -> ContingencyTable:
    """Table of the cells that rows have, in ascending order."""
    order = np.lexsort((places, *words.T))
    order = order[counts[order] > 0]
    return ContingencyTable(words[order], places[order], counts[order])


def words_of(atoms: int) -> int:
    """Number of words that hold so many atoms."""
    return -(-atoms // WORD)


def selections(plan: ScanPlan, words: Words, size: int) -> list[Rows]:
    """Mask of ``size`` rows for each statistic: all rows without a predicate."""
    place = {atom: bit for bit, atom in enumerate(plan.atoms)}
    every = np.ones(size, np.bool_)
    predicates = (statistic.predicate for statistic in plan.statistics)
    return [matching(p, place, words) if p else every for p in predicates]


def row_cells(evaluator: Evaluator, plan: ScanPlan) -> ContingencyTable:
    """Table with a cell for every row, in the order of the rows.

    Raises
    ------
    ValueError
        As ``contingency_of``.
    """
    codes, words, places = _cells(evaluator, plan)
    return ContingencyTable(words[codes], places[codes], np.ones(codes.size, np.int64))


def _cells(
    evaluator: Evaluator, plan: ScanPlan
) -> tuple[NDArray[Any], NDArray[np.uint64], Integers]:
    """Cell of each row, and the words and the place of each cell."""
    if len(plan.measures) > 1 or plan.unit:
        raise ValueError("cells hold the rows of one measured number")
    values = [
        measured(evaluator, place_sql(each), each.number, each.lattice) for each in plan.measures
    ]
    classes = list(atom_classes(evaluator, plan.atoms).values())
    parts = [(each.codes, len(each.words)) for each in classes]
    parts += [(each.codes, each.size + 1) for each in values]
    cells = combined(parts, evaluator.rows)
    bits = {atom: bit for bit, atom in enumerate(plan.atoms)}
    words = np.zeros((cells.size, words_of(len(bits))), np.uint64)
    for each, digits in zip(classes, cells.digits, strict=False):
        words |= _laid_out(each, bits, words.shape[1])[digits]
    places = np.zeros(cells.size, np.int64)
    for one in values:
        places = np.append(one.values, -1)[cells.digits[-1]]
    return cells.codes, words, places


def _laid_out(classes: AtomClasses, bits: Mapping[Atom, int], words: int) -> NDArray[np.uint64]:
    """Words of each class, with its atoms where the workload numbers them."""
    laid_out = np.zeros((len(classes.words), words), np.uint64)
    for own, atom in enumerate(classes.atoms):
        truths = classes.words[:, own // WORD] >> np.uint64(own % WORD) & np.uint64(1)
        laid_out[:, bits[atom] // WORD] |= truths << np.uint64(bits[atom] % WORD)
    return laid_out
