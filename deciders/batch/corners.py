"""Corners: the mass of a row, spread over the sets of measures that reach a level (ours).

A row adds an amount ``g_m`` to the sums of each measure m, in whole units.  Each measure has a
whole factor ``c_m``, so that ``c_m |g_m|`` is at most ``mass`` for all measures.  At a level u of
``1 .. mass`` the row is the set of the measures with ``c_m |g_m| >= u``, each with the sign of its
amount.  Such a set is a *corner*.  The mass of a corner is the number of levels at which the row is
this corner.  The sets are nested, so a row has mass in at most one corner more than it has
measures.

For example, two measures have the factors 1, and the mass is 10.  A row with the amounts 7 and 4 is
the corner of both measures at 4 levels, the corner of the first measure at 3, and the empty corner
at 3.

A row has the same total mass whatever its amounts are.  So one noise vector, at the price of one
sum, answers COUNT and the SUMs of all measures (docs/theory.md, Theorem Q11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product

import numpy as np

from pqd.deciders.histogram import Integers

# A factor is rounded down by at most 1/256 of its size, unless the mass would be above 2^48.
_FINEST, _LARGEST = 2**8, 2**48
# Measure and sign (1 or -1) of an amount.
Side = tuple[int, int]


def common_mass(tops: Sequence[int]) -> int:
    """Mass of a row: a multiple of the largest top that is nearly a multiple of each top.

    ``tops`` are the largest amounts, at least 1, of the measures, in units.
    """
    largest = max(tops)
    fineness = 1
    while fineness < _FINEST and 2 * fineness * largest <= _LARGEST:
        mass = fineness * largest
        if all(_FINEST * (mass % top) <= mass for top in tops):
            break
        fineness *= 2
    return fineness * largest


@dataclass(frozen=True)
class Corners:
    """Corners of some measures, by the least and the largest amount of each; both include 0.

    ``factors`` has the whole factor of each measure.
    """

    mass: int
    ranges: tuple[tuple[int, int], ...]

    @cached_property
    def factors(self) -> tuple[int, ...]:
        """Levels that one unit of each measure reaches."""
        return tuple(self.mass // max(-low, high, 1) for low, high in self.ranges)

    @cached_property
    def sides(self) -> tuple[frozenset[Side], ...]:
        """Corners: the sides, of different measures, that each corner consists of; first none."""
        signs: list[list[tuple[Side, ...]]] = [
            [(), *(((number, sign),) for sign, end in ((1, high), (-1, -low)) if end > 0)]
            for number, (low, high) in enumerate(self.ranges)
        ]
        return tuple(frozenset(chain.from_iterable(parts)) for parts in product(*signs))

    def masses(self, amounts: Integers) -> Integers:
        """Mass (corners, rows) of each row, given ``amounts`` (measures, rows) in units.

        An amount beyond its range counts as the nearer end, so every column adds up to ``mass``.
        """
        rows = amounts.shape[1]
        levels = [
            np.clip(line, *ends) * factor
            for line, ends, factor in zip(amounts, self.ranges, self.factors, strict=True)
        ]
        masses = np.empty((len(self.sides), rows), np.int64)
        for place, corner in enumerate(self.sides):
            signs = dict(corner)
            # The corner begins above the levels of the other measures, and ends with its lowest.
            first, last = np.zeros(rows, np.int64), np.full(rows, self.mass)
            for number, level in enumerate(levels):
                if number in signs:
                    np.minimum(last, signs[number] * level, out=last)
                else:
                    np.maximum(first, np.abs(level), out=first)
            masses[place] = np.maximum(last - first, 0)
        return masses
