"""Reaches: the least and the largest answer that at most ``k`` changes of rows can produce.

A reach is the inverse of a margin (margins.py): the margin of an interval is above k exactly if
the interval holds the whole reach of k changes.  So the least tolerance with a given margin is
looked up instead of searched.  An end is infinite if no interval can hold it.
"""

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from typing import NamedTuple

from pqd.deciders.exact import Ratio
from pqd.deciders.histogram import Histogram
from pqd.deciders.running_sums import Exact
from pqd.deciders.single.margins import margin_above, margin_below


class Reach(NamedTuple):
    """Least and largest answer, in lattice units."""

    low: Exact | float
    high: Exact | float


EVERYTHING = Reach(-math.inf, math.inf)


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
        return EVERYTHING

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
