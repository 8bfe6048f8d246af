"""Sums of noise against convolutions by brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders import (
    ParameterError,
)
from pqd.deciders.distributions import Terms, noise_tail, weighted_noise_sum
from pqd.deciders.estimators import (
    RankCounts,
)
from tests.support.estimators import (
    released,
)


def brute_force(terms: Terms, scale: Fraction) -> tuple[int, list[float]]:
    """The distribution of a sum by convolution, which only adds and so keeps all digits."""
    reach = math.ceil(50 * scale)
    a = math.exp(-1 / scale)
    single = [(1 - a) / (1 + a) * a ** abs(z) for z in range(-reach, reach + 1)]
    whole = np.ones(1)
    for weight, count in terms:
        spread = np.zeros(2 * reach * weight + 1)
        spread[::weight] = single
        for _ in range(count):
            whole = np.convolve(whole, spread)
    return whole.size // 2, np.cumsum(whole[::-1])[::-1].tolist()


@pytest.mark.parametrize(
    "terms",
    [((1, 1),), ((1, 3),), ((3, 1),), ((9, 2), (1, 4)), ((1, 5), (2, 1)), ((5, 1), (3, 2))],
)
@pytest.mark.parametrize("scale", [Fraction(1, 20), Fraction(1, 3), Fraction(1), Fraction(5, 3)])
def test_a_sum_of_noises_is_the_convolution(terms: Terms, scale: Fraction) -> None:
    found = weighted_noise_sum(terms, scale)
    reach, tails = brute_force(terms, scale)
    for x in range(-found.reach - 3, found.reach + 4):
        # Beyond the convolution's own reach only 50 scales' worth of chance is left.
        true = 1.0 if x < -reach else tails[x + reach] if x <= reach else 0.0
        tail = float(found.at_least(x))
        assert true * (1 - 1e-12) - 1e-15 <= tail <= true * (1 + 1e-12) + 4e-15
    assert found.support.tolist() == list(range(-found.reach, found.reach + 1))
    assert found.chances == pytest.approx(found.chances[::-1], abs=1e-16)
    assert found.chances.min() >= 0
    assert found.chances.sum() == pytest.approx(1, abs=1e-13)
    assert np.all(np.diff(found.tails) <= 0)
    assert found.at_least([-(10**9), 10**9]).tolist() == [1.0, pytest.approx(0, abs=2e-15)]


def test_a_single_noise_has_the_tails_of_the_laplace_estimate() -> None:
    for scale in (Fraction(1, 3), Fraction(10), Fraction(1000)):
        found = weighted_noise_sum(((1, 1),), scale)
        for x in (-5, 0, 1, 2, 30, math.ceil(20 * scale)):
            assert float(found.at_least(x)) == pytest.approx(
                noise_tail(x, scale), rel=1e-9, abs=3e-15
            )


# Regression: 1 - a and the long cumulative sum lose digits (noise_sums.py).
def test_tails_of_a_long_sum_are_never_below_the_truth() -> None:
    scale = Fraction(5_000)
    found = weighted_noise_sum(((1, 1),), scale)
    for x in (1, 10, 100, 5_000, 15_000):
        assert float(found.at_least(x)) >= noise_tail(x, scale) - 1e-15


def test_a_sum_that_reaches_too_far_is_refused() -> None:
    with pytest.raises(ParameterError, match="fewer digits"):
        weighted_noise_sum(((1, 1),), Fraction(10**6))
    with pytest.raises(ParameterError, match="larger epsilon"):
        weighted_noise_sum(((99_991, 1), (9, 1)), Fraction(10))
    rank = RankCounts(cuts=(3,), p=Fraction(1, 99_991))
    with pytest.raises(ParameterError, match="reaches too far"):
        rank.below(released(1, 2), 3, "0.1")
