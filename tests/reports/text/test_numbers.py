"""A number as a reader sees it is the number: never other digits, never another size."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pqd.reports.text.numbers import (
    end_text,
    epsilon_option,
    epsilon_text,
    number_text,
    percent_range,
    plain,
    to_digits_of,
)

sizes = st.floats(-1e12, 1e12, allow_nan=False)


@given(sizes, st.integers(3, 9))
@example(120.4, 3)
@example(100.4, 3)
@example(5_500_000.5, 6)
@example(99_999.95, 6)
@example(0.004, 3)
def test_a_shown_number_is_that_number(number: float, digits: int) -> None:
    text = number_text(number, digits)
    shown = float(text.replace(",", ""))
    # Small ones may be shown shorter, but not as another size, and never as 0.
    share = 5 * 10.0 ** (1 - digits) if abs(number) >= 0.1 else 0.05
    assert shown == pytest.approx(number, rel=share, abs=0)
    assert not text.endswith((",", "."))


@given(st.integers(-(10**18), 10**18))
def test_a_whole_number_is_shown_whole(number: int) -> None:
    assert int(number_text(number).replace(",", "")) == number
    if abs(number) < 2**53:
        assert number_text(float(number)) == number_text(number)


# To the nearest, the sum 1,234.75 of noise that is next to never a step would be 1,235 to 1,235.
@given(st.fractions(-(10**7), 10**7, max_denominator=1000), st.integers(3, 9))
@example(Fraction("1234.75"), 4)
@example(Fraction("262.66"), 4)
@example(Fraction("99999.5"), 4)
@example(Fraction("-1845238.5"), 4)
@example(Fraction("0.3"), 4)
def test_the_ends_that_are_shown_hold_what_lies_between(end: Fraction, digits: int) -> None:
    low, high = (end_text(plain(end), digits, up=up).replace(",", "") for up in (False, True))
    # What is a rounding error of a double is none of the ends.
    nothing = Fraction(1, 10**8)
    assert Fraction(low) - nothing <= end <= Fraction(high) + nothing
    size = abs(end) or Fraction(1)
    assert Fraction(high) - Fraction(low) <= max(10 * size / 10 ** (digits - 1), 1)
    if end.denominator == 1:
        assert low == high == str(end)


@given(st.fractions(min_value=-(10**9), max_value=10**9))
def test_an_exact_number_is_a_json_number(number: Fraction) -> None:
    found = plain(number)
    assert isinstance(found, int) == (number.denominator == 1)
    assert found == pytest.approx(float(number), rel=1e-15)


@given(st.fractions(min_value="1e-9", max_value=10**6))
def test_a_budget_is_shown_exactly(epsilon: Fraction) -> None:
    assert Fraction(epsilon_option(epsilon)) == epsilon
    exact, _, least = epsilon_text(epsilon).partition(" (")
    assert Fraction(exact) == epsilon
    if least:
        rounded = Fraction(least.removesuffix(")"))
        assert epsilon * Fraction(99, 100) <= rounded <= epsilon
    else:
        assert exact == epsilon_option(epsilon)


@pytest.mark.parametrize("number", [math.inf, -math.inf])
def test_infinity_is_a_word(number: float) -> None:
    assert number_text(number).endswith("infinite")


@pytest.mark.parametrize("number", [1e300, -1e300, 1e-300, -1e-300, 2.5e17])
def test_a_number_of_any_size_fits_a_line(number: float) -> None:
    assert len(number_text(number)) <= 40


def test_a_range_of_shares_holds_all_of_it() -> None:
    assert percent_range(0.577, 0.577) == "58 %"
    assert percent_range(0.577, 0.584) == "57 % to 59 %"
    assert percent_range(0, 0.584) == "0 % to 59 %"
    assert percent_range(0.996, 1, "and") == "99 % and 100 %"


@given(st.floats(-900, 900, allow_nan=False), st.floats(0.01, 1e6))
@example(0.44, 25)
@example(-0.3, 25)
def test_what_is_not_0_is_not_shown_as_0(number: float, scale: float) -> None:
    text = to_digits_of(number, scale)
    assert (float(text.replace(",", "")) == 0) == (number == 0)
