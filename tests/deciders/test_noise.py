"""The secure and the simulated noise draw the distributions they state."""

import math
from collections import Counter
from fractions import Fraction
from unittest.mock import MagicMock

import pytest

from deciders import (
    DECIDERS,
    Histogram,
    Interval,
    Lattice,
    Noise,
    ParameterError,
    SecureNoise,
    SimulatedNoise,
    for_lattice,
)
from deciders.noise import fineness, noisy_value, rounded_up
from tests.support.odds import RARE, odds_of_hits

# So many that noise which is wrong by 30 % is called so but for 1e-12.
DRAWS = 8_000


def geometric(z: int, scale: float) -> float:
    """``Pr[Z = z]`` of the two-sided geometric distribution."""
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** abs(z)


@pytest.fixture(params=["secure", "simulated"])
def noise(request: pytest.FixtureRequest) -> Noise:
    return SecureNoise() if request.param == "secure" else SimulatedNoise(11)


def test_laplace_is_two_sided_geometric_around_the_statistic(noise: Noise) -> None:
    scale, statistic = Fraction(3, 2), 2**80 + 12345
    seen = Counter(noise.laplace(statistic, scale) - statistic for _ in range(DRAWS))
    for z in range(-3, 4):
        assert odds_of_hits(seen[z], DRAWS, geometric(z, float(scale))) > RARE
    # The check has power: a scale wrong by 30 % is rejected at its mode.
    for factor in (0.7, 1.3):
        assert odds_of_hits(seen[0], DRAWS, geometric(0, 1.5 * factor)) < RARE


@pytest.mark.parametrize("logit", [-2.0, -0.5, 0.0, 0.5, 2.0])
def test_choose_has_logistic_odds(noise: Noise, logit: float) -> None:
    hits = sum(noise.choose(logit) for _ in range(DRAWS))
    assert odds_of_hits(hits, DRAWS, 1 / (1 + math.exp(-logit))) > RARE


@pytest.mark.parametrize("size", [800.0, 1e6, 1e300, math.inf])
def test_choose_is_sure_for_any_size_of_odds(noise: Noise, size: float) -> None:
    assert noise.choose(size)
    assert not noise.choose(-size)


def test_choose_is_fair_for_tiny_odds() -> None:
    noise = SecureNoise()
    hits = sum(noise.choose(1e-310) for _ in range(DRAWS))
    assert odds_of_hits(hits, DRAWS, 0.5) > RARE


def test_negative_statistics_keep_their_place() -> None:
    noise, tight = SecureNoise(), Fraction(1, 10_000)
    for statistic in (-1, -(2**32), -(2**90) - 7, 0, 2**32, 2**33 - 1):
        assert noise.laplace(statistic, tight) == statistic


def test_a_mechanism_is_made_once_for_a_scale_and_run_for_each_draw() -> None:
    opendp, noise = MagicMock(), SecureNoise()
    make, run = opendp.measurements.make_laplace, opendp.measurements.make_laplace.return_value
    run.side_effect = lambda statistic: statistic + 1
    noise.__dict__["_opendp"] = opendp
    draws = [(7, Fraction(2)), (8, Fraction(2)), (-1, Fraction(3))]
    assert [noise.laplace(*draw) for draw in draws] == [8, 9, 0]
    assert [call.kwargs for call in make.call_args_list] == [{"scale": 2.0}, {"scale": 3.0}]
    assert [call.args for call in run.call_args_list] == [(7,), (8,), (2**32 - 1,)]
    noise.gaussian(7, Fraction(2))
    opendp.measurements.make_gaussian.assert_called_once()


def test_the_scale_is_never_rounded_to_less_noise() -> None:
    for scale in (Fraction(1, 3), Fraction(10**30, 7), Fraction(1, 10), Fraction(2)):
        assert Fraction(rounded_up(scale)) >= scale
        assert rounded_up(scale) <= float(scale) * (1 + 2**-50)


@pytest.mark.parametrize(
    "scale", [Fraction(1, 10**6), Fraction(4), Fraction(2**39), Fraction(10**12)]
)
def test_the_grid_holds_many_points_in_one_scale(scale: Fraction) -> None:
    grid = fineness(scale)
    assert grid.bit_count() == 1
    assert scale * grid >= 2**40 or grid == 1


def test_a_scale_beyond_use_is_refused() -> None:
    with pytest.raises(ParameterError, match="larger epsilon"):
        fineness(Fraction(10**20))


@pytest.mark.parametrize("decider_id", ["inv_count", "lm_count", "hist_median"])
def test_no_draw_may_saturate(decider_id: str) -> None:
    """Beyond 2^56 OpenDP's 64 bits would saturate and give the statistic away."""
    with pytest.raises(ParameterError, match="beyond 2\\^56"):
        SecureNoise().laplace(10, Fraction(2**60))
    decider, table = DECIDERS[decider_id](), Histogram.of_mass(10)
    with pytest.raises(ParameterError, match="between 1e-12 and 1e12"):
        decider.decide(table, Interval(10, 20), "1e-19", SecureNoise())


@pytest.mark.parametrize("decider_id", DECIDERS)
def test_the_largest_scale_bounds_every_draw(decider_id: str) -> None:
    class Watched(SimulatedNoise):
        largest = Fraction(0)

        def laplace(self, statistic: int, scale: Fraction) -> int:
            self.largest = max(self.largest, scale)
            return super().laplace(statistic, scale)

    made, noise = DECIDERS[decider_id], Watched(3)
    decider = for_lattice(decider_id, made.aggregate, Lattice(0, 10**9))
    epsilon = Fraction(1, 10**5)
    decider.decide(Histogram.from_values([5, 10**9]), Interval(4, 10**7), epsilon, noise)
    # Draws on a grid have at most 2^42 points to a scale.
    allowed = max(decider.largest_scale(epsilon), Fraction(2**42))
    assert noise.largest <= allowed


def test_a_statistic_off_the_grid_is_rounded_down_by_less_than_a_point() -> None:
    class Silent(SimulatedNoise):
        def laplace(self, statistic: int, scale: Fraction) -> int:  # noqa: ARG002 - no noise
            return statistic

    scale = Fraction(1)
    value = noisy_value(Fraction(1, 3), scale, Silent())
    assert 0 <= Fraction(1, 3) - value < Fraction(1, fineness(scale))


def test_simulation_repeats_with_its_seed_and_is_marked() -> None:
    first, second = SimulatedNoise(5), SimulatedNoise(5)
    assert [first.laplace(0, Fraction(9)) for _ in range(20)] == [
        second.laplace(0, Fraction(9)) for _ in range(20)
    ]
    assert first.simulated
    assert not SecureNoise().simulated
