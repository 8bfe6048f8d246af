"""Groups of queries on the same columns, which share one pass over the rows."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from pqd.engine.kernel.tallies import FEW

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from pqd.engine.kernel.evaluator import Names

# Cells of a group that others join at most.
_CELLS = 1 << 13


def query_groups(
    names_of: Mapping[int, frozenset[Names]],
    measure_of: Mapping[int, Hashable],
    sizes: Mapping[Names, int],
) -> Mapping[frozenset[Names], Sequence[int]]:
    """Numbers of queries by the sets of columns whose classes make the cells of their group.

    ``names_of`` are the sets that each query's predicate names, ``measure_of`` what it measures,
    and ``sizes`` the number of classes of each set.  Queries join a group on more columns that has
    cells and tallies for all they need anyway.
    """
    groups: dict[frozenset[Names], list[int]] = {}
    for number, names in names_of.items():
        groups.setdefault(names, []).append(number)
    joined: dict[frozenset[Names], list[int]] = {}
    measured: dict[frozenset[Names], Counter[Hashable]] = {}
    for names in sorted(groups, key=len, reverse=True):
        own = Counter(measure_of[number] for number in groups[names])
        for larger, counted in measured.items():
            cells = math.prod(sizes[each] for each in larger)
            # Few queries of a measure have no tally: each goes through the rows.
            if names < larger and cells <= _CELLS and all(counted[each] > FEW for each in own):
                joined[larger] += groups[names]
                break
        else:
            joined[names], measured[names] = groups[names], own
    return joined
