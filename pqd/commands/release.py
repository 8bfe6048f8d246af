"""``pqd release``: private answers to a whole workload under one budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deciders.batch.verdicts import reach
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.batches.answers import ReleasePlan, scale_of, select_batches, synthetic_sum
from pqd.batches.mechanisms import TOGETHER
from pqd.batches.reweighting import reweighted
from pqd.commands.results import cost_of
from pqd.engine.export import write_frame
from pqd.errors import NothingSelectedError, ParameterError, QueryError, RunError
from pqd.execution import Outputs, measure
from pqd.parameters import Parameters
from pqd.planning.binding import QueryRequest, bind
from pqd.planning.choose_decider import AUTO
from pqd.planning.table_separation import separate_tables
from pqd.progress import Progress, silent
from pqd.spec.sources import ledger_of, open_source, paths_as_written
from pqd.sql.predicate import atoms
from pqd.sql.workload_files import read_queries
from reports.models.release import ReleasedQuery, ReleaseReport
from reports.text import notes, stages
from reports.text.numbers import plain

if TYPE_CHECKING:
    from deciders import Noise
    from deciders.batch.base import BatchOutput
    from deciders.exact import Number
    from pqd.batches.answers import PlannedBatch
    from pqd.planning.binding import BoundQuery
    from pqd.spec import Spec
    from pqd.sql.query import Query


def check_unit(unit: str | None) -> None:
    """Refuse a privacy unit: a release counts rows."""
    if unit is not None:
        raise ParameterError(
            "a release counts rows, and one row is one person: it knows no unit yet; reduce the "
            "private table to one row per person, or use pqd audit, which takes --unit"
        )


def run_release(  # noqa: PLR0913 - those of a release, read
    private: object,
    synthetic: object,
    queries: tuple[Query, ...],
    parameters: Parameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    table: Path | None = None,
) -> ReleaseReport:
    """Release with ``noise``; see ``release``.  Without an accountant no account is kept."""
    _check(queries, parameters)
    tables = separate_tables(private, synthetic, accountant=accountant)
    progress(stages.READING_COPY)
    requests = [QueryRequest(query, parameters) for query in queries]
    bound = bind(tables, requests, parameters.columns)
    bound.check()
    if not bound.queries:
        raise NothingSelectedError("there is no query to answer")
    progress(stages.SIMULATING)
    plan = select_batches(bound, parameters)
    # Before the charge: what may take long, or fail, must not come after it.
    reaches = {one.batch.name: _reaches(one, parameters.alpha) for one in plan.batches}
    outputs = measure([plan.measurements], accountant, noise, progress)
    remarks = [*bound.notes, *_remarks(plan)]
    remarks += [] if outputs.recorded else [notes.UNRECORDED_ANSWERS]
    if table is not None:
        progress(stages.REWEIGHTING)
        remarks.append(_drawn(plan, outputs, table))
    return ReleaseReport(
        queries=tuple(_released(query, plan, outputs, reaches) for query in bound.queries),
        batches=tuple(one.facts(replayed=outputs.replayed(one.batch)) for one in plan.batches),
        private=tables.private_label,
        synthetic=tables.label,
        total_epsilon=parameters.epsilon,
        alpha=parameters.alpha,
        cost=cost_of(outputs.quote, accountant, None),
        simulated=noise.simulated,
        notes=tuple(remarks),
        refused=bound.left_out,
    )


def run_release_spec(
    spec: Spec,
    noise: Noise,
    progress: Progress = silent,
    *,
    ledger: Path | None = None,
    fresh: bool = False,
    table: Path | None = None,
) -> ReleaseReport:
    """Release what ``spec`` says, within its budget; see ``pqd.release``.

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
    check_unit(spec.unit)
    parameters = Parameters.parse(
        tau=1,
        epsilon=section.total_epsilon,
        alpha=section.alpha,
        mechanism=section.mechanism,
        columns=spec.columns,
    )
    accountant = Accountant(ledger_of(spec, ledger), Budget(spec.epsilon, spec.delta), fresh=fresh)
    with paths_as_written(spec):
        tables = (
            open_source(spec.private, "private"),
            open_source(spec.synthetic[section.synthetic], "synthetic"),
        )
        queries = read_queries(section.queries.path, tables)
        return run_release(
            *tables, queries, parameters, noise, progress, accountant=accountant, table=table
        )


def _drawn(plan: ReleasePlan, outputs: Outputs, table: Path) -> str:
    """Write the corrected copy and say what it is; a failure is told, since all is paid for."""
    copy = reweighted(plan, outputs)
    try:
        write_frame(copy.frame, table)
    except RunError as error:
        return notes.not_written_note(str(error))
    return notes.written_note(table.name, copy.note)


def _check(queries: Sequence[Query], parameters: Parameters) -> None:
    """Refuse what no mechanism is for, before any table is read."""
    names = [AUTO, *TOGETHER]
    if parameters.mechanism not in names:
        known = ", ".join(names)
        raise ParameterError(f"mechanism {parameters.mechanism!r} is not known; use one of {known}")
    for query in queries:
        if query.aggregate not in {"COUNT", "SUM"}:
            raise QueryError(
                f"query {query.id}: a release answers COUNT(*), COUNT(column) and SUM(expression), "
                f"not {query.aggregate}; ask pqd audit or pqd compare for it, or for a mean ask "
                "its SUM and COUNT here",
                query.sql,
            )


def _remarks(plan: ReleasePlan) -> Iterator[str]:
    """Notes on what else is public of the batches."""
    for one in plan.batches:
        name = one.batch.name
        if one.choice.error >= one.choice.size / 2 > 0:
            yield notes.weak_batch_note(name)
        if one.linear_refusal:
            yield notes.row_classes_refused_note(name, str(one.linear_refusal))
        if note := one.batch.plan.note:
            yield f"{name}: {note}"
        if one.open_conditions:
            yield notes.open_conditions_note(name, one.open_conditions)


# How far the noise of each answer of a batch reaches, in units; None where that is not known.
Reaches = tuple[int | None, ...]


def _released(
    bound: BoundQuery, plan: ReleasePlan, outputs: Outputs, reaches: Mapping[str, Reaches]
) -> ReleasedQuery:
    """One query with its answer."""
    one, place = plan.batch_of(bound)
    found, query, scale = outputs[one.batch], bound.query, scale_of(bound)
    low, high = _thresholds(found, place, len(one.places)) if one.measure else (None, None)
    # To whole units, which is what every answer about a table is made of.
    released = round(found.answers[place])
    ends = _ends(one, released, reaches[one.batch.name][place])
    return ReleasedQuery(
        id=query.id or "",
        sql=query.sql,
        aggregate=query.aggregate,
        attribute=query.attribute,
        where=query.where,
        batch=one.batch.name,
        q_synthetic=plain(synthetic_sum(bound)),
        answer=plain(released * scale),
        low=plain(ends[0] * scale) if ends else None,
        high=plain(ends[1] * scale) if ends else None,
        threshold=None if high is None else plain(high * scale),
        lower_threshold=None if low is None else plain(-low * scale),
        deviation=found.deviations[place] * float(scale) if found.deviations else None,
        block=query.block,
        group=query.group,
    )


def _reaches(one: PlannedBatch, alpha: Number) -> Reaches:
    """Return how far noise reaches but with chance ``alpha``, where it is all that is wrong."""
    batch, noise = one.batch, one.batch.plan.noise(one.batch.epsilon)
    if noise is None:
        return (None,) * len(batch.statistics)
    open_conditions, known = (
        set(one.open_conditions),
        {law: reach(law, alpha) for law in set(noise)},
    )
    met = (
        set() if t.predicate is None else {a.sql for a in atoms(t.predicate)}
        for t in batch.statistics
    )
    return tuple(
        None if names & open_conditions else known[law]
        for names, law in zip(met, noise, strict=True)
    )


def _ends(one: PlannedBatch, released: int, reach: int | None) -> tuple[int, int] | None:
    """Return ends that hold the exact answer, in units."""
    if reach is None:
        return None
    lattice = one.measure.lattice if one.measure else None
    low, high = released - reach, released + reach
    # No count is below 0, and no sum of values that are not negative.
    floor = 0 if lattice is None or lattice.lower >= 0 else low
    return max(low, floor), max(high, floor)


def _thresholds(found: BatchOutput, place: int, queries: int) -> tuple[int | None, int | None]:
    """Return where the negative and the positive side of a query were truncated, in units."""
    every = found.thresholds
    if every is None:
        return None, None
    if len(every) == 1:
        return None, every[0]
    return (every[place + queries] if len(every) > queries else None), every[place]
