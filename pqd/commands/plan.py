"""``pqd plan``: the reliability of verdicts and the choice of deciders, from public data only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pqd.accounting.accountant import quote_of
from pqd.accounting.clock import today
from pqd.parameters import Criteria, Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.decisions import decider_plan, planned_verdict
from pqd.planning.stated_tolerances import stated_for
from pqd.planning.table_separation import mentioned, public_tables
from reports.models.plan import PlannedQuery, PlanReport

if TYPE_CHECKING:
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.planning.decisions import DeciderPlan
    from pqd.sql.query import Query


def run_plan(
    synthetic: object,
    queries: tuple[Query, ...],
    criteria: Criteria,
    unit: PrivacyUnit | None = None,
) -> PlanReport:
    """Plan ``queries``; see ``pqd.plan``."""
    tables = public_tables(synthetic, names=mentioned(queries, unit))
    # Of many queries a terminal shows few, and of those that fit only the decider that is taken.
    criteria = replace(criteria, late=True)
    requests = [QueryRequest.of(query, criteria) for query in queries]
    bound = bind(tables, requests, criteria.columns, unit)
    epsilon = total = None
    plans: tuple[DeciderPlan, ...]
    if isinstance(criteria, Parameters):
        bound, verdicts = bound.select(planned_verdict)
        # What is asked twice is drawn once.
        quote = quote_of([[verdict.measurement for verdict in verdicts]])
        epsilon, total, plans = criteria.epsilon, quote.charge.epsilon, verdicts
    else:
        bound, plans = bound.select(decider_plan)
    bound.check()
    return PlanReport(
        tuple(PlannedQuery(**plan.facts()) for plan in plans),
        tables.label,
        stated_for(queries, criteria.tolerance),
        epsilon,
        criteria.alpha,
        bound.notes,
        total,
        bound.left_out,
        today(),
    )
