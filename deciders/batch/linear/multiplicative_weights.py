"""Private multiplicative weights: a distribution over the universe that answers linear queries.

The weights begin uniform and are moved by the measured queries.  A query treats two classes alike
if its condition selects both or neither.  So classes that are selected by the same measured
conditions have the same weights.  A few lines of weights stand for all classes, and measuring a
query divides some of these groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.batch.base import PrivacyBudget
from pqd.deciders.batch.linear.conditions import Booleans, Numbers
from pqd.deciders.batch.linear.queries import LinearQueries, Tails, UnitQuery, class_tails
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import as_float
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise, exponential_choice, noisy_value

# True answers are sums of whole numbers, rounded once or twice, each time by 2^-53 of at most 2^37
# cells, which 2^31 rows of up to 53 digits fill.  Estimates are the same doubles on neighbouring
# tables.  ``SLACK`` is added to sensitivities to allow for this rounding.
SLACK = Fraction(1, 1024)
_STEPS = SLACK.denominator
# Weights are rescaled beyond 2^500 and below 2^-500; doubles reach 2^1023.
_LARGEST_EXPONENT = 500


def noisy_size(counts: Integers, group: int, epsilon: Fraction, noise: Noise) -> int:
    """Noisy number of cells that the table fills, at least 1; epsilon-DP.

    The paper treats n as public, since replacing a row does not change it.  Adding or removing a
    row changes n by at most ``group`` (ours).
    """
    return max(1, noise.laplace(int(counts.sum()), group / epsilon))


def noisy_error(
    queries: LinearQueries, tails: Tails, weights: GroupedWeights, epsilon: Fraction, noise: Noise
) -> float:
    """Noisy largest error of ``weights`` over all queries, at least 0; epsilon-DP.

    ``tails`` are the tails of the table.  For fixed ``weights``, adding or removing a row moves
    each error by at most the sensitivity s.  So it moves their maximum by at most s.  Section 6
    states s = 1 for a replaced row.  s = 1 holds here too, except in universes where a row is
    several cells (ours).  The release is a whole multiple of 1/1024.  In these units the maximum,
    computed in doubles, has sensitivity ``1024 s + 1``.
    """
    error = float(np.abs(queries.answers(tails) - weights.answers).max())
    scale = error_scale(queries.sensitivity, epsilon)
    return max(0, noise.laplace(math.floor(error * _STEPS), scale)) / _STEPS


def error_scale(sensitivity: int, epsilon: Fraction) -> Fraction:
    """Noise scale of ``noisy_error``, in steps of 1/1024."""
    return (_STEPS * sensitivity + 1) / epsilon


class GroupedWeights:
    """Weights over the universe of ``queries``, equal at first, with total ``size``."""

    def __init__(self, queries: LinearQueries, size: int) -> None:
        """Begin with one group, or a group for each distinct line of the universe's weights."""
        universe = queries.queries.universe
        lines, groups = universe.weights, np.zeros(universe.classes, np.int64)
        if len(lines) > 1:
            lines, inverse = np.unique(lines, axis=0, return_inverse=True)
            groups = inverse.reshape(-1)
        self._queries, self._size, self._lines = queries, size, lines
        # ``_groups`` is the group of each class.  Each group has a line, weights and the sum of
        # the weights (up to a factor that all groups share), and the number of its classes under
        # each condition.
        self._groups = groups
        self._line: Integers = np.arange(len(lines))
        self._table: Floats = np.ones(lines.shape)
        self._masses: Floats = self._table.sum(axis=1)
        self._classes = np.bincount(groups)
        self._selected = self._counted(np.ones(groups.size, np.bool_), self._line)
        # Groups and worths (by line and level) of each measured query.
        self._measured: list[tuple[Integers, Floats]] = []

    def divide(self, query: UnitQuery) -> None:
        """Divide groups until each is inside or outside ``query``, then add it as measured."""
        inside = self._queries.queries.conditions.row(query.condition)
        selected = np.bincount(self._groups[inside], minlength=self._classes.size)
        divided = np.flatnonzero((selected > 0) & (selected < self._classes))
        parents = np.concatenate((np.arange(selected.size), divided))
        moved = inside & np.isin(self._groups, divided)
        part = self._counted(moved, divided)
        self._selected[:, divided] -= part
        self._selected = np.concatenate((self._selected, part), axis=1)
        self._groups[moved] = selected.size + np.searchsorted(divided, self._groups[moved])
        self._classes = np.bincount(self._groups)
        self._line, self._table = self._line[parents], self._table[parents]
        self._masses = self._masses[parents]
        self._measured = [(np.flatnonzero(np.isin(parents, g)), w) for g, w in self._measured]
        within = np.unique(self._groups[inside])
        self._measured.append((within, query.worths(self._lines)))

    def pull(self, answers: Sequence[float], replays: int) -> None:
        """Move the weights towards the last answer, then ``replays`` times towards all answers."""
        for number in [len(answers) - 1, *(replays * list(range(len(answers))))]:
            self._pull(number, answers[number])

    def _pull(self, number: int, answer: float) -> None:
        """Move the weights towards the ``answer`` of a measured query, with the total unchanged."""
        groups, worths = self._measured[number]
        before = self._table[groups]
        worth = self._by_group(worths, groups)
        estimated = self._factor * float(self._classes[groups] @ (before * worth).sum(axis=1))
        rate = (answer - estimated) / (2 * self._size)
        moved = before * self._by_group(np.exp(worths * rate), groups)
        self._table[groups], self._masses[groups] = moved, moved.sum(axis=1)
        self._rescale()

    def _rescale(self) -> None:
        """Divide all weights by a power of two, which is exact, before they leave the doubles.

        Answers that contradict each other can pull all weights in one direction again and again.
        """
        _, exponent = math.frexp(float(self._masses.max()))
        if abs(exponent) > _LARGEST_EXPONENT:
            self._table = np.ldexp(self._table, -exponent)
            self._masses = np.ldexp(self._masses, -exponent)

    def tails(self, thresholds: Integers) -> Tails:
        """Tails of the weights under each condition."""
        lines = self._by_group(self._lines, np.arange(self._classes.size))
        tails = class_tails(self._table * self._factor, lines, thresholds)
        return Tails(*(self._selected @ part for part in tails))

    @property
    def answers(self) -> Floats:
        """Answers to all queries, from the weights."""
        return self._queries.answers(self.tails(self._queries.thresholds))

    @property
    def cells(self) -> Floats:
        """Weight of each cell of the universe."""
        return (self._table * self._factor)[self._groups].reshape(-1)

    @property
    def _factor(self) -> float:
        return self._size / float(self._classes @ self._masses)

    def _by_group(self, lines: Numbers, groups: Integers) -> Numbers:
        """Line of each group, or the single line if all groups share one line."""
        return lines if len(lines) == 1 else lines[self._line[groups]]

    def _counted(self, classes: Booleans, groups: Integers) -> Floats:
        """Number of ``classes`` under each condition, by their ``groups``."""
        members = np.flatnonzero(classes)
        columns = np.zeros((classes.size, groups.size), np.int64)
        columns[members, np.searchsorted(groups, self._groups[members])] = 1
        return self._queries.queries.conditions.sums(columns).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiplicativeWeights:
    """MWEM (Hardt, Ligett and McSherry 2012), the variant of PMW that the paper runs.

    It begins with the uniform distribution of mass n.  Each of ``rounds`` selects the query with
    the largest error by the exponential mechanism.  It measures this query with Laplace noise, and
    multiplies every cell x by ``exp(q(x) (measured - estimated) / (2 n))``.  Each round then
    applies all measurements so far ``replays`` more times in the same way.  The last distribution
    is returned.  MWEM's theorem is about the average over the rounds, without replays.  Its
    authors replay too, and the average would include distributions of rounds that knew less.

    Guarantee: (epsilon, delta)-DP, as the adaptive composition of ``2 rounds`` mechanisms of one
    share each (``PrivacyBudget.share``).  A selection uses an error of sensitivity s, and a
    measurement uses an exact rational answer of sensitivity s.  Here s is ``queries.sensitivity``
    (ours: given all earlier releases, both change by at most s if one row is added or removed).
    The rest is post-processing; n is noisy or public.  The selection's weights are doubles.  To
    make up for their rounding, the sensitivity of a selection is taken as ``s + 1/1024``.

    ``importance`` says how much the error of each numerical query matters, relative to the most
    important one; empty if all matter alike.  A selection then takes each error times the
    importance ``v`` of its query.  *The guarantee stays.*  ``v`` is public and ``0 < v <= 1``, so
    one row moves ``v |error|`` by at most ``v s <= s``.  The product is rounded once more, so the
    sensitivity is taken as ``s + 2/1024``.
    """

    key_fields: ClassVar[tuple[str, ...]] = ("rounds", "replays")

    rounds: int = 10
    replays: int = 10
    importance: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        """Raise ParameterError unless each importance lies above 0 and is at most 1."""
        if not all(0 < each <= 1 for each in self.importance):
            raise ParameterError("the importance of a query must lie above 0 and be at most 1")

    def largest_scale(self, sensitivity: int, epsilon: Fraction) -> Fraction:
        """Bound on the scale of the measurements, for every delta."""
        return 2 * self.rounds * sensitivity / epsilon

    def fit(
        self,
        queries: LinearQueries,
        tails: Tails,
        size: int,
        budget: PrivacyBudget,
        noise: Noise,
    ) -> GroupedWeights:
        """Weights of all cells, of total ``size``, fitted to a table with the given ``tails``."""
        share = budget.share(2 * self.rounds)
        sensitivity, truth = queries.sensitivity, queries.answers(tails)
        weights, measured = GroupedWeights(queries, size), list[float]()
        for _ in range(self.rounds):
            errors = np.abs(truth - weights.answers)
            query = queries.query(self._select(errors, sensitivity, share, noise))
            noisy = as_float(noisy_value(query.exact(tails), sensitivity / share, noise))
            # Every answer lies in 0 .. n.  The cut also keeps an update from overflowing.
            measured.append(min(max(noisy, 0.0), float(size)))
            weights.divide(query)
            weights.pull(measured, self.replays)
        return weights

    def _select(self, errors: Floats, sensitivity: int, share: Fraction, noise: Noise) -> int:
        """Query that the exponential mechanism chooses, with weight ``exp(share error / (2 s))``.

        The linear queries of one numerical query follow each other.
        """
        slack = SLACK
        if self.importance:
            each = np.array([as_float(value) for value in self.importance])
            errors, slack = errors * np.repeat(each, errors.size // each.size), 2 * SLACK
        rate = as_float(share / (2 * (sensitivity + slack)))
        return exponential_choice(errors * rate, noise)
