"""Every estimator's release is epsilon-DP on generated neighbours, exactly and without sampling.

The mechanism is what the code really does: a recording noise keeps each statistic, scale and
log-odds that a release asks for.  Broken twins must be caught by the same checks.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders import DECIDERS, Histogram, Interval, Lattice, for_lattice
from pqd.deciders.estimators import (
    Estimator,
    EstimatorOutput,
    ExponentialQuantile,
    LaplaceEstimate,
    MajorityCounts,
    RaceEstimate,
    RankCounts,
    SumAndCount,
    SumOverCount,
)
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.noise import Noise
from tests.support.neighbours import neighbours
from tests.support.noises import LaplaceAlone

# What doubles may add to a log-probability of the exponential mechanism; all else is exact.
TOLERANCE = 1e-9
HALF = Fraction(1, 2)
QUANTILES = [HALF, Fraction(9, 10), Fraction(1, 4), Fraction(2, 3)]
EPSILONS = ["0.1", "0.5", "1", "2.5"]
LATTICES = [Lattice(0, 15), Lattice(3, 9), Lattice(0, 1), Lattice(2, 14, 2)]
SIGNED_LATTICES = [*LATTICES, Lattice(-6, 9), Lattice(-8, -1), Lattice(-4, 0)]

Call = tuple[int, Fraction]
# What a table and an estimator at some epsilon lose to a neighbour.
Loss = Callable[[Estimator, Histogram, str], Callable[[Histogram], Fraction | float]]


class Recorder(LaplaceAlone):
    """Adds ``shift`` to every statistic, takes the choices of ``path``, then only True."""

    simulated = True

    def __init__(self, path: Sequence[bool] = (), shift: int = 0) -> None:
        self.calls: list[Call] = []
        self.logits: list[float] = []
        self._path, self._shift = path, shift

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.calls.append((statistic, scale))
        return statistic + self._shift

    def choose(self, logit: float) -> bool:
        place = len(self.logits)
        self.logits.append(logit)
        return self._path[place] if place < len(self._path) else True


def calls_of(estimator: Estimator, histogram: Histogram, epsilon: str) -> list[Call]:
    """What a release asks of the noise, which must not hang on what the noise was."""
    noise, other = Recorder(), Recorder(shift=10**9)
    estimator.release(histogram, epsilon, noise)
    estimator.release(histogram, epsilon, other)
    assert noise.calls == other.calls
    assert not noise.logits
    return noise.calls


def loss_of_one(here: Call, there: Call) -> Fraction | float:
    """Largest log-ratio, over the outputs, of two discrete Laplace distributions."""
    (first, scale), (second, other) = here, there
    if scale != other:
        return math.inf
    low, high = min(first, second), max(first, second)
    between = range(low, high) if high - low < 100 else (low,)
    # One scale, so one normaliser; beyond the two statistics the ratio stays the same.
    outputs = {low - 2, low - 1, *between, high, high + 1, high + 2}
    return Fraction(max(abs(abs(z - second) - abs(z - first)) for z in outputs)) / scale


def noisy_loss(
    estimator: Estimator, here: Histogram, epsilon: str
) -> Callable[[Histogram], Fraction | float]:
    """The loss of all noisy numbers together, which are independent: the sum, exact."""
    first = calls_of(estimator, here, epsilon)

    def loss(there: Histogram) -> Fraction | float:
        second = calls_of(estimator, there, epsilon)
        assert len(first) == len(second) > 0
        return sum(map(loss_of_one, first, second))

    return loss


def log_chance(logit: float) -> float:
    """The logarithm of ``1 / (1 + exp(-logit))``."""
    return min(logit, 0.0) - math.log1p(math.exp(-abs(logit)))


def reached(estimator: Estimator, histogram: Histogram, epsilon: str) -> dict[int, float]:
    """Log-probability of every point that a release may return, along every path of choices."""
    found: dict[int, float] = {}
    pending: list[tuple[bool, ...]] = [()]
    while pending:
        path = pending.pop()
        noise = Recorder(path)
        (point,) = estimator.release(histogram, epsilon, noise).numbers
        taken = path + (True,) * (len(noise.logits) - len(path))
        assert point not in found
        assert not noise.calls
        chosen = zip(noise.logits, taken, strict=True)
        found[point] = sum(log_chance(logit if yes else -logit) for logit, yes in chosen)
        pending += [(*taken[:place], False) for place in range(len(path), len(taken))]
    return found


def chosen_loss(
    estimator: Estimator, here: Histogram, epsilon: str
) -> Callable[[Histogram], float]:
    """Largest log-ratio of the chances to reach one lattice point."""
    first = reached(estimator, here, epsilon)

    def loss(there: Histogram) -> float:
        second = reached(estimator, there, epsilon)
        assert first.keys() == second.keys()
        return max(abs(first[point] - second[point]) for point in first)

    return loss


def worst(
    loss: Loss, estimator: Estimator, values: Sequence[int], points: Iterable[int], epsilon: str
) -> Fraction | float:
    """Largest loss between a table and all its neighbours."""
    distinct = estimator.aggregate == "COUNT DISTINCT"

    def statistic(histogram: Histogram) -> Histogram:
        return histogram.multiplicities() if distinct else histogram

    loss_to = loss(estimator, statistic(Histogram.from_values(values)), epsilon)
    return max(loss_to(statistic(there)) for there in neighbours(values, points))


def points_of(lattice: Lattice) -> range:
    return range(lattice.lower_units, lattice.upper_units + 1, lattice.step_units)


def bounds_of(lattice: Lattice) -> dict[str, Any]:
    return {
        "lower": lattice.lower_units,
        "upper": lattice.upper_units,
        "step": lattice.step_units,
    }


Situation = tuple[Estimator, list[int], range, str]


@st.composite
def situations(draw: st.DrawFn, kind: str) -> Situation:
    """An estimator on a lattice, a small table, the lattice's points, a budget."""
    signed = kind in {"SUM", "AVG", "ranks", "fine SUM", "fine AVG", "majority"}
    lattice = draw(st.sampled_from(SIGNED_LATTICES if signed else LATTICES))
    points, bounds = points_of(lattice), bounds_of(lattice)
    estimator: Estimator
    if kind in {"COUNT", "COUNT DISTINCT", "SUM"}:
        estimator = LaplaceEstimate.on(kind, lattice)
    elif kind in {"fine COUNT", "fine SUM"}:
        made = LaplaceEstimate.on(kind.removeprefix("fine "), lattice)
        estimator = made.finely(draw(st.sampled_from(EPSILONS)))
    elif kind == "majority":
        low = draw(st.integers(points[0] - 2, points[-1] + 2))
        interval = Interval(low, low + draw(st.integers(1, 9)))
        p = draw(st.sampled_from(QUANTILES))
        estimator = MajorityCounts.finely(interval, draw(st.sampled_from(EPSILONS)), p, "QUANTILE")
    elif kind == "fine AVG":
        share, made_for = draw(st.sampled_from(QUANTILES)), draw(st.sampled_from(EPSILONS))
        ends = lattice.lower_units, lattice.upper_units, lattice.step_units
        estimator = SumOverCount.finely(ends, share, made_for)
    elif kind == "AVG":
        centre = draw(st.integers(points[0], points[-1]))
        estimator = SumAndCount(**bounds, centre=centre)
    elif kind == "ranks":
        cuts = st.lists(st.integers(points[0] - 2, points[-1] + 2), min_size=1, max_size=6)
        chosen = tuple(sorted(set(draw(cuts))))
        estimator = RankCounts(**bounds, cuts=chosen, p=draw(st.sampled_from(QUANTILES)))
    else:
        upper = draw(st.sampled_from([1, 2, 3, 5, 8, 9, 15, 33]))
        points = range(upper + 1)
        estimator = RaceEstimate(upper=upper)
    values = draw(st.lists(st.sampled_from(points), max_size=12))
    return estimator, values, points, draw(st.sampled_from(EPSILONS))


KINDS = ["COUNT", "COUNT DISTINCT", "SUM", "AVG", "ranks", "race"]


@pytest.mark.parametrize("kind", [*KINDS, "fine COUNT", "fine SUM", "fine AVG", "majority"])
def test_noisy_numbers_lose_at_most_epsilon(kind: str) -> None:
    @settings(max_examples=80)
    @given(situations(kind))
    def check(situation: Situation) -> None:
        estimator, values, points, epsilon = situation
        assert worst(noisy_loss, estimator, values, points, epsilon) <= budget_of(epsilon)

    check()


@pytest.mark.parametrize(
    "name", ["lm_count", "lm_sum", "r2t_sum", "lm_mean", "hist_median", "hist_quantile"]
)
def test_a_decider_that_shows_its_statistic_draws_it_and_nothing_else(name: str) -> None:
    """What is shown is the release of its estimator, so it costs what the release does."""
    made = DECIDERS[name]
    decider: Any = for_lattice(name, made.aggregate, Lattice(0, 15))
    for rows in ([], [3, 7], [15] * 4, [0, 0, 5, 9, 15]):
        table, interval = Histogram.from_values(rows), Interval(4, 9)
        noise = Recorder(shift=3)
        decision = decider.decide(table, interval, "0.1", noise)
        estimator = decider.estimator(interval, "0.1")
        assert noise.calls == calls_of(estimator, table, "0.1")
        assert decision.released == estimator.release(table, "0.1", Recorder(shift=3)).numbers
        assert decision == decider.verdict(EstimatorOutput(decision.released), interval, "0.1")


@st.composite
def tables(draw: st.DrawFn) -> tuple[ExponentialQuantile, list[int], str]:
    """A quantile on a small lattice, and a table with or without many ties."""
    lattice = draw(
        st.sampled_from([Lattice(0, 8), Lattice(-3, 4), Lattice(2, 14, 2), Lattice(1, 1)])
    )
    quantile = ExponentialQuantile(**bounds_of(lattice), p=draw(st.sampled_from(QUANTILES)))
    points = points_of(lattice)
    values = [
        value
        for value in draw(st.lists(st.sampled_from(points), max_size=5))
        for _ in range(draw(st.sampled_from([1, 1, 2, 7])))
    ]
    return quantile, values, draw(st.sampled_from(["0.01", *EPSILONS, "30"]))


@settings(max_examples=40)
@given(tables())
def test_a_chosen_point_loses_at_most_epsilon(
    table: tuple[ExponentialQuantile, list[int], str],
) -> None:
    quantile, values, epsilon = table
    assert quantile.lower is not None
    assert quantile.upper is not None
    points = range(quantile.lower, quantile.upper + 1, quantile.step)
    lost = worst(chosen_loss, quantile, values, points, epsilon)
    assert lost <= float(epsilon) + TOLERANCE


@settings(max_examples=80)
@given(tables())
def test_the_descent_reaches_every_point_by_its_weight(
    table: tuple[ExponentialQuantile, list[int], str],
) -> None:
    """The weights are written down anew here, point by point, from the definition."""
    quantile, rows, epsilon = table
    assert quantile.lower is not None
    assert quantile.upper is not None
    part, whole = quantile.p.numerator, quantile.p.denominator
    rest = whole - part
    histogram = Histogram.from_values(rows)
    points = range(quantile.lower, quantile.upper + 1, quantile.step)
    distances = [
        max(
            0,
            part * sum(v > e for v in rows) - rest * sum(v <= e for v in rows),
            rest * sum(v < e for v in rows) - part * sum(v >= e for v in rows) + 1,
        )
        for e in points
    ]
    logs = -np.array(distances) * float(epsilon) / (2 * max(part, rest))
    logs -= np.logaddexp.reduce(logs)
    found = reached(quantile, histogram, epsilon)
    assert [found[e] for e in points] == pytest.approx(logs.tolist(), rel=1e-9, abs=TOLERANCE)
    assert len(found) == len(points)
    for low in (points[0] - 1, points[0], points[-1] // 2):
        interval = Interval(low, low + 3)
        share = sum(math.exp(found[e]) for e in points if interval.contains(e))
        assert quantile.accept(histogram, interval, epsilon) == pytest.approx(share, rel=1e-9)
    if rows:
        least = [e for e, distance in zip(points, distances, strict=True) if distance == 0]
        assert least == [histogram.quantile(quantile.p)]


def log_density(
    quantile: ExponentialQuantile, histogram: Histogram, epsilon: str, points: list[int]
) -> list[float]:
    """Log-probability of single lattice points, from the runs."""
    return densities(quantile._runs(histogram, epsilon), points)


def densities(runs: Any, points: list[int]) -> list[float]:
    each = runs.weights - np.log(runs.points) - np.logaddexp.reduce(runs.weights)
    places = np.searchsorted(runs.first, points, side="right") - 1
    return [float(each[place]) for place in places]


@pytest.mark.parametrize("p", QUANTILES)
def test_runs_of_a_wide_lattice_lose_at_most_epsilon(p: Fraction) -> None:
    """Both normalisers count: on wide lattices most of the weight lies between the rows."""
    rng = np.random.default_rng(5)
    for trial in range(30):
        quantile = ExponentialQuantile(lower=-400, upper=10**6, step=200, p=p)
        held = rng.integers(-2, 5001 if trial % 2 else 40, rng.integers(0, 12)) * 200
        rows = np.repeat(held, rng.integers(1, 9, held.size)).tolist()
        epsilon = EPSILONS[trial % 4]
        here = Histogram.from_values(rows)
        own = quantile._runs(here, epsilon)
        added = [-400, 10**6, *rng.integers(-2, 5001, 6) * 200, *held[:4]]
        others = [Histogram.from_values([*rows, int(value)]) for value in added]
        others += [Histogram.from_values(rows[:k] + rows[k + 1 :]) for k in range(0, len(rows), 5)]
        for there in others:
            seen = {-400, 10**6, *here.values.tolist(), *there.values.tolist()}
            points = sorted(
                point
                for value in seen
                for point in (value - 200, value, value + 200)
                if -400 <= point <= 10**6
            )
            first = densities(own, points)
            second = log_density(quantile, there, epsilon, points)
            lost = max(abs(x - y) for x, y in zip(first, second, strict=True))
            assert lost <= float(epsilon) + TOLERANCE, (rows, there.values, there.counts)


# Regression: ExponentialQuantile._runs multiplies counts by the digits of p in 64 bits, which wrap
# around at 1386 rows, so that one row costs 691 epsilon (exponential.py).
def test_a_p_of_many_digits_loses_at_most_epsilon() -> None:
    quantile = ExponentialQuantile(lower=0, upper=9, p=Fraction("0.3333333333333333"))
    for rows in (1379, 1385, 2763):
        first, second = (
            log_density(quantile, Histogram.from_values([0] * n + [9] * 4), "1", list(range(10)))
            for n in (rows, rows + 1)
        )
        assert max(abs(x - y) for x, y in zip(first, second, strict=True)) <= 1 + TOLERANCE


@pytest.mark.parametrize(
    ("estimator", "loss", "values", "points"),
    [
        (LaplaceEstimate(aggregate="COUNT"), noisy_loss, [0] * 9, range(2)),
        (LaplaceEstimate(aggregate="COUNT DISTINCT"), noisy_loss, [1, 1, 2], range(4)),
        (LaplaceEstimate(aggregate="SUM", lower=-7, upper=3), noisy_loss, [1], range(-7, 4)),
        (SumAndCount(lower=-2, upper=9, centre=2), noisy_loss, [1], range(-2, 10)),
        (RankCounts(cuts=(2, 5)), noisy_loss, [1, 3], range(8)),
        (RaceEstimate(upper=2), noisy_loss, [1], range(3)),
        (LaplaceEstimate(aggregate="COUNT").finely("0.1"), noisy_loss, [0] * 9, range(2)),
        (MajorityCounts.finely(Interval(2, 5), "0.1"), noisy_loss, [1, 3], range(8)),
        (ExponentialQuantile(lower=0, upper=60), chosen_loss, [57, 60], range(55, 61)),
    ],
    ids=lambda value: getattr(value, "id", None),
)
def test_the_whole_budget_is_used(
    estimator: Estimator, loss: Loss, values: list[int], points: range
) -> None:
    least = Fraction(9 if loss is chosen_loss else 10, 100)
    assert worst(loss, estimator, values, points, "0.1") >= least


class HalfTheNoise(LaplaceEstimate):
    """Half the sensitivity."""

    def scale(self, epsilon: Number) -> Fraction:
        return LaplaceEstimate.scale(self, epsilon) / 2


class SmallerGridNoise(LaplaceEstimate):
    """Fine noise of 0.7 of the scale."""

    def _steps(self, epsilon: Number) -> Fraction:
        return LaplaceEstimate._steps(self, epsilon) * Fraction(7, 10)


class WholeBudgetEach(MajorityCounts):
    """Three counts at the whole budget each."""

    def largest_scale(self, epsilon: Number) -> Fraction:
        return 1 / budget_of(epsilon)


class SmallerMajorityNoise(MajorityCounts):
    """Three counts with noise of 0.7 of the scale."""

    def largest_scale(self, epsilon: Number) -> Fraction:
        return MajorityCounts.largest_scale(self, epsilon) * Fraction(7, 10)


class WholeBudgetTwice(SumAndCount):
    """The whole budget for the sum and again for the count."""

    def scales(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        sums, counts = SumAndCount.scales(self, epsilon)
        return sums * Fraction(7, 8), counts / 8


class WholeBudgetForBoth(SumOverCount):
    """The whole budget for the sum and again for the count."""

    def scales(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        sums, counts = SumOverCount.scales(self, epsilon)
        return sums / 2, counts / 2


class SpreadForASum(SumOverCount):
    """The width of the values in place of their size, which an added row may exceed."""

    def scales(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        sums, counts = SumOverCount.scales(self, epsilon)
        size = max(abs(self.lower), abs(self.upper))
        return sums * Fraction(self.upper - self.lower, size), counts


class RowsBelowEachCut(RankCounts):
    """Counts that overlap, each with the noise of one."""

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        ranks = [histogram.count_below(cut) for cut in self.cuts]
        return EstimatorOutput(tuple(noise.laplace(rank, 1 / budget_of(epsilon)) for rank in ranks))


class WithoutTheTwo(ExponentialQuantile):
    """Weights ``exp(-epsilon u / max(a, b - a))``."""

    def _runs(self, histogram: Histogram, epsilon: Number):  # type: ignore[no-untyped-def]  # noqa: ANN202 - its type is private
        return ExponentialQuantile._runs(self, histogram, 2 * budget_of(epsilon))


class LesserOfTwo(ExponentialQuantile):
    """Weights ``exp(-epsilon u / (2 min(a, b - a)))``."""

    def _runs(self, histogram: Histogram, epsilon: Number):  # type: ignore[no-untyped-def]  # noqa: ANN202 - its type is private
        parts = self.p.numerator, self.p.denominator - self.p.numerator
        budget = budget_of(epsilon) * Fraction(max(parts), min(parts))
        return ExponentialQuantile._runs(self, histogram, budget)


class WholeBudgetPerRung(RaceEstimate):
    """Scales ``t_j / epsilon`` without the factor log2(GS)."""

    def scales(self, epsilon: Number) -> tuple[Fraction, ...]:
        return tuple(rung / budget_of(epsilon) for rung in self.rungs)


@dataclass(frozen=True)
class Twin:
    """A broken estimator, its healthy twin, and tables on which it should give itself away."""

    name: str
    broken: Estimator
    healthy: Estimator
    loss: Loss
    tables: list[list[int]]
    points: range


TENTH = Fraction(9, 10)
COUNTS = [[0] * 5, []]
SUMS = [[15] * 4, [3, 7]]
WIDE = [[57, 60], [60], [0, 3], [30] * 9]
TWINS = [
    Twin(
        "COUNT with its sensitivity halved",
        HalfTheNoise(aggregate="COUNT"),
        LaplaceEstimate(aggregate="COUNT"),
        noisy_loss,
        COUNTS,
        range(2),
    ),
    Twin(
        "COUNT DISTINCT with its sensitivity halved",
        HalfTheNoise(aggregate="COUNT DISTINCT"),
        LaplaceEstimate(aggregate="COUNT DISTINCT"),
        noisy_loss,
        COUNTS,
        range(2),
    ),
    Twin(
        "SUM with its sensitivity halved",
        HalfTheNoise(aggregate="SUM", lower=-3, upper=15),
        LaplaceEstimate(aggregate="SUM", lower=-3, upper=15),
        noisy_loss,
        SUMS,
        range(-3, 16),
    ),
    Twin(
        "SumAndCount with the whole budget for each part",
        WholeBudgetTwice(lower=0, upper=15, centre=5),
        SumAndCount(lower=0, upper=15, centre=5),
        noisy_loss,
        SUMS,
        range(16),
    ),
    Twin(
        "LaplaceEstimate on a fine grid with noise x0.7",
        SmallerGridNoise(aggregate="COUNT", fineness=2**41),
        LaplaceEstimate(aggregate="COUNT", fineness=2**41),
        noisy_loss,
        COUNTS,
        range(2),
    ),
    Twin(
        "MajorityCounts with the whole budget for each count",
        WholeBudgetEach(cuts=(3, 8), fineness=2**40),
        MajorityCounts(cuts=(3, 8), fineness=2**40),
        noisy_loss,
        SUMS,
        range(16),
    ),
    Twin(
        "MajorityCounts with noise x0.7",
        SmallerMajorityNoise(cuts=(3, 8), fineness=2**40),
        MajorityCounts(cuts=(3, 8), fineness=2**40),
        noisy_loss,
        SUMS,
        range(16),
    ),
    Twin(
        "SumOverCount with the whole budget for each part",
        WholeBudgetForBoth(lower=0, upper=15, grids=(2**30, 2**40)),
        SumOverCount(lower=0, upper=15, grids=(2**30, 2**40)),
        noisy_loss,
        SUMS,
        range(16),
    ),
    Twin(
        "SumOverCount of values far from 0 with the width as its sensitivity",
        SpreadForASum(lower=12, upper=15),
        SumOverCount(lower=12, upper=15),
        noisy_loss,
        [[15] * 4, [12]],
        range(12, 16),
    ),
    Twin(
        "RankCounts with counts that overlap",
        RowsBelowEachCut(cuts=(3, 8)),
        RankCounts(cuts=(3, 8)),
        noisy_loss,
        SUMS,
        range(16),
    ),
    Twin(
        "ExponentialQuantile without the factor 2",
        WithoutTheTwo(lower=0, upper=60),
        ExponentialQuantile(lower=0, upper=60),
        chosen_loss,
        WIDE,
        range(0, 61, 3),
    ),
    Twin(
        "ExponentialQuantile at 9/10 with the lesser rate",
        LesserOfTwo(lower=0, upper=60, p=TENTH),
        ExponentialQuantile(lower=0, upper=60, p=TENTH),
        chosen_loss,
        WIDE,
        range(0, 61, 3),
    ),
    Twin(
        "RaceEstimate with the whole budget for each rung",
        WholeBudgetPerRung(upper=15),
        RaceEstimate(upper=15),
        noisy_loss,
        SUMS,
        range(16),
    ),
]


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_a_broken_twin_is_caught(
    twin: Twin, record_property: Callable[[str, object], None]
) -> None:
    lost = max(
        float(worst(twin.loss, twin.broken, rows, twin.points, "0.1")) for rows in twin.tables
    )
    assert lost > 0.1 * 1.01, f"{twin.name} passes: loss {lost:.3f} at epsilon 0.1"
    record_property("mutant", twin.name)
    record_property("caught_by", f"exact neighbour check: loses {lost / 0.1:.2f} epsilon")


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_its_healthy_twin_passes_on_the_same_tables(twin: Twin) -> None:
    for rows in twin.tables:
        lost = worst(twin.loss, twin.healthy, rows, twin.points, "0.1")
        assert lost <= 0.1 + TOLERANCE
