"""Shared budget: one epsilon for a whole workload, each query by itself or several in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pqd.batches.mechanisms import ALONE, check_sharing
from pqd.deciders.errors import ParameterError
from pqd.deciders.note import note
from pqd.parameters import Parameters
from pqd.planning.bound_workload import BoundWorkload
from pqd.planning.budget_split import SharedQueries, equal_shares
from pqd.planning.query_verdict import QueryVerdictPlan, select_deciders
from pqd.planning.query_warnings import budget_warnings
from pqd.stated.budgets import AUTO


@dataclass(frozen=True, slots=True)
class SharedBudget:
    """Budget of all queries of a run that have none of their own, and how it is shared.

    ``sharing`` is ``"alone"``, ``"auto"`` or the id of a batch mechanism.

    Guarantee: what is drawn for those queries is ``epsilon``-DP in all.  Of all new
    queries, those that sum up one measure have their number's share of ``epsilon``.  A batch is DP
    at that share; queries answered alone divide it equally, where a composition group of disjoint
    queries counts once (McSherry 2009, Theorem 4).
    """

    epsilon: Fraction
    sharing: str = AUTO

    def __post_init__(self) -> None:
        """Raise ParameterError if there is no such way to share."""
        check_sharing(self.sharing)


def select_sharing(
    workloads: Sequence[BoundWorkload], budget: SharedBudget | None
) -> list[QueryVerdictPlan]:
    """Plan of verdicts for each workload, queries without a budget of their own at their shares.

    A query that cannot be decided is among the refusals of its workload, whose notes say how it
    shares.
    Without a shared ``budget`` every query must have its own.

    Raises
    ------
    PqdError
        If a mechanism that is named does not fit.
    """
    return share_with(workloads, budget, 0)[0]


def share_with(
    workloads: Sequence[BoundWorkload], budget: SharedBudget | None, others: int
) -> tuple[list[QueryVerdictPlan], Fraction | None]:
    """Plans as ``select_sharing`` gives them where ``others`` share too, and the share of each.

    What the others measure has nothing to do with the queries: each takes an equal share, which is
    None where nothing is shared.

    Raises
    ------
    PqdError
        As ``select_sharing``.
    """
    criteria = [query.criteria for bound in workloads for query in bound.queries]
    sharing = sum(not isinstance(each, Parameters) for each in criteria)
    if budget is None:
        if sharing or others:
            raise ParameterError(
                "a query has no epsilon; give it one, or a total_epsilon for all to share"
            )
        return [select_deciders(bound) for bound in workloads], None
    shared = [SharedQueries(bound, budget.epsilon / max(1, sharing)) for bound in workloads]
    number = sum(each.number for each in shared)
    share = budget.epsilon / (number + others) if number + others else None
    if number and share:
        _share(shared, budget, share)
    return [each.verdict_plan() for each in shared], share


def _share(shared: Sequence[SharedQueries], budget: SharedBudget, each: Fraction) -> None:
    """Plan all queries that share; ``each`` is the share of one measurement."""
    if budget.sharing != ALONE:
        # Imported late: a run without a batch needs nothing of them.
        from pqd.batches.batch_or_alone import share_in_batches  # noqa: PLC0415

        share_in_batches(shared, budget.sharing, each)
    for queries in shared:
        queries.notes += budget_warnings(budget.epsilon)
        _share_alone(queries, each)
    if sum(queries.price for queries in shared) > budget.epsilon:
        raise RuntimeError


def _share_alone(queries: SharedQueries, each: Fraction) -> None:
    """Plan all that are left alone; ``each`` is the share of one of them."""
    left = queries.left
    verdicts = equal_shares(list(left.values()), each * queries.number)
    queries.plan(dict(zip(left, verdicts, strict=True)))
    if verdicts:
        epsilon = verdicts[0].measurement.epsilon
        queries.notes.append(note("one-by-one", queries=len(verdicts), epsilon=epsilon))
