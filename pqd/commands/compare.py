"""``pqd compare``: one estimate per query, and the verdicts on every candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pqd.accounting.run_charges import run_charges, telling_charges
from pqd.comparison.candidates import Candidates
from pqd.comparison.comparison_results import outcome_of
from pqd.comparison.leaderboard import leaderboard
from pqd.comparison.reference_measurement import add_references
from pqd.errors import BudgetError, overtaken
from pqd.execution import measure
from pqd.planning.stated_tolerances import stated_for
from pqd.planning.table_separation import mentioned
from pqd.progress import Progress, silent
from pqd.reports.models.compare import CompareReport
from pqd.results import added_costs, cost_of

if TYPE_CHECKING:
    from pqd.accounting.accountant import Accountant
    from pqd.comparison.comparison_parameters import ComparisonParameters
    from pqd.comparison.leaderboard import Evidence
    from pqd.deciders import Noise
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.execution import Outputs
    from pqd.planning.estimates import ComparisonPlan, PlannedComparison
    from pqd.reports.models.compare import ComparedQuery
    from pqd.sql.query import Query


@telling_charges()
def run_compare(  # noqa: PLR0913 - those of a comparison, read
    private: object,
    synthetics: Mapping[str, object],
    queries: tuple[Query, ...],
    parameters: ComparisonParameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
) -> CompareReport:
    """Compare with ``noise``; see ``pqd.compare``.  Without an accountant no account is kept."""
    candidates = Candidates(private, synthetics, accountant, mentioned(queries, unit))
    costs, notes, before = [], [], None
    if parameters.references is not None:
        references = add_references(
            candidates,
            queries,
            parameters,
            parameters.references,
            noise,
            progress,
            accountant=accountant,
            unit=unit,
        )
        costs, notes, before = [references.cost], [*references.notes], references.plan
    plan = candidates.plan(queries, parameters, unit, progress)
    # A query that the candidates cannot answer is not measured for a reference's sake: its cost
    # was not part of the quote before the references were paid for.
    left_out = {each.id: each for each in (before or plan).bound.left_out}
    plan = replace(
        plan, comparisons=tuple(c for c in plan.comparisons if c.query.id not in left_out)
    )
    try:
        outputs = measure([plan.measurements], accountant, noise, progress)
    except BudgetError as error:
        if not run_charges().spent:
            raise
        # Not a refusal at no cost: another run has spent meanwhile what this one had counted on.
        raise overtaken("the references", error) from None
    compared, evidence = _outcomes(plan, outputs, candidates.names, parameters, noise)
    alpha = parameters.parameters.alpha
    board, pairs = leaderboard(compared, evidence, candidates.kinds, alpha)
    return CompareReport(
        queries=compared,
        leaderboard=board,
        better=pairs,
        candidates={name: candidates.files.get(name, name) for name in candidates.names},
        private=candidates.private.label,
        tolerance=stated_for(queries, parameters.parameters.tolerance),
        alpha=alpha,
        cost=added_costs([*costs, cost_of(outputs.quote, accountant, unit)]),
        notes=(*plan.bound.notes, *dict.fromkeys(notes)),
        refused=tuple(left_out.values()),
    )


def _outcomes(
    plan: ComparisonPlan,
    outputs: Outputs,
    names: Sequence[str],
    parameters: ComparisonParameters,
    noise: Noise,
) -> tuple[tuple[ComparedQuery, ...], list[Evidence]]:
    """Queries of the report, and the evidence of all measurements for the leaderboard."""
    outcomes = [
        outcome_of(each, outputs, names, parameters.weight(each.query), noise)
        for each in plan.comparisons
    ]
    evidence = _merged(plan.comparisons, [evidence for _, evidence in outcomes])
    return tuple(query for query, _ in outcomes), evidence


def _merged(
    comparisons: Sequence[PlannedComparison], evidence: Sequence[Evidence]
) -> list[Evidence]:
    """Evidence of independent measurements: a query under two ids is one, of both weights."""
    merged: dict[tuple[object, ...], Evidence] = {}
    for comparison, each in zip(comparisons, evidence, strict=True):
        key = comparison.measurement.cache_key, comparison.intervals
        before = merged.get(key)
        merged[key] = replace(each, weight=each.weight + (before.weight if before else 0))
    return list(merged.values())
