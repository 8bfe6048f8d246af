"""A place is drawn with the probability of its weight."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders.noise import exponential_choice
from tests.support.linear_mechanisms import Silent
from tests.support.noises import LaplaceAlone


class Path(LaplaceAlone):
    """Takes prescribed choices and keeps the chance of having taken them."""

    simulated = True

    def __init__(self, path: list[bool]) -> None:
        self.path, self.chance = path, 1.0

    def laplace(self, statistic: int, scale: Fraction) -> int:
        raise AssertionError(statistic, scale)

    def choose(self, logit: float) -> bool:
        yes = self.path.pop(0) if self.path else True
        self.chance *= 1 / (1 + math.exp(-logit if yes else logit))
        return yes


def test_a_place_is_chosen_by_its_weight() -> None:
    for size in (1, 2, 5, 8):
        logs = np.random.default_rng(size).normal(0, 3, size)
        found = np.zeros(size)
        for code in range(8):
            noise = Path([bool(code & bit) for bit in (1, 2, 4)])
            place = exponential_choice(logs, noise)
            found[place] = noise.chance
        assert found == pytest.approx(np.exp(logs - np.logaddexp.reduce(logs)))
    assert exponential_choice(np.array([0.0, -1e6, -2e6]), Silent()) == 0
