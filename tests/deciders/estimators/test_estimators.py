"""Estimators: exact values, edge cases, and that without noise they say what is true."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciders import (
    DeciderError,
    Histogram,
    Interval,
    Lattice,
    ParameterError,
    SimulatedNoise,
    answer,
    for_lattice,
)
from deciders.distribution_sums import Terms, weighted_noise_sum
from deciders.distributions import noise_tail
from deciders.estimators import (
    Estimator,
    EstimatorOutput,
    ExponentialQuantile,
    LaplaceEstimate,
    RaceEstimate,
    RankCounts,
    SumAndCount,
    inside,
    outside,
    within,
)
from deciders.estimators.base import clear_of, whole_span
from deciders.exact import Number
from deciders.histogram import EMPTY

HALF = Fraction(1, 2)
QUANTILES = st.sampled_from([HALF, Fraction(9, 10), Fraction(1, 4), Fraction(1, 3)])
COUNTS = LaplaceEstimate(aggregate="COUNT")


class Silent:
    """No noise, and of two choices the likelier one; keeps the scales asked for."""

    simulated = True

    def __init__(self) -> None:
        self.scales: list[Fraction] = []

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.scales.append(scale)
        return statistic

    def choose(self, logit: float) -> bool:
        return logit > 0


def released(*numbers: int) -> EstimatorOutput:
    return EstimatorOutput(numbers)


def ends_of(
    estimator: Estimator, found: EstimatorOutput, epsilon: Number, alpha: Number
) -> tuple[float, float]:
    """The ends of the confidence, infinite where there is none."""
    low, high = estimator.confidence(found, epsilon, alpha)
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


# Tails of the noise.


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(6)])
def test_a_tail_is_the_sum_of_the_chances(scale: Fraction) -> None:
    with mpmath.workdps(60):
        a = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        for steps in (-9, -2, -1, 0, 1, 2, 3, 40, Fraction(1, 2), Fraction(-7, 3), Fraction(9, 4)):
            chances = [(1 - a) / (1 + a) * a ** abs(z) for z in range(-600, 900) if z >= steps]
            expected = float(mpmath.fsum(chances))
            assert noise_tail(steps, scale) == pytest.approx(expected, rel=1e-13)


def test_tails_of_extreme_scales() -> None:
    assert noise_tail(1, Fraction(1, 10**12)) == 0
    assert noise_tail(0, Fraction(1, 10**12)) == 1
    assert noise_tail(0, Fraction(10**12)) == pytest.approx(0.5, rel=1e-11)
    assert noise_tail(10**40, Fraction(1)) == 0
    assert noise_tail(-(10**40), Fraction(1)) == 1


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


def test_a_count_of_a_mean_that_reaches_too_far_is_refused() -> None:
    mean = SumAndCount(lower=0, upper=9)
    with pytest.raises(ParameterError, match="larger epsilon"):
        mean.below(released(1, 2), 3, Fraction(1, 10**5))


# Spans.


@pytest.mark.parametrize(
    ("ends", "span"),
    [
        ((1, 4), (2, 4)),
        ((-4, -1), (-3, -1)),
        (("1/2", "7/2"), (1, 4)),
        (("-7/2", "-1/2"), (-3, 0)),
        ((1, "3/2"), (2, 2)),
        (("1/3", "2/3"), (1, 1)),
        ((1, 2), (2, 2)),
        (("1/2", 1), (1, 1)),
        ((0, "1/2"), (1, 1)),
    ],
)
def test_a_whole_span_holds_the_whole_numbers_inside(
    ends: tuple[int | str, int | str], span: tuple[int, int]
) -> None:
    interval = Interval(*ends)
    assert whole_span(interval) == span
    assert [x for x in range(-9, 9) if interval.contains(x)] == list(range(*span))


def test_ids_bounds_and_aggregates() -> None:
    made: list[tuple[Estimator, str, str, tuple[int | None, int | None, int], bool]] = [
        (COUNTS, "laplace", "COUNT", (None, None, 1), True),
        (LaplaceEstimate.on("SUM", Lattice(-4, 8, 2)), "laplace", "SUM", (-2, 4, 1), True),
        (LaplaceEstimate.on("COUNT", Lattice(-4, 8, 2)), "laplace", "COUNT", (None, None, 1), True),
        (SumAndCount(lower=1, upper=9, step=2, centre=3), "sum_and_count", "AVG", (1, 9, 2), True),
        (RankCounts(cuts=(3,)), "rank_counts", "MEDIAN", (None, None, 1), True),
        (ExponentialQuantile(lower=0, upper=9, step=3), "exponential", "MEDIAN", (0, 9, 3), False),
        (RaceEstimate(upper=9), "race_to_the_top", "SUM", (0, 9, 1), False),
    ]
    for estimator, name, aggregate, bounds, exact in made:
        assert (estimator.id, estimator.aggregate, estimator.bounds, estimator.exact) == (
            *(name, aggregate, bounds, exact),
        )


# Without noise.

VALUES = st.lists(st.integers(-6, 9), max_size=14)
ENDS = st.fractions(-8, 11, max_denominator=6)


@st.composite
def intervals(draw: st.DrawFn, shift: int = 0) -> Interval:
    low = draw(ENDS)
    return Interval(low + shift, low + shift + draw(st.fractions("1/6", 12, max_denominator=6)))


def says(estimator: Estimator, histogram: Histogram, interval: Interval) -> bool:
    return inside(estimator, estimator.release(histogram, 1, Silent()), interval)


def holds(aggregate: str, histogram: Histogram, interval: Interval, p: Fraction = HALF) -> bool:
    true = answer(aggregate, histogram, p)
    return true is not None and interval.contains(true)


@settings(max_examples=300)
@given(VALUES, st.data())
def test_without_noise_a_laplace_estimate_is_the_answer(
    values: list[int], data: st.DataObject
) -> None:
    histogram = Histogram.from_values(values)
    for estimator, table in (
        (COUNTS, histogram),
        (LaplaceEstimate(aggregate="COUNT DISTINCT"), histogram.multiplicities()),
        (LaplaceEstimate(aggregate="SUM", lower=-6, upper=9), histogram),
    ):
        true = answer(estimator.aggregate, table)
        assert true is not None
        interval = data.draw(intervals(int(true)))
        found = estimator.release(table, 1, Silent())
        assert inside(estimator, found, interval) == interval.contains(true)
        assert estimator.estimate(found) == true


@settings(max_examples=400)
@given(VALUES, intervals(), st.integers(-6, 9))
def test_without_noise_a_mean_is_the_answer(
    values: list[int], interval: Interval, centre: int
) -> None:
    histogram, mean = Histogram.from_values(values), SumAndCount(lower=-6, upper=9, centre=centre)
    assert says(mean, histogram, interval) == holds("AVG", histogram, interval)
    found = mean.release(histogram, 1, Silent())
    assert mean.estimate(found) == answer("AVG", histogram)


@settings(max_examples=400)
@given(VALUES, intervals(), QUANTILES, st.sets(st.integers(-9, 12), max_size=4))
def test_without_noise_ranks_tell_the_answer(
    values: list[int], interval: Interval, p: Fraction, others: set[int]
) -> None:
    histogram = Histogram.from_values(values)
    cuts = tuple(sorted({*whole_span(interval), *others}))
    ranks = RankCounts(cuts=cuts, p=p, aggregate="QUANTILE")
    assert says(ranks, histogram, interval) == holds("QUANTILE", histogram, interval, p)


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


@settings(max_examples=200)
@given(VALUES, st.data())
def test_at_a_huge_budget_accept_is_the_truth(values: list[int], data: st.DataObject) -> None:
    histogram, interval = Histogram.from_values(values), data.draw(intervals())
    p = data.draw(QUANTILES)
    ranks = RankCounts(cuts=tuple(sorted(set(whole_span(interval)))), p=p, aggregate="QUANTILE")
    sums = LaplaceEstimate(aggregate="SUM", lower=-6, upper=9)
    shifted = data.draw(intervals(histogram.total))
    assert ranks.accept(histogram, interval, 10**4) == pytest.approx(
        float(holds("QUANTILE", histogram, interval, p)), abs=1e-12
    )
    assert sums.accept(histogram, shifted, 10**4) == pytest.approx(
        float(holds("SUM", histogram, shifted)), abs=1e-12
    )


@settings(max_examples=200)
@given(VALUES, intervals(), st.integers(-6, 9))
def test_at_a_huge_budget_accept_of_a_mean_is_the_truth(
    values: list[int], interval: Interval, centre: int
) -> None:
    histogram, mean = Histogram.from_values(values), SumAndCount(lower=-6, upper=9, centre=centre)
    assert mean.accept(histogram, interval, 10**4) == pytest.approx(
        float(holds("AVG", histogram, interval)), abs=1e-12
    )


# Regression: SumAndCount.accept multiplies the ends by counts as doubles (mean.py).
def test_a_mean_on_an_end_is_outside_though_the_end_is_no_double() -> None:
    """49 rows with the mean 1/49: 49 times the double next to 1/49 is not 1."""
    mean = SumAndCount(lower=0, upper=1)
    histogram = Histogram.from_values([1] + [0] * 48)
    interval = Interval(Fraction(1, 49), 1)
    assert not says(mean, histogram, interval)
    assert mean.accept(histogram, interval, 10**4) == pytest.approx(0, abs=1e-12)


# Acceptance against sums over all noises.


def chances_of(scale: Fraction, reach: int) -> list[tuple[int, float]]:
    a = math.exp(-1 / scale)
    return [(z, (1 - a) / (1 + a) * a ** abs(z)) for z in range(-reach, reach + 1)]


def summed(
    estimator: Estimator,
    statistics: Sequence[int],
    scales: Sequence[Fraction],
    reaches: Sequence[int],
    interval: Interval,
) -> float:
    """The yes-rate, by going through all noises that have any chance."""
    noises = (chances_of(*part) for part in zip(scales, reaches, strict=True))
    total = []
    for drawn in itertools.product(*noises):
        numbers = tuple(s + z for s, (z, _) in zip(statistics, drawn, strict=True))
        if inside(estimator, EstimatorOutput(numbers), interval):
            total.append(math.prod(chance for _, chance in drawn))
    return math.fsum(total)


@pytest.mark.parametrize("p", [HALF, Fraction(9, 10), Fraction(1, 4)])
@pytest.mark.parametrize(
    ("values", "cuts", "interval", "epsilon", "reach"),
    [
        ([1, 4, 4, 7], (3, 6), Interval(2, 6), 2, 12),
        ([], (3, 6), Interval(2, 6), 2, 12),
        ([5] * 6, (3, 6), Interval(2, 6), 3, 9),
        ([1, 4, 4, 7], (3, 6, 8), Interval(2, 6), 4, 6),
        ([1, 4, 4, 7], (1, 3, 6), Interval(2, 6), 4, 6),
        ([1, 4, 4, 7], (2, 4, 8), Interval(1, 8), 4, 6),
        ([1, 4, 4, 7], (3,), Interval(2, 3), 2, 12),
    ],
)
def test_accept_of_ranks_is_the_sum_over_the_bins(
    values: list[int],
    cuts: tuple[int, ...],
    interval: Interval,
    epsilon: int,
    reach: int,
    p: Fraction,
) -> None:
    histogram, ranks = Histogram.from_values(values), RankCounts(cuts=cuts, p=p)
    silent = Silent()
    statistics = ranks.release(histogram, epsilon, silent).numbers
    expected = summed(ranks, statistics, silent.scales, [reach] * len(statistics), interval)
    assert ranks.accept(histogram, interval, epsilon) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "mean", "interval"),
    [
        ([1, 2, 6], SumAndCount(lower=0, upper=6, centre=3), Interval(2, 4)),
        ([1, 2, 6], SumAndCount(lower=0, upper=6, centre=3), Interval(3, "10/3")),
        ([1, 2, 6], SumAndCount(lower=0, upper=6), Interval("1/3", 3)),
        ([-4, -1], SumAndCount(lower=-5, upper=2, centre=-2), Interval("-5/2", "-3/7")),
        ([], SumAndCount(lower=-5, upper=2, centre=-2), Interval(-3, 1)),
        ([4], SumAndCount(lower=0, upper=4), Interval("7/2", 5)),
    ],
)
def test_accept_of_a_mean_is_the_sum_over_both_noises(
    values: list[int], mean: SumAndCount, interval: Interval
) -> None:
    histogram, silent = Histogram.from_values(values), Silent()
    statistics = mean.release(histogram, 16, silent).numbers
    reaches = [math.ceil(25 * scale) for scale in silent.scales]
    expected = summed(mean, statistics, silent.scales, reaches, interval)
    assert mean.accept(histogram, interval, 16) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("side", [1, -1])
def test_a_laplace_estimate_keeps_its_digits_far_in_the_tails(side: int) -> None:
    """``a^x (1 - a^width)/(1 + a)``, whichever side the interval lies on."""
    for far in (50, 300, 600):
        count = 1000
        ends = sorted((count + side * far, count + side * (far + 6)))
        a = math.exp(-1)
        # The nearest whole number inside is far + 1 away; there are five.
        expected = a ** (far + 1) * (1 - a**5) / (1 + a)
        found = COUNTS.accept(Histogram.of_mass(count), Interval(*ends), 1)
        assert found == pytest.approx(expected, rel=1e-12)
    away = Interval(*sorted((side * 10**6, side * 10**6 + 2)))
    assert COUNTS.accept(Histogram.of_mass(1000), away, 1) == 0


def test_far_tails_are_probabilities() -> None:
    """Rounding takes no chance below 0 or above 1."""
    table = Histogram.from_values([4] * 300)
    estimators: list[Estimator] = [
        COUNTS,
        SumAndCount(lower=0, upper=9, centre=4),
        RankCounts(lower=0, upper=9, cuts=(2, 6)),
        ExponentialQuantile(lower=0, upper=9),
        RaceEstimate(upper=9),
    ]
    for estimator, end, width in itertools.product(
        estimators, (-500, -1, 0, 3, 5, 290, 1195, 5000), (1, 4, 10**5)
    ):
        found = estimator.accept(table, Interval(end, end + width), "0.7")
        assert 0 <= found <= 1


def test_no_whole_number_is_never_found() -> None:
    table = Histogram.from_values([4, 5])
    for interval in (Interval("1/3", "2/3"), Interval(2, 3)):
        cut = whole_span(interval)[0]
        estimators: list[Estimator] = [
            COUNTS,
            RankCounts(lower=0, upper=9, cuts=(cut,)),
            ExponentialQuantile(lower=0, upper=9),
            RaceEstimate(upper=9),
        ]
        for estimator in estimators:
            noise = SimulatedNoise(2)
            assert estimator.accept(table, interval, 1) == 0
            for _ in range(20):
                found = estimator.release(table, 1, noise)
                assert not inside(estimator, found, interval)
                assert outside(estimator, found, interval, 1) == 0
                # One of the two claims is false of any table, and its p-value says so.
                assert within(estimator, found, interval, 1) >= 0.5


@settings(max_examples=100)
@given(VALUES, st.sampled_from([0.05, 0.7, 4]))
def test_neighbouring_spans_share_all_chances(values: list[int], epsilon: float) -> None:
    """The yes-rates of intervals that split the line add up to 1."""
    histogram = Histogram.from_values([abs(v) for v in values])
    cuts = [-(10**9), -3, 0, 1, 4, 5, 9, 20, 10**9]
    estimators: list[Estimator] = [
        COUNTS,
        LaplaceEstimate(aggregate="SUM", lower=0, upper=9),
        ExponentialQuantile(lower=0, upper=9),
        RaceEstimate(upper=9),
    ]
    for estimator in estimators:
        parts = [
            estimator.accept(histogram, Interval(low - 1, high), epsilon)
            for low, high in itertools.pairwise(cuts)
        ]
        assert sum(parts) == pytest.approx(1, abs=1e-12)


def test_intervals_beyond_64_bits_hold_everything() -> None:
    table = Histogram.from_values([4] * 300)
    for estimator in (
        COUNTS,
        SumAndCount(lower=0, upper=9, centre=4),
        RankCounts(lower=0, upper=9, cuts=(2, 6)),
        RaceEstimate(upper=9),
    ):
        found = estimator.accept(table, Interval(-(10**30), 10**30), 1)
        assert found == pytest.approx(1, abs=1e-9)


# Regression: ExponentialQuantile.accept subtracts cuts that do not fit 64 bits (exponential.py).
def test_an_interval_beyond_64_bits_holds_every_lattice_point() -> None:
    quantile = ExponentialQuantile(lower=0, upper=9)
    table = Histogram.from_values([4] * 300)
    assert quantile.accept(table, Interval(-(10**30), 10**30), 1) == 1
    assert quantile.accept(table, Interval(10**30, 10**31), 1) == 0


# Claims.


def level_of(p_values: Sequence[float], chances: Sequence[float], alpha: float) -> float:
    """How often a claim is made at ``alpha``."""
    return math.fsum(c for p, c in zip(p_values, chances, strict=True) if p <= alpha)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 3])
@pytest.mark.parametrize(
    "estimator", [COUNTS, LaplaceEstimate(aggregate="SUM", lower=-3, upper=7)], ids=["1", "7"]
)
def test_claims_of_a_laplace_estimate_have_exact_levels(
    estimator: LaplaceEstimate, epsilon: float
) -> None:
    """At the p-values that occur the level is reached, for the nearest false claim."""
    scale, true = estimator.scale(epsilon), 20
    drawn = chances_of(scale, math.ceil(40 * scale))
    found = [released(true + z) for z, _ in drawn]
    chances = [chance for _, chance in drawn]
    below = [estimator.below(r, true, epsilon) for r in found]
    at_least = [estimator.at_least(r, true + 1, epsilon) for r in found]
    for p_values in (below, at_least):
        for alpha in (0.3, 0.1, 0.05, 0.01):
            assert level_of(p_values, chances, alpha) <= alpha * (1 + 1e-9)
        for alpha in p_values[:: max(1, len(p_values) // 20)]:
            reached = level_of(p_values, chances, alpha * (1 + 1e-9))
            assert reached == pytest.approx(alpha, rel=1e-6, abs=1e-12)
    # A claim that is further from the truth is made less often.
    farther = [estimator.below(r, true - 3, epsilon) for r in found]
    assert level_of(farther, chances, 0.1) <= level_of(below, chances, 0.1)
    single = [outside(estimator, r, Interval(true - 1, true + 1), epsilon) for r in found]
    ended = [within(estimator, r, Interval(true, true + 99), epsilon) for r in found]
    for p_values in (single, ended):
        assert level_of(p_values, chances, 0.1) <= 0.1


@pytest.mark.parametrize("p", [HALF, Fraction(9, 10), Fraction(1, 4)])
def test_claims_of_ranks_have_exact_levels(p: Fraction) -> None:
    """Over all noises of three bins, for a table where the surplus is 0 or -1."""
    gain, loss = p.denominator - p.numerator, p.numerator
    ranks = RankCounts(cuts=(3, 6), p=p)
    drawn = list(itertools.product(chances_of(HALF, 16), repeat=3))
    chances = [math.prod(chance for _, chance in noises) for noises in drawn]
    low, high = 2 * loss, 2 * gain
    for above, claim in ((high, ranks.at_least), (high + 1, ranks.below)):
        p_values = [
            claim(released(low + x, y, above + z), 3, 2) for (x, _), (y, _), (z, _) in drawn
        ]
        for alpha in (0.3, 0.1, 0.05, 0.01):
            assert level_of(p_values, chances, alpha) <= alpha * (1 + 1e-9)
        reached = [level_of(p_values, chances, alpha * (1 + 1e-9)) for alpha in p_values[:9]]
        if loss == 1 or claim == ranks.at_least:
            assert reached == pytest.approx(p_values[:9], rel=1e-6, abs=1e-9)


# Regression: LaplaceEstimate.at_least takes cut - 1 for the nearest answer below (laplace.py).
@settings(max_examples=100)
@given(st.integers(-40, 40), st.fractions(-9, 9, max_denominator=5))
def test_a_cut_between_whole_numbers_is_the_one_above(noisy: int, cut: Fraction) -> None:
    """No whole answer lies between, so the two claims are the same."""
    whole = math.ceil(cut)
    found = released(noisy)
    assert COUNTS.below(found, cut, 1) == COUNTS.below(found, whole, 1)
    assert COUNTS.at_least(found, cut, 1) == COUNTS.at_least(found, whole, 1)


# Regression: RaceEstimate.at_least takes cut - 1 for the nearest answer below (race.py).
def test_a_cut_of_a_race_between_whole_numbers_is_the_one_above() -> None:
    race, found = RaceEstimate(upper=9), released(95, 2)
    assert race.at_least(found, Fraction(41, 2), 1) == race.at_least(found, 21, 1)


def test_a_mean_of_a_large_table_keeps_its_p_values() -> None:
    """The noise of the sum against the noise of the count, where all sums are large."""
    mean, epsilon = SumAndCount(lower=0, upper=10, centre=5), 2
    sums, counts = Fraction(5) / (epsilon * Fraction(7, 8)), 1 / (epsilon * Fraction(1, 8))
    noisy, count, cut = 10**9 + 40, 10**9, Fraction(6)
    needed = noisy - count
    with mpmath.workdps(40):
        a, c = (mpmath.exp(-mpmath.mpf(s.denominator) / s.numerator) for s in (sums, counts))
        chances = []
        for z in range(-300, 301):
            first = needed + z
            far = a ** max(first, 1 - first) / (1 + a)
            chances.append((1 - c) / (1 + c) * c ** abs(z) * (far if first >= 1 else 1 - far))
        expected = float(mpmath.fsum(chances))
    found = mean.at_least(released(noisy, count), cut, epsilon)
    assert found == pytest.approx(expected, rel=1e-9)
    assert found >= expected * (1 - 1e-12)


def test_a_span_without_room_is_cleared_for_free() -> None:
    assert clear_of(COUNTS, released(3), (4, 4), 1) == 0
    assert clear_of(COUNTS, released(3), (5, 4), 1) == 0
    assert clear_of(COUNTS, released(4), (4, 5), 1) == 1


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


# Estimates and confidence.


@given(
    st.integers(-50, 50),
    st.sampled_from([0.02, 0.3, 1, 9, 10**5]),
    st.sampled_from([0.001, 0.05, 0.3, 0.9]),
)
def test_confidence_of_a_laplace_estimate_is_the_least_reach(
    noisy: int, epsilon: float, alpha: float
) -> None:
    signed = LaplaceEstimate(aggregate="SUM", lower=-3, upper=2)
    low, high = signed.confidence(released(noisy), epsilon, alpha)
    assert low is not None
    assert high is not None
    assert low + high == 2 * noisy
    reach, scale = int(high) - noisy, signed.scale(epsilon)
    assert 2 * noise_tail(reach + 1, scale) <= alpha * (1 + 1e-12)
    assert reach == 0 or 2 * noise_tail(reach, scale) > alpha * (1 - 1e-12)
    least, most = COUNTS.confidence(released(noisy), epsilon, alpha)
    assert least is not None
    assert most is not None
    assert 0 <= least <= most


def test_a_mean_of_less_than_one_row_is_unknown() -> None:
    mean = SumAndCount(lower=-5, upper=20, centre=3)
    for count in (0, -1, -40):
        found = released(7, count)
        assert mean.estimate(found) is None
        assert ends_of(mean, found, 1, "0.1") == (-5, 20)
        assert not inside(mean, found, Interval(-100, 100))
    assert mean.estimate(released(7, 1)) == 10
    assert mean.estimate(released(-7, 2)) == Fraction(-1, 2)
    assert mean.estimate(released(10**6, 3)) == 20
    assert mean.estimate(released(-(10**6), 3)) == -5


@given(st.integers(-900, 900), st.integers(1, 300), st.sampled_from([0.1, 1, 20]))
@settings(max_examples=30)
def test_confidence_of_a_mean_is_where_the_claims_end(
    total: int, count: int, epsilon: float
) -> None:
    mean, level = SumAndCount(lower=-5, upper=20, centre=3), 0.05
    found = released(total, count)
    low, high = mean.confidence(found, epsilon, 2 * level)
    middle = mean.estimate(found)
    assert low is not None
    assert high is not None
    assert middle is not None
    assert -5 <= low <= middle <= high <= 20
    hair = Fraction(1, 10**6)
    if low > -5:
        assert mean.at_least(found, low, epsilon) <= level
        assert low + hair > middle or mean.at_least(found, low + hair, epsilon) > level
    if high < 20:
        assert mean.below(found, high, epsilon) <= level
        assert high - hair < middle or mean.below(found, high - hair, epsilon) > level


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=9),
    st.sets(st.integers(-3, 34), min_size=1, max_size=6),
    QUANTILES,
)
@settings(max_examples=200)
def test_clear_claims_agree_with_the_estimate(
    values: list[int], cuts: set[int], p: Fraction
) -> None:
    """With thousands of rows and no noise the ends are the cuts around the quantile."""
    # One row more takes it off the cuts, where the shares of p are whole.
    histogram = Histogram.from_values([*values * 5_000, values[0]])
    ranks = RankCounts(lower=0, upper=30, cuts=tuple(sorted(cuts)), p=p)
    found = ranks.release(histogram, 40, Silent())
    low, high = ends_of(ranks, found, 40, "0.05")
    guess, true = ranks.estimate(found), histogram.quantile(p)
    assert guess is not None
    assert low == max((cut for cut in cuts if cut <= true), default=-math.inf)
    assert high == min((cut - 1 for cut in cuts if cut > true), default=math.inf)
    assert low <= guess <= high


# Regression: RankCounts.estimate returns the upper cut itself where its surplus is 0 (ranks.py).
def test_an_estimate_of_ranks_lies_where_the_ranks_put_the_quantile() -> None:
    """Five of ten rows lie below 5, so the median does; so must its estimate."""
    histogram = Histogram.from_values(list(range(10)))
    ranks = RankCounts(lower=0, upper=9, cuts=(3, 5))
    found = ranks.release(histogram, 1, Silent())
    assert ranks.contains(found, (3, 5))
    guess = ranks.estimate(found)
    assert guess is not None
    assert 3 <= guess < 5


# Regression: RankCounts.estimate rounds down past a cut between lattice points (ranks.py).
def test_an_estimate_on_a_coarse_lattice_agrees_with_clear_claims() -> None:
    """The lattice is 0, 5, 10: whatever is not below 1 and below 6 is 5."""
    ranks = RankCounts(lower=0, upper=10, step=5, cuts=(1, 6))
    found = ranks.release(Histogram.from_values([5] * 1000), 1, Silent())
    low, high = ends_of(ranks, found, 1, "0.05")
    guess = ranks.estimate(found)
    assert guess is not None
    assert 0 < low <= 5
    assert high == 5
    assert low <= guess <= high


def test_ranks_of_no_rows() -> None:
    ranks = RankCounts(lower=0, upper=10, cuts=(3, 6))
    found = ranks.release(EMPTY, 1, Silent())
    assert found == released(0, 0, 0)
    assert ends_of(ranks, found, 1, "0.05") == (-math.inf, math.inf)
    guess = ranks.estimate(found)
    assert guess is not None
    assert 0 <= guess <= 10
    assert not ranks.contains(found, (3, 6))


def test_an_estimate_of_ranks_stays_on_the_lattice_whatever_the_noise() -> None:
    rng = np.random.default_rng(3)
    for _ in range(400):
        cuts = tuple(sorted({int(x) for x in rng.integers(-9, 40, rng.integers(1, 6))}))
        ranks = RankCounts(lower=-4, upper=26, step=3, cuts=cuts, p=Fraction(1, 3))
        guess = ranks.estimate(released(*rng.integers(-20, 30, len(cuts) + 1).tolist()))
        assert guess is not None
        assert -4 <= guess <= 26
        assert (guess + 4) % 3 == 0


def test_ranks_without_bounds_have_ends_only_where_claims_hold() -> None:
    ranks = RankCounts(cuts=(3, 6))
    assert ranks.estimate(released(5, 5, 5)) is None
    for numbers, ends in (
        ((0, 0, 0), (-math.inf, math.inf)),
        ((0, 900, 0), (3, 5)),
        ((0, 0, 900), (6, math.inf)),
        ((900, 0, 0), (-math.inf, 2)),
    ):
        assert ends_of(ranks, EstimatorOutput(numbers), 1, "0.05") == ends


def test_a_cut_that_was_not_released_is_refused() -> None:
    ranks, found = RankCounts(cuts=(3, 6)), released(1, 2, 3)
    for cut in (4, 0, 7, Fraction(7, 2)):
        for ask in (ranks.below, ranks.at_least):
            with pytest.raises(ParameterError, match="none of the cuts"):
                ask(found, cut, 1)
    with pytest.raises(ParameterError, match="none of the cuts"):
        inside(ranks, found, Interval(2, 7))
    assert ranks.below(found, Fraction(3), 1) == ranks.below(found, 3, 1)


# The race.


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


# Regression: RaceEstimate.confidence takes it that the claim of the estimate fails (race.py).
def test_the_lower_end_of_a_race_is_the_last_claim_that_holds_at_a_usual_level() -> None:
    """At 5% the claim of the estimate itself holds, so the end is not below it."""
    race, found = RaceEstimate(upper=9), released(81, 2)
    assert race.at_least(found, 41, 1) <= 0.05
    assert ends_of(race, found, 1, "0.05") == (41, math.inf)


# Quantiles with ties.


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


# Refusals and public facts.


@pytest.mark.parametrize("centre", [-1, 10])
def test_a_centre_outside_the_bounds_is_refused(centre: int) -> None:
    with pytest.raises(ParameterError, match="centre"):
        SumAndCount(lower=0, upper=9, centre=centre)


@pytest.mark.parametrize("cuts", [(), (3, 3), (4, 2), (1, 5, 4)])
def test_cuts_that_do_not_ascend_are_refused(cuts: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="ascend"):
        RankCounts(cuts=cuts)


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_a_quantile_at_an_end_is_refused(p: Fraction) -> None:
    with pytest.raises(ParameterError, match="strictly between"):
        RankCounts(cuts=(1,), p=p)
    with pytest.raises(ParameterError, match="strictly between"):
        ExponentialQuantile(lower=0, upper=9, p=p)


def test_bounds_that_are_missing_or_no_lattice_are_refused() -> None:
    for bounds in ((None, None), (0, None), (None, 9)):
        with pytest.raises(ParameterError, match="no bounds"):
            ExponentialQuantile(lower=bounds[0], upper=bounds[1])
        with pytest.raises(ParameterError, match="without bounds"):
            LaplaceEstimate(aggregate="SUM", lower=bounds[0], upper=bounds[1])
    with pytest.raises(ParameterError, match="no Laplace estimate of AVG"):
        LaplaceEstimate(aggregate="AVG", lower=0, upper=9)
    for low, high, step in ((0, 10, 3), (5, 4, 1), (0, 5, 0)):
        with pytest.raises(ParameterError, match="not a lattice"):
            ExponentialQuantile(lower=low, upper=high, step=step)
        with pytest.raises(ParameterError, match="not a lattice"):
            RankCounts(lower=low, upper=high, step=step, cuts=(1,))
    with pytest.raises(DeciderError, match="values >= 0"):
        RaceEstimate(lower=-1, upper=9)
    with pytest.raises(ParameterError, match="beta"):
        RaceEstimate(upper=9, beta=1)


def test_budgets_and_levels_out_of_range_are_refused() -> None:
    estimators: list[tuple[Estimator, EstimatorOutput]] = [
        (COUNTS, released(3)),
        (SumAndCount(lower=0, upper=9), released(3, 4)),
        (RankCounts(cuts=(3,)), released(3, 4)),
        (RaceEstimate(upper=9), released(3, 1)),
    ]
    for estimator, found in estimators:
        for epsilon in (0, -1, "1e13"):
            with pytest.raises(ParameterError, match="epsilon"):
                estimator.release(EMPTY, epsilon, Silent())
        for alpha in (0, 1, "1.5"):
            with pytest.raises(ParameterError, match="alpha"):
                estimator.confidence(found, 1, alpha)


def scales_of(estimator: Estimator, epsilon: float) -> list[Fraction]:
    """The scales that a release draws, in units of the answer."""
    if isinstance(estimator, RaceEstimate):
        return list(estimator.scales(epsilon))
    silent = Silent()
    estimator.release(EMPTY, epsilon, silent)
    return silent.scales


def test_no_scale_is_above_the_largest_one() -> None:
    estimators: list[Estimator] = [
        COUNTS,
        LaplaceEstimate(aggregate="SUM", lower=-7, upper=3),
        SumAndCount(lower=0, upper=9, centre=4),
        SumAndCount(lower=5, upper=5, centre=5),
        RankCounts(cuts=(3, 6)),
        RaceEstimate(upper=9),
        RaceEstimate(upper=2**20 + 1),
    ]
    for estimator, epsilon in itertools.product(estimators, (0.1, 1, 30)):
        assert max(scales_of(estimator, epsilon)) <= estimator.largest_scale(epsilon)


# Regression: a factor of 64 was too small for bounds above 2^32 (decider.py).
def test_no_scale_of_a_race_with_huge_bounds_is_above_the_largest_one() -> None:
    race = RaceEstimate(upper=2**40 + 1)
    assert max(scales_of(race, 1)) <= race.largest_scale(1)
