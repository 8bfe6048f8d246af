"""Release of the success counts of several attacks, and of the number of rows, all together.

An attack is a public function of one row: it succeeds on the row, or it fails.  So one row moves
each count, and the number of rows, by at most 1 (docs/theory.md, Theorem R1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.distances.cube_law import CubeLaw, CubeNoise
from pqd.deciders.distances.ratio_intervals import ShareEstimate
from pqd.deciders.distances.relations import critical
from pqd.deciders.distances.statistics import whole_rows
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.noise import Noise

# Name of the mechanism in keys and reports.
CUBE_SUCCESSES = "cube_successes"
# Steps by which an interval shrinks, and parts of 1 to which a rate is rounded up.
_STEPS, _PARTS = 4, 64


def release_successes(
    rows: Fraction, successes: Sequence[Fraction], epsilon: Number, noise: Noise
) -> tuple[int, ...]:
    """Noisy number of rows, then the noisy number of successes of each attack.

    Guarantee: epsilon-DP.  One row moves every number by at most 1, so it moves the vector by at
    most 1 in the largest coordinate (Hardt and Talwar 2010; Theorem R1).
    """
    if not successes:
        raise ParameterError("there is no attack; at least 1 is needed")
    exact = [whole_rows(rows), *map(whole_rows, successes)]
    return tuple(noise.cube(exact, 1 / budget_of(epsilon)))


def law_of(attacks: int, epsilon: Number) -> CubeLaw:
    """Law of the noise of each number in a release of so many attacks."""
    return CubeLaw(attacks + 1, 1 / budget_of(epsilon))


@dataclass(frozen=True, slots=True)
class Successes:
    """Released number of rows and of successes of one attack, and the law of each noise.

    ``rounding`` is the most by which a number was rounded to whole rows before the noise.
    """

    rows: int
    successes: int
    law: CubeLaw
    rounding: float = 0.0

    @property
    def rate(self) -> float:
        """Estimated share of the rows on which the attack succeeds."""
        return min(max(self.successes / self.rows, 0.0), 1.0) if self.rows > 0 else 0.0

    def noise(self, rate: float) -> CubeNoise:
        """Noise of ``successes - rate * rows``; the rate is rounded up, which only widens it."""
        return CubeNoise(self.law, ((1.0, 1), (rounded_up(rate), 1)) if rate > 0 else ((1.0, 1),))

    def interval(self, alpha: float) -> ShareEstimate:
        """Share of these very rows on which the attack succeeds, with its interval.

        It holds every share t for which the noise does not reject ``successes = t rows``.  The
        critical value at the largest t of an interval holds for all of it (Theorem D7), so each
        step keeps what was not rejected before.
        """
        low, high = 0.0, 1.0
        for _ in range(_STEPS):
            reach = self._reach(high, alpha)
            if self.rows <= reach:
                break
            low = max(low, (self.successes - reach) / self.rows)
            high = min(high, max((self.successes + reach) / self.rows, 0.0))
        low, high = min(low, 1.0), min(max(high, low), 1.0)
        return ShareEstimate(min(max(self.rate, low), high), low, high)

    def rows_interval(self, alpha: float) -> ShareEstimate:
        """Number of rows, with its interval."""
        reach = critical(self.law, (1.0,), alpha) + self.rounding
        return ShareEstimate(
            float(max(self.rows, 0)), max(self.rows - reach, 0.0), max(self.rows + reach, 0.0)
        )

    def _reach(self, rate: float, alpha: float) -> float:
        weights = (1.0, rounded_up(rate)) if rate > 0 else (1.0,)
        return critical(self.law, weights, alpha) + (1 + rate) * self.rounding


def rounded_up(rate: float) -> float:
    """Rate, rounded up to one of few values, so that laws are computed once."""
    return min(1.0, -(-rate * _PARTS // 1) / _PARTS)
