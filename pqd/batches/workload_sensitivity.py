"""Sensitivity of a workload: a bound on the queries that one row can meet, from the SQL alone.

On every column a row holds one value, or NULL.  Between two neighbours of all the constants that
the queries name, what a query admits there (pqd/sql/regions.py) does not change, so each column has
finitely many places, and each place admits some of the queries.  A row meets none but those that
its places on all columns admit.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING

from pqd.accounting.disjoint_groups import Cost, composition_groups
from pqd.sql.regions import Region, region

if TYPE_CHECKING:
    from pqd.sql.predicate import Predicate

# Sets of queries, the first of them the lowest bit.
QuerySet = int
# The search ends after so many steps; what it has not searched is then bounded.
_MOST_STEPS = 400_000


def workload_sensitivity(predicates: Sequence[Predicate | None]) -> int:
    """Number of queries, at least 1, such that no row matches more of ``predicates``.

    **Guarantee** (soundness): that of ``region``, which a matching row lies in.  Exact for
    conjunctions of comparisons of one column with constants, unless the search is cut short.
    """
    regions = [region(predicate) for predicate in predicates]
    columns = sorted({name for each in regions for name in each})
    admitted = [_admitted(regions, column) for column in columns]
    most, finished = _deepest((1 << len(regions)) - 1, admitted)
    if not finished:
        # A row meets one at most of each group of disjoint queries.
        costs = [Cost(str(number), Fraction(1), each) for number, each in enumerate(regions)]
        most = min(most, len(composition_groups(costs)))
    return max(1, most)


def _admitted(regions: Sequence[Region], column: str) -> list[QuerySet]:
    """Queries that each place on ``column`` admits; none if all admit everything.

    Places that admit some of what another does are left out.
    """
    named = {n: each[column] for n, each in enumerate(regions) if column in each}
    distinct = {cut for admitted in named.values() for cut in admitted.cuts}
    if len({type(value) for value, _ in distinct}) > 1:
        # Values of two types are in no order.
        return []
    cuts = sorted(distinct)
    free = sum(1 << n for n in range(len(regions)) if n not in named)
    place = {cut: number for number, cut in enumerate(cuts, start=1)}
    # What turns over at each place, from below every cut on; and NULL.
    turns, null = [0] * (len(cuts) + 1), free
    for n, admitted in named.items():
        turns[0] ^= admitted.start << n
        for cut in admitted.cuts:
            turns[place[cut]] ^= 1 << n
        null |= admitted.null << n
    masks, mask = [null], free
    for turn in turns:
        mask ^= turn
        masks.append(mask)
    return _largest(masks)


def _largest(masks: Iterable[QuerySet]) -> list[QuerySet]:
    """Sets that are part of no other, the largest first."""
    largest: list[QuerySet] = []
    for mask in sorted(set(masks), key=lambda mask: (-mask.bit_count(), mask)):
        if not any(mask & other == mask for other in largest):
            largest.append(mask)
    return largest


def _deepest(every: QuerySet, columns: Sequence[Collection[QuerySet]]) -> tuple[int, bool]:
    """Most queries that one place of each column can admit at once, and True; or a bound and False.

    Best first: what is taken up next may have the most of all, by a bound that is at least what it
    has.  So the first that has as many as its bound says has the most.
    """
    serial = count()
    start = tuple(number for number, masks in enumerate(columns) if masks)
    # By what they have at most, then the oldest: queries that are left, columns that are left.
    heap = [(-every.bit_count(), next(serial), every, start)]
    for _ in range(_MOST_STEPS // max(1, sum(map(len, columns)))):
        claimed, _, left, rest = heapq.heappop(heap)
        tops = {n: max((left & mask).bit_count() for mask in columns[n]) for n in rest}
        size = left.bit_count()
        # A place that admits all that is left takes nothing away.
        rest = tuple(n for n in rest if tops[n] < size)
        least = min(rest, key=lambda n: (tops[n], n), default=None)
        bound = size if least is None else tops[least]
        if bound < -claimed:
            heapq.heappush(heap, (-bound, next(serial), left, rest))
        elif least is None:
            return size, True
        else:
            others = tuple(n for n in rest if n != least)
            for part in _largest(left & mask for mask in columns[least]):
                most = min(bound, part.bit_count())
                heapq.heappush(heap, (-most, next(serial), part, others))
    return -heap[0][0], False
