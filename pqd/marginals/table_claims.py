"""Claims about a whole table: each marginal within its tolerance, and the values of each column.

They are bound to a copy and to a number of private rows that was stated or released; all of it is
public.  A gate takes the least margin of all claims, or the margin of a formula over them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.distances.claims import Claim, DistanceBelow
from pqd.deciders.distances.statistics import FilledVariation, TotalVariation
from pqd.deciders.distances.value_claims import (
    LOST_SHARE,
    RARE_TOLERANCE,
    Chance,
    CountKept,
    FewLost,
    FilledBelow,
    normal_deviations,
    spare_rows,
)
from pqd.deciders.exact import Number
from pqd.deciders.single.inverse_sensitivity import least_margin
from pqd.engine.marginals import RowMap
from pqd.engine.partitions import Categories, Points, TextBins
from pqd.engine.scan_plan import rows_per_person
from pqd.marginals.bound_profile import BoundMarginal, BoundProfile, ColumnValues
from pqd.marginals.partition_choice import BINS
from pqd.marginals.tolerances import chance_mark, spread_of, tolerances_with_chance, with_chance

# A distance whose tolerance with chance is above this share says too little.
MOST_TOLERANCE = Fraction(1, 2)
# All marginals must be within so many tolerances.
THRICE = 3
# Ends of a range, beyond which two independent samples have about as many rows as single values.
_ENDS = 2


class NamedClaim(NamedTuple):
    """Claim about the counts of one row map, with its name and its columns in reports."""

    name: str
    columns: tuple[str, ...]
    row_map: RowMap
    claim: Claim


class NotJudged(NamedTuple):
    """Claim that is left out, and the reason."""

    name: str
    columns: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableClaims:
    """Claims about a whole table.

    Attributes
    ----------
    within
        The claims that each marginal is within its tolerance with chance.
    thrice
        The claims that each marginal is within three times that; those that cannot fail are left
        out.
    columns
        The claims about the values of single columns: the distance among filled rows, filled rows,
        rare values, lost values, heaping.
    left_out
        What is not judged: chance or the noise of the gate alone would explain too much.
    """

    within: tuple[NamedClaim, ...]
    thrice: tuple[NamedClaim, ...]
    columns: tuple[NamedClaim, ...]
    left_out: tuple[NotJudged, ...]


def table_claims(
    bound: BoundProfile,
    rows: int,
    tau: Fraction,
    epsilon: Number,
    *,
    rare: Fraction = RARE_TOLERANCE,
    off: int = 0,
) -> TableClaims:
    """Claims about one copy, for a gate of ``epsilon``.

    Parameters
    ----------
    bound
        The marginals with the copies' counts.
    rows
        The number of private rows, which was stated or released, at least 1.
    tau
        The tolerance of each distance; chance and noise are added to it.
    epsilon
        The budget of one margin.
    rare
        The relative tolerance of the rows that have one value.
    off
        The number of rows by which ``rows`` may be off, since it was released with noise.
    """
    judge = _Judge(bound, rows, tau, epsilon, off=off)
    within, thrice = judge.marginals()
    values = [claim for each in bound.column_values for claim in judge.values(each, rare)]
    return TableClaims(
        within=tuple(within),
        thrice=tuple(thrice),
        columns=tuple(values),
        left_out=tuple(judge.left_out),
    )


def column_claims(
    bound: BoundProfile,
    column: str,
    rows: int,
    tau: Fraction,
    epsilon: Number,
    *,
    rare: Fraction = RARE_TOLERANCE,
    off: int = 0,
) -> TableClaims:
    """Claims about the values of one column alone, the same that ``table_claims`` makes of it."""
    judge = _Judge(bound, rows, tau, epsilon, off=off)
    own = [each for each in bound.column_values if each.histogram.columns == (column,)]
    values = [claim for each in own for claim in judge.values(each, rare)]
    return TableClaims(within=(), thrice=(), columns=tuple(values), left_out=tuple(judge.left_out))


def counted_claims(bound: BoundProfile, rows: int) -> Iterator[list[NamedClaim]]:
    """Claims about cells of each column's histogram, without rows for noise.

    The names are those of the values alone.  ``rows`` is as for ``table_claims``.
    """
    judge = _Judge(bound, rows, MOST_TOLERANCE, 1, spare=0)
    for each in bound.column_values:
        (name,) = each.histogram.columns
        claims = judge.counted(each, RARE_TOLERANCE)
        yield [own._replace(name=own.name.removeprefix(f"{name}: ")) for own in claims]


class _Judge:
    """Claims of one copy, and what is left out."""

    def __init__(
        self,
        bound: BoundProfile,
        rows: int,
        tau: Fraction,
        epsilon: Number,
        *,
        spare: int | None = None,
        off: int = 0,
    ) -> None:
        """No claim is made yet; ``spare`` rows are for noise, if not those of a gate."""
        self._off = off
        self._bound, self._rows, self._tau, self._epsilon = bound, rows, tau, epsilon
        self._copy_rows = bound.copy_rows
        spare = spare_rows(epsilon) if spare is None else spare
        # A person who counts as k rows spreads a count as k rows that are alike would.
        self._root = spread_of(rows_per_person(bound.unit))
        self._chance = Chance(self._root * normal_deviations(self._statements()), spare)
        # A margin that is found to hold in nine runs of ten.
        alpha, missed = Fraction(1, 20), Fraction(1, 10)
        self._needed = least_margin(epsilon, alpha) + least_margin(epsilon, missed) - 1
        self.left_out: list[NotJudged] = []

    def _statements(self) -> int:
        """Number of counts that are compared: cells of each column, filled and lost rows, ends."""
        columns = self._bound.column_values
        ends = _ENDS * sum(each.ordered is not None for each in columns)
        return sum(each.histogram.marginal.size + 2 for each in columns) + ends

    def marginals(self) -> tuple[list[NamedClaim], list[NamedClaim]]:
        """Claims that each marginal is within its tolerance, and within three times that."""
        bound = self._bound
        within: list[NamedClaim] = []
        thrice: list[NamedClaim] = []
        taus = tolerances_with_chance(bound, self._rows, self._tau, self._epsilon)
        for each, tau in zip(bound.marginals, taus, strict=True):
            name = " by ".join(each.columns)
            if not self._says_something(name, each, tau, self._rows):
                continue
            distance = TotalVariation(each.weights)
            claim = DistanceBelow(distance, tau)
            within.append(NamedClaim(name, each.columns, each.marginal, claim))
            if THRICE * tau < 1:
                thrice.append(within[-1]._replace(claim=DistanceBelow(distance, THRICE * tau)))
        return within, thrice

    def values(self, column: ColumnValues, rare: Fraction) -> Iterator[NamedClaim]:
        """Claims about the values of one column."""
        own, (name,) = column.histogram, column.histogram.columns
        copy, partition = own.copy, own.marginal.partitions[0]
        if copy[0] and copy[1:].any():
            yield from self._filled(name, own, int(copy[1:].sum()))
        yield from self._counts(column, rare)
        if column.ordered is not None and not isinstance(partition, Categories | Points):
            yield from self._tails(name, column.ordered, rare)
        yield from self._lost(name, list(self._lost_claims(column)))
        if column.heaps is not None:
            yield from self._heaped(f"{name}: heaping", column.heaps)

    def counted(self, column: ColumnValues, rare: Fraction) -> Iterator[NamedClaim]:
        """Claims about cells of the histogram: filled and empty rows, values, lost values."""
        yield from self._counts(column, rare)
        (name,) = column.histogram.columns
        lost = [each for each in self._lost_claims(column) if each[0] is column.histogram]
        yield from self._lost(name, lost)

    def _counts(self, column: ColumnValues, rare: Fraction) -> Iterator[NamedClaim]:
        own, (name,) = column.histogram, column.histogram.columns
        copy, partition = own.copy, own.marginal.partitions[0]
        empty, filled = int(copy[0]), int(copy[1:].sum())
        if empty and filled:
            cells = tuple(range(1, copy.size))
            yield from self._kept(f"{name}: filled rows", own, cells, filled, rare)
        yield from self._kept(f"{name}: empty rows", own, (0,), empty, rare)
        word = "value " if isinstance(partition, Categories | Points) else ""
        for cell in (np.flatnonzero(copy[1:]) + 1).tolist():
            title = f"{name}: {word}{partition.labels[cell]}"
            yield from self._kept(title, own, (cell,), int(copy[cell]), rare)

    def _filled(self, name: str, own: BoundMarginal, filled: int) -> Iterator[NamedClaim]:
        """Claim that the distance among the filled rows is within its tolerance."""
        title, counts = f"{name}: among filled rows", own.copy
        rows = max(1, self._rows * filled // self._copy_rows)
        tau = self._tolerance(counts[1:], rows)
        if self._says_something(title, own, tau, rows):
            yield self._named(title, own, FilledBelow(FilledVariation(own.weights), tau))

    def _heaped(self, title: str, heaps: BoundMarginal) -> Iterator[NamedClaim]:
        """Claim that numbers are as round as the copy's."""
        counts = heaps.copy
        tau = self._tolerance(counts, self._rows)
        if self._says_something(title, heaps, tau, self._rows):
            yield self._named(title, heaps, DistanceBelow(TotalVariation(heaps.weights), tau))

    def _kept(
        self, title: str, own: BoundMarginal, cells: tuple[int, ...], count: int, rare: Fraction
    ) -> Iterator[NamedClaim]:
        """Claim that the rows in some cells are about as frequent as in the copy.

        What more than half of the rows have is not rare: the distance of the column judges it.
        """
        if 2 * count > self._copy_rows:
            return
        claim = self._count_kept(cells, count, rare)
        if claim.judged(self._rows):
            yield self._named(title, own, claim)
        else:
            self._leave_out(title, own, claim.allowed(self._rows) / self._rows)

    def _count_kept(self, cells: tuple[int, ...], count: int, rare: Fraction) -> CountKept:
        """Claim on a count, which allows for the share of the rows that the public number is off.

        Without this allowance, few persons of whom a noisy number was released would fail.
        """
        share = -(-self._off * count // self._copy_rows)
        chance = self._chance._replace(spare=self._chance.spare + share)
        return CountKept(cells, count, self._copy_rows, rare, chance)

    def _tails(self, name: str, order: BoundMarginal, rare: Fraction) -> Iterator[NamedClaim]:
        """Claims that the lowest and the highest values are about as frequent as in the copy.

        The bins of a column end at quantiles, so their counts do not tell how far its ends reach.
        The smallest tail has as few rows as are missed where the private table has none of them;
        each other has twice as many, up to those of a bin.
        """
        cells = range(1, order.copy.size)
        for title, outward in (("lowest", cells), ("highest", cells[::-1])):
            rows = np.cumsum(order.copy[list(outward)])
            least = self._least_missed
            while least * BINS < self._copy_rows:
                last = int(np.searchsorted(rows, least))
                if last == rows.size:
                    break
                count, tail = int(rows[last]), tuple(sorted(outward[: last + 1]))
                yield from self._kept(f"{name}: {count:,} {title} values", order, tail, count, rare)
                least = max(2 * least, count + 1)

    @cached_property
    def _least_missed(self) -> int:
        """Least number of copy rows of which it is found that the private table has none."""
        for count in range(1, self._copy_rows):
            claim = self._count_kept((), count, RARE_TOLERANCE)
            if claim.margin(np.zeros(0, np.int64), self._rows) <= -self._needed:
                return count
        return self._copy_rows

    def _lost(
        self, name: str, claims: Sequence[tuple[BoundMarginal, FewLost]]
    ) -> Iterator[NamedClaim]:
        """Claim that few rows have a value that the copy never has: the first that is judged."""
        title = f"{name}: lost values"
        for own, claim in claims:
            if claim.judged(self._rows):
                yield self._named(title, own, claim)
                return
        if claims:
            own, claim = claims[-1]
            self._leave_out(title, own, Fraction(claim.most(self._rows), self._rows))

    def _lost_claims(self, column: ColumnValues) -> Iterator[tuple[BoundMarginal, FewLost]]:
        """Claims on lost values, the one that sees most of them first.

        A column with a cell for each value sees all of them, and so does the list of all texts of a
        column in bins.  Others see them at the places between the copy's values, or else beyond the
        range of the copy.
        """
        own, singles = column.histogram, column.singles
        if column.known is not None:
            yield from self._of_lacking(column.known, (column.known.marginal.size - 1,), singles)
        if isinstance(own.marginal.partitions[0], Categories | Points | TextBins):
            yield from self._of_lacking(own, _lacking(own), singles)
            return
        order = column.ordered
        if order is not None:
            between = tuple(range(1, order.marginal.size, 2))
            if not order.copy[list(between)].any():
                yield from self._of_lacking(order, between, singles)
        yield from self._of_lacking(own, _lacking(own), _ENDS)

    def _of_lacking(
        self, own: BoundMarginal, cells: tuple[int, ...], singles: int
    ) -> Iterator[tuple[BoundMarginal, FewLost]]:
        if cells:
            yield own, FewLost(cells, singles, self._copy_rows, LOST_SHARE, self._chance)

    def _tolerance(self, counts: NDArray[np.int64], rows: int) -> Fraction:
        """Tolerance with chance of a distance between ``counts`` and ``rows`` private rows."""
        mark = float(self._root) * chance_mark(counts, rows, len(self._bound.marginals))
        return with_chance(self._tau, mark, rows, self._epsilon)

    def _says_something(self, title: str, own: BoundMarginal, tau: Fraction, rows: int) -> bool:
        """Whether a distance is judged; the copy itself must pass in nine runs of ten."""
        of_copy = math.ceil(tau * rows / (1 + tau))
        if tau <= MOST_TOLERANCE and of_copy >= self._needed:
            return True
        self._leave_out(title, own, tau)
        return False

    def _leave_out(self, title: str, own: BoundMarginal, allowed: Fraction) -> None:
        percent = math.ceil(100 * allowed)
        reason = f"chance and noise alone may explain {percent} % of {self._rows:,} rows"
        self.left_out.append(NotJudged(title, own.columns, reason))

    @staticmethod
    def _named(title: str, own: BoundMarginal, claim: Claim) -> NamedClaim:
        return NamedClaim(title, own.columns, own.marginal, claim)


def _lacking(own: BoundMarginal) -> tuple[int, ...]:
    """Cells of values that the copy never has; NULL is none of them."""
    return tuple((np.flatnonzero(own.copy[1:] == 0) + 1).tolist())
