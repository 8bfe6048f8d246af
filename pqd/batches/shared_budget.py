"""Shared budget: one total epsilon for a whole workload, in equal shares or in batches."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pqd.batches.mechanisms import ALONE, RunBudget
from pqd.deciders.errors import ParameterError
from pqd.deciders.note import note
from pqd.deciders.options import option
from pqd.parameters import Parameters
from pqd.planning.bound_workload import BoundWorkload
from pqd.planning.budget_split import SharedQueries, equal_shares
from pqd.planning.query_verdict import QueryVerdictPlan, select_deciders
from pqd.planning.query_warnings import budget_warnings
from pqd.stated.budgets import AUTO


def verdict_plans(
    workloads: Sequence[BoundWorkload], budget: RunBudget | None
) -> list[QueryVerdictPlan]:
    """Plan of verdicts for each workload; queries without an epsilon share ``budget``.

    A query that cannot be decided joins the refusals of its workload.  The notes of a workload say
    how its queries share.  If ``budget`` has no total, every query must have its own epsilon.

    Guarantee: everything that is drawn for the sharing queries is ``budget.epsilon``-DP together.
    If k of the n new queries sum up one measure, they get ``k / n`` of the total.  A batch is DP
    at this part.  Queries that are answered alone divide their part equally.  A composition group
    of disjoint queries counts as one query (McSherry 2009, Theorem 4).

    Raises
    ------
    PqdError
        If the named mechanism does not fit.
    """
    return verdict_plans_beside(workloads, budget, 0)[0]


def verdict_plans_beside(
    workloads: Sequence[BoundWorkload], budget: RunBudget | None, others: int
) -> tuple[list[QueryVerdictPlan], Fraction | None]:
    """Plans of ``verdict_plans`` if ``others`` measurements share too, and the share of each.

    The others, such as distances, are independent of the queries.  Each of them gets the share of
    one query.  The share is None if nothing is shared.

    Raises
    ------
    PqdError
        The errors of ``verdict_plans``.
    """
    criteria = [query.criteria for bound in workloads for query in bound.queries]
    sharing = sum(not isinstance(each, Parameters) for each in criteria)
    if budget is None or budget.sharing is None:
        if sharing or others:
            raise ParameterError(
                "a query has no epsilon; give it one, or one for all to share: "
                f"{option('--total-epsilon')}"
            )
        return [select_deciders(bound) for bound in workloads], None
    if any(each.outside for each in criteria) and budget.sharing != ALONE:
        if budget.sharing != AUTO:
            raise ParameterError(
                f"{budget.sharing} answers queries together, and so counts no rows beyond the "
                f"bounds of each; leave {option('--outside')} or {option('--sharing')} out"
            )
        budget = RunBudget(budget.epsilon, ALONE)
    shared = [SharedQueries(bound, budget.epsilon / max(1, sharing)) for bound in workloads]
    number = sum(each.number for each in shared)
    share = budget.epsilon / (number + others) if number + others else None
    if number and share:
        _share(shared, budget, share)
    return [each.verdict_plan() for each in shared], share


def _share(shared: Sequence[SharedQueries], budget: RunBudget, each: Fraction) -> None:
    """Plan all queries that share; ``each`` is the share of one measurement."""
    if budget.sharing and budget.sharing != ALONE:
        # A run without a batch does not load this module.
        from pqd.batches.batch_or_alone import share_in_batches  # noqa: PLC0415

        share_in_batches(shared, budget.sharing, each)
    for queries in shared:
        queries.notes += budget_warnings(budget.epsilon)
        _share_alone(queries, each)
    if sum(queries.epsilon for queries in shared) > budget.epsilon:
        raise RuntimeError


def _share_alone(queries: SharedQueries, each: Fraction) -> None:
    """Plan the queries that are in no batch; ``each`` is the share of one of them."""
    unplanned = queries.unplanned
    verdicts = equal_shares(list(unplanned.values()), each * queries.number)
    queries.plan(dict(zip(unplanned, verdicts, strict=True)))
    if verdicts:
        epsilon = verdicts[0].measurement.epsilon
        queries.notes.append(note("one-by-one", queries=len(verdicts), epsilon=epsilon))
