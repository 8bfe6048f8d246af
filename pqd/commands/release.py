"""``pqd release``: noisy private answers to a whole workload, under one budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pqd.accounting.accountant import Accountant
from pqd.accounting.charge_report import reporting_charges
from pqd.accounting.free_places import check_free
from pqd.batches.answers import PlannedBatch, ReleasePlan, scale_of, select_batches, synthetic_sum
from pqd.batches.batch_measurement import possible_answers
from pqd.batches.mechanisms import RELEASING
from pqd.batches.nested_queries import NestedQueries
from pqd.commands.cell_progress import cell_progress
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.decision_rule import reach
from pqd.deciders.bounds import AnswerRange
from pqd.deciders.exact import Number, probability
from pqd.deciders.note import Note, note
from pqd.deciders.numbers import plain
from pqd.deciders.options import for_spec, option
from pqd.engine.sources.export import check_new, write_frame
from pqd.errors import (
    LostLedgerError,
    NothingSelectedError,
    ParameterError,
    QueryError,
    RunError,
    UnwrittenTableError,
)
from pqd.keywords import with_keyword_advice
from pqd.parameters import Parameters, privacy_unit
from pqd.paths import told_as_unwritten
from pqd.planning.binding import all_mistakes, bind
from pqd.planning.bound_workload import BoundQuery, QueryRequest
from pqd.planning.lattices import condition_of
from pqd.planning.table_separation import column_names, separate_tables
from pqd.progress import Progress, Step, silent, warn
from pqd.reports.models.release import ReleasedQuery, ReleaseReport
from pqd.reports.text.numbers import listed
from pqd.run.costs import cost_of
from pqd.run.execution import measure
from pqd.run.means import Means
from pqd.spec import Spec
from pqd.spec.sources import accountant_of, facts_of, open_source, paths_as_written
from pqd.sql.predicate import atoms
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries, read_queries
from pqd.stated.budgets import AUTO, LARGE_DELTA, total_budget
from pqd.stated.column_facts import format_of_file
from pqd.stated.mechanism_options import NO_OPTIONS, MechanismOptions, read_mechanism_options
from pqd.stated.metadata_files import MetadataFile, stated_facts
from pqd.stated.queries import with_weights
from pqd.stated.text_formats import StatedFormat, text_formats

if TYPE_CHECKING:
    from pqd.batches.reweighting import ReweightedTable
    from pqd.deciders import Noise
    from pqd.engine.scan_plan import PrivacyUnit


@with_keyword_advice
def release(  # noqa: PLR0913 - the facts of a release, all but three by keyword
    private: object,
    synthetic: object,
    queries: str | Query | Iterable[str | Query],
    *,
    total_epsilon: Number,
    mechanism: str = AUTO,
    mechanism_options: Mapping[str, Number | str] | None = None,
    weights: Mapping[str, Number] | None = None,
    isotonic: bool = False,
    alpha: Number = 0.05,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    metadata: MetadataFile | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    fresh: bool = False,
    unit: str | None = None,
    max_rows: int = 1,
    row_is_person: bool = False,
    text_format: StatedFormat = None,
    table: str | Path | None = None,
) -> ReleaseReport:
    """Answer a workload of COUNT and SUM queries on the private table, under one budget.

    Parameters
    ----------
    private, synthetic
        As for ``pqd.audit``: the synthetic table, and all other arguments, are public.
    queries
        One SQL text, several SQL texts, or ``pqd.Query`` objects, with COUNT(*), COUNT(column) or
        SUM(expression).
    total_epsilon
        Privacy budget of all queries together.
    mechanism
        ``"auto"`` (least simulated error on the synthetic table), or ``workload``, ``joint``,
        ``identity``, ``numerical``, ``numerical_two``, ``dyadic``, ``normalization``,
        ``global_truncation``, ``clipped_composition``, ``ranges``, ``sqm``, ``timm``, ``tamm``.
    mechanism_options
        Options of the mechanism that is named, such as ``{"rounds": 20, "radius": "private"}``.
        With the option ``delta`` all answers together are (epsilon, delta)-DP.
    weights
        How much the error of a query matters, by the id of the query; 1 where it is not stated.
    isotonic
        Whether answers to nested queries are made to agree with their order, by post-processing.
    alpha
        The probability with which the interval ``low .. high`` of an answer may miss the exact
        answer.
    columns
        Public facts of columns; other facts come from the synthetic table.
    metadata, ledger, dataset, fresh
        As for ``pqd.audit``.
    unit, max_rows
        As for ``pqd.audit``.  With a unit COUNT is of persons, SUM of persons' totals, and the
        mechanism is ``joint`` or ``workload``.  ``max_rows`` then changes nothing.
    row_is_person, text_format
        As for ``pqd.audit``.
    table
        A new file (``.parquet`` or ``.csv``).  Rows of the synthetic table are drawn anew so that
        they agree with the released answers, and written there: post-processing, at no further
        cost.

    Returns
    -------
    ReleaseReport
        The answers of this run together are ``report.cost.epsilon``-differentially private (with
        ``report.cost.delta``).  Queries that sum up the same thing make one batch, with one
        mechanism.  A batch's share of the total is its share of the queries' weights, and the
        shares add up.  If one batch of several such batches has smaller simulated errors, it takes
        their place, and has their shares.

    Raises
    ------
    PqdError
        As ``pqd.audit``.
    UnwrittenTableError
        ``table`` could not be written.  The error's ``report`` has the answers, which are paid for;
        the same release again costs nothing.
    """
    people = privacy_unit(unit, max_rows, row_is_person=row_is_person)
    facts = stated_facts(
        columns, metadata, private, [synthetic], asks_unit=unit is None and not row_is_person
    )
    formats = text_formats(text_format, format_of_file(facts))
    # A release has no tolerance: ``tau`` is needed for ``Parameters`` and is not used.
    parameters = Parameters.parse(
        tau=1,
        epsilon=total_budget(total_epsilon),
        alpha=alpha,
        mechanism=mechanism,
        columns=facts,
    )
    means = Means.of(private, ledger, dataset=dataset, fresh=fresh, row_is_person=row_is_person)
    options = read_mechanism_options(mechanism, mechanism_options)
    private, synthetic = formats.both(private, synthetic)
    with all_mistakes(private, [synthetic], facts, means.accountant):
        parsed = as_queries(queries)
    workload = with_weights(parsed, weights)
    target = None if table is None else check_new(table)
    with cell_progress() as progress:
        return run_release(
            private,
            synthetic,
            workload,
            parameters,
            means.noise(),
            options=options,
            isotonic=isotonic,
            accountant=means.accountant,
            unit=people,
            table=target,
            progress=progress,
        )


@reporting_charges()
def run_release(  # noqa: PLR0913 - those of a release, read
    private: object,
    synthetic: object,
    queries: tuple[Query, ...],
    parameters: Parameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    options: MechanismOptions = NO_OPTIONS,
    isotonic: bool = False,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    table: Path | None = None,
) -> ReleaseReport:
    """Release with ``noise``; see ``pqd.release``.  Without an accountant no account is kept."""
    _check(queries, parameters)
    names = column_names(queries, unit)
    tables = separate_tables(private, synthetic, accountant=accountant, names=names, unit=unit)
    if table is not None:
        # This imports scipy, which may fail, so it comes before the charge.
        from pqd.batches.reweighting import reweighted_table  # noqa: PLC0415

        given = [each.given for each in (*tables.tables, tables.private) if each]
        # Check the place again after the draw: another run may have created a ledger there.
        check_place = partial(check_free, table, given, accountant.path if accountant else None)
        check_place()
    progress(Step.READING_COPY)
    requests = [QueryRequest(query, parameters) for query in queries]
    bound = bind(tables, requests, parameters.columns, unit)
    bound.check()
    if not bound.queries:
        raise NothingSelectedError("there is no query to answer")
    progress(Step.SIMULATING)
    plan = select_batches(bound, parameters, options)
    nested = _nested(plan) if isotonic else {}
    # Steps that take long, or may fail, come before the charge.
    reaches = {each.batch.name: _reaches(each, parameters.alpha) for each in plan.batches}
    delta = sum((each.batch.plan.delta for each in plan.batches), Fraction(0))
    large = [note("delta-large", delta=delta)] if delta > LARGE_DELTA else []
    warn(large, progress)
    outputs = measure([plan.measurements], accountant, noise, progress, command="release")
    remarks = [*bound.notes, *large, *_remarks(plan)]
    remarks += [
        note(
            "answers-ordered",
            batch=name,
            queries=sum(map(len, each.chains)),
            chains=len(each.chains),
        )
        for name, each in nested.items()
    ]
    unwritten = None
    if table is not None:
        progress(Step.REWEIGHTING)
        try:
            remarks.append(_drawn(reweighted_table(plan, outputs), table, check_place, accountant))
        except LostLedgerError:
            # The ledger has lost the charge, so no answer may be shown.
            raise
        except RunError as error:
            unwritten = str(error)
            remarks.append(note("table-not-written", reason=unwritten))
    answers = {
        each.batch.name: _Answers.of(outputs[each.batch], nested.get(each.batch.name))
        for each in plan.batches
    }
    report = ReleaseReport(
        queries=tuple(_released(query, plan, answers, reaches) for query in bound.queries),
        batches=tuple(each.facts(replayed=outputs.replayed(each.batch)) for each in plan.batches),
        private=tables.private_label,
        synthetic=tables.label,
        total_epsilon=parameters.epsilon,
        total_delta=delta,
        alpha=parameters.alpha,
        cost=cost_of(outputs.quote, accountant, unit),
        simulated=noise.simulated,
        notes=tuple(remarks),
        refused=bound.left_out,
    )
    if unwritten is not None:
        raise UnwrittenTableError(unwritten, report)
    return report


@for_spec()
@reporting_charges()
def run_release_spec(  # noqa: PLR0913 - those of ``release``, read
    spec: Spec,
    noise: Noise,
    progress: Progress = silent,
    *,
    ledger: Path | None = None,
    dataset: str | None = None,
    fresh: bool = False,
    replaying: bool = False,
    table: Path | None = None,
) -> ReleaseReport:
    """Release the queries of ``spec`` within its budget; see ``pqd.release``.

    If ``replaying``, nothing is spent, and a run that needs a new answer is refused.

    Raises
    ------
    PqdError
        As ``pqd.release``, and if the spec has no ``[release]``.
    """
    section = spec.release
    if section is None:
        raise ParameterError(
            f"{spec.path.name} has no [release]; add [release] with total_epsilon = 1, "
            'queries = "queries.sql"'
        )
    facts = facts_of(spec)
    parameters = Parameters.parse(
        tau=1,
        epsilon=section.total_epsilon,
        alpha=section.alpha,
        mechanism=section.mechanism,
        columns=facts,
    )
    accountant = accountant_of(spec, ledger, fresh=fresh, replaying=replaying, dataset=dataset)
    with paths_as_written(spec):
        tables = (
            open_source(spec.private, "private", facts),
            open_source(spec.synthetic[section.synthetic], "synthetic", facts),
        )
        files = [file for table in tables for file in table.files]
        with all_mistakes(tables[0], tables[1:], facts, accountant):
            queries = as_queries(read_queries(section.queries.path, files))
        return run_release(
            *tables,
            queries,
            parameters,
            noise,
            progress,
            options=section.mechanism_options,
            isotonic=section.isotonic,
            accountant=accountant,
            unit=privacy_unit(spec.unit, spec.max_rows or 1),
            table=table,
        )


def _drawn(
    copy: ReweightedTable,
    table: Path,
    check_place: Callable[[], None],
    accountant: Accountant | None,
) -> Note:
    """Note on the corrected copy, which is written only if the ledger still holds the charge."""
    if accountant:
        accountant.ledger.check_standing()
    with told_as_unwritten(table):
        check_place()
    write_frame(copy.frame, table)
    return note("of-one", name=table.name, what=copy.note)


def _check(queries: Sequence[Query], parameters: Parameters) -> None:
    """Refuse queries that no mechanism answers, before any table is read."""
    names = [AUTO, *RELEASING]
    if parameters.mechanism not in names:
        known = ", ".join(names)
        raise ParameterError(f"mechanism {parameters.mechanism!r} is not known; use one of {known}")
    others = [query for query in queries if query.aggregate not in {"COUNT", "SUM"}]
    if not others:
        return
    many = "query" if len(others) == 1 else "queries"
    ids = listed([query.id or "" for query in others])
    aggregates = listed(list(dict.fromkeys(query.aggregate for query in others)))
    raise QueryError(
        f"{many} {ids}: a release answers COUNT(*), COUNT(column) and SUM(expression), not "
        f"{aggregates}; ask pqd audit or pqd compare for {'it' if len(others) == 1 else 'them'}, "
        "or for a mean ask its SUM and COUNT here",
        others[0].sql if len(others) == 1 else "",
    )


def _remarks(plan: ReleasePlan) -> Iterator[Note]:
    """Notes on the batches; all of them are public."""
    yield from plan.notes
    for planned in plan.batches:
        name, choice = planned.batch.name, planned.choice
        if choice.is_weak:
            yield note("batch-weak", batch=name)
        if planned.linear_refusal:
            yield note("classes-not-weighed", batch=name, reason=str(planned.linear_refusal))
        if chosen := planned.batch.plan.note:
            yield note("of-one", name=name, what=chosen)
        if planned.open_conditions:
            yield note("conditions-open", batch=name, conditions=tuple(planned.open_conditions))


def _nested(plan: ReleasePlan) -> dict[str, NestedQueries]:
    """Nested queries of each batch that has some, by the name of the batch.

    Raises
    ------
    ParameterError
        If there are none.
    """
    every = {each.batch.name: NestedQueries.of(each.batch) for each in plan.batches}
    nested = {name: each for name, each in every.items() if each.chains}
    if not nested:
        raise ParameterError(
            f"{option('--isotonic')} is stated, but no two queries are ordered: no COUNT, and no "
            "SUM of values that are known to be >= 0, selects all rows of another one, as far as "
            "their conditions tell. Nothing was spent; leave it out, state a lower bound of the "
            f"summed column ({option('--bounds')}), or ask nested queries, such as age < 20, age "
            "< 40"
        )
    return nested


class _Answers(NamedTuple):
    """Output of a batch, and its answers in the order of nested queries.

    ``ordered`` are the places of the answers that are in a chain.
    """

    output: BatchOutput
    answers: Sequence[float]
    ordered: frozenset[int] = frozenset()

    @classmethod
    def of(cls, output: BatchOutput, nested: NestedQueries | None) -> _Answers:
        """Answers of ``output``, adjusted if some queries are nested."""
        if nested is None:
            return cls(output, output.answers)
        places = frozenset(place for chain in nested.chains for place in chain)
        return cls(output, nested.adjusted(output).tolist(), places)


# Reach of the noise of each answer of a batch, in units: the largest error by noise, except with
# chance alpha.  None if unknown.
Reaches = tuple[int | None, ...]


def _released(
    bound: BoundQuery,
    plan: ReleasePlan,
    answers: Mapping[str, _Answers],
    reaches: Mapping[str, Reaches],
) -> ReleasedQuery:
    """Query of the report with its answer."""
    planned, place = plan.batch_of(bound)
    batch, query, scale = answers[planned.batch.name], bound.query, scale_of(bound)
    output = batch.output
    low, high, measure = None, None, bound.statistic.measure
    if measure:
        low, high = _thresholds(output, place, len(planned.places))
    # Every exact answer is a whole number of units, and lies among the possible answers of a table.
    # So round the released answer to whole units and cut it to the possible answers.  The interval
    # is that of the released answer, whose noise is known, also where the answer is adjusted.
    possible = possible_answers(measure)
    released = possible.cut(round(output.answers[place]))
    ends = _ends(possible, released, reaches[planned.batch.name][place])
    return ReleasedQuery(
        id=query.id or "",
        sql=query.sql,
        aggregate=query.aggregate,
        attribute=query.attribute,
        where=query.where,
        batch=planned.batch.name,
        q_synthetic=plain(synthetic_sum(bound)),
        answer=plain(possible.cut(round(batch.answers[place])) * scale),
        low=plain(ends[0] * scale) if ends else None,
        high=plain(ends[1] * scale) if ends else None,
        threshold=None if high is None else plain(high * scale),
        lower_threshold=None if low is None else plain(-low * scale),
        deviation=output.deviations[place] * float(scale) if output.deviations else None,
        error=planned.choice.by_query[place] * float(scale),
        block=query.block,
        group=query.group,
        block_sql=query.block_sql,
        condition=condition_of(query, bound.statistic),
        max_rows=bound.unit.max_rows if bound.unit else None,
        weight=plain(query.exact_weight),
        unadjusted=plain(released * scale) if place in batch.ordered else None,
    )


def _reaches(planned: PlannedBatch, alpha: Number) -> Reaches:
    """Reach of each answer's noise, except with chance ``alpha``; None if it has other errors."""
    batch, noise = planned.batch, planned.batch.plan.noise(planned.batch.epsilon)
    if noise is None:
        return (None,) * len(batch.statistics)
    open_conditions = set(planned.open_conditions)
    # Either end may be wrong with half of alpha.
    known = {law: reach(law, probability(alpha, "alpha") / 2) for law in set(noise)}
    conditions = (
        set() if each.predicate is None else {atom.sql for atom in atoms(each.predicate)}
        for each in batch.statistics
    )
    return tuple(
        None if names & open_conditions else known[law]
        for names, law in zip(conditions, noise, strict=True)
    )


def _ends(possible: AnswerRange, released: int, reach: int | None) -> tuple[int, int] | None:
    """Ends of the possible answers within ``reach`` of the ``released`` answer, in units.

    None if the reach is unknown.  An answer beyond 2^53 passed through a double, which rounds it by
    less than 2^-52 of its size.
    """
    if reach is None:
        return None
    reach += abs(released) >> 52
    return possible.cut(released - reach), possible.cut(released + reach)


def _thresholds(output: BatchOutput, place: int, queries: int) -> tuple[int | None, int | None]:
    """Thresholds at which the negative and the positive values of a query are cut, in units."""
    thresholds = output.thresholds
    if thresholds is None:
        return None, None
    if len(thresholds) == 1:
        return None, thresholds[0]
    negative = thresholds[place + queries] if len(thresholds) > queries else None
    return negative, thresholds[place]
