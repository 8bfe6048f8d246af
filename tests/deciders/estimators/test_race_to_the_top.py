"""Race-to-the-Top as an estimator: its claims, its lower end, its scales."""

import math
from fractions import Fraction

import pytest

from pqd.deciders import (
    Interval,
)
from pqd.deciders.estimators import (
    EstimatorOutput,
    RaceEstimate,
    within,
)
from pqd.deciders.single.base import estimate_of
from tests.support.estimators import (
    ends_of,
    released,
    scales_of,
)


# Regression: RaceEstimate.at_least takes cut - 1 for the nearest answer below (race_to_the_top.py).
def test_a_cut_of_a_race_between_whole_numbers_is_the_one_above() -> None:
    race, found = RaceEstimate(upper=9), released(95, 2)
    assert race.at_least(found, Fraction(41, 2), 1) == race.at_least(found, 21, 1)


def test_a_race_that_ends_at_zero_claims_nothing() -> None:
    race = RaceEstimate(upper=9)
    for cut in (-5, 0, 1, 100):
        assert race.at_least(released(0, 1), cut, 1) == 1
    assert race.at_least(released(20, 1), 22, 1) == 1
    assert race.at_least(released(20, 1), 21, 1) < 1
    assert race.below(released(20, 1), 10**9, 1) == 1
    assert within(race, released(20, 1), Interval(1, 10**6), 1) == 1
    assert ends_of(race, released(0, 1), 1, "0.05") == (0, math.inf)
    assert race.contains(released(0, 1), (0, 1))
    assert not race.contains(released(0, 1), (1, 2))


def test_a_claim_of_a_race_is_the_union_bound() -> None:
    race = RaceEstimate(upper=4, beta=0.1)
    # Rungs 2 and 4, log2 GS = 2: the scales are 4 and 8 at epsilon 1.
    found = released(81, 2)
    for cut in (1, 20, 41):
        excess = 40.5 - (cut - 1)
        expected = 0.1 / 4 * (math.exp(-excess / 4) + math.exp(-excess / 8))
        assert race.at_least(found, cut, 1) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("alpha", ["0.0001", "0.01", "0.02"])
@pytest.mark.parametrize("numbers", [(81, 2), (4000, 1), (1, 3), (7, 1), (10**15 + 1, 7)])
def test_the_lower_end_of_a_race_is_the_last_claim_that_holds(
    numbers: tuple[int, int], alpha: str
) -> None:
    race, found = RaceEstimate(upper=9), EstimatorOutput(numbers)
    low, high = race.confidence(found, 1, alpha)
    assert high is None
    assert low is not None
    assert low.denominator == 1
    assert low == 0 or race.at_least(found, low, 1) <= float(alpha)
    assert race.at_least(found, low + 1, 1) > float(alpha)


# Regression: RaceEstimate.confidence takes it that the claim of the estimate fails.
def test_the_lower_end_of_a_race_is_the_last_claim_that_holds_at_a_usual_level() -> None:
    """At 5% the claim of the estimate itself holds, so the end is not below it."""
    race, found = RaceEstimate(upper=9), released(81, 2)
    assert race.at_least(found, 41, 1) <= 0.05
    assert ends_of(race, found, 1, "0.05") == (41, math.inf)


# Regression: a factor of 64 was too small for bounds above 2^32 (decider.py).
def test_no_scale_of_a_race_with_huge_bounds_is_above_the_largest_one() -> None:
    race = RaceEstimate(upper=2**40 + 1)
    assert max(scales_of(race, 1)) <= race.largest_scale(1)


@pytest.mark.parametrize("alpha", ["0.0001", "0.05", "0.4"])
@pytest.mark.parametrize("numbers", [(81, 2), (4000, 1), (1, 3), (0, 1)])
def test_the_estimate_of_a_race_lies_in_its_own_interval(
    numbers: tuple[int, int], alpha: str
) -> None:
    race, found = RaceEstimate(upper=9), EstimatorOutput(numbers)
    value, low, high = estimate_of(race, found, 1, alpha)
    assert (low, high) == race.confidence(found, 1, alpha)
    assert value is not None
    assert low is not None
    # At a usual alpha the claims hold up to just above the number that was released.
    assert value == max(low, race.estimate(found))
    assert value - race.estimate(found) <= 1
