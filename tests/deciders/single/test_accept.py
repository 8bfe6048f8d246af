"""Acceptance probabilities against slow, independent computations."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pqd.deciders import DECIDERS, Histogram, Interval, Lattice, answer, for_lattice
from pqd.deciders.histogram import HALF

RNG = np.random.default_rng(3)
AGES = Histogram.from_values(RNG.integers(0, 20, 41).tolist())
EVEN = Histogram.from_values(RNG.integers(0, 20, 40).tolist())
HEAVY = Histogram.from_values((RNG.pareto(1.2, 60) * 50).astype(int).clip(0, 1000).tolist())
EMPTY = Histogram.from_values([])


def values_of(histogram: Histogram) -> list[int]:
    return np.repeat(histogram.values, histogram.counts).tolist()


@pytest.mark.parametrize("epsilon", [0.01, 0.25, 3])
@pytest.mark.parametrize("gap", [-200, -11, -10, -3, 0, 4, 10, 35])
def test_laplace_deciders(gap: int, epsilon: float) -> None:
    interval = Interval.around(100 + gap, 10)
    law = stats.laplace(100, 1 / epsilon)
    expected = law.cdf(float(interval.upper)) - law.cdf(float(interval.lower))
    found = DECIDERS["lm_count"]().accept(Histogram.of_mass(100), interval, epsilon)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)
    wide = DECIDERS["lm_sum"](upper=7, lower=-3).accept(
        Histogram.from_values([-3, 3] + [5] * 20), Interval.around(100 + gap, 10), epsilon
    )
    law = stats.laplace(100, 7 / epsilon)
    expected = law.cdf(float(interval.upper)) - law.cdf(float(interval.lower))
    assert wide == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_laplace_far_tail_keeps_its_relative_accuracy() -> None:
    found = DECIDERS["lm_count"]().accept(Histogram.of_mass(0), Interval(1000, 1001), "1/2")
    with mpmath.workdps(60):
        expected = (mpmath.exp(-500) - mpmath.exp(-500.5)) / 2
        assert abs(mpmath.mpf(found) / expected - 1) < 1e-13


@pytest.mark.parametrize("count", [0, 60, 79, 80, 89, 90, 95, 100, 104, 110, 111, 120, 500])
def test_exponential_count_is_the_scores_of_the_paper(count: int) -> None:
    left, centre, right, tau, epsilon = 90, 100, 110, 10, 0.3
    if count <= left - tau or count >= right + tau:
        yes = 0.0
    elif count <= centre:
        yes = (count - (left - tau)) / (2 * tau)
    else:
        yes = 1 - (count - centre) / (2 * tau)
    weight = [math.exp(epsilon * score / (2 * (1 / (2 * tau)))) for score in (1 - yes, yes)]
    found = DECIDERS["em_count"]().accept(Histogram.of_mass(count), Interval(left, right), epsilon)
    assert found == pytest.approx(weight[1] / sum(weight), rel=1e-12)


@pytest.mark.parametrize(("count", "sign"), [(95, 1), (90, -1), (110, -1), (300, -1)])
def test_naive_exponential_count(count: int, sign: int) -> None:
    found = DECIDERS["em_count_naive"]().accept(Histogram.of_mass(count), Interval(90, 110), 0.7)
    assert found == pytest.approx(1 / (1 + math.exp(-sign * 0.35)), rel=1e-12)


def race(
    values: list[int], ends: tuple[float, float], upper: int, epsilon: float, parts: float
) -> float:
    """R2T by the formula of its maximum, rung by rung."""
    (left, right), log_gs = ends, math.log2(upper)

    def below(x: float) -> float:
        product = 1.0
        for j in range(1, math.ceil(log_gs) + 1):
            scale = 2**j * parts / epsilon
            truncated = sum(v for v in values if v <= 2**j)
            shift = scale * math.log(log_gs / 0.05)
            product *= float(stats.laplace.cdf(x - truncated + shift, scale=scale))
        return product if x >= 0 else 0.0

    return below(right) - below(left)


@pytest.mark.parametrize(
    ("decider_id", "parts"), [("r2t_sum", math.log2(1000)), ("r2t_sum_tight", 2 - 2**-9)]
)
@pytest.mark.parametrize("epsilon", [0.1, 1, 20])
@pytest.mark.parametrize(("gap", "tau"), [(0, 300), (-800, 500), (-2000, 5000), (900, 200)])
def test_race_to_the_top(gap: int, tau: int, epsilon: float, decider_id: str, parts: float) -> None:
    centre = HEAVY.total + gap
    found = DECIDERS[decider_id](upper=1000).accept(HEAVY, Interval.around(centre, tau), epsilon)
    expected = race(values_of(HEAVY), (centre - tau, centre + tau), 1000, epsilon, parts)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


Floats = NDArray[np.float64]


def laplace_below(x: Floats, scale: float) -> Floats:
    """Chance that Laplace noise is at most ``x``."""
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x < 0, tail, 1 - tail)


def sparse_vector(values: list[int], ends: tuple[int, int], rungs: int, scale: float) -> float:
    """Algorithm 2 on ``rungs`` rungs, integrated over rho."""
    left, right = ends
    queries = {2**j: sum(v for v in values if v <= 2**j) / 2**j for j in range(1, rungs + 1)}

    def given(rho: Floats) -> Floats:
        none, silent = np.ones_like(rho), np.ones_like(rho)
        for size, query in queries.items():
            none *= laplace_below(right / size + rho - query, scale)
            silent *= laplace_below((left + 1) / size + rho - query, scale)
        return none * (1 - silent) * np.exp(-np.abs(rho) / scale) / (2 * scale)

    kinks = [query - end / size for size, query in queries.items() for end in (right, left + 1)]
    return integral(given, scale, kinks)


def integral(function: Callable[[Floats], Floats], scale: float, kinks: list[float]) -> float:
    """Integral of a function that is smooth but at zero and at ``kinks``, by Gauss's nodes."""
    reach = 40 * scale
    ends = np.union1d(np.linspace(-reach, reach, 81), np.clip(kinks, -reach, reach))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    halves = np.diff(ends) / 2
    points = (ends[:-1] + halves)[:, None] + halves[:, None] * nodes
    return float(halves @ (function(points) @ weights))


SPARSE = [(0, 600, 1.0), (-700, 400, 0.5), (300, 250, 2.0)]


@pytest.mark.parametrize(("gap", "tau", "epsilon"), SPARSE)
def test_plain_sparse_vector(gap: int, tau: int, epsilon: float) -> None:
    few = Histogram.from_values([3, 7, 7, 12, 30, 60, 60])
    centre = few.total + gap // 10
    ends = centre - tau // 10, centre + tau // 10
    found = DECIDERS["svt_sum_plain"](upper=60).accept(few, Interval(*ends), epsilon)
    expected = sparse_vector(values_of(few), ends, 6, 2 / epsilon)
    assert found == pytest.approx(expected, abs=1e-9)


def rung_law(values: list[int], rungs: int, scale: float, theta: float) -> list[float]:
    """Algorithm 4's answer, integrated over its threshold noise."""
    counts = [sum(v <= 2**j for v in values) for j in range(1, rungs)]
    kinks = [count - theta * len(values) for count in counts]

    def density(w: Floats) -> Floats:
        inner = theta * scale
        spread = scale * np.exp(-np.abs(w) / scale) - inner * np.exp(-np.abs(w) / inner)
        return spread / (2 * (scale**2 - inner**2))

    passed = [1.0]
    for last in range(1, rungs):

        def silent(w: Floats, last: int = last) -> Floats:
            product = density(w)
            for kink in kinks[:last]:
                product *= laplace_below(w - kink, scale)
            return product

        passed.append(integral(silent, scale, kinks))
    return [before - after for before, after in zip(passed, [*passed[1:], 0.0], strict=True)]


def test_sparse_vector_mixes_over_the_private_rung() -> None:
    few, epsilon = Histogram.from_values([1, 2, 3, 3, 9, 12, 14]), 1.5
    ends = (few.total - 9, few.total + 9)
    values = values_of(few)
    law = rung_law(values, 4, 9 / epsilon, 0.95)
    expected = sum(
        share * sparse_vector(values, ends, rung, 3 / epsilon)
        for rung, share in enumerate(law, start=1)
    )
    found = DECIDERS["svt_sum"](upper=14).accept(few, Interval(*ends), epsilon)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("histogram", [AGES, EVEN, EMPTY], ids=["odd", "even", "none"])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize(("left", "right"), [(7, 11), ("13/2", "21/2"), (-9, 3), (18, 99), (3, 4)])
def test_exponential_median_by_a_loop_over_the_lattice(
    histogram: Histogram, step: int, left: int | str, right: int | str
) -> None:
    values, epsilon = values_of(histogram), 0.4
    interval = Interval(left, right)
    inside = outside = 0.0
    for point in range(-4, 31, step):
        rank = sum(v < point for v in values)
        weight = math.exp(-epsilon * abs(rank - len(values) / 2) / 2)
        if interval.contains(point):
            inside += weight
        else:
            outside += weight
    last = -4 + (34 // step) * step
    decider = DECIDERS["em_median"](lower=-4, upper=last, step=step)
    found = decider.accept(histogram, interval, epsilon)
    assert found == pytest.approx(inside / (inside + outside), rel=1e-10)


@pytest.mark.parametrize("histogram", [AGES, EVEN, EMPTY], ids=["odd", "even", "none"])
@pytest.mark.parametrize("p", [Fraction(1, 4), Fraction(3, 10), Fraction(9, 10)])
@pytest.mark.parametrize(("left", "right"), [(7, 11), ("13/2", "21/2"), (-9, 3), (18, 99)])
def test_exponential_quantile_by_a_loop_over_the_lattice(
    histogram: Histogram, p: Fraction, left: int | str, right: int | str
) -> None:
    """The end of section 6.2: the score is minus the distance of the rank from p n."""
    values, epsilon = values_of(histogram), 0.4
    interval = Interval(left, right)
    weights = [
        math.exp(-epsilon * abs(sum(v < point for v in values) - float(p) * len(values)) / 2)
        for point in range(-4, 31)
    ]
    inside = sum(
        w for point, w in zip(range(-4, 31), weights, strict=True) if interval.contains(point)
    )
    decider = for_lattice("em_quantile", "QUANTILE", Lattice(-4, 30), p=p)
    found = decider.accept(histogram, interval, epsilon)
    assert found == pytest.approx(inside / sum(weights), rel=1e-10)


def rows_to(point: int, values: list[int]) -> int:
    """The least rows to add or remove until ``point`` is the median, by trial."""
    for changes in range(len(values) + 2):
        for added in range(changes + 1):
            low, high = (sum(v < point for v in values), sum(v > point for v in values))
            same = len(values) - low - high
            # Rows of the point are added, rows beyond it removed: nothing else helps more.
            for gone in range(changes - added + 1):
                below, above = max(0, low - gone), max(0, high - (changes - added - gone))
                size = below + above + same + added
                if same + added and below < -(-size // 2) <= below + same + added:
                    return changes
    raise AssertionError


@pytest.mark.parametrize("values", [[], [3], [2, 2, 5, 5], [1] * 6 + [4] * 5, [1, 3, 3, 3, 7, 8]])
@pytest.mark.parametrize(("left", "right"), [(2, 5), (0, 2), ("5/2", "7/2")])
def test_corrected_exponential_median_by_trial(
    values: list[int], left: int | str, right: int | str
) -> None:
    epsilon, interval = 0.7, Interval(left, right)
    weights = {point: math.exp(-epsilon * rows_to(point, values) / 2) for point in range(-1, 10)}
    inside = sum(weight for point, weight in weights.items() if interval.contains(point))
    decider = DECIDERS["em_median_corrected"](lower=-1, upper=9)
    found = decider.accept(Histogram.from_values(values), interval, epsilon)
    assert found == pytest.approx(inside / sum(weights.values()), rel=1e-10)


def test_exponential_median_on_a_billion_points_needs_only_the_values() -> None:
    decider = DECIDERS["em_median"](lower=0, upper=10**9)
    found = decider.accept(AGES, Interval(4, 14), 1)
    assert 0 < found < 1


@pytest.mark.parametrize("epsilon", [0.003, 0.3, 5.0, 200.0])
@pytest.mark.parametrize(
    ("mass", "below", "above"), [(41, 12, 9), (40, 20, 3), (7, 3, 4), (0, 0, 0), (9, 0, 9)]
)
def test_histogram_median_by_summing_the_series(
    mass: int, below: int, above: int, epsilon: float
) -> None:
    values = [0] * below + [10] * (mass - below - above) + [20] * above
    found = DECIDERS["hist_median"]().accept(
        Histogram.from_values(values), Interval(5, 15), epsilon
    )
    scale = 2 / epsilon
    reach = math.ceil(40 * scale) + mass
    k = np.arange(-reach, reach + 1)
    law = stats.laplace(mass, scale)
    share = law.cdf(2 * k) - law.cdf(2 * k - 2)
    other = stats.laplace.cdf(k - below, scale=scale) * stats.laplace.cdf(k - above, scale=scale)
    assert found == pytest.approx(float(share @ other), abs=1e-9)


@pytest.mark.parametrize("p", [Fraction(1, 4), HALF, Fraction(9, 10), Fraction("0.999")])
@pytest.mark.parametrize(("mass", "below", "above"), [(0, 0, 0), (9, 3, 2), (40, 9, 3), (60, 0, 0)])
@pytest.mark.parametrize("epsilon", [0.05, 0.8, 30.0])
def test_histogram_quantile_by_quadrature(
    p: Fraction, mass: int, below: int, above: int, epsilon: float
) -> None:
    values = [0] * below + [10] * (mass - below - above) + [20] * above
    found = DECIDERS["hist_quantile"](p=p).accept(
        Histogram.from_values(values), Interval(5, 15), epsilon
    )
    scale, share, half = 2 / epsilon, float(p), 1 / (2 * p.denominator)

    def both(noise: Floats) -> Floats:
        rows = mass + noise
        density = np.exp(-np.abs(noise) / scale) / (2 * scale)
        first = laplace_below(share * rows - below - half, scale)
        return density * first * laplace_below((1 - share) * rows - above + half, scale)

    kinks = [(below + half) / share - mass, (above - half) / (1 - share) - mass]
    assert found == pytest.approx(integral(both, scale, kinks), abs=1e-9)


@pytest.mark.parametrize(("lower", "upper"), [(0, 20), (-6, 20), (5, 20), (-20, -3)])
@pytest.mark.parametrize("share", [HALF, Fraction(1, 9)])
@pytest.mark.parametrize(("left", "right"), [(6, 9), (-3, "1/3"), (-9, -4), (0, 25)])
def test_laplace_mean_by_quadrature(
    lower: int, upper: int, share: Fraction, left: int, right: int | str
) -> None:
    epsilon = Fraction(7, 10)
    rows = [value for value in (-12, -5, -1, 0, 6, 6, 8, 11, 19) if lower <= value <= upper]
    decider = DECIDERS["lm_mean"](lower=lower, upper=upper, share=share)
    interval = Interval(left, right)
    left_end, right_end = float(interval.lower), float(interval.upper)
    for values in ([], rows, rows * 7):
        found = decider.accept(Histogram.from_values(values), interval, epsilon)
        size = max(abs(lower), abs(upper))
        sums, counts = float(size / (epsilon * (1 - share))), float(1 / (epsilon * share))

        def inside(
            noise: Floats, values: list[int] = values, sums: float = sums, counts: float = counts
        ) -> Floats:
            n = len(values) + noise
            low = laplace_below(left_end * n - sum(values), sums)
            high = laplace_below(right_end * n - sum(values), sums)
            density = np.exp(-np.abs(noise) / counts) / (2 * counts)
            return np.where(n > 0, density * (high - low), 0.0)

        kinks = [-float(len(values))]
        kinks += [sum(values) / end - len(values) for end in (left_end, right_end) if end]
        assert found == pytest.approx(integral(inside, counts, kinks), abs=1e-9)


@pytest.mark.parametrize("decider_id", DECIDERS)
@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", 1, 1000, "1e7"])
def test_every_probability_is_one_for_any_budget_and_size(
    decider_id: str, epsilon: str | int
) -> None:
    big = Histogram(np.array([0, 3, 400_000]), np.array([10**6, 10**8, 10**7]))
    made = DECIDERS[decider_id]
    decider = for_lattice(decider_id, made.aggregate, Lattice(0, 500_000))
    centre = answer(made.aggregate, big)
    assert centre is not None
    for gap in (Fraction(0), centre / 3):
        interval = Interval.around(centre + gap, max(Fraction(1), centre / 10))
        assert 0 <= decider.accept(big, interval, epsilon) <= 1


@pytest.mark.parametrize("epsilon", [1e3, 1e9, 1e12])
def test_exponential_median_keeps_its_weights_at_any_budget(epsilon: float) -> None:
    """The points 4 .. 9 share the best score: one of them in 4 .. 4 is inside (1, 5)."""
    decider = DECIDERS["em_median"](lower=0, upper=9)
    found = decider.accept(Histogram.from_values([3] * 15), Interval(1, 5), epsilon)
    assert found == pytest.approx(3 / 10, rel=1e-9)
    assert decider.accept(AGES, Interval(10**30, 10**31), 1) == 0


def test_overflow_of_the_paper_does_not_occur() -> None:
    """q12 at epsilon 1 and tau 3.2 % gave coin flips in the paper's code (its section 7.2)."""
    decider = DECIDERS["em_count"]()
    interval = Interval.around(470_483, Fraction(32, 1000) * 470_483)
    assert decider.accept(Histogram.of_mass(471_994), interval, 1) == 1.0
