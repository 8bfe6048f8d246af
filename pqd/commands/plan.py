"""``pqd plan``: the reliability of verdicts and the choice of deciders, from public data only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from pqd.accounting.accountant import quote_of
from pqd.batches.mechanisms import RunBudget
from pqd.batches.shared_budget import verdict_plans
from pqd.commands.cell_progress import cell_progress
from pqd.deciders.exact import Number
from pqd.deciders.note import Note
from pqd.engine.scan_plan import PrivacyUnit
from pqd.keywords import with_keyword_advice
from pqd.parameters import Criteria, Detail, Parameters, privacy_unit
from pqd.planning.binding import all_mistakes, bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.planned_verdict import VerdictMeasurement
from pqd.planning.query_verdict import (
    DeciderPlan,
    PlannedQueryVerdict,
    decider_plan,
    planned_verdict,
)
from pqd.planning.query_warnings import with_sizes
from pqd.planning.sure_verdict import excess_notes, sure_verdicts
from pqd.planning.table_separation import column_names, public_tables
from pqd.progress import Progress, Step, silent, warn
from pqd.reports.models.plan import PlannedQuery, PlanReport
from pqd.reports.text.numbers import EACH_ITS_OWN
from pqd.run.costs import today
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries
from pqd.stated.accuracy import Accuracy
from pqd.stated.budgets import AUTO, stated_budgets
from pqd.stated.column_facts import format_of_file
from pqd.stated.metadata_files import MetadataFile, stated_facts
from pqd.stated.queries import scaled, stated_for, with_tolerances
from pqd.stated.text_formats import StatedFormat, text_formats


@with_keyword_advice
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
    decider_options: Mapping[str, Number] | None = None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    metadata: MetadataFile | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    row_is_person: bool = False,
    private_rows: int | None = None,
    scale: str | None = None,
    text_format: StatedFormat = None,
    detailed: bool = False,
    sure: Number | None = None,
    at_most: Number | None = None,
) -> PlanReport:
    """Plan a verdict on each query, from public data only and at no cost: decider, reliability.

    The arguments are those of ``pqd.audit``.  ``detailed`` adds operating characteristics, and
    deciders that ``auto`` never takes.  Without ``epsilon`` and ``total_epsilon`` the plan gives
    for each decider the least budget at which ``tau`` can be decided.  With ``sure`` each query has
    the epsilon that it needs, the plan gives what all cost together, and says what would fit into
    ``at_most``.

    Raises
    ------
    PqdError
        QueryError, TableError, ParameterError or DeciderError; the message names the query.
    """
    accuracy = Accuracy.parse(sure, at_most, stated_budgets(epsilon, total_epsilon, sharing), alpha)
    facts = stated_facts(
        columns, metadata, None, [synthetic], asks_unit=unit is None and not row_is_person
    )
    synthetic = text_formats(text_format, format_of_file(facts)).table(synthetic, "synthetic")
    with all_mistakes(None, [synthetic], facts):
        parsed = as_queries(queries)
    workload, tau = with_tolerances(scaled(parsed, scale), tau, tolerances)
    criteria = Criteria.of(
        tau=tau,
        alpha=accuracy.alpha if accuracy else alpha,
        mechanism=decider,
        options=decider_options,
        columns=facts,
        private_rows=private_rows,
        detail=Detail.CURVES if detailed else Detail.BUDGETS,
    )
    people = privacy_unit(unit, max_rows, row_is_person=row_is_person)
    budget = None
    if (epsilon, total_epsilon, sharing) != (None, None, None):
        stated = RunBudget.parse(epsilon, total_epsilon, sharing)
        if stated.sharing is None:
            criteria = criteria.at(stated.epsilon)
        else:
            budget = stated
    with cell_progress() as progress:
        progress(Step.PLANNING)
        return run_plan(
            synthetic,
            workload,
            criteria,
            people,
            progress,
            budget=budget,
            accuracy=accuracy,
            row_is_person=row_is_person,
        )


def run_plan(  # noqa: PLR0913 - the arguments of a plan, parsed
    synthetic: object,
    queries: tuple[Query, ...],
    criteria: Criteria,
    unit: PrivacyUnit | None = None,
    progress: Progress = silent,
    *,
    budget: RunBudget | None = None,
    accuracy: Accuracy | None = None,
    row_is_person: bool = False,
) -> PlanReport:
    """Plan ``queries``, which share ``budget`` if it is stated; see ``pqd.plan``."""
    tables = public_tables(
        synthetic, names=column_names(queries, unit), unit=unit, row_is_person=row_is_person
    )
    requests = [QueryRequest.of(query, criteria) for query in queries]
    bound = with_sizes(bind(tables, requests, criteria.columns, unit))
    verdicts: tuple[PlannedQueryVerdict, ...] | None = None
    plans: tuple[DeciderPlan, ...]
    excess: tuple[Note, ...] = ()
    if budget is not None:
        bound.check()
        (shared,) = verdict_plans([bound], budget)
        bound, plans = shared.bound, shared.verdicts
        verdicts = shared.verdicts
    elif accuracy is not None:
        sure = sure_verdicts(bound)
        bound, plans, verdicts = sure.bound, sure.verdicts, sure.verdicts
        excess = tuple(excess_notes(sure, accuracy))
    elif isinstance(criteria, Parameters):
        bound, verdicts = bound.select(planned_verdict)
        plans = verdicts
    else:
        bound, plans = bound.select(decider_plan)
    bound.check(shares_budget=budget is not None)
    warn(bound.warnings, progress)
    return PlanReport(
        tuple(_planned_query(plan, accuracy) for plan in plans),
        tables.label,
        stated_for(queries, criteria.tolerance) or EACH_ITS_OWN,
        criteria.epsilon if isinstance(criteria, Parameters) else None,
        criteria.alpha,
        (*bound.notes, *excess),
        # The charge of all queries, in which two equal queries are one measurement.
        None
        if verdicts is None
        else quote_of([[each.measurement for each in verdicts]]).charge.epsilon,
        bound.left_out,
        today(),
        budget.epsilon if budget else None,
        _total_needed(verdicts, budget) if verdicts and budget else None,
        accuracy.sure if accuracy else None,
        accuracy.at_most if accuracy else None,
    )


def _planned_query(plan: DeciderPlan, accuracy: Accuracy | None) -> PlannedQuery:
    """Query as a report shows it, with its own epsilon if the caller states an accuracy."""
    own = None
    if accuracy and isinstance(plan, PlannedQueryVerdict):
        own = Fraction(0) if plan.is_constant else plan.measurement.epsilon
    return PlannedQuery(**plan.facts(), candidates=plan.candidates, epsilon=own)


def _total_needed(verdicts: Sequence[PlannedQueryVerdict], budget: RunBudget) -> float | None:
    """Approximate total budget at which all queries, with equal shares, can be decided.

    None if unknown.  It is unknown for a batch, whose errors at another budget would have to be
    simulated.
    """
    factors = []
    for verdict in verdicts:
        needed = verdict.choice.taken.needed
        if verdict.is_constant or verdict.taken.decides:
            continue
        if not isinstance(verdict.measurement, VerdictMeasurement) or needed is None:
            return None
        factors.append(needed / float(verdict.measurement.epsilon))
    needed = max(factors, default=0.0) * float(budget.epsilon)
    if not 0 < needed < math.inf:
        return None
    step = 10.0 ** (math.floor(math.log10(needed)) - 1)
    return float(f"{math.ceil(needed / step) * step:.2g}")
