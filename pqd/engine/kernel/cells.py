"""Cells of a group of queries: rows that their predicates cannot tell apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.kernel.bitmaps import WORD, matching
from pqd.engine.kernel.combinations import at_codes, combined, is_numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.atom_classes import AtomClasses
    from pqd.engine.kernel.bitmaps import Rows
    from pqd.sql.predicate import Atom, Predicate

    Integers = NDArray[np.int64]


# Share of the rows up to which those that are matched are taken out, and rows that tell it.
_DENSE, _SAMPLE = 0.5, 1 << 12


class Cells:
    """Combinations of the classes of some sets of columns.

    ``codes`` (rows,) give the cell of each row, below ``size``; ``rows`` are which rows these are,
    None for all.  Cells are a grid if they are all combinations, in their order, by their number
    alone: whatever rows hold, it is the same cells.
    """

    rows: Integers | None = None

    def __init__(self, classes: Sequence[AtomClasses], rows: int) -> None:
        """Combine the classes."""
        self._sizes = [len(each.words) for each in classes]
        parts = [(each.codes, size) for each, size in zip(classes, self._sizes, strict=True)]
        combinations = combined(parts, rows, occupied=False)
        self.codes, self.size = combinations.codes, combinations.size
        self.classes, self._digits = ClassWords(classes), combinations.digits
        self._is_grid = is_numbered(math.prod(self._sizes))

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "Cells(...)"

    def matching(self, predicate: Predicate | None) -> Rows:
        """Mask of the cells whose rows match ``predicate``."""
        if predicate is None:
            return np.ones(self.size, np.bool_)
        if not self._is_grid:
            return self.classes.matching(predicate, self._digits)
        mask = self.classes.matching_grid(predicate, len(self._sizes))
        return np.broadcast_to(mask, self._sizes).ravel()


class MatchedCells(Cells):
    """Those of some ``cells`` that one of the predicates matches, and the rows that have one.

    Where these are many, all cells and rows.
    """

    def __init__(self, cells: Cells, predicates: Iterable[Predicate | None]) -> None:
        """Find them."""
        self.codes, self.size, self.classes = cells.codes, cells.size, cells.classes
        self._masks = {predicate: cells.matching(predicate) for predicate in predicates}
        matched = np.zeros(cells.size, np.bool_)
        for mask in self._masks.values():
            matched |= mask
        some = cells.codes[:: max(1, cells.codes.size // _SAMPLE)]
        if np.count_nonzero(matched[some]) > some.size * _DENSE:
            return
        self.rows = np.flatnonzero(at_codes(matched, cells.codes))
        places = np.flatnonzero(matched)
        number = np.zeros(cells.size, np.min_scalar_type(places.size))
        number[places] = np.arange(places.size)
        self.codes, self.size = number.take(cells.codes.take(self.rows)), places.size
        self._masks = {predicate: mask.take(places) for predicate, mask in self._masks.items()}

    def matching(self, predicate: Predicate | None) -> Rows:
        """Mask of the cells whose rows match one of the predicates."""
        return self._masks[predicate]


class ClassWords:
    """Words of the atoms of some sets of columns, one set after the other, by class."""

    def __init__(self, classes: Sequence[AtomClasses]) -> None:
        """Number the words."""
        words = [(part, word) for part, each in enumerate(classes) for word in each.words.T]
        self._parts, self._words = [part for part, _ in words], [word for _, word in words]
        self._place: dict[Atom, int] = {}
        first = 0
        for each in classes:
            self._place.update((atom, first + bit) for bit, atom in enumerate(each.atoms))
            first += each.words.shape[1] * WORD

    def __repr__(self) -> str:
        """Name of the type alone."""
        return "ClassWords(...)"

    def matching(self, predicate: Predicate, codes: Sequence[NDArray[Any]]) -> Rows:
        """Mask of the rows that match; ``codes`` are, for each set, the class of each row."""

        def spread(number: int, classes: Rows) -> Rows:
            return at_codes(classes, codes[self._parts[number]])

        return matching(predicate, self._place, self._words, spread)

    def matching_grid(self, predicate: Predicate, axes: int) -> Rows:
        """Mask of the cells of a grid that match, with one axis for each set, or of length 1."""

        def spread(number: int, classes: Rows) -> Rows:
            part = self._parts[number]
            return classes.reshape([-1 if axis == part else 1 for axis in range(axes)])

        return matching(predicate, self._place, self._words, spread)
