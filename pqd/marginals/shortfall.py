"""Shortfall of a planned profile: too few of its distances could be decided; all of it public.

It depends on the copy, the budget, the tolerance, the marginals and stated facts alone.  So a run
that is refused for it is refused whatever the private table holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from pqd.deciders.distances.estimates import vector_decides, vector_tau_decided
from pqd.deciders.distances.vector import VectorLaw
from pqd.deciders.evaluation.needed_budget import rounded_epsilon
from pqd.deciders.monotone_search import HALF_A_PER_CENT, least
from pqd.marginals.profile_plan import ProfilePlan, ProfileShares, vector_law
from pqd.reports.models.profile import Shortfall

# A profile is refused if it can decide a smaller share of its distances.
LEAST_DECIDABLE = Fraction(1, 5)
# The search for a budget goes in hundredths of the stated one, to so many of them.
_STEPS, _MOST_STEPS = 100, 100 * 2**20
# The tolerance that is proposed is a whole number of tenths of a per cent.
_TENTHS = 1_000


def shortfall_of(plan: ProfilePlan) -> Shortfall | None:
    """Shortfall of a plan; None if enough can be decided, or the caller wants the profile anyway.

    All distances have the same noise, so each is decidable or none is.
    """
    parameters, terms = plan.parameters, len(plan.terms)
    rows, alpha = plan.expected_rows, float(parameters.alpha)
    tau_decided = vector_tau_decided(plan.law, rows, alpha)
    # As in ``DistanceFacts.decidable``.
    decidable = terms if tau_decided <= float(parameters.tau) else 0
    if parameters.anyway or decidable >= LEAST_DECIDABLE * terms:
        return None
    columns = len(plan.bound.columns)
    several = any(each.ways > 1 for each in plan.bound.marginals)
    singles = sum(each.marginal.ways == 1 for each in plan.terms)
    return Shortfall(
        decidable=decidable,
        distances=terms,
        columns=columns,
        total_epsilon=parameters.total_epsilon,
        tau=float(parameters.tau),
        copy_rows=plan.bound.copy_rows,
        private_rows=parameters.request.private_rows,
        needed_epsilon=_needed_epsilon(plan),
        needed_tau=_rounded_tau(tau_decided),
        needed_columns=_needed_columns(plan, columns),
        singles_decide=several and _decides(plan, _law(plan, singles, parameters.total_epsilon)),
    )


def _decides(plan: ProfilePlan, law: VectorLaw) -> bool:
    """Whether nine runs of ten decide each distance of a release with this ``law``."""
    parameters, rows = plan.parameters, plan.expected_rows
    return vector_decides(law, rows, parameters.tau, float(parameters.alpha))


def _law(plan: ProfilePlan, terms: int, total: Fraction) -> VectorLaw:
    """Law of the noise of ``terms`` distances and of the unseen rows, at a total epsilon."""
    unit, delta = plan.bound.unit, plan.parameters.delta
    shares = ProfileShares.of(
        total,
        unit,
        plan.zoom,
        target=plan.target is not None,
        relations=plan.relations is not None,
    )
    return vector_law(terms + 1, shares.distances, unit, delta)


def _needed_epsilon(plan: ProfilePlan) -> float | None:
    """Least total epsilon that decides, rounded up to three digits; None if none does."""
    unit = plan.parameters.total_epsilon / _STEPS

    def decides(steps: int) -> bool:
        return _decides(plan, _law(plan, len(plan.terms), steps * unit))

    steps = least(decides, _MOST_STEPS, _STEPS, parts=HALF_A_PER_CENT)
    epsilon = math.inf if steps is None else rounded_epsilon(steps * unit)
    return epsilon if math.isfinite(epsilon) else None


def _rounded_tau(tau: float) -> float | None:
    """Tolerance rounded up to tenths of a per cent; None if it is not below 1."""
    tenths = math.ceil(tau * _TENTHS) if math.isfinite(tau) else _TENTHS
    return tenths / _TENTHS if tenths < _TENTHS else None


def _needed_columns(plan: ProfilePlan, columns: int) -> int | None:
    """Most columns of which all columns and pairs are decided; None if not even one is."""
    kinds = len({each.distance for each in plan.terms})
    ways = max(each.ways for each in plan.bound.marginals)

    def terms(number: int) -> int:
        """Most distances of so many columns: all their distances, and all larger marginals."""
        return kinds * number + sum(math.comb(number, size) for size in range(2, ways + 1))

    def fails(number: int) -> bool:
        law = _law(plan, terms(number), plan.parameters.total_epsilon)
        return not _decides(plan, law)

    first = _first(fails, columns)
    return first - 1 if first > 1 else None


def _first(holds: Callable[[int], bool], most: int) -> int:
    """Least number from 1 to ``most`` for which a claim holds, or one more than ``most``."""
    found = least(holds, most)
    return most + 1 if found is None else found
