"""Two baselines: divide each query by a row's largest contribution, then answer linear queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.batch.base import PrivacyBudget
from pqd.deciders.batch.linear.mechanism import DistributionFit, DistributionMechanism
from pqd.deciders.batch.linear.multiplicative_weights import MultiplicativeWeights, noisy_size
from pqd.deciders.batch.linear.queries import CappedQueries, NumericalQueries
from pqd.deciders.batch.linear.radius import RADIUS_SHARE, private_radius, radius_scale
from pqd.deciders.batch.linear.universe import Rows
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalization(DistributionMechanism):
    """Multiplicative weights on ``w / Delta_w``, scaled back (Qiu 2022, section 1).

    Guarantee: (epsilon, delta)-DP: ``size_share`` of epsilon for n, the rest for the weights.
    """

    queries: NumericalQueries
    weights: MultiplicativeWeights = field(default_factory=MultiplicativeWeights)
    size_share: Fraction = Fraction(1, 20)

    id: ClassVar[str] = "normalization"
    key_fields: ClassVar[tuple[str, ...]] = ("size_share",)

    def fit(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> DistributionFit:
        """Answers, the divisors as thresholds, and the distribution."""
        divisors = np.maximum(self.queries.limits, 1)
        return self._answers(self.queries, divisors, rows, PrivacyBudget.of(epsilon, delta), noise)

    def size_budget(self, epsilon: Fraction) -> Fraction:
        """Part of ``epsilon`` that pays for the number of cells."""
        return epsilon * self.size_share

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales of n and of the weights."""
        budget, group = budget_of(epsilon), self.queries.group
        for_size = budget * self.size_share
        return max(group / for_size, self.weights.largest_scale(group, budget - for_size))

    def _answers(
        self,
        queries: NumericalQueries,
        divisors: Integers,
        rows: Rows,
        budget: PrivacyBudget,
        noise: Noise,
    ) -> DistributionFit:
        counts, linear = queries.counts(rows), CappedQueries(queries, divisors)
        for_size = budget.epsilon * self.size_share
        size = noisy_size(counts, queries.group, for_size, noise)
        rest = PrivacyBudget(budget.epsilon - for_size, budget.delta)
        weights = self.weights.fit(linear, linear.tails(counts), size, rest, noise)
        return DistributionFit(weights.answers * divisors, divisors, weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalTruncation(Normalization):
    """Private radius for the batch; every query is truncated at it and divided by it (section 1).

    Guarantee: (epsilon, delta)-DP.  ``radius_share`` of epsilon pays for the radius.  The rest is
    spent as in ``Normalization``, on queries that are public given the released radius.
    """

    radius_share: Fraction = RADIUS_SHARE
    base: int = 1

    id: ClassVar[str] = "global_truncation"
    key_fields: ClassVar[tuple[str, ...]] = ("base", "size_share", "radius_share")

    def fit(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> DistributionFit:
        """Answers, the radius as the threshold of each query, and the distribution."""
        budget = PrivacyBudget.of(epsilon, delta)
        for_radius = budget.epsilon * self.radius_share
        upper = int(self.queries.limits.max())
        maxima = self.queries.maxima(rows)
        radius = private_radius(maxima, self.base, upper, for_radius, noise)
        rest = PrivacyBudget(budget.epsilon - for_radius, budget.delta)
        truncated = self.queries.truncated(radius)
        return self._answers(truncated, np.full(truncated.size, radius), rows, rest, noise)

    def size_budget(self, epsilon: Fraction) -> Fraction:
        """Part of ``epsilon`` that pays for the number of cells."""
        return (1 - self.radius_share) * epsilon * self.size_share

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales of the radius, of n and of the weights."""
        budget = budget_of(epsilon)
        for_radius = budget * self.radius_share
        return max(radius_scale(for_radius), Normalization.largest_scale(self, budget - for_radius))
