"""Batches of numerical queries ``w``: the contribution of a row, in whole units, over all rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pqd.deciders.batch.linear.conditions import Conditions, Numbers
from pqd.deciders.batch.linear.universe import Rows, Universe, level_sets
from pqd.deciders.errors import ParameterError
from pqd.deciders.histogram import Integers


def doubling(base: int, peak: int) -> Integers:
    """Thresholds ``0, base, 2 base, 4 base, ...`` up to the first that is >= peak."""
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


# No slots: the limits are cached.
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
        """``Delta_w``."""
        return self.conditions.largest(self.universe.tops)

    @property
    def peak(self) -> int:
        """Largest worth of a cell."""
        return int(self.universe.weights.max())

    @property
    def group(self) -> int:
        """Largest number of cells that one row counts in."""
        return self.universe.group

    def counts(self, rows: Rows) -> Integers:
        """Number of rows in each cell."""
        return self.universe.counts(rows)

    def maxima(self, rows: Rows) -> Integers:
        """``g`` of each row that some query selects, 0 for other rows."""
        classes = np.clip(rows.classes, 0, self.universe.classes - 1)
        return np.where(self.conditions.covered[classes], self.universe.values(rows), 0)

    def tails(self, vector: Numbers, thresholds: Integers) -> Tails:
        """Tails of a vector over the universe, by prefix sums along the levels."""
        table = vector.reshape(self.universe.classes, -1)
        return self._both(class_tails(table, self.universe.weights, thresholds))

    def table_tails(self, rows: Rows, thresholds: Integers) -> Tails:
        """Tails of the rows themselves, from the level sets."""
        counts, totals = level_sets(rows, self.universe, thresholds)
        above = counts.sum(axis=1, keepdims=True) - np.cumsum(counts, axis=1)
        return self._both(Tails(above, np.cumsum(totals, axis=1) + above * thresholds))

    def _both(self, tails: Tails) -> Tails:
        sums = self.conditions.sums(np.concatenate(tails, axis=1))
        return Tails(*np.split(sums, 2, axis=1))

    def truncated(self, bound: int) -> "NumericalQueries":
        """Queries of ``min(g, bound)``."""
        return NumericalQueries(self.conditions, self.universe.truncated(bound))


def class_tails(table: Numbers, weights: Integers, thresholds: Integers) -> Tails:
    """Tails of each line of a table of cells; ``weights`` has one line for all, or one for each."""
    ends = np.stack([np.searchsorted(line, thresholds, side="right") for line in weights])
    held, mass = _upto(table, ends)
    above = mass - held
    return Tails(above, _upto(table * weights, ends)[0] + above * thresholds)


def _upto(table: Numbers, ends: Integers) -> tuple[Numbers, Numbers]:
    """Sums of each line up to its ends, and sum of the whole line."""
    prefix = np.zeros((table.shape[0], table.shape[1] + 1), table.dtype)
    np.cumsum(table, axis=1, out=prefix[:, 1:])
    sums = prefix[:, ends[0]] if len(ends) == 1 else np.take_along_axis(prefix, ends, axis=1)
    return sums, prefix[:, -1:]
