"""Tables made by reweighting, extending or moving the rows of another table, without a copy.

Each class has some of the methods of ``Histogram``, under the same names.  These are the methods
that the mechanisms of its aggregates call.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pqd.deciders.exact import Ratio
from pqd.deciders.histogram import Histogram, Integers
from pqd.deciders.running_sums import Exact, RunningSums, by_additions


@dataclass(frozen=True, slots=True)
class Rows:
    """Table that knows only its number of rows."""

    mass: int


@dataclass(frozen=True, slots=True)
class Reweighted:
    """Table in which each row of ``base`` counts ``factor`` > 0 times."""

    base: RunningSums
    factor: Fraction

    @property
    def mass(self) -> Exact:
        """Number of rows."""
        return self._times(self.base.mass)

    @property
    def total(self) -> Exact:
        """Sum of the values."""
        return self._times(self.base.total)

    def _times(self, number: int) -> Exact:
        numerator, denominator = self.factor.as_integer_ratio()
        whole, rest = divmod(number * numerator, denominator)
        return self.factor * number if rest else whole

    def count_below(self, bound: Exact) -> Fraction:
        """Count the rows with value < ``bound``."""
        return self.factor * self.base.count_below(bound)

    def count_at_most(self, bound: Exact) -> Fraction:
        """Count the rows with value <= ``bound``."""
        return self.factor * self.base.count_at_most(bound)

    def sum_at_most(self, bound: Exact) -> Fraction:
        """Sum over the rows with value <= ``bound``."""
        return self.factor * self.base.sum_at_most(bound)

    def sum_of_smallest(self, k: Exact) -> Exact:
        """Sum of the ``k`` smallest values."""
        return self.factor * self.base.sum_of_smallest(k / self.factor)

    def rows_to_lower(self, gap: Ratio, origin: Ratio, lower: int) -> Ratio | None:
        """Changes that lower ``sum (v - origin)`` by ``gap``; see ``RunningSums``."""
        numerator, denominator = self.factor.as_integer_ratio()
        share = gap[0] * denominator, gap[1] * numerator
        changes = self.base.rows_to_lower(share, origin, lower)
        return changes and (changes[0] * numerator, changes[1] * denominator)

    @property
    def mirrored(self) -> "Reweighted":
        """Table of the values times -1."""
        return Reweighted(self.base.mirrored, self.factor)


@dataclass(frozen=True, slots=True)
class Extended:
    """Table ``base`` with ``rows`` additional rows at ``value``.

    A positive ``value`` is the largest of the table; a negative ``value`` is the least.
    """

    base: RunningSums
    rows: Fraction
    value: int

    @property
    def mass(self) -> Fraction:
        """Number of rows."""
        return self.base.mass + self.rows

    @property
    def total(self) -> Fraction:
        """Sum of the values."""
        return self.base.total + self.rows * self.value

    def count_below(self, bound: Exact) -> Exact:
        """Count the rows with value < ``bound``."""
        return self.base.count_below(bound) + self.rows * (self.value < bound)

    def count_at_most(self, bound: Exact) -> Exact:
        """Count the rows with value <= ``bound``."""
        return self.base.count_at_most(bound) + self.rows * (self.value <= bound)

    def sum_at_most(self, bound: Exact) -> Exact:
        """Sum over the rows with value <= ``bound``."""
        return self.base.sum_at_most(bound) + self.rows * self.value * (self.value <= bound)

    def rows_to_lower(self, gap: Ratio, origin: Ratio, lower: int) -> Ratio | None:
        """Changes that lower ``sum (v - origin)`` by ``gap``, for origin 0; see ``RunningSums``."""
        if self.value <= max(0, -lower):
            return self.base.rows_to_lower(gap, origin, lower)
        missing = Fraction(*gap) - self.rows * self.value
        if missing <= 0:
            return gap[0], gap[1] * self.value
        changes = self.base.rows_to_lower(missing.as_integer_ratio(), origin, lower)
        return changes and (self.rows + Fraction(*changes)).as_integer_ratio()

    @property
    def mirrored(self) -> "Extended":
        """Table of the values times -1."""
        return Extended(self.base.mirrored, self.rows, -self.value)


class Part(NamedTuple):
    """Rows ``start .. stop`` of a table, largest first: moved by ``by``, or all set to ``to``."""

    start: int
    stop: int
    by: int = 0
    to: int | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """Table whose rows, sorted from the largest, are moved in parts; the order is kept.

    ``total`` is the sum of the rows after the move.
    """

    base: RunningSums
    parts: tuple[Part, ...]
    total: int

    @property
    def mass(self) -> int:
        """Number of rows."""
        return self.base.mass

    def _top(self, rows: int) -> int:
        """Sum of the ``rows`` largest values of ``base``."""
        return self.base.total - int(self.base.sum_of_smallest(self.mass - rows))

    def _sum(self, part: Part, stop: int) -> int:
        """Sum of the rows of ``part`` up to ``stop``."""
        rows = stop - part.start
        if part.to is not None:
            return part.to * rows
        return self._top(stop) - self._top(part.start) + part.by * rows if rows else 0

    def _beyond(self, bound: Exact, *, closed: bool) -> Iterator[tuple[Part, int]]:
        """Yield each part and the end of its rows > ``bound`` (>= ``bound`` if ``closed``)."""
        for part in self.parts:
            if part.to is not None:
                inside = part.to > bound or (closed and part.to == bound)
                stop = part.stop if inside else part.start
            else:
                cut, count = bound - part.by, self.base.count_at_most
                stop = self.mass - (self.base.count_below(cut) if closed else count(cut))
            yield part, min(max(stop, part.start), part.stop)

    def count_below(self, bound: Exact) -> int:
        """Count the rows with value < ``bound``."""
        beyond = self._beyond(bound, closed=True)
        return self.mass - sum(stop - part.start for part, stop in beyond)

    def count_at_most(self, bound: Exact) -> int:
        """Count the rows with value <= ``bound``."""
        beyond = self._beyond(bound, closed=False)
        return self.mass - sum(stop - part.start for part, stop in beyond)

    def sum_at_most(self, bound: Exact) -> int:
        """Sum over the rows with value <= ``bound``."""
        beyond = self._beyond(bound, closed=False)
        return self.total - sum(self._sum(part, stop) for part, stop in beyond)

    def rows_to_lower(self, gap: Ratio, origin: Ratio, lower: int) -> Ratio | None:
        """Changes that lower ``sum (v - origin)`` by ``gap``; see ``RunningSums``."""
        (part, whole), (needed, share) = origin, gap
        addition, missing = max(part - lower * whole, 0), needed * whole
        rows = 0
        for piece, stop in self._beyond((part + addition) // whole, closed=False):
            gain = (whole * self._sum(piece, stop) - part * (stop - piece.start)) * share
            if gain >= missing:
                return self._rows_within(piece, (missing, share), origin)
            rows, missing = rows + stop - piece.start, missing - gain
        return by_additions(rows, missing, share, addition)

    def _rows_within(self, piece: Part, gap: Ratio, origin: Ratio) -> Ratio:
        """Number of rows, as a fraction, up to the row in ``piece`` at which a gap is reached."""
        (part, whole), (missing, share) = origin, gap
        if piece.to is not None:
            gain = (piece.to * whole - part) * share
            return piece.start * gain + missing, gain
        # Treat all rows of the base as moved like the piece; correct for the rows before the piece.
        part -= piece.by * whole
        missing += (whole * self._top(piece.start) - part * piece.start) * share
        return self.base.rows_from_top((missing, share * whole), (part, whole))

    @property
    def mirrored(self) -> "Raised":
        """Table of the values times -1."""
        mass = self.mass
        parts = (
            Part(mass - part.stop, mass - part.start, -part.by, -part.to if part.to else part.to)
            for part in reversed(self.parts)
        )
        return Raised(self.base.mirrored, tuple(parts), -self.total)


# Without slots: ``_copy`` is cached, and it is made only if a mechanism reads all values.
@dataclass(frozen=True)
class Moved:
    """Table with all values of ``base`` moved by the amount ``by``, within ``lower .. upper``."""

    base: Histogram
    by: int
    lower: int
    upper: int

    @property
    def mass(self) -> int:
        """Number of rows."""
        return self.base.mass

    def count_below(self, bound: Exact) -> int:
        """Count the rows with value < ``bound``."""
        if bound > self.upper:
            return self.mass
        return 0 if bound <= self.lower else self.base.count_below(bound - self.by)

    def count_at_most(self, bound: Exact) -> int:
        """Count the rows with value <= ``bound``."""
        if bound >= self.upper:
            return self.mass
        return 0 if bound < self.lower else self.base.count_at_most(bound - self.by)

    def quantile(self, p: Fraction) -> int:
        """``p``-quantile."""
        return min(max(self.base.quantile(p) + self.by, self.lower), self.upper)

    @cached_property
    def _copy(self) -> Histogram:
        moved = np.clip(self.base.values + self.by, self.lower, self.upper)
        return Histogram.weighted(moved, self.base.counts)

    @property
    def values(self) -> Integers:
        """Values of the table."""
        return self._copy.values

    @property
    def counts(self) -> Integers:
        """Number of rows of each value."""
        return self._copy.counts

    @property
    def cumulative_counts(self) -> Integers:
        """Number of rows with one of the first k values, for every k."""
        return self._copy.cumulative_counts
