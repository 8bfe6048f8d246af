"""Distances between the private counts of a marginal's cells and the copy's shares, in rows.

Cell x has ``h(x)`` private rows, and ``p(x)`` is the share of the copy's rows in that cell.  Among
n private rows, each distance compares ``h`` with ``n p``.  Divided by n, it is the usual distance
between 0 and 1.  The copy's counts are public and fixed.

Guarantee: one row, added or removed, moves each distance by at most 1 (docs/theory.md, section 11).
All distances are exact fractions, computed without a double.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqd.deciders.errors import ParameterError

Counts = NDArray[np.int64]
# Larger sums are computed with Python's integers, which have no limit.
LARGEST = 2**62


class Distance(Protocol):
    """Distance in rows, with sensitivity 1, as a frozen value.

    Conformers: TotalVariation, FilledVariation, KolmogorovSmirnov, EarthMovers; MeanDistance, for
    the counts of several marginals.
    """

    id: ClassVar[str]

    def rows(self, counts: Any) -> Fraction:  # noqa: ANN401 - counts, or those of several marginals
        """Exact distance in rows, ``0 .. n``; private."""
        ...

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Facts for a cache key: everything that the distance depends on, except the counts."""
        ...


# Without slots, because numbers computed from the copy are cached.
@dataclass(frozen=True, eq=False)
class _CellDistance(ABC):
    """Distance from the ``copy``, given by its rows in each cell, public whole numbers >= 0.

    Raises
    ------
    ParameterError
        If the copy has no rows, or a count below 0.
    """

    copy: Counts

    id: ClassVar[str]

    def __post_init__(self) -> None:
        """Keep the copy's counts as a new array of whole numbers, of Python's if they are large."""
        given = np.asarray(self.copy)
        counts = np.array(given, dtype=object if given.dtype == object else np.int64).ravel()
        counts.setflags(write=False)
        if not counts.size or counts.min() < 0 or not counts.any():
            raise ParameterError("a distance needs counts of a copy that has rows, none below 0")
        object.__setattr__(self, "copy", counts)

    @cached_property
    def copy_rows(self) -> int:
        """Number of the copy's rows."""
        return int(self.copy.sum())

    @cached_property
    def cells(self) -> int:
        """Number of cells."""
        return self.copy.size

    def rows(self, counts: ArrayLike) -> Fraction:
        """Exact distance in rows, ``0 .. n``, of private ``counts``, one count for each cell."""
        private = np.asarray(counts, dtype=np.int64).ravel()
        if private.size != self.cells:
            raise ParameterError(f"{private.size} counts for {self.cells} cells")
        n = int(private.sum())
        # Upper bound on all sums of all distances.
        if 2 * n * self.copy_rows * self.cells > LARGEST:
            return self._rows(private.astype(object), self.copy.astype(object), n)
        return self._rows(private, self.copy, n)

    @abstractmethod
    def _rows(self, private: Any, copy: Any, n: int) -> Fraction:  # noqa: ANN401 - of either type
        """Exact distance, from counts of a type that can hold every sum."""

    def facts(self) -> list[Any]:
        """Id, number of cells, and a digest of the copy's counts."""
        large = self.copy.dtype == object
        octets = repr(self.copy.tolist()).encode() if large else self.copy.astype("<i8").tobytes()
        digest = hashlib.sha256(octets).hexdigest()
        return [self.id, self.cells, digest]


@dataclass(frozen=True, eq=False)
class TotalVariation(_CellDistance):
    """Total variation, ``T = 1/2 sum |h(x) - n p(x)|``; the cells may be in any order.

    ``T / n`` is the share of rows that would have to move to another cell.  A row added in cell y
    moves T by at most ``1 - p(y)`` (Theorem D1).
    """

    id: ClassVar[str] = "total_variation"

    def _rows(self, private: Any, copy: Any, n: int) -> Fraction:  # noqa: ANN401 - of either type
        total = int(np.abs(self.copy_rows * private - n * copy).sum())
        return Fraction(total, 2 * self.copy_rows)


@dataclass(frozen=True, eq=False)
class FilledVariation(_CellDistance):
    """Total variation among the filled rows, ``1/2 sum |h(x) - F p(x)|`` over all cells but NULL.

    Cell 0 is NULL, F is the number of filled private rows, and ``p`` are the copy's shares among
    its own filled rows.  So ``T / F`` is the share of the filled rows that would have to move to
    another cell.  A row without a value moves nothing, and a filled row moves T by at most 1
    (Theorem V1).

    Raises
    ------
    ParameterError
        If the copy has no filled row.
    """

    id: ClassVar[str] = "filled_variation"

    def __post_init__(self) -> None:
        """Check that the copy has filled rows."""
        super().__post_init__()
        if not self.copy[1:].any():
            raise ParameterError("a distance among filled rows needs a copy that has some")

    def _rows(self, private: Any, copy: Any, n: int) -> Fraction:  # noqa: ANN401 - of either type
        filled, own = int(private[1:].sum()), int(copy[1:].sum())
        del n
        total = int(np.abs(own * private[1:] - filled * copy[1:]).sum())
        return Fraction(total, 2 * own)


@dataclass(frozen=True, eq=False)
class KolmogorovSmirnov(_CellDistance):
    """Kolmogorov-Smirnov, ``K = max |H - n F|`` over the cells' ends; cells in their order.

    H and F are the cumulative counts and shares, up to and including a cell (Theorem D2).
    """

    id: ClassVar[str] = "kolmogorov_smirnov"

    def _rows(self, private: Any, copy: Any, n: int) -> Fraction:  # noqa: ANN401 - of either type
        gaps = np.abs(np.cumsum(self.copy_rows * private - n * copy))
        return Fraction(int(gaps.max()), self.copy_rows)


@dataclass(frozen=True, eq=False)
class EarthMovers(_CellDistance):
    """Earth mover's, ``W = sum |H - n F| / (cells - 1)`` over all cells but the last.

    The cells are equal steps of a bounded lattice.  ``W / n`` is the mean distance that a row must
    move, as a share of the whole range (Theorem D2).  It is 0 for a single cell.
    """

    id: ClassVar[str] = "earth_movers"

    def _rows(self, private: Any, copy: Any, n: int) -> Fraction:  # noqa: ANN401 - of either type
        if self.cells == 1:
            return Fraction(0)
        gaps = np.abs(np.cumsum(self.copy_rows * private - n * copy)[:-1])
        return Fraction(int(gaps.sum()), self.copy_rows * (self.cells - 1))


@dataclass(frozen=True, eq=False)
class MeanDistance:
    """Weighted mean of the distances of one table, ``sum_j w_j T_j`` (Theorem D2).

    Raises
    ------
    ParameterError
        Unless the weights are at least 0 and their sum is 1.
    """

    parts: tuple[tuple[Fraction, Distance], ...]

    id: ClassVar[str] = "mean_distance"

    def __post_init__(self) -> None:
        """Check the weights."""
        check_weights([weight for weight, _ in self.parts])

    def rows(self, counts: Sequence[Any]) -> Fraction:
        """Exact mean in rows, given the counts of each part, in the order of the parts."""
        pairs = zip(self.parts, counts, strict=True)
        return sum((w * distance.rows(own) for (w, distance), own in pairs), Fraction(0))

    def facts(self) -> list[Any]:
        """Id, then the weight and the facts of each part."""
        return [self.id, [[str(weight), part.facts()] for weight, part in self.parts]]


def check_weights(weights: Sequence[Fraction]) -> None:
    """Raise ParameterError unless the weights of a mean are at least 0 and their sum is 1."""
    if any(weight < 0 for weight in weights) or sum(weights, Fraction(0)) != 1:
        raise ParameterError("the weights of a mean must be at least 0, and their sum must be 1")


def whole_rows(rows: Fraction) -> int:
    """Nearest whole number, ``floor(rows + 1/2)``.

    Guarantee: if two numbers differ by at most a whole k, they differ by at most k after rounding.
    The reasons are that the floor is monotone, and that ``floor(x + k) = floor(x) + k`` (Lemma
    D3).
    """
    return (2 * rows.numerator + rows.denominator) // (2 * rows.denominator)
