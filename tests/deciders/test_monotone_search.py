"""Searches of the border of a monotone claim."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders.monotone_search import (
    HALF_A_PER_CENT,
    bracket,
    geometric_mean,
    halfway,
    least,
)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_least_is_the_first_that_holds(border: int, first: int) -> None:
    assert least(lambda number: number >= border, 10**6, first) == max(border, first)


@given(st.integers(1, 2**40), st.integers(1, 2**40))
def test_least_of_parts_is_too_large_by_one_part_at_most(border: int, first: int) -> None:
    tested = set()

    def holds(number: int) -> bool:
        tested.add(number)
        return number >= border

    number = least(holds, 2**40, first, parts=HALF_A_PER_CENT)
    assert number in tested
    assert max(border, first) <= number <= max(border, first) * 1.01


def test_least_gives_up_at_the_most() -> None:
    assert least(lambda _: False, 100) is None
    assert least(lambda number: number >= 100, 100) == 100


@pytest.mark.parametrize("middle", [halfway, geometric_mean])
@pytest.mark.parametrize("falling", [False, True])
def test_a_bracket_ends_at_neighbours_on_either_side_of_the_border(
    middle: Callable[[float, float], float], *, falling: bool
) -> None:
    ends = (9.0, 1.0) if falling else (1.0, 9.0)
    fails, passes = bracket(lambda x: (x * x < 2) is falling, *ends, middle)
    assert (fails * fails < 2) is not falling
    assert (passes * passes < 2) is falling
    assert abs(passes - fails) < 1e-15


def test_a_bracket_ends_after_its_halvings_or_at_its_parts() -> None:
    exact = bracket(
        lambda x: 3 * x >= 1, Fraction(0), Fraction(1), lambda a, b: (a + b) / 2, halvings=4
    )
    assert exact == (Fraction(5, 16), Fraction(3, 8))
    fails, passes = bracket(lambda x: x >= 1 / 3, 0.0, 1.0, halfway, parts=10)
    assert (fails, passes) == (0.3125, 0.34375)
