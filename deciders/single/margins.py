"""Margins and reaches: how many changes of rows flip a verdict, and how far k changes reach.

A change adds or removes one row.  The margin is the exact number of changes that flip the true
verdict.

The verdict "inside (l, r)" says that two half-lines hold: ``q < r`` and ``q > l``.  Let ``d`` be
the least number of single-row changes that flips a half-line.  The signed distance of the half-line
is ``d`` if it holds and ``1 - d`` if it does not.  Moving to a neighbour changes ``d`` by at most
1, so the signed distance is 1-Lipschitz.  The margin is the minimum of the two signed distances, so
it is 1-Lipschitz too.  The margin is at least 1 exactly if the verdict is yes (docs/theory.md,
section 3).

Everything is in lattice units.  ``NEVER`` is the distance of a half-line that no change can flip.
Margins are read from running counts and sums, so each margin costs only a few searches.

A reach is the inverse of a margin: the least and the largest answer that at most k changes can
produce.  The margin of an interval exceeds k exactly if the interval contains the whole reach.  So
the least tolerance with a given margin is looked up in place of a search.
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
    """Margin of ``l < COUNT < r``; each change moves the count by one."""
    below = math.ceil(interval.upper) - count
    left = math.floor(interval.lower)
    return min(below, count - left) if left >= 0 else below


def sum_margin(histogram: Histogram, interval: Interval, lower: int, upper: int) -> float:
    """Margin of ``l < SUM < r`` for values in ``lower .. upper``."""
    left, right, total = math.floor(interval.lower), math.ceil(interval.upper), histogram.total
    # No sum is beyond both ends, so the half-line that fails has the smaller signed distance.
    if total >= right:
        return 1 - changes_to_lower(histogram, (total - right + 1, 1), ORIGIN, lower)
    if total <= left:
        return 1 - changes_to_raise(histogram, (left - total + 1, 1), ORIGIN, upper)
    raised = changes_to_raise(histogram, (right - total, 1), ORIGIN, upper)
    # No change lowers the sum by more than ``most``.  Skip the search if ``raised - 1`` changes are
    # too few to reach the lower end.
    most = max(upper, -lower)
    if (raised - 1) * most < total - left:
        return raised
    return min(raised, changes_to_lower(histogram, (total - left, 1), ORIGIN, lower))


def margin_within(margin: float, histogram: RunningSums, most_beyond: int | None) -> float:
    """Margin of a verdict that also says that at most ``most_beyond`` rows lie beyond the lattice.

    A row moves the number of rows beyond by at most 1, and so their signed distance
    ``most_beyond + 1 - rows_beyond``.  The minimum of two 1-Lipschitz whole numbers is 1-Lipschitz,
    and it is at least 1 exactly if both claims hold (docs/theory.md, section 3).
    """
    return margin if most_beyond is None else min(margin, _rows_left(histogram, most_beyond))


def margin_with_stated_end(
    margin: float, histogram: RunningSums, most_beyond: int, *, beyond_stated: bool
) -> float:
    """Margin that also tells on which side of the interval a no lies, if one bound is stated.

    Let A be the signed distance of the half-line that values beyond the other bound cannot restore:
    ``q < r`` if the lower bound is stated, ``q > l`` if the upper one is.  B is the signed distance
    of the other half-line, o the number of rows beyond the bound that is not stated, and k is
    ``most_beyond``.  This margin is ``min(A, max(min(B, k + 1 - o), -k))``.  ``margin`` is
    ``min(A, B)``, and ``beyond_stated`` says whether A is below 1; then B is at least 1, unless
    both are 0 (a mean of no row).

    Guarantee: A, B and ``k + 1 - o`` are 1-Lipschitz whole numbers, and so are their minima and
    maxima.  The margin is at least 1 exactly if the answer is inside the interval and at most k
    rows lie beyond.  It is below -k only if A is below 1 (docs/theory.md, Theorem 1c).
    """
    rows_left = _rows_left(histogram, most_beyond)
    if beyond_stated:
        return min(margin, max(rows_left, -most_beyond))
    return max(min(margin, rows_left), -most_beyond)


def _rows_left(histogram: RunningSums, most_beyond: int) -> int:
    """Signed distance of "at most ``most_beyond`` rows beyond"; a stand-in has no row beyond."""
    return most_beyond + 1 - int(getattr(histogram, "rows_beyond", 0))


def mean_margin(histogram: Histogram, interval: Interval, lower: int, upper: int) -> float:
    """Margin of ``l < AVG < r``; a table without rows counts as outside.

    ``AVG < r`` means ``sum (v - r) < 0``, a condition on a SUM of shifted values.  The sum is
    computed in whole multiples of ``1 / denominator of r``.
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
    """Least number of changes that lower ``sum (v - origin)`` by ``gap`` > 0; v >= ``lower``."""
    return _whole(table.rows_to_lower(gap, origin, lower))


def changes_to_raise(table: RunningSums, gap: Ratio, origin: Ratio, upper: int) -> float:
    """Least number of changes that raise ``sum (v - origin)`` by ``gap`` > 0; v <= ``upper``."""
    return _whole(table.mirrored.rows_to_lower(gap, (-origin[0], origin[1]), -upper))


def _whole(changes: Ratio | None) -> float:
    return NEVER if changes is None else -(-changes[0] // changes[1])


def quantile_margin(histogram: Histogram, interval: Interval, p: Fraction) -> float:
    """Margin of ``l < quantile < r`` (``ceil(p n)``-th smallest); no rows count as outside."""
    mass = histogram.mass
    return min(
        margin_below(histogram.count_below(math.ceil(interval.upper)), mass, p),
        margin_above(histogram.count_at_most(math.floor(interval.lower)), mass, p),
    )


def margin_below(low: int, mass: int, p: Fraction) -> int:
    """Signed distance of ``quantile < r``, for ``mass`` rows of which ``low`` are below r.

    The condition is ``(1 - p) #(v < r) - p #(v >= r) >= 0``.  With ``p = a/b`` the left side times
    b is a whole number.  To raise this number, an addition contributes ``b - a`` and a removal
    ``a``.  To lower it, an addition contributes ``a`` and a removal ``b - a``.
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
    """Least number of changes that gain ``gap`` >= 1, with at most ``held`` removals."""
    if removal <= addition:
        return -(-gap // addition)
    if removal * held >= gap:
        return -(-gap // removal)
    return held + -(-(gap - removal * held) // addition)


def distinct_margin(multiplicities: Histogram, interval: Interval) -> float:
    """Margin of ``l < COUNT(DISTINCT) < r``, where the rarest values are removed first.

    A value disappears when all its rows are removed.  ``multiplicities`` is the histogram of the
    numbers of rows that the distinct values have.
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
    # Remove, farthest first, the rows that each gain more than an addition.  Then add rows.
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

    # Dinkelbach 1967: each step improves the ratio, until the ratio is optimal.
    ends = []
    for step in (lowered, raised):
        mean, after = (total, mass), step(total, mass)
        while after[0] * mean[1] != mean[0] * after[1]:
            mean, after = after, step(*after)
        ends.append(Fraction(*after))
    return Reach(*ends)


def quantile_reach(histogram: Histogram, changes: int, p: Fraction) -> Reach:
    """Reach of the ``p``-quantile; an end past the table's least or largest value is infinite."""
    mass = histogram.mass
    places, needed = range(mass + 1), changes + 1
    # The margin exceeds ``changes`` if at least ``below`` rows are under the upper end, and fewer
    # than ``above`` rows are up to the lower end.
    below = bisect_left(places, needed, key=lambda low: margin_below(low, mass, p))
    above = bisect_right(places, -needed, key=lambda low: -margin_above(low, mass, p))
    return Reach(
        histogram.smallest(above) if above else -math.inf,
        histogram.smallest(below) if below <= mass else math.inf,
    )


def distinct_reach(multiplicities: Histogram, changes: int) -> Reach:
    """Reach of a COUNT(DISTINCT): new values are added, or the rarest values lose all rows."""
    distinct = multiplicities.mass
    places = range(distinct + 1)
    gone = bisect_right(places, changes, key=lambda k: int(multiplicities.sum_of_smallest(k))) - 1
    return Reach(distinct - gone, distinct + changes)
