"""Chance: how far an independent real sample would be, and how near a drawing would come.

All of it is made from the copy, which is public, and from a number of private rows that was
released or stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pqd.deciders.distances.chance import (
    JointChance,
    drawn_distance,
    independent_distance,
    simulated_deviations,
)
from pqd.marginals.bound_profile import BoundProfile, mean_weights
from pqd.reports.models.profile import Alarm, Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.deciders.distributions import Floats

# Simulated tables, the most rows of the copy that they are made of, and the seed of both.
TABLES, _ROWS, _SEED = 200, 2_000, 16
# Rows times marginals at most, so that many marginals take no longer than some seconds.
_MOST_WORK = 1_000_000
# A part of the copy holds at least one row in so many.
_LEAST_PART = 20
# Most rows of persons of which it is told how alike they are.
_MOST_ROWS = 100_000
# A mark that is a tolerance is a whole number of millionths.
_MILLION = 1_000_000


class CopyChance:
    """Chance for a copy and a private table of ``rows`` rows."""

    def __init__(self, bound: BoundProfile, rows: int) -> None:
        """Nothing is computed yet."""
        self._bound, self._rows = bound, max(1, rows)
        self._copy_rows = bound.copy_rows

    @property
    def rows(self) -> int:
        """Number of private rows that chance is for, at least 1."""
        return self._rows

    @cached_property
    def references(self) -> tuple[float, ...]:
        """Mean total variation of two independent samples, for each marginal."""
        return tuple(self._means(self._rows, independent_distance))

    def _means(
        self, rows: int, distance: Callable[[NDArray[np.int64], int], float]
    ) -> Iterator[float]:
        """Mean of a ``distance`` of ``rows`` rows and the copy, of each marginal."""
        for each, spread in zip(self._bound.marginals, self.spreads, strict=True):
            copy = np.round(each.copy / spread.size).astype(np.int64)
            own = distance(np.maximum(copy, each.copy > 0), max(1, round(rows / spread.size)))
            yield spread.evenness * own

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """Spread of each marginal of the copy."""
        sample, number = self._persons, len(self._bound.marginals)
        if sample is None:
            return (Spread(1.0, 1.0),) * number
        return tuple(Spread.of(sample, cells) for cells in self._cells(sample))

    @cached_property
    def independent(self) -> JointChance:
        """Distances of two independent samples of the private table's and of the copy's size.

        The deviations are those of disjoint parts of the copy, of sizes in this proportion.
        """
        sample, share = self._sample, self._share
        first = _rng().random((sample.persons, TABLES)) < share
        # A part without a row would have no shares.
        first[0], first[-1] = True, False
        draws = sample.of_rows(first)
        whole = float(sample.weights.sum())
        smaller = 1 / self._rows + 1 / self._copy_rows
        larger = 1 / (share * whole) + 1 / ((1 - share) * whole)
        scale = math.sqrt(smaller / larger)
        rest = whole - draws.sum(axis=0, dtype=np.float64)
        return self._joint(self.references, draws, rest, scale)

    @cached_property
    def drawn(self) -> JointChance:
        """Distances of as many rows as the copy has, drawn from the private table itself.

        The copy stands in for the private table, and is compared with drawings from itself.
        """
        sample = self._sample
        number = sample.persons
        draws = _rng().multinomial(number, np.full(number, 1 / number), size=TABLES).T
        means = [*self._means(self._copy_rows, drawn_distance)]
        scale = math.sqrt(sample.weights.sum() / self._copy_rows)
        return self._joint(means, sample.of_rows(draws), np.zeros(TABLES), scale)

    def alarm(self, score: Score, alpha: float, copy_epsilon: Fraction | None) -> Alarm:
        """Whether a copy with an overall ``score`` is nearer than chance allows, and how much."""
        weights = [*map(float, mean_weights(self._bound.marginals))]
        return Alarm.of(
            score,
            independent=1 - self.independent.quantile(alpha, weights),
            drawn=1 - self.drawn.quantile(alpha, weights),
            copy_epsilon=copy_epsilon,
        )

    def nearest_drawn(self, alpha: Fraction) -> Fraction:
        """Mean distance below which drawings lie with probability alpha, from the copy alone.

        The drawings are those of ``drawn``, so the number of private rows does not matter.  It is
        rounded down to a millionth, so that it is the same on every machine.
        """
        weights = [*map(float, mean_weights(self._bound.marginals))]
        mark = self.drawn.quantile(float(alpha), weights)
        return Fraction(math.floor(mark * _MILLION), _MILLION)

    @property
    def _share(self) -> float:
        """Share of the private rows among those of both tables, within limits."""
        share = self._rows / (self._rows + self._copy_rows)
        return min(max(share, 1 / _LEAST_PART), 1 - 1 / _LEAST_PART)

    def _joint(
        self, means: Sequence[float], draws: NDArray[Any], rest: Floats, scale: float
    ) -> JointChance:
        """Joint chance: deviations of small tables, which shrink with the root of the rows."""
        sample, sizes = self._sample, draws.sum(axis=0, dtype=np.float64)
        apart = simulated_deviations(self._cells(sample), draws, sample.weights, sizes, rest)
        return JointChance(np.asarray(means, dtype=np.float64), scale * apart)

    @cached_property
    def _sample(self) -> _Sample:
        """Some rows of the copy, all of each of their persons."""
        bound = self._bound
        most = max(2, min(_ROWS, _MOST_WORK // max(1, len(bound.marginals))))
        if self._persons is not None:
            return self._persons.of_few(most)
        codes = bound.codes(bound.partitions)
        if len(codes) > most:
            codes = codes[_rng().choice(len(codes), most, replace=False)]
        codes = codes if len(codes) > 1 else np.repeat(codes, 2, axis=0)
        return _Sample(codes, np.arange(len(codes)), np.ones(len(codes)))

    @cached_property
    def _persons(self) -> _Sample | None:
        """Rows of the copy with their persons; None if each row is a person."""
        bound = self._bound
        persons = None if bound.unit is None else bound.copy.persons(bound.unit)
        if bound.unit is None or persons is None:
            return None
        rows = np.bincount(persons)
        if rows.size < 2 or rows.max() == 1:
            return None
        weights = np.minimum(rows, bound.unit.max_rows) / rows
        every = _Sample(bound.codes(bound.partitions), persons, weights[persons])
        return every.of_few(_MOST_ROWS)

    def _cells(self, sample: _Sample) -> list[NDArray[np.int64]]:
        """Cell of each sampled row in each marginal."""
        codes = dict(zip(self._bound.partitions, sample.codes.T, strict=True))
        return [each.marginal.cells(codes) for each in self._bound.marginals]


class _Sample(NamedTuple):
    """Rows of a copy: their cells (rows, partitions), persons from 0 on (rows,), and weights."""

    codes: NDArray[np.int64]
    person: NDArray[np.int64]
    weights: Floats

    @property
    def persons(self) -> int:
        """Number of persons."""
        return int(self.person.max()) + 1

    def of_rows(self, draws: NDArray[Any]) -> NDArray[np.float32]:
        """Weights of rows in each table, of how often each has a person: (rows, tables)."""
        return draws.astype(np.float32)[self.person] * self.weights[:, None].astype(np.float32)

    def of_few(self, most: int) -> _Sample:
        """Rows of some persons at random, at most ``most`` rows but those of two persons."""
        if len(self.codes) <= most:
            return self
        rows = np.bincount(self.person)
        order = _rng().permutation(rows.size)
        number = max(2, int(np.searchsorted(np.cumsum(rows[order]), most, "right")))
        renamed = np.full(rows.size, -1)
        renamed[order[:number]] = np.arange(number)
        own = renamed[self.person]
        return _Sample(self.codes[own >= 0], own[own >= 0], self.weights[own >= 0])


class Spread(NamedTuple):
    """Spread of the shares of a marginal, where persons are drawn and not single rows.

    A person's rows share a weight and may be alike.  Persons are independent, so the variance of a
    share p is that of what a person adds to it, ``v = E (w - p W)^2``, w of the person's weight W
    in the cell.  That of independent rows would be ``p (1 - p) E W``.

    ``size`` is the ratio of both, summed over the cells: so many rows tell as much as one that is
    independent.  A mean deviation is the square root of a variance.  So ``evenness``, the sum of
    the roots of v over the sum of those of ``size p (1 - p) E W``, is what they are less if the
    cells have different ratios.  Both are 1 where each row is a person.
    """

    size: float
    evenness: float

    @classmethod
    def of(cls, sample: _Sample, cells: NDArray[np.int64]) -> Spread:
        """Spread of a marginal; ``cells`` has the cell of each row of ``sample``."""
        cell = np.unique(cells, return_inverse=True)[1]
        number = int(cell.max()) + 1
        pairs, own = np.unique(sample.person * number + cell, return_inverse=True)
        held, (person, at) = np.bincount(own, sample.weights), np.divmod(pairs, number)
        whole = np.bincount(sample.person, sample.weights)
        shares = np.bincount(at, held, number) / whole.sum()
        squares = np.bincount(at, held**2 - 2 * held * shares[at] * whole[person], number)
        squares = np.maximum(squares + (whole**2).sum() * shares**2, 0)
        of_rows = whole.sum() * shares * (1 - shares)
        if not of_rows.any():
            return cls(1.0, 1.0)
        size = max(float(squares.sum() / of_rows.sum()), 1 / sample.persons)
        return cls(size, float(np.sqrt(squares).sum() / np.sqrt(size * of_rows).sum()))


def _rng() -> np.random.Generator:
    """Generator of public randomness, the same in every run."""
    return np.random.default_rng(_SEED)
