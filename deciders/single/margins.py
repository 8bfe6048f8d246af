"""Margins: how many rows must be added or removed to flip a true verdict, in exact integers.

The verdict "inside (l, r)" is the conjunction of two half-lines, ``q < r`` and ``q > l``.  The
signed distance of a half-line is ``d`` where it holds and ``1 - d`` where it does not, ``d`` being
the least number of single-row changes that flips it.  Moving to a neighbour changes ``d`` by at
most 1, so the signed distance is 1-Lipschitz, and so is the minimum of the two, the margin: at
least 1 exactly where the verdict is yes (docs/theory.md, section 3).

Everything is in lattice units; ``NEVER`` stands for a half-line that no change can flip.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deciders.histogram import Histogram
from deciders.interval import Interval

NEVER = math.inf
_SAFE = 2**62


def count_margin(count: int, interval: Interval) -> float:
    """Margin of ``l < COUNT < r``: each change moves the count by one."""
    below = math.ceil(interval.upper) - count
    above = count - math.floor(interval.lower) if interval.lower >= 0 else NEVER
    return min(below, above)


def sum_margin(histogram: Histogram, interval: Interval, lower: int, upper: int) -> float:
    """Margin of ``l < SUM < r`` for values in ``lower .. upper``."""
    moves = Moves(histogram.values, histogram.counts, lower, upper)
    return min(
        moves.signed_below(math.ceil(interval.upper)),
        moves.signed_above(math.floor(interval.lower)),
    )


def mean_margin(histogram: Histogram, interval: Interval, lower: int, upper: int) -> float:
    """Margin of ``l < AVG < r``; no rows at all count as outside.

    ``AVG < r`` is ``sum (v - r) < 0``: a SUM of shifted values, multiplied by the denominator of r
    so that they are whole.
    """
    right = _shifted(histogram, interval.upper, lower, upper)
    left = _shifted(histogram, interval.lower, lower, upper)
    return min(right.signed_below(0), left.signed_above(0))


def _shifted(histogram: Histogram, end: Fraction, lower: int, upper: int) -> "Moves":
    a, b = end.numerator, end.denominator
    size = (max(abs(lower), abs(upper)) * b + abs(a)) * max(1, histogram.mass)
    values = histogram.values if size < _SAFE else histogram.values.astype(object)
    return Moves(values * b - a, histogram.counts, lower * b - a, upper * b - a)


class Moves:
    """Gains of single-row changes for a sum: removals held by the table, and additions."""

    def __init__(
        self,
        values: NDArray[np.int64] | NDArray[np.object_],
        counts: NDArray[np.int64],
        lower: int,
        upper: int,
    ) -> None:
        """``values`` ascend; a row with a value in ``lower .. upper`` may be added at any time."""
        self._values, self._counts = values, counts
        self._lower, self._upper = lower, upper
        peak = max(abs(lower), abs(upper), 1) * max(1, int(counts.sum()))
        self._exact = values.dtype == object or peak >= _SAFE
        self.total = int(self._gains(values, counts)[-1])

    def signed_below(self, end: int) -> float:
        """Signed distance of ``total < end``."""
        if self.total < end:
            return self.up(end - self.total)
        return 1 - self.down(self.total - end + 1)

    def signed_above(self, end: int) -> float:
        """Signed distance of ``total > end``."""
        if self.total > end:
            return self.down(self.total - end)
        return 1 - self.up(end + 1 - self.total)

    def up(self, gap: int) -> float:
        """Least changes that raise the sum by ``gap`` >= 1: add ``upper``, or remove a v < 0."""
        gain = max(self._upper, 0)
        held = self._values < -gain
        return self._changes(gap, gain, -self._values[held], self._counts[held])

    def down(self, gap: int) -> float:
        """Least changes that lower the sum by ``gap`` >= 1: add ``lower``, or remove a v > 0."""
        gain = max(-self._lower, 0)
        held = self._values > gain
        return self._changes(gap, gain, self._values[held][::-1], self._counts[held][::-1])

    def _changes(
        self,
        gap: int,
        addition: int,
        removals: NDArray[np.int64] | NDArray[np.object_],
        counts: NDArray[np.int64],
    ) -> float:
        """Greedy, largest gain first: removals that beat an addition, then additions."""
        gained = self._gains(removals, counts)
        if gained[-1] >= gap:
            full = int(np.searchsorted(gained, gap)) - 1
            rest = gap - int(gained[full])
            return int(counts[:full].sum()) + -(-rest // int(removals[full]))
        if addition == 0:
            return NEVER
        return int(counts.sum()) + -(-(gap - int(gained[-1])) // addition)

    def _gains(
        self, values: NDArray[np.int64] | NDArray[np.object_], counts: NDArray[np.int64]
    ) -> NDArray[np.int64] | NDArray[np.object_]:
        kind: type = object if self._exact else np.int64
        return np.concatenate(([0], np.cumsum(values.astype(kind) * counts.astype(kind))))


def quantile_margin(histogram: Histogram, interval: Interval, p: Fraction) -> float:
    """Margin of ``l < quantile < r``, the ``ceil(p n)``-th smallest; no rows count as outside.

    ``quantile < r`` is ``(1 - p) #(v < r) - p #(v >= r) >= 0`` and ``quantile > l`` is
    ``p #(v > l) - (1 - p) #(v <= l) > 0``; with ``p = a/b`` both are whole numbers after
    multiplication by b.  An addition gains ``b - a`` or ``a``, a removal the other.
    """
    part, whole = p.numerator, p.denominator
    rest = whole - part
    low = histogram.count_below(interval.upper)
    high = histogram.mass - low
    surplus = rest * low - part * high
    if surplus >= 0:
        right = _two_kinds(surplus + 1, addition=part, removal=rest, held=low)
    else:
        right = 1 - _two_kinds(-surplus, addition=rest, removal=part, held=high)
    low = histogram.count_at_most(interval.lower)
    high = histogram.mass - low
    surplus = part * high - rest * low
    if surplus > 0:
        left = _two_kinds(surplus, addition=rest, removal=part, held=high)
    else:
        left = 1 - _two_kinds(1 - surplus, addition=part, removal=rest, held=low)
    return min(left, right)


def _two_kinds(gap: int, *, addition: int, removal: int, held: int) -> int:
    """Least changes that gain ``gap`` >= 1, of additions and at most ``held`` removals."""
    if removal <= addition:
        return -(-gap // addition)
    if removal * held >= gap:
        return -(-gap // removal)
    return held + -(-(gap - removal * held) // addition)


def distinct_margin(multiplicities: Histogram, interval: Interval) -> float:
    """Margin of ``l < COUNT(DISTINCT) < r``: a value goes when all its rows go, rarest first.

    The histogram is that of the multiplicities: so many distinct values held by so many rows.
    """
    distinct = multiplicities.mass
    right, left = math.ceil(interval.upper), math.floor(interval.lower)
    if distinct < right:
        below: float = right - distinct
    elif right < 1:
        below = -NEVER
    else:
        below = 1 - multiplicities.sum_of_smallest(distinct - right + 1)
    if distinct <= left:
        above: float = distinct - left
    elif left < 0:
        above = NEVER
    else:
        above = multiplicities.sum_of_smallest(distinct - left)
    return min(below, above)
