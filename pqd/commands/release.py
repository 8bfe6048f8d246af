"""``pqd release``: private answers to a whole workload under one budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciders import SecureNoise
from deciders.batch.verdicts import reach
from pqd.accounting.ledger_location import ledger_path
from pqd.batches.answers import Made, Member, asking, batches
from pqd.batches.mechanisms import TOGETHER
from pqd.batches.reweighting import corrected
from pqd.budgets import total_budget
from pqd.commands.audit import cost_of, part_of
from pqd.engine.export import check_new, write_frame
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import NothingSelectedError, ParameterError, QueryError, RunError
from pqd.execution import Accountant, Outputs, Part, measure
from pqd.parameters import Parameters
from pqd.planning.choose_decider import AUTO
from pqd.planning.decisions import QueryRequest
from pqd.planning.table_separation import check_separation
from pqd.progress import Progress, silent
from pqd.sql.predicate import atoms
from pqd.sql.workload_files import as_queries
from reports.models.release import ReleasedQuery, ReleaseReport
from reports.text.numbers import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deciders import Noise
    from deciders.batch.base import BatchOutput
    from deciders.exact import Number
    from pqd.batches.batch import BatchMeasurement
    from pqd.engine.tables import Table
    from pqd.sql.query import Query

_UNRECORDED = (
    "These answers were paid for but could not be written to the ledger; see that it is whole "
    "(pqd ledger verify) and keep this report: asked again, they are drawn and paid for again."
)


def release(  # noqa: PLR0913 - the facts of a release, all but three by keyword
    private: object,
    synthetic: object,
    queries: str | Query | Iterable[str | Query],
    *,
    total_epsilon: Number,
    mechanism: str = AUTO,
    alpha: Number = 0.05,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    ledger: str | Path | None = None,
    fresh: bool = False,
    unit: str | None = None,
    table: str | Path | None = None,
) -> ReleaseReport:
    """Answer a workload of COUNT and SUM queries on the private table, under one budget.

    Parameters
    ----------
    private, synthetic
        As for ``pqd.audit``: the synthetic table, and all other arguments, are public.
    queries
        One SQL text, several, or ``pqd.Query`` objects: COUNT(*), COUNT(column), SUM(expression).
    total_epsilon
        Privacy budget of all queries together.
    mechanism
        ``"auto"`` (errs least on the synthetic table), or ``workload``, ``identity``,
        ``numerical``, ``numerical_two``, ``dyadic``, ``normalization``,
        ``global_truncation``, ``clipped_composition``, ``ranges``.
    alpha
        One minus the level of the intervals ``low .. high`` of single answers.
    columns
        Public facts of columns; what is not stated comes from the synthetic table.
    ledger, fresh
        As for ``pqd.audit``.
    unit
        Not yet: one row is one person.
    table
        A new file (``.parquet`` or ``.csv``) for rows of the synthetic table drawn anew, so that
        they answer the queries as was released: post-processing, at no further cost.

    Returns
    -------
    ReleaseReport
        The answers drawn are ``report.cost.epsilon``-differentially private together: queries that
        sum up one thing are one batch, whose mechanism is differentially private at the share of
        the total that its number of queries is of all; shares add up.

    Raises
    ------
    PqdError
        As ``pqd.audit``.
    """
    check_unit(unit)
    # A release has no tolerance; that field of the terms is not used.
    terms = Parameters.parse(
        tau=1,
        epsilon=total_budget(total_epsilon),
        alpha=alpha,
        decider=mechanism,
        columns=columns,
    )
    accountant = Accountant(ledger_path(private, ledger), fresh=fresh)
    asked = as_queries(queries)
    target = None if table is None else check_new(table)
    return run_release(
        private, synthetic, asked, terms, SecureNoise(), accountant=accountant, table=target
    )


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
    terms: Parameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    table: Path | None = None,
) -> ReleaseReport:
    """Release with ``noise``; see ``release``.  Without a purse no account is kept."""
    _check(queries, terms)
    secret, public = open_table(private, "private"), open_table(synthetic, "synthetic")
    tables = SyntheticTables([public], secret)
    check_separation(tables, accountant)
    progress("Reading the synthetic table")
    part = part_of(
        tables, [QueryRequest(query, terms) for query in queries], terms.facts, Member.of
    )
    members = part.prepared.demand()
    if not members:
        raise NothingSelectedError("there is no query to answer")
    progress("Rehearsing on the synthetic table")
    made = batches(members, part, tables.tables[0], terms)
    taken = tuple(one.batch for one in made)
    drawn = Part(part.engine, part.private, asking(part, taken))
    # Before the charge: what may take long, or fail, must not come after it.
    reaches = {one.batch.name: _reaches(one, terms.alpha) for one in made}
    answers = measure([drawn], accountant, noise, progress)
    notes = [*part.prepared.notes, *_remarks(made)]
    notes += [] if answers.recorded else [_UNRECORDED]
    if table is not None:
        progress("Drawing the table")
        notes.append(_drawn(part, tables.tables[0], made, answers, table))
    return ReleaseReport(
        queries=tuple(_released(member, made, answers, reaches) for member in members),
        batches=tuple(one.facts(replayed=one.batch.key in answers.quote.known) for one in made),
        private=part.private.label,
        synthetic=public.label,
        epsilon=terms.epsilon,
        alpha=terms.alpha,
        cost=cost_of(answers.quote, accountant, None),
        simulated=noise.simulated,
        notes=tuple(notes),
        refused=part.prepared.left_out,
    )


def _unsure(batch: BatchMeasurement) -> tuple[str, ...]:
    """Return the conditions that a private row may meet as no class does."""
    classes = batch.plan.classes
    return classes.unsure if classes else ()


def _drawn(
    part: Part[Member], synthetic: Table, made: Sequence[Made], answers: Outputs, table: Path
) -> str:
    """Write the corrected copy and say what it is; a failure is told, since all is paid for."""
    found = corrected(part.engine, synthetic, part.prepared.schema, made, answers)
    try:
        write_frame(found.frame, table)
    except RunError as error:
        return f"{error}. Asked again, the answers cost nothing."
    return f"{table.name}: {found.note}"


def _check(queries: Sequence[Query], terms: Parameters) -> None:
    """Refuse what no mechanism is for, before any table is read."""
    names = [AUTO, *TOGETHER]
    if terms.decider not in names:
        known = ", ".join(names)
        raise ParameterError(f"mechanism {terms.decider!r} is not known; use one of {known}")
    for query in queries:
        if query.aggregate not in {"COUNT", "SUM"}:
            raise QueryError(
                f"query {query.id}: a release answers COUNT(*), COUNT(column) and SUM(expression), "
                f"not {query.aggregate}; ask pqd audit or pqd compare for it, or for a mean ask "
                "its SUM and COUNT here",
                query.sql,
            )


def _remarks(made: Sequence[Made]) -> Iterator[str]:
    """Yield what else is public of the batches."""
    for one in made:
        if one.choice.error >= one.choice.size / 2 > 0:
            yield (
                f"{one.batch.name}: rehearsed, the answers err by half their size or more: at this "
                "epsilon they say little; ask fewer queries, or raise epsilon."
            )
        if one.passed:
            yield (
                f"{one.batch.name}: of all mechanisms only those were weighed that tell no classes "
                f"of rows apart, as {one.passed}."
            )
        if note := one.batch.plan.note:
            yield f"{one.batch.name}: {note}"
        if unsure := _unsure(one.batch):
            more = f" and {len(unsure) - 3:,} more" if len(unsure) > 3 else ""
            yield (
                f"{one.batch.name}: what can hold together of {', '.join(unsure[:3])}{more} is "
                "known from synthetic rows alone; a private row that combines these otherwise "
                "counts as meeting none of them."
            )


# How far the noise of each answer of a batch reaches, in units; None where that is not known.
Reaches = tuple[int | None, ...]


def _released(
    member: Member, made: Sequence[Made], answers: Outputs, reaches: Mapping[str, Reaches]
) -> ReleasedQuery:
    """Return one query with its answer."""
    one = next(each for each in made if each.measured == member.task.measured)
    found, place = answers.batched(one.batch), one.places[member.asks]
    query, scale = member.query, one.scale
    low, high = _thresholds(found, place, len(one.places)) if one.measured else (None, None)
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
        q_synthetic=plain(member.synthetic),
        answer=plain(released * scale),
        low=plain(ends[0] * scale) if ends else None,
        high=plain(ends[1] * scale) if ends else None,
        threshold=None if high is None else plain(high * scale),
        lower_threshold=None if low is None else plain(-low * scale),
        deviation=found.deviations[place] * float(scale) if found.deviations else None,
        block=query.block,
        group=query.group,
    )


def _reaches(one: Made, alpha: Number) -> Reaches:
    """Return how far noise reaches but with chance ``alpha``, where it is all that is wrong."""
    batch, noise = one.batch, one.batch.plan.noise(one.batch.epsilon)
    if noise is None:
        return (None,) * len(batch.tasks)
    unsure, known = set(_unsure(batch)), {law: reach(law, alpha) for law in set(noise)}
    met = (
        set() if t.predicate is None else {a.sql for a in atoms(t.predicate)} for t in batch.tasks
    )
    return tuple(
        None if names & unsure else known[law] for names, law in zip(met, noise, strict=True)
    )


def _ends(one: Made, released: int, reach: int | None) -> tuple[int, int] | None:
    """Return ends that hold the exact answer, in units."""
    if reach is None:
        return None
    lattice = one.measured.lattice if one.measured else None
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
