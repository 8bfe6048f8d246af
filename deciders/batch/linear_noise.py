"""Noise without truncation on decomposable queries: on each answer, or on each class."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deciders.batch.mechanisms import laplace_variance
from deciders.batch.numerical_queries import Decomposable
from deciders.batch.released import Release
from deciders.batch.universe import Rows, level_sets
from deciders.exact import Number, budget_of
from deciders.histogram import Integers
from deciders.laplace import Floats
from deciders.noise import Noise


def _totals(queries: Decomposable, rows: Rows) -> Integers:
    """Return the exact sum of ``g`` in each class."""
    top = max(1, int(queries.universe.tops.max()))
    found: Integers = level_sets(rows, queries.universe, np.array([top]))[1][:, 0]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyAnswers:
    """WORKLOAD (Wu 2019, Algorithm 6) for any conditions: noise on each answer.

    Guarantee: epsilon-DP (Dwork et al. 2006): a row of class c adds ``g <= top`` of c to each query
    that selects c, so whole-number answers move by at most ``norm``, the largest top times queries
    that select the class, in all; each has discrete Laplace noise of scale ``norm / epsilon``.
    """

    queries: Decomposable

    id: ClassVar[str] = "workload"

    @property
    def norm(self) -> int:
        """What one row changes the answers by in all, at most; at least 1."""
        conditions = self.queries.conditions
        selecting = np.zeros(conditions.classes, np.int64)
        for place in range(conditions.size):
            selecting += conditions.row(place)
        return max(1, int((selecting * self.queries.universe.tops).max()))

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> Release:
        """Return the answers, each with noise."""
        scale = self.norm / budget_of(epsilon)
        exact = self.queries.conditions.sums(_totals(self.queries, rows)[:, None])[:, 0]
        drawn = [noise.laplace(value, scale) for value in exact.tolist()]
        return Release(np.array(drawn, np.float64))

    @property
    def draws(self) -> Integers:
        """How many draws of noise each answer holds: one."""
        return np.ones(self.queries.size, np.int64)

    def deviations(self, epsilon: Number) -> Floats:
        """Return the standard deviation of each answer."""
        return _deviations(self.draws, self.norm / budget_of(epsilon))


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
        return _deviations(self.draws, self.norm / budget_of(epsilon))


def _deviations(draws: Integers, scale: Fraction) -> Floats:
    found: Floats = np.sqrt(draws * laplace_variance(scale))
    return found
