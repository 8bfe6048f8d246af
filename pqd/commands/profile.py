"""``pqd profile``: how far the whole copy is from the private table, without a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant, Quote, existing, quote_of
from pqd.accounting.charge_report import reporting_charges, run_charges
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
    risk_request,
)
from pqd.commands.cell_progress import cell_progress
from pqd.deciders import ParameterError
from pqd.deciders.estimators import EstimatorOutput
from pqd.deciders.exact import Number
from pqd.deciders.numbers import epsilon_option
from pqd.deciders.options import option
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.errors import BudgetError, overtaken
from pqd.keywords import with_keyword_advice
from pqd.marginals.bound_profile import BoundProfile, bind_profile
from pqd.marginals.copy_findings import CopyColumns, short_findings
from pqd.marginals.figures import ProfileFigures, budget_parts
from pqd.marginals.measurements import CellsMeasurement
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.profile_plan import ProfilePlan, plan_profile
from pqd.marginals.relations import CopyRelations, independence_notes
from pqd.marginals.shortfall import shortfall_of
from pqd.marginals.value_figures import histograms_of_columns, values_of_columns
from pqd.parameters import privacy_unit
from pqd.planning.query_warnings import known_rows, size_notes
from pqd.planning.table_separation import public_tables, separate_tables
from pqd.progress import Progress, Step, silent, warn
from pqd.reports.models.profile import ProfileReport, ZoomedMarginal
from pqd.reports.models.standings import Standing
from pqd.reports.text.distances import refusal_text
from pqd.run.costs import added_costs, cost_of, dry_notes
from pqd.run.execution import Outputs, measure, quote_sets
from pqd.run.means import Means
from pqd.sql.schema import fold_case
from pqd.stated.column_facts import format_of_file
from pqd.stated.metadata_files import MetadataFile, stated_facts
from pqd.stated.text_formats import StatedFormat, text_formats

if TYPE_CHECKING:
    from pqd.deciders import Noise


# Largest number of columns beyond the tolerance of which both distributions are told.
_DRAWN = 5


@with_keyword_advice
def profile(  # noqa: PLR0913 - the facts of a profile, all but two by keyword
    private: object | None,
    synthetic: object,
    *,
    total_epsilon: Number = 1,
    tau: Number = "5%",
    ways: int = 2,
    columns: Sequence[str] | None = None,
    cells: Mapping[str, Any] | None = None,
    cells_from: object | None = None,
    distances: Sequence[str] = ("tv", "ks"),
    zoom: int = 0,
    target: str | None = None,
    delta: Number | None = None,
    alpha: Number = 0.05,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    metadata: MetadataFile | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    row_is_person: bool = False,
    copy_epsilon: Number | None = None,
    relations: Number = "50%",
    anyway: bool = False,
    private_rows: int | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    fresh: bool = False,
    text_format: StatedFormat = None,
    dry_run: bool = False,
    risk: Number | None = None,
    held_out: object | None = None,
    held_out_dataset: str | None = None,
) -> ProfileReport:
    """Distance of every column and every pair of columns, and one score of the whole copy.

    Parameters
    ----------
    private, synthetic
        As for ``pqd.audit``: the synthetic table, and all other arguments, are public.  For a plan
        of a copy alone (``dry_run``) the private table may be None.
    total_epsilon
        Privacy budget of the whole profile; by default 1.
    tau
        The tolerance of each distance, a share of the rows in per cent, such as ``"5%"``.
    ways
        1: columns; 2: columns and pairs; 3: also up to 100 triples, chosen by their names.
    columns
        Names of the columns; by default all columns except identifiers and free text.
    cells
        The cells of columns, by name: ``{"age": 20}`` (bins between quantiles of the copy),
        ``{"age": [0, 18, 65, 120]}`` (edges of bins), ``{"job": ["cook"]}`` (values).
    cells_from
        A public table that is no copy, such as an older release.  It gives columns, kinds and
        cells, so that the figures of several copies have one measure.  By default the copy does.
    distances
        Total variation is always measured.  ``"ks"`` (Kolmogorov-Smirnov) and ``"emd"`` (earth
        mover's) add distances of numbers and times.
    zoom
        Number of marginals whose cells are measured: the worst marginals.  This takes a fifth of
        the budget.
    target
        The name of a column.  A classifier of this column is trained on the copy and tested on the
        private table, for a tenth of the budget.  It needs ``pip install "pqd[learn]"``.
    delta
        If it is stated, the distances have Gaussian noise, which is smaller for many distances;
        the promise of epsilon may then fail with this probability.  By default delta is 0.
    alpha
        The error probability that the caller accepts: of each interval, of each p-value, and of all
        statements that the report makes together.
    facts
        Public facts of columns, as ``columns`` of ``pqd.audit``: ``{"zip": {"type": "text"}}``.
    metadata
        As for ``pqd.audit``.  Columns that it calls identifiers are not judged.
    unit, max_rows
        A column of the private table, such as ``"patient"``.  All rows with the same value are one
        person, who counts as at most ``max_rows`` rows: its j rows weigh ``min(1, max_rows / j)``
        each.  By default one row is one person.
    copy_epsilon
        The epsilon under which the copy was made, if its generator is differentially private.  A
        copy that is very near is then no error but a note.
    relations
        The share of the relations between columns that the copy must keep, ``"50%"`` or 0.5.  It is
        0 for columns that were shuffled one by one, and 1 for exact pairs.
    anyway
        Measure even if less than a fifth of the distances can be decided at this epsilon and this
        tolerance.  By default such a run is refused before it spends anything.
    row_is_person, private_rows, ledger, dataset, fresh
        As for ``pqd.audit``.
    dry_run
        Only plan and quote: which distances can be told from ``tau``; nothing is spent.
    risk
        Privacy budget of the usual attacks of ``pqd.risk``, beside ``total_epsilon``: the run costs
        the sum.  By default no attack is tried.  ``pqd.risk`` takes a choice of attacks, of secrets
        and of the tolerance.
    held_out, held_out_dataset
        With ``risk``, as for ``pqd.risk``: the held-out table is charged ``risk`` in an account of
        its own.

    Returns
    -------
    ProfileReport
        The whole report is ``report.cost.epsilon``-differentially private (with
        ``report.cost.delta``).  It has one release of all distances with the number of rows, one
        release of the three scores of relations, one release of the values of all columns, one
        release of cells for each of the ``zoom`` marginals, one release of the confusion matrix,
        and one release of the attacks.  What is released of held-out rows is
        ``report.risk.held_out_cost.epsilon``-differentially private for whoever is in them.

    Raises
    ------
    PqdError
        As ``pqd.audit``.  ParameterError also if less than a fifth of the distances can be decided;
        the message says what would do.
    """
    stated = stated_facts(
        facts, metadata, private, [synthetic], asks_unit=unit is None and not row_is_person
    )
    formats = text_formats(text_format, format_of_file(stated))
    parameters = ProfileParameters.parse(
        total_epsilon=total_epsilon,
        tau=tau,
        ways=ways,
        columns=columns,
        cells=cells,
        cells_from=formats.table(cells_from, "synthetic"),
        distances=distances,
        zoom=zoom,
        target=target,
        delta=delta,
        alpha=alpha,
        facts=stated,
        copy_epsilon=copy_epsilon,
        anyway=anyway,
        relations=relations,
        private_rows=private_rows,
    )
    people = privacy_unit(unit, max_rows, row_is_person=row_is_person)

    def means_of(table: object, name: str | None) -> Means:
        return Means.of(table, ledger, dataset=name, fresh=fresh, row_is_person=row_is_person)

    attacks = risk_request(
        risk,
        held_out=formats.table(held_out, "held-out"),
        held_out_dataset=held_out_dataset,
        accountant=None if held_out is None else means_of(held_out, held_out_dataset).accountant,
    )
    if private is None:
        if attacks:
            raise ParameterError(
                f"a plan of attacks ({option('--risk')}) is of a private table, which is missing; "
                "give it, or leave the attacks out"
            )
        if not dry_run:
            raise ParameterError(
                f"the private table is missing; give it, or take {option('--dry-run')}"
            )
        synthetic = formats.table(synthetic, "synthetic")
        with cell_progress() as progress:
            return run_profile_plan(
                None, synthetic, parameters, progress, unit=people, row_is_person=row_is_person
            )
    means = means_of(private, dataset)
    private, synthetic = formats.both(private, synthetic)
    with cell_progress() as progress:
        if dry_run:
            return run_profile_plan(
                private,
                synthetic,
                parameters,
                progress,
                accountant=means.accountant,
                unit=people,
                risk=attacks,
            )
        return run_profile(
            private,
            synthetic,
            parameters,
            means.noise(),
            progress,
            accountant=means.accountant,
            unit=people,
            risk=attacks,
        )


@reporting_charges()
def run_profile(  # noqa: PLR0913 - those of a profile, read, and of attacks
    private: object,
    synthetic: object,
    parameters: ProfileParameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    risk: RiskRequest | None = None,
) -> ProfileReport:
    """Profile with ``noise``; see ``pqd.profile``.  Without an accountant no account is kept.

    The distances are measured first, in one charge with the attacks.  They choose the worst
    marginals, whose cells are then measured.  The attacks on held-out rows come last.  Before the
    first charge, the budgets of both tables are checked for all of this.
    """
    secret, held_out = open_both(private, risk, synthetic)
    tables = _separated(secret, synthetic, parameters, accountant, unit)
    plan = _plan(tables, parameters, unit, progress, accountant)
    risks = _risks(plan, risk, held_out)
    sets = [plan.measurements, *(each.own for each in risks)]
    shortfall = None if accountant and accountant.replaying else shortfall_of(plan)
    if shortfall:
        # This is a function of public facts, so the refusal tells nothing of the private table.
        raise ParameterError(refusal_text(shortfall))
    if plan.zoom:
        # If the budget does not cover the whole profile, refuse before the distances are paid for.
        _quotes(plan, risks, accountant, progress)
    quote_both(sets, risks, accountant, held_out, progress)
    outputs = measure(sets, accountant, noise, progress, command="profile")
    runs = [outputs]
    released = outputs[plan.distances].numbers
    chosen, cells = plan.worst(released), plan.cells(released)
    if cells:
        runs.append(_zoomed_outputs(plan, cells, accountant, noise, progress))
    kept = outputs[plan.relations].numbers if plan.relations else None
    figures = ProfileFigures(plan, plan.estimates(released), kept)
    zoomed = [
        figures.zoomed(marginal, runs[-1][measurement].numbers)
        for marginal, measurement in zip(chosen, cells, strict=False)
    ]
    report = _report(plan, risks, figures, [each.quote for each in runs], accountant, zoomed)
    target = None
    if plan.target and plan.confusion:
        counts = outputs[plan.confusion].numbers
        epsilon, rounded = plan.confusion.epsilon, plan.confusion.parts > 1
        facts = plan.target.facts(counts, epsilon, parameters.alpha, rounded=rounded)
        target = replace(facts, epsilon=plan.confusion.cost)
    estimates, counts = plan.estimates(released), outputs[plan.histograms].numbers
    worst = [each.columns[0] for each in report.of_ways(1) if each.standing is Standing.BEYOND]
    held = measure_held_out(risks, held_out, noise, progress, command="profile")
    attacks = risk_reports(
        risks, outputs, held, accountant=accountant, held_out=held_out, noise=noise
    )
    return replace(
        report,
        values=values_of_columns(plan, estimates, counts),
        histograms=histograms_of_columns(plan, estimates, counts, worst[:_DRAWN]),
        target=target,
        # The whole run has one cost.
        risk=replace(attacks[0], cost=report.cost) if attacks else None,
        held_out_cost=attacks[0].held_out_cost if attacks else None,
        replayed=not any(each.quote.new for each in (*runs, *([held] if held else []))),
        simulated=noise.simulated,
    )


def run_profile_plan(  # noqa: PLR0913 - as run_profile
    private: object | None,
    synthetic: object,
    parameters: ProfileParameters,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    row_is_person: bool = False,
    risk: RiskRequest | None = None,
) -> ProfileReport:
    """Plan of a profile, from the copy alone: which distances can be decided, and the price.

    A private table is only looked up in the ledger, by its place and name.  Without a private
    table, and unless ``row_is_person`` is stated, a note tells of a repeated key of persons.
    Nothing is spent.
    """
    held_out = None
    if private is None:
        tables = public_tables(
            synthetic,
            names=parameters.request.column_names(unit),
            unit=unit,
            row_is_person=row_is_person,
            cells_from=parameters.request.cells_from,
        )
    else:
        secret, held_out = open_both(private, risk, synthetic, dry=True)
        tables = _separated(secret, synthetic, parameters, accountant, unit)
    plan = _plan(tables, parameters, unit, progress, accountant)
    warn(plan.bound.warnings, progress)
    known = None if private is None else existing(accountant)
    risks = _risks(plan, risk, held_out)
    quotes = _quotes(plan, risks, known, progress)
    report = _report(plan, risks, ProfileFigures(plan, None), quotes, known)
    notes = (*report.notes, *dry_notes(quotes, known, plan.bound.tables.private_label))
    other_cost, other_notes = price_of_held_out(risks, held_out, progress)
    attacks = [planned_report(each, report.cost, other_cost) for each in risks]
    return replace(
        report,
        shortfall=shortfall_of(plan),
        dry=True,
        notes=(*notes, *other_notes),
        risk=attacks[0] if attacks else None,
        held_out_cost=other_cost,
    )


def _separated(
    private: object,
    synthetic: object,
    parameters: ProfileParameters,
    accountant: Accountant | None,
    unit: PrivacyUnit | None,
) -> SyntheticTables:
    names = parameters.request.column_names(unit)
    return separate_tables(
        private,
        synthetic,
        accountant=accountant,
        names=names,
        unit=unit,
        cells_from=parameters.request.cells_from,
    )


def _plan(
    tables: SyntheticTables,
    parameters: ProfileParameters,
    unit: PrivacyUnit | None,
    progress: Progress,
    accountant: Accountant | None,
) -> ProfilePlan:
    progress(Step.READING_COPY)
    bound = bind_profile(tables, parameters.request, unit)
    known = known_rows(tables, parameters.request.private_rows, accountant)
    independence = independence_notes(CopyRelations(bound))
    sizes = size_notes(tables, known)
    notes = (*parameters.warnings(), *bound.notes, *independence, *sizes)
    bound = replace(bound, notes=notes)
    if parameters.target is not None:
        progress(Step.TRAINING)
    return plan_profile(bound, parameters)


def _risks(
    plan: ProfilePlan, request: RiskRequest | None, held_out: HeldOut | None
) -> list[PlannedRisk]:
    """Plan of the attacks on the copy; none without a request."""
    bound, parameters = plan.bound, plan.parameters
    return plan_risks(
        bound.tables,
        parameters.request,
        parameters.alpha,
        request,
        bound.unit,
        held_out,
        [parameters.copy_epsilon],
    )


def _quotes(
    plan: ProfilePlan,
    risks: Sequence[PlannedRisk],
    accountant: Accountant | None,
    progress: Progress,
) -> tuple[Quote, ...]:
    """Quotes of the whole profile, which include the cells that the distances will choose.

    Raises
    ------
    BudgetError
        If the budget does not cover the whole profile.
    """
    if accountant is None:
        attacks = ([each.measurement] for each in risks)
        return (quote_of([plan.first, plan.unchosen_cells, *attacks]),)
    own = [each.own for each in risks]
    quote = quote_sets([plan.measurements, *own], accountant, progress)
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
    """Outputs of the cells, which are measured after the distances are paid for.

    Raises
    ------
    RunError
        If another run has spent the budget for the cells in the meantime.
    """
    try:
        return measure(
            [plan.bound.measurement_set(cells)], accountant, noise, progress, command="profile"
        )
    except BudgetError as error:
        if not run_charges().spent:
            raise
        paid = sum((each.cost for each in plan.first if each is not plan.confusion), Fraction(0))
        total = option(f"--total-epsilon {epsilon_option(paid)}")
        advice = (
            f". Without {option('--zoom')} and {option('--target')}, and with {total}, the same "
            "profile replays them at no cost"
        )
        raise overtaken("the distances", error, advice) from None


def _report(
    plan: ProfilePlan,
    risks: Sequence[PlannedRisk],
    figures: ProfileFigures,
    quotes: Sequence[Quote],
    accountant: Accountant | None,
    zoomed: Sequence[ZoomedMarginal] = (),
) -> ProfileReport:
    """Report of the public facts and of the known figures."""
    bound, parameters = plan.bound, plan.parameters
    return ProfileReport(
        private=bound.tables.private_label,
        synthetic=bound.label,
        tolerance=parameters.tolerance,
        alpha=parameters.alpha,
        overall=figures.overall,
        scores=figures.scores,
        marginals=figures.distances,
        relations=figures.relations,
        columns=bound.columns,
        budget=(*budget_parts(plan), *map(risk_part, risks)),
        cost=added_costs([cost_of(quote, accountant, bound.unit) for quote in quotes]),
        copy_rows=bound.copy_rows,
        rows=figures.rows,
        unseen=figures.unseen,
        alarm=figures.alarm,
        zoomed=tuple(zoomed),
        cells_from=bound.tables.cells_from.label if bound.tables.cells_from else "",
        left_out=bound.left_out,
        findings=tuple(short_findings(_first_copy(bound))),
        notes=tuple(bound.notes),
    )


def _first_copy(bound: BoundProfile) -> CopyColumns:
    """Loaded columns of the copy, whose values were counted for the marginals."""
    unit = {fold_case(bound.unit.column)} if bound.unit else set()
    names = [name for name in bound.tables.engine.names if fold_case(name) not in unit]
    return CopyColumns(bound.tables, bound.schema, bound.schema, names)
