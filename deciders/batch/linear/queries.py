"""Batches of numerical queries ``w``: what a row contributes, in whole units, summed over rows."""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from deciders.batch.linear.conditions import Conditions, Numbers
from deciders.batch.linear.universe import Rows, Universe, level_sets
from deciders.errors import ParameterError
from deciders.histogram import Integers


def doubling(base: int, peak: int) -> Integers:
    """Return the thresholds ``0, base, 2 base, 4 base, ...`` up to the first that is >= peak."""
    if base < 1:
        raise ParameterError(f"the lowest threshold is {base} units; it must be at least 1")
    found = [0, base]
    while found[-1] < peak:
        found.append(2 * found[-1])
    return np.array(found)


class NumericalQueries(Protocol):
    """A batch of queries ``w(D) = sum of w(t)``, ``w >= 0``.  Conformers: Decomposable, Explicit.

    ``tails(vector, thresholds)`` gives, for every query and threshold, the mass of ``vector`` where
    ``w > tau`` and the sum of ``min(w, tau)``: all that is ever asked of a query.  Whole numbers
    give whole numbers, without rounding.
    """

    @property
    def size(self) -> int:
        """How many queries there are."""
        ...

    @property
    def limits(self) -> Integers:
        """``Delta_w``: what one row may contribute to each query."""
        ...

    @property
    def peak(self) -> int:
        """The largest that a cell is worth to any query."""
        ...

    @property
    def group(self) -> int:
        """How many cells one row counts in, at most."""
        ...

    def counts(self, rows: Rows) -> Integers:
        """Return how often each cell of the universe occurs."""
        ...

    def maxima(self, rows: Rows) -> Integers:
        """Return the largest ``w(t)`` over the queries, of every row."""
        ...

    def tails(self, vector: Numbers, thresholds: Integers) -> tuple[Numbers, Numbers]:
        """Return mass above and capped sums on the universe, both (size, thresholds)."""
        ...

    def table_tails(self, rows: Rows, thresholds: Integers) -> tuple[Integers, Integers]:
        """Return the same of the rows themselves; the last threshold must be the largest ``w``."""
        ...

    def row(self, place: int) -> Integers:
        """Return ``w`` of one query, of every cell."""
        ...

    def truncated(self, bound: int) -> Self:
        """Return the queries ``min(w, bound)``, for the same rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Decomposable:
    """``w(t) = f_w(class of t) g(t)`` with conditions ``f_w`` (definition 4.1, case b)."""

    conditions: Conditions
    universe: Universe

    def __post_init__(self) -> None:
        """Raise ParameterError unless both speak of the same classes."""
        if self.conditions.classes != self.universe.classes:
            raise ParameterError(
                f"the conditions are about {self.conditions.classes} classes, "
                f"the universe has {self.universe.classes}"
            )

    @property
    def size(self) -> int:
        """How many queries there are."""
        return self.conditions.size

    @property
    def limits(self) -> Integers:
        """``Delta_w``."""
        return self.conditions.largest(self.universe.tops)

    @property
    def peak(self) -> int:
        """The largest worth of a cell."""
        return int(self.universe.weights.max())

    @property
    def group(self) -> int:
        """How many cells one row counts in, at most."""
        return self.universe.group

    def counts(self, rows: Rows) -> Integers:
        """Return how often each cell occurs."""
        return self.universe.counts(rows)

    def maxima(self, rows: Rows) -> Integers:
        """Return ``g`` of the rows that any query selects, else 0."""
        classes = np.clip(rows.classes, 0, self.universe.classes - 1)
        return np.where(self.conditions.covered[classes], self.universe.values(rows), 0)

    def tails(self, vector: Numbers, thresholds: Integers) -> tuple[Numbers, Numbers]:
        """Return mass above and capped sums, by prefix sums along the levels."""
        weights = self.universe.weights
        table = vector.reshape(self.universe.classes, -1)
        ends = np.stack([np.searchsorted(line, thresholds, side="right") for line in weights])
        ends = np.broadcast_to(ends, (table.shape[0], thresholds.size))
        held, mass = _upto(table, ends)
        above = mass - held
        capped = _upto(table * weights, ends)[0] + above * thresholds
        return self._both(above, capped)

    def table_tails(self, rows: Rows, thresholds: Integers) -> tuple[Integers, Integers]:
        """Return mass above and capped sums, from the level sets."""
        counts, totals = level_sets(rows, self.universe, thresholds)
        above = counts.sum(axis=1, keepdims=True) - np.cumsum(counts, axis=1)
        return self._both(above, np.cumsum(totals, axis=1) + above * thresholds)

    def _both(self, above: Numbers, capped: Numbers) -> tuple[Numbers, Numbers]:
        sums = self.conditions.sums(np.concatenate((above, capped), axis=1))
        return sums[:, : above.shape[1]], sums[:, above.shape[1] :]

    def row(self, place: int) -> Integers:
        """Return ``w`` of one query, of every cell."""
        selected = self.conditions.row(place)[:, None]
        return np.where(selected, self.universe.weights, 0).reshape(-1)

    def truncated(self, bound: int) -> "Decomposable":
        """Return the queries of ``min(g, bound)``."""
        return Decomposable(self.conditions, self.universe.truncated(bound))


def _upto(table: Numbers, ends: Integers) -> tuple[Numbers, Numbers]:
    """Return the sums of each line up to its ends, and of the whole line."""
    prefix = np.zeros((table.shape[0], table.shape[1] + 1), table.dtype)
    np.cumsum(table, axis=1, out=prefix[:, 1:])
    return np.take_along_axis(prefix, ends, axis=1), prefix[:, -1:]


@dataclass(frozen=True, slots=True, eq=False)
class Explicit:
    """Any queries, sparse: query q is ``values`` at ``places``, ``starts[q] .. starts[q + 1] - 1``.

    A row's class is its cell, and its level counts for nothing.
    """

    cells: int
    starts: Integers
    places: Integers
    values: Integers

    def __post_init__(self) -> None:
        """Raise ParameterError for a query that is negative somewhere."""
        if self.values.size and self.values.min() < 0:
            raise ParameterError("queries must be >= 0; split them by sign (deciders/batch/signed)")

    @classmethod
    def of(cls, matrix: Integers) -> "Explicit":
        """Return the queries that are the rows of a dense matrix (queries, cells)."""
        queries, places = np.nonzero(matrix)
        starts = np.searchsorted(queries, np.arange(matrix.shape[0] + 1))
        return cls(matrix.shape[1], starts, places, matrix[queries, places])

    @property
    def size(self) -> int:
        """How many queries there are."""
        return self.starts.size - 1

    @property
    def limits(self) -> Integers:
        """``Delta_w``."""
        found = np.zeros(self.size, np.int64)
        np.maximum.at(found, np.repeat(np.arange(self.size), np.diff(self.starts)), self.values)
        return found

    @property
    def peak(self) -> int:
        """The largest value."""
        return int(self.values.max(initial=1))

    @property
    def group(self) -> int:
        """One row is one cell."""
        return 1

    def _cells(self, rows: Rows) -> Integers:
        return np.clip(rows.classes, 0, self.cells - 1)

    def counts(self, rows: Rows) -> Integers:
        """Return how many rows lie in each cell."""
        return np.bincount(self._cells(rows), minlength=self.cells)

    def maxima(self, rows: Rows) -> Integers:
        """Return the largest ``w(t)``, of every row."""
        found = np.zeros(self.cells, np.int64)
        np.maximum.at(found, self.places, self.values)
        return found[self._cells(rows)]

    def tails(self, vector: Numbers, thresholds: Integers) -> tuple[Numbers, Numbers]:
        """Return mass above and capped sums, one threshold after the other."""
        held = vector[self.places]
        above = [self._sums(held * (self.values > bound)) for bound in thresholds]
        capped = [self._sums(held * np.minimum(self.values, bound)) for bound in thresholds]
        return np.stack(above, axis=1), np.stack(capped, axis=1)

    def _sums(self, terms: Numbers) -> Numbers:
        prefix = np.zeros(terms.size + 1, terms.dtype)
        np.cumsum(terms, out=prefix[1:])
        sums: Numbers = prefix[self.starts[1:]] - prefix[self.starts[:-1]]
        return sums

    def table_tails(self, rows: Rows, thresholds: Integers) -> tuple[Integers, Integers]:
        """Return mass above and capped sums of the rows."""
        return self.tails(self.counts(rows), thresholds)

    def row(self, place: int) -> Integers:
        """Return ``w`` of one query, of every cell."""
        found = np.zeros(self.cells, np.int64)
        entries = slice(self.starts[place], self.starts[place + 1])
        found[self.places[entries]] = self.values[entries]
        return found

    def truncated(self, bound: int) -> "Explicit":
        """Return the queries ``min(w, bound)``."""
        return Explicit(self.cells, self.starts, self.places, np.minimum(self.values, bound))
