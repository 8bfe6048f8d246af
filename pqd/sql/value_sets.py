"""Sets of the values of one column that a condition admits: union, intersection, disjointness."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Literal

# Numbers are doubles, as in the engine: literals of the same double are equal, and -0 is 0.
Value = float | str | bool | datetime


# (value, False) lies just below the value, (value, True) just above it; cuts sort like values.
Cut = tuple[Value, bool]


@dataclass(frozen=True, slots=True)
class ValueSet:
    """Set of the values that a column may hold: NULL or not, and a union of intervals of one type.

    ``null`` says whether NULL is admitted.  ``start`` says whether values below the first cut are
    admitted.  Each cut, in ascending order, switches admission on or off.  For example, [a, b) has
    a cut below a and a cut below b.  The constant a has cuts below and above a.  The complement of
    a set has the same cuts and the opposite ``start``.  A set of texts is a union of constants, so
    the engine's order of texts does not matter.
    """

    null: bool
    start: bool
    cuts: tuple[Cut, ...] = ()

    @property
    def single(self) -> object:
        """Type of the only admitted value (None for NULL); False if more values are admitted."""
        if self == NULL:
            return None
        values = {value for value, _ in self.cuts}
        if self.null or len(values) != 1:
            return False
        (value,) = values
        if isinstance(value, bool):
            # One cut is enough: it separates FALSE from TRUE.
            return bool if len(self.cuts) == 1 else False
        return type(value) if len(self.cuts) == 2 and not self.start else False

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Least and largest number that the set can hold; an end is None if nothing bounds it."""
        if not self.cuts:
            return None, None
        bounded_above = self.start == (len(self.cuts) % 2 == 1)
        low, high = (value for value, _ in (self.cuts[0], self.cuts[-1]))
        return (
            float(low) if not self.start and isinstance(low, float) else None,
            float(high) if bounded_above and isinstance(high, float) else None,
        )


ANYTHING = ValueSet(null=True, start=True)


PRESENT = ValueSet(null=False, start=True)


NULL = ValueSet(null=True, start=False)


NOTHING = ValueSet(null=False, start=False)


def disjoint(first: ValueSet, second: ValueSet) -> bool:
    """Whether the sets share no value and no NULL; False if they hold values of two types.

    Both sets are walked from cut to cut, so time is linear in the number of cuts.
    """
    ours, theirs = first.cuts, second.cuts
    inside, there = first.start, second.start
    if (first.null and second.null) or (inside and there):
        return False
    if ours and theirs and type(ours[0][0]) is not type(theirs[0][0]):
        return False
    ahead = beyond = 0
    while ahead < len(ours) and beyond < len(theirs):
        cut, other = ours[ahead], theirs[beyond]
        if cut <= other:
            ahead, inside = ahead + 1, not inside
        if other <= cut:
            beyond, there = beyond + 1, not there
        if inside and there:
            return False
    # A set without further cuts stays as it is; the other set admits values after its next cut.
    return not (inside and beyond < len(theirs)) and not (there and ahead < len(ours))


def union(first: ValueSet, second: ValueSet) -> ValueSet:
    """Set that holds at least the values that either set admits."""
    return combination("or", (first, second))


def combination(how: Literal["and", "or"], parts: Sequence[ValueSet]) -> ValueSet:
    """Values that all (and) or any (or) of ``parts`` admit; all values if types are mixed."""
    if len(parts) == 1:
        return parts[0]
    if not one_type(parts):
        return ANYTHING
    least = len(parts) if how == "and" else 1
    depth = sum(part.start for part in parts)
    start = inside = depth >= least
    turns = sorted(
        (cut, -1 if (turn % 2 == 0) == part.start else 1)
        for part in parts
        for turn, cut in enumerate(part.cuts)
    )
    cuts = []
    for cut, steps in groupby(turns, key=itemgetter(0)):
        depth += sum(step for _, step in steps)
        if (depth >= least) != inside:
            inside = not inside
            cuts.append(cut)
    return ValueSet(sum(part.null for part in parts) >= least, start, tuple(cuts))


def one_type(parts: Iterable[ValueSet]) -> bool:
    """Whether all cuts are at values of one type, and so have an order."""
    return len({type(value) for part in parts for value, _ in part.cuts}) <= 1
