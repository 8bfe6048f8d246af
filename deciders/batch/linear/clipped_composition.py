"""Baseline: each query is answered alone, clipped at a private high quantile, at equal shares."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pqd.deciders.batch.base import BatchOutput, PrivacyBudget
from pqd.deciders.batch.linear.queries import NumericalQueries, doubling
from pqd.deciders.batch.linear.universe import Rows
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise, check_scale, noisy_value

# Probability that a clipping point exceeds twice the largest value.
_FAILURE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedComposition:
    """Mechanism of Huang, Liang and Yi (2021) for each of the queries (Qiu 2022, section 1).

    Half of a query's share pays for a binary search of a clipping point among
    ``0, base, 2 base, ...``.  Each of k steps compares a noisy number of rows above a threshold
    with ``bar``.  The other half pays for the sum that is clipped at the clipping point.  (The
    authors search among all values; powers of two lose at most a factor of 2 and need fewer
    steps.)

    With probability 0.95 the noise of all k comparisons stays below the bar (ours).  So with
    probability 0.95 the clipping point is at most twice the largest value.  Also with probability
    0.95, at most twice as many rows as the bar lie above it.  (Clipping ``2 / share`` rows would
    do as much harm as the noise.  But the search cannot detect so few rows.  Its noise has scale
    ``2 k / share``.  With a bar below this noise, it would go too high in most runs.)

    Guarantee: (epsilon, delta)-DP by ``PrivacyBudget.share`` over the queries, and by basic
    composition within each query.  A row moves a count by at most 1, and a sum clipped at tau by at
    most tau.
    """

    queries: NumericalQueries
    base: int = 1

    id: ClassVar[str] = "clipped_composition"
    key_fields: ClassVar[tuple[str, ...]] = ("base",)

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> BatchOutput:
        """Answers, clipping points, and deviations of the noise at the clipping points."""
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
        """None, because the loss by clipping depends on the rows."""
        return

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales of the search, and of a sum clipped at the highest threshold."""
        thresholds = self._thresholds
        widest = max(int(thresholds[-1]), (thresholds.size - 1).bit_length())
        return 2 * widest * self.queries.size / budget_of(epsilon)

    @property
    def _thresholds(self) -> Integers:
        return doubling(self.base, int(self.queries.limits.max()))


def bar(steps: int, scale: Fraction) -> int:
    """Bar that at least one of ``steps`` discrete Laplace draws exceeds with chance <= 0.05.

    A draw exceeds a whole B with probability ``a^(B + 1) / (1 + a) <= exp(-B / scale) / 2``, where
    ``a = exp(-1 / scale) <= 1``.  So some draw exceeds B with at most ``steps`` times this
    probability.
    """
    return math.ceil(as_float(scale) * math.log(steps / (2 * _FAILURE)))


def _clip(above: Integers, epsilon: Fraction, noise: Noise) -> int:
    """Place of the least threshold that only a few rows exceed, found by noisy comparisons."""
    places = range(above.size - 1)
    # A bisection makes at most this many comparisons, each with a draw of its own.
    steps = len(places).bit_length()
    scale = steps / epsilon
    few = bar(steps, scale)

    def is_enough(place: int) -> bool:
        return noise.laplace(int(above[place]), scale) <= few

    return bisect_left(places, x=True, key=is_enough)


def _clipped_sum(total: int, bound: int, epsilon: Fraction, noise: Noise) -> float:
    """Sum with noise of scale ``bound / epsilon``; a sum clipped at 0 is 0."""
    return as_float(noisy_value(total, bound / epsilon, noise)) if bound else 0.0
