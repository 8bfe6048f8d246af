"""What a run costs: how the budgets of its questions add up.

* **Sequential** (Dwork et al. 2006): epsilons add up.
* **Parallel** (McSherry 2009, Theorem 4): questions whose predicates no row can satisfy two at once
  read disjoint parts of the table, and one row is in at most one of them, so together they cost the
  largest of their epsilons.  ``pqd.sql.regions`` proves it per pair; groups are then added up.
* **Optimal** (Kairouz, Oh and Viswanath 2015, by privacy loss distributions of the dp-accounting
  library): where a delta is granted, the groups of one run are composed to (epsilon, delta).  Runs
  are added up: their budgets may be chosen after earlier verdicts, which that theorem excludes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pqd.sql.regions import Admitted, Region, apart, describe, separating, united

NOTHING, SEQUENTIAL, PARALLEL, OPTIMAL = "nothing", "sequential", "parallel", "optimal"
# Grid of the privacy losses; a coarser one is as safe, only less tight.
_FINENESS, _CELLS = 4096, 500_000
# Composition is by Fourier transforms in doubles, whose rounding is some 1e-15 of probability: a
# ten-thousandth of delta is kept back for it, and no delta below a million times that is used.
_LEAST_DELTA, _KEPT_BACK = Fraction(1, 10**9), Fraction(1, 10**4)
# Groups up to this size are also held pair by pair, which takes time with the square of it.
_MOST_PAIRED = 32
_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Charge:
    """What one run costs, exactly, and the rule by which its parts were composed."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rule: str = NOTHING


@dataclass(frozen=True, slots=True)
class Cost:
    """What one question costs by itself; ``region`` is None where rows do not bound its share.

    Only questions of one ``company`` are put into one group, where a share was set by that.
    ``blocks`` are the GROUP BYs and the bins that ask it.
    """

    name: str
    epsilon: Fraction
    region: Region | None
    company: str = ""
    blocks: frozenset[str] = frozenset()

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


class _Gathering:
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
        if region is None or first.region is None or cost.company != first.company:
            return False
        unions = {
            column: united(union, region[column])
            for column, union in self._unions.items()
            if column in region and apart(union, region[column])
        }
        singles, combinations = self._combined(region)
        if not (unions or combinations or self._paired(region)):
            return False
        self._unions, self._singles, self._combinations = unions, singles, combinations
        self.costs.append(cost)
        return True

    def _combined(self, region: Region) -> tuple[Singles, set[tuple[Admitted, ...]]]:
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


def _combination(region: Region, columns: Iterable[str]) -> tuple[Admitted, ...]:
    return tuple(region[column] for column in sorted(columns))


def grouped(costs: Sequence[Cost]) -> tuple[Group, ...]:
    """Gather questions into groups of pairwise disjoint ones, each into the first that fits.

    The dearest go first, of these the blocks (GROUP BY or bins) one after the other, then all
    others.  What a block has left when it meets the groups of those before it is one group more,
    so n blocks and m others of one price make at most n + m.  The fewest groups are a colouring
    problem.  The order is one of the rows that are read: not of names, keys, budgets or queries.
    """
    made: list[_Gathering] = []
    for cost in _ordered(costs):
        if not any(gathering.takes(cost) for gathering in made):
            made.append(_Gathering(cost))
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


def _begins(admitted: Admitted) -> tuple[Any, ...]:
    cuts = tuple((type(value).__name__, value, above) for value, above in admitted.cuts)
    return not admitted.start, cuts, admitted.null


def price(groups: Sequence[Group], delta_left: Fraction = Fraction(0)) -> Charge:
    """Return what ``groups`` cost; half of ``delta_left`` is used if that lowers epsilon.

    Half, so that later runs of a changed workload can gain by a delta too.
    """
    if not groups:
        return Charge()
    total = sum((group.epsilon for group in groups), Fraction(0))
    rule = PARALLEL if any(len(group.costs) > 1 for group in groups) else SEQUENTIAL
    if delta_left > 0 and len(groups) > 1:
        delta = delta_left / 2
        composed = optimal([group.epsilon for group in groups], delta)
        if composed < total:
            return Charge(composed, delta, OPTIMAL)
    return Charge(total, Fraction(0), rule)


def optimal(epsilons: Sequence[Fraction], delta: Fraction) -> Fraction:
    """Return an epsilon at which pure mechanisms of ``epsilons`` together are (epsilon, delta)-DP.

    An upper bound: losses are rounded up to a grid, the result to 5 digits, and a part of delta
    is kept back for the rounding of doubles.  The plain sum where delta is below 1e-9.
    """
    if delta < _LEAST_DELTA:
        return sum(epsilons, Fraction(0))
    # Imported late: it takes a second and few runs need it.
    from dp_accounting.pld.common import DifferentialPrivacyParameters  # noqa: PLC0415
    from dp_accounting.pld.privacy_loss_distribution import (  # noqa: PLC0415
        from_privacy_parameters,
    )

    grid = max(float(min(epsilons)) / _FINENESS, float(sum(epsilons)) / _CELLS)
    composed = None
    for epsilon in sorted(set(epsilons)):
        pure = DifferentialPrivacyParameters(math.nextafter(float(epsilon), math.inf), 0)
        loss = from_privacy_parameters(pure, value_discretization_interval=grid)
        many = loss.self_compose(epsilons.count(epsilon))
        composed = many if composed is None else composed.compose(many)
    if composed is None:
        return Fraction(0)
    found = composed.get_epsilon_for_delta(float(delta * (1 - _KEPT_BACK)))
    total = sum(epsilons, Fraction(0))
    if not 0 < found < math.inf:
        return total if found else Fraction(0)
    place = Fraction(10) ** (_DIGITS - math.ceil(math.log10(found)))
    return min(total, math.ceil(Fraction(found) * place) / place)
