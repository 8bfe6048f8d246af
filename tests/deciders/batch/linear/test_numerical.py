"""Algorithms 1 and 2: the search for thresholds, and what it leaves above them."""

import numpy as np
import pytest

from pqd.deciders import SecureNoise
from pqd.deciders.batch.linear.numerical import Numerical, first_few
from pqd.deciders.batch.linear.queries import doubling
from tests.support.linear_mechanisms import REDUCED, TABLE, Silent


def literal_search(above: list[float], thresholds: list[int], alpha: float, peak: int) -> int:
    """Lines 4 to 17 of Algorithm 1, written down from the paper."""
    if above[0] <= alpha:
        return 0
    place = 1
    while thresholds[place] < peak:
        if above[place] <= alpha:
            return thresholds[place]
        place += 1
    return thresholds[place]


def test_the_search_is_that_of_algorithm_1() -> None:
    thresholds = doubling(1, 16)
    handmade = np.array(
        [
            [9.0, 9, 9, 9, 9, 9],
            [3.0, 9, 9, 9, 9, 0],
            [9.0, 9, 3, 9, 9, 0],
            [3.5, 3.1, 3.0001, 3, 2, 0],
        ]
    )
    assert thresholds[first_few(handmade, 3.0)].tolist() == [16, 0, 2, 4]
    noisy = np.random.default_rng(11).normal(3, 3, (500, 6))
    noisy[:, -1] = 0
    found = thresholds[first_few(noisy, 2.0)]
    for line, threshold in zip(noisy.tolist(), found.tolist(), strict=True):
        assert threshold == literal_search(line, thresholds.tolist(), 2.0, 16)


def test_a_threshold_per_query() -> None:
    above = np.array([[5.0, 3.0, 0.0], [5.0, 3.0, 0.0]])
    alphas = np.array([[5.0, 0.0, 0.0], [4.0, 2.0, 1.0]])
    assert first_few(above, alphas).tolist() == [0, 2]


def test_thresholds_without_noise_leave_at_most_alpha_above() -> None:
    released = Numerical(queries=REDUCED).fit(TABLE, 10**6, Silent())
    assert released.alpha is not None
    above = REDUCED.table_tails(TABLE, doubling(1, 20))[0]
    kept = doubling(1, 20).searchsorted(released.thresholds)
    bits_above = REDUCED.tails(REDUCED.counts(TABLE), doubling(1, 16))[0]
    for place, threshold in enumerate(released.thresholds):
        assert bits_above[place, kept[place]] <= 2 * released.alpha + 1
        assert threshold <= 2 * max(1, 12)
    assert above.shape == (21, 7)


@pytest.mark.secure_noise
def test_secure_noise_serves_as_well() -> None:
    released = Numerical(queries=REDUCED).release(TABLE, 2, SecureNoise(), "1e-6")
    assert len(released.answers) == REDUCED.size
