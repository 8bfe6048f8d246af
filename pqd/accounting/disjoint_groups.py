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

# Larger groups need a shorter proof: a proof for each pair grows with the square of the size.
_MOST_PAIRED = 32


@dataclass(frozen=True, slots=True)
class MeasurementCost:
    """Cost of one measurement by itself; ``region`` is None if no region bounds the rows it reads.

    A measurement with Gaussian noise is ``rho``-zCDP for all rows of one person together, and
    states an (``epsilon``, ``delta``) that this implies.  Without ``delta`` a measurement is pure.
    A group holds only costs of the same ``composition_group``, whose shares were set together.
    ``blocks`` are the GROUP BYs and the bins that the measurement belongs to.
    """

    name: str
    epsilon: Fraction
    region: Region | None
    composition_group: str = ""
    blocks: frozenset[str] = frozenset()
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse a rho that does not imply the stated (epsilon, delta): it would be undercharged.

        Raises
        ------
        ParameterError
            Naming the largest rho that implies it.
        """
        if not self.rho and not self.delta:
            return
        most = rho_of(self.epsilon, self.delta)
        if not 0 < self.rho <= most:
            raise ParameterError(
                f"rho is {self.rho}, but at most {most} implies epsilon {self.epsilon} with delta "
                f"{self.delta}, and more than 0 is needed"
            )

    def with_blocks_of(self, other: MeasurementCost) -> MeasurementCost:
        """Cost that belongs to the blocks of ``other`` too."""
        return replace(self, blocks=self.blocks | other.blocks)


@dataclass(frozen=True, slots=True)
class Group:
    """Composition group: no row can match two of its queries; ``epsilon`` is their largest.

    ``columns`` separate every two of the queries; empty if different pairs need different columns.
    """

    costs: tuple[MeasurementCost, ...]
    columns: tuple[str, ...] = ()

    @property
    def epsilon(self) -> Fraction:
        """Cost of the whole group."""
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
        """Values that each query admits on the separating columns, else a line for each pair."""
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
    """Composition group that grows by queries that are disjoint from all its queries.

    Three proofs can be shown, short proofs first.  A column on which the new query is disjoint
    from the union of all others.  Columns on which each query admits a single value, where the
    values of the new query are a new combination.  A separating column for each pair.
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
        """Add ``cost``, which overlaps with no cost here; False if no proof can be shown."""
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
        """Combinations of values, with those of ``region``; none if two combinations are equal."""
        singles: Singles = {}
        for column, kind in self._singles.items():
            other = region[column].single if column in region else False
            # NULL, whose type is None here, fits every type.
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
    return cost.region is not None and not cost.rho


def _combination(region: Region, columns: Iterable[str]) -> tuple[ValueSet, ...]:
    return tuple(region[column] for column in sorted(columns))


def composition_groups(costs: Sequence[MeasurementCost]) -> tuple[Group, ...]:
    """Composition groups of queries: each query joins the first group that it is disjoint from.

    The largest costs go first.  Among equal costs the blocks (GROUP BY or bins) go first, one
    after the other, then all others.  Queries of a block that fit into no earlier group make only
    one group more, so n blocks and m other queries of equal cost make at most n + m groups.
    (Finding the fewest groups is a colouring problem.)  The order depends on the rows that the
    queries read, not on names, keys, budgets or the order of the queries.
    """
    together: dict[str, list[MeasurementCost]] = {}
    for cost in _order(costs):
        together.setdefault(cost.composition_group, []).append(cost)
    order = {cost.name: number for number, cost in enumerate(costs)}
    groups = (group.group(order) for some in together.values() for group in _first_fit(some))
    return tuple(sorted(groups, key=lambda group: order[group.names[0]]))


def _first_fit(costs: Sequence[MeasurementCost]) -> list[_GrowingGroup]:
    """Groups of costs: each cost is in the first group without a cost that overlaps with it."""
    overlaps = Overlaps([cost.region or {} for cost in costs])
    groups: list[_GrowingGroup] = []
    joined, full = np.zeros(len(costs), np.intp), np.zeros(len(costs), np.bool_)
    for place, cost in enumerate(costs):
        closed = full[: len(groups)].copy()
        # Index by places: indexing by flags in random order is much slower.
        closed[joined[np.flatnonzero(overlaps.before(place))]] = True
        opened = (number for number in np.flatnonzero(~closed) if groups[number].add(cost))
        number = next(opened, len(groups))
        if number == len(groups):
            groups.append(_GrowingGroup(cost))
        joined[place], full[number] = number, groups[number].is_full
    return groups


def _order(costs: Iterable[MeasurementCost]) -> list[MeasurementCost]:
    """Costs: the largest first, then blocks, each whole, then by the rows that they read."""
    keyed = sorted(((_rows_key(cost), cost) for cost in costs), key=itemgetter(0))
    blocks: dict[str, list[tuple[Any, ...]]] = {}
    for key, cost in keyed:
        for block in cost.blocks:
            blocks.setdefault(block, []).append(key)
    rank = {block: number for number, block in enumerate(sorted(blocks, key=blocks.__getitem__))}
    # Rank the sizes once: fractions are slow to compare and to hash.
    sizes = {cost.epsilon.as_integer_ratio(): cost.epsilon for _, cost in keyed}
    size = {ratio: n for n, ratio in enumerate(sorted(sizes, key=sizes.__getitem__, reverse=True))}

    def place(cost: MeasurementCost) -> tuple[int, int]:
        first = min((rank[block] for block in cost.blocks), default=len(rank))
        return size[cost.epsilon.as_integer_ratio()], first

    return sorted((cost for _, cost in keyed), key=place)


def _rows_key(cost: MeasurementCost) -> tuple[Any, ...]:
    """Sort key of a region: the number of columns, the columns, then where its values begin.

    Few columns come first, since few other queries fit into their groups.  For intervals of one
    column, first-fit in the order of where they begin makes the fewest groups.
    """
    region = cost.region or {}
    columns = tuple(sorted(region))
    return len(columns), columns, tuple(_begins(region[column]) for column in columns)


def _begins(admitted: ValueSet) -> tuple[Any, ...]:
    cuts = tuple((type(value).__name__, value, above) for value, above in admitted.cuts)
    return not admitted.start, cuts, admitted.null
