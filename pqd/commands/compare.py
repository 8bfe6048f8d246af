"""``pqd compare``: one estimate per query, and the verdicts on every candidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from pqd.accounting.accountant import Accountant
from pqd.accounting.charge_report import reporting_charges, run_charges
from pqd.attacks.planned_risk import risk_request
from pqd.commands.cell_progress import cell_progress
from pqd.commands.rank import run_ranking, run_ranking_plan
from pqd.comparison.candidates import Candidates
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.comparison.comparison_results import outcome_of
from pqd.comparison.leaderboard import Evidence, leaderboard
from pqd.comparison.ranking import RankingParameters
from pqd.comparison.references import add_references
from pqd.deciders.distances.relations import USUAL_BAR
from pqd.deciders.exact import Number
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import BudgetError, overtaken
from pqd.keywords import with_keyword_advice
from pqd.parameters import Parameters, privacy_unit
from pqd.planning.binding import all_mistakes
from pqd.planning.planned_comparison import ComparisonPlan, PlannedComparison
from pqd.planning.table_separation import column_names
from pqd.progress import Progress, silent
from pqd.reports.models.compare import ComparedQuery, CompareReport, ranking_queries
from pqd.reports.models.ranking import RankingReport
from pqd.reports.text.numbers import EACH_ITS_OWN
from pqd.run.costs import added_costs, cost_of
from pqd.run.execution import Outputs, measure
from pqd.run.means import Means
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries
from pqd.stated.budgets import AUTO
from pqd.stated.column_facts import format_of_file
from pqd.stated.metadata_files import MetadataFile, stated_facts
from pqd.stated.queries import check_ranking, scaled, stated_for, with_tolerances
from pqd.stated.text_formats import StatedFormat, text_formats

if TYPE_CHECKING:
    from pqd.deciders import Noise


@overload
def compare(
    private: object,
    synthetics: Mapping[str, object],
    queries: str | Query | Iterable[str | Query],
    *,
    tau: Number | None = ...,
    epsilon: Number,
    alpha: Number = ...,
    estimator: str = ...,
    columns: Mapping[str, Mapping[str, Any]] | None = ...,
    metadata: MetadataFile | None = ...,
    weights: Mapping[str, Number] | None = ...,
    tolerances: Mapping[str, Number] | None = ...,
    references: Number | None = ...,
    ledger: str | Path | None = ...,
    dataset: str | None = ...,
    fresh: bool = ...,
    unit: str | None = ...,
    max_rows: int = ...,
    row_is_person: bool = ...,
    private_rows: int | None = ...,
    scale: str | None = ...,
    text_format: StatedFormat = ...,
) -> CompareReport: ...


@overload
def compare(
    private: object,
    synthetics: Mapping[str, object],
    queries: None = None,
    *,
    total_epsilon: Number,
    alpha: Number = ...,
    ways: int | None = ...,
    columns: Sequence[str] | None = ...,
    cells: Mapping[str, Any] | None = ...,
    cells_from: object | None = ...,
    marginals: bool = ...,
    copy_epsilon: Mapping[str, Number] | None = ...,
    relations: Number = ...,
    facts: Mapping[str, Mapping[str, Any]] | None = ...,
    metadata: MetadataFile | None = ...,
    ledger: str | Path | None = ...,
    dataset: str | None = ...,
    fresh: bool = ...,
    unit: str | None = ...,
    max_rows: int = ...,
    row_is_person: bool = ...,
    private_rows: int | None = ...,
    text_format: StatedFormat = ...,
    risk: Number | None = ...,
    held_out: object | None = ...,
    held_out_dataset: str | None = ...,
    dry_run: bool = ...,
) -> RankingReport: ...


@with_keyword_advice
def compare(  # noqa: PLR0913 - the facts of a comparison, all but three by keyword
    private: object,
    synthetics: Mapping[str, object],
    queries: str | Query | Iterable[str | Query] | None = None,
    *,
    tau: Number | None = None,
    epsilon: Number | None = None,
    total_epsilon: Number | None = None,
    alpha: Number = 0.05,
    estimator: str = AUTO,
    columns: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None,
    weights: Mapping[str, Number] | None = None,
    tolerances: Mapping[str, Number] | None = None,
    references: Number | None = None,
    ways: int | None = None,
    cells: Mapping[str, Any] | None = None,
    cells_from: object | None = None,
    marginals: bool = False,
    copy_epsilon: Mapping[str, Number] | None = None,
    relations: Number | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    metadata: MetadataFile | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    fresh: bool = False,
    unit: str | None = None,
    max_rows: int = 1,
    row_is_person: bool = False,
    private_rows: int | None = None,
    scale: str | None = None,
    text_format: StatedFormat = None,
    risk: Number | None = None,
    held_out: object | None = None,
    held_out_dataset: str | None = None,
    dry_run: bool = False,
) -> CompareReport | RankingReport:
    """Compare synthetic tables, by ``queries`` or by overall quality, at the cost of one table.

    Parameters
    ----------
    private
        The private table, as for ``pqd.audit``.
    synthetics
        The candidates by name: paths or frames.  They, and all other arguments, are public.
    queries
        One SQL text, several SQL texts, or ``pqd.Query`` objects.  Without queries the candidates
        are ranked by their overall quality: 100 % minus the mean distance of all columns and pairs.
    tau
        The tolerance: an amount, or a share of each candidate's own answer such as ``"5%"``.  It is
        not needed if every query has a tolerance of its own.
    epsilon
        Privacy budget per query, whatever the number of candidates.
    total_epsilon
        Without queries: the privacy budget of the whole ranking.
    alpha
        The error probability that the caller accepts.  It is the level of p-values and intervals.
        All bands of the leaderboard together have this level, and so have all pairs together.
    estimator
        ``"auto"`` (chosen for each query on public data), or the id of an estimator, which is taken
        for all queries that it fits: ``laplace race_to_the_top sum_and_count rank_counts
        exponential split``.
    columns
        Public facts of columns; other facts come from all candidates together.  Without queries:
        the names of the columns to compare (by default all); the argument ``facts`` then has their
        facts.
    metadata
        A file with facts of columns, as for ``pqd.audit``; it is read only if it is named.
    weights, tolerances
        By query id: the weight of a query in the leaderboard (by default 1), and its tolerance, as
        for ``pqd.audit``.
    references
        A privacy budget.  If it is stated, two reference tables are compared too: independent
        marginals, measured at this budget, and the first candidate resampled.
    ways, cells, cells_from
        Without queries, as for ``pqd.profile``.
    marginals
        Without queries: also measure the distance of every column and pair for each candidate.
        These distances share the budget, so the ranking becomes less certain.
    copy_epsilon
        Without queries: the epsilon under which a copy was made, by its name, if its generator is
        differentially private.  A copy that is very near is then no error but a note.
    relations
        Without queries: the share of the relations between columns that each copy must keep, by
        default one half.
    ledger, dataset, fresh, unit, max_rows, row_is_person, private_rows, scale, text_format
        As for ``pqd.audit``.
    risk
        Without queries: privacy budget of the usual attacks of ``pqd.risk``, beside
        ``total_epsilon``: the run costs the sum.  The copies share it equally, so each copy is
        attacked at ``risk`` divided by their number.  By default no attack is tried.
    held_out, held_out_dataset
        With ``risk``, as for ``pqd.risk``: the held-out table is charged ``risk`` in an account of
        its own.
    dry_run
        Without queries: only plan and quote, from the copies alone: how sure their qualities will
        be, which attacks can be decided, and the price on both tables.  No private row is read.

    Returns
    -------
    CompareReport or RankingReport
        The whole report is ``report.cost.epsilon``-differentially private: it has one estimate per
        query, at that query's budget; the rest is post-processing or a function of public data.
        Without queries it has one release of the qualities with the number of rows, and one of the
        relations of all copies, a tenth of the budget; and one of the attacks on each copy.  What
        is released of held-out rows is ``report.held_out_cost.epsilon``-differentially private for
        whoever is in them.

    Raises
    ------
    PqdError
        As ``pqd.audit``.
    """
    means = Means.of(private, ledger, dataset=dataset, fresh=fresh, row_is_person=row_is_person)
    people = privacy_unit(unit, max_rows, row_is_person=row_is_person)
    named = columns if columns is not None and not isinstance(columns, Mapping) else None
    stated = columns if isinstance(columns, Mapping) else None
    of_queries = {
        "tau": tau,
        "epsilon": epsilon,
        "estimator": estimator != AUTO,
        "columns as facts (facts are stated by facts=)": stated,
        "weights": weights,
        "tolerances": tolerances,
        "references": references,
        "scale": scale,
    }
    of_ranking = {
        "ways": ways,
        "cells": cells,
        "cells_from": cells_from is not None,
        "marginals": marginals,
        "copy_epsilon": copy_epsilon,
        "relations": relations is not None,
        "facts": facts,
        "columns by name": named,
        "risk": risk is not None,
        "held_out": held_out is not None,
        "held_out_dataset": held_out_dataset,
        "dry_run": dry_run,
    }
    ranks = check_ranking(queries, total_epsilon, of_queries, of_ranking)
    read = stated_facts(
        facts if ranks else stated,
        metadata,
        private,
        # Files beside several copies may differ, so none is looked for.
        (),
        asks_unit=unit is None and not row_is_person,
    )
    formats = text_formats(text_format, format_of_file(read))
    if ranks:
        ranking = RankingParameters.parse(
            total_epsilon=0 if total_epsilon is None else total_epsilon,
            alpha=alpha,
            ways=2 if ways is None else ways,
            columns=named,
            cells=cells,
            cells_from=formats.table(cells_from, "synthetic"),
            marginals=marginals,
            copy_epsilon=copy_epsilon,
            relations=USUAL_BAR if relations is None else relations,
            facts=read,
            private_rows=private_rows,
        )
        other = None
        if held_out is not None:
            other = Means.of(
                held_out, ledger, dataset=held_out_dataset, fresh=fresh, row_is_person=row_is_person
            ).accountant
        attacks = risk_request(
            risk,
            held_out=formats.table(held_out, "held-out"),
            held_out_dataset=held_out_dataset,
            accountant=other,
        )
        secret, candidates = formats.all(private, synthetics)
        with cell_progress() as progress:
            run = run_ranking_plan if dry_run else partial(run_ranking, noise=means.noise())
            return run(
                secret,
                candidates,
                ranking,
                accountant=means.accountant,
                unit=people,
                progress=progress,
                risk=attacks,
            )
    secret, candidates = formats.all(private, synthetics)
    copies = candidates.values() if isinstance(candidates, Mapping) else ()
    with all_mistakes(secret, copies, read, means.accountant):
        parsed = as_queries(() if queries is None else queries)
    workload, tau = with_tolerances(scaled(parsed, scale), tau, tolerances)
    shared = Parameters.parse(
        tau=tau,
        epsilon=epsilon,
        alpha=alpha,
        mechanism=estimator,
        columns=read,
        private_rows=private_rows,
    )
    with cell_progress() as progress:
        return run_compare(
            secret,
            candidates,
            workload,
            ComparisonParameters.parse(shared, weights, references),
            means.noise(),
            accountant=means.accountant,
            unit=people,
            progress=progress,
        )


@reporting_charges()
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
    candidates = Candidates(private, synthetics, accountant, column_names(queries, unit), unit)
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
    # A query that the caller's candidates cannot answer is left out, even if the references can
    # answer it: the quote that was made before the references were paid for lacks its cost.
    left_out = {each.id: each for each in (before or plan).bound.left_out}
    plan = replace(
        plan, comparisons=tuple(c for c in plan.comparisons if c.query.id not in left_out)
    )
    try:
        outputs = measure([plan.measurements], accountant, noise, progress, command="compare")
    except BudgetError as error:
        if not run_charges().spent:
            raise
        # The references are paid for, and then another run has spent the rest of the budget.
        raise overtaken("the references", error) from None
    compared, evidence = _outcomes(plan, outputs, candidates.names, parameters, noise)
    alpha = parameters.parameters.alpha
    board, pairs = leaderboard(ranking_queries(compared), evidence, candidates.kinds, alpha)
    return CompareReport(
        queries=compared,
        leaderboard=board,
        better=pairs,
        candidates={name: candidates.files.get(name, name) for name in candidates.names},
        private=candidates.private.label,
        tolerance=stated_for(queries, parameters.parameters.tolerance) or EACH_ITS_OWN,
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
    """Queries of the report, and the evidence for the leaderboard of those that take part in it."""
    outcomes = [
        outcome_of(each, outputs, names, parameters.weight(each.query), noise)
        for each in plan.comparisons
    ]
    queries = tuple(query for query, _ in outcomes)
    ranked = {id(query) for query in ranking_queries(queries)}
    taking_part = [
        (comparison, evidence)
        for comparison, (query, evidence) in zip(plan.comparisons, outcomes, strict=True)
        if id(query) in ranked
    ]
    return queries, _merged([each for each, _ in taking_part], [each for _, each in taking_part])


def _merged(
    comparisons: Sequence[PlannedComparison], evidence: Sequence[Evidence]
) -> list[Evidence]:
    """Evidence of independent measurements; equal queries are merged, and their weights added."""
    merged: dict[tuple[object, ...], Evidence] = {}
    for comparison, each in zip(comparisons, evidence, strict=True):
        key = comparison.measurement.cache_key, comparison.intervals
        before = merged.get(key)
        merged[key] = replace(each, weight=each.weight + (before.weight if before else 0))
    return list(merged.values())
