"""Noise without truncation: on each answer of a batch, or on each class of its rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.linear.queries import NumericalQueries
from pqd.deciders.batch.linear.universe import Rows, level_sets
from pqd.deciders.distributions import NoiseSum, noise_variance
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.histogram import Integers, Sums
from pqd.deciders.noise import Noise


def _totals(queries: NumericalQueries, rows: Rows) -> Sums:
    """Exact sum of ``g`` in each class; not private."""
    top = max(1, int(queries.universe.tops.max()))
    totals: Sums = level_sets(rows, queries.universe, np.array([top]))[1][:, 0]
    return totals


@dataclass(frozen=True, slots=True)
class NoisyAnswers:
    """WORKLOAD (Wu 2019, Algorithm 6) for any queries: noise on each answer.

    Guarantee: epsilon-DP (Dwork et al. 2006), if adding or removing one row moves the answers by
    at most ``norm`` in total.  There are ``queries`` answers, which are whole numbers.  Each
    answer has discrete Laplace noise of scale ``norm / epsilon``.
    """

    queries: int
    norm: int

    id: ClassVar[str] = "workload"

    def scale(self, epsilon: Number) -> Fraction:
        """Scale of the noise."""
        return self.norm / budget_of(epsilon)

    largest_scale = scale

    def release(self, answers: Sequence[int], epsilon: Number, noise: Noise) -> BatchOutput:
        """Answers, each with noise."""
        scale = self.scale(epsilon)
        deviation = math.sqrt(noise_variance(scale))
        noisy = [noise.laplace(answer, scale) for answer in answers]
        return BatchOutput.of(noisy, deviations=[deviation] * len(noisy))

    def noise_law(self, epsilon: Number) -> tuple[NoiseSum, ...]:
        """Law of one draw, which is the noise of each answer."""
        return (NoiseSum(1, self.scale(epsilon)),) * self.queries


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyClasses:
    """IDENTITY (Wu 2019, Algorithm 5) for any conditions: noise on each class, then sums.

    Guarantee: epsilon-DP (Dwork et al. 2006).  A row is in one class and moves the sum of that
    class by at most ``norm``, the largest top.  Each sum is a whole number and has discrete
    Laplace noise of scale ``norm / epsilon``.  The rest is post-processing.
    """

    queries: NumericalQueries

    id: ClassVar[str] = "identity"
    key_fields: ClassVar[tuple[str, ...]] = ()

    @property
    def norm(self) -> int:
        """Largest change of all sums together by one row, at least 1."""
        return max(1, int(self.queries.universe.tops.max()))

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Scale of the noise."""
        return self.norm / budget_of(epsilon)

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> BatchOutput:
        """Sums of the noisy classes; pure epsilon-DP at any delta."""
        scale = self.largest_scale(epsilon)
        noisy = [noise.laplace(value, scale) for value in _totals(self.queries, rows).tolist()]
        sums = self.queries.conditions.sums(np.array(noisy, np.float64)[:, None])
        deviations = np.sqrt(self._draws * noise_variance(scale))
        return BatchOutput.of(sums[:, 0], deviations=deviations)

    def noise_law(self, epsilon: Number) -> tuple[NoiseSum, ...]:
        """Noise law with one draw for each class that an answer adds up."""
        scale, draws = self.largest_scale(epsilon), self._draws.tolist()
        # Equal numbers share one law, because its tails are computed on first use.
        laws = {number: NoiseSum(number, scale) for number in draws}
        return tuple(laws[number] for number in draws)

    @property
    def _draws(self) -> Integers:
        conditions = self.queries.conditions
        draws: Integers = conditions.sums(np.ones((conditions.classes, 1), np.int64))[:, 0]
        return draws
