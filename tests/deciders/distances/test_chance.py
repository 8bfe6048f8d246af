"""What chance alone gives: drawings by enumeration, two samples by simulation, joint quantiles."""

import itertools
import math

import numpy as np
import pytest

from pqd.deciders import ParameterError
from pqd.deciders.distances.chance import (
    JointChance,
    drawn_distance,
    independent_distance,
    simulated_deviations,
)


@pytest.mark.parametrize("copy", [(1, 2, 3), (5, 0, 5), (1, 1, 1), (4, 0, 0)])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_a_drawing_by_every_table_it_can_be(copy: tuple[int, ...], n: int) -> None:
    p = np.array(copy) / sum(copy)
    mean = 0.0
    for counts in itertools.product(range(n + 1), repeat=3):
        if sum(counts) == n:
            ways = math.factorial(n) / math.prod(map(math.factorial, counts))
            distance = np.abs(np.array(counts) / n - p).sum() / 2
            mean += ways * math.prod(p ** np.array(counts)) * distance
    assert drawn_distance(copy, n) == pytest.approx(mean, abs=1e-12)


def test_a_drawing_of_many_rows() -> None:
    """By the normal law: each cell deviates by ``sqrt(2 n p (1 - p) / pi)`` on average."""
    copy, n = np.arange(1, 400), 10**9
    p = copy / copy.sum()
    expected = np.sqrt(2 * p * (1 - p) / (math.pi * n)).sum() / 2
    assert drawn_distance(copy, n) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("cells", "rows", "copy_rows"),
    [(3, 500, 500), (40, 500, 500), (400, 2_000, 2_000), (400, 500, 5_000), (100, 4_000, 1_000)],
)
def test_two_independent_samples(cells: int, rows: int, copy_rows: int) -> None:
    """The mean over copies is that of the distances, within 2 % and the simulation's error."""
    rng, found, true = np.random.default_rng(cells), [], []
    for _ in range(200):
        law = rng.dirichlet(np.full(cells, 0.3)) if cells > 50 else np.full(cells, 1 / cells)
        private, copy = rng.multinomial(rows, law), rng.multinomial(copy_rows, law)
        found.append(independent_distance(copy, rows))
        true.append(np.abs(private / rows - copy / copy_rows).sum() / 2)
    error = 3 * np.std(np.subtract(found, true)) / math.sqrt(len(true))
    assert np.mean(found) == pytest.approx(np.mean(true), abs=error + 0.02 * np.mean(true))


def test_two_samples_of_one_population_are_farther_than_a_drawing() -> None:
    copy = np.arange(1, 60)
    drawn, both = drawn_distance(copy, 1_770), independent_distance(copy, 1_770)
    assert both == pytest.approx(math.sqrt(2) * drawn, rel=0.03)
    assert independent_distance([7, 0, 0], 5) == 0


def test_chance_needs_rows() -> None:
    for copy, n in (((1, 2), 0), ((0, 0), 5), ((-1, 2), 5)):
        for distance in (drawn_distance, independent_distance):
            with pytest.raises(ParameterError, match="chance needs rows"):
                distance(copy, n)


def test_deviations_of_parts_and_of_drawings() -> None:
    """By hand: four rows, cells a a b b and one cell; one table with each pair of rows."""
    cells = [np.array([0, 0, 1, 1]), np.zeros(4, np.int64)]
    draws = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], np.int16)
    two, ones = np.full(2, 2.0), np.ones(4)
    parts = simulated_deviations(cells, draws, ones, two, two)
    assert parts.tolist() == [[0.5, 0], [-0.5, 0]]
    whole = simulated_deviations(cells, draws, ones, two, np.zeros(2))
    assert whole.tolist() == [[0.25, 0], [-0.25, 0]]


def test_joint_quantiles() -> None:
    """A mean of opposite deviations has none, and the largest of many is that of one table."""
    spread = np.linspace(-1, 1, 2_001)
    chance = JointChance(np.array([5.0, 7.0]), np.stack([spread, -2 * spread], axis=1))
    assert chance.quantile(0.975, [2 / 3, 1 / 3]) == pytest.approx(17 / 3)
    assert chance.quantile(0.975, [1, 0]) == pytest.approx(5.951)
    assert chance.quantile(0.025, [1, 0]) == pytest.approx(4.049)
    both = np.array([[1, 0, 0.5], [0, 1, 0.5]])
    marks = chance.at_once(0.05, both)
    assert marks[:2] == pytest.approx([5.95, 8.9], abs=3e-3)
    means = chance.means @ both
    assert marks[2] == pytest.approx(means[2] + 0.475, abs=3e-3)
    share = ((means + chance.deviations @ both) > marks).any(axis=1).mean()
    assert share == pytest.approx(0.05, abs=0.001)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.975, 0.999])
def test_quantiles_of_few_simulations_are_rounded_away_from_the_middle(share: float) -> None:
    """One more value of the same law lies beyond with at most the stated probability."""
    chance = JointChance(np.zeros(1), np.arange(1.0, 201.0)[:, None])
    place = chance.quantile(share, [1])
    if share < 0.5:
        assert place / 201 <= share < (place + 1) / 201
    else:
        assert place == 200 or (place - 1) / 201 < share <= place / 201
