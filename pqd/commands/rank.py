"""``pqd compare`` without queries: one release ranks the copies by their overall quality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pqd.accounting.accountant import Accountant
from pqd.accounting.charge_report import reporting_charges
from pqd.comparison.candidates import Candidates
from pqd.comparison.ranking import Ranking, RankingParameters, RankingPlan, plan_ranking
from pqd.engine.scan_plan import PrivacyUnit
from pqd.marginals.bound_profile import bind_profile
from pqd.marginals.figures import vector_parts
from pqd.progress import Progress, Step, silent, warn
from pqd.reports.models.ranking import RankingReport
from pqd.run.costs import cost_of
from pqd.run.execution import measure

if TYPE_CHECKING:
    from pqd.deciders import Noise


def bind_ranking(
    candidates: Candidates, parameters: RankingParameters, unit: PrivacyUnit | None
) -> RankingPlan:
    """Plan of a ranking of the candidates; only the header of the private table is read."""
    bound = bind_profile(candidates.tables, parameters.request, unit)
    return plan_ranking(bound, candidates.names, parameters)


@reporting_charges()
def run_ranking(
    private: object,
    synthetics: Mapping[str, object],
    parameters: RankingParameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
) -> RankingReport:
    """Rank with ``noise``; see ``pqd.compare``.  Without an accountant no account is kept."""
    parameters.check(list(map(str, synthetics)))
    candidates = Candidates(private, synthetics, accountant, parameters.request.column_names(unit))
    progress(Step.READING_COPIES)
    plan = bind_ranking(candidates, parameters, unit)
    bound = plan.bound
    notes = (*parameters.warnings, *bound.notes)
    warn(parameters.warnings, progress)
    outputs = measure([bound.measurement_set([plan.measurement])], accountant, noise, progress)
    ranking = Ranking(plan, outputs[plan.measurement].numbers, parameters.alpha)
    return RankingReport(
        private=candidates.private.label,
        alpha=parameters.alpha,
        copies=ranking.copies(candidates.files),
        better=tuple((plan.names[a], plan.names[b]) for a, b in ranking.better),
        columns=bound.columns,
        budget=vector_parts(plan.measurement),
        cost=cost_of(outputs.quote, accountant, unit),
        rows=ranking.rows,
        ways=max(each.ways for each in bound.marginals),
        marginals=ranking.marginals(),
        left_out=bound.left_out,
        notes=tuple(notes),
        replayed=not outputs.quote.new,
        simulated=noise.simulated,
    )
