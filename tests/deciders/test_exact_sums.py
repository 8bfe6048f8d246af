"""Sums of large whole numbers by group, against Python integers; a twin of 64 bits is caught."""

import numpy as np
import pytest

from pqd.deciders.exact_sums import exact_sum, fitting, ratios, sums_by_group

LARGEST = 2**62 - 1
VALUES = np.array([LARGEST, -LARGEST, 1, LARGEST, 0, -1, 2**31, 2**31 - 1], np.int64)
COUNTS = np.array([2**30, 3, 1, 2**29, 7, 5, 2, 9], np.int64)
GROUPS = np.array([0, 1, 1, 0, 3, 3, 3, 1])


def by_hand() -> list[int]:
    totals = [0] * 4
    for group, value, count in zip(GROUPS, VALUES.tolist(), COUNTS.tolist(), strict=True):
        totals[group] += value * count
    return totals


def test_sums_beyond_64_bits_are_exact() -> None:
    assert sums_by_group(GROUPS, VALUES, COUNTS, 4).tolist() == by_hand()
    assert exact_sum(VALUES, COUNTS) == sum(by_hand())
    assert max(by_hand()) > 2**64
    assert sums_by_group(GROUPS, VALUES, 1, 5).tolist()[4] == 0
    assert exact_sum(VALUES[:0], COUNTS[:0]) == 0


@pytest.mark.parametrize("rows", [2**31, 2**31 + 1, 2**32 + 2**20, 2**33])
def test_more_rows_than_two_billion_do_not_wrap_around(rows: int) -> None:
    values, counts = np.array([2**31 - 1, LARGEST, -LARGEST]), np.array([rows - 2, 1, 1])
    expected = (2**31 - 1) * (rows - 2)
    assert exact_sum(values, counts) == expected
    assert sums_by_group([0, 0, 0], values, counts, 2).tolist() == [expected, 0]


def test_a_twin_that_adds_up_in_64_bits_is_caught() -> None:
    with np.errstate(over="ignore"):
        wrapped = np.zeros(4, np.int64)
        np.add.at(wrapped, GROUPS, VALUES * COUNTS)
    assert wrapped.tolist() != by_hand()


@pytest.mark.parametrize(("largest", "kind"), [(2**32 - 1, np.int64), (2**32, object)])
def test_the_largest_amount_alone_decides_the_type(largest: int, kind: type) -> None:
    assert fitting(VALUES, largest).dtype == kind
    assert fitting(VALUES.astype(float), largest).dtype == np.float64


def test_ratios_are_rounded_once() -> None:
    tops = np.array([2**70 + 1, 3], object)
    assert ratios(tops, np.array([2**53, 7])).tolist() == [(2**70 + 1) / 2**53, 3 / 7]
    assert ratios(np.array([6, 3]), np.array([4, 7])).tolist() == [1.5, 3 / 7]
