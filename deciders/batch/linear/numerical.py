"""The mechanism of the paper: every query is truncated at its own, privately found threshold."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.batch.base import PrivacyBudget
from pqd.deciders.batch.linear.conditions import Numbers
from pqd.deciders.batch.linear.mechanism import DistributionFit, DistributionMechanism
from pqd.deciders.batch.linear.multiplicative_weights import (
    MultiplicativeWeights,
    error_scale,
    noisy_error,
    noisy_size,
)
from pqd.deciders.batch.linear.queries import (
    CappedQueries,
    NumericalQueries,
    ThresholdQueries,
    doubling,
)
from pqd.deciders.batch.linear.universe import Rows
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise


def first_few(above: Numbers, alpha: Numbers | float) -> Integers:
    """First threshold of each query with at most ``alpha`` mass above it.

    This is the search of Algorithms 1 and 2; the text of section 3.1 says the largest
    (docs/errata.md, 12.3).  Nothing lies above the last threshold, whatever a
    noisy answer says, so the search ends there.
    """
    few = above <= alpha
    few[:, -1] = True
    places: Integers = few.argmax(axis=1)
    return places


@dataclass(frozen=True, slots=True, kw_only=True)
class Numerical(DistributionMechanism):
    """Algorithm 2 (Qiu 2022, section 3.3): one distribution for thresholds and for answers.

    Multiplicative weights run on all ``c_{w,tau} = 1[w > tau]`` and
    ``l_{w,tau} = min(w / tau, 1)``, ``tau = base, 2 base, ...``.  Each query then takes the first
    ``tau`` with ``c_{w,tau} <= alpha``, and the answer ``tau l_{w,tau}``, which is 0 for
    ``tau = 0``.  Both are computed on the released distribution.

    Guarantee: (epsilon, delta)-DP.  ``size_share`` and ``alpha_share`` of epsilon pay for n and
    for alpha, the rest pays for the weights.  Accuracy: suppose that the noisy alpha is no smaller
    than the errors that it bounds.  Then at most ``2 alpha`` cells lie above a threshold, the
    threshold is at most ``max(base, 2 Delta_w(D))``, and the error is at most
    ``4 alpha max(base, Delta_w(D))`` (Theorem 3.2 with its constant, ours).  ``base`` is the b of
    section 5.
    """

    queries: NumericalQueries
    base: int = 1
    weights: MultiplicativeWeights = field(default_factory=MultiplicativeWeights)
    size_share: Fraction = Fraction(1, 20)
    alpha_share: Fraction = Fraction(1, 10)

    id: ClassVar[str] = "numerical"
    key_fields: ClassVar[tuple[str, ...]] = ("base", "size_share", "alpha_share")

    def fit(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> DistributionFit:
        """Answers, thresholds, the distribution and alpha."""
        budget = PrivacyBudget.of(epsilon, delta)
        size, counts = self._counted(rows, budget, noise)
        thresholds = doubling(self.base, self.queries.peak)
        linear_queries = ThresholdQueries(self.queries, thresholds)
        for_alpha = budget.epsilon * self.alpha_share
        left = budget.epsilon * (1 - self.size_share) - for_alpha
        tails, rest = linear_queries.tails(counts), PrivacyBudget(left, budget.delta)
        weights = self.weights.fit(linear_queries, tails, size, rest, noise)
        alpha = noisy_error(linear_queries, tails, weights, for_alpha, noise)
        above, capped = weights.tails(thresholds)
        places = first_few(above, alpha)
        answers = capped[np.arange(places.size), places]
        used = np.minimum(thresholds[places], self.queries.limits)
        return DistributionFit(answers, used, weights, alpha)

    def size_budget(self, epsilon: Fraction) -> Fraction:
        """Part of ``epsilon`` that pays for the number of cells."""
        return epsilon * self.size_share

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales of n, of alpha and of the weights."""
        budget, group = budget_of(epsilon), self.queries.group
        for_alpha = budget * self.alpha_share
        left = budget * (1 - self.size_share) - for_alpha
        return max(
            group / (budget * self.size_share),
            error_scale(group, for_alpha),
            self.weights.largest_scale(group, left),
        )

    def _counted(self, rows: Rows, budget: PrivacyBudget, noise: Noise) -> tuple[int, Integers]:
        counts = self.queries.counts(rows)
        for_size = self.size_budget(budget.epsilon)
        return noisy_size(counts, self.queries.group, for_size, noise), counts


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericalInTwoSteps(Numerical):
    """Algorithm 1 and section 3.2: one distribution for thresholds, a second for the answers.

    Multiplicative weights run on the ``c_{w,tau}``, and thresholds are found as in Algorithm 2.
    Then multiplicative weights run on ``min(w / tau_w, 1)`` with these thresholds, scaled back.

    Guarantee: (epsilon, delta)-DP.  ``size_share`` pays for n.  Half of the rest, and half of
    delta, pay for the thresholds, with ``alpha_share`` of this half for alpha.  The other halves
    pay for the answers.
    """

    id: ClassVar[str] = "numerical_two"
    key_fields: ClassVar[tuple[str, ...]] = ("base", "size_share", "alpha_share")

    def fit(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> DistributionFit:
        """Answers, thresholds, the second distribution and alpha."""
        budget = PrivacyBudget.of(epsilon, delta)
        size, counts = self._counted(rows, budget, noise)
        half = PrivacyBudget(budget.epsilon * (1 - self.size_share) / 2, budget.delta / 2)
        thresholds = doubling(self.base, self.queries.peak)
        tests = ThresholdQueries(self.queries, thresholds, linear=False)
        for_alpha = half.epsilon * self.alpha_share
        first = PrivacyBudget(half.epsilon - for_alpha, half.delta)
        tails = tests.tails(counts)
        weights = self.weights.fit(tests, tails, size, first, noise)
        alpha = noisy_error(tests, tails, weights, for_alpha, noise)
        places = first_few(weights.tails(thresholds).above, alpha)
        cuts = thresholds[places]
        # A query that is truncated at 0 has the answer 0, so its divisor needs only to be positive.
        linear = CappedQueries(self.queries, np.maximum(cuts, 1))
        second = self.weights.fit(linear, linear.tails(counts), size, half, noise)
        answers = second.answers * cuts
        return DistributionFit(answers, np.minimum(cuts, self.queries.limits), second, alpha)

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales of n, of alpha and of both weights."""
        budget, group = budget_of(epsilon), self.queries.group
        half = budget * (1 - self.size_share) / 2
        for_alpha = half * self.alpha_share
        return max(
            group / (budget * self.size_share),
            error_scale(group, for_alpha),
            self.weights.largest_scale(group, half - for_alpha),
        )
