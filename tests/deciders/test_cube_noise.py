"""Cube noise: its law by its radius, its privacy exactly, and what is drawn."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from pqd.deciders import ParameterError, SecureNoise, SimulatedNoise
from pqd.deciders.cube_noise import CubeRadius
from pqd.deciders.distances.cube_law import CubeLaw, CubeNoise
from pqd.deciders.distances.noise_laws import GaussianLaw, LaplaceLaw
from tests.support.odds import RARE, WRONG, odds_of_hits, odds_of_total

LAWS = [
    CubeRadius(numbers, Fraction(scale))
    for numbers, scale in [(1, "3"), (5, "2"), (127, "1.05"), (3, "0.25")]
]


def exact_chance(law: CubeRadius, radius: int) -> Decimal:
    """Chance of acceptance, to 100 digits and more."""
    low, high = law._bounds(radius, 400)
    return Decimal(low + high) / 2 / Decimal(10) ** 400


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_one_step_of_the_largest_coordinate_costs_its_epsilon(law: CubeRadius) -> None:
    """A ratio of chances of a point and of one a step farther is exp(1/scale)."""
    with localcontext() as context:
        context.prec = 100
        scale = Decimal(law.scale.numerator) / law.scale.denominator
        last = law.mode + 12 * int(law.spread) + 30
        points = [
            (Decimal(-abs(r - law.mode)) / int(law.spread)).exp()
            * exact_chance(law, r)
            / (2 * r + 1) ** law.numbers
            for r in range(last)
        ]
        # The chance of a point is the sum over all radii from it on; those beyond are geometric.
        beyond = points[-1] / ((1 / scale).exp() - 1)
        own = [one + beyond for one in itertools.accumulate(reversed(points))][::-1]
        losses = [(own[r] / own[r + 1]).ln() * scale for r in range(last - 1)]
    assert max(abs(loss - 1) for loss in losses) < Decimal("1e-50")


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_chance_is_one_and_not_wasteful(law: CubeRadius) -> None:
    """At most 1 everywhere, and a proposal is accepted at least once in ten."""
    radii = range(law.mode + 20 * int(law.spread))
    assert all(law._bounds(r, 60)[1] <= 10**60 for r in radii)
    a = math.exp(-1 / float(law.spread))
    weights = [(1 - a) / (1 + a) * a ** abs(r - law.mode) for r in radii]
    assert np.dot(weights, [law.chance(r) for r in radii]) > 0.1
    assert law.chance(-1) == 0
    assert not law.accepts(-1, lambda _: 0)


def test_a_chance_is_met_digit_by_digit() -> None:
    """A number whose first digits are the chance's own is told apart by later ones."""
    law, radius = CubeRadius(3, Fraction(4)), 20
    low, high = law._bounds(radius, 120)
    assert high - low <= 2
    first, second = divmod(low, 10**60)
    for change, accepted in ((-5, True), (5, False)):
        blocks = [second + change, first]
        assert law.accepts(radius, lambda _, blocks=blocks: blocks.pop()) == accepted  # type: ignore[misc]
    assert law.accepts(radius, lambda _: 0)
    assert not law.accepts(radius, lambda below: below - 1)


@pytest.mark.secure_noise
@pytest.mark.parametrize("secure", [True, False])
def test_draws_have_the_law(secure: bool) -> None:
    """Chances of the largest coordinate, and of each place of one; a wrong scale is rejected.

    But for odds of 1e-12: with so many draws the laws hardly overlap.
    """
    noise = SecureNoise() if secure else SimulatedNoise(7)
    draws, scale, shift = 1700, Fraction(3, 2), (2**70, -5)
    drawn = [noise.cube(shift, scale) for _ in range(draws)]
    moved = [tuple(x - s for x, s in zip(one, shift, strict=True)) for one in drawn]
    largest = np.array([max(map(abs, one)) for one in moved])

    def chances(of: Fraction) -> NDArray[np.float64]:
        """Chances of each largest coordinate."""
        m = np.arange(200)
        weights = ((2 * m + 1) ** 2 - np.maximum(2 * m - 1, 0) ** 2) * np.exp(-m / float(of))
        own: NDArray[np.float64] = weights / weights.sum()
        return own

    total = int(largest.sum())
    assert odds_of_total(total, draws, chances(scale)) > RARE
    assert odds_of_total(total, draws, chances(scale * 13 / 10)) < WRONG
    assert odds_of_total(total, draws, chances(scale * 7 / 10)) < WRONG
    assert odds_of_hits(int(np.sum(largest == 0)), draws, chances(scale)[0]) > RARE
    # Both coordinates, and both signs, are alike.
    for place in (0, 1):
        above, below = (sum(sign * one[place] > 0 for one in moved) for sign in (1, -1))
        assert odds_of_hits(above, above + below, 0.5) > RARE
    first, second = sum(abs(a) > abs(b) for a, b in moved), sum(abs(a) < abs(b) for a, b in moved)
    assert odds_of_hits(first, first + second, 0.5) > RARE


@pytest.mark.secure_noise
def test_tiny_scales_draw_nothing_and_huge_ones_are_refused() -> None:
    noise = SecureNoise()
    assert noise.cube([3, -4, 2**80], Fraction(1, 10**9)) == (3, -4, 2**80)
    with pytest.raises(ParameterError, match="beyond 2\\^56"):
        noise.cube([1], Fraction(2**57))


CASES = [
    (CubeLaw(1, Fraction(20)), ((1.0, 1),), 0.0),
    (CubeLaw(3, Fraction(2)), ((1.0, 1),), 0.3),
    (CubeLaw(40, Fraction(1, 2)), ((1.0, 1),), 0.0),
    (CubeLaw(40, Fraction(1)), ((0.025, 40),), 0.8),
    (CubeLaw(6, Fraction(5)), ((0.1, 4), (0.3, 2)), 0.1),
    (CubeLaw(127, Fraction(10**5)), ((1.0, 1),), 0.0),
]


@pytest.mark.parametrize("place", range(len(CASES)))
@pytest.mark.parametrize("rows", [LaplaceLaw(Fraction(20)), GaussianLaw(Fraction(15))], ids=str)
def test_tails_are_those_of_draws(place: int, rows: LaplaceLaw | GaussianLaw) -> None:
    """Bounds, and close ones: what a step and a part in a hundred add."""
    law, weights, share = CASES[place]
    noise, rng = CubeNoise(law, weights), np.random.default_rng(5)
    draws, source = 2000, SimulatedNoise(rng)
    each = np.repeat([weight for weight, _ in weights], [count for _, count in weights])
    sums = np.array([source.cube([0] * law.numbers, law.scale) for _ in range(draws)])
    values = sums[:, : each.size] @ each
    if isinstance(rows, LaplaceLaw):
        values = values - share * np.array([source.laplace(0, rows.scale) for _ in range(draws)])
    else:
        values = values - share * np.round(rng.normal(0, 15, draws))
    assert noise.deviation == pytest.approx(np.std(sums[:, : each.size] @ each), rel=0.06)
    for alpha in (0.8, 0.2, 0.05):
        reach = noise.critical(share, rows, alpha)
        beyond = np.mean(np.abs(values) >= reach)
        error = math.sqrt(alpha * (1 - alpha) / draws)
        assert beyond <= alpha + 4.5 * error
        near = np.mean(np.abs(values) >= reach * 0.97 - 2 * noise.added - 0.02)
        assert near >= alpha - 4.5 * error
        tail = float(noise.at_least(reach, share, rows))
        assert tail <= alpha / 2 * (1 + 1e-6)
    assert noise.at_least(-1.0, share, rows) == 1
    assert float(noise.at_least(1e12, share, rows)) < 1e-9
    steps = np.linspace(0, 6 * noise.deviation + 1, 50)
    assert np.all(np.diff(noise.at_least(steps, share, rows)) <= 1e-12)
