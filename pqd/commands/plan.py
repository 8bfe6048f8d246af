"""``pqd plan``: the reliability of verdicts and the choice of deciders, from public data only."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from pqd.accounting.accountant import quote_of
from pqd.accounting.clock import today
from pqd.batches.shared_budget import select_sharing
from pqd.parameters import Criteria, Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.decisions import decider_plan, planned_verdict
from pqd.planning.rules import VerdictMeasurement
from pqd.planning.stated_tolerances import stated_for
from pqd.planning.table_separation import mentioned, public_tables
from pqd.progress import Progress, silent, warn
from pqd.reports.models.plan import PlannedQuery, PlanReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pqd.batches.shared_budget import SharedBudget
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.planning.decisions import DeciderPlan, PlannedVerdict
    from pqd.sql.query import Query


def run_plan(
    synthetic: object,
    queries: tuple[Query, ...],
    criteria: Criteria,
    unit: PrivacyUnit | None = None,
    progress: Progress = silent,
    *,
    budget: SharedBudget | None = None,
) -> PlanReport:
    """Plan ``queries``; see ``pqd.plan``.  They share ``budget`` if there is one."""
    tables = public_tables(synthetic, names=mentioned(queries, unit))
    # Of many queries a terminal shows few, and of those that fit only the decider that is taken.
    criteria = replace(criteria, late=True)
    requests = [QueryRequest.of(query, criteria) for query in queries]
    bound = bind(tables, requests, criteria.columns, unit)
    verdicts: tuple[PlannedVerdict, ...] | None = None
    plans: tuple[DeciderPlan, ...]
    if budget is not None:
        bound.check()
        (shared,) = select_sharing([bound], budget)
        bound, plans = shared.bound, shared.verdicts
        verdicts = shared.verdicts
    elif isinstance(criteria, Parameters):
        bound, verdicts = bound.select(planned_verdict)
        plans = verdicts
    else:
        bound, plans = bound.select(decider_plan)
    bound.check()
    warn(bound.warnings, progress)
    return PlanReport(
        tuple(PlannedQuery(**plan.facts(), candidates=plan.candidates) for plan in plans),
        tables.label,
        stated_for(queries, criteria.tolerance),
        criteria.epsilon if isinstance(criteria, Parameters) else None,
        criteria.alpha,
        bound.notes,
        # What is asked twice is drawn once.
        None
        if verdicts is None
        else quote_of([[each.measurement for each in verdicts]]).charge.epsilon,
        bound.left_out,
        today(),
        budget.epsilon if budget else None,
        _total_needed(verdicts, budget) if verdicts and budget else None,
    )


def _total_needed(verdicts: Sequence[PlannedVerdict], budget: SharedBudget) -> float | None:
    """About the budget at which queries that share it equally are all decided, as far as known.

    A batch has other errors at another budget, which would have to be simulated.
    """
    factors = []
    for verdict in verdicts:
        needed = verdict.choice.taken.needed
        if verdict.settled or verdict.taken.decides(verdict.criteria.alpha):
            continue
        if not isinstance(verdict.measurement, VerdictMeasurement) or needed is None:
            return None
        factors.append(needed / float(verdict.measurement.epsilon))
    needed = max(factors, default=0.0) * float(budget.epsilon)
    if not 0 < needed < math.inf:
        return None
    step = 10.0 ** (math.floor(math.log10(needed)) - 1)
    return float(f"{math.ceil(needed / step) * step:.2g}")
