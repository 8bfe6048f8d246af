"""Batches of numerical queries ``w``, and the linear queries that are made of them.

A numerical query adds up, over all rows, the contribution of a row in whole units.  In a linear
query every cell has a worth in [0, 1].
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pqd.deciders.batch.linear.conditions import Conditions, Numbers
from pqd.deciders.batch.linear.universe import Rows, Universe, level_sets
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact_sums import fitting, ratios
from pqd.deciders.histogram import Integers


def doubling(base: int, peak: int) -> Integers:
    """Thresholds ``0, base, 2 base, 4 base, ...`` up to the first threshold >= ``peak``."""
    if base < 1:
        raise ParameterError(f"the lowest threshold is {base} units; it must be at least 1")
    thresholds = [0, base]
    while thresholds[-1] < peak:
        thresholds.append(2 * thresholds[-1])
    return np.array(thresholds)


class Tails(NamedTuple):
    """Mass above each threshold, and sums of worths capped there; both (conditions, thresholds)."""

    above: Numbers
    capped: Numbers


# Without slots, because the limits are cached.
@dataclass(frozen=True, eq=False)
class NumericalQueries:
    """``w(t) = f_w(class of t) g(t)`` with conditions ``f_w`` (definition 4.1, case b)."""

    conditions: Conditions
    universe: Universe

    def __post_init__(self) -> None:
        """Raise ParameterError unless conditions and universe have the same classes."""
        if self.conditions.classes != self.universe.classes:
            raise ParameterError(
                f"the conditions are about {self.conditions.classes} classes, "
                f"the universe has {self.universe.classes}"
            )

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.conditions.size

    @cached_property
    def limits(self) -> Integers:
        """Largest contribution ``Delta_w`` of each query."""
        return self.conditions.largest(self.universe.tops)

    @property
    def peak(self) -> int:
        """Largest worth of a cell."""
        return int(self.universe.weights.max())

    @property
    def top(self) -> int:
        """Largest contribution of a row to any query."""
        return int(self.universe.tops.max())

    @property
    def group(self) -> int:
        """Largest number of cells in which one row counts."""
        return self.universe.group

    def counts(self, rows: Rows) -> Integers:
        """Number of rows in each cell."""
        return self.universe.counts(rows)

    def maxima(self, rows: Rows) -> Integers:
        """``g`` of each row that some query selects, and 0 for other rows."""
        classes = np.clip(rows.classes, 0, self.universe.classes - 1)
        return np.where(self.conditions.covered[classes], self.universe.values(rows), 0)

    def tails(self, vector: Numbers, thresholds: Integers) -> Tails:
        """Tails of a vector over the universe, from prefix sums along the levels.

        If a row may add more than 2^32 units, whole numbers are added up as Python integers.
        """
        table = fitting(vector, self.top).reshape(self.universe.classes, -1)
        return self._both(class_tails(table, self.universe.weights, thresholds))

    def table_tails(self, rows: Rows, thresholds: Integers) -> Tails:
        """Tails of the rows themselves, from the level sets."""
        counts, totals = level_sets(rows, self.universe, thresholds)
        above = fitting(counts.sum(axis=1, keepdims=True) - np.cumsum(counts, axis=1), self.top)
        sums: Numbers = np.cumsum(totals, axis=1)
        return self._both(Tails(above, sums + above * thresholds))

    def _both(self, tails: Tails) -> Tails:
        sums = self.conditions.sums(np.concatenate(tails, axis=1))
        return Tails(*np.split(sums, 2, axis=1))

    def truncated(self, bound: int) -> "NumericalQueries":
        """Queries of ``min(g, bound)``."""
        return NumericalQueries(self.conditions, self.universe.truncated(bound))


def class_tails(table: Numbers, weights: Integers, thresholds: Integers) -> Tails:
    """Tails of each line of a table of cells; ``weights`` has one line, or one line for each."""
    ends = np.stack([np.searchsorted(line, thresholds, side="right") for line in weights])
    upto, mass = _upto(table, ends)
    above = mass - upto
    return Tails(above, _upto(table * weights, ends)[0] + above * thresholds)


def _upto(table: Numbers, ends: Integers) -> tuple[Numbers, Numbers]:
    """Sums of each line up to its ends, and the sum of the whole line."""
    prefix = np.zeros((table.shape[0], table.shape[1] + 1), table.dtype)
    np.cumsum(table, axis=1, out=prefix[:, 1:])
    sums = prefix[:, ends[0]] if len(ends) == 1 else np.take_along_axis(prefix, ends, axis=1)
    return sums, prefix[:, -1:]


class UnitQuery(NamedTuple):
    """One linear query: where ``condition`` holds, ``1[w > bound]`` or ``min(w / bound, 1)``.

    ``column`` is the place of the bound among the thresholds.
    """

    condition: int
    column: int
    bound: int
    test: bool

    def worths(self, weights: Integers) -> Floats:
        """Worths of cells with these weights, in rows where the condition holds."""
        if self.test:
            return (weights > self.bound).astype(np.float64)
        return np.minimum(weights, self.bound) / self.bound

    def exact(self, tails: Tails) -> Fraction:
        """Exact answer, from the tails of whole counts."""
        if self.test:
            return Fraction(int(tails.above[self.condition, self.column]))
        return Fraction(int(tails.capped[self.condition, self.column]), self.bound)


# Without slots, because the thresholds are cached.
@dataclass(frozen=True, eq=False)
class LinearQueries(ABC):
    """Batch of linear queries over a universe.  Subclasses: ThresholdQueries, CappedQueries.

    All answers on a vector of counts or weights follow from the vector's tails at ``thresholds``.
    """

    queries: NumericalQueries

    @property
    @abstractmethod
    def thresholds(self) -> Integers:
        """Thresholds of the queries, ascending."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of queries."""

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """Largest change of an answer when one row is added or removed."""

    @abstractmethod
    def answers(self, tails: Tails) -> Floats:
        """All answers, given the tails."""

    @abstractmethod
    def query(self, place: int) -> UnitQuery:
        """Query number ``place``."""

    def tails(self, vector: Numbers) -> Tails:
        """Tails of a vector over the universe."""
        return self.queries.tails(vector, self.thresholds)


@dataclass(frozen=True, eq=False)
class ThresholdQueries(LinearQueries):
    """Query set C of Algorithms 1 and 2, and with ``linear`` also query set L.

    C has ``c_{w,tau} = 1[w > tau]`` for all thresholds but the last.  L has
    ``l_{w,tau} = min(w / tau, 1)`` for all thresholds but the first, which is 0.

    A row that is k cells moves an answer by at most k (group privacy, Lemma 2.4).
    """

    ladder: Integers
    linear: bool = True

    @property
    def thresholds(self) -> Integers:
        """Thresholds tau, as given."""
        return self.ladder

    @property
    def _tests(self) -> int:
        return self.thresholds.size - 1

    @property
    def _width(self) -> int:
        return 2 * self._tests if self.linear else self._tests

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.queries.size * self._width

    @property
    def sensitivity(self) -> int:
        """Number of cells of one row."""
        return self.queries.group

    def answers(self, tails: Tails) -> Floats:
        """Answers of C, then of L, query by query."""
        parts = [tails.above[:, :-1].astype(np.float64)]
        if self.linear:
            parts.append(ratios(tails.capped[:, 1:], self.thresholds[1:]))
        return np.concatenate(parts, axis=1).reshape(-1)

    def query(self, place: int) -> UnitQuery:
        """Query of C or of L."""
        condition, number = divmod(place, self._width)
        test = number < self._tests
        column = number if test else number - self._tests + 1
        return UnitQuery(condition, column, int(self.thresholds[column]), test)


@dataclass(frozen=True, eq=False)
class CappedQueries(LinearQueries):
    """Queries ``min(w / d_w, 1)`` with one divisor for each query.

    If every divisor is at least ``Delta_w``, nothing is cut off.  Then a row moves an answer by
    ``w(t) / d_w <= 1``.  This holds even if the row is several cells, since the worths of its
    cells add up to ``w(t)`` (ours).  Otherwise a row moves an answer by at most its number of
    cells.
    """

    divisors: Integers

    @cached_property
    def thresholds(self) -> Integers:
        """Distinct divisors."""
        return np.unique(self.divisors)

    @cached_property
    def _columns(self) -> Integers:
        """Place of each divisor among the thresholds."""
        return np.searchsorted(self.thresholds, self.divisors)

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.queries.size

    @property
    def sensitivity(self) -> int:
        """One, or the number of cells of one row."""
        return 1 if np.all(self.divisors >= self.queries.limits) else self.queries.group

    def answers(self, tails: Tails) -> Floats:
        """One answer for each query."""
        capped = tails.capped[np.arange(self.queries.size), self._columns]
        return ratios(capped, self.divisors)

    def query(self, place: int) -> UnitQuery:
        """Query of one condition and one divisor."""
        return UnitQuery(place, int(self._columns[place]), int(self.divisors[place]), test=False)
