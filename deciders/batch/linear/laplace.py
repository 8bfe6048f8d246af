"""Noise without truncation: on each answer of a batch, or on each class of its rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deciders.batch.base import Release
from deciders.batch.linear.queries import Decomposable
from deciders.batch.linear.universe import Rows, level_sets
from deciders.distributions import Floats, noise_variance
from deciders.exact import Number, budget_of
from deciders.histogram import Integers
from deciders.noise import Noise


def _totals(queries: Decomposable, rows: Rows) -> Integers:
    """Return the exact sum of ``g`` in each class."""
    top = max(1, int(queries.universe.tops.max()))
    found: Integers = level_sets(rows, queries.universe, np.array([top]))[1][:, 0]
    return found


@dataclass(frozen=True, slots=True)
class NoisyAnswers:
    """WORKLOAD (Wu 2019, Algorithm 6) for any queries: noise on each answer.

    Guarantee: epsilon-DP (Dwork et al. 2006) where one row, added or removed, moves the answers,
    which are whole numbers, by at most ``norm`` in all: each has discrete Laplace noise of scale
    ``norm / epsilon``.
    """

    norm: int

    id: ClassVar[str] = "workload"

    def scale(self, epsilon: Number) -> Fraction:
        """Return the scale of the noise."""
        return self.norm / budget_of(epsilon)

    def release(self, answers: Sequence[int], epsilon: Number, noise: Noise) -> list[int]:
        """Return the answers, each with noise."""
        scale = self.scale(epsilon)
        return [noise.laplace(answer, scale) for answer in answers]

    def deviation(self, epsilon: Number) -> float:
        """Return the standard deviation of each answer."""
        return math.sqrt(noise_variance(self.scale(epsilon)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyClasses:
    """IDENTITY (Wu 2019, Algorithm 5) for any conditions: noise on each class, then sums.

    Guarantee: epsilon-DP (Dwork et al. 2006): a row is in one class and moves its whole-number sum
    by at most ``norm``, the largest top; each has discrete Laplace noise of scale
    ``norm / epsilon``.  The rest is post-processing.
    """

    queries: Decomposable

    id: ClassVar[str] = "identity"

    @property
    def norm(self) -> int:
        """What one row changes the sums by in all, at most; at least 1."""
        return max(1, int(self.queries.universe.tops.max()))

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> Release:
        """Return sums of the noisy classes."""
        scale = self.norm / budget_of(epsilon)
        drawn = [noise.laplace(value, scale) for value in _totals(self.queries, rows).tolist()]
        sums = self.queries.conditions.sums(np.array(drawn, np.float64)[:, None])
        return Release(sums[:, 0])

    @property
    def draws(self) -> Integers:
        """How many draws of noise each answer holds: one for each class that it adds up."""
        conditions = self.queries.conditions
        found: Integers = conditions.sums(np.ones((conditions.classes, 1), np.int64))[:, 0]
        return found

    def deviations(self, epsilon: Number) -> Floats:
        """Return the standard deviation of each answer."""
        scale = self.norm / budget_of(epsilon)
        found: Floats = np.sqrt(self.draws * noise_variance(scale))
        return found
