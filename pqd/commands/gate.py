"""``pqd.gate``: one test of whether many queries, or all of a table, are as the copy says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant, Quote
from pqd.accounting.charge_report import reporting_charges
from pqd.commands.cell_progress import cell_progress
from pqd.commands.gates import gate_notes, gate_result, status_in_gate
from pqd.deciders import ParameterError
from pqd.deciders.distances.claims import DistanceBelow
from pqd.deciders.exact import Number, probability
from pqd.deciders.names import pasted
from pqd.deciders.note import Note, note
from pqd.deciders.options import option
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import dry_table
from pqd.errors import with_all_messages
from pqd.keywords import with_keyword_advice
from pqd.marginals.bound_profile import BoundProfile, bind_profile
from pqd.marginals.measurements import ClaimMeasurement
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.table_gate import LEAST_JUDGED, OTHERS, WITHIN, TableGate, rows_measurement
from pqd.parameters import Parameters, privacy_unit, stated_rows
from pqd.planning.binding import all_mistakes, bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.gate import (
    INVERSE,
    GateInput,
    GatePlan,
    GateTerms,
    decided_gate,
    plan_gate,
    quoted_gate,
)
from pqd.planning.planned_verdict import DeciderMeasurement, PlannedVerdict
from pqd.planning.query_verdict import select_deciders
from pqd.planning.query_warnings import known_rows, size_notes, with_sizes
from pqd.planning.table_separation import column_names, separate_tables
from pqd.progress import Progress, Step, silent
from pqd.reports.models.audit import Cost
from pqd.reports.models.check import CheckReport, CheckResult, GateFacts
from pqd.reports.models.query import QueryFacts
from pqd.reports.models.standings import Standing
from pqd.reports.text.gate import (
    DISTINCT,
    OTHER_SIZE,
    condition_message,
    flaw_message,
    table_condition,
)
from pqd.reports.text.numbers import percent_text
from pqd.run.costs import added_costs, cost_of, dry_notes
from pqd.run.execution import measure, quote_sets
from pqd.run.gate import ROWS_SHARE
from pqd.run.means import Means
from pqd.sql.query import Query
from pqd.sql.schema import quote_identifier
from pqd.sql.workload_files import as_queries
from pqd.stated.budgets import AUTO, stated_budget
from pqd.stated.column_facts import format_of_file
from pqd.stated.metadata_files import MetadataFile, stated_facts
from pqd.stated.queries import scaled, with_tolerances
from pqd.stated.text_formats import StatedFormat, text_formats

if TYPE_CHECKING:
    from pqd.deciders import Noise

# Columns that fail a gate of a whole table in public.
_FLAWS = {Standing.MISSING, Standing.COPY_ALONE}
# Tolerance of the different values of a column that looks like an identifier in the copy.
_DISTINCT = Fraction(1, 10)


@with_keyword_advice
def gate(  # noqa: PLR0913 - the facts of a gate, all but three by keyword
    private: object,
    synthetic: object,
    queries: str | Query | Iterable[str | Query] | None = None,
    *,
    epsilon: Number,
    names: Number | None = None,
    tau: Number | None = None,
    tolerances: Mapping[str, Number] | None = None,
    alpha: Number = 0.05,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    metadata: MetadataFile | None = None,
    private_rows: Number | None = None,
    copy_epsilon: Number | None = None,
    scale: str | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    row_is_person: bool = False,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    fresh: bool = False,
    text_format: StatedFormat = None,
    dry_run: bool = False,
) -> CheckReport:
    """Test whether all queries are within their tolerances, or all of a table, by one draw.

    Parameters
    ----------
    private, synthetic
        As for ``pqd.audit``: the synthetic table, and all other arguments, are public.
    queries
        Queries as for ``pqd.audit``.  Without them the gate is about the whole table: at least 95 %
        of all columns and pairs within ``tau`` with what chance adds, and all within three times
        that; the values of each column about as frequent as in the copy, and none lost; at least
        half of the relations kept, in all and of each pair beyond its tolerance; no alarm.
    epsilon
        Privacy budget of the gate, however many conditions it has.
    names
        Privacy budget that names the worst condition; it is spent only if the gate does not pass.
    tau, tolerances
        Tolerances as for ``pqd.audit``; of a whole table a share of the rows, ``"5%"`` by default.
    alpha
        The error probability that the caller accepts: the level of the test.
    columns, metadata, scale, unit, max_rows, row_is_person, ledger, dataset, fresh, text_format
        As for ``pqd.audit``.
    private_rows
        The number of private rows, if it is public.  Otherwise the gate of a whole table releases
        it for a twentieth of ``epsilon``.
    copy_epsilon
        The epsilon under which the copy was made, if its generator is differentially private: there
        is then no alarm.
    dry_run
        Only plan and quote; nothing is spent.

    Returns
    -------
    CheckReport
        ``report.gate`` has the outcome with its p-value, and ``report.exit_code`` is 0 if all
        conditions are shown to hold.  The report is ``report.cost.epsilon``-differentially private.

    Raises
    ------
    PqdError
        As ``pqd.audit``.  ParameterError also for a query whose verdict would hold within bounds
        alone that nobody stated.
    """
    terms = gate_terms(epsilon, names, alpha, private_rows)
    means = Means.of(private, ledger, dataset=dataset, fresh=fresh, row_is_person=row_is_person)
    people = privacy_unit(unit, max_rows, row_is_person=row_is_person)
    facts = stated_facts(
        columns, metadata, private, [synthetic], asks_unit=unit is None and not row_is_person
    )
    formats = text_formats(text_format, format_of_file(facts))
    private, synthetic = formats.both(private, synthetic)
    with cell_progress() as progress:
        if queries is None:
            parameters = ProfileParameters.parse(
                total_epsilon=terms.epsilon,
                tau="5%" if tau is None else tau,
                alpha=alpha,
                facts=facts,
                copy_epsilon=copy_epsilon,
                private_rows=private_rows,
            )
            return run_table_gate(
                private,
                synthetic,
                parameters,
                terms,
                means.noise(),
                progress,
                accountant=means.accountant,
                unit=people,
                dry_run=dry_run,
            )
        with all_mistakes(private, [synthetic], facts, means.accountant):
            parsed = as_queries(queries)
        workload, tau = with_tolerances(scaled(parsed, scale), tau, tolerances)
        criteria = Parameters.parse(tau=tau, epsilon=epsilon, alpha=alpha, columns=facts)
        return run_query_gate(
            private,
            synthetic,
            workload,
            criteria,
            terms,
            means.noise(),
            progress,
            accountant=means.accountant,
            unit=people,
            dry_run=dry_run,
        )


def gate_terms(
    epsilon: Number, names: Number | None, alpha: Number, private_rows: Number | None
) -> GateTerms:
    """Terms of a gate that a caller states; ParameterError names the mistake."""
    return GateTerms(
        epsilon=stated_budget(epsilon, "the epsilon of a gate"),
        names=None if names is None else stated_budget(names, option("--names")),
        alpha=probability(alpha, "alpha"),
        private_rows=stated_rows(private_rows),
    )


@reporting_charges()
def run_query_gate(  # noqa: PLR0913 - the arguments of a gate, parsed
    private: object,
    synthetic: object,
    queries: tuple[Query, ...],
    criteria: Parameters,
    terms: GateTerms,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    dry_run: bool = False,
) -> CheckReport:
    """Gate over queries, with parsed arguments; see ``gate``."""
    if criteria.mechanism != AUTO or criteria.outside:
        raise ParameterError(
            "a gate takes the margin of each query, so no decider can be named and no rows beyond "
            f"bounds are counted; leave {option('--decider')} and {option('--outside')} out"
        )
    tables = separate_tables(
        dry_table(private) if dry_run else private,
        synthetic,
        accountant=accountant,
        names=column_names(queries, unit),
        unit=unit,
    )
    progress(Step.READING_COPY)
    criteria = replace(criteria, private_rows=terms.private_rows)
    requests = [
        QueryRequest.of(each, replace(criteria, mechanism=INVERSE[each.aggregate]))
        for each in queries
    ]
    bound = with_sizes(bind(tables, requests, criteria.columns, unit), accountant)
    plan = select_deciders(bound)
    plan.bound.check()
    for query, refusal in plan.bound.refusals:
        refusal.args = (f"{query.id}: {refusal}",)
    if plan.bound.refusals:
        raise with_all_messages([refusal for _, refusal in plan.bound.refusals])
    for verdict in plan.verdicts:
        _check_counts(verdict)
    inputs = [GateInput(plan.bound, each.facts()["id"], each.measurement) for each in plan.verdicts]
    gate_plan = plan_gate(terms, plan.bound, inputs)
    facts, quotes = _run(gate_plan, accountant, noise, progress, dry_run=dry_run)
    results = []
    for each in plan.verdicts:
        public = QueryFacts(**each.facts(), candidates=each.candidates)
        asked = condition_message([public], "close")
        results.append(
            _result(public.id, public.sql, public.tolerance, asked, facts, told=[public])
        )
    cost = _cost(quotes, accountant, unit)
    notes = plan.bound.notes
    if dry_run:
        notes = (*notes, *dry_notes(quotes, accountant, tables.private_label))
    return _report(tables, results, facts, cost, notes, dry_run=dry_run)


def _check_counts(verdict: PlannedVerdict) -> None:
    """Refuse a query whose answer could not count; ParameterError says what to state."""
    name = verdict.facts()["id"]
    if verdict.condition and not verdict.condition.accepted:
        column = verdict.facts()["attribute"]
        bounds = f"--bounds {pasted(column, '=0:100')}"
        raise ParameterError(
            f"{name}: nobody stated both bounds of {column}, so an answer would hold within those "
            "of the copy alone, and a gate takes none such; state them, such as "
            f"{option(bounds)}, or ask for the MEDIAN. Nothing was spent."
        )


@reporting_charges()
def run_table_gate(  # noqa: PLR0913 - the arguments of a gate, parsed
    private: object,
    synthetic: object,
    parameters: ProfileParameters,
    terms: GateTerms,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    dry_run: bool = False,
) -> CheckReport:
    """Gate over a whole table, with parsed arguments; see ``gate``.

    If nobody stated the number of private rows, it is released first, since the tolerances depend
    on it.  A plan takes the copy's number in its place.
    """
    names = parameters.request.column_names(unit)
    own = dry_table(private) if dry_run else private
    tables = separate_tables(own, synthetic, accountant=accountant, names=names, unit=unit)
    progress(Step.READING_COPY)
    bound = bind_profile(tables, parameters.request, unit)
    if flaws := [each for each in bound.left_out if each.standing in _FLAWS]:
        # What fails in public needs no test, and nothing is spent.
        results = [_flaw(each.columns[0], flaw_message(each)) for each in flaws]
        facts = GateFacts(
            epsilon=terms.epsilon,
            names=terms.names,
            alpha=terms.alpha,
            conditions=len(flaws),
            outcome="fails",
        )
        return _report(tables, results, facts, Cost(), bound.notes, dry_run=dry_run)
    rows, quotes, epsilon = terms.private_rows, list[Quote](), terms.epsilon
    if rows is None and dry_run:
        rows = bound.copy_rows
    if not (accountant and accountant.replaying):
        _check_judged(_table_gate(bound, rows or bound.copy_rows, parameters, terms, epsilon))
    if rows is None:
        _quote_all(bound, terms, accountant, progress)
        measurement = rows_measurement(bound, epsilon)
        outputs = measure(
            [bound.measurement_set([measurement])], accountant, noise, progress, command="gate"
        )
        rows, quotes = max(1, outputs[measurement].numbers[0]), [outputs.quote]
        epsilon *= 1 - ROWS_SHARE
    table = _table_gate(bound, rows, parameters, terms, epsilon)
    own = replace(terms, epsilon=epsilon, private_rows=rows)
    aside = [e.columns[0] for e in bound.left_out if e.standing is Standing.NOT_JUDGED]
    # Shares of rows compare tables of any size, but numbers of different values do not.
    same_size = abs(rows - bound.copy_rows) <= _DISTINCT * bound.copy_rows
    counted = aside if same_size and table.inputs else []
    inputs = (*table.inputs, *_distinct_inputs(bound, own, counted))
    plan = plan_gate(own, bound, inputs, table.misses)
    facts, more = _run(plan, accountant, noise, progress, dry_run=dry_run)
    if terms.private_rows is None and not dry_run:
        facts = replace(facts, rows=rows, epsilon=terms.epsilon)
    results = []
    for name, conditions in _by_subject(inputs).items():
        tolerance = _tolerance(conditions)
        values = sum(each.requirement == OTHERS for each in conditions)
        distinct = isinstance(conditions[0].measurement, DeciderMeasurement)
        maps = conditions[0].measurement.marginals
        is_pair = len(maps) == 1 and len(maps[0].columns) > 1
        asked = DISTINCT if distinct else table_condition(name, tolerance, values, is_pair=is_pair)
        names_of = [each.name for each in conditions]
        results.append(_result(name, name, tolerance, asked, facts, names_of))
    left_out = [(each.name, each.reason) for each in table.left_out]
    if not same_size:
        left_out += [(name, OTHER_SIZE) for name in aside]
    sizes = size_notes(tables, known_rows(tables, terms.private_rows, accountant))
    notes = (*bound.notes, *sizes)
    if left_out:
        notes = (*notes, note("gate-left-out", conditions=tuple(left_out)))
    if dry_run:
        notes = (*notes, *dry_notes(more, accountant, tables.private_label))
    cost = _cost([*quotes, *more], accountant, unit)
    return _report(tables, results, facts, cost, notes, dry_run=dry_run)


def _distinct_inputs(
    bound: BoundProfile, terms: GateTerms, columns: Sequence[str]
) -> list[GateInput]:
    """Conditions on the number of different values of columns that look like identifiers.

    Such a column is not judged by its values.  If a generator turned a column into identifiers, the
    private one has far fewer different values.
    """
    queries = [
        Query(f"SELECT COUNT(DISTINCT {quote_identifier(each)}) FROM D", each) for each in columns
    ]
    if not queries:
        return []
    criteria = Parameters.parse(
        tau=f"{float(100 * _DISTINCT):g}%",
        epsilon=terms.epsilon,
        alpha=terms.alpha,
        mechanism="inv_distinct",
    )
    requests = [QueryRequest.of(each, criteria) for each in queries]
    plan = select_deciders(bind(bound.tables.reopened(), requests, criteria.columns, bound.unit))
    plan.bound.check()
    return [GateInput(plan.bound, each.facts()["id"], each.measurement) for each in plan.verdicts]


def _table_gate(
    bound: BoundProfile,
    rows: int,
    parameters: ProfileParameters,
    terms: GateTerms,
    epsilon: Fraction,
) -> TableGate:
    return TableGate(
        bound=bound,
        rows=rows,
        tau=parameters.tau,
        epsilon=epsilon,
        alpha=terms.alpha,
        is_private_copy=parameters.copy_epsilon is not None,
        rows_epsilon=terms.epsilon * ROWS_SHARE if terms.private_rows is None else None,
    )


def _check_judged(table: TableGate) -> None:
    """Refuse a gate that judges too little of a table; ParameterError says what would do."""
    if table.judged < LEAST_JUDGED:
        every = len(table.bound.marginals)
        raise ParameterError(
            f"a gate at this epsilon judges {len(table.claims.within)} of {every} columns and "
            f"pairs: of about {table.rows:,} rows, chance and noise alone explain too much of the "
            f"others; state a larger epsilon, fewer columns ({option('--columns')}), or a "
            "larger table. Nothing was spent."
        )


def _quote_all(
    bound: BoundProfile, terms: GateTerms, accountant: Accountant | None, progress: Progress
) -> None:
    """Check that the budget holds the whole gate before its first part is paid for.

    Raises
    ------
    BudgetError
        If it does not.
    """
    if accountant is None:
        return
    rows = rows_measurement(bound, terms.epsilon)
    first = bound.measurement_set([rows])
    if rows.cache_key in quote_sets([first], accountant, progress).known:
        return
    rest = replace(rows, epsilon=rows.epsilon / ROWS_SHARE * (1 - ROWS_SHARE))
    quote_sets([first, bound.measurement_set([rest])], accountant, progress)


def _by_subject(inputs: Sequence[GateInput]) -> dict[str, list[GateInput]]:
    """Conditions by what they are about: a column, a pair, or the whole table."""
    subjects: dict[str, list[GateInput]] = {}
    for each in inputs:
        maps = each.measurement.marginals
        subject = " by ".join(maps[0].columns) if len(maps) == 1 else each.name
        subjects.setdefault(subject, []).append(each)
    return subjects


def _tolerance(conditions: Sequence[GateInput]) -> str:
    """Tolerance of the distance of a column or a pair; empty of what has none."""
    for each in conditions:
        claim = each.measurement.claim if isinstance(each.measurement, ClaimMeasurement) else None
        if isinstance(claim, DistanceBelow) and each.requirement == WITHIN:
            return percent_text(float(claim.tau), 1)
    return ""


def _run(
    plan: GatePlan,
    accountant: Accountant | None,
    noise: Noise,
    progress: Progress,
    *,
    dry_run: bool,
) -> tuple[GateFacts, list[Quote]]:
    """Facts of a gate, which is decided or only planned, and the quotes of its charges."""
    if not dry_run:
        return decided_gate(plan, accountant, noise, progress, command="gate")
    facts, quote = quoted_gate(plan, accountant, progress)
    return facts, [quote]


def _result(
    name: str,
    sql: str,
    tolerance: str,
    asked: str,
    facts: GateFacts,
    names: Sequence[str] = (),
    told: Sequence[QueryFacts] = (),
) -> CheckResult:
    """Result of one subject of a gate, whose conditions have ``names``; by default its own.

    ``told`` are the facts of each condition, if its margin tells the answer.
    """
    status, outcome, message = status_in_gate(names or [name], facts, asked, told)
    return CheckResult(
        id=name,
        line=1,
        sql=sql,
        tolerance=tolerance,
        expect="close",
        severity="error",
        on_undecided="fail",
        status=status,
        gate=outcome,
        message=message,
    )


def _flaw(name: str, message: str) -> CheckResult:
    """Result of a column that cannot be judged, or that one of the tables lacks; public."""
    return CheckResult(
        id=name,
        line=1,
        sql=name,
        tolerance="",
        expect="close",
        severity="error",
        on_undecided="fail",
        status="not as expected",
        gate="fail",
        message=message,
    )


def _cost(quotes: Sequence[Quote], accountant: Accountant | None, unit: PrivacyUnit | None) -> Cost:
    costs = [cost_of(quote, accountant, unit) for quote in quotes]
    return added_costs(costs) if costs else Cost()


def _report(
    tables: SyntheticTables,
    results: Sequence[CheckResult],
    facts: GateFacts,
    cost: Cost,
    notes: Sequence[Note],
    *,
    dry_run: bool,
) -> CheckReport:
    return CheckReport(
        spec=tables.label,
        private=tables.private_label,
        checks=(gate_result(facts, tables.label), *results),
        cost=cost,
        notes=(*notes, *gate_notes(facts)),
        gate=facts,
        dry=dry_run,
    )
