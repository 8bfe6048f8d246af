"""Composition: how the budgets of the measurements of a run add up.

* **Sequential** (Dwork et al. 2006): epsilons add up.
* **Parallel** (McSherry 2009, Theorem 4): if no row can match two of the queries, they read
  disjoint parts of the table.  One row is in at most one part, so together the queries cost the
  largest of their epsilons.  ``pqd.sql.regions`` proves for each pair that the queries are
  disjoint.  The epsilons of several such groups add up.
* **Optimal** (Kairouz, Oh and Viswanath 2015, by privacy loss distributions of the dp-accounting
  library): if a delta is granted, the groups of one run together cost one (epsilon, delta).
  The theorem needs budgets that are fixed beforehand.  The budget of a later run may be chosen
  after the verdicts of an earlier run, so the costs of different runs add up.
* **Concentrated** (Bun and Steinke 2016, Lemma 2.3): the rhos of zCDP measurements of one run add
  up, and their sum implies one (epsilon, delta).  The epsilons of pure measurements are added.
* **Approximate** measurements, which are (epsilon, delta)-DP without a rho, add up in epsilon and
  in delta (basic composition, Dwork et al. 2006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pqd.accounting.disjoint_groups import Group
from pqd.accounting.zcdp import epsilon_of
from pqd.deciders.extras import needed

NOTHING, SEQUENTIAL, PARALLEL, OPTIMAL = "nothing", "sequential", "parallel", "optimal"
CONCENTRATED = "concentrated"
# Grid of the privacy losses.  A coarser grid gives a larger epsilon, which is as safe.
_FINENESS, _CELLS = 4096, 500_000
# Composition uses Fourier transforms in doubles, whose rounding error is about 1e-15 of
# probability.  A ten-thousandth of delta is kept back for this error; delta must be at least a
# million times the error.
_LEAST_DELTA, _KEPT_BACK = Fraction(1, 10**9), Fraction(1, 10**4)
_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Charge:
    """Charge of one run, exact, and the composition rule that gave it.

    A charge of zCDP measurements knows their ``rho``, and the epsilon of its ``pure`` measurements:
    ``epsilon`` is at least ``pure`` plus the epsilon that rho implies at ``delta``.  Without a rho
    nothing but ``epsilon`` and ``delta`` is known.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rule: str = NOTHING
    rho: Fraction = Fraction(0)
    pure: Fraction = Fraction(0)


def charge_of(groups: Sequence[Group], delta_left: Fraction = Fraction(0)) -> Charge:
    """Charge of ``groups``; pure groups use half of the delta that is left if it lowers epsilon.

    All other groups first take the delta that they state, even if it exceeds ``delta_left``.  Pure
    groups may take half of the rest.  The other half stays for later runs of a changed workload.
    """
    concentrated = concentrated_charge([group for group in groups if group.rho])
    approximate = [group for group in groups if group.delta and not group.rho]
    stated = concentrated.delta + sum((group.delta for group in approximate), Fraction(0))
    pure = [group for group in groups if not (group.rho or group.delta)]
    others = _price_of_pure(pure, delta_left - stated)
    epsilon = others.epsilon + sum((group.epsilon for group in approximate), Fraction(0))
    delta = stated + others.delta
    if not concentrated.epsilon:
        rule = SEQUENTIAL if approximate and not others.delta else others.rule
        return Charge(epsilon, delta, rule)
    epsilon += concentrated.epsilon
    if approximate or others.delta:
        return Charge(epsilon, delta, CONCENTRATED)
    return Charge(epsilon, delta, CONCENTRATED, concentrated.rho, others.epsilon)


def concentrated_charge(groups: Sequence[Group]) -> Charge:
    """Charge of zCDP groups: their rhos add up; delta is the largest delta that a group states.

    Guarantee: (epsilon, delta)-DP together.  A single group is charged its stated (epsilon,
    delta), which its rho implies.
    """
    if not groups:
        return Charge()
    delta = max(group.delta for group in groups)
    rho = sum((group.rho for group in groups), Fraction(0))
    epsilon = groups[0].epsilon if len(groups) == 1 else epsilon_of(rho, delta)
    return Charge(epsilon, delta, CONCENTRATED, rho)


def _price_of_pure(groups: Sequence[Group], delta_left: Fraction) -> Charge:
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
    """Epsilon at which pure mechanisms of ``epsilons`` together are (epsilon, delta)-DP.

    The result is an upper bound.  Losses are rounded up to a grid, and the result is rounded up to
    5 digits.  A part of delta is kept back for the rounding of doubles.  For delta below 1e-9 the
    result is the sum of ``epsilons``.

    Raises
    ------
    ParameterError
        If dp-accounting is not installed.
    """
    if delta < _LEAST_DELTA:
        return sum(epsilons, Fraction(0))
    # Imported here: the import is slow, and few runs need it.
    with needed("composition", "a budget with a delta"):
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
    bound = composed.get_epsilon_for_delta(float(delta * (1 - _KEPT_BACK)))
    total = sum(epsilons, Fraction(0))
    if not 0 < bound < math.inf:
        return total if bound else Fraction(0)
    place = Fraction(10) ** (_DIGITS - math.ceil(math.log10(bound)))
    return min(total, math.ceil(Fraction(bound) * place) / place)
