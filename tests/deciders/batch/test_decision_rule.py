"""Verdicts from released answers: p-values, reach, rates and thresholds."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from pqd.deciders import Decision, Interval
from pqd.deciders.batch.decision_rule import (
    Errors,
    SimulatedErrors,
    accept,
    answer_verdict,
    decision_chance,
    on_either_side,
    rates,
    reach,
    threshold,
)
from pqd.deciders.distributions import NoiseSum
from pqd.deciders.evaluation.effectiveness import ErrorRates
from tests.support.noise_sums import NOISE, chances, named, tail

INTERVALS = [
    Interval(10, 20),
    Interval(10, 12),
    Interval(Fraction(21, 2), Fraction(33, 2)),
    Interval(-3, Fraction(7, 3)),
    Interval(Fraction(1, 3), Fraction(2, 3)),
]


Rule = Callable[[Errors, int, Interval], Decision]


def wrong_levels(rule: Rule, noise: NoiseSum, interval: Interval) -> list[tuple[int, float]]:
    """Answers and levels at which the p-value of a false claim is too often that small."""
    exact = chances(noise)
    span = range(math.floor(interval.lower) - 4, math.ceil(interval.upper) + 5)
    verdicts: dict[int, Decision] = {}
    found = []
    for truth in span:
        against: list[tuple[float, float]] = []
        for z, chance in exact.items():
            if truth + z not in verdicts:
                verdicts[truth + z] = rule(noise, truth + z, interval)
            verdict = verdicts[truth + z]
            assert verdict.p_value is not None
            if verdict.outcome != interval.contains(truth):
                against.append((verdict.p_value, chance))
        for level in (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, *(p for p, _ in against[::7])):
            often = math.fsum(chance for p, chance in against if p <= level)
            if often > level * (1 + 1e-14):
                found.append((truth, level))
    return found


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
@pytest.mark.parametrize("noise", NOISE, ids=named)
def test_a_false_claim_has_a_small_p_no_more_often_than_p(
    noise: NoiseSum, interval: Interval
) -> None:
    assert wrong_levels(answer_verdict, noise, interval) == []


def off_by_one(errors: Errors, released: int, interval: Interval) -> Decision:
    """Wrong: as if the answer had to be one farther out to be outside."""
    low, high = math.floor(interval.lower) + 1, math.ceil(interval.upper)
    if not low <= released < high:
        return answer_verdict(errors, released, interval)
    assert isinstance(errors, NoiseSum)
    p = max(errors.at_least(released - low + 2), errors.at_least(high - released + 1))
    return Decision(outcome=True, p_value=p)


def nearer_end(errors: Errors, released: int, interval: Interval) -> Decision:
    """Wrong: within is proved of the farther end alone."""
    low, high = math.floor(interval.lower) + 1, math.ceil(interval.upper)
    if not low <= released < high:
        return answer_verdict(errors, released, interval)
    assert isinstance(errors, NoiseSum)
    p = min(errors.at_least(released - low + 1), errors.at_least(high - released))
    return Decision(outcome=True, p_value=p)


def fewer_draws(errors: Errors, released: int, interval: Interval) -> Decision:
    """Wrong: as if an answer held one draw, however many it adds up."""
    assert isinstance(errors, NoiseSum)
    return answer_verdict(NoiseSum(1, errors.scale), released, interval)


def single_sided(errors: Errors, released: int, interval: Interval) -> Decision:
    """Wrong: without Bonferroni's factor for the two ways to be outside."""
    right = answer_verdict(errors, released, interval)
    p = right.p_value or 0.0
    return right if right.outcome else Decision(outcome=False, p_value=p / 2)


@pytest.mark.parametrize("rule", [off_by_one, nearer_end, fewer_draws, single_sided])
def test_wrong_p_values_are_caught(rule: Rule) -> None:
    noise = NoiseSum(5, Fraction(5, 2))
    assert any(wrong_levels(rule, noise, Interval(10, end)) for end in (12, 40))


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
def test_the_verdict_is_that_of_the_released_answer(interval: Interval) -> None:
    for errors in (NOISE[0], NOISE[5], SimulatedErrors((1.0, -2.0))):
        for released in range(-20, 40):
            found = answer_verdict(errors, released, interval)
            assert found.outcome == interval.contains(released)
            assert found.margin is None
            assert (found.p_value is None) == isinstance(errors, SimulatedErrors)


def test_an_interval_that_holds_no_whole_number_is_sure() -> None:
    assert answer_verdict(NOISE[0], 0, Interval(Fraction(1, 3), Fraction(2, 3))) == Decision(
        outcome=False, p_value=0.0, released=(0,)
    )


def test_a_p_value_tends_to_nothing_with_the_distance() -> None:
    interval = Interval(0, 1000)
    for noise in (NOISE[0], NOISE[5]):
        inside = [answer_verdict(noise, r, interval).p_value or 0.0 for r in (1, 10, 100, 500)]
        outside = [
            answer_verdict(noise, r, interval).p_value or 0.0 for r in (1000, 1010, 1100, 5000)
        ]
        for found in (inside, outside):
            assert found == sorted(found, reverse=True)
            assert found[0] > 0.3
            assert found[-1] < 1e-11


@pytest.mark.parametrize("alpha", [0.5, 0.05, "1/30", 0.001, 1e-6])
@pytest.mark.parametrize("noise", NOISE, ids=named)
def test_the_reach_covers_as_often_as_it_says(noise: NoiseSum, alpha: float | str) -> None:
    level, far = float(Fraction(alpha)), reach(noise, alpha)
    exact = chances(noise)
    missed = math.fsum(chance for z, chance in exact.items() if abs(z) > far)
    assert missed <= 2 * level + 1e-15
    # One less, or half a per cent of it, would not do.
    nearer = far - 1 - far // 100
    assert far <= 1 or math.fsum(p for z, p in exact.items() if abs(z) > nearer) > 2 * level


def test_the_reach_of_a_wide_sum_covers() -> None:
    noise = NoiseSum(300, Fraction(10**6))
    assert 0.048 < tail(noise, reach(noise, 0.05) + 1) <= 0.05


TAUS = [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(4), Fraction(29, 3), Fraction(25)]


@pytest.mark.parametrize("noise", NOISE, ids=named)
def test_rates_are_those_of_every_value(noise: NoiseSum) -> None:
    exact = chances(noise)
    for tau in TAUS:
        at = {
            gap: math.fsum(p for z, p in exact.items() if abs(gap + z) < tau)
            for gap in (0, math.ceil(2 * tau), -math.ceil(2 * tau))
        }
        for gap, chance in at.items():
            assert abs(accept(noise, gap, tau) - chance) < 3e-8
        found = rates(noise, tau)
        assert abs(found.false_no - (1 - at.pop(0))) < 3e-8
        assert abs(found.false_yes - max(at.values())) < 3e-8


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize("noise", NOISE, ids=named)
def test_the_threshold_is_about_the_least_whole_tau(noise: NoiseSum, alpha: float) -> None:
    exact = chances(noise)

    def worst(tau: int) -> float:
        no = math.fsum(p for z, p in exact.items() if abs(z) >= tau)
        return max(no, math.fsum(p for z, p in exact.items() if abs(2 * tau + z) < tau))

    found = threshold(noise, alpha)
    assert found.exact
    assert worst(int(found.tau)) <= alpha
    least = next(tau for tau in range(1, 10_000) if worst(tau) <= alpha)
    assert least <= found.tau <= least + 1 + least / 100


@pytest.mark.parametrize("alpha", [0.3, 0.05])
@pytest.mark.parametrize(
    "interval", [Interval(-9, 9), Interval(10, 20), Interval(-40, 40)], ids=str
)
@pytest.mark.parametrize("noise", NOISE, ids=named)
def test_the_chance_of_a_decision_is_that_of_every_value(
    noise: NoiseSum, interval: Interval, alpha: float
) -> None:
    exact, centre = chances(noise), round(interval.centre)
    gap = math.ceil(2 * interval.tau)

    def decided(answer: int) -> float:
        right = interval.contains(answer)
        verdicts = ((answer_verdict(noise, answer + z, interval), p) for z, p in exact.items())
        return math.fsum(
            p
            for verdict, p in verdicts
            if verdict.outcome == right and verdict.p_value is not None and verdict.p_value <= alpha
        )

    least = min(decided(centre), decided(centre - gap), decided(centre + gap))
    assert decision_chance(noise, interval, alpha) == pytest.approx(least, abs=3e-8)


def test_a_wide_threshold_is_found() -> None:
    """For continuous noise of scale s a no at 0 has probability ``exp(-tau / s)``."""
    found = threshold(NoiseSum(1, Fraction(2**40)), 0.05)
    assert math.isclose(found.tau / 2**40, math.log(20), rel_tol=0.01)
    assert found.tau / 2**40 >= math.log(20) - 1e-9


def test_a_simulated_chance_is_by_the_rule_of_succession() -> None:
    errors = SimulatedErrors((-3.0, -0.4, 0.0, 0.6, 2.5, 7.0))
    for first, beyond, hits in ((0, 1, 2), (-3, 0, 1), (1, 3, 2), (-100, 100, 6), (50, 60, 0)):
        assert errors.inside(first, beyond) == (hits + 1) / 8
    assert rates(errors, Fraction(3)) == ErrorRates(1 - 5 / 8, max(1, 2) / 8)
    assert accept(errors, 5, Fraction(3)) == 2 / 8


def test_few_simulations_prove_little() -> None:
    silent = SimulatedErrors((0.0,) * 20)
    assert threshold(silent, 0.05).tau == 1
    assert threshold(silent, 0.04).tau == math.inf
    assert not threshold(silent, 0.05).exact
    loud = SimulatedErrors((1000.0,) * 20)
    assert 1001 <= threshold(loud, 0.05).tau <= 1006


@pytest.mark.parametrize("noise", NOISE, ids=named)
def test_both_sides_of_known_noise_are_one(noise: NoiseSum) -> None:
    """The sides are looked at once where they are the same, and only there."""
    for gap in range(6):
        for tau in (Fraction(1), Fraction(7, 3), Fraction(5)):
            above, below = accept(noise, gap, tau), accept(noise, -gap, tau)
            assert above == pytest.approx(below, rel=1e-12, abs=1e-300)
            assert on_either_side(noise, gap, tau) == (above,)
    skewed = SimulatedErrors((3.0, 3.0, 4.0))
    assert on_either_side(skewed, 3, Fraction(1)) != on_either_side(skewed, -3, Fraction(1))
    assert len(on_either_side(skewed, 3, Fraction(1))) == 2
