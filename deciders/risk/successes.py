"""Release of the success counts of several attacks, and of the number of rows, all together.

An attack is a public function of one row: it succeeds on the row, or it fails.  So one row moves
each count, and the number of rows, by at most 1 (docs/theory.md, Theorem R1).

What is released of an attack is its balance, successes less failures, which one row moves by 1 up
or down.  A count would use half of what cube noise hides: one row never moves it the other way.
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
# Steps by which an interval shrinks, and parts of 1 to which a weight is rounded up.
_STEPS, _PARTS = 4, 64


def release_successes(
    rows: Fraction, successes: Sequence[Fraction], epsilon: Number, noise: Noise
) -> tuple[int, ...]:
    """Noisy number of rows, then the noisy balance of each attack: successes less failures.

    Guarantee: epsilon-DP.  One row moves every number by at most 1, up or down, so it moves the
    vector by at most 1 in the largest coordinate (Hardt and Talwar 2010; Theorem R1).
    """
    if not successes:
        raise ParameterError("there is no attack; at least 1 is needed")
    exact = [whole_rows(rows), *(whole_rows(2 * each - rows) for each in successes)]
    return tuple(noise.cube(exact, 1 / budget_of(epsilon)))


def law_of(attacks: int, epsilon: Number) -> CubeLaw:
    """Law of the noise of each number in a release of so many attacks."""
    return CubeLaw(attacks + 1, 1 / budget_of(epsilon))


@dataclass(frozen=True, slots=True)
class Successes:
    """Released number of rows, and of successes of one attack, and the law of each noise.

    ``successes`` are half the sum of the released rows and the released balance.  ``rounding`` is
    the most by which a released number was rounded to whole rows before the noise.
    """

    rows: int
    successes: float
    law: CubeLaw
    rounding: float = 0.0

    @classmethod
    def of(cls, rows: int, balance: int, law: CubeLaw, rounding: float = 0.0) -> "Successes":
        """Successes by a released balance."""
        return cls(rows, (rows + balance) / 2, law, rounding)

    @property
    def rate(self) -> float:
        """Estimated share of the rows on which the attack succeeds."""
        return min(max(self.successes / self.rows, 0.0), 1.0) if self.rows > 0 else 0.0

    def noise(self, rate: float) -> CubeNoise:
        """Noise of ``successes - rate * rows``.

        It is half the noise of the balance, and the noise of the rows times ``1/2 - rate``, which
        is rounded up; this only widens it.
        """
        return CubeNoise(self.law, tuple((weight, 1) for weight in _weights(rate)))

    def rounded(self, rate: float) -> float:
        """Most by which rounding to whole rows moves ``successes - rate * rows``."""
        return sum(_weights(rate)) * self.rounding

    def interval(self, alpha: float) -> ShareEstimate:
        """Share of these very rows on which the attack succeeds, with its interval.

        It holds every share t for which the noise does not reject ``successes = t rows``.  The
        critical value at the end of an interval that is farther from 1/2 holds for all of it
        (Theorem D7), so each step keeps what was not rejected before.
        """
        low, high = 0.0, 1.0
        for _ in range(_STEPS):
            reach = max(self._reach(low, alpha), self._reach(high, alpha))
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
        return critical(self.law, _weights(rate), alpha) + self.rounded(rate)


def _weights(rate: float) -> tuple[float, ...]:
    """Weights of the noises of the balance and of the rows in ``successes - rate * rows``."""
    rows = rounded_up(abs(0.5 - rate))
    return (0.5, rows) if rows else (0.5,)


def rounded_up(weight: float) -> float:
    """Weight, rounded up to one of few values, so that laws are computed once."""
    return min(1.0, -(-weight * _PARTS // 1) / _PARTS)
