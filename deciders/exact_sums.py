"""Exact sums of whole numbers by group, and exact ratios, beyond 64 bits.

A sum that wraps around at 64 bits is no sum: one row more could move it by 2^64.  So sums that may
be larger are Python integers, in arrays of objects.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqd.deciders.histogram import Sums

# Sums of values below 2^32, over 2^31 rows, fit into 64 bits.
LARGEST_IN_64_BITS = 2**32 - 1
# Values are added up in two parts.  Over 2^31 rows each part is below 2^62.
_BITS = 31
_LOW = (1 << _BITS) - 1
_MOST_ROWS = 1 << _BITS


def sums_by_group(groups: ArrayLike, values: ArrayLike, counts: ArrayLike, size: int) -> Sums:
    """Python integers (size,): the sum of ``counts[i]`` times ``values[i]`` in each group.

    ``groups``, ``values`` and ``counts`` are whole numbers of the same shape, or single numbers.
    The sums are exact for values below 2^62 in size.  If the counts add up to more than 2^31, the
    same sums are taken of Python integers.
    """
    places, amounts, rows = np.broadcast_arrays(groups, values, counts)
    if int(rows.sum()) > _MOST_ROWS:
        totals = np.zeros(size, object)
        np.add.at(totals, places, amounts.astype(object) * rows.astype(object))
        return totals
    high, low = np.zeros(size, np.int64), np.zeros(size, np.int64)
    np.add.at(high, places, (amounts >> _BITS) * rows)
    np.add.at(low, places, (amounts & _LOW) * rows)
    return (high.astype(object) << _BITS) + low


def exact_sum(values: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """Sum of ``counts[i]`` times ``values[i]``, under the conditions of ``sums_by_group``."""
    if int(counts.sum()) > _MOST_ROWS:
        return int(values.astype(object) @ counts.astype(object))
    return (int((values >> _BITS) @ counts) << _BITS) + int((values & _LOW) @ counts)


def fitting(table: NDArray[Any], largest: int) -> NDArray[Any]:
    """``table``, as Python integers if it holds whole numbers of rows of up to ``largest`` each.

    Doubles stay doubles.  Only public ``largest`` decides.
    """
    wide = largest > LARGEST_IN_64_BITS and table.dtype.kind in "iu"
    return table.astype(object) if wide else table


def ratios(tops: NDArray[Any], bottoms: NDArray[np.int64]) -> NDArray[np.float64]:
    """``tops / bottoms`` as doubles, where Python integers are divided exactly, then rounded."""
    if tops.dtype == object:
        bottoms = bottoms.astype(object)
    quotients: NDArray[np.float64] = np.asarray(tops / bottoms, dtype=np.float64)
    return quotients
