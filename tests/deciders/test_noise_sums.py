"""Sums of noise of one weight against convolutions: tails, and what lies inside."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders import Decision, Interval
from pqd.deciders.batch.decision_rule import (
    answer_verdict,
    rates,
    reach,
)
from pqd.deciders.distributions import NoiseSum
from pqd.deciders.evaluation.effectiveness import ErrorRates
from tests.support.noise_sums import NOISE, chances, named, tail

# What a tail is overstated by at most: its own allowance, and the rounding of the reference.
MORE, NEAR = 1 + 2e-8, 1.2e-12


@pytest.mark.parametrize("noise", NOISE, ids=named)
def test_tails_are_those_of_the_convolution(noise: NoiseSum) -> None:
    exact = chances(noise)
    for x in range(-60, 61):
        truth = math.fsum(chance for z, chance in exact.items() if z >= x)
        assert truth - 2e-15 <= noise.at_least(x) <= truth * MORE + NEAR, x
        assert abs(tail(noise, x) - truth) < 2e-15, "both references agree"


@pytest.mark.parametrize("noise", NOISE, ids=named)
def test_tails_fall_from_one_to_nothing(noise: NoiseSum) -> None:
    most = math.ceil(2000 * noise.scale) + 60
    places = sorted(
        {*range(-40, 41), *(sign * most * k // 7 for k in range(8) for sign in (1, -1))}
    )
    found = [noise.at_least(x) for x in places]
    assert found == sorted(found, reverse=True)
    assert 1 - 1e-15 < found[0] <= 1
    assert 0 <= found[-1] < NEAR
    assert noise.at_least(2**70) < NEAR
    assert noise.at_least(-(2**70)) == 1


@pytest.mark.parametrize(
    "noise",
    [
        NoiseSum(900, Fraction(1, 2)),
        NoiseSum(2**16, Fraction(1)),
        NoiseSum(2**16, Fraction(4)),
    ],
    ids=named,
)
def test_tails_of_many_draws_are_never_below_the_truth(noise: NoiseSum) -> None:
    """Rounding adds up over the draws: it must not take away from a p-value."""
    deviation = float(noise.scale) * math.sqrt(2 * noise.count)
    for far in np.arange(-5, 7.5, 0.5):
        x = round(far * deviation)
        truth = tail(noise, x)
        # The reference itself is right to some 1e-15.
        assert truth - 2e-15 <= noise.at_least(x) <= truth * MORE + NEAR, far


@pytest.mark.parametrize(
    "noise",
    [
        NoiseSum(20, Fraction(10**5)),
        NoiseSum(60, Fraction(10**9, 3)),
        NoiseSum(300, Fraction(10**6)),
        NoiseSum(3000, Fraction(10**7)),
        NoiseSum(2**16, Fraction(10**6)),
    ],
    ids=named,
)
def test_tails_of_wide_sums_are_next_to_the_truth(noise: NoiseSum) -> None:
    deviation = float(noise.scale) * math.sqrt(2 * noise.count)
    for far in np.arange(-3, 6.5, 0.5):
        x = round(far * deviation)
        truth, found = tail(noise, x), noise.at_least(x)
        assert truth - 1e-15 <= found <= truth * MORE + NEAR, far


def test_tails_of_two_wide_draws_are_those_of_laplace_noise() -> None:
    """The sum of two Laplace draws of scale 1 is beyond x with ``(2 + x) exp(-x) / 4``."""
    scale = Fraction(2**40)
    noise = NoiseSum(2, scale)
    for far in (0.1, 1.0, 3.0, 10.0, 20.0):
        truth = (2 + far) * math.exp(-far) / 4
        assert truth * (1 - 1e-9) <= noise.at_least(round(far * scale)) <= truth * MORE + NEAR


def test_a_sum_of_no_draws_is_nothing() -> None:
    none = NoiseSum(0, Fraction(3))
    assert [none.at_least(x) for x in (-1, 0, 1)] == [1, 1, 0]
    assert [none.inside(*ends) for ends in ((0, 1), (-4, 5), (1, 5), (-5, 0))] == [1, 1, 0, 0]
    assert answer_verdict(none, 0, Interval(-1, 1)) == Decision(
        outcome=True, p_value=0.0, released=(0,)
    )
    assert answer_verdict(none, 3, Interval(-1, 1)) == Decision(
        outcome=False, p_value=0.0, released=(3,)
    )
    assert rates(none, Fraction(1, 2)) == ErrorRates(0.0, 0.0)
    assert reach(none, 0.05) == 0


@pytest.mark.parametrize("noise", NOISE, ids=named)
def test_inside_is_what_the_convolution_has_there(noise: NoiseSum) -> None:
    exact = chances(noise)
    ends = (-30, -9, -3, -1, 0, 1, 2, 5, 11, 40)
    for first in ends:
        for beyond in ends:
            truth = math.fsum(chance for z, chance in exact.items() if first <= z < beyond)
            found = noise.inside(first, beyond)
            assert abs(found - truth) < 3e-8, (first, beyond)
            assert abs(found - noise.inside(1 - beyond, 1 - first)) < 1e-15
            assert 0 <= found <= 1


def test_inside_keeps_its_digits_where_it_is_small() -> None:
    noise = NoiseSum(1, Fraction(2))
    a = math.exp(-0.5)
    assert math.isclose(noise.inside(120, 122), (1 - a) / (1 + a) * (a**120 + a**121), rel_tol=1e-7)
    assert noise.inside(-121, -119) == noise.inside(120, 122)
