"""Whatever holds for every estimator: spans, acceptance, claims, refusals."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders import (
    DeciderError,
    Histogram,
    Interval,
    Lattice,
    ParameterError,
    SimulatedNoise,
)
from pqd.deciders.estimators import (
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
from pqd.deciders.estimators.base import outside_span, two_sided, whole_span
from pqd.deciders.histogram import EMPTY
from tests.support.estimators import (
    COUNTS,
    QUANTILES,
    VALUES,
    ends_of,
    holds,
    intervals,
    released,
    scales_of,
)
from tests.support.noises import Silent


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


def test_a_span_without_room_is_cleared_for_free() -> None:
    assert outside_span(COUNTS, released(3), (4, 4), 1) == 0
    assert outside_span(COUNTS, released(3), (5, 4), 1) == 0
    assert outside_span(COUNTS, released(4), (4, 5), 1) == 1


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


def test_the_p_value_of_a_release_outside_counts_both_tails() -> None:
    def tail(x: int) -> float:
        return 0.5 ** (x + 1)

    # Three above the end, or below it: as far outside on the other side is five away.
    assert two_sided(tail, 5, 0, 2) == two_sided(tail, -3, 0, 2) == 0.5**4 + 0.5**6
    assert two_sided(tail, 2, 0, 2) == two_sided(tail, 0, 0, 2) == 1
