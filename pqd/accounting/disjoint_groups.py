"""Composition groups: pairwise disjoint queries, charged once (McSherry 2009, Theorem 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np

from pqd.accounting.zcdp import rho_of
from pqd.deciders import ParameterError
from pqd.sql.overlaps import Overlaps
from pqd.sql.regions import Region, describe, separating
from pqd.sql.value_sets import ValueSet, disjoint, union

# The most queries in a group whose proof has a line for each pair.  The number of pairs grows with
# the square of the group's size, so larger groups need a shorter kind of proof.
_MOST_PAIRED = 32


@dataclass(frozen=True, slots=True)
class MeasurementCost:
    """Cost of one measurement by itself, and the ``region`` of the rows that it reads.

    Without ``region`` the measurement may read any row.  A measurement with Gaussian noise is
    ``rho``-zCDP for all rows of one person together, and states an (``epsilon``, ``delta``) that
    rho implies.  A measurement with a ``delta`` and without a rho is (``epsilon``, ``delta``)-DP,
    and no more is known of it.  One without ``delta`` is pure.  All costs of a group have the same
    ``composition_group``: their shares of the budget were set together.  ``blocks`` are the GROUP
    BYs and the bins that the measurement belongs to.
    """

    name: str
    epsilon: Fraction
    region: Region | None
    composition_group: str = ""
    blocks: frozenset[str] = frozenset()
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse a rho too large for the stated (epsilon, delta): the charge would be too low.

        Raises
        ------
        ParameterError
            If rho is too large; the message names the largest rho that would do.  Or if delta is
            negative, or 1 or more.
        """
        if not self.rho:
            if not 0 <= self.delta < 1:
                raise ParameterError(
                    f"delta is {self.delta}; it must be at least 0 and less than 1"
                )
            return
        most = rho_of(self.epsilon, self.delta)
        if not 0 < self.rho <= most:
            raise ParameterError(
                f"rho is {self.rho}, but at most {most} implies epsilon {self.epsilon} with delta "
                f"{self.delta}, and more than 0 is needed"
            )

    def with_blocks_of(self, other: MeasurementCost) -> MeasurementCost:
        """Same cost, which also belongs to the blocks of ``other``."""
        return replace(self, blocks=self.blocks | other.blocks)


@dataclass(frozen=True, slots=True)
class Group:
    """Composition group: queries that are pairwise disjoint.

    ``columns`` separate every pair of queries; empty if different pairs need different columns.
    """

    costs: tuple[MeasurementCost, ...]
    columns: tuple[str, ...] = ()

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of the whole group: the largest epsilon of its queries."""
        return max(cost.epsilon for cost in self.costs)

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated cost of the whole group, 0 if it is pure."""
        return max(cost.rho for cost in self.costs)

    @property
    def delta(self) -> Fraction:
        """Delta of the whole group, 0 if it is pure."""
        return max(cost.delta for cost in self.costs)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the queries."""
        return tuple(cost.name for cost in self.costs)

    def proof(self) -> tuple[str, ...]:
        """Lines that prove disjointness.

        If the group has separating columns, a line states the values that one query admits on
        these columns.  Otherwise each pair of queries has a line.
        """
        if len(self.costs) < 2:
            return ()
        if self.columns:
            return tuple(f"{c.name}: {_description(self.columns, c.region)}" for c in self.costs)
        regions = [cost.region or {} for cost in self.costs]
        shown = cache(lambda place, column: describe(column, regions[place]))
        return tuple(
            f"{a.name}, {b.name}: {shown(first, column)} against {shown(second, column)}"
            for second, b in enumerate(self.costs)
            for first, a in enumerate(self.costs[:second])
            if (column := separating(regions[first], regions[second]))
        )


def _description(columns: Sequence[str], region: Region | None) -> str:
    return ", ".join(describe(column, region or {}) for column in columns)


# Columns on which each query admits a single value, with the type of those values.
Singles = dict[str, object]


class _GrowingGroup:
    """Composition group that grows: each added query is disjoint from all queries before.

    A report can show three proofs; the shortest is tried first.  First, on one column the values of
    the new query are disjoint from the values of all other queries.  Second, on some columns each
    query admits a single value, and the combination of values differs from query to query.  Third,
    each pair of queries has a column that separates the pair.
    """

    def __init__(self, cost: MeasurementCost) -> None:
        self.costs = [cost]
        region = cost.region or {}
        self._unions = dict(region)
        self._singles: Singles = {
            c: region[c].single for c in region if region[c].single is not False
        }
        self._combinations = {_combination(region, self._singles)}

    @property
    def is_full(self) -> bool:
        """Whether no further query can be added."""
        pairs = self._unions or self._combinations or len(self.costs) < _MOST_PAIRED
        return not pairs or not _shares(self.costs[0])

    def add(self, cost: MeasurementCost) -> bool:
        """Add ``cost``, which overlaps with no cost of the group; False without a short proof."""
        region = cost.region
        if region is None or not _shares(cost) or self.is_full:
            return False
        unions = {
            column: union(admitted, region[column])
            for column, admitted in self._unions.items()
            if column in region and disjoint(admitted, region[column])
        }
        singles, combinations = self._with_combination(region)
        if not (unions or combinations or len(self.costs) < _MOST_PAIRED):
            return False
        self._unions, self._singles, self._combinations = unions, singles, combinations
        self.costs.append(cost)
        return True

    def _with_combination(self, region: Region) -> tuple[Singles, set[tuple[ValueSet, ...]]]:
        """Columns and combinations of values once ``region`` is added; empty if two are equal."""
        singles: Singles = {}
        for column, kind in self._singles.items():
            other = region[column].single if column in region else False
            # A NULL has the type None here, and can stand beside values of every type.
            if other is not False and (kind is None or other in {kind, None}):
                singles[column] = other if kind is None else kind
        if not singles or not self._combinations:
            return {}, set()
        known = self._combinations
        if len(singles) < len(self._singles):
            known = {_combination(c.region or {}, singles) for c in self.costs}
        combinations = {*known, _combination(region, singles)}
        if len(combinations) <= len(self.costs):
            return {}, set()
        return singles, combinations

    def group(self, order: Mapping[str, int]) -> Group:
        """Group with its costs in the order of the queries."""
        costs = tuple(sorted(self.costs, key=lambda cost: order[cost.name]))
        if self._unions:
            return Group(costs, (min(self._unions),))
        return Group(costs, tuple(sorted(self._singles)) if self._combinations else ())


def _shares(cost: MeasurementCost) -> bool:
    """Whether a query may be charged together with other queries."""
    return cost.region is not None and not (cost.rho or cost.delta)


def _combination(region: Region, columns: Iterable[str]) -> tuple[ValueSet, ...]:
    return tuple(region[column] for column in sorted(columns))


def composition_groups(costs: Sequence[MeasurementCost]) -> tuple[Group, ...]:
    """Composition groups of queries: each query joins the first group that it is disjoint from.

    The queries join in this order: the largest costs first; of equal costs the blocks (GROUP BY or
    bins), block by block; then all other queries.  The queries of a block that fit into
    no earlier group make one new group.  So n blocks and m other queries of equal cost make at most
    n + m groups.  (To find the fewest groups is a colouring problem.)  Queries of equal cost are
    ordered by the rows that they read, not by their names or their order in the workload.
    """
    together: dict[str, list[MeasurementCost]] = {}
    for cost in _order(costs):
        together.setdefault(cost.composition_group, []).append(cost)
    order = {cost.name: number for number, cost in enumerate(costs)}
    groups = (group.group(order) for some in together.values() for group in _first_fit(some))
    return tuple(sorted(groups, key=lambda group: order[group.names[0]]))


def _first_fit(costs: Sequence[MeasurementCost]) -> list[_GrowingGroup]:
    """Groups of costs: each cost is in the first group in which no cost overlaps with it."""
    overlaps = Overlaps([cost.region or {} for cost in costs])
    groups: list[_GrowingGroup] = []
    joined, full = np.zeros(len(costs), np.intp), np.zeros(len(costs), np.bool_)
    for place, cost in enumerate(costs):
        closed = full[: len(groups)].copy()
        # Index by places: an index by flags in random order is much slower.
        closed[joined[np.flatnonzero(overlaps.before(place))]] = True
        opened = (number for number in np.flatnonzero(~closed) if groups[number].add(cost))
        number = next(opened, len(groups))
        if number == len(groups):
            groups.append(_GrowingGroup(cost))
        joined[place], full[number] = number, groups[number].is_full
    return groups


def _order(costs: Iterable[MeasurementCost]) -> list[MeasurementCost]:
    """Costs in the order in which they join groups: by size, then by block, then by rows read."""
    keyed = sorted(((_rows_key(cost), cost) for cost in costs), key=itemgetter(0))
    blocks: dict[str, list[tuple[Any, ...]]] = {}
    for key, cost in keyed:
        for block in cost.blocks:
            blocks.setdefault(block, []).append(key)
    rank = {block: number for number, block in enumerate(sorted(blocks, key=blocks.__getitem__))}
    # Replace each size by its rank once: fractions are slow to compare and to hash.
    sizes = {cost.epsilon.as_integer_ratio(): cost.epsilon for _, cost in keyed}
    size = {ratio: n for n, ratio in enumerate(sorted(sizes, key=sizes.__getitem__, reverse=True))}

    def place(cost: MeasurementCost) -> tuple[int, int]:
        first = min((rank[block] for block in cost.blocks), default=len(rank))
        return size[cost.epsilon.as_integer_ratio()], first

    return sorted((cost for _, cost in keyed), key=place)


def _rows_key(cost: MeasurementCost) -> tuple[Any, ...]:
    """Sort key of a region: the number of its columns, the columns, the cuts of its values.

    A region with few columns comes first, since few other queries fit into its group.  Intervals of
    one column make the fewest groups if they join in the order of their lower ends.
    """
    region = cost.region or {}
    columns = tuple(sorted(region))
    return len(columns), columns, tuple(_begins(region[column]) for column in columns)


def _begins(admitted: ValueSet) -> tuple[Any, ...]:
    cuts = tuple((type(value).__name__, value, above) for value, above in admitted.cuts)
    return not admitted.start, cuts, admitted.null
