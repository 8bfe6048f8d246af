"""Real numbers: queries of either sign, and values without a known bound (Qiu 2022, section 5)."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deciders.batch.base import Mechanism, Release
from deciders.batch.budget import Budget
from deciders.batch.linear.conditions import Numbers
from deciders.batch.linear.normalization import Normalization
from deciders.batch.linear.numerical import Numerical
from deciders.batch.linear.queries import Explicit
from deciders.batch.linear.universe import Rows
from deciders.batch.private_bound import private_radius
from deciders.distributions import Floats
from deciders.exact import Number
from deciders.histogram import Integers
from deciders.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """``w = w+ - w-`` where the sign is that of ``g``: one mechanism for each side.

    A row's level is ``g``; ``positive`` sees the rows with ``g > 0``, ``negative`` those with
    ``g < 0`` as ``-g``.

    Guarantee: (epsilon, delta)-DP, with all of the budget on both sides (ours): a row lies on one
    side, so adding or removing it leaves the other as it is (parallel composition, McSherry 2009).
    It would not hold for a replaced row, which may change sides.
    """

    positive: Mechanism
    negative: Mechanism

    id: ClassVar[str] = "signed"

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> Release:
        """Return differences; thresholds and distributions of the positive side come first."""
        sides = []
        for mechanism, sign in ((self.positive, 1), (self.negative, -1)):
            levels = sign * rows.levels
            side = Rows(rows.classes[levels > 0], levels[levels > 0])
            sides.append(mechanism.release(side, epsilon, noise, delta))
        plus, minus = sides
        return Release(
            plus.answers - minus.answers,
            _joined(plus.thresholds, minus.thresholds),
            _joined(plus.distribution, minus.distribution),
        )


def _joined(first: Numbers | None, second: Numbers | None) -> Numbers | None:
    return None if first is None or second is None else np.concatenate((first, second))


def halves(matrix: Integers) -> Explicit:
    """Return ``w+`` of all queries (rows of a dense matrix), then ``w-``: one batch.

    For queries that differ in where they are negative.  A row may count on both sides, so they
    share one mechanism and its budget, whose error grows with the logarithm of their number.
    """
    return Explicit.of(np.concatenate((np.maximum(matrix, 0), np.maximum(-matrix, 0))))


def differences(released: Release) -> Floats:
    """Return the answers ``w+ - w-`` from those to ``halves``."""
    plus, minus = np.split(released.answers, 2)
    return plus - minus


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinRadius:
    """Any mechanism after a global truncation at a private radius, for an upper bound far off.

    ``mechanism.queries`` may have an upper bound as wide as 2^32 units: the universe is built
    only once the radius is known, with ``1 + log2(radius)`` levels.

    Guarantee: (epsilon, delta)-DP: ``radius_share`` of epsilon for the radius, the rest for the
    mechanism, on queries that the radius, already released, makes public.
    """

    mechanism: Numerical | Normalization
    base: int = 1
    radius_share: Fraction = Fraction(1, 10)

    id: ClassVar[str] = "within_radius"

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> Release:
        """Return what the mechanism releases on the truncated queries."""
        budget = Budget.of(epsilon, delta)
        for_radius = budget.epsilon * self.radius_share
        queries = self.mechanism.queries
        upper = int(queries.limits.max())
        radius = private_radius(queries.maxima(rows), self.base, upper, for_radius, noise)
        inner = replace(self.mechanism, queries=queries.truncated(radius))
        return inner.release(rows, budget.epsilon - for_radius, noise, budget.delta)
