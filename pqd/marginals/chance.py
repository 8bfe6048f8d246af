"""Chance: how far an independent real sample would be, and how near a drawing would come.

All of it is made from the copy, which is public, and from a number of private rows that was
released or stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from operator import mul
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
# Rows of persons whose tables are simulated for the means, and the number of these tables.
_MOST_ROWS, _PARTED = 50_000, 8
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
        marginals = self._bound.marginals
        means = (independent_distance(each.copy, self._rows) for each in marginals)
        return tuple(map(mul, means, self.growth))

    @cached_property
    def growth(self) -> tuple[float, ...]:
        """Factor by which the mean of each marginal differs from that of independent rows."""
        return self._growth(self._parted)

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
        sample, marginals = self._sample, self._bound.marginals
        number = sample.persons
        draws = _rng().multinomial(number, np.full(number, 1 / number), size=TABLES).T
        distances = (drawn_distance(each.copy, self._copy_rows) for each in marginals)
        means = [*map(mul, distances, self._growth(self._redrawn))]
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

    def _growth(self, by_chance: Callable[[_Sample], list[Floats]]) -> tuple[float, ...]:
        """Factor of each marginal's mean distance, as persons are drawn and not single rows.

        A person's rows share a weight and may be alike, so that drawing persons moves shares less
        or more than drawing as many rows.  The factor is the ratio of both in the same simulated
        tables; it is 1 where each row is a person.
        """
        bound, sample = self._bound, self._persons
        if sample is None:
            return (1.0,) * len(bound.marginals)
        of_persons, of_rows = by_chance(sample)
        ones = np.ones_like(of_rows)
        return tuple(np.divide(of_persons, of_rows, ones, where=of_rows > 0).tolist())

    def _parted(self, sample: _Sample) -> list[Floats]:
        """Distances of the two parts of tables, parted by persons and by rows: (2, K)."""
        rng, share = _rng(), self._share
        draws = sample.of_rows(rng.random((sample.persons, _PARTED)) < share)
        distances = np.zeros((2, len(self._bound.marginals)))
        for place, cells in enumerate(self._cells(sample)):
            whole = np.bincount(cells, sample.weights)
            rows = np.round(whole).astype(np.int64)
            for drawn in draws.T:
                own = np.bincount(cells, drawn, whole.size)
                other = rng.binomial(rows, share)
                distances[0, place] += _apart(own, whole - own)
                distances[1, place] += _apart(other, rows - other)
        return list(distances)

    def _redrawn(self, sample: _Sample) -> list[Floats]:
        """Distances of the table from drawings, by persons and by rows: (2, K)."""
        rng, number = _rng(), sample.persons
        draws = sample.of_rows(rng.multinomial(number, np.full(number, 1 / number), _PARTED).T)
        distances = np.zeros((2, len(self._bound.marginals)))
        for place, cells in enumerate(self._cells(sample)):
            whole = np.bincount(cells, sample.weights)
            rows = max(1, round(whole.sum()))
            for drawn in draws.T:
                own = np.bincount(cells, drawn, whole.size)
                distances[0, place] += _apart(own, whole)
                distances[1, place] += _apart(rng.multinomial(rows, whole / whole.sum()), whole)
        return list(distances)

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
        _, codes, rows = np.unique(persons, return_inverse=True, return_counts=True)
        if rows.size < 2 or rows.max() == 1:
            return None
        weights = np.minimum(rows, bound.unit.max_rows) / rows
        every = _Sample(bound.codes(bound.partitions), codes, weights[codes])
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


def _apart(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Total variation between two tables' cells; 0 if one has no rows."""
    one, other = first.sum(), second.sum()
    return float(np.abs(first / one - second / other).sum() / 2) if one and other else 0.0


def _rng() -> np.random.Generator:
    """Generator of public randomness, the same in every run."""
    return np.random.default_rng(_SEED)
