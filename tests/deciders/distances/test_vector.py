"""Release of K distances: what is drawn at which scale, and in which order."""

import math
from fractions import Fraction

import pytest

from pqd.deciders import ParameterError, SecureNoise
from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.distances.noise_laws import GaussianLaw, LaplaceLaw
from pqd.deciders.distances.vector import CubeVector, GaussianVector, VectorLaw, rows_share
from tests.support.noises import Silent

ROWS = (Fraction(7, 2), Fraction(10, 3), Fraction(0))


def test_the_parts_of_the_budget_add_up() -> None:
    rows, distances = CubeVector(3).shares("0.7")
    assert rows + distances == Fraction(7, 10)
    assert rows == Fraction(1, 10)


@pytest.mark.parametrize("numbers", [1, 2, 3, 5, 10, 16, 57, 127, 1000])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.25])
def test_the_rows_have_about_the_best_part(numbers: int, share: float) -> None:
    """By the deviation of ``share n^ - T^``; a twentieth whatever the number is not."""

    def deviation(part: float) -> float:
        own = math.sqrt((numbers + 1) * (numbers + 2) / 3) / (1 - part)
        return math.hypot(own, math.sqrt(2) * share / part)

    parts = [k / 1000 for k in range(1, 600)]
    assert deviation(float(rows_share(numbers))) < 1.1 * min(map(deviation, parts))
    law = CubeVector(numbers).law("0.01")
    stated = math.hypot(law.distance.deviation, share * law.rows.deviation) / 100
    assert stated == pytest.approx(deviation(float(rows_share(numbers))), rel=0.02)


def test_numbers_stand_in_order_and_in_whole_rows() -> None:
    noise = Silent()
    assert CubeVector(3).release(ROWS, 50, 1, noise) == (50, 4, 3, 0)
    assert sorted(noise.scales) == [Fraction(7, 6)] * 3 + [Fraction(7)]
    law = VectorLaw(LaplaceLaw(Fraction(7)), CubeLaw(3, Fraction(7, 6)))
    assert CubeVector(3).law(1) == law
    assert CubeVector(3).largest_scale(1) == 7


def test_gaussian_deviations_spend_rho() -> None:
    vector, rho = GaussianVector(127, rows=3), Fraction(1, 60)
    of_rows, of_each = vector.sigmas(rho)
    spent = Fraction(9) / (2 * of_rows**2) + 127 * Fraction(9) / (2 * of_each**2)
    assert rho * (1 - Fraction(1, 10**15)) < spent <= rho
    noise = Silent()
    assert GaussianVector(3).release(ROWS, 50, 1, noise) == (50, 4, 3, 0)
    law = GaussianVector(3).law(1)
    of_rows, of_each = GaussianVector(3).sigmas(1)
    assert sorted(noise.scales) == sorted([of_rows, *[of_each] * 3])
    assert law == (GaussianLaw(of_rows), GaussianLaw(of_each))
    assert GaussianVector(3).largest_scale(1) == max(GaussianVector(3).sigmas(1))


@pytest.mark.secure_noise
def test_the_secure_noise_draws_both() -> None:
    """So little that any of it has odds below 1e-1000."""
    fine = Fraction(10**9)
    assert CubeVector(3).release(ROWS, 50, fine, SecureNoise()) == (50, 4, 3, 0)
    assert GaussianVector(3).release(ROWS, 50, fine, SecureNoise()) == (50, 4, 3, 0)


def test_vectors_of_nothing_are_refused() -> None:
    for wrong in (lambda: CubeVector(0), lambda: GaussianVector(0)):
        with pytest.raises(ParameterError, match="at least 1"):
            wrong()
    with pytest.raises(ParameterError, match="0 rows"):
        GaussianVector(2, rows=0)
    with pytest.raises(ParameterError, match="3 distances for a vector of 2"):
        CubeVector(2).release(ROWS, 50, 1, Silent())
