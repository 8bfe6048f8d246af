"""The secure and the simulated noise draw the distributions they state."""

import copy
import math
import os
import pickle
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import count, product
from unittest.mock import MagicMock

import pytest

from pqd.deciders import (
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
from pqd.deciders.noise import NoiseAhead, fineness, noisy_value, rounded_up
from tests.support.odds import RARE, odds_of_hits
from tests.support.permute_and_flip import law_of_permute_and_flip

pytestmark = pytest.mark.secure_noise

# So many that noise which is wrong by 30 % is called so but for 1e-12.
DRAWS = 8_000

Ran = tuple[int, str, str]


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


@pytest.mark.parametrize("scores", [[3, 0, 1, 7], [5, 5], [-40, 2, -39]])
def test_the_least_place_has_the_law_of_permute_and_flip(noise: Noise, scores: list[int]) -> None:
    scale, draws = Fraction(2), DRAWS // 8
    seen = Counter(noise.least_place(scores, scale) for _ in range(draws))
    for place, chance in enumerate(law_of_permute_and_flip(scores, float(scale))):
        assert odds_of_hits(seen[place], draws, chance) > RARE
    # The check has power: a third of the noise is rejected where two scores are near each other.
    smaller = law_of_permute_and_flip(scores, float(scale / 3))
    if scores[0] == 3:
        assert min(odds_of_hits(seen[i], draws, p) for i, p in enumerate(smaller)) < RARE


def test_permute_and_flip_costs_two_over_its_scale() -> None:
    """Exact law over all neighbours of small scores; with half the scale it loses twice as much."""

    def loss(scale: float) -> float:
        worst = 0.0
        for scores in product(range(4), repeat=3):
            law = law_of_permute_and_flip(list(scores), scale)
            for steps in product((-1, 0, 1), repeat=3):
                moved = [score + step for score, step in zip(scores, steps, strict=True)]
                pairs = zip(law, law_of_permute_and_flip(moved, scale), strict=True)
                worst = max(worst, *(abs(math.log(p / q)) for p, q in pairs))
        return worst

    epsilon = 0.5
    assert 0.9 * epsilon < loss(2 / epsilon) <= epsilon + 1e-12
    assert loss(1 / epsilon) > 1.5 * epsilon


def test_negative_statistics_keep_their_place() -> None:
    noise, tight = SecureNoise(), Fraction(1, 10_000)
    for statistic in (-1, -(2**32), -(2**90) - 7, 0, 2**32, 2**33 - 1):
        assert noise.laplace(statistic, tight) == statistic


def test_a_law_is_made_once_for_a_scale_and_takes_zeros_alone() -> None:
    """The statistic, which is private, is added outside, in exact integers."""
    opendp, noise = MagicMock(), SecureNoise()
    make, law = opendp.measurements.make_laplace, opendp.measurements.make_laplace.return_value
    law.side_effect = lambda zeros: [zero + 1 for zero in zeros]
    opendp.measurements.make_gaussian.return_value.side_effect = lambda zeros: [2 for _ in zeros]
    noise.__dict__["_opendp"] = opendp
    draws = [(7, Fraction(2)), (8, Fraction(2)), (9, Fraction(2)), (-(2**90), Fraction(3))]
    assert [noise.laplace(*draw) for draw in draws] == [8, 9, 10, 1 - 2**90]
    assert [call.kwargs for call in make.call_args_list] == [{"scale": 2.0}, {"scale": 3.0}]
    assert [call.args for call in law.call_args_list] == [([0],), ([0, 0],), ([0],)]
    assert noise.gaussian(7, Fraction(2)) == 9
    opendp.measurements.make_gaussian.assert_called_once()


class Drawn:
    """Law whose draws are numbered, so that one which is given out twice is seen."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._numbers = count()

    def __call__(self, zeros: list[int]) -> list[int]:
        assert not any(zeros)
        self.sizes.append(len(zeros))
        return [next(self._numbers) for _ in zeros]


class Reusing(NoiseAhead):
    """Broken twin: what is given out stays."""

    def draw(self) -> int:
        drawn = super().draw()
        self._waiting.append(drawn)
        return drawn


def test_every_draw_that_was_made_ahead_is_given_out_once() -> None:
    law = Drawn()
    ahead = NoiseAhead(law)
    assert sorted(ahead.draw() for _ in range(1 + 2 + 4 + 8)) == list(range(15))
    assert law.sizes == [1, 2, 4, 8]
    for _ in range(16 + 32 + 64 + 128 + 256 + 256):
        ahead.draw()
    assert law.sizes[4:] == [16, 32, 64, 128, 256, 256]
    broken = Reusing(Drawn())
    assert len({broken.draw() for _ in range(15)}) < 15


def test_no_two_threads_are_given_the_same_draw() -> None:
    ahead, interval = NoiseAhead(Drawn()), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            draws = list(threads.map(lambda _: ahead.draw(), range(4_000)))
    finally:
        sys.setswitchinterval(interval)
    assert len(set(draws)) == 4_000


def test_a_draw_in_the_midst_of_another_shares_nothing_with_it() -> None:
    """As of two threads that find nothing waiting at once."""
    law, within = Drawn(), []

    def interrupted(zeros: list[int]) -> list[int]:
        drawn = law(zeros)
        if len(law.sizes) == 3:
            within.append(ahead.draw())
        return drawn

    ahead = NoiseAhead(interrupted)
    draws = [ahead.draw() for _ in range(10)]
    assert within
    assert len({*draws, *within}) == 11


FORKED = """
import os
from itertools import count, permutations, product
from pqd.deciders import noise

numbers = count()
ahead = noise.NoiseAhead(lambda zeros: [1000 * os.getpid() + next(numbers) for _ in zeros])
if not FORGETS:
    noise._AHEAD.clear()
ahead.draw(), ahead.draw()
child = os.fork()
if child:
    os.waitpid(child, 0)
print(os.getpid(), ahead.draw() // 1000)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
@pytest.mark.parametrize("forgets", [True, False], ids=["", "broken twin"])
def test_a_forked_process_draws_anew(forgets: bool, process: Callable[..., Ran]) -> None:
    """Else parent and child would add the same noise to two statistics."""
    code, out, err = process("-c", FORKED.replace("FORGETS", str(forgets)))
    assert (code, err) == (0, "")
    draws = [line.split() for line in out.splitlines()]
    assert len(draws) == 2
    by_itself = [drawer == maker for drawer, maker in draws]
    assert sorted(by_itself) == [forgets, True]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_draws_that_wait_are_not_copied(copied: Callable[[object], object]) -> None:
    """A copy would give out the same ones."""
    ahead = NoiseAhead(Drawn())
    ahead.draw(), ahead.draw()
    with pytest.raises(TypeError, match="given out once"):
        copied(ahead)


def test_choices_of_one_logit_take_as_many_calls_as_those_of_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Logits are private: what is kept of one would tell whether it comes again, by the time."""
    noise, sizes = SecureNoise(), list[int]()
    make = noise._opendp.measurements.make_laplace

    def counted(*kinds: object, scale: float) -> Callable[[list[int]], list[int]]:
        drawn, made = make(*kinds, scale=scale), len(sizes)
        sizes.append(0)

        def draw(zeros: list[int]) -> list[int]:
            sizes[made] += len(zeros)
            given: list[int] = drawn(zeros)
            return given

        return draw

    monkeypatch.setattr(noise._opendp.measurements, "make_laplace", counted)
    calls = []
    for logits in ([0.5] * 8, [0.5 + number / 8 for number in range(8)]):
        sizes.clear()
        for logit in logits:
            noise.choose(logit)
        calls.append(list(sizes))
    assert calls == [[1] * 8] * 2


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
