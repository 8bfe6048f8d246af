"""The plan: what verdicts will be worth and which decider answers, from public data only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqd.accounting.composition import price
from pqd.accounting.disjoint_groups import grouped
from pqd.parameters import Criteria, Detail, Parameters, privacy_unit
from pqd.planning.binding import QueryRequest, bind
from pqd.planning.choose_decider import AUTO
from pqd.planning.decisions import decider_plan, planned_verdict
from pqd.planning.table_separation import separate_tables
from pqd.sql.workload_files import as_queries
from reports.models.plan import PlannedQuery, PlanReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deciders.exact import Number
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.planning.decisions import DeciderPlan
    from pqd.sql.query import Query


def plan(  # noqa: PLR0913 - the facts of a plan, all but two by keyword
    synthetic: object,
    queries: str | Query | Iterable[str | Query],
    *,
    tau: Number,
    epsilon: Number | None = None,
    alpha: Number = 0.05,
    decider: str = AUTO,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    detailed: bool = False,
) -> PlanReport:
    """Say what a verdict on each query would be worth; reads no private table and costs nothing.

    The arguments are those of ``pqd.audit``; ``detailed`` adds operating characteristics.  Without
    ``epsilon`` the plan gives, per decider, the budget at which ``tau`` becomes decidable.

    Raises
    ------
    PqdError
        QueryError, TableError, ParameterError or DeciderError; the message names the query.
    """
    criteria = Criteria.of(
        tau=tau,
        alpha=alpha,
        mechanism=decider,
        columns=columns,
        detail=Detail.CURVES if detailed else Detail.BUDGETS,
    )
    criteria = criteria if epsilon is None else criteria.at(epsilon)
    return run_plan(synthetic, as_queries(queries), criteria, privacy_unit(unit, max_rows))


def run_plan(
    synthetic: object,
    queries: tuple[Query, ...],
    criteria: Criteria,
    unit: PrivacyUnit | None = None,
) -> PlanReport:
    """Plan ``queries``; see ``plan``."""
    tables = separate_tables(None, synthetic)
    requests = [QueryRequest(query, criteria) for query in queries]
    bound = bind(tables, requests, criteria.columns, unit)
    epsilon = total = None
    plans: tuple[DeciderPlan, ...]
    if isinstance(criteria, Parameters):
        bound, verdicts = bound.select(planned_verdict)
        costs = [
            verdict.measurement.composition_cost for verdict in verdicts if not verdict.settled
        ]
        epsilon, total, plans = criteria.epsilon, price(grouped(costs)).epsilon, verdicts
    else:
        bound, plans = bound.select(decider_plan)
    bound.check()
    return PlanReport(
        tuple(PlannedQuery(**plan.facts()) for plan in plans),
        tables.label,
        criteria.tolerance.text,
        epsilon,
        criteria.alpha,
        bound.notes,
        total,
        bound.left_out,
    )
