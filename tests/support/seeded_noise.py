"""Noise of the tests' own process: of a seed, begun anew for every test and every shared fixture.

So what a test draws hangs on that test alone: on no chance, and on no test before it.  Marked
``secure_noise`` are the tests of the secure noise itself; what they allow for has odds of 1e-10.
"""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from pqd.deciders import SecureNoise, SimulatedNoise
from pqd.deciders.noise import check_scale

SEED = 1
METHODS = ("laplace", "gaussian", "cube", "choose", "least_place")
SECURE = {name: getattr(SecureNoise, name) for name in METHODS}


class SeededNoise(SecureNoise):
    """Methods that take the place of the secure noise's; a scale is refused as there."""

    drawn = SimulatedNoise(SEED)

    def laplace(self, statistic: int, scale: Fraction) -> int:
        check_scale(scale)
        return SeededNoise.drawn.laplace(statistic, scale)

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        check_scale(sigma)
        return SeededNoise.drawn.gaussian(statistic, sigma)

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        check_scale(scale)
        return SeededNoise.drawn.cube(statistics, scale)

    def choose(self, logit: float) -> bool:
        return SeededNoise.drawn.choose(logit)

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        check_scale(scale)
        return SeededNoise.drawn.least_place(scores, scale)


def begin_anew() -> None:
    """Draw from the start of the seed again."""
    SeededNoise.drawn = SimulatedNoise(SEED)


def take_place(patch: pytest.MonkeyPatch) -> None:
    """Draw all noise of this process from the seed."""
    for name in METHODS:
        patch.setattr(SecureNoise, name, vars(SeededNoise)[name])


def give_back(patch: pytest.MonkeyPatch) -> None:
    """Draw from the operating system, as the program does."""
    for name, method in SECURE.items():
        patch.setattr(SecureNoise, name, method)
