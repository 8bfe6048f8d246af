"""Corners of several measures: a row has one mass, and sides add up to what it adds to the sums."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pqd.deciders.batch.corners import Corners, common_mass

RANGES = [
    ((0, 3),),
    ((-2, 3),),
    ((0, 1), (0, 4)),
    ((-2, 1), (0, 3)),
    ((0, 2), (0, 3), (0, 5)),
    ((-1, 1), (-2, 0), (0, 3)),
    (),
]


def every_row(corners: Corners, beyond: int = 1) -> np.ndarray:
    """All amounts, and those that lie ``beyond`` the ends."""
    values = [range(low - beyond, high + beyond + 1) for low, high in corners.ranges]
    rows = np.array(list(product(*values)), np.int64)
    return rows.reshape(len(rows), len(values)).T


@pytest.mark.parametrize("ranges", RANGES)
@pytest.mark.parametrize("mass", [60, 61])
def test_a_row_has_one_mass_whatever_its_amounts_are(
    ranges: tuple[tuple[int, int], ...], mass: int
) -> None:
    corners = Corners(mass, ranges)
    rows = every_row(corners)
    masses = corners.masses(rows)
    assert (masses >= 0).all()
    assert (masses.sum(axis=0) == mass).all()
    # The sets are nested: a row has at most one corner more than measures.
    assert ((masses > 0).sum(axis=0) <= len(ranges) + 1).all()
    for number, ends in enumerate(ranges):
        amount = np.clip(rows[number], *ends)
        for sign in (1, -1):
            held = [(number, sign) in corner for corner in corners.sides]
            side = masses[held].sum(axis=0)
            assert (side == corners.factors[number] * np.maximum(sign * amount, 0)).all()


def test_the_example_of_the_docstring() -> None:
    corners = Corners(10, ((0, 10), (0, 10)))
    found = dict(zip(corners.sides, corners.masses(np.array([[7], [4]]))[:, 0], strict=True))
    both, first, second = frozenset({(0, 1), (1, 1)}), frozenset({(0, 1)}), frozenset({(1, 1)})
    assert found == {both: 4, first: 3, frozenset(): 3, second: 0}


def test_a_side_without_amounts_has_no_corner() -> None:
    assert Corners(6, ((-2, 0),)).sides == (frozenset(), frozenset({(0, -1)}))
    assert len(Corners(6, ((-2, 3), (0, 1))).sides) == 6
    assert Corners(6, ()).sides == (frozenset(),)


@pytest.mark.parametrize(
    ("tops", "mass"),
    [
        ([1], 1),
        ([1, 999_999], 999_999),
        ([999_999, 999_999**2], 999_999**2),
        ([1, 2, 6], 6),
        ([2**53, 3], 2**53),
        ([2**53, 2**53 - 1], 2**53),
    ],
)
def test_a_mass_that_all_tops_divide_is_the_largest_top(tops: list[int], mass: int) -> None:
    assert common_mass(tops) == mass


@pytest.mark.parametrize("tops", [[501, 1000], [7, 10], [999_999, 1_000_000], [3, 5, 2**39]])
def test_a_factor_is_rounded_down_by_little(tops: list[int]) -> None:
    mass = common_mass(tops)
    assert mass <= 2**48
    assert mass % max(tops) == 0
    for top in tops:
        assert 1 - Fraction(1, 256) <= Fraction(mass // top * top, mass) <= 1
