"""Look-ups in running counts and sums, which are whole numbers; margins are computed from them."""

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.exact import Ratio

Exact = int | Fraction
# Function of a place, and of the number and the sum of the rows before it.  It ascends with the
# place.
Key = Callable[[int, int, int], int]


class RunningSums(ABC):
    """Table of ascending distinct values, with running counts and running sums of its rows."""

    __slots__ = ()

    @property
    @abstractmethod
    def mass(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def total(self) -> int:
        """Sum of the values."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of distinct values."""

    @abstractmethod
    def value_at(self, place: int) -> int:
        """Value that has ``place`` distinct values below it, ``0 <= place < size``."""

    @abstractmethod
    def rows_before(self, place: int) -> int:
        """Number of rows with one of the first ``place`` values."""

    @abstractmethod
    def sum_before(self, place: int) -> int:
        """Sum of the rows with one of the first ``place`` values."""

    @abstractmethod
    def place_below(self, bound: int) -> int:
        """Number of distinct values < ``bound``."""

    @abstractmethod
    def place_up_to(self, bound: int) -> int:
        """Number of distinct values <= ``bound``."""

    def place_holding(self, k: int) -> int:
        """Place of the ``k``-th smallest row."""
        return bisect_left(range(1, self.size + 1), k, key=self.rows_before)

    @property
    @abstractmethod
    def mirrored(self) -> "RunningSums":
        """Table of the values times -1."""

    def first_beyond(self, key: Key, bound: int, places: range) -> int:
        """First of ``places`` at which an ascending ``key`` exceeds ``bound``, else their stop.

        ``key`` takes a place, the number of rows before it, and their sum.
        """
        return first_at(key, self.rows_before, self.sum_before, bound, places)

    def count_below(self, bound: Exact) -> int:
        """Count the rows with value < ``bound``."""
        return self.rows_before(self.place_below(math.ceil(bound)))

    def count_at_most(self, bound: Exact) -> int:
        """Count the rows with value <= ``bound``."""
        return self.rows_before(self.place_up_to(math.floor(bound)))

    def sum_at_most(self, bound: Exact) -> int:
        """Exact sum over the rows with value <= ``bound``."""
        return self.sum_before(self.place_up_to(math.floor(bound)))

    def sum_of_smallest(self, k: Exact) -> Exact:
        """Exact sum of the ``k`` smallest values, ``0 <= k <= mass``; k may be a fraction."""
        place = self.place_holding(math.ceil(k))
        if place == self.size:
            return self.total
        return self.sum_before(place) + (k - self.rows_before(place)) * self.value_at(place)

    def rows_to_lower(self, gap: Ratio, origin: Ratio, lower: int) -> Ratio | None:
        """Fewest changes that lower ``sum (v - origin)`` by ``gap`` > 0; the last may be a part.

        Rows of value ``lower`` may be added, and rows of the table may be removed.  Changes with
        the largest gain come first: the removals that gain more than an addition, then additions.
        The result is None if no number of changes is enough.
        """
        (part, whole), (needed, share) = origin, gap
        # Gains are counted in units of ``1 / whole``.
        addition, needed = max(part - lower * whole, 0), needed * whole
        place = self.place_up_to((part + addition) // whole)
        rows = self.mass - self.rows_before(place)
        gained = whole * (self.total - self.sum_before(place)) - part * rows
        if gained * share >= needed:
            return self.rows_from_top(gap, origin)
        return by_additions(rows, needed - gained * share, share, addition)

    def rows_from_top(self, gap: Ratio, origin: Ratio) -> Ratio:
        """Number of the largest rows that together exceed ``origin`` by ``gap``.

        The last row may count as a fraction.  ``gap`` is above 0, and at most the total by which
        the rows above ``origin`` exceed it.
        """
        (part, whole), (needed, share) = origin, gap
        needed, mass, total = needed * whole, self.mass, self.total

        def shortage(_: int, rows: int, below: int) -> int:
            """Minus the total by which the rows from a place on exceed the origin."""
            return part * (mass - rows) - whole * (total - below)

        # The key ascends from the first value above the origin.
        places = range(self.place_up_to(part // whole), self.size + 1)
        after = self.first_beyond(shortage, -needed // share, places)
        gain = (whole * self.value_at(after - 1) - part) * share
        rows, below = self.rows_before(after), self.sum_before(after)
        return (mass - rows) * gain + needed + shortage(after, rows, below) * share, gain


def first_at(
    key: Key, rows: Callable[[int], int], sums: Callable[[int], int], bound: int, places: range
) -> int:
    """``first_beyond``, given functions for the ``rows`` and the ``sums`` before a place."""
    return bisect_right(
        range(places.stop), bound, places.start, key=lambda at: key(at, rows(at), sums(at))
    )


def by_additions(rows: int, missing: int, share: int, addition: int) -> Ratio | None:
    """``rows`` plus the additions that gain ``missing / share``; None if an addition gains 0."""
    return (rows * addition * share + missing, addition * share) if addition else None


@dataclass(frozen=True, slots=True)
class Mirrored(RunningSums):
    """Table of the values of ``base`` times -1, which looks up everything in ``base``."""

    base: RunningSums

    @property
    def mass(self) -> int:
        """Number of rows."""
        return self.base.mass

    @property
    def total(self) -> int:
        """Sum."""
        return -self.base.total

    @property
    def size(self) -> int:
        """Number of distinct values."""
        return self.base.size

    def value_at(self, place: int) -> int:
        """Value that has ``place`` distinct values below it."""
        return -self.base.value_at(self.base.size - 1 - place)

    def rows_before(self, place: int) -> int:
        """Number of rows with one of the first ``place`` values."""
        return self.base.mass - self.base.rows_before(self.base.size - place)

    def sum_before(self, place: int) -> int:
        """Sum of the rows with one of the first ``place`` values."""
        return self.base.sum_before(self.base.size - place) - self.base.total

    def place_below(self, bound: int) -> int:
        """Number of distinct values < ``bound``."""
        return self.base.size - self.base.place_up_to(-bound)

    def place_up_to(self, bound: int) -> int:
        """Number of distinct values <= ``bound``."""
        return self.base.size - self.base.place_below(-bound)

    def first_beyond(self, key: Key, bound: int, places: range) -> int:
        """First of ``places`` beyond ``bound``, as the mirror image of a place in ``base``."""
        base = self.base
        size, mass, total = base.size, base.mass, base.total

        def mirrored(place: int, rows: int, below: int) -> int:
            """Key times -1, which ascends with the places of ``base``."""
            return -key(size - place, mass - rows, below - total)

        within = range(size - places.stop + 1, size - places.start + 1)
        return size + 1 - base.first_beyond(mirrored, -bound - 1, within)

    def sum_of_smallest(self, k: Exact) -> Exact:
        """Exact sum of the ``k`` smallest values."""
        return self.base.sum_of_smallest(self.base.mass - k) - self.base.total

    @property
    def mirrored(self) -> RunningSums:
        """The table ``base`` itself."""
        return self.base
