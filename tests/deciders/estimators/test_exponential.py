"""The exponential mechanism over a lattice: ties, huge lattices, odds by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders import (
    Histogram,
    Interval,
    Lattice,
    SimulatedNoise,
    answer,
    for_lattice,
)
from pqd.deciders.estimators import (
    ExponentialQuantile,
    inside,
    outside,
    within,
)
from pqd.deciders.histogram import EMPTY
from tests.support.estimators import (
    QUANTILES,
    holds,
    intervals,
    released,
)
from tests.support.noises import Silent


@settings(max_examples=200)
@given(st.lists(st.integers(-6, 9), min_size=1, max_size=14), intervals(), QUANTILES)
def test_without_noise_the_chosen_point_is_the_answer(
    values: list[int], interval: Interval, p: Fraction
) -> None:
    """A huge budget leaves all the weight on the quantile, ties and all."""
    histogram = Histogram.from_values(values)
    quantile = ExponentialQuantile(lower=-6, upper=9, p=p, aggregate="QUANTILE")
    found = quantile.release(histogram, 10**6, Silent())
    assert quantile.estimate(found) == answer("QUANTILE", histogram, p)
    truth = holds("QUANTILE", histogram, interval, p)
    assert inside(quantile, found, interval) == truth
    assert quantile.accept(histogram, interval, 10**6) == pytest.approx(float(truth), abs=1e-12)


# Regression: ExponentialQuantile.accept subtracts cuts that do not fit 64 bits (exponential.py).
def test_an_interval_beyond_64_bits_holds_every_lattice_point() -> None:
    quantile = ExponentialQuantile(lower=0, upper=9)
    table = Histogram.from_values([4] * 300)
    assert quantile.accept(table, Interval(-(10**30), 10**30), 1) == 1
    assert quantile.accept(table, Interval(10**30, 10**31), 1) == 0


def test_a_chosen_point_claims_nothing() -> None:
    quantile = ExponentialQuantile(lower=0, upper=9)
    found = released(4)
    assert quantile.below(found, 9, 1) == quantile.at_least(found, 0, 1) == 1
    assert quantile.confidence(found, 1, "0.05") == (None, None)
    assert within(quantile, found, Interval(1, 8), 1) == 1
    assert outside(quantile, found, Interval(1, 8), 1) == 1
    assert quantile.estimate(found) == 4
    assert quantile.contains(found, (4, 5))
    assert not quantile.contains(found, (3, 4))


def test_most_weight_lies_on_a_tied_median() -> None:
    """The ranks of em_median are the same for 5 and for nothing at all above it."""
    histogram, interval = Histogram.from_values([5] * 40), Interval(4, 6)
    quantile = ExponentialQuantile(lower=0, upper=100)
    published = for_lattice("em_median", "MEDIAN", Lattice(0, 100))
    assert quantile.accept(histogram, interval, 1) > 0.999
    assert published.accept(histogram, interval, 1) < 0.1
    mixed = Histogram.from_values([2] * 9 + [5] * 30 + [60] * 14)
    assert quantile.accept(mixed, interval, 1) > 0.95
    assert published.accept(mixed, interval, 1) < 0.6


def test_the_distance_of_a_median_is_the_rows_to_change() -> None:
    """By breadth-first search over tables of few rows: weights fall by epsilon/2 per row."""
    kinds, most = 3, 7
    every = [
        counts for counts in itertools.product(range(most + 1), repeat=kinds) if sum(counts) <= most
    ]
    values = np.arange(kinds)
    medians = {
        counts: Histogram.weighted(values, np.array(counts)).median
        for counts in every
        if any(counts)
    }
    quantile = ExponentialQuantile(lower=0, upper=kinds - 1)
    for counts in every:
        if not 0 < sum(counts) <= 3:
            continue
        histogram = Histogram.weighted(values, np.array(counts))
        runs = quantile._runs(histogram, 2)
        weights: dict[int, float] = {}
        for first, points, weight in zip(
            runs.first.tolist(), runs.points.tolist(), runs.weights.tolist(), strict=True
        ):
            weights |= dict.fromkeys(range(first, first + points), weight - math.log(points))
        highest = max(weights.values())
        for point in range(kinds):
            nearest = min(
                sum(abs(x - y) for x, y in zip(counts, other, strict=True))
                for other, median in medians.items()
                if median == point
            )
            assert highest - weights[point] == pytest.approx(nearest, abs=1e-9)


def test_a_huge_lattice_and_budget_are_exact_enough() -> None:
    quantile = ExponentialQuantile(lower=0, upper=10**12, step=10**3)
    histogram = Histogram.from_values([10**9] * 5 + [7 * 10**11] * 4)
    assert quantile.release(histogram, 10**12, SimulatedNoise(1)) == released(10**9)
    assert quantile.accept(histogram, Interval(10**9 - 1, 10**9 + 1), 10**12) == 1
    # With no rows every point is as likely as any other.
    quarter = Interval(-1, 25 * 10**10)
    assert quantile.accept(EMPTY, quarter, 1) == pytest.approx(0.25, abs=1e-8)


# Regression: counts times the digits of p in 64 bits (exponential.py).
@pytest.mark.parametrize("digits", [16, 25])
def test_a_p_of_many_digits_has_its_quantile(digits: int) -> None:
    """3000 rows times 10^16 are beyond 64 bits."""
    quantile = ExponentialQuantile(lower=0, upper=9, p=Fraction("0." + "3" * digits))
    histogram = Histogram.from_values(list(range(10)) * 300)
    assert quantile.release(histogram, 1, Silent()) == released(histogram.quantile(quantile.p))


class _Script:
    """Noise whose choices follow a script; it multiplies their probabilities."""

    def __init__(self, script: tuple[bool, ...]) -> None:
        self.rest, self.chance, self.used = list(script), 1.0, 0

    def choose(self, logit: float) -> bool:
        chosen = self.rest.pop(0) if self.rest else True
        self.used += 1
        self.chance /= 1 + math.exp(-logit if chosen else logit)
        return chosen


@pytest.mark.parametrize("values", [[], [3] * 3, [0, 0, 9]])
@pytest.mark.parametrize("step", [1, 3])
def test_the_points_of_a_draw_have_the_chances_of_their_weights(
    values: list[int], step: int
) -> None:
    """Every way of all choices is followed: each point has the chance that ``accept`` tells."""
    quantile = ExponentialQuantile(lower=0, upper=9, step=step)
    histogram = Histogram.from_values(values)
    found: dict[int, float] = {}
    for script in itertools.product((True, False), repeat=6):
        noise = _Script(script)
        (point,) = quantile.release(histogram, 1, noise).numbers  # type: ignore[arg-type]
        # Of scripts that differ in choices that were not made, one is counted.
        if all(script[noise.used :]):
            found[point] = found.get(point, 0) + noise.chance
    assert sorted(found) == list(range(0, 10, step))
    for point, chance in found.items():
        interval = Interval(Fraction(2 * point - 1, 2), Fraction(2 * point + 1, 2))
        assert chance == pytest.approx(quantile.accept(histogram, interval, 1), rel=1e-9)
