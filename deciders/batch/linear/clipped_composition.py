"""A baseline: every query by itself, clipped at a private high quantile, at equal shares."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.budget import PrivacyBudget
from pqd.deciders.batch.linear.queries import NumericalQueries, doubling
from pqd.deciders.batch.linear.universe import Rows
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise, check_scale, noisy_value

# The probability that a clipping point exceeds twice the largest value.
_FAILURE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedComposition:
    """Mechanism of Huang, Liang and Yi (2021) for each of the queries (Qiu 2022, section 1).

    With half of a query's share a clipping point is searched for among ``0, base, 2 base, ...`` by
    halving: each of k steps compares a noisy number of rows above a threshold with ``bar``.  With
    the other half the sum clipped there is released.  (They halve the values themselves; powers of
    two lose a factor of 2 at most and need fewer steps.)

    The bar is what the noise of all k comparisons stays below with probability 0.95 (ours).  So
    with that probability the clipping point is at most twice the largest value, and with that
    probability at most twice as many rows as the bar lie above it.  (As many rows as ``2 / share``
    would do as much harm clipped as the noise does, but the search cannot see so few: below its
    noise of scale ``2 k / share`` a bar lets it go astray upwards in most runs.)

    Guarantee: (epsilon, delta)-DP: ``PrivacyBudget.share`` over the queries, basic composition
    within one.  A row moves a count by at most 1 and the sum clipped at tau by at most tau.
    """

    queries: NumericalQueries
    base: int = 1

    id: ClassVar[str] = "clipped_composition"
    key_fields: ClassVar[tuple[str, ...]] = ("base",)

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> BatchOutput:
        """Answers, clipping points, and deviations of the noise at those."""
        share = PrivacyBudget.of(epsilon, delta).share(self.queries.size)
        thresholds = self._thresholds
        check_scale(2 * int(thresholds[-1]) / share)
        above, capped = self.queries.table_tails(rows, thresholds)
        places = [_clip(counts, share / 2, noise) for counts in above]
        answers = [
            _clipped_sum(int(sums[place]), int(thresholds[place]), share / 2, noise)
            for sums, place in zip(capped, places, strict=True)
        ]
        # Laplace noise of scale ``2 tau / share``.
        deviations = math.sqrt(2) * as_float(2 / share) * thresholds[places]
        return BatchOutput.of(answers, thresholds[places], deviations)

    def noise_law(self, epsilon: Number) -> None:
        """Nothing: clipping takes away what depends on the rows."""
        return

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales of the search and of a sum clipped at the uppermost threshold."""
        thresholds = self._thresholds
        widest = max(int(thresholds[-1]), (thresholds.size - 1).bit_length())
        return 2 * widest * self.queries.size / budget_of(epsilon)

    @property
    def _thresholds(self) -> Integers:
        return doubling(self.base, int(self.queries.limits.max()))


def bar(steps: int, scale: Fraction) -> int:
    """Bar that ``steps`` draws of discrete Laplace noise exceed with probability 0.05 at most.

    A draw exceeds a whole B with probability ``a^(B + 1) / (1 + a) <= exp(-B / scale) / 2``, where
    ``a = exp(-1 / scale) <= 1``; all of them together with ``steps`` times that.
    """
    return math.ceil(as_float(scale) * math.log(steps / (2 * _FAILURE)))


def _clip(above: Integers, epsilon: Fraction, noise: Noise) -> int:
    """Least threshold with few rows above it, as far as noise lets one see."""
    low, high = 0, above.size - 1
    steps = high.bit_length()
    scale = steps / epsilon
    few = bar(steps, scale)
    for _ in range(steps):
        if low == high:
            break
        middle = (low + high) // 2
        if noise.laplace(int(above[middle]), scale) <= few:
            high = middle
        else:
            low = middle + 1
    return low


def _clipped_sum(total: int, bound: int, epsilon: Fraction, noise: Noise) -> float:
    """Sum with noise of scale ``bound / epsilon``; clipped at 0 it is 0."""
    return as_float(noisy_value(total, bound / epsilon, noise)) if bound else 0.0
