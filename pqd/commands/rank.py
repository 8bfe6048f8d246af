"""``pqd compare`` without queries: one release ranks the copies by their overall quality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pqd.accounting.accountant import Accountant
from pqd.accounting.charge_report import reporting_charges
from pqd.attacks.planned_risk import (
    RiskRequest,
    measure_held_out,
    open_both,
    plan_risks,
    quote_both,
    risk_part,
    risk_reports,
)
from pqd.comparison.candidates import Candidates
from pqd.comparison.ranking import Ranking, RankingParameters, RankingPlan, plan_ranking
from pqd.engine.scan_plan import PrivacyUnit
from pqd.marginals.bound_profile import bind_profiles
from pqd.marginals.figures import relations_part, vector_parts
from pqd.planning.query_warnings import known_rows, size_notes
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
    profiles = bind_profiles(candidates.tables, parameters.request, unit)
    return plan_ranking(profiles, candidates.names, parameters)


@reporting_charges()
def run_ranking(  # noqa: PLR0913 - those of a ranking, read, and of attacks
    private: object,
    synthetics: Mapping[str, object],
    parameters: RankingParameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    risk: RiskRequest | None = None,
) -> RankingReport:
    """Rank with ``noise``; see ``pqd.compare``.  Without an accountant no account is kept.

    Attacks on all copies are in one charge with the ranking, and those on held-out rows in a second
    charge.  Before the first charge, the budgets of both tables are checked.
    """
    parameters.check(list(map(str, synthetics)))
    request = parameters.request
    names = request.column_names(unit)
    # ``Candidates`` refuses what is no mapping.
    given = synthetics.values() if isinstance(synthetics, Mapping) else ()
    secret, held_out = open_both(private, risk, *given)
    candidates = Candidates(secret, synthetics, accountant, names, unit, request.cells_from)
    progress(Step.READING_COPIES)
    plan = bind_ranking(candidates, parameters, unit)
    bound, *_ = plan.profiles
    tables = bound.tables
    sizes = size_notes(tables, known_rows(tables, request.private_rows, accountant))
    notes = (*parameters.warnings, *bound.notes, *sizes)
    warn(parameters.warnings, progress)
    made_with = [*map(parameters.copy_epsilon.get, plan.names)]
    risks = plan_risks(tables, request, parameters.alpha, risk, unit, held_out, made_with)
    sets = [plan.measurements, *(each.own for each in risks)]
    quote_both(sets, risks, accountant, held_out, progress)
    outputs = measure(sets, accountant, noise, progress, command="compare")
    held = measure_held_out(risks, held_out, noise, progress, command="compare")
    kept = outputs[plan.relations].numbers if plan.relations else ()
    ranking = Ranking(plan, outputs[plan.measurement].numbers, parameters.alpha, kept)
    reports = risk_reports(
        risks, outputs, held, accountant=accountant, held_out=held_out, noise=noise
    )
    attacked = ranking.order if risks else ()
    return RankingReport(
        private=candidates.private.label,
        alpha=parameters.alpha,
        copies=ranking.copies(candidates.files),
        better=tuple((plan.names[a], plan.names[b]) for a, b in ranking.better),
        columns=tuple(each.name for each in bound.columns),
        budget=(
            *vector_parts(plan.measurement),
            *([relations_part(plan.relations)] if plan.relations else []),
            *(risk_part(risks[copy]) for copy in attacked),
        ),
        cost=cost_of(outputs.quote, accountant, unit),
        rows=ranking.rows,
        ways=max(each.ways for profile in plan.profiles for each in profile.marginals),
        marginals=ranking.marginals(),
        cells_from=candidates.cells_from.label if candidates.cells_from else "",
        left_out=tuple(dict.fromkeys(each for one in plan.profiles for each in one.left_out)),
        notes=tuple(notes),
        risks={plan.names[copy]: reports[copy] for copy in attacked},
        held_out_cost=held_out.cost(held.quote, unit) if held and held_out else None,
        replayed=not any(each.quote.new for each in (outputs, held) if each),
        simulated=noise.simulated,
    )
