"""Relations kept: how much of what pairs of columns tell beyond their columns a copy has kept.

Three mean scores over the same K pairs, in rows, with total variations as distances:

* T: of each pair against the copy's pair;
* T0: of each pair against the product of the copy's own two columns;
* M: of the columns, for each pair the larger of its two.

``kept = 1 - (T - M) / (T0 - M)``.  It is 1 where the copy's pairs are exact, and 0 where they tell
no more than its columns side by side.  A wrong column is in all three scores and cancels out, since
the distance of a pair is at least that of each of its columns.  So ``M <= T`` and ``M <= T0``.

Guarantee: one row, added or removed, moves each score by at most 1 (docs/theory.md, Theorem D11).
All scores are exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqd.deciders.distances.cube_law import CubeLaw, CubeNoise
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.deciders.distances.ratio_intervals import ShareEstimate
from pqd.deciders.distances.statistics import LARGEST, TotalVariation, whole_rows
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, as_float, budget_of, exact, probability
from pqd.deciders.noise import Noise

# Name of the mechanism in keys and reports, and how many numbers it releases of each copy.
CUBE_RELATIONS = "cube_relations"
NUMBERS = 3
# Share that a copy must keep, unless the caller states another.
USUAL_BAR = Fraction(1, 2)
# Largest error of ``(1 - sigma) T0 - T + sigma M`` by the rounding of its three numbers.
_ROUNDING = 1.0
# Weights of noises are rounded up to whole numbers of this part; steps that narrow an interval.
_PART, _STEPS = 32, 4


class RelationRows(NamedTuple):
    """Mean scores in rows: of the pairs, of the product of the columns, and of the columns."""

    pairs: Fraction
    product: Fraction
    columns: Fraction

    def excess(self, sigma: Fraction) -> Fraction:
        """``(1 - sigma) T0 - T + sigma M``, above 0 exactly if more than sigma is kept.

        The reason: ``kept > sigma`` means ``T - M < (1 - sigma)(T0 - M)``.  If ``T0 = M``, there
        is nothing to keep, and the excess is ``M - T``, which is at most 0.
        """
        return (1 - sigma) * self.product - self.pairs + sigma * self.columns


class _Pair(NamedTuple):
    """Distances of one pair, and its numbers of cells."""

    joint: TotalVariation
    product: TotalVariation
    first: TotalVariation
    second: TotalVariation
    shape: tuple[int, int]


# Without slots, because the distances are cached.
@dataclass(frozen=True, eq=False)
class Relations:
    """Scores of the pairs of a copy.

    ``copies`` has the copy's rows in the cells of each pair, arrays (cells of one column, cells of
    the other).  The columns of a pair are its sums, so no other counts are needed.

    Raises
    ------
    ParameterError
        Without a pair, or for a pair without rows.
    """

    copies: tuple[NDArray[np.int64], ...]

    def __post_init__(self) -> None:
        """Raise ParameterError unless there is a pair, and each has two columns."""
        if not self.copies or any(np.ndim(copy) != 2 for copy in self.copies):
            raise ParameterError("relations need pairs of columns, at least one")

    @cached_property
    def _pairs(self) -> tuple[_Pair, ...]:
        return tuple(map(_pair, self.copies))

    def rows(self, counts: Sequence[ArrayLike]) -> RelationRows:
        """Exact scores of private ``counts``, the rows in the cells of each pair; private."""
        pairs = product = columns = Fraction(0)
        for each, own in zip(self._pairs, counts, strict=True):
            table = np.asarray(own, dtype=np.int64).reshape(each.shape)
            pairs += each.joint.rows(table)
            product += each.product.rows(table)
            first = each.first.rows(table.sum(axis=1))
            columns += max(first, each.second.rows(table.sum(axis=0)))
        number = len(self.copies)
        return RelationRows(pairs / number, product / number, columns / number)

    @property
    def own_product(self) -> Fraction:
        """Mean distance of the copy from the product of its columns, a share of its rows."""
        return self.rows(self.copies).product / int(self.copies[0].sum())

    def facts(self) -> list[Any]:
        """Facts for a cache key: the numbers of cells and a digest of each pair of the copy."""
        return ["relations", [[list(each.shape), each.joint.facts()] for each in self._pairs]]


def _pair(copy: NDArray[np.int64]) -> _Pair:
    """Distances of one pair; the shares of the product are exact, since they are whole numbers."""
    first, second = copy.sum(axis=1), copy.sum(axis=0)
    large = int(first.sum()) ** 2 > LARGEST
    product = TotalVariation(np.outer(first.astype(object) if large else first, second))
    shape = (int(copy.shape[0]), int(copy.shape[1]))
    return _Pair(
        TotalVariation(copy), product, TotalVariation(first), TotalVariation(second), shape
    )


@dataclass(frozen=True, eq=False)
class RelationsKept:
    """Claim "more than ``sigma`` of the relations are kept", ``0 <= sigma < 1``.

    Guarantee: the margin ``ceil(G / 2)`` of ``G = (1 - sigma) T0 - T + sigma M`` moves by at most
    1 with one row, and is at least 1 exactly if the claim holds (Theorem D11).
    """

    relations: Relations
    sigma: Fraction

    id: ClassVar[str] = "relations_kept"

    def __post_init__(self) -> None:
        """Read sigma; ParameterError unless it is a share below 1."""
        object.__setattr__(self, "sigma", share_kept(self.sigma))

    @property
    def needs_rows(self) -> bool:
        """False: a share of the relations needs no number of rows."""
        return False

    def margin(self, counts: Sequence[ArrayLike], rows: int = 0, parts: int = 1) -> int:
        """Margin of the private ``counts`` of all pairs; the number of rows is not needed."""
        del rows, parts
        return math.ceil(self.relations.rows(counts).excess(self.sigma) / 2)

    def facts(self) -> list[Any]:
        """Facts for a cache key."""
        return [self.id, str(self.sigma), self.relations.facts()]


@dataclass(frozen=True, eq=False)
class RelationsNear:
    """Claim that the pairs are nearly as near as their columns: ``T - M < tau n``, n private rows.

    Guarantee: one row moves T and M by at most 1, and ``tau n`` by tau.  So it moves the margin
    ``ceil((tau n - T + M) / (2 + tau))`` by at most 1, and the margin is at least 1 exactly if the
    claim holds (Theorem G3).
    """

    relations: Relations
    tau: Fraction

    id: ClassVar[str] = "relations_near"

    @property
    def needs_rows(self) -> bool:
        """False: the tolerance is a share of the rows that are counted."""
        return False

    def margin(self, counts: Sequence[ArrayLike], rows: int = 0, parts: int = 1) -> int:
        """Margin of the private ``counts`` of all pairs."""
        del rows, parts
        scores, n = self.relations.rows(counts), int(np.asarray(counts[0]).sum())
        return math.ceil((self.tau * n - scores.pairs + scores.columns) / (2 + self.tau))

    def facts(self) -> list[Any]:
        """Facts for a cache key."""
        return [self.id, str(self.tau), self.relations.facts()]


def share_kept(sigma: Number) -> Fraction:
    """Share of the relations that a copy must keep, such as ``"50%"`` or 0.5.

    Raises
    ------
    ParameterError
        Unless it is at least 0 and below 1.
    """
    text = str(sigma).strip()
    of_hundred = isinstance(sigma, str) and text.endswith("%")
    number = text.removesuffix("%") if of_hundred else sigma
    share = exact(number, "relations", "50% or 0.5") / (100 if of_hundred else 1)
    if not 0 <= share < 1:
        raise ParameterError(
            f"relations is {sigma}; a share of at least 0 and below 1, such as 50%"
        )
    return share


def release_relations(
    scores: Sequence[RelationRows], epsilon: Number, noise: Noise
) -> tuple[int, ...]:
    """Noisy scores of several copies, three whole numbers each, with cube noise.

    Guarantee: epsilon-DP.  One row moves each score, in whole rows, by at most 1, so it moves the
    vector by at most 1 in the largest coordinate (Hardt and Talwar 2010; Theorems D5 and D11).
    """
    rows = [whole_rows(score) for each in scores for score in each]
    return tuple(noise.cube(rows, 1 / budget_of(epsilon)))


class RelationsVerdict(NamedTuple):
    """Whether more than the bar is kept, and the p-value of the verdict."""

    outcome: bool
    p_value: float


@dataclass(frozen=True)
class RelationsEstimates:
    """Estimates from the three released numbers of one copy, by post-processing.

    ``released`` are the noisy T, T0 and M.  ``law`` is the law of each noise: of three coordinates
    for each copy of the release.
    """

    released: tuple[int, int, int]
    law: CubeLaw
    alpha: float

    def __post_init__(self) -> None:
        """Raise ParameterError unless alpha is a probability and three numbers were released."""
        if len(self.released) != NUMBERS:
            raise ParameterError(f"{len(self.released)} numbers of relations, not {NUMBERS}")
        object.__setattr__(self, "alpha", as_float(probability(self.alpha, "alpha")))

    @property
    def relations(self) -> tuple[float, float, float]:
        """``T0 - M`` in rows, what there is to keep: value, low and high, at least 0."""
        _, product, columns = self.released
        value = float(product - columns)
        reach = critical(self.law, (1.0, 1.0), self.alpha) + _ROUNDING
        return max(value, 0.0), max(value - reach, 0.0), max(value + reach, 0.0)

    @property
    def lost(self) -> tuple[float, float, float]:
        """``T - M`` in rows, what is lost or invented: value, low and high, at least 0."""
        pairs, _, columns = self.released
        value = float(pairs - columns)
        reach = critical(self.law, (1.0, 1.0), self.alpha) + _ROUNDING
        return max(value, 0.0), max(value - reach, 0.0), max(value + reach, 0.0)

    @cached_property
    def kept(self) -> ShareEstimate:
        """Share that is kept, from -1 to 1; -1 stands for all below.

        The interval holds every sigma whose ``G = (1 - sigma) T0 - T + sigma M`` the noise does
        not reject.  The critical value at the largest weights of an interval holds for all of it
        (Theorem D7).  So each step keeps what was not rejected before and is not rejected at the
        weights of the interval so far.  If nothing may be there to keep, the interval is -1 to 1.
        """
        pairs, product, columns = map(float, self.released)
        gained, whole = product - pairs, product - columns
        if whole <= 0:
            return ShareEstimate(0.0, -1.0, 1.0)
        low, high = -1.0, 1.0
        for _ in range(_STEPS):
            weights = (1 - low, 1.0, max(abs(low), abs(high)))
            reach = critical(self.law, weights, self.alpha) + _rounding(weights)
            low, high = (
                max(low, min((gained - reach) / whole, 1.0)),
                min(high, max((gained + reach) / whole, -1.0)),
            )
        value = min(max(gained / whole, -1.0), 1.0)
        return ShareEstimate(value, min(low, value), max(high, value))

    def verdict(self, bar: Number) -> RelationsVerdict:
        """Whether more than ``bar`` is kept, with a p-value that is valid for every table.

        Proof of validity: as for ``DistanceEstimates.verdicts``.  The outcome is the sign of the
        noisy G, and the p-value is the chance of noise of its size or more in one direction.
        """
        sigma = share_kept(bar)
        pairs, product, columns = map(Fraction, self.released)
        excess = RelationRows(pairs, product, columns).excess(sigma)
        away = abs(as_float(excess)) - _ROUNDING
        weights = (1 - as_float(sigma), 1.0, as_float(sigma))
        p_value = tail(self.law, weights, away) if away > 0 else 1.0
        return RelationsVerdict(excess > 0, p_value)


def half_width(law: CubeLaw, relations: float, kept: float, alpha: float) -> float:
    """About half the width of the interval if ``kept`` of ``relations`` rows is kept; at most 1."""
    reach = critical(law, (1 - kept, 1.0, abs(kept)), alpha) + _ROUNDING
    return min(1.0, reach / relations) if relations > 0 else 1.0


def critical(law: CubeLaw, weights: Sequence[float], alpha: float) -> float:
    """Rows that the weighted sum of noises exceeds, to either side, with probability alpha."""
    return _critical(_noise(law, weights), alpha)


@lru_cache(maxsize=4096)
def _critical(noise: CubeNoise, alpha: float) -> float:
    return noise.critical(0.0, LaplaceLaw(noise.law.scale), alpha)


def tail(law: CubeLaw, weights: Sequence[float], rows: float) -> float:
    """Upper bound on the chance that the weighted sum of noises is ``rows`` or more."""
    return float(_noise(law, weights).at_least(rows, 0.0, LaplaceLaw(law.scale)))


def _noise(law: CubeLaw, weights: Sequence[float]) -> CubeNoise:
    """Weighted sum of different coordinates; a larger weight only widens it (Theorem D7)."""
    rounded = (max(1, math.ceil(weight * _PART)) / _PART for weight in weights)
    return CubeNoise(law, tuple((weight, 1) for weight in rounded))


def _rounding(weights: Sequence[float]) -> float:
    """Largest error of a weighted sum of numbers that are rounded to whole rows."""
    return sum(weights) / 2
