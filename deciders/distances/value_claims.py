"""Claims about the values of one column: rare values are there, no values are lost.

The ends of each claim are exact whole numbers.  They are computed from public numbers alone: the
copy's counts, and the number of private rows that was stated or released.  So a count that moves by
1 with a row has a margin that moves by 1 (docs/theory.md, Theorems V1 to V4).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pqd.deciders.distances.claims import Claim
from pqd.deciders.distances.statistics import Counts, FilledVariation
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, probability
from pqd.deciders.single.inverse_sensitivity import least_margin

# Relative tolerance of a count, and the share of the rows whose values the copy may lack.
RARE_TOLERANCE, LOST_SHARE = Fraction(1, 5), Fraction(1, 1000)
# A claim is judged if what it allows is at most this share of the rows.
MOST_ALLOWED = Fraction(1, 4)
# Half of the level 0.05: what all claims of a table may miss an independent sample with.
_LEVEL = 0.025
# Deviations are rounded up to a millionth, square roots to 2^-20: they are the same everywhere.
_MILLION, _ROOT = 10**6, 2**20


def spare_rows(epsilon: Number) -> int:
    """Rows that the noise of one margin needs, ``m(0.05) + m(0.02) - 1``.

    A margin of so many rows is found to hold, with a p-value of at most 0.05, in 98 % of runs.
    """
    return least_margin(epsilon, Fraction(1, 20)) + least_margin(epsilon, Fraction(1, 50)) - 1


def chance_rows(rows: int, of: int | None = None) -> int:
    """Rows by which two independent samples may differ in a group of so many ``rows``, rounded up.

    Three standard errors of the difference: the root of twice the variance of one sample, which is
    ``n (1 - n / N)`` of a group of n among N rows.  Without ``of`` the group is a small one.
    """
    share = 0 if of is None else min(rows / of, 1)
    return math.ceil(3 * math.sqrt(2 * rows * (1 - share)))


def normal_deviations(statements: int, sides: int = 2) -> Fraction:
    """Deviations z that none of C independent samples exceeds: ``Phi^-1(1 - 0.025/(sides C))``.

    Each of ``statements`` has one or two ``sides``.  The number is rounded up to a millionth.
    """
    z = NormalDist().inv_cdf(1 - _LEVEL / (sides * max(1, statements)))
    return Fraction(math.ceil(z * _MILLION), _MILLION)


class Chance(NamedTuple):
    """Public allowance for chance and noise: deviations z, and rows m that the noise needs."""

    deviations: Fraction
    spare: int

    def facts(self) -> list[Any]:
        """Facts for a cache key."""
        return [str(self.deviations), self.spare]


@dataclass(frozen=True)
class CountKept:
    """Claim that the rows in some cells of a marginal are about as frequent as in the copy.

    The copy has ``copy`` of its ``copy_rows`` rows in ``cells``.  With n private rows, stated or
    released, ``e = n copy / copy_rows`` and ``f = n / copy_rows``, the count h must lie strictly
    within ``e + f z^2/2 -+ (z sqrt(e (1 + f) + f^2 z^2/4) + rho e + m)``: z deviations of two
    independent samples in Wilson's form, the relative ``tolerance`` rho, and m rows of noise.  A
    lower end below 0 is left out.

    Guarantee: one row moves the margin by at most 1, and the margin is at least 1 exactly if the
    claim holds (Theorem V2).
    """

    cells: tuple[int, ...]
    copy: int
    copy_rows: int
    tolerance: Fraction
    chance: Chance

    id: ClassVar[str] = "count_kept"

    @property
    def needs_rows(self) -> bool:
        """True: the ends are numbers of rows."""
        return True

    def allowed(self, rows: int) -> Fraction:
        """Rows on either side of the middle that the claim allows; public."""
        factor, expected, z = self._scaled(rows)
        variance = expected * (1 + factor) + (factor * z / 2) ** 2
        return z * _root_above(variance) + self.tolerance * expected + self.chance.spare

    def ends(self, rows: int) -> tuple[int, int]:
        """Last whole number below the claim, negative if there is none, and first one above."""
        factor, expected, z = self._scaled(rows)
        middle, allowed = expected + factor * z**2 / 2, self.allowed(rows)
        return math.floor(middle - allowed), math.ceil(middle + allowed)

    def judged(self, rows: int) -> bool:
        """Whether the claim says something: it allows at most a quarter of the rows."""
        return self.allowed(rows) <= MOST_ALLOWED * rows

    def margin(self, counts: Counts, rows: int, parts: int = 1) -> int:
        """Margin, ``min(h - low, high - h)``: COUNT's own for an interval with public ends."""
        count = _count(counts, self.cells)
        low, high = (parts * end for end in self.ends(rows))
        return high - count if low < 0 else min(count - low, high - count)

    def facts(self) -> list[Any]:
        """Facts for a cache key."""
        numbers = [list(self.cells), self.copy, self.copy_rows, str(self.tolerance)]
        return [self.id, *numbers, self.chance.facts()]

    def _scaled(self, rows: int) -> tuple[Fraction, Fraction, Fraction]:
        """Ratio of the sizes, expected count, and deviations."""
        factor = _ratio(rows, self.copy_rows)
        return factor, factor * self.copy, self.chance.deviations


@dataclass(frozen=True)
class FewLost:
    """Claim that few private rows have a value that the copy never has: rows in ``cells``.

    With n private rows, stated or released, ``f = n / copy_rows``, and ``singles`` values that
    exactly one copy row has, at most ``lambda n + f f1 + z sqrt(f (1 + f) f1) + z^2 f + m`` rows
    are allowed.  Good (1953): two independent samples have about ``f f1`` such rows.

    Guarantee: one row moves the margin by at most 1, and the margin is at least 1 exactly if the
    claim holds (Theorem V3).
    """

    cells: tuple[int, ...]
    singles: int
    copy_rows: int
    share: Fraction
    chance: Chance

    id: ClassVar[str] = "few_lost"

    @property
    def needs_rows(self) -> bool:
        """True: the ends are numbers of rows."""
        return True

    def most(self, rows: int) -> int:
        """Largest number of lost rows that the claim allows; public."""
        factor, z = _ratio(rows, self.copy_rows), self.chance.deviations
        drawn = factor * self.singles + z**2 * factor
        deviation = z * _root_above(factor * (1 + factor) * self.singles)
        return math.floor(self.share * rows + drawn + deviation) + self.chance.spare

    @property
    def copy(self) -> int:
        """Rows of the copy in the cells: none."""
        return 0

    def ends(self, rows: int) -> tuple[int, int]:
        """Minus 1, since no number is below the claim, and the first one above."""
        return -1, self.most(rows) + 1

    def judged(self, rows: int) -> bool:
        """Whether the claim says something: it allows at most a quarter of the rows."""
        return self.most(rows) <= MOST_ALLOWED * rows

    def margin(self, counts: Counts, rows: int, parts: int = 1) -> int:
        """Margin, the number of rows that may still be lost, plus 1."""
        return parts * self.most(rows) + 1 - _count(counts, self.cells)

    def facts(self) -> list[Any]:
        """Facts for a cache key."""
        numbers = [list(self.cells), self.singles, self.copy_rows, str(self.share)]
        return [self.id, *numbers, self.chance.facts()]


@dataclass(frozen=True, eq=False)
class FilledBelow:
    """Claim that the distance among the filled rows is below ``tau``, a share of these rows.

    Guarantee: one row moves ``ceil((tau F - T) / (1 + tau))`` by at most 1 (Theorem V1).  A table
    without a filled row is a no.
    """

    distance: FilledVariation
    tau: Fraction

    id: ClassVar[str] = "filled_below"

    def __post_init__(self) -> None:
        """Raise ParameterError unless tau is a share between 0 and 1."""
        probability(self.tau, "tau")

    @property
    def needs_rows(self) -> bool:
        """False: the tolerance is a share of the filled rows."""
        return False

    def margin(self, counts: Counts, rows: int, parts: int = 1) -> int:
        """Margin; the number of rows is not needed."""
        del rows, parts
        filled = int(np.asarray(counts)[1:].sum())
        return math.ceil((self.tau * filled - self.distance.rows(counts)) / (1 + self.tau))

    def facts(self) -> list[Any]:
        """Facts for a cache key."""
        return [self.id, self.distance.facts(), str(self.tau)]


@dataclass(frozen=True, eq=False)
class AllHold:
    """Claim that several claims hold, each about counts of its own: one margin and one p-value.

    Guarantee: the least of margins that move by at most 1 moves by at most 1 (Theorem V4).

    Raises
    ------
    ParameterError
        Without a claim.
    """

    claims: tuple[Claim, ...]

    id: ClassVar[str] = "all_hold"

    def __post_init__(self) -> None:
        """Check that there is a claim."""
        if not self.claims:
            raise ParameterError("a claim over several claims needs at least one")

    @property
    def needs_rows(self) -> bool:
        """Whether one of the claims needs the number of rows."""
        return any(claim.needs_rows for claim in self.claims)

    def margin(self, counts: Sequence[Any], rows: int, parts: int = 1) -> int:
        """Least margin, given the counts of each claim in their order."""
        pairs = zip(self.claims, counts, strict=True)
        return min(claim.margin(own, rows, parts) for claim, own in pairs)

    def facts(self) -> list[Any]:
        """Facts for a cache key."""
        return [self.id, [claim.facts() for claim in self.claims]]


def _ratio(rows: int, copy_rows: int) -> Fraction:
    """Private rows for each row of the copy."""
    if rows < 1 or copy_rows < 1:
        raise ParameterError(f"{rows} private rows and {copy_rows} of the copy; both need a row")
    return Fraction(rows, copy_rows)


def _root_above(number: Fraction) -> Fraction:
    """Square root, rounded up to a multiple of 2^-20."""
    scaled = math.ceil(number * _ROOT**2)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), _ROOT)


def _count(counts: Counts, cells: Sequence[int]) -> int:
    return sum(int(counts[cell]) for cell in cells)
