"""Margins and reaches: how many changes of rows flip a verdict, and how far k changes reach.

The margin is the number of rows that must be added or removed to flip a true verdict, exactly.

The verdict "inside (l, r)" says that two half-lines hold, ``q < r`` and ``q > l``.  Let ``d`` be
the least number of single-row changes that flips a half-line.  Its signed distance is ``d`` if it
holds and ``1 - d`` if it does not.  Moving to a neighbour changes ``d`` by at most 1, so the
signed distance is 1-Lipschitz.  So is the minimum of the two, the margin: it is at least 1 exactly
if the verdict is yes (docs/theory.md, section 3).

Everything is in lattice units; ``NEVER`` is the distance of a half-line that no change can flip.
Margins are read from running counts and sums, so a margin costs a few searches in them.

A reach is the inverse of a margin: the least and the largest answer that at most k changes can
produce.  The margin of an interval is above k exactly if the interval holds the whole reach.  So
the least tolerance with a given margin is looked up instead of searched.
"""

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from typing import NamedTuple

from pqd.deciders.exact import Ratio
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.running_sums import Exact, RunningSums

NEVER = math.inf
ORIGIN: Ratio = 0, 1


def count_margin(count: int, interval: Interval) -> float:
    """Margin of ``l < COUNT < r``: each change moves the count by one."""
    below = math.ceil(interval.upper) - count
    left = math.floor(interval.lower)
    return min(below, count - left) if left >= 0 else below


def sum_margin(histogram: Histogram, interval: Interval, lower: int, upper: int) -> float:
    """Margin of ``l < SUM < r`` for values in ``lower .. upper``."""
    left, right, total = math.floor(interval.lower), math.ceil(interval.upper), histogram.total
    # A half-line that fails has the smaller signed distance: no sum is beyond both ends.
    if total >= right:
        return 1 - changes_to_lower(histogram, (total - right + 1, 1), ORIGIN, lower)
    if total <= left:
        return 1 - changes_to_raise(histogram, (left - total + 1, 1), ORIGIN, upper)
    raised = changes_to_raise(histogram, (right - total, 1), ORIGIN, upper)
    # No change lowers the sum by more than ``most``: if raised - 1 are too few, skip the search.
    most = max(upper, -lower)
    if (raised - 1) * most < total - left:
        return raised
    return min(raised, changes_to_lower(histogram, (total - left, 1), ORIGIN, lower))


def mean_margin(histogram: Histogram, interval: Interval, lower: int, upper: int) -> float:
    """Margin of ``l < AVG < r``; a table without rows counts as outside.

    ``AVG < r`` means ``sum (v - r) < 0``: a SUM of shifted values, in whole multiples of one over
    the denominator of r.
    """
    left, right = interval.lower.as_integer_ratio(), interval.upper.as_integer_ratio()
    total, mass = histogram.total, histogram.mass
    above = total * right[1] - right[0] * mass
    below = left[0] * mass - total * left[1]
    outside = []
    if above >= 0:
        outside.append(1 - changes_to_lower(histogram, (above + 1, right[1]), right, lower))
    if below >= 0:
        outside.append(1 - changes_to_raise(histogram, (below + 1, left[1]), left, upper))
    return min(
        outside
        or (
            changes_to_raise(histogram, (-above, right[1]), right, upper),
            changes_to_lower(histogram, (-below, left[1]), left, lower),
        )
    )


def changes_to_lower(table: RunningSums, gap: Ratio, origin: Ratio, lower: int) -> float:
    """Least changes that lower ``sum (v - origin)`` by ``gap`` > 0, for values >= ``lower``."""
    return _whole(table.rows_to_lower(gap, origin, lower))


def changes_to_raise(table: RunningSums, gap: Ratio, origin: Ratio, upper: int) -> float:
    """Least changes that raise ``sum (v - origin)`` by ``gap`` > 0, for values <= ``upper``."""
    return _whole(table.mirrored.rows_to_lower(gap, (-origin[0], origin[1]), -upper))


def _whole(changes: Ratio | None) -> float:
    return NEVER if changes is None else -(-changes[0] // changes[1])


def quantile_margin(histogram: Histogram, interval: Interval, p: Fraction) -> float:
    """Margin of ``l < quantile < r``, the ``ceil(p n)``-th smallest; no rows count as outside."""
    mass = histogram.mass
    return min(
        margin_below(histogram.count_below(math.ceil(interval.upper)), mass, p),
        margin_above(histogram.count_at_most(math.floor(interval.lower)), mass, p),
    )


def margin_below(low: int, mass: int, p: Fraction) -> int:
    """Signed distance of ``quantile < r``, for ``mass`` rows of which ``low`` are below r.

    The condition is ``(1 - p) #(v < r) - p #(v >= r) >= 0``.  With ``p = a/b`` the left side times
    b is a whole number.  An addition raises it by ``b - a`` and a removal by ``a``; to lower it,
    an addition counts ``a`` and a removal ``b - a``.
    """
    part, rest = p.numerator, p.denominator - p.numerator
    high = mass - low
    surplus = rest * low - part * high
    if surplus >= 0:
        return _two_kinds(surplus + 1, addition=part, removal=rest, held=low)
    return 1 - _two_kinds(-surplus, addition=rest, removal=part, held=high)


def margin_above(low: int, mass: int, p: Fraction) -> int:
    """Signed distance of ``quantile > l``, for ``mass`` rows of which ``low`` are at most l.

    The condition is ``p #(v > l) - (1 - p) #(v <= l) > 0``.
    """
    part, rest = p.numerator, p.denominator - p.numerator
    high = mass - low
    surplus = part * high - rest * low
    if surplus > 0:
        return _two_kinds(surplus, addition=rest, removal=part, held=high)
    return 1 - _two_kinds(1 - surplus, addition=part, removal=rest, held=low)


def _two_kinds(gap: int, *, addition: int, removal: int, held: int) -> int:
    """Least number of changes that gain ``gap`` >= 1: additions, and at most ``held`` removals."""
    if removal <= addition:
        return -(-gap // addition)
    if removal * held >= gap:
        return -(-gap // removal)
    return held + -(-(gap - removal * held) // addition)


def distinct_margin(multiplicities: Histogram, interval: Interval) -> float:
    """Margin of ``l < COUNT(DISTINCT) < r``: a value goes when all its rows go, rarest first.

    ``multiplicities`` is the histogram of the numbers of rows that the distinct values have.
    """
    distinct = multiplicities.mass
    right, left = math.ceil(interval.upper), math.floor(interval.lower)
    if distinct < right:
        below: float = right - distinct
    elif right < 1:
        below = -NEVER
    else:
        below = 1 - math.ceil(multiplicities.sum_of_smallest(distinct - right + 1))
    if distinct <= left:
        above: float = distinct - left
    elif left < 0:
        above = NEVER
    else:
        above = math.ceil(multiplicities.sum_of_smallest(distinct - left))
    return min(below, above)


class Reach(NamedTuple):
    """Least and largest answer, in lattice units; an end is infinite if no interval can hold it."""

    low: Exact | float
    high: Exact | float


def sum_reach(histogram: Histogram, changes: int, lower: int, upper: int) -> Reach:
    """Reach of a SUM of values in ``lower .. upper``."""
    total, mass = histogram.total, histogram.mass
    # Remove the rows that gain more than an addition would, farthest first; then add rows.
    gain, loss = max(upper, 0), max(-lower, 0)
    least = min(changes, histogram.count_below(-gain))
    most = min(changes, mass - histogram.count_at_most(loss))
    raised = (changes - least) * gain - histogram.sum_of_smallest(least)
    lowered = (changes - most) * loss + total - histogram.sum_of_smallest(mass - most)
    return Reach(total - lowered, total + raised)


def mean_reach(histogram: Histogram, changes: int, lower: int, upper: int) -> Reach:
    """Reach of an AVG of values in ``lower .. upper``; infinite if all rows may be removed."""
    total, mass = histogram.total, histogram.mass
    if changes >= mass:
        return Reach(-math.inf, math.inf)

    def lowered(part: int, whole: int) -> Ratio:
        """Mean after the changes that lower ``sum (v - part / whole)`` most."""
        bound = (2 * part - lower * whole) // whole
        removed = min(changes, mass - histogram.count_at_most(bound))
        rest = int(histogram.sum_of_smallest(mass - removed)) + (changes - removed) * lower
        return rest, mass + changes - 2 * removed

    def raised(part: int, whole: int) -> Ratio:
        bound = -((upper * whole - 2 * part) // whole)
        removed = min(changes, histogram.count_below(bound))
        rest = total - int(histogram.sum_of_smallest(removed)) + (changes - removed) * upper
        return rest, mass + changes - 2 * removed

    # Dinkelbach 1967: each step improves the ratio until it is optimal.
    ends = []
    for step in (lowered, raised):
        mean, after = (total, mass), step(total, mass)
        while after[0] * mean[1] != mean[0] * after[1]:
            mean, after = after, step(*after)
        ends.append(Fraction(*after))
    return Reach(*ends)


def quantile_reach(histogram: Histogram, changes: int, p: Fraction) -> Reach:
    """Reach of the ``p``-quantile; infinite past the least or the largest value of the table."""
    mass = histogram.mass
    places, needed = range(mass + 1), changes + 1
    # Fewest rows below the upper end, and most rows up to the lower end, that give the margin.
    below = bisect_left(places, needed, key=lambda low: margin_below(low, mass, p))
    above = bisect_right(places, -needed, key=lambda low: -margin_above(low, mass, p))
    return Reach(
        histogram.smallest(above) if above else -math.inf,
        histogram.smallest(below) if below <= mass else math.inf,
    )


def distinct_reach(multiplicities: Histogram, changes: int) -> Reach:
    """Reach of a COUNT(DISTINCT): add new values, or remove all rows of the rarest values."""
    distinct = multiplicities.mass
    places = range(distinct + 1)
    gone = bisect_right(places, changes, key=lambda k: int(multiplicities.sum_of_smallest(k))) - 1
    return Reach(distinct - gone, distinct + changes)
