"""What a run costs: how the budgets of its questions add up.

* **Sequential** (Dwork et al. 2006): epsilons add up.
* **Parallel** (McSherry 2009, Theorem 4): questions whose predicates no row can satisfy two at once
  read disjoint parts of the table, and one row is in at most one of them, so together they cost the
  largest of their epsilons.  ``pqd.disjoint`` proves it per pair; groups are then added up.
* **Optimal** (Kairouz, Oh and Viswanath 2015, by privacy loss distributions of the dp-accounting
  library): where a delta is granted, the groups of one run are composed to (epsilon, delta).  Runs
  are added up: their budgets may be chosen after earlier verdicts, which that theorem excludes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pqd.disjoint import Region, describe, separating

NOTHING, SEQUENTIAL, PARALLEL, OPTIMAL = "nothing", "sequential", "parallel", "optimal"
# Grid of the privacy losses; a coarser one is as safe, only less tight.
_FINENESS, _CELLS = 64, 200_000
_DIGITS = 10**9


@dataclass(frozen=True, slots=True)
class Charge:
    """What one run costs, exactly, and the rule by which its parts were composed."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rule: str = NOTHING


@dataclass(frozen=True, slots=True)
class Cost:
    """What one question costs by itself; ``region`` is None where rows do not bound its share."""

    name: str
    epsilon: Fraction
    region: Region | None


@dataclass(frozen=True, slots=True)
class Group:
    """Questions that no row can take part in two of; ``epsilon`` is the largest of theirs."""

    costs: tuple[Cost, ...]

    @property
    def epsilon(self) -> Fraction:
        """What they cost together."""
        return max(cost.epsilon for cost in self.costs)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(cost.name for cost in self.costs)

    def proof(self) -> tuple[str, ...]:
        """Return, per pair of neighbours in the list, or per column, why they are disjoint."""
        if len(self.costs) < 2:
            return ()
        columns = {
            separating(a.region or {}, b.region or {})
            for number, a in enumerate(self.costs)
            for b in self.costs[:number]
        }
        if len(columns) == 1 and (column := next(iter(columns))):
            return tuple(f"{c.name}: {describe(column, c.region or {})}" for c in self.costs)
        return tuple(
            f"{a.name}, {b.name}: {describe(column, a.region or {})} against "
            f"{describe(column, b.region or {})}"
            for number, b in enumerate(self.costs)
            for a in self.costs[:number]
            if (column := separating(a.region or {}, b.region or {}))
        )


def grouped(costs: Sequence[Cost]) -> tuple[Group, ...]:
    """Gather questions into groups of pairwise disjoint ones, each into the first that fits.

    The dearest go first.  The fewest groups are a colouring problem; this finds them wherever
    disjointness is transitive (GROUP BY, bins), and is never dearer than adding up.
    """
    groups: list[list[Cost]] = []
    for cost in sorted(costs, key=lambda c: -c.epsilon):
        for group in groups:
            if all(_disjoint(cost, other) for other in group):
                group.append(cost)
                break
        else:
            groups.append([cost])
    order = {cost.name: number for number, cost in enumerate(costs)}
    ordered = (tuple(sorted(group, key=lambda c: order[c.name])) for group in groups)
    return tuple(map(Group, sorted(ordered, key=lambda group: order[group[0].name])))


def _disjoint(first: Cost, second: Cost) -> bool:
    if first.region is None or second.region is None:
        return False
    return separating(first.region, second.region) is not None


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

    An upper bound: losses are rounded up to a grid, the result is rounded up to 9 decimals.
    """
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
    found = composed.get_epsilon_for_delta(math.nextafter(float(delta), 0))
    if not math.isfinite(found):
        return sum(epsilons, Fraction(0))
    return Fraction(math.ceil(Fraction(found) * _DIGITS), _DIGITS)
