"""Forecasts of verdicts on an excess: what most runs decide, and what would decide more."""

from fractions import Fraction
from typing import Any

import pytest

from pqd.deciders.risk.forecast import ExcessForecast

ALPHA = Fraction(1, 20)


def forecast(rate: float, rows: int, held_out_rows: int, **more: Any) -> ExcessForecast:
    return ExcessForecast(
        rate=rate, rows=rows, held_out_rows=held_out_rows, numbers=13, alpha=ALPHA, **more
    )


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.7, 1.0])
def test_a_tolerance_is_decided_from_the_threshold_on(rate: float) -> None:
    ward = forecast(rate, 4_500, 1_500)
    threshold = ward.tau_decided(1)
    assert 0.005 < threshold < 0.1
    assert ward.decides(1.02 * threshold, 1)
    assert not ward.decides(0.98 * threshold, 1)
    assert ward.tau_decided(10) < threshold < ward.tau_decided("0.1")


def test_the_least_epsilon_and_the_least_rows_decide_and_less_do_not() -> None:
    ward = forecast(0.0, 4_500, 1_500)
    epsilon, rows = ward.needed_epsilon(0.01, 1), ward.needed_held_out_rows(0.01, 1)
    assert epsilon is not None
    assert rows is not None
    assert ward.decides(0.01, epsilon)
    assert not ward.decides(0.01, 0.97 * epsilon)
    assert forecast(0.0, 4_500, rows).decides(0.01, 1)
    assert not forecast(0.0, 4_500, round(0.97 * rows)).decides(0.01, 1)
    # What is decided already needs no more.
    assert ward.needed_epsilon(0.05, 1) == 1
    assert ward.needed_held_out_rows(0.05, 1) == 1_500


def test_the_sampling_error_stays_at_any_epsilon_and_with_any_number_of_held_out_rows() -> None:
    guess = forecast(0.7, 4_500, 1_500)
    assert guess.needed_epsilon(0.01, 1) is None
    assert guess.needed_held_out_rows(0.01, 1) is None
    assert forecast(0.7, 200_000, 1_500).needed_held_out_rows(0.01, 1) is not None


def test_fewer_numbers_have_less_noise() -> None:
    every = forecast(0.0, 4_500, 1_500)
    alone = ExcessForecast(rate=0.0, rows=4_500, held_out_rows=1_500, numbers=1, alpha=ALPHA)
    assert alone.tau_decided(1) < 0.6 * every.tau_decided(1)


def test_an_excess_beyond_the_tolerance_is_decided_as_one() -> None:
    leak = forecast(0.01, 4_500, 1_500, excess=0.05)
    assert leak.decides(0.01, 1)
    near = forecast(0.01, 4_500, 1_500, excess=0.0101)
    assert not near.decides(0.01, 1)
    assert near.needed_epsilon(0.01, 1) is None


def test_new_noise_on_the_same_rows_is_less_than_new_rows() -> None:
    again = forecast(0.3, 20_000, 5_000, same_rows=True)
    assert again.tau_decided(1) < forecast(0.3, 20_000, 5_000).tau_decided(1)


@pytest.mark.parametrize(("rows", "held_out_rows"), [(1, 1), (100, 5), (5, 100_000)])
@pytest.mark.parametrize("excess", [0.0, 0.5])
def test_too_few_rows_decide_nothing(rows: int, held_out_rows: int, excess: float) -> None:
    few = forecast(0.5, rows, held_out_rows, excess=excess)
    assert few.tau_decided(1) > 0.2
    assert not few.decides(0.01, 1)
    assert few.needed_epsilon(0.01, 1) is None


def test_numbers_that_were_rounded_are_told_from_a_little_later() -> None:
    plain, rounded = forecast(0.1, 1_000, 1_000), forecast(0.1, 1_000, 1_000, rounding=0.5)
    assert plain.tau_decided(1) < rounded.tau_decided(1)
