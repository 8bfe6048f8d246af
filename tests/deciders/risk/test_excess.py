"""Success counts and excesses: estimates, intervals and p-values of released numbers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.errors import ParameterError
from pqd.deciders.risk.excess import Excess
from pqd.deciders.risk.successes import Successes, law_of, release_successes, rounded_up
from tests.support.noises import Absent

LAW = law_of(6, 1)
# As good as no noise, with which laws are known from elsewhere.
EXACT = CubeLaw(7, Fraction(1, 1000))


def excess(
    own: tuple[int, int], other: tuple[int, int], law: CubeLaw = LAW, alpha: float = 0.05
) -> Excess:
    return Excess(Successes(*own, law), Successes(*other, law), alpha)


def test_a_release_is_the_rows_then_each_attack() -> None:
    numbers = [Fraction(7), Fraction(5, 2)]
    assert release_successes(Fraction(9), numbers, 1, Absent()) == (9, 5, -4)
    assert Successes.of(9, 5, LAW).successes == 7
    with pytest.raises(ParameterError, match="no attack"):
        release_successes(Fraction(9), [], 1, Absent())


def test_a_rate_lies_in_its_interval() -> None:
    for rows, successes in [(1000, 300), (1000, 0), (1000, 1000), (1000, -9), (60, 70), (3, 1)]:
        value, low, high = Successes(rows, successes, LAW).interval(0.05)
        assert 0 <= low <= value <= high <= 1
    assert Successes(5, 2, LAW).interval(0.05)[1:] == (0, 1)
    assert Successes(-4, 2, LAW).rate == 0
    value, low, high = Successes(100_000, 40_000, LAW).interval(0.05)
    assert (value, round(low, 3), round(high, 3)) == (0.4, 0.4, 0.4)


def test_rounding_widens_an_interval() -> None:
    plain = Successes(1000, 300, LAW).interval(0.05)
    rounded = Successes(1000, 300, LAW, 0.5).interval(0.05)
    assert rounded.low < plain.low
    assert rounded.high > plain.high
    assert Successes(100, 50, LAW, 0.5).rows_interval(0.05).low < 100


def test_a_weight_is_rounded_up_to_few_values() -> None:
    assert [rounded_up(rate) for rate in (0, 1e-9, 0.5, 1)] == [0, 1 / 64, 0.5, 1]


@pytest.mark.parametrize(
    ("own", "other"), [((400, 240), (300, 150)), ((2000, 22), (1500, 9)), ((500, 3), (700, 2))]
)
def test_p_values_without_noise_are_those_of_two_binomials(
    own: tuple[int, int], other: tuple[int, int]
) -> None:
    """At every held-out rate that is tried, the tail is at least the exact one, and close to it."""
    n, k = own
    m, h = other
    gap, found = k / n - h / m, excess(own, other, EXACT)
    exact = []
    for rate in found._rates(0.0):
        tail = stats.binom.sf(np.ceil(n * (gap + np.arange(m + 1) / m) - 1e-9) - 1, n, rate)
        exact.append(float(tail @ stats.binom.pmf(np.arange(m + 1), m, rate)))
    assert max(exact) <= found.p_more(0.0) <= 1.35 * max(exact) + 0.01


def test_p_values_rise_with_the_excess_and_mirror_each_other() -> None:
    found = excess((2000, 700), (1500, 450))
    tried = np.linspace(-0.2, 0.3, 21)
    more = [found.p_more(each) for each in tried]
    less = [found.p_less(each) for each in tried]
    assert all(a <= b + 1e-6 for a, b in itertools.pairwise(more))
    assert all(a >= b - 1e-6 for a, b in itertools.pairwise(less))
    mirrored = excess((2000, 1300), (1500, 1050))
    assert found.p_more(0.02) == pytest.approx(mirrored.p_less(-0.02), abs=0.01)


def test_the_interval_holds_what_is_not_rejected() -> None:
    found = excess((2000, 700), (1500, 450))
    value, low, high = found.estimate
    assert value == pytest.approx(0.05)
    assert low < value < high
    assert found.p_more(low - 1e-4) <= 0.025 <= found.p_more(low + 1e-2)
    assert found.p_less(high + 1e-4) <= 0.025 <= found.p_less(high - 1e-2)
    # The sampling error alone would have 3.1 points to either side.
    assert 0.031 < (high - low) / 2 < 0.045


def test_verdicts() -> None:
    leaks = excess((20_000, 600), (10_000, 100))
    assert leaks.verdict(0.01) == ("no", leaks.p_more(0.01))
    assert leaks.verdict(0.01).p_value < 0.001
    assert excess((20_000, 200), (10_000, 100)).verdict(0.01).outcome == "yes"
    assert excess((20_000, 200), (10_000, 100)).verdict(0.01).p_value < 0.001
    assert excess((20_000, 450), (10_000, 100)).verdict(0.01).p_value > 0.05


@pytest.mark.parametrize("other", [(3, 1), (0, 0), (-9, 4)])
def test_of_too_few_rows_nothing_is_known(other: tuple[int, int]) -> None:
    found = excess((1000, 900), other)
    assert found.estimate[1:] == (-1, 1)
    assert found.p_more(0) == found.p_less(0) == 1


@pytest.mark.parametrize("tolerance", [-0.999, -0.5, 0.0, 0.5, 0.999])
@pytest.mark.parametrize("numbers", [*itertools.product([-20, 0, 500, 1020], repeat=2)])
def test_every_release_has_a_p_value(tolerance: float, numbers: tuple[int, int]) -> None:
    found = excess((1000, numbers[0]), (1000, numbers[1]))
    assert 0 <= found.verdict(tolerance).p_value <= 1
    assert all(math.isfinite(end) and -1 <= end <= 1 for end in found.estimate)


@pytest.mark.parametrize("rates", [(0, 0), (1000, 1000), (0, 1000)])
def test_without_any_error_an_interval_still_ends(rates: tuple[int, int]) -> None:
    """Here the noise is 0 and so is the deviation of both rates: nothing gives the step."""
    found = excess((1000, rates[0]), (1000, rates[1]), EXACT)
    value, low, high = found.estimate
    assert low <= value <= high
    assert high - low < 0.05


@pytest.mark.parametrize("alpha", [0, 1, "x"])
def test_alpha_is_a_probability(alpha: float) -> None:
    with pytest.raises(ParameterError, match="alpha"):
        excess((10, 1), (10, 1), alpha=alpha)
