"""Cells of a group of queries: rows that their predicates cannot tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.kernel.bitmaps import WORD, matching
from pqd.engine.kernel.combinations import combined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.atom_classes import AtomClasses
    from pqd.engine.kernel.bitmaps import Rows
    from pqd.sql.predicate import Atom, Predicate

# Words of more cells than these are looked up anew for each query.
_KEPT = 1 << 18


class Cells:
    """Combinations of the classes of some sets of columns.

    ``codes`` (rows,) give the cell of each row, below ``size``.
    """

    def __init__(self, classes: Sequence[AtomClasses], rows: int) -> None:
        """Combine the classes."""
        parts = [(each.codes, len(each.words)) for each in classes]
        combinations = combined(parts, rows, occupied=False)
        self.codes, self.size = combinations.codes, combinations.size
        self._words = _CellWords(classes, combinations.digits)
        self._place: dict[Atom, int] = {}
        first = 0
        for each in classes:
            self._place.update((atom, first + bit) for bit, atom in enumerate(each.atoms))
            first += each.words.shape[1] * WORD

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "Cells(...)"

    def matching(self, predicate: Predicate | None) -> Rows:
        """Mask of the cells whose rows match ``predicate``."""
        if predicate is None:
            return np.ones(self.size, np.bool_)
        return matching(predicate, self._place, self._words)


class _CellWords:
    """Words of atoms of each cell: those of several sets of columns one after the other."""

    def __init__(self, classes: Sequence[AtomClasses], digits: Sequence[NDArray[Any]]) -> None:
        self._sources = [
            (digit, word)
            for each, digit in zip(classes, digits, strict=True)
            for word in each.words.T
        ]
        self._looked_up: dict[int, NDArray[np.uint64]] = {}

    def __getitem__(self, number: int) -> NDArray[np.uint64]:
        """Word ``number`` of each cell."""
        if number in self._looked_up:
            return self._looked_up[number]
        digit, word = self._sources[number]
        words: NDArray[np.uint64] = word[digit]
        if words.size <= _KEPT:
            self._looked_up[number] = words
        return words
