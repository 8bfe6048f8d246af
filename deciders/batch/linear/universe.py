"""The universe of a batch of queries: classes of rows times levels of the summed number.

Decomposable queries (Qiu 2022, definition 4.1) are ``w(t) = f_w(class of t) g(t)``: a condition on
a public class, times one number ``g >= 0`` for the whole batch, in whole units.  Memory is
allocated only when a table is counted.  A universe that does not fit is refused by its size.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact_sums import LARGEST_IN_64_BITS, sums_by_group
from pqd.deciders.histogram import Integers, Sums

LARGEST_UNIVERSE = 2**27
# Doubles are exact for whole numbers up to this limit.  Sums of values above 2^32 are Python
# integers (exact_sums.py).
LARGEST_UPPER = 2**53


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """Private table as queries see it: the class and the level of every row."""

    classes: Integers
    levels: Integers

    def __repr__(self) -> str:
        """Name of the type alone, because rows are private and a traceback may show this."""
        return "Rows(...)"


@dataclass(frozen=True, slots=True, eq=False)
class LevelUniverse:
    """Every class at every level; a row is one cell.

    ``weights`` is ``g`` at each level, of shape (1, levels) if all classes share the same levels.
    """

    classes: int
    weights: Integers

    id: ClassVar[str] = "levels"

    def __post_init__(self) -> None:
        """Raise ParameterError unless the weights ascend from 0 or above."""
        check_upper(int(self.weights.max()))
        if self.weights.shape[0] not in {1, self.classes}:
            raise ParameterError("weights need one line, or one for each class")
        if self.weights.min() < 0 or np.any(np.diff(self.weights, axis=1) < 0):
            raise ParameterError("weights must be >= 0 and ascend along the levels")

    @classmethod
    def up_to(cls, classes: int, upper: int) -> "LevelUniverse":
        """Universe of ``g = 0 .. upper``, where a row's level is ``g`` itself."""
        check_upper(upper)
        _check_size(classes, upper + 1)
        return cls(classes, np.arange(upper + 1)[None])

    @property
    def tops(self) -> Integers:
        """Largest ``g`` of each class."""
        return np.broadcast_to(self.weights[:, -1], self.classes)

    @property
    def group(self) -> int:
        """One, because a row is one cell."""
        return 1

    def _places(self, rows: Rows) -> tuple[Integers, Integers]:
        classes = np.clip(rows.classes, 0, self.classes - 1)
        return classes, np.clip(rows.levels, 0, self.weights.shape[1] - 1)

    def values(self, rows: Rows) -> Integers:
        """``g`` of every row."""
        classes, levels = self._places(rows)
        values: Integers = self.weights[classes % self.weights.shape[0], levels]
        return values

    def counts(self, rows: Rows) -> Integers:
        """Number of rows in each cell."""
        width = self.weights.shape[1]
        cells = _check_size(self.classes, width)
        classes, levels = self._places(rows)
        return np.bincount(classes * width + levels, minlength=cells)

    def truncated(self, bound: int) -> "LevelUniverse":
        """Universe of ``min(g, bound)``."""
        return LevelUniverse(self.classes, np.minimum(self.weights, bound))


@dataclass(frozen=True, slots=True)
class DigitUniverse:
    """Reduced universe (section 4.1), with levels 1, 2, 4, ... in place of ``0 .. upper``.

    A row is one cell for each binary digit 1 of its ``g``.  The cell has the worth of this digit,
    so every sum ``w(D)`` keeps its value.  A row's level is ``g``, clipped to ``0 .. upper``.

    The paper counts ``1 + log2(upper)`` cells for a row, digits 0 among them, which are no cells
    of its universe (docs/errata.md, 12.5).  Fewer are enough (ours).  Let
    ``upper`` have d digits.  A number below ``upper`` has a 0 where it first differs from
    ``upper``.  So it has at most ``d - 1`` ones; an example is ``2^(d - 1) - 1``.  So ``group`` is
    the larger of ``d - 1`` and the number of ones of ``upper`` itself.
    """

    classes: int
    upper: int

    id: ClassVar[str] = "digits"

    def __post_init__(self) -> None:
        """Raise ParameterError for an upper bound below 1 or beyond 2^53."""
        check_upper(self.upper)

    @property
    def _digits(self) -> int:
        return self.upper.bit_length()

    @property
    def weights(self) -> Integers:
        """Powers of two, one for each digit."""
        return (1 << np.arange(self._digits))[None]

    @property
    def tops(self) -> Integers:
        """Bound of every class, which is ``upper``."""
        return np.broadcast_to(np.int64(self.upper), self.classes)

    @property
    def group(self) -> int:
        """Largest number of ones in the binary digits of a number up to ``upper``."""
        return max(self.upper.bit_count(), self._digits - 1)

    def values(self, rows: Rows) -> Integers:
        """``g`` of every row."""
        return np.clip(rows.levels, 0, self.upper)

    def counts(self, rows: Rows) -> Integers:
        """Number of rows with each digit, by class."""
        _check_size(self.classes, self._digits)
        classes, values = np.clip(rows.classes, 0, self.classes - 1), self.values(rows)
        digits = [
            np.bincount(classes[(values >> digit) & 1 == 1], minlength=self.classes)
            for digit in range(self._digits)
        ]
        return np.stack(digits, axis=1).reshape(-1)

    def truncated(self, bound: int) -> "DigitUniverse":
        """Universe of ``min(g, bound)``."""
        return DigitUniverse(self.classes, min(self.upper, bound))


# Cells that rows become.  A cell is a class and a level.  The level varies fastest, and ``weights``
# ascend along the levels.  The ids are part of ledger keys.
Universe = LevelUniverse | DigitUniverse


def level_sets(rows: Rows, universe: Universe, thresholds: Integers) -> tuple[Integers, Sums]:
    """Rows and sums of ``g`` by class and level set (section 4.2).

    Level set j is ``thresholds[j - 1] < g <= thresholds[j]``; set 0 is ``g <= thresholds[0]``.  If
    ``g`` may be larger than 2^32, the sums are Python integers.
    """
    values, width = universe.values(rows), thresholds.size
    sets = np.minimum(np.searchsorted(thresholds, values), width - 1)
    cells = np.clip(rows.classes, 0, universe.classes - 1) * width + sets
    counts = np.bincount(cells, minlength=universe.classes * width)
    if universe.tops.max() > LARGEST_IN_64_BITS:
        totals = sums_by_group(cells, values, 1, counts.size)
    else:
        totals = np.zeros(counts.size, np.int64)
        np.add.at(totals, cells, values)
    return counts.reshape(-1, width), totals.reshape(-1, width)


def check_upper(upper: int) -> None:
    """Raise ParameterError unless whole numbers up to ``upper`` are exact as doubles."""
    if not 1 <= upper <= LARGEST_UPPER:
        raise ParameterError(
            f"the largest value is {upper:,} units; it must lie between 1 and 2^53: "
            "choose a wider unit, or tighter bounds"
        )


def _check_size(classes: int, levels: int) -> int:
    if classes * levels > LARGEST_UNIVERSE:
        raise ParameterError(
            f"the universe has {classes * levels:,} cells ({classes:,} classes x {levels:,} "
            f"levels); at most {LARGEST_UNIVERSE:,} fit: use DigitUniverse, fewer classes or a "
            "wider unit"
        )
    return classes * levels
