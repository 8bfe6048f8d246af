"""Bounds on the excess of a copy that was made with differential privacy."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders.errors import ParameterError
from pqd.deciders.risk.bounds import excess_bound, rate_bound


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), "0.5", 1, 3])
def test_the_largest_bound_is_the_hyperbolic_tangent(epsilon: Fraction | str | int) -> None:
    rates = np.linspace(0, 1, 100_001)
    most = max(rate_bound(epsilon, rate) - rate for rate in rates)
    assert excess_bound(epsilon) == pytest.approx(math.tanh(float(Fraction(epsilon))), abs=1e-12)
    assert most == pytest.approx(excess_bound(epsilon), abs=1e-4)


def test_a_range_of_rates_has_the_bound_of_its_worst_rate() -> None:
    for low, high in [(0.0, 0.01), (0.001, 0.9), (0.6, 0.9), (0.3, 0.3), (0.0, 1.0)]:
        rates = np.linspace(low, high, 20_001)
        most = max(rate_bound(1, rate) - rate for rate in rates)
        assert most == pytest.approx(excess_bound(1, low, high), abs=1e-4)
        assert most <= excess_bound(1, low, high) + 1e-12


def test_a_randomised_answer_about_every_row_stays_within_the_bound() -> None:
    """The copy says of each row whether it is a member, and lies with probability 1/(1 + e)."""
    for epsilon in (0.1, 1.0, 4.0):
        true = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert true <= rate_bound(epsilon, 1 - true)
        assert 2 * true - 1 <= excess_bound(epsilon, 1 - true, 1 - true)


def test_ends() -> None:
    assert rate_bound(1, 0.0) == 0
    assert rate_bound(1, 1.0) == 1
    assert excess_bound(10**6) == pytest.approx(1)
    assert excess_bound(1, 0.0, 0.0) == 0
    with pytest.raises(ParameterError, match="epsilon"):
        excess_bound(0)
