"""Groups of disjoint queries, which are charged once (McSherry 2009, Theorem 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pqd.sql.regions import Region, describe, separating
from pqd.sql.value_sets import ValueSet, disjoint, union

# Groups up to this size are also held pair by pair, which takes time with the square of it.
_MOST_PAIRED = 32


@dataclass(frozen=True, slots=True)
class Cost:
    """What one question costs by itself; ``region`` is None where rows do not bound its share.

    Only those of one ``composition_group`` are put into one group, where a share was set by that.
    ``blocks`` are the GROUP BYs and the bins that ask it.
    """

    name: str
    epsilon: Fraction
    region: Region | None
    composition_group: str = ""
    blocks: frozenset[str] = frozenset()

    def within(self, group: str) -> Cost:
        """Return the same, to be grouped with others of one composition group alone."""
        return replace(self, composition_group=group)

    def also(self, other: Cost) -> Cost:
        """Return the same question asked by the blocks of ``other`` too."""
        return replace(self, blocks=self.blocks | other.blocks)


@dataclass(frozen=True, slots=True)
class Group:
    """Questions that no row can take part in two of; ``epsilon`` is the largest of theirs.

    ``columns`` are those by which every two of them are told apart, empty where pairs differ in
    that.
    """

    costs: tuple[Cost, ...]
    columns: tuple[str, ...] = ()

    @property
    def epsilon(self) -> Fraction:
        """What they cost together."""
        return max(cost.epsilon for cost in self.costs)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(cost.name for cost in self.costs)

    def proof(self) -> tuple[str, ...]:
        """Return what each admits on the columns that tell them apart, else a line per pair."""
        if len(self.costs) < 2:
            return ()
        if self.columns:
            return tuple(f"{c.name}: {_described(self.columns, c.region)}" for c in self.costs)
        return tuple(
            f"{a.name}, {b.name}: {_described((column,), a.region)} against "
            f"{_described((column,), b.region)}"
            for number, b in enumerate(self.costs)
            for a in self.costs[:number]
            if (column := separating(a.region or {}, b.region or {}))
        )


def _described(columns: Sequence[str], region: Region | None) -> str:
    return ", ".join(describe(column, region or {}) for column in columns)


# Columns on which each member admits one value, with the type of those values.
Singles = dict[str, object]


class _GrowingGroup:
    """A group in the making, which takes what it can prove disjoint from every member.

    Three proofs, the quick ones first: a column on which the newcomer is apart from the union of
    all members; columns on which each member is one value, and the newcomer's are a new
    combination; a column per pair.
    """

    def __init__(self, cost: Cost) -> None:
        self.costs = [cost]
        region = cost.region or {}
        self._unions = dict(region)
        self._singles: Singles = {
            c: region[c].single for c in region if region[c].single is not False
        }
        self._combinations = {_combination(region, self._singles)}

    def takes(self, cost: Cost) -> bool:
        """Take ``cost`` if it is disjoint from every member."""
        region, first = cost.region, self.costs[0]
        if cost.composition_group != first.composition_group:
            return False
        if region is None or first.region is None:
            return False
        unions = {
            column: union(admitted, region[column])
            for column, admitted in self._unions.items()
            if column in region and disjoint(admitted, region[column])
        }
        singles, combinations = self._combined(region)
        if not (unions or combinations or self._paired(region)):
            return False
        self._unions, self._singles, self._combinations = unions, singles, combinations
        self.costs.append(cost)
        return True

    def _combined(self, region: Region) -> tuple[Singles, set[tuple[ValueSet, ...]]]:
        """Return the combinations of values with those of ``region``; none if two are alike."""
        kept: Singles = {}
        for column, kind in self._singles.items():
            other = region[column].single if column in region else False
            # NULL, whose type is None, is of every type.
            if other is not False and (kind is None or other in {kind, None}):
                kept[column] = other if kind is None else kind
        if not kept or not self._combinations:
            return {}, set()
        known = self._combinations
        if len(kept) < len(self._singles):
            known = {_combination(c.region or {}, kept) for c in self.costs}
        made = {*known, _combination(region, kept)}
        return (kept, made) if len(made) == len(self.costs) + 1 else ({}, set())

    def _paired(self, region: Region) -> bool:
        if len(self.costs) >= _MOST_PAIRED:
            return False
        return all(separating(region, cost.region or {}) for cost in self.costs)

    def group(self, order: Mapping[str, int]) -> Group:
        """Return the group, its members in the order of the queries."""
        costs = tuple(sorted(self.costs, key=lambda cost: order[cost.name]))
        if self._unions:
            return Group(costs, (min(self._unions),))
        return Group(costs, tuple(sorted(self._singles)) if self._combinations else ())


def _combination(region: Region, columns: Iterable[str]) -> tuple[ValueSet, ...]:
    return tuple(region[column] for column in sorted(columns))


def grouped(costs: Sequence[Cost]) -> tuple[Group, ...]:
    """Gather questions into groups of pairwise disjoint ones, each into the first that fits.

    The dearest go first, of these the blocks (GROUP BY or bins) one after the other, then all
    others.  What a block has left when it meets the groups of those before it is one group more,
    so n blocks and m others of one price make at most n + m.  The fewest groups are a colouring
    problem.  The order is one of the rows that are read: not of names, keys, budgets or queries.
    """
    made: list[_GrowingGroup] = []
    for cost in _ordered(costs):
        if not any(gathering.takes(cost) for gathering in made):
            made.append(_GrowingGroup(cost))
    order = {cost.name: number for number, cost in enumerate(costs)}
    groups = (gathering.group(order) for gathering in made)
    return tuple(sorted(groups, key=lambda group: order[group.names[0]]))


def _ordered(costs: Iterable[Cost]) -> list[Cost]:
    """Return the dearest first, of these blocks, each whole, then by the rows that they read."""
    by_rows = sorted(costs, key=_rows_key)
    blocks: dict[str, list[tuple[Any, ...]]] = {}
    for cost in by_rows:
        for block in cost.blocks:
            blocks.setdefault(block, []).append(_rows_key(cost))
    rank = {block: number for number, block in enumerate(sorted(blocks, key=blocks.__getitem__))}

    def place(cost: Cost) -> tuple[Fraction, int]:
        return -cost.epsilon, min((rank[block] for block in cost.blocks), default=len(rank))

    return sorted(by_rows, key=place)


def _rows_key(cost: Cost) -> tuple[Any, ...]:
    """Return what sorts regions: on few columns first, as few fit beside them; by where they begin.

    First-fit in the order of where intervals of one column begin makes the fewest groups of them.
    """
    region = cost.region or {}
    columns = tuple(sorted(region))
    return len(columns), columns, tuple(_begins(region[column]) for column in columns)


def _begins(admitted: ValueSet) -> tuple[Any, ...]:
    cuts = tuple((type(value).__name__, value, above) for value, above in admitted.cuts)
    return not admitted.start, cuts, admitted.null
