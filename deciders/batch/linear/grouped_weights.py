"""Weights of a universe's cells, with one line of levels for all classes with equal weights.

Multiplicative weights begin uniform and move by the measured queries.  Two classes look alike to a
query if its condition selects both or neither.  So classes selected by the same measured conditions
have the same weights: a few lines stand for all classes, and measuring a query divides some of
them.
"""

from collections.abc import Sequence

import numpy as np

from pqd.deciders.batch.linear.conditions import Booleans, Numbers
from pqd.deciders.batch.linear.queries import Tails, class_tails
from pqd.deciders.batch.linear.unit_queries import LinearQueries, UnitQuery
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers


class GroupedWeights:
    """Weights of total ``size`` over the universe of ``queries``, which begin equal."""

    def __init__(self, queries: LinearQueries, size: int) -> None:
        """Begin with one group, or with one for each distinct line of the universe's weights."""
        universe = queries.queries.universe
        lines, groups = universe.weights, np.zeros(universe.classes, np.int64)
        if len(lines) > 1:
            lines, inverse = np.unique(lines, axis=0, return_inverse=True)
            groups = inverse.reshape(-1)
        self._queries, self._size, self._lines = queries, size, lines
        # ``_groups`` is the group of each class.  Each group has a line, weights and their sum (up
        # to a factor common to all groups), and the number of its classes under each condition.
        self._groups = groups
        self._line: Integers = np.arange(len(lines))
        self._table: Floats = np.ones(lines.shape)
        self._masses: Floats = self._table.sum(axis=1)
        self._classes = np.bincount(groups)
        self._selected = self._counted(np.ones(groups.size, np.bool_), self._line)
        # For each measured query its groups, and its worths by line and level.
        self._measured: list[tuple[Integers, Floats]] = []

    def divide(self, query: UnitQuery) -> None:
        """Divide groups until each is inside or outside ``query``, then add it as measured."""
        inside = self._queries.queries.conditions.row(query.condition)
        held = np.bincount(self._groups[inside], minlength=self._classes.size)
        divided = np.flatnonzero((held > 0) & (held < self._classes))
        parents = np.concatenate((np.arange(held.size), divided))
        moved = inside & np.isin(self._groups, divided)
        part = self._counted(moved, divided)
        self._selected[:, divided] -= part
        self._selected = np.concatenate((self._selected, part), axis=1)
        self._groups[moved] = held.size + np.searchsorted(divided, self._groups[moved])
        self._classes = np.bincount(self._groups)
        self._line, self._table = self._line[parents], self._table[parents]
        self._masses = self._masses[parents]
        self._measured = [(np.flatnonzero(np.isin(parents, g)), w) for g, w in self._measured]
        within = np.unique(self._groups[inside])
        self._measured.append((within, query.worths(self._lines)))

    def pull(self, answers: Sequence[float], replays: int) -> None:
        """Move the weights towards the last measured answer, then ``replays`` times towards all."""
        for number in [len(answers) - 1, *(replays * list(range(len(answers))))]:
            self._pull(number, answers[number])

    def _pull(self, number: int, answer: float) -> None:
        """Move the weights towards the ``answer`` of a measured query, at the same total."""
        groups, worths = self._measured[number]
        before = self._table[groups]
        worth = self._by_group(worths, groups)
        estimated = self._factor * float(self._classes[groups] @ (before * worth).sum(axis=1))
        rate = (answer - estimated) / (2 * self._size)
        moved = before * self._by_group(np.exp(worths * rate), groups)
        self._table[groups], self._masses[groups] = moved, moved.sum(axis=1)

    def tails(self, thresholds: Integers) -> Tails:
        """Tails of the weights under each condition."""
        lines = self._by_group(self._lines, np.arange(self._classes.size))
        tails = class_tails(self._table * self._factor, lines, thresholds)
        return Tails(*(self._selected @ part for part in tails))

    @property
    def answers(self) -> Floats:
        """Answers to all queries."""
        return self._queries.answers(self.tails(self._queries.thresholds))

    @property
    def cells(self) -> Floats:
        """Weight of each cell of the universe."""
        return (self._table * self._factor)[self._groups].reshape(-1)

    @property
    def _factor(self) -> float:
        return self._size / float(self._classes @ self._masses)

    def _by_group(self, lines: Numbers, groups: Integers) -> Numbers:
        """Line of each group, or the single line if all groups share it."""
        return lines if len(lines) == 1 else lines[self._line[groups]]

    def _counted(self, classes: Booleans, groups: Integers) -> Floats:
        """Number of ``classes`` under each condition, by their ``groups``."""
        members = np.flatnonzero(classes)
        columns = np.zeros((classes.size, groups.size), np.int64)
        columns[members, np.searchsorted(groups, self._groups[members])] = 1
        return self._queries.queries.conditions.sums(columns).astype(np.float64)
