"""Two baselines: divide each query by a row's largest contribution, then answer linear queries."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.batch.base import PrivacyBudget
from pqd.deciders.batch.linear.mechanism import DistributionFit, DistributionMechanism
from pqd.deciders.batch.linear.multiplicative_weights import MultiplicativeWeights, noisy_size
from pqd.deciders.batch.linear.queries import CappedQueries, NumericalQueries, doubling
from pqd.deciders.batch.linear.universe import Rows
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.histogram import Histogram, Integers
from pqd.deciders.noise import Noise

# Probability that the radius exceeds twice the largest value.
_FAILURE = 0.05


def private_radius(values: Integers, base: int, upper: int, epsilon: Fraction, noise: Noise) -> int:
    """First of ``base, 2 base, ...`` (last: ``upper``) that few values exceed.

    The search is AboveThreshold on the counts ``#(value > tau)``, from the lowest threshold on.  It
    stops at the first noisy count that is at most the noisy bar (Dong and Yi 2021, private radius;
    Qiu 2022, section 5).

    Guarantee: epsilon-DP (Lyu, Su and Li 2017, Theorem 3).  Adding a row raises each count by at
    most 1 and lowers none.  Half of the budget pays for the bar, and half for the single count
    that stops the search, so both scales are ``2 / epsilon``.  The bar is
    ``(4 / epsilon) ln(1/0.05)``, so a count of 0 stops the search except with probability 0.05.
    Then the radius is at most twice the largest value.
    """
    histogram = Histogram.from_values(values)
    scale = radius_scale(epsilon)
    bar = math.ceil(2 * as_float(scale) * -math.log(_FAILURE))
    noisy_bar = noise.laplace(bar, scale)
    for threshold in doubling(base, upper)[1:-1].tolist():
        beyond = histogram.mass - histogram.count_at_most(threshold)
        if noise.laplace(beyond, scale) <= noisy_bar:
            return int(threshold)
    return upper


def radius_scale(epsilon: Fraction) -> Fraction:
    """Noise scale of ``private_radius``."""
    return 2 / epsilon


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

    radius_share: Fraction = Fraction(1, 10)
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

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales of the radius, of n and of the weights."""
        budget = budget_of(epsilon)
        for_radius = budget * self.radius_share
        return max(radius_scale(for_radius), Normalization.largest_scale(self, budget - for_radius))
