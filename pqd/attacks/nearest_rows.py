"""Nearest rows of a copy: distances of one row to every row of the copy, in whole steps.

The distance is Gower's: the mean over the columns of 1 for differing texts, and for numbers of the
share of the copy's values between the two.  It is added up in whole steps, so the result for a row
does not depend on other rows, on blocks or on threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pqd.engine.partitions import Ordered, Partition
from pqd.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Most steps of a column, and of all columns together: sums of two distances fit into 16 bits.
_STEPS, _MOST = 500, 10_000
# Rows that are compared at a time, so that they stay in the cache, and parts of the copy.
_ROWS, _PARTS = 16, 16
# Steps of a closeness of 1.
_CLOSE = 1_000
_SHORT, _BYTE = np.int16, 1 << 8


class Nearest(NamedTuple):
    """Nearest rows of the copy, for each of some rows.

    ``distance`` is the least distance by all columns.  ``linked`` says whether some row of the copy
    is nearest by both halves of the columns.  ``closeness`` is the least distance as a share of
    the distance that is usual there: the median, over equal parts of the copy, of the distance to
    the nearest row of the part.  It is about the ratio of two densities of the copy.  ``guesses``
    has, for each secret, the place of the row that is nearest by the columns that an attacker
    knows.
    """

    distance: NDArray[np.int64]
    closeness: NDArray[np.int64]
    linked: NDArray[np.bool_]
    guesses: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Rows of a copy, by the cells of ``partitions``, among which the nearest are found.

    Attributes
    ----------
    partitions
        The finest cells of each column.
    codes
        The cells of the copy's rows: (rows, columns).  Ties go to the first of these rows.
    secrets
        The places of the columns that an attacker guesses.
    known
        The places of the columns that an attacker knows; None for all but the secret.
    """

    partitions: tuple[Partition, ...]
    codes: NDArray[np.int64]
    secrets: tuple[int, ...]
    known: tuple[int, ...] | None
    _scales: tuple[NDArray[Any], ...] = field(init=False, repr=False)
    _copy: tuple[NDArray[Any], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Place the copy's values on the scale of each column."""
        columns = zip(self.partitions, self.codes.T, strict=True)
        scales = tuple(scale_of(each, own, self.steps) for each, own in columns)
        object.__setattr__(self, "_scales", scales)
        object.__setattr__(self, "_copy", self._placed(self.codes))

    @property
    def steps(self) -> int:
        """Steps of a column: the distance of two texts that differ."""
        return max(1, min(_STEPS, _MOST // len(self.partitions)))

    @property
    def whole(self) -> int:
        """Largest distance, in steps."""
        return self.steps * len(self.partitions)

    def search(self, codes: NDArray[np.int64], own: NDArray[np.int64] | None = None) -> Nearest:
        """Nearest rows of the copy to each row of ``codes``.

        ``own`` are the places of these rows in the copy, if they are the copy's own; no row is then
        near to itself.
        """
        rows, found = len(codes), self.unsearched(len(codes))
        placed = self._placed(codes)

        def work(first: int) -> None:
            part = slice(first, first + _ROWS)
            places = None if own is None else own[part]
            self._block([each[part] for each in placed], places, found, part)

        with ThreadPoolExecutor(thread_count()) as pool:
            list(pool.map(work, range(0, rows, _ROWS)))
        return found

    def unsearched(self, rows: int) -> Nearest:
        """Result for so many rows before any search: all of it is 0."""
        return Nearest(
            np.zeros(rows, np.int64),
            np.zeros(rows, np.int64),
            np.zeros(rows, bool),
            np.zeros((rows, len(self.secrets)), np.int64),
        )

    def _placed(self, codes: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Place of each row on the scale of each column."""
        columns = zip(self._scales, codes.T, strict=True)
        return tuple(np.ascontiguousarray(scale[cells]) for scale, cells in columns)

    def _block(
        self,
        rows: Sequence[NDArray[Any]],
        own: NDArray[np.int64] | None,
        found: Nearest,
        part: slice,
    ) -> None:
        """Search for a few rows; the rows of the copy are taken part by part."""
        number, size = len(rows[0]), -(-len(self.codes) // _PARTS)
        least = [np.full(number, 2 * _MOST, np.int64) for _ in range(2)]
        nearest = [np.full(number, 2 * _MOST, np.int64) for _ in self.secrets]
        each_part = []
        for first in range(0, len(self.codes), size):
            block = slice(first, first + size)
            sums, apart = self._distances(rows, [each[block] for each in self._copy])
            if own is not None:
                inside = np.flatnonzero((own >= first) & (own < first + size))
                for half in sums:
                    half[inside, own[inside] - first] = _MOST
            every = sums[0] + sums[1]
            each_part.append(every.min(axis=1).astype(np.int64))
            for place, each in enumerate(sums):
                np.minimum(least[place], each.min(axis=1), out=least[place])
            for place, away in enumerate(apart):
                known = every - away if self.known is None else away
                if own is not None:
                    known[inside, own[inside] - first] = _MOST
                at = known.argmin(axis=1)
                distance = known[np.arange(number), at]
                nearer = distance < nearest[place]
                nearest[place][nearer] = distance[nearer]
                found.guesses[part, place][nearer] = first + at[nearer]
        distances = np.sort(each_part, axis=0)
        nearest_row, usual = distances[0], distances[(len(distances) - 1) // 2]
        found.distance[part] = nearest_row
        found.closeness[part] = _CLOSE * (nearest_row + 1) // (usual + 1)
        found.linked[part] = least[0] + least[1] == nearest_row

    def _distances(
        self, rows: Sequence[NDArray[Any]], copy: Sequence[NDArray[Any]]
    ) -> tuple[list[NDArray[np.int16]], list[NDArray[np.int16]]]:
        """Distances by each half of the columns, and for each secret what its guess needs.

        This is the distance by the secret alone, which is taken off, or by what is known.
        """
        shape = len(rows[0]), len(copy[0])
        wanted = self.secrets if self.known is None else self.known
        sums = [np.zeros(shape, _SHORT) for _ in range(2)]
        # Differing texts are counted in bytes, which is faster, while a byte holds their number.
        number = np.uint8 if len(self.partitions) < 2 * _BYTE else np.uint16
        differing = [np.zeros(shape, number) for _ in range(2)]
        away, differ = np.empty(shape, _SHORT), np.empty(shape, np.bool_)
        apart: dict[int, NDArray[np.int16]] = {}
        for place, partition in enumerate(self.partitions):
            if isinstance(partition, Ordered):
                np.subtract(rows[place][:, None], copy[place], out=away)
                np.abs(away, out=away)
                np.minimum(away, _SHORT(self.steps), out=away)
                sums[place % 2] += away
                if place in wanted:
                    apart[place] = away.copy()
            else:
                np.not_equal(rows[place][:, None], copy[place], out=differ)
                differing[place % 2] += differ.view(np.uint8)
                if place in wanted:
                    apart[place] = np.multiply(differ, _SHORT(self.steps), dtype=_SHORT)
        for half, texts in enumerate(differing):
            sums[half] += np.multiply(texts, _SHORT(self.steps), dtype=_SHORT)
        if self.known is None:
            return sums, [apart[place] for place in self.secrets]
        zero = np.zeros(shape, _SHORT)
        return sums, [
            sum((each for place, each in apart.items() if place != secret), zero)
            for secret in self.secrets
        ]


def scale_of(partition: Partition, copy: NDArray[np.int64], steps: int) -> NDArray[np.int16]:
    """Place of each cell on the scale of its column.

    A number stands at the share of the copy's values below it, and half of those at it; a row
    without a number is ``steps`` away from every number.  Texts have a place each.
    """
    if not isinstance(partition, Ordered):
        # A byte is compared faster than two.
        small = np.uint8 if partition.size <= _BYTE else np.uint16
        return np.arange(partition.size, dtype=small)
    counts = np.bincount(copy, minlength=partition.size)
    counts[0] = 0
    below = np.cumsum(counts) - counts
    # Twice the rank over twice the number of values, rounded down.
    places = (2 * below + counts) * steps // max(1, 2 * int(counts.sum()))
    places[0] = 2 * steps
    return places.astype(_SHORT)
