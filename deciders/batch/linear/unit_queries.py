"""Linear queries made of numerical queries: every cell has a worth in [0, 1]."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pqd.deciders.batch.linear.conditions import Numbers
from pqd.deciders.batch.linear.queries import NumericalQueries, Tails
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers


class UnitQuery(NamedTuple):
    """One linear query: where ``condition`` holds, ``1[w > bound]`` or ``min(w / bound, 1)``.

    ``column`` is the place of the bound among the thresholds.
    """

    condition: int
    column: int
    bound: int
    test: bool

    def worths(self, weights: Integers) -> Floats:
        """Worths of cells with these weights, where the condition holds."""
        if self.test:
            return (weights > self.bound).astype(np.float64)
        return np.minimum(weights, self.bound) / self.bound

    def exact(self, tails: Tails) -> Fraction:
        """Exact answer, from the tails of whole counts."""
        if self.test:
            return Fraction(int(tails.above[self.condition, self.column]))
        return Fraction(int(tails.capped[self.condition, self.column]), self.bound)


# No slots: the thresholds are cached.
@dataclass(frozen=True, eq=False)
class LinearQueries(ABC):
    """Batch of linear queries over a universe.  Subclasses: ThresholdQueries, CappedQueries.

    All answers on a vector of counts or weights follow from its tails at ``thresholds``.
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
        """Largest change of an answer by one row, added or removed."""

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
    """Query set C of Algorithms 1 and 2, and with ``linear`` also L.

    ``c_{w,tau} = 1[w > tau]`` for all thresholds but the last, ``l_{w,tau} = min(w / tau, 1)`` for
    all but the first, which is 0.

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
            parts.append(tails.capped[:, 1:] / self.thresholds[1:])
        return np.concatenate(parts, axis=1).reshape(-1)

    def query(self, place: int) -> UnitQuery:
        """Query of C or of L."""
        condition, number = divmod(place, self._width)
        test = number < self._tests
        column = number if test else number - self._tests + 1
        return UnitQuery(condition, column, int(self.thresholds[column]), test)


@dataclass(frozen=True, eq=False)
class CappedQueries(LinearQueries):
    """``min(w / d_w, 1)`` with one divisor for each query.

    If every divisor is at least ``Delta_w``, nothing is cut off: a row moves an answer by ``w(t) /
    d_w <= 1`` even if it is several cells, since the worths of its cells add up to ``w(t)``
    (ours).  Otherwise it moves an answer by at most its number of cells.
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
        answers: Floats = capped / self.divisors
        return answers

    def query(self, place: int) -> UnitQuery:
        """Query of one condition."""
        return UnitQuery(place, int(self._columns[place]), int(self.divisors[place]), test=False)
