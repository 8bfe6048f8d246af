"""``pqd compare`` without queries: one release ranks the copies by their overall quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant, existing
from pqd.accounting.charge_report import reporting_charges
from pqd.attacks.planned_risk import (
    HeldOut,
    PlannedRisk,
    RiskRequest,
    measure_held_out,
    open_both,
    plan_risks,
    planned_report,
    price_of_held_out,
    quote_both,
    risk_part,
    risk_reports,
)
from pqd.comparison.candidates import Candidates
from pqd.comparison.ranking import (
    Ranking,
    RankingParameters,
    RankingPlan,
    plan_ranking,
    planned_copies,
)
from pqd.deciders.note import Note
from pqd.engine.scan_plan import PrivacyUnit
from pqd.marginals.bound_profile import bind_profiles
from pqd.marginals.figures import relations_part, vector_parts
from pqd.planning.query_warnings import known_rows, size_notes
from pqd.progress import Progress, Step, silent, warn
from pqd.reports.models.figure import Figure
from pqd.reports.models.ranking import RankingReport
from pqd.reports.models.risk import RiskReport
from pqd.run.costs import cost_of, dry_notes
from pqd.run.execution import measure, quote_dry
from pqd.run.measurement import MeasurementSet

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
    planned = _planned(private, synthetics, parameters, progress, accountant, unit, risk)
    plan, risks, held_out = planned.plan, planned.risks, planned.held_out
    quote_both(planned.sets, risks, accountant, held_out, progress)
    outputs = measure(planned.sets, accountant, noise, progress, command="compare")
    held = measure_held_out(risks, held_out, noise, progress, command="compare")
    kept = outputs[plan.relations].numbers if plan.relations else ()
    ranking = Ranking(plan, outputs[plan.measurement].numbers, parameters.alpha, kept)
    reports = risk_reports(
        risks, outputs, held, accountant=accountant, held_out=held_out, noise=noise
    )
    return planned.report(
        reports,
        ranking.order,
        alpha=parameters.alpha,
        copies=ranking.copies(planned.candidates.files),
        better=tuple((plan.names[a], plan.names[b]) for a, b in ranking.better),
        cost=cost_of(outputs.quote, accountant, unit),
        rows=ranking.rows,
        marginals=ranking.marginals(),
        held_out_cost=held_out.cost(held.quote, unit) if held and held_out else None,
        notes=planned.notes,
        replayed=not any(each.quote.new for each in (outputs, held) if each),
        simulated=noise.simulated,
    )


def run_ranking_plan(
    private: object,
    synthetics: Mapping[str, object],
    parameters: RankingParameters,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    risk: RiskRequest | None = None,
) -> RankingReport:
    """Plan of a ranking, from the copies alone: how sure it will be, and the price on both tables.

    A private table is only looked up in its ledger, by its place and name.  Nothing is spent.
    """
    planned = _planned(private, synthetics, parameters, progress, accountant, unit, risk, dry=True)
    plan, held_out = planned.plan, planned.held_out
    known, quote = existing(accountant), quote_dry(planned.sets, accountant, progress)
    cost = cost_of(quote, known, unit)
    other_cost, other_notes = price_of_held_out(planned.risks, held_out, progress)
    own_notes = dry_notes([quote], known, planned.candidates.private.label)
    rows, stated = plan.profiles[0].copy_rows, parameters.request.private_rows
    return planned.report(
        [planned_report(each, cost, other_cost) for each in planned.risks],
        range(len(plan.names)),
        alpha=parameters.alpha,
        copies=planned_copies(plan, planned.candidates.files, stated, parameters.alpha),
        better=(),
        cost=cost,
        rows=Figure(*[float(stated or rows)] * 3),
        held_out_cost=other_cost,
        notes=(*planned.notes, *own_notes, *other_notes),
        dry=True,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Planned:
    """Planned ranking, with the attacks that are tried too, and the notes to show."""

    candidates: Candidates
    plan: RankingPlan
    risks: Sequence[PlannedRisk]
    held_out: HeldOut | None
    notes: tuple[Note, ...]

    @property
    def sets(self) -> list[MeasurementSet]:
        """All that is measured on the private table."""
        return [self.plan.measurements, *(each.own for each in self.risks)]

    def report(
        self,
        risks: Sequence[RiskReport],
        order: Sequence[int],
        **facts: Any,  # noqa: ANN401 - fields of the report
    ) -> RankingReport:
        """Report with what is public, the ``risks`` of the copies in their ``order``, and facts."""
        plan, cells_from = self.plan, self.candidates.cells_from
        left_out = (each for one in plan.profiles for each in one.left_out)
        attacked = order if risks else ()
        # Equal copies share one measurement, which is paid for once.
        drawn = {self.risks[copy].measurement.cache_key: self.risks[copy] for copy in attacked}
        return RankingReport(
            private=self.candidates.private.label,
            columns=tuple(each.name for each in plan.profiles[0].columns),
            budget=(
                *vector_parts(plan.measurement),
                *([relations_part(plan.relations)] if plan.relations else []),
                *map(risk_part, drawn.values()),
            ),
            ways=max(each.ways for profile in plan.profiles for each in profile.marginals),
            risks={plan.names[copy]: risks[copy] for copy in attacked},
            cells_from=cells_from.label if cells_from else "",
            left_out=tuple(dict.fromkeys(left_out)),
            **facts,
        )


def _planned(  # noqa: PLR0913 - those of a ranking, and of attacks
    private: object,
    synthetics: Mapping[str, object],
    parameters: RankingParameters,
    progress: Progress,
    accountant: Accountant | None,
    unit: PrivacyUnit | None,
    risk: RiskRequest | None,
    *,
    dry: bool = False,
) -> _Planned:
    """Planned ranking; a dry run reads no row of a private table."""
    parameters.check(list(map(str, synthetics)))
    request = parameters.request
    # ``Candidates`` refuses what is no mapping.
    given = synthetics.values() if isinstance(synthetics, Mapping) else ()
    secret, held_out = open_both(private, risk, *given, dry=dry)
    names = request.column_names(unit)
    candidates = Candidates(secret, synthetics, accountant, names, unit, request.cells_from)
    progress(Step.READING_COPIES)
    plan = bind_ranking(candidates, parameters, unit)
    bound, *_ = plan.profiles
    tables = bound.tables
    sizes = size_notes(tables, known_rows(tables, request.private_rows, accountant))
    warn(parameters.warnings, progress)
    made_with = [*map(parameters.copy_epsilon.get, plan.names)]
    return _Planned(
        candidates=candidates,
        plan=plan,
        risks=plan_risks(tables, request, parameters.alpha, risk, unit, held_out, made_with),
        held_out=held_out,
        notes=(*parameters.warnings, *bound.notes, *sizes),
    )
