"""Noise on classes: the loss of every pair of neighbours, exactly, and a twin."""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pqd.deciders.batch.linear.conditions import Subsets
from pqd.deciders.batch.linear.laplace import NoisyClasses
from pqd.deciders.batch.linear.queries import NumericalQueries
from pqd.deciders.batch.linear.universe import DigitUniverse, LevelUniverse, Rows, Universe
from tests.support.noises import LaplaceAlone

EPSILON = Fraction(1, 3)
MATRIX = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]], dtype=bool)
WEIGHTS = np.array([[0, 1, 4], [0, 2, 3], [1, 1, 2], [5, 5, 9]])


@dataclass
class Recording(LaplaceAlone):
    """Noise that keeps what it was asked and adds nothing."""

    simulated: bool = False
    asked: list[tuple[int, Fraction]] = field(default_factory=list)

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.asked.append((statistic, scale))
        return statistic

    def choose(self, logit: float) -> bool:
        raise AssertionError(logit)


class Quieter(NoisyClasses):
    """Wrong: one unit."""

    @property
    def norm(self) -> int:
        return 1


UNIVERSES: list[Universe] = [
    LevelUniverse(4, WEIGHTS),
    DigitUniverse(4, 6),
    LevelUniverse(4, np.ones((1, 1), np.int64)),
]


def rows(pairs: list[tuple[int, int]]) -> Rows:
    held = np.array(pairs, np.int64).reshape(-1, 2)
    return Rows(held[:, 0], held[:, 1])


def worst_loss(plan: NoisyClasses) -> Fraction:
    """Largest privacy loss over a table and every row that may be added to it."""
    base = [(0, 1), (2, 2), (3, 0)]
    losses = []
    for extra in product(range(4), range(7)):
        asked = []
        for pairs in ([], base, [*base, extra], [extra]):
            noise = Recording()
            plan.release(rows(list(pairs)), EPSILON, noise)
            asked.append(noise.asked)
        for one, other in ((asked[0], asked[3]), (asked[1], asked[2])):
            # The scales are public: the same on both.
            assert [scale for _, scale in one] == [scale for _, scale in other]
            pairs_of = zip(one, other, strict=True)
            losses.append(sum((abs(a - b) / scale for (a, scale), (b, _) in pairs_of), Fraction(0)))
    return max(losses)


@pytest.mark.parametrize("universe", UNIVERSES)
def test_no_row_costs_more_than_epsilon(universe: Universe) -> None:
    loss = worst_loss(NoisyClasses(queries=NumericalQueries(Subsets(MATRIX), universe)))
    assert 0 < loss <= EPSILON


def test_a_wrong_norm_is_caught() -> None:
    assert worst_loss(Quieter(queries=NumericalQueries(Subsets(MATRIX), UNIVERSES[0]))) > EPSILON


def test_answers_without_noise_are_exact() -> None:
    rng = np.random.default_rng(4)
    for universe in UNIVERSES:
        queries = NumericalQueries(Subsets(MATRIX), universe)
        table = Rows(rng.integers(0, 4, 50), rng.integers(0, 7, 50))
        worth = universe.values(table)
        expected = [int(worth[line[table.classes]].sum()) for line in MATRIX]
        released = NoisyClasses(queries=queries).release(table, EPSILON, Recording())
        assert list(released.answers) == expected
