"""Cells of a group of queries: rows that their predicates cannot tell apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.kernel.bitmaps import WORD, matching
from pqd.engine.kernel.combinations import at_codes, combined, is_numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.atom_classes import AtomClasses
    from pqd.engine.kernel.bitmaps import Rows
    from pqd.sql.predicate import Atom, Predicate


class Cells:
    """Combinations of the classes of some sets of columns.

    ``codes`` (rows,) give the cell of each row, below ``size``.  Cells are a grid if they are all
    combinations, in their order, by their number alone: whatever rows hold, it is the same cells.
    """

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

    def of_rows(self, order: NDArray[Any], codes: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Cells of the rows ``order``, whose classes are ``codes``."""
        if not self._is_grid:
            return self.codes.take(order)
        parts = list(zip(codes, self._sizes, strict=True))
        return combined(parts, order.size, occupied=False).codes


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
