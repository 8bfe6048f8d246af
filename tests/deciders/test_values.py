"""Exact numbers, intervals, lattices and histograms."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders import Histogram, Interval, Lattice, ParameterError
from pqd.deciders.exact import as_float, exact, positive, probability, ratio
from pqd.deciders.histogram import EMPTY

VALUES = st.lists(st.integers(-50, 50), max_size=40)


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        (0.1, Fraction(1, 10)),
        ("0.25", Fraction(1, 4)),
        ("1/3", Fraction(1, 3)),
        (Decimal("3.2"), Fraction(16, 5)),
        (1e-7, Fraction(1, 10**7)),
        (7, Fraction(7)),
    ],
)
def test_exact_reads_numbers_as_people_write_them(
    given_value: float | str | Decimal, expected: Fraction
) -> None:
    assert exact(given_value) == expected


@pytest.mark.parametrize(
    "wrong",
    ["", "abc", "nan", "inf", "1/0", float("nan"), float("inf"), True, "1e9999999", "9" * 300],
)
def test_exact_refuses_what_is_no_finite_number(wrong: str | float) -> None:
    with pytest.raises(ParameterError):
        exact(wrong, "epsilon")


@pytest.mark.parametrize("wrong", [0, -1, "0", "-0.5"])
def test_budget_and_tolerance_must_be_positive(wrong: int | str) -> None:
    with pytest.raises(ParameterError, match="greater than 0"):
        positive(wrong, "epsilon")


@pytest.mark.parametrize("wrong", [0, 1, "1.5", -0.1])
def test_a_probability_lies_strictly_inside(wrong: float | str) -> None:
    with pytest.raises(ParameterError, match="strictly between"):
        probability(wrong, "alpha")


def test_a_quotient_beyond_the_doubles_is_infinite() -> None:
    assert (ratio(10**400, 3), ratio(-(10**400), 3)) == (np.inf, -np.inf)
    assert (ratio(10**400, 10**400 * 3), as_float(Fraction(-1, 3))) == (1 / 3, -1 / 3)


def test_interval_is_open_and_exact() -> None:
    interval = Interval.around("0.3", "0.1")
    assert interval == Interval("0.2", "0.4")
    assert not interval.contains("0.2")
    assert not interval.contains("0.4")
    assert interval.contains(Fraction(2, 10) + Fraction(1, 10**30))
    assert (interval.centre, interval.tau) == (Fraction(3, 10), Fraction(1, 10))


@pytest.mark.parametrize("ends", [(1, 1), (2, 1)])
def test_an_empty_interval_is_refused(ends: tuple[int, int]) -> None:
    with pytest.raises(ParameterError, match="empty"):
        Interval(*ends)


@pytest.mark.parametrize(
    ("lattice", "unit", "units", "points"),
    [
        (Lattice(0, 99_999), 1, (0, 99_999, 1), 100_000),
        (Lattice("0.5", "2.5", 1), Fraction(1, 2), (1, 5, 2), 3),
        (Lattice(-10, 10, 5), 5, (-2, 2, 1), 5),
        (Lattice(3, 9, 3), 3, (1, 3, 1), 3),
        (Lattice("0.07", "0.11", "0.01"), Fraction(1, 100), (7, 11, 1), 5),
        (Lattice(4, 4), 1, (4, 4, 1), 1),
    ],
)
def test_lattice_units_are_whole(
    lattice: Lattice, unit: Fraction, units: tuple[int, int, int], points: int
) -> None:
    assert lattice.unit == unit
    assert (lattice.lower_units, lattice.upper_units, lattice.step_units) == units
    assert lattice.points == points


@pytest.mark.parametrize(
    ("bounds", "words"),
    [((5, 1, 1), "reversed"), ((0, 10, 3), "upper bound of 9"), ((0, 1, 0), "greater than 0")],
)
def test_a_lattice_that_is_none_is_refused(bounds: tuple[int, int, int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Lattice(*bounds)


def test_a_lattice_finer_than_doubles_is_refused() -> None:
    with pytest.raises(ParameterError, match="widen the step"):
        Lattice(0, 10**12, Fraction(1, 10**6))


@given(VALUES, st.integers(-60, 60), st.integers(1, 9))
def test_histogram_agrees_with_sorted_values(values: list[int], bound: int, part: int) -> None:
    histogram = Histogram.from_values(values)
    end = bound + Fraction(1, part)
    assert histogram.mass == len(values)
    assert histogram.total == sum(values)
    assert histogram.sum_at_most(bound) == sum(v for v in values if v <= bound)
    assert histogram.count_below(end) == sum(v < end for v in values)
    assert histogram.count_at_most(end) == sum(v <= end for v in values)
    assert histogram.largest == max(values, default=0)
    if values:
        assert histogram.median == sorted(values)[(len(values) + 1) // 2 - 1]


@given(VALUES, VALUES)
def test_merging_is_counting_together(first: list[int], second: list[int]) -> None:
    merged = Histogram.merged([Histogram.from_values(first), Histogram.from_values(second)])
    whole = Histogram.from_values(first + second)
    assert np.array_equal(merged.values, whole.values)
    assert np.array_equal(merged.counts, whole.counts)


def test_a_sparse_wide_histogram_is_counted_by_sorting() -> None:
    histogram = Histogram.from_values([10**15, -(10**15), 10**15])
    assert histogram.values.tolist() == [-(10**15), 10**15]
    assert histogram.counts.tolist() == [1, 2]


def test_sums_beyond_64_bits_are_exact() -> None:
    histogram = Histogram(np.array([2**52, 2**52 + 1]), np.array([10**5, 1]))
    assert histogram.total == 2**52 * 10**5 + 2**52 + 1


def test_a_bound_beyond_64_bits_counts_all_or_none() -> None:
    histogram = Histogram.from_values([1, 2])
    assert histogram.count_at_most(10**30) == 2
    assert histogram.count_below(-(10**30)) == 0


@pytest.mark.parametrize(
    ("values", "counts"), [([2, 1], [1, 1]), ([1, 1], [1, 1]), ([1], [0]), ([1, 2], [1])]
)
def test_a_malformed_histogram_is_refused(values: list[int], counts: list[int]) -> None:
    with pytest.raises(ParameterError):
        Histogram(np.array(values), np.array(counts))


def test_there_is_no_order_statistic_of_nothing() -> None:
    with pytest.raises(ParameterError, match="no 1-th smallest of 0"):
        EMPTY.smallest(1)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("0,5", "write a decimal point: 0.5"),
        ("1,000", "write it without commas: 1000"),
        ("12,345.6", "write it without commas: 12345.6"),
        ("5pct", "write per cent as a sign: 5%"),
        ("2.5 per cent", "write per cent as a sign: 2.5%"),
        ("five", "a finite number is needed, such as 10 or 0.25"),
        ("1,2,3", "a finite number is needed"),
    ],
)
def test_a_number_written_otherwise_gets_the_way_to_write_it(text: str, advice: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(f"value is {text!r}; {advice}")):
        exact(text)


def test_a_probability_in_per_cent_gets_the_share() -> None:
    with pytest.raises(ParameterError, match=r"between 0 and 1, so write 0\.05 for 5 %"):
        probability(5, "alpha")
    with pytest.raises(ParameterError, match=r"between 0 and 1$"):
        probability(100, "alpha")
