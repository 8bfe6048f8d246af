"""Order statistics: private values are compared, without rounding, with the ends of intervals.

Whether a median or quantile lies inside an interval depends on how many values are beyond each end.
So each private value counts as one of a few public marks, by the ends that it has passed.  Neither
the bounds nor the step of the synthetic table can move a value across an end.  The mark of a row
depends on this row alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pqd.deciders import Interval, Lattice, UnanswerableError
from pqd.deciders.estimators.base import whole_span
from pqd.deciders.exact import as_float

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDERED = ("MEDIAN", "QUANTILE")
# Stand-ins lie up to 2.5 tau from the middle of an interval.  Unless bounds are stated, they leave
# room for stand-ins: this number of tau beyond each end of the interval.
_BEYOND = 2
_MOST = 2**61


# Lower and upper bound of values; None if nothing bounds them there.
Bounds: TypeAlias = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True, slots=True)
class CutPoints:
    """Ascending public ends, and the marks of values before, between and after the ends.

    An end is a value and a flag.  If the flag is true, only greater values have passed the end; if
    not, equal values have passed it, too.  Marks are in lattice units.  The caller may state
    ``bounds``, or one of them: values outside count as the nearer bound.
    """

    ends: tuple[tuple[Fraction, bool], ...] = ()
    marks: tuple[int, ...] = (0,)
    bounds: Bounds | None = None

    @classmethod
    def of(
        cls,
        intervals: Iterable[Interval],
        scale: Fraction,
        bounds: Bounds | None,
    ) -> CutPoints:
        """Cut points at the ends of open ``intervals``, in units of ``scale`` each.

        A value inside an interval is above its lower end and below its upper end.  The marks are
        the cuts that ``whole_span`` gives for the interval in whole numbers.

        Raises
        ------
        UnanswerableError
            If an interval is so narrow that no double lies inside.
        ValueError
            If two different ends have the same mark.
        """
        ends_by_cut: dict[int, tuple[Fraction, bool]] = {}
        for interval in intervals:
            ends = (interval.lower * scale, True), (interval.upper * scale, False)
            if _passed(*ends[0]) >= _passed(*ends[1]):
                raise UnanswerableError(
                    "tau is so small that no number lies within it; give a larger one"
                )
            for cut, end in zip(whole_span(interval), ends, strict=True):
                if ends_by_cut.setdefault(cut, end) != end:
                    raise ValueError(f"two ends at {cut}")
        cuts = sorted(ends_by_cut)
        return cls(tuple(ends_by_cut[cut] for cut in cuts), (cuts[0] - 1, *cuts), bounds)

    @property
    def facts(self) -> list[list[str]]:
        """All facts beside the table that determine its marks."""
        ends = [f"{'>' if beyond else '>='}{value}" for value, beyond in self.ends]
        return [ends, list(map(str, self.marks)), list(map(str, self.bounds or ()))]

    def reached(
        self, low: Fraction | None, high: Fraction | None
    ) -> tuple[Fraction | None, Fraction | None]:
        """Least and greatest value that a mark from ``low`` to ``high`` can have; None: no limit.

        A mark tells the last end that a value has passed: the value lies between this end and the
        next end.  Before the first end and after the last end, stated bounds are the limits.
        """
        ends = {mark: value for mark, (value, _) in zip(self.marks[1:], self.ends, strict=True)}
        least, most = self.bounds or (None, None)
        first = None if low is None else ends[int(low)]
        last = None if high is None else ends[int(high) + 1]
        return (
            least if first is None else first if least is None else max(least, first),
            most if last is None else last if most is None else min(most, last),
        )

    def passed(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Number of ends that each of ``values`` has passed, in any order; NaN has no meaning."""
        # Ends with the same double are passed together.
        edges = np.maximum.accumulate([_passed(*end) for end in self.ends])
        if self.bounds:
            # Values outside count as the bounds.
            least, most = self.bounds
            low = -math.inf if least is None else as_float(least)
            high = math.inf if most is None else as_float(most)
            values = np.clip(values, low, high)
        return np.searchsorted(edges, values, side="right")


def _passed(value: Fraction, beyond: bool) -> float:  # noqa: FBT001 - half of an end
    """Least double that has passed an end."""
    nearest = as_float(value)
    return math.nextafter(nearest, math.inf) if beyond else nearest


def reaching(
    lattice: Lattice, intervals: Sequence[Interval], stated: tuple[bool, bool] = (False, False)
) -> Lattice:
    """``lattice``, extended by whole steps to leave room beyond ``intervals`` (in its units).

    Otherwise the bounds of the synthetic table would limit the private answer.  A lower or upper
    bound that is ``stated`` stays.
    """
    unit, step = lattice.unit, lattice.step
    rooms = [(interval, _BEYOND * interval.tau) for interval in intervals]
    low = min(interval.lower - room for interval, room in rooms) * unit
    high = max(interval.upper + room for interval, room in rooms) * unit
    below = 0 if stated[0] else max(0, math.ceil((lattice.lower - low) / step))
    above = 0 if stated[1] else max(0, math.ceil((high - lattice.upper) / step))
    if not below + above:
        return lattice
    return Lattice(lattice.lower - below * step, lattice.upper + above * step, step)


def fineness(lattice: Lattice, intervals: Sequence[Interval]) -> int:
    """Factor for finer units, in which each end of ``intervals`` has a mark of its own.

    In these units every end is an even number, and the cut just beyond an end is odd.

    Raises
    ------
    UnanswerableError
        If these units are too fine for whole numbers of 64 bits.
    """
    ends = (end for interval in intervals for end in (interval.lower, interval.upper))
    times = 2 * math.lcm(*(end.denominator for end in ends))
    reach = max(abs(lattice.lower_units), abs(lattice.upper_units), 1)
    if times * reach >= _MOST:
        raise UnanswerableError("tau is too fine a number; write it with fewer digits")
    return times
