"""Linear queries made of numerical ones: every cell counts for something in [0, 1]."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deciders.batch.linear.conditions import Numbers
from deciders.batch.linear.queries import NumericalQueries
from deciders.distributions import Floats
from deciders.histogram import Integers


class LinearQueries(Protocol):
    """Batch of linear queries over a universe.  Conformers: ThresholdQueries, CappedQueries."""

    @property
    def size(self) -> int:
        """Number of queries."""
        ...

    @property
    def sensitivity(self) -> int:
        """Change of an answer by one row, added or removed, at most."""
        ...

    def answers(self, vector: Numbers) -> Floats:
        """All answers on a vector of counts or weights over the universe."""
        ...

    def row(self, place: int) -> tuple[Integers, int]:
        """One query exactly: a numerator for every cell, and their denominator."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdQueries:
    """Query sets C and, with ``linear``, C and L of Algorithms 1 and 2.

    ``c_{w,tau} = 1[w > tau]`` for all thresholds but the last, ``l_{w,tau} = min(w / tau, 1)`` for
    all but the first, which is 0.

    A row that is k cells moves an answer by at most k (group privacy, Lemma 2.4).
    """

    queries: NumericalQueries
    thresholds: Integers
    linear: bool = True

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
        """Cells of one row."""
        return self.queries.group

    def answers(self, vector: Numbers) -> Floats:
        """C, then L, of one query after the other."""
        above, capped = self.queries.tails(vector, self.thresholds)
        parts = [above[:, :-1].astype(np.float64)]
        if self.linear:
            parts.append(capped[:, 1:] / self.thresholds[1:])
        return np.concatenate(parts, axis=1).reshape(-1)

    def row(self, place: int) -> tuple[Integers, int]:
        """One query exactly."""
        query, test = divmod(place, self._width)
        weights = self.queries.row(query)
        if test < self._tests:
            return (weights > self.thresholds[test]).astype(np.int64), 1
        bound = int(self.thresholds[test - self._tests + 1])
        return np.minimum(weights, bound), bound


@dataclass(frozen=True, slots=True, eq=False)
class CappedQueries:
    """``min(w / d_w, 1)`` with one divisor for each query.

    Where every divisor is at least ``Delta_w`` nothing is cut off, and a row moves an answer by
    ``w(t) / d_w <= 1`` however many cells it is, as the worths of its cells add up to ``w(t)``
    (ours); else by at most the cells of one row.
    """

    queries: NumericalQueries
    divisors: Integers

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.queries.size

    @property
    def sensitivity(self) -> int:
        """One, or the cells of one row."""
        return 1 if np.all(self.divisors >= self.queries.limits) else self.queries.group

    def answers(self, vector: Numbers) -> Floats:
        """One answer for each query."""
        distinct, places = np.unique(self.divisors, return_inverse=True)
        capped = self.queries.tails(vector, distinct)[1]
        answers: Floats = capped[np.arange(self.queries.size), places] / self.divisors
        return answers

    def row(self, place: int) -> tuple[Integers, int]:
        """One query exactly."""
        bound = int(self.divisors[place])
        return np.minimum(self.queries.row(place), bound), bound
