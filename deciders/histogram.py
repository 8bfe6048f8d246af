"""Histogram: the number of rows at each lattice value, which is all that deciders need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.errors import ParameterError
from pqd.deciders.running_sums import Key, Mirrored, RunningSums, first_at

Integers = NDArray[np.int64]
Sums = NDArray[np.int64] | NDArray[np.object_]

# Values within this span are counted in a dense array; wider spans are counted by sorting.
_DENSE = 1 << 22
_INT64 = 2**63 - 1


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(RunningSums):
    """Ascending distinct integer values (lattice units) with the number of matching rows of each.

    ``values`` and ``counts`` are int64 arrays of the same length; every count is at least 1.
    ``COUNT(*)`` reads only the number of rows.  All sums are exact, because no answer passes
    through a double.
    """

    values: Integers
    counts: Integers

    def __post_init__(self) -> None:
        """Raise ParameterError unless values ascend strictly and counts are positive."""
        if self.values.shape != self.counts.shape or self.values.ndim != 1:
            raise ParameterError("a histogram needs as many counts as values, in one dimension")
        if np.any(self.values[1:] <= self.values[:-1]) or np.any(self.counts <= 0):
            raise ParameterError("histogram values must ascend strictly and counts be at least 1")

    def __repr__(self) -> str:
        """Name of the type alone, because counts may be private and a traceback may show this."""
        return "Histogram(...)"

    @classmethod
    def from_values(cls, values: Sequence[int] | Integers) -> Histogram:
        """Count whole-number ``values`` given in any order."""
        array = np.asarray(values, dtype=np.int64)
        if array.size == 0:
            return EMPTY
        low, high = int(array.min()), int(array.max())
        if high - low < _DENSE:
            dense = np.bincount(array - low)
            present = np.flatnonzero(dense)
            return cls.ascending(present + low, dense[present])
        distinct, counts = np.unique(array, return_counts=True)
        return cls(distinct, counts.astype(np.int64))

    @classmethod
    def ascending(cls, values: Integers, counts: Integers) -> Histogram:
        """Histogram of strictly ascending ``values`` with ``counts`` >= 1; nothing is checked."""
        histogram = cls.__new__(cls)
        histogram.__dict__.update(values=values, counts=counts)
        return histogram

    @classmethod
    def of_mass(cls, mass: int) -> Histogram:
        """Histogram of a count, with ``mass`` rows that are all at value 0."""
        if mass == 0:
            return EMPTY
        histogram = cls.ascending(np.zeros(1, np.int64), np.array([mass], np.int64))
        histogram.__dict__["mass"] = mass
        return histogram

    @classmethod
    def merged(cls, parts: Iterable[Histogram]) -> Histogram:
        """Histogram of the rows of all ``parts`` together."""
        filled = [part for part in parts if part.mass]
        if len(filled) <= 1:
            return filled[0] if filled else EMPTY
        return cls.weighted(
            np.concatenate([part.values for part in filled]),
            np.concatenate([part.counts for part in filled]),
        )

    @classmethod
    def weighted(cls, values: Integers, counts: Integers) -> Histogram:
        """Histogram of ``counts[i]`` rows at ``values[i]``; values may repeat."""
        present = counts > 0
        values, counts = values[present], counts[present]
        if not values.size:
            return EMPTY
        if np.any(values[1:] < values[:-1]):
            order = np.argsort(values, kind="stable")
            values, counts = values[order], counts[order]
        starts = np.concatenate(([0], np.flatnonzero(np.diff(values)) + 1))
        return cls.ascending(values[starts], np.add.reduceat(counts, starts))

    def with_beyond(self, counted: int) -> Histogram:
        """Histogram of the same rows, of which, or beside which, some lie beyond the lattice.

        ``counted`` is their count.  A row whose value was cut to an end of the lattice counts here
        and at that end.
        """
        histogram = Histogram.ascending(self.values, self.counts)
        histogram.__dict__.update(beyond=counted, row_parts=self.row_parts)
        return histogram

    def in_parts(self, parts: int) -> Histogram:
        """Histogram whose counts are parts of a row: a row counts as ``parts``."""
        if parts == self.row_parts:
            return self
        histogram = Histogram.ascending(self.values, self.counts)
        histogram.__dict__.update(beyond=self.__dict__.get("beyond", 0), row_parts=parts)
        return histogram

    @property
    def row_parts(self) -> int:
        """Parts of a row in which rows are counted; 1 if whole rows are counted."""
        parts: int = self.__dict__.get("row_parts", 1)
        return parts

    @cached_property
    def in_rows(self) -> Histogram:
        """Histogram in whole rows, whose running counts are those of this one, rounded.

        It serves the analysis of public tables: a person's row moves it by more than one row.
        """
        if self.row_parts == 1:
            return self
        rounded = (2 * self.cumulative_counts + self.row_parts) // (2 * self.row_parts)
        rows = np.diff(rounded)
        return Histogram.ascending(self.values[rows > 0], rows[rows > 0])

    @property
    def rows_beyond(self) -> int:
        """Selected rows that the lattice changes or leaves out, rounded up; 0 if not counted."""
        counted: int = self.__dict__.get("beyond", 0)
        return -(-counted // self.row_parts)

    def multiplicities(self) -> Histogram:
        """Histogram of the numbers of rows that the distinct values have, for COUNT DISTINCT."""
        return Histogram.from_values(self.counts)

    @cached_property
    def mass(self) -> int:
        """Number of rows: the answer of ``COUNT(*)``."""
        return int(self.counts.sum())

    @cached_property
    def cumulative_counts(self) -> Integers:
        """Number of rows with one of the first ``k`` values, for ``k = 0 .. len(values)``."""
        running = np.zeros(self.counts.size + 1, np.int64)
        np.cumsum(self.counts, out=running[1:])
        return running

    @cached_property
    def cumulative_sums(self) -> Sums:
        """Sum of the rows with one of the first ``k`` values, for ``k = 0 .. len(values)``."""
        return sums_of(self.values, self.counts, self.mass)

    @cached_property
    def total(self) -> int:
        """Exact sum of the attribute: the answer of ``SUM``."""
        return int(self.cumulative_sums[-1])

    @property
    def largest(self) -> int:
        """Largest value with rows, or 0 without rows (the downward sensitivity of a SUM >= 0)."""
        return self.values.item(-1) if self.values.size else 0

    @property
    def ends(self) -> tuple[int, int]:
        """Least and largest value; there must be rows."""
        return self.values.item(0), self.values.item(-1)

    @property
    def size(self) -> int:
        """Number of distinct values."""
        return self.values.size

    def value_at(self, place: int) -> int:
        """Value that has ``place`` distinct values below it."""
        return self.values.item(place)

    def rows_before(self, place: int) -> int:
        """Number of rows with one of the first ``place`` values."""
        return self.cumulative_counts.item(place)

    def sum_before(self, place: int) -> int:
        """Sum of the rows with one of the first ``place`` values."""
        total: int = self.cumulative_sums.item(place)
        return total

    def place_below(self, bound: int) -> int:
        """Number of distinct values < ``bound``."""
        return place_in(self.values, bound, "left")

    def place_up_to(self, bound: int) -> int:
        """Number of distinct values <= ``bound``."""
        return place_in(self.values, bound, "right")

    def first_beyond(self, key: Key, bound: int, places: range) -> int:
        """First of ``places`` at which an ascending ``key`` exceeds ``bound``, else their stop."""
        rows, sums = self.cumulative_counts.item, self.cumulative_sums.item
        return first_at(key, rows, sums, bound, places)

    def smallest(self, k: int) -> int:
        """``k``-th smallest value, ``1 <= k <= mass``."""
        self.check_rank(k)
        return self.value_at(self.place_holding(k))

    def check_rank(self, k: int) -> None:
        """Raise ParameterError unless there is a ``k``-th smallest value."""
        if not 1 <= k <= self.mass:
            raise ParameterError(f"there is no {k}-th smallest of {self.mass} values")

    def place_holding(self, k: int) -> int:
        """Place of the ``k``-th smallest row."""
        return int(self.cumulative_counts[1:].searchsorted(k))

    @property
    def mirrored(self) -> Mirrored:
        """Table of the values times -1."""
        return Mirrored(self)

    def quantile(self, p: Fraction) -> int:
        """``p``-quantile, the ``ceil(p n)``-th smallest value."""
        return self.smallest(rank(p, self.mass))

    @property
    def median(self) -> int:
        """Lower median: the ``ceil(n / 2)``-th smallest value (Patwa 2023, section 6)."""
        return self.quantile(Fraction(1, 2))


class PackedHistogram(Histogram):
    """Histogram that reads everything from ``unpacked``, which may drop it between two reads."""

    def __init__(self, unpacked: Callable[[], Histogram]) -> None:
        """Keep the function without calling it."""
        self.__dict__["unpacked"] = unpacked

    def _unpacked(self) -> Histogram:
        histogram: Histogram = self.__dict__["unpacked"]()
        return histogram

    @property
    def values(self) -> Integers:
        """Ascending distinct values."""
        return self._unpacked().values

    @property
    def counts(self) -> Integers:
        """Number of rows of each value."""
        return self._unpacked().counts

    @property
    def rows_beyond(self) -> int:
        """Number of selected rows that the lattice changes or leaves out."""
        return self._unpacked().rows_beyond

    @property
    def row_parts(self) -> int:
        """Parts of a row in which rows are counted."""
        return self._unpacked().row_parts

    @property
    def cumulative_counts(self) -> Integers:
        """Number of rows with one of the first ``k`` values."""
        return self._unpacked().cumulative_counts

    @property
    def cumulative_sums(self) -> Sums:
        """Sum of the rows with one of the first ``k`` values."""
        return self._unpacked().cumulative_sums

    def __repr__(self) -> str:
        """Name of the type alone, because counts may be private and a traceback may show this."""
        return "PackedHistogram(...)"


def rank(p: Fraction, mass: int) -> int:
    """Rank of the ``p``-quantile of ``mass`` rows: ``ceil(p mass)``, without a Fraction."""
    part, whole = p.as_integer_ratio()
    return -(-part * mass // whole)


def sums_of(values: Integers, counts: Integers, mass: int) -> Sums:
    """Sum over the rows with one of the first ``k`` values; Python integers beyond 64 bits."""
    ends = (values.item(0), values.item(-1)) if values.size else (0,)
    kind: Any = np.int64 if max(map(abs, ends)) * mass <= _INT64 else object
    sums = np.zeros(values.size + 1, kind)
    np.multiply(values.astype(kind, copy=False), counts, out=sums[1:])
    np.add.accumulate(sums[1:], out=sums[1:])
    return sums


def place_in(values: Integers, bound: int, side: Literal["left", "right"]) -> int:
    """Number of ascending ``values`` < ``bound`` ("left"), or <= ``bound`` ("right")."""
    return int(values.searchsorted(max(-_INT64, min(_INT64, bound)), side))


EMPTY = Histogram(np.empty(0, np.int64), np.empty(0, np.int64))


HALF = Fraction(1, 2)


def answer(aggregate: str, histogram: Histogram, p: Fraction = HALF) -> Fraction | None:
    """Answer of a query; None if there is none, such as the mean or quantile of no rows.

    For COUNT DISTINCT, ``histogram`` is the histogram of the multiplicities
    (``Histogram.multiplicities``).  ``p`` belongs to QUANTILE and MEDIAN.  The ``p``-quantile is
    the ``ceil(p n)``-th smallest value.  The (lower) median is the quantile at one half.
    """
    if aggregate in {"COUNT", "COUNT DISTINCT"}:
        return Fraction(histogram.mass)
    if aggregate == "SUM":
        return Fraction(histogram.total)
    if aggregate not in {"AVG", "MEDIAN", "QUANTILE"}:
        raise ParameterError(f"there is no aggregate {aggregate!r}")
    if not histogram.mass:
        return None
    if aggregate == "AVG":
        return Fraction(histogram.total, histogram.mass)
    return Fraction(histogram.quantile(p))
