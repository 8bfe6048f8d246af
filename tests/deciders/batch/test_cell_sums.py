"""Answers as sums of noisy cells: their laws against exact enumeration, and their deviations."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.cell_sums import (
    CellSum,
    CubePairError,
    JointCells,
    NoisyCells,
    PartNoise,
)
from pqd.deciders.distributions import NoiseSum

EPSILON = Fraction(1, 2)
SUMS = (
    CellSum.of([0, 1, 2], [], 5),
    CellSum.of([0], [3], 4),
    CellSum.of([2], [], 1),
    CellSum.of([], [], 7),
)
CELLS = [25, 0, 10, 5]


def test_answers_are_sums_over_a_divisor() -> None:
    cells = np.array(CELLS, object)
    assert [each.value(cells) for each in SUMS] == [7, 5, 10, 0]
    assert [each.draws for each in SUMS] == [3, 2, 1, 0]
    assert CellSum.of([0], [], 3).value(np.array([2**70 + 1], object)) == (2**70 + 1) / 3


@pytest.mark.parametrize("divisor", [1, 2, 5])
@pytest.mark.parametrize("draws", [1, 2])
def test_the_law_of_a_rounded_part_of_noise(divisor: int, draws: int) -> None:
    """Against the sum over all values of the noise."""
    noise = NoiseSum(draws, Fraction(3))
    law = PartNoise(noise, divisor)
    values = np.arange(-300, 301)
    tails = np.array([noise.at_least(int(x)) for x in [*values, 301]])
    chances = tails[:-1] - tails[1:]
    for x in range(1, 8):
        # Halves may be rounded away from 0.
        exact = chances[values / divisor >= x - 0.5].sum()
        assert law.at_least(x) == pytest.approx(exact, rel=1e-6)
        assert chances[np.round(values / divisor) >= x].sum() <= law.at_least(x) * (1 + 1e-9)


def exact_pair_tail(numbers: int, scale: Fraction, x: int) -> float:
    """``Pr[Z_1 + Z_2 >= x]`` by sums over the radius and the two coordinates."""
    radii = np.arange(400)
    weights = np.exp(-radii / float(scale)) * (2.0 * radii + 1) ** numbers
    weights /= weights.sum()
    tail = 0.0
    for radius, weight in zip(radii.tolist(), weights, strict=True):
        one = np.arange(-radius, radius + 1)
        above = np.clip(radius - (x - one) + 1, 0, 2 * radius + 1)
        tail += weight * above.sum() / (2 * radius + 1) ** 2
    return tail


@pytest.mark.parametrize(("numbers", "scale"), [(2, Fraction(5)), (6, Fraction(9, 2))])
def test_the_law_of_two_coordinates_of_cube_noise(numbers: int, scale: Fraction) -> None:
    law = CubePairError(numbers, scale)
    for x in (1, 5, 20, 60):
        exact = exact_pair_tail(numbers, scale, x)
        assert exact <= law.at_least(x) <= 1.15 * exact + 1e-9


@pytest.mark.parametrize("joint", [False, True])
def test_noise_is_as_large_as_the_deviations_and_laws_say(joint: bool) -> None:
    sums = SUMS[1:3] if joint else SUMS
    made = JointCells(4, 6, sums) if joint else NoisyCells("identity", 4, 6, sums)
    noise = SimulatedNoise(5)
    outputs = [made.release(CELLS, EPSILON, noise) for _ in range(4000)]
    exact = np.array([each.value(np.array(CELLS, object)) for each in sums])
    errors = np.array([output.answers for output in outputs]) - exact
    deviations = np.array(outputs[0].deviations)
    assert np.allclose(errors.std(axis=0), deviations, rtol=0.1)
    for column, law in zip(np.round(errors).T, made.noise_law(EPSILON), strict=True):
        for x in (1, 6):
            chance = law.at_least(x)
            slack = 5 * math.sqrt(chance * (1 - chance) / len(column)) + 1e-3
            assert (column >= x).mean() <= chance + slack


def test_scales_are_those_that_are_drawn() -> None:
    assert NoisyCells("workload", 4, 6, SUMS).largest_scale(EPSILON) == 12
    joint = JointCells(4, 6, SUMS[1:3])
    assert joint.id == "joint"
    assert joint.largest_scale(EPSILON) >= 12
