"""Joint noise on a batch of answers: exact privacy on small vectors, and the law of one answer."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.decision_rule import reach
from pqd.deciders.batch.joint import CubeError, JointAnswers
from pqd.deciders.distributions import NoiseSum
from tests.support.noises import LaplaceAlone

# The smallest numbers of queries with their largest steps, at a budget that is no whole number.
SIZES = [(1, 1), (2, 1), (3, 1), (2, 3)]
EPSILON = Fraction(2, 3)


class Scale(LaplaceAlone):
    """Noise of 0 that keeps the scale of the cube noise that was asked for."""

    simulated = False
    scale = Fraction(0)

    def laplace(self, statistic: int, scale: Fraction) -> int:
        raise AssertionError(statistic, scale)

    def choose(self, logit: float) -> bool:
        raise AssertionError(logit)

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        self.scale = scale
        return tuple(statistics)


def steps(queries: int, top: int) -> Iterator[tuple[int, ...]]:
    """Every change of the answers by one row or person: each moves by at most ``top``."""
    return product(range(-top, top + 1), repeat=queries)


def worst_loss(queries: int, top: int, scale: Fraction) -> Fraction:
    """Largest ``ln Pr[z]/Pr[z - change]``: the law is proportional to exp(-max|z| / scale)."""
    places = list(product(range(-3 * top, 3 * top + 1), repeat=queries))
    changes = list(steps(queries, top))
    return max(
        (max(abs(z - d) for z, d in zip(place, change, strict=True)) - max(map(abs, place))) / scale
        for place in places
        for change in changes
    )


def scale_of(mechanism: JointAnswers) -> Fraction:
    noise = Scale()
    output = mechanism.release([5] * mechanism.queries, EPSILON, noise)
    assert output.answers == (5.0,) * mechanism.queries
    return noise.scale


@pytest.mark.parametrize(("queries", "top"), SIZES)
def test_the_loss_is_the_budget_whatever_is_moved(queries: int, top: int) -> None:
    assert worst_loss(queries, top, scale_of(JointAnswers(queries, top))) == EPSILON


def test_noise_for_a_smaller_step_is_caught(
    record_property: Callable[[str, object], None],
) -> None:
    assert worst_loss(2, 3, scale_of(JointAnswers(2, 2))) > EPSILON
    record_property("mutant", "joint noise for a smaller step")
    record_property("caught_by", "loss over all changes of small vectors")


def truth(law: CubeError) -> dict[int, float]:
    """``Pr[Z >= x]`` for x from 1, summed up over all radii."""
    last = math.ceil(float(law.scale) * (law.numbers + 12 * math.sqrt(law.numbers) + 60)) + 10
    radii = np.arange(last, dtype=np.float64)
    logs = law.numbers * np.log(2 * radii + 1) - radii / float(law.scale)
    masses = np.exp(logs - logs.max())
    masses /= masses.sum()
    places = range(1, last, max(1, last // 200))
    shares = {x: np.maximum(radii - x + 1, 0) / (2 * radii + 1) for x in places}
    return {x: float(share @ masses) for x, share in shares.items()}


LAWS = [
    CubeError(numbers, scale)
    for numbers, scale in [
        (1, Fraction(3, 2)),
        (2, Fraction(1, 3)),
        (5, Fraction(4)),
        (40, Fraction(500)),
        (300, Fraction(7)),
    ]
]


@pytest.mark.parametrize("law", LAWS)
def test_tails_are_those_of_the_radii(law: CubeError) -> None:
    exact = truth(law)
    for x, tail in exact.items():
        assert tail - 1e-14 <= law.at_least(x) <= tail * 1.15 + 2e-12, x
        assert law.at_least(1 - x) == pytest.approx(1 - tail, rel=0.15)
    assert law.at_least(2**70) <= 2e-12
    assert law.inside(-3, 4) == pytest.approx(1 - 2 * law.at_least(4), abs=1e-12)
    assert not law.is_silent


def test_noise_on_one_answer_is_laplace_noise() -> None:
    one, other = CubeError(1, Fraction(5, 2)), NoiseSum(1, Fraction(5, 2))
    for x in range(-30, 31):
        assert one.at_least(x) == pytest.approx(other.at_least(x), rel=1e-6)


def test_drawn_answers_follow_the_law() -> None:
    mechanism = JointAnswers(6, 3)
    (law, *_), noise = mechanism.noise_law(EPSILON), SimulatedNoise(1)
    drawn = (
        np.array([mechanism.release([10] * 6, EPSILON, noise).answers for _ in range(4_000)]) - 10
    )
    far = reach(law, Fraction(1, 20))
    assert 0.03 < (drawn > far).mean() <= 0.055
    assert 0.03 < (drawn < -far).mean() <= 0.055
    deviations = mechanism.release([0] * 6, EPSILON, noise).deviations
    assert deviations is not None
    assert drawn.std() == pytest.approx(deviations[0], rel=0.05)


def test_where_all_answers_move_joint_noise_reaches_a_third_as_far() -> None:
    """As docs/reference/release.md says of 20 COUNTs of persons at epsilon 1."""
    (joint, *_) = JointAnswers(20, 1).noise_law(1)
    laplace, level = NoiseSum(1, Fraction(20)), Fraction(1, 40)
    assert (reach(joint, level), reach(laplace, level)) == (22, 60)
