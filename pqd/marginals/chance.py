"""Chance: how far an independent real sample would be, and how near a drawing would come.

All of it is made from the copy, which is public, and from a number of private rows that was
released or stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

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
        return tuple(independent_distance(each.copy, self._rows) for each in marginals)

    @cached_property
    def independent(self) -> JointChance:
        """Distances of two independent samples of the private table's and of the copy's size.

        The deviations are those of disjoint parts of the copy, of sizes in this proportion.
        """
        rows = self._sampled.shape[0]
        share = self._rows / (self._rows + self._copy_rows)
        share = min(max(share, 1 / _LEAST_PART), 1 - 1 / _LEAST_PART)
        first = _rng().random((rows, TABLES)) < share
        # A part without a row would have no shares.
        first[0], first[-1] = True, False
        sizes = first.sum(axis=0, dtype=np.float64)
        smaller = 1 / self._rows + 1 / self._copy_rows
        larger = 1 / (share * rows) + 1 / ((1 - share) * rows)
        scale = math.sqrt(smaller / larger)
        return self._joint(self.references, first.astype(np.int16), rows - sizes, scale)

    @cached_property
    def drawn(self) -> JointChance:
        """Distances of as many rows as the copy has, drawn from the private table itself.

        The copy stands in for the private table, and is compared with drawings from itself.
        """
        rows = self._sampled.shape[0]
        draws = _rng().multinomial(rows, np.full(rows, 1 / rows), size=TABLES).T
        marginals = self._bound.marginals
        means = [drawn_distance(each.copy, self._copy_rows) for each in marginals]
        scale = math.sqrt(rows / self._copy_rows)
        return self._joint(means, draws.astype(np.int16), np.zeros(TABLES), scale)

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

    def _joint(
        self, means: Sequence[float], draws: NDArray[np.int16], rest: Floats, scale: float
    ) -> JointChance:
        """Joint chance: deviations of small tables, which shrink with the root of the rows."""
        sizes = draws.sum(axis=0, dtype=np.float64)
        deviations = scale * simulated_deviations(self._cells, draws, sizes, rest)
        return JointChance(np.asarray(means, dtype=np.float64), deviations)

    @cached_property
    def _sampled(self) -> NDArray[np.int64]:
        """Cells of some rows of the copy in each partition, an array (rows, partitions)."""
        bound = self._bound
        most = max(2, min(_ROWS, _MOST_WORK // max(1, len(bound.marginals))))
        codes = bound.codes(bound.partitions)
        if len(codes) > most:
            codes = codes[_rng().choice(len(codes), most, replace=False)]
        return codes if len(codes) > 1 else np.repeat(codes, 2, axis=0)

    @cached_property
    def _cells(self) -> list[NDArray[np.int64]]:
        """Cell of each sampled row in each marginal."""
        codes = dict(zip(self._bound.partitions, self._sampled.T, strict=True))
        return [each.marginal.cells(codes) for each in self._bound.marginals]


def _rng() -> np.random.Generator:
    """Generator of public randomness, the same in every run."""
    return np.random.default_rng(_SEED)
