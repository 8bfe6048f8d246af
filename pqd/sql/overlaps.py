"""Overlaps: which of many regions may have a row in common, found by array operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pqd.sql.regions import Region
from pqd.sql.value_sets import ANYTHING, NOTHING, ValueSet, one_type

if TYPE_CHECKING:
    Flags = NDArray[np.bool_]

# Number of sets of a column whose comparisons with all other sets are cached.
_MOST_KEPT = 1024


class Overlaps:
    """Overlaps of each region with the regions before it, as ``separating`` decides each pair.

    Time and memory for one region grow linearly with the number of regions.
    """

    def __init__(self, regions: Sequence[Region]) -> None:
        """Cut every column that a region names into pieces."""
        self._regions = regions
        names = {name: None for region in regions for name in region}
        self._columns = {
            name: _Pieces([region.get(name, ANYTHING) for region in regions]) for name in names
        }
        self._filled = np.array([NOTHING not in region.values() for region in regions], np.bool_)

    def before(self, place: int) -> Flags:
        """Whether each region before ``place`` may share a row with the region at ``place``.

        False proves, for every table, that no row lies in both.
        """
        common: Flags = self._filled[:place] & self._filled[place]
        for name in self._regions[place]:
            common &= self._columns[name].met_before(place)
        return common


class _Pieces:
    """Value sets of one column, each as runs of pieces.

    The cuts of all sets divide the values into pieces; NULL is the last piece.  A set is a union
    of pieces, so two sets are disjoint if and only if they have no piece in common.
    """

    def __init__(self, sets: Sequence[ValueSet]) -> None:
        codes: dict[ValueSet, int] = {}
        self._codes = np.array([codes.setdefault(one, len(codes)) for one in sets], np.intp)
        self._number = len(codes)
        # Values of two types have no common order, so no two of the sets are proved disjoint.
        self._comparable = one_type(sets)
        if not self._comparable:
            return
        cuts = sorted({cut for one in codes for cut in one.cuts})
        places = {cut: place for place, cut in enumerate(cuts, start=1)}
        self._pieces = len(cuts) + 2
        ends = [[places[cut] for cut in one.cuts] for one in codes]
        self._runs = [tuple(_runs(*pair, len(cuts) + 1)) for pair in zip(codes, ends, strict=True)]
        flat = [(*run, owner) for owner, runs in enumerate(self._runs) for run in runs]
        self._low, self._high, self._owner = np.array(flat, np.intp).reshape(-1, 3).T.copy()
        self._sharing = lru_cache(_MOST_KEPT)(self._sets_sharing)

    def met_before(self, place: int) -> Flags:
        """Whether each set before ``place`` shares a piece with the set at ``place``."""
        if not self._comparable:
            return np.ones(place, np.bool_)
        return self._sharing(int(self._codes[place]))[self._codes[:place]]

    def _sets_sharing(self, code: int) -> Flags:
        """Whether each set shares a piece with the set of number ``code``."""
        # Number of the set's pieces before each piece.
        before = np.zeros(self._pieces + 1, np.intp)
        for low, high in self._runs[code]:
            before[low + 1 : high + 1] = 1
        before.cumsum(out=before)
        sharing = np.zeros(self._number, np.bool_)
        sharing[self._owner[before[self._high] > before[self._low]]] = True
        return sharing


def _runs(one: ValueSet, places: list[int], null: int) -> Iterator[tuple[int, int]]:
    """Runs of pieces of a set, each as (first piece, piece after the last)."""
    ends = [0, *places] if one.start else [*places]
    ends += [null] * (len(ends) % 2)
    yield from zip(ends[::2], ends[1::2], strict=True)
    if one.null:
        yield null, null + 1
