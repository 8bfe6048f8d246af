"""Verdict at the least epsilon that decides its query, and what a run of such verdicts costs.

Everything here follows from the copy, the query and what the caller states, so the epsilon is the
same in every run, and a repeated question is replayed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from pqd.accounting.accountant import Quote, quote_of
from pqd.deciders import ParameterError, UnanswerableError
from pqd.deciders.evaluation.needed_budget import rounded_epsilon
from pqd.deciders.exact import as_float
from pqd.deciders.note import Note, note
from pqd.deciders.numbers import limit_text, number_text
from pqd.deciders.options import option
from pqd.deciders.single.base import BOTH
from pqd.errors import BudgetError, PqdError
from pqd.parameters import OUTSIDE_SHARE, Criteria
from pqd.planning.bound_workload import BoundQuery, BoundWorkload
from pqd.planning.query_verdict import (
    DeciderPlan,
    PlannedQueryVerdict,
    QueryVerdictPlan,
    decider_plan,
    planned_verdict,
)
from pqd.sql.tolerance import Tolerance
from pqd.stated.accuracy import AT_MOST, SURE, Accuracy
from pqd.stated.budgets import MOST_EPSILON

# Multiples of a tolerance that are tried, if a run would cost too much.
_WIDER = tuple(map(Fraction, ("1.5", "2", "3", "4", "5", "10", "20")))
# The most queries that a message calls dear.
_DEAREST = 3


def sure_verdicts(bound: BoundWorkload) -> QueryVerdictPlan:
    """Plan in which each query has the least epsilon that decides it; see ``sure_verdict``.

    Queries that no epsilon decides join the refusals.
    """
    return QueryVerdictPlan(*bound.select(sure_verdict))


def sure_verdict(bound: BoundQuery) -> PlannedQueryVerdict:
    """Verdict on one query at the epsilon that a plan without a budget says it needs.

    If a part of epsilon pays for the number of rows beyond the bounds, epsilon is that much larger.

    Raises
    ------
    UnanswerableError
        If no epsilon up to ``MOST_EPSILON`` decides the query, or if its decider gives no proof.
    """
    plan = decider_plan(bound)
    if plan.choice.taken.mechanism.proves != BOTH:
        raise UnanswerableError(
            f"{plan.choice.decider.id} gives no p-value for both verdicts, so none of its verdicts "
            f"is {as_float(100 * (1 - bound.criteria.alpha)):.12g} % sure; leave the decider out, "
            f"or {option(SURE)}"
        )
    if plan.choice.decider.constant_verdict(plan.interval) is not None:
        # Every table has this verdict, so it costs nothing at any epsilon.
        return _at(bound, Fraction(1))
    needed = plan.choice.taken.needed
    if needed is None or needed > MOST_EPSILON:
        raise UnanswerableError(_reason(plan))
    # The number has three digits, and a user who states them gets the same fraction.
    verdict = _at(bound, Fraction(str(needed)))
    if verdict.outside_epsilon:
        more = rounded_epsilon(Fraction(str(needed)) / (1 - OUTSIDE_SHARE))
        verdict = _at(bound, Fraction(str(more)))
    return verdict


def _at(bound: BoundQuery, epsilon: Fraction) -> PlannedQueryVerdict:
    return planned_verdict(bound.with_criteria(bound.criteria.at(epsilon)))


def _reason(plan: DeciderPlan) -> str:
    """Why no epsilon decides a query, and what to do."""
    rows = "" if plan.query.aggregate == "COUNT" else f"; it selects {plan.copy_rows:,} of its rows"
    return (
        f"no epsilon up to {MOST_EPSILON} decides a tolerance of {number_text(plan.tau)} on tables "
        f"like the copy{rows}: use a larger tolerance, or a query over more rows"
    )


class AtMost(NamedTuple):
    """Limit of what a run may cost, with the plan of the run; all of it is public."""

    plan: QueryVerdictPlan
    at_most: Fraction

    def check(self, quote: Quote) -> None:
        """Refuse a run that costs more than the limit; nothing is spent.

        Raises
        ------
        BudgetError
            If the run costs more.
        """
        total = quote.charge.epsilon
        if total > self.at_most:
            raise BudgetError(f"{self.excess(total).sentence} Nothing was spent.")

    def excess(self, total: Fraction) -> Note:
        """Note that a run costs more than its limit: what is dear, and what would fit."""
        most, dear = self.at_most, _by_query(self.plan.verdicts)
        names = sorted(dear, key=lambda name: (-dear[name], name))
        left_out, rest = self._left_out(names, most)
        fitting = self._fitting(most)
        return note(
            "beyond-at-most",
            total=total,
            most=most,
            dearest=tuple((name, dear[name]) for name in names[:_DEAREST]),
            queries=len(names),
            left_out=left_out,
            rest=rest,
            tau=fitting,
        )

    def _left_out(self, names: Sequence[str], most: Fraction) -> tuple[tuple[str, ...], Fraction]:
        """Dearest queries without which the others cost at most ``most``, and what these cost."""
        low, high = 0, len(names)
        while low < high:
            middle = (low + high) // 2
            if self._without(names[:middle]) <= most:
                high = middle
            else:
                low = middle + 1
        return tuple(names[:low]), self._without(names[:low])

    def _without(self, names: Iterable[str]) -> Fraction:
        """Cost of the queries other than ``names``."""
        left = set(names)
        return total_cost(v for v in self.plan.verdicts if v.check not in left)

    def _fitting(self, most: Fraction) -> str | None:
        """Least tolerance, of some multiples of the common one, at which all cost at most."""
        stated = {query.criteria.tolerance for query in self.plan.bound.queries}
        for factor in _WIDER if len(stated) == 1 else ():
            wider = _wider(next(iter(stated)), factor)
            if wider and self._cost_at(wider) <= most:
                return wider.text
        return None

    def _cost_at(self, tolerance: Tolerance) -> float | Fraction:
        """Cost of all queries with another tolerance; infinite if one of them is refused."""
        verdicts = []
        for query in self.plan.bound.queries:
            criteria = _unbudgeted(query.criteria, tolerance)
            try:
                verdicts.append(sure_verdict(query.with_criteria(criteria)))
            except PqdError:
                return math.inf
        return total_cost(verdicts)


def _unbudgeted(criteria: Criteria, tolerance: Tolerance) -> Criteria:
    """Criteria with another tolerance and no budget."""
    own = getattr(criteria, "criteria", criteria)
    return replace(own, tolerance=tolerance)


def _wider(stated: Tolerance, factor: Fraction) -> Tolerance | None:
    """Multiple of a tolerance; None if that is a share of 100 % or more."""
    amount = stated.amount * factor
    is_share = stated.relative or stated.of_rows
    if is_share and amount >= 1:
        return None
    sign = "% of rows" if stated.of_rows else "%" if stated.relative else ""
    return Tolerance.parse(f"{as_float(amount * (100 if is_share else 1)):.6g}{sign}")


def total_cost(verdicts: Iterable[PlannedQueryVerdict]) -> Fraction:
    """Cost of verdicts together, by the composition of the accountant, if nothing is replayed."""
    return quote_of([[verdict.measurement for verdict in verdicts]]).charge.epsilon


def _by_query(verdicts: Iterable[PlannedQueryVerdict]) -> dict[str, Fraction]:
    """Epsilon of each query; of a grouped query the largest of its groups."""
    found: dict[str, Fraction] = {}
    for verdict in verdicts:
        found[verdict.check] = max(found.get(verdict.check, Fraction(0)), verdict.measurement.cost)
    return found


def limit_of(plan: QueryVerdictPlan, accuracy: Accuracy) -> AtMost:
    """Limit of a run that has this accuracy.

    Raises
    ------
    ParameterError
        If the caller states no limit; the message says what the run would cost.
    """
    if accuracy.at_most is None:
        total = limit_text(total_cost(plan.verdicts))
        each = "the query costs" if len(plan.verdicts) == 1 else "the queries together cost"
        raise ParameterError(
            f"{option(AT_MOST)} is missing; at this accuracy {each} epsilon {total}, as pqd plan "
            "says too: state the most that the run may cost, such as "
            f"{option(f'{AT_MOST} {total}')}. Nothing was spent"
        )
    return AtMost(plan, accuracy.at_most)


def sure_notes(plan: QueryVerdictPlan, accuracy: Accuracy | None) -> Iterator[Note]:
    """Note on the epsilons of a plan with this accuracy; none without one."""
    epsilons = [v.measurement.epsilon for v in plan.verdicts if not v.is_constant]
    if accuracy and epsilons:
        facts = {"least": min(epsilons), "most": max(epsilons), "queries": len(epsilons)}
        yield note("sure-epsilons", alpha=accuracy.alpha, **facts)


def excess_notes(plan: QueryVerdictPlan, accuracy: Accuracy) -> Iterator[Note]:
    """Note of a plan that its run would cost more than the caller's limit; none if it fits."""
    total = total_cost(plan.verdicts)
    if accuracy.at_most is not None and total > accuracy.at_most:
        yield AtMost(plan, accuracy.at_most).excess(total)
