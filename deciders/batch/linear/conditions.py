"""Sets of conditions ``f_w``: the classes of rows that each query of a batch selects."""

import math
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.errors import ParameterError
from pqd.deciders.histogram import Integers

Booleans = NDArray[np.bool_]
# Whole numbers or doubles: the same code serves both, and whole numbers stay exact.
Numbers = NDArray[Any]
# Limit of how many numbers are added up at once.
_MOST_SUMMANDS = 2**21


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Closed intervals ``first .. last`` of the places ``0 .. length - 1`` of one attribute."""

    length: int
    first: Integers
    last: Integers

    def __post_init__(self) -> None:
        """Raise ParameterError unless every interval lies within the attribute."""
        fits = (self.first >= 0) & (self.first <= self.last) & (self.last < self.length)
        if self.first.shape != self.last.shape or not self.first.size or not fits.all():
            raise ParameterError(
                f"intervals must be nonempty and lie within 0 .. {self.length - 1}"
            )

    @classmethod
    def up_to(cls, length: int, widest: int) -> "Intervals":
        """All intervals of at most ``widest`` places, sorted by their first place."""
        first, extra = np.divmod(np.arange(length * widest), widest)
        fits = first + extra < length
        return cls(length, first[fits], (first + extra)[fits])

    def sums(self, columns: Numbers) -> Numbers:
        """Sums over each interval along the first axis, by prefix sums."""
        prefix = np.zeros((self.length + 1, *columns.shape[1:]), columns.dtype)
        np.cumsum(columns, axis=0, out=prefix[1:])
        totals: Numbers = prefix[self.last + 1] - prefix[self.first]
        return totals

    def largest(self, values: Integers) -> Integers:
        """Largest value of each interval along the first axis."""
        spans = zip(self.first.tolist(), self.last.tolist(), strict=True)
        return np.stack([values[low : high + 1].max(axis=0) for low, high in spans])


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Rectangles, which are the combinations of one interval from each of several attributes.

    A class is a combination of the attributes' places.  The last attribute varies fastest.
    """

    axes: tuple[Intervals, ...]

    @property
    def _lengths(self) -> tuple[int, ...]:
        return tuple(axis.length for axis in self.axes)

    @property
    def _counts(self) -> tuple[int, ...]:
        return tuple(axis.first.size for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of conditions."""
        return math.prod(self._counts)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return math.prod(self._lengths)

    @property
    def _order(self) -> list[int]:
        """Axes in an order in which the table shrinks fast, so that later steps are cheap."""
        growth = [axis.first.size / axis.length for axis in self.axes]
        return sorted(range(len(growth)), key=growth.__getitem__)

    def sums(self, columns: Numbers) -> Numbers:
        """Sums over each rectangle, taken along one attribute after the other."""
        table = columns.reshape(*self._lengths, -1)
        for axis in self._order:
            moved = self.axes[axis].sums(np.moveaxis(table, axis, 0))
            table = np.moveaxis(moved, 0, axis)
        return table.reshape(self.size, -1)

    def largest(self, values: Integers) -> Integers:
        """Largest value of each rectangle."""
        table = values.reshape(self._lengths)
        for axis in self._order:
            table = np.moveaxis(self.axes[axis].largest(np.moveaxis(table, axis, 0)), 0, axis)
        return table.reshape(-1)

    def row(self, place: int) -> Booleans:
        """Whether rectangle ``place`` contains each class."""
        places = np.unravel_index(place, self._counts)
        sides = []
        for axis, at in zip(self.axes, places, strict=True):
            along = np.arange(axis.length)
            sides.append((along >= axis.first[at]) & (along <= axis.last[at]))
        return _product(sides)

    @property
    def covered(self) -> Booleans:
        """Whether each class is inside some rectangle."""
        sides = []
        for axis in self.axes:
            steps = np.zeros(axis.length + 1, np.int64)
            np.add.at(steps, axis.first, 1)
            np.add.at(steps, axis.last + 1, -1)
            sides.append(np.cumsum(steps[:-1]) > 0)
        return _product(sides)


def _product(sides: list[Booleans]) -> Booleans:
    return reduce(np.logical_and.outer, sides).reshape(-1)


@dataclass(frozen=True, eq=False)
class Subsets:
    """Arbitrary conditions, where each is a row of booleans in a dense matrix (size, classes).

    The time for sums grows with the number of runs of selected classes.
    """

    matrix: Booleans

    @property
    def size(self) -> int:
        """Number of conditions."""
        return int(self.matrix.shape[0])

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.matrix.shape[1])

    @cached_property
    def _runs(self) -> tuple[Integers, Integers, Integers]:
        """First place of each run, the place after its last, and the runs of each condition."""
        turns = np.zeros((self.size, self.classes + 1), np.bool_)
        turns[:, :-1] = self.matrix
        turns[:, 1:] ^= self.matrix
        # Within a condition the turns come in pairs: on, then off.
        places = np.flatnonzero(turns)
        which, ends = np.divmod(places, self.classes + 1)
        return ends[0::2], ends[1::2], np.bincount(which[0::2], minlength=self.size)

    def sums(self, columns: Numbers) -> Numbers:
        """Sums over each condition, as differences of running sums at the ends of its runs."""
        starts, stops, runs = self._runs
        totals = np.zeros((self.size, columns.shape[1]), columns.dtype)
        some = runs > 0
        firsts = (np.cumsum(runs) - runs)[some]
        width = max(1, _MOST_SUMMANDS // max(1, starts.size))
        for left in range(0, columns.shape[1] if starts.size else 0, width):
            block = slice(left, left + width)
            running = np.zeros((self.classes + 1, columns[:, block].shape[1]), columns.dtype)
            np.cumsum(columns[:, block], axis=0, out=running[1:])
            totals[some, block] = np.add.reduceat(running[stops] - running[starts], firsts, axis=0)
        return totals

    def largest(self, values: Integers) -> Integers:
        """Largest value under each condition, 0 if there is none."""
        # Sort the classes by descending value, and take the first class that is selected.
        order = np.argsort(-values, kind="stable")
        ordered = self.matrix[:, order] if np.ptp(values) else self.matrix
        largest: Integers = values[order][ordered.argmax(axis=1)]
        return np.where(ordered.any(axis=1), largest, 0)

    def row(self, place: int) -> Booleans:
        """Row ``place`` of the matrix."""
        chosen: Booleans = self.matrix[place]
        return chosen

    @property
    def covered(self) -> Booleans:
        """Whether each class is selected by some condition."""
        covered: Booleans = np.any(self.matrix, axis=0)
        return covered


# Batch of conditions on the class of a row.
Conditions = Ranges | Subsets
