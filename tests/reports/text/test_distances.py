"""Shares as a reader sees them: ends of intervals hold what they held, nothing becomes certain."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import BudgetPart
from pqd.reports.text.cost import promise
from pqd.reports.text.distances import (
    budget_lines,
    digits_of,
    figure_text,
    ways_text,
)
from pqd.reports.text.numbers import interval_text, percent_text, points_text, share_digits

shares = st.floats(0, 1, allow_nan=False)


@given(shares, shares, st.integers(0, 3))
@example(0.07, 0.29, 2)
@example(0.0, 1.0, 1)
def test_an_interval_as_shown_holds_the_interval(one: float, other: float, digits: int) -> None:
    low, high = sorted((one, other))
    first, last = (float(end) / 100 for end in interval_text(low, high, digits).split(" to "))
    assert first <= low + 1e-8
    assert last >= high - 1e-8
    # And is not wider than its digits ask for.
    assert last - first <= high - low + 2.01 * 10.0 ** (-2 - digits)


@given(shares, st.integers(0, 3))
@example(1e-9, 1)
@example(1 - 1e-9, 1)
def test_no_share_is_rounded_to_all_or_nothing(share: float, digits: int) -> None:
    text = percent_text(share, digits)
    assert (float(text.split()[0]) == 0 if text[0] not in "<>" else False) <= (share == 0)
    assert text.startswith("100") <= (share == 1)


@pytest.mark.parametrize(
    ("width", "digits"), [(0.5, 0), (0.05, 1), (0.01, 1), (0.004, 1), (0.0004, 2), (1e-7, 3)]
)
def test_digits_follow_the_width_of_the_interval(width: float, digits: int) -> None:
    assert share_digits(width) == digits


def test_a_figure_has_its_interval() -> None:
    assert figure_text(Figure(0.9238, 0.9219, 0.9257)) == "92.4 % (92.1 to 92.6)"
    assert figure_text(Figure(0.9238, 0.92199, 0.92571), 2) == "92.38 % (92.19 to 92.58)"
    assert digits_of() == 1


def test_differences_have_a_sign_unless_they_are_nothing() -> None:
    assert points_text(0.028, 1) == "+2.8"
    assert points_text(-0.028, 1) == "-2.8"
    assert points_text(-0.0001, 1) == "0.0"


def test_words_for_marginals() -> None:
    assert [ways_text(ways) for ways in (1, 2, 3, 4)] == [
        "columns", "pairs", "triples", "marginals of 4 columns"
    ]  # fmt: skip
    assert ways_text(4, 1) == "marginal of 4 columns"


def test_a_promise_says_what_delta_is() -> None:
    assert "been more than 2.72 times as probable; a guess" in promise(Fraction(1), Fraction(0))
    assert "guess" not in promise(Fraction(1), Fraction(1, 1000))
    assert "been, but for a chance of 1e-06, more than" in promise(Fraction(1), Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("epsilon", "text"), [("5/24", "epsilon about 0.208 for"), ("0.2375", "epsilon 0.2375 for")]
)
def test_a_part_of_a_budget_is_no_fraction(epsilon: str, text: str) -> None:
    part = BudgetPart(part="distances", epsilon=Fraction(epsilon), numbers=2, scale=9.6)
    (line,) = budget_lines([part], 20_000)
    assert line.startswith(text)
