"""``pqd.plan``: the reliability of verdicts and the choice of deciders, from public data only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqd.api.cell_progress import cell_progress
from pqd.batches.shared_budget import SharedBudget
from pqd.commands.plan import run_plan
from pqd.parameters import Criteria, Detail, privacy_unit
from pqd.planning.stated_tolerances import with_tolerances
from pqd.reports.text.remarks import stages
from pqd.sql.workload_files import as_queries
from pqd.stated_budgets import AUTO, RunBudget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pqd.deciders.exact import Number
    from pqd.reports.models.plan import PlanReport
    from pqd.sql.query import Query


def plan(  # noqa: PLR0913 - the facts of a plan, all but two by keyword
    synthetic: object,
    queries: str | Query | Iterable[str | Query],
    *,
    tau: Number | None = None,
    tolerances: Mapping[str, Number] | None = None,
    epsilon: Number | None = None,
    total_epsilon: Number | None = None,
    sharing: str | None = None,
    alpha: Number = 0.05,
    decider: str = AUTO,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    detailed: bool = False,
) -> PlanReport:
    """Plan a verdict on each query, from public data only and at no cost: decider, reliability.

    The arguments are those of ``pqd.audit``; ``detailed`` adds operating characteristics, and the
    deciders that ``auto`` never takes.  Without ``epsilon`` and ``total_epsilon`` the plan
    gives, per decider, the budget at which ``tau`` becomes decidable.

    Raises
    ------
    PqdError
        QueryError, TableError, ParameterError or DeciderError; the message names the query.
    """
    workload, tau = with_tolerances(as_queries(queries), tau, tolerances)
    criteria = Criteria.of(
        tau=tau,
        alpha=alpha,
        mechanism=decider,
        columns=columns,
        detail=Detail.CURVES if detailed else Detail.BUDGETS,
    )
    people = privacy_unit(unit, max_rows)
    budget = None
    if (epsilon, total_epsilon, sharing) != (None, None, None):
        stated = RunBudget.parse(epsilon, total_epsilon, sharing)
        if stated.sharing is None:
            criteria = criteria.at(stated.epsilon)
        else:
            budget = SharedBudget(stated.epsilon, stated.sharing)
    with cell_progress() as told:
        told(stages.PLANNING)
        return run_plan(synthetic, workload, criteria, people, told, budget=budget)
