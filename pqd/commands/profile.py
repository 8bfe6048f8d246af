"""``pqd profile``: how far the whole copy is from the private table, without a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pqd.accounting.accountant import quote_of
from pqd.accounting.run_charges import run_charges, telling_charges
from pqd.deciders.estimators import EstimatorOutput
from pqd.distances.bound_profile import bind_profile
from pqd.distances.figures import ProfileFigures, budget_parts
from pqd.distances.profile_plan import plan_profile
from pqd.errors import BudgetError, overtaken
from pqd.execution import measure, quote_sets
from pqd.planning.table_separation import public_tables, separate_tables
from pqd.progress import Progress, silent, warn
from pqd.reports.models.profile import ProfileReport
from pqd.reports.text.numbers import epsilon_option
from pqd.reports.text.remarks import stages
from pqd.results import added_costs, cost_of

if TYPE_CHECKING:
    from pqd.accounting.accountant import Accountant, Quote
    from pqd.deciders import Noise
    from pqd.distances.measurements import CellsMeasurement
    from pqd.distances.profile_parameters import ProfileParameters
    from pqd.distances.profile_plan import ProfilePlan
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.engine.synthetic_tables import SyntheticTables
    from pqd.execution import Outputs
    from pqd.reports.models.profile import ZoomedMarginal


@telling_charges()
def run_profile(
    private: object,
    synthetic: object,
    parameters: ProfileParameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
) -> ProfileReport:
    """Profile with ``noise``; see ``pqd.profile``.  Without an accountant no account is kept.

    The cells of the worst marginals are measured second, since the released distances choose them.
    """
    tables = _separated(private, synthetic, parameters, accountant, unit)
    plan = _plan(tables, parameters, unit, progress)
    if plan.zoom:
        # Refusals come before the distances are paid for.
        _quotes(plan, accountant, progress)
    outputs = measure([plan.measurements], accountant, noise, progress)
    runs = [outputs]
    released = outputs[plan.distances].numbers
    chosen, cells = plan.worst(released), plan.cells(released)
    if cells:
        runs.append(_zoomed_outputs(plan, cells, accountant, noise, progress))
    figures = ProfileFigures(plan, plan.estimates(released))
    zoomed = [
        figures.zoomed(marginal, runs[-1][measurement].numbers)
        for marginal, measurement in zip(chosen, cells, strict=False)
    ]
    report = _report(plan, figures, [each.quote for each in runs], accountant, zoomed)
    target = None
    if plan.target and plan.confusion:
        counts = outputs[plan.confusion].numbers
        facts = plan.target.facts(counts, plan.confusion.epsilon, parameters.alpha)
        target = replace(facts, epsilon=plan.confusion.cost)
    return replace(
        report,
        target=target,
        replayed=not any(each.quote.new for each in runs),
        simulated=noise.simulated,
    )


def run_profile_plan(
    private: object | None,
    synthetic: object,
    parameters: ProfileParameters,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
) -> ProfileReport:
    """Plan of a profile, from the copy alone: what can be told from the tolerance, and the price.

    Of the private table, if there is one, only that it is another than the copy, and what a ledger
    has of it.  Nothing is spent.
    """
    if private is None:
        tables = public_tables(synthetic, names=parameters.request.mentioned(unit))
    else:
        tables = _separated(private, synthetic, parameters, accountant, unit)
    plan = _plan(tables, parameters, unit, progress)
    warn(plan.bound.warnings, progress)
    known = accountant if private is not None and accountant and accountant.exists() else None
    quotes = _quotes(plan, known, progress)
    return replace(_report(plan, ProfileFigures(plan, None), quotes, known), dry=True)


def _separated(
    private: object,
    synthetic: object,
    parameters: ProfileParameters,
    accountant: Accountant | None,
    unit: PrivacyUnit | None,
) -> SyntheticTables:
    names = parameters.request.mentioned(unit)
    return separate_tables(private, synthetic, accountant=accountant, names=names)


def _plan(
    tables: SyntheticTables,
    parameters: ProfileParameters,
    unit: PrivacyUnit | None,
    progress: Progress,
) -> ProfilePlan:
    progress(stages.READING_COPY)
    bound = bind_profile(tables, parameters.request, unit)
    bound = replace(bound, notes=(*parameters.warnings(), *bound.notes))
    if parameters.target is not None:
        progress(stages.TRAINING)
    return plan_profile(bound, parameters)


def _quotes(
    plan: ProfilePlan, accountant: Accountant | None, progress: Progress
) -> tuple[Quote, ...]:
    """Quotes of the whole profile: of the cells too, whichever the distances will choose.

    Raises
    ------
    BudgetError
        If the budget does not reach for all of it.
    """
    if accountant is None:
        return (quote_of([plan.first, plan.unchosen_cells]),)
    quote = quote_sets([plan.measurements], accountant, progress)
    known = quote.known.get(plan.distances.cache_key)
    cells = plan.cells(known.numbers) if isinstance(known, EstimatorOutput) else plan.unchosen_cells
    if not cells:
        return (quote,)
    sets = [plan.bound.measurement_set(cells)]
    return quote, quote_sets(sets, accountant, progress, after=quote.charge)


def _zoomed_outputs(
    plan: ProfilePlan,
    cells: Sequence[CellsMeasurement],
    accountant: Accountant | None,
    noise: Noise,
    progress: Progress,
) -> Outputs:
    """Outputs of the cells, once the distances are paid for.

    Raises
    ------
    RunError
        If another run has spent meanwhile what this one had counted on.
    """
    try:
        return measure([plan.bound.measurement_set(cells)], accountant, noise, progress)
    except BudgetError as error:
        if not run_charges().spent:
            raise
        advice = (
            ". Without --zoom and --target, and with --total-epsilon "
            f"{epsilon_option(plan.distances.cost)}, the same profile replays them at no cost"
        )
        raise overtaken("the distances", error, advice) from None


def _report(
    plan: ProfilePlan,
    figures: ProfileFigures,
    quotes: Sequence[Quote],
    accountant: Accountant | None,
    zoomed: Sequence[ZoomedMarginal] = (),
) -> ProfileReport:
    """Report of the public facts, and of the figures as far as they are known."""
    bound, parameters = plan.bound, plan.parameters
    return ProfileReport(
        private=bound.tables.private_label,
        synthetic=bound.tables.label,
        tolerance=parameters.tolerance,
        alpha=parameters.alpha,
        overall=figures.overall,
        scores=figures.scores,
        marginals=figures.distances,
        columns=bound.columns,
        budget=budget_parts(plan),
        cost=added_costs([cost_of(quote, accountant, bound.unit) for quote in quotes]),
        copy_rows=bound.copy_rows[0],
        rows=figures.rows,
        unseen=figures.unseen,
        zoomed=tuple(zoomed),
        left_out=bound.left_out,
        notes=bound.notes,
    )
