"""Truncation at powers of two: rows above a rung are removed (Patwa 2023, section 5)."""

import math
from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.bounds import ValueBounds
from pqd.deciders.errors import DeciderError
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.histogram import Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncationRungs(ValueBounds):
    """Mix-in of the mechanisms of SUM that truncate at ``t_j = 2^j``, ``j = 1 .. ceil(log2 GS)``.

    Truncation at a rung removes the rows above it.  Values must be >= 0; GS counts as at least 2.
    """

    def __post_init__(self) -> None:
        """Raise DeciderError if the attribute may be negative."""
        if self.lower < 0:
            raise DeciderError(
                f"it needs values >= 0 but the lower bound is {self.lower} units; "
                "use lm_sum, or bounds that start at 0 or above"
            )

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on ``t log2(GS)/epsilon`` for every rung t; the last rung may be twice GS."""
        return 128 * self.noise_scale(budget_of(epsilon))

    @property
    def log_sensitivity(self) -> float:
        """``log2(GS)``, at least 1."""
        return math.log2(max(2, self.global_sensitivity))

    @property
    def rungs(self) -> tuple[int, ...]:
        """Truncation thresholds ``2, 4, ..., 2^ceil(log2 GS)``."""
        return tuple(1 << j for j in range(1, max(1, (self.upper - 1).bit_length()) + 1))

    def truncated_sums(self, histogram: Histogram) -> tuple[int, ...]:
        """``q(D, t_j)`` for every rung, exactly."""
        return tuple(histogram.sum_at_most(rung) for rung in self.rungs)
