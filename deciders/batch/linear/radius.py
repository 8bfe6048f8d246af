"""Private radius: values far above most others are clamped before a batch is answered."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from pqd.deciders.batch.base import PrivacyBudget
from pqd.deciders.batch.linear.mechanism import (
    DistributionFit,
    DistributionMechanism,
    FittingMechanism,
)
from pqd.deciders.batch.linear.queries import NumericalQueries, doubling
from pqd.deciders.batch.linear.universe import Rows
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.histogram import Histogram, Integers
from pqd.deciders.noise import Noise

# Part of the budget that pays for a radius.
RADIUS_SHARE = Fraction(1, 10)
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
class RadiusFirst(DistributionMechanism):
    """Mechanism for values whose public bound is far away (Qiu 2022, section 5).

    A private radius R is found first, and values above R are clamped to R.  Then the ``inner``
    mechanism answers the queries ``min(w, R)``: Numerical, NumericalInTwoSteps or Normalization.

    Guarantee: (epsilon, delta)-DP.  *Proof.*  ``private_radius`` is epsilon_1-DP, where epsilon_1
    is ``radius_share`` of epsilon (docs/theory.md, Theorem Q7).  For each fixed R, the queries
    ``min(w, R)`` and all parameters of the inner mechanism are public.  So the inner mechanism at
    R is (epsilon - epsilon_1, delta)-DP in the rows.  R is an earlier output, so both together are
    (epsilon, delta)-DP (adaptive composition, Dwork and Roth 2014, Theorem B.1).
    """

    inner: FittingMechanism
    base: int = 1
    radius_share: Fraction = RADIUS_SHARE

    key_fields: ClassVar[tuple[str, ...]] = ("base", "radius_share")

    @property
    def id(self) -> str:
        """Name of the inner mechanism."""
        return self.inner.id

    @property
    def queries(self) -> NumericalQueries:
        """Queries before the truncation."""
        return self.inner.queries

    def size_budget(self, epsilon: Fraction) -> Fraction:
        """Part of ``epsilon`` that pays for the number of cells."""
        return self.inner.size_budget((1 - self.radius_share) * epsilon)

    def fit(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> DistributionFit:
        """Answers, thresholds up to the radius, and the distribution, of the inner mechanism."""
        budget = PrivacyBudget.of(epsilon, delta)
        for_radius = budget.epsilon * self.radius_share
        upper = int(self.queries.limits.max())
        maxima = self.queries.maxima(rows)
        radius = private_radius(maxima, self.base, upper, for_radius, noise)
        inner: Any = self.inner
        truncated: FittingMechanism = replace(inner, queries=self.queries.truncated(radius))
        return truncated.fit(rows, budget.epsilon - for_radius, noise, budget.delta)

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales of the radius and of the inner mechanism."""
        budget = budget_of(epsilon)
        for_radius = budget * self.radius_share
        return max(radius_scale(for_radius), self.inner.largest_scale(budget - for_radius))
