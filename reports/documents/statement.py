"""Document of a statement on a ledger, for those who supervise the protection of data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.deciders.options import option
from pqd.reports.blocks import (
    Cell,
    Column,
    Definitions,
    Document,
    Group,
    Lines,
    Row,
    Section,
    Table,
)
from pqd.reports.documents.ledger import period_line, runs_table, standing_lines
from pqd.reports.documents.shared import lines
from pqd.reports.text.cost import amount_text, limit_text, promise
from pqd.reports.text.numbers import counted, epsilon_text

if TYPE_CHECKING:
    from pqd.reports.blocks import Block
    from pqd.reports.models.ledger import DataSetFacts, LimitFacts, StatementReport

_COVERS = (
    "This statement covers what pqd released and charged to this ledger. It does not cover the "
    "copies themselves: whether a copy protects anybody is a promise of its generator alone."
)
_AGAINST = (
    "The guarantee holds against everybody who sees what pqd wrote. It does not hold against "
    "whoever can read the private table, the ledger, or the memory of the machine."
)
_PROOFS = (
    "The proofs of all mechanisms are in docs/theory.md, the limits of the promise in "
    "docs/limitations.md of the pqd project."
)
_NO_COLUMN = (
    "Each row counts as one person. Not every run states that it is so ({0}) or names a column "
    "of persons ({1}): a person with several rows has the guarantee for each of them alone."
)


def document(report: StatementReport) -> Document:
    """Document of ``report``."""
    title = f"Privacy statement on {counted(len(report.data_sets), 'private data set')}"
    if not report.data_sets:
        title = "Privacy statement: nothing was ever charged"
    body: list[Block] = [_section(data_set, report.limits) for data_set in report.data_sets]
    if report.limits:
        body.append(Section(title="Limits, as they were set", blocks=[_limits(report)]))
    body.append(Section(title="How to verify it", blocks=[Lines(lines(_verifying(report)))]))
    return Document(
        kind="statement",
        title=title,
        lead="",
        subject=title,
        facts=[
            ("Ledger", report.name),
            ("Entries", f"{report.entries:,}"),
            ("Day", report.day),
            ("Head of the chain", report.head),
        ],
        body=body,
        cost=[Lines(lines(totals))] if (totals := list(_totals(report))) else [],
        reading=[Lines(lines([_COVERS, _AGAINST, _PROOFS]))],
        made=report.day,
    )


def _totals(report: StatementReport) -> Iterator[str]:
    for data_set in report.data_sets:
        yield f"{data_set.name}: {amount_text(data_set.epsilon, data_set.delta)} spent in all."
    if len(report.data_sets) > 1:
        yield "A person in several data sets pays in each."


def _section(data_set: DataSetFacts, limits: Sequence[LimitFacts]) -> Section:
    parts = {
        "Spent by month (UTC)": _months(data_set),
        "Versions": _versions(data_set),
        "Mechanisms": _mechanisms(data_set),
        "Runs": runs_table(data_set),
    }
    blocks: list[Block] = [Definitions(list(_definitions(data_set, limits)))]
    blocks += [Section(title=title, blocks=[table]) for title, table in parts.items() if table.size]
    return Section(title=f"Data set {data_set.number}: {data_set.name}", blocks=blocks)


def _definitions(data_set: DataSetFacts, limits: Sequence[LimitFacts]) -> Iterator[tuple[str, str]]:
    since = data_set.versions[0].since[:10]
    yield "Data set", f"{data_set.number}, {data_set.name}, since {since}"
    yield "Who is protected", " ".join(_unit_sentences(data_set))
    yield "Guaranteed beforehand", " ".join(_guaranteed(data_set, limits))
    yield "Spent", " ".join(_spent(data_set))
    if told := list(_conditions(data_set)):
        yield "Conditions", " ".join(told)
    copies = list(dict.fromkeys(copy for run in data_set.runs for copy in run.copies))
    if copies:
        yield "Copies", f"{', '.join(copies)}. They are taken as public."


def _unit_sentences(data_set: DataSetFacts) -> Iterator[str]:
    for unit in data_set.units:
        if unit is not None:
            yield f'A person: all rows with one value of the column "{unit}" are one person.'
        elif data_set.rows_per_person is not None:
            rows = counted(data_set.rows_per_person, "row")
            yield (
                f"A person with at most {rows}: what was charged per row counts for so many rows, "
                "as the custodian has stated."
            )
        elif all(run.row_is_person for run in data_set.runs if run.unit is None):
            yield "Each row is one person, as the caller of each run has stated."
        else:
            yield _NO_COLUMN.format(option("--row-is-person"), option("--unit"))


def _guaranteed(data_set: DataSetFacts, limits: Sequence[LimitFacts]) -> Iterator[str]:
    """Sentences on the limits, whether runs came before them, and whether they were raised."""
    if data_set.limit is None and data_set.limit_delta is None and not data_set.periods:
        yield "Nothing: no limit is set, so any later run may spend more."
        return
    if data_set.limit is not None or data_set.limit_delta is not None:
        most = limit_text(data_set.limit, data_set.limit_delta)
        yield f"{most[0].upper()}{most[1:]} in all runs together."
    for period in data_set.periods:
        most = limit_text(period.limit, period.limit_delta)
        yield f"{most[0].upper()}{most[1:]} in each {period.kind}."
    yield "A run beyond a limit is refused and spends nothing."
    own = [each for each in limits if each.data_set in {None, data_set.number}]
    early = sum(run.time < own[0].time for run in data_set.runs) if own else 0
    if early:
        yield f"The first limit was set on {own[0].time[:10]}, after {counted(early, 'run')}."
    if raised := _raised(own):
        yield f"Limits were raised {counted(raised, 'time')}; they are listed below."


def _raised(limits: Sequence[LimitFacts]) -> int:
    """Number of limits that were raised or lifted."""
    last: dict[tuple[int | None, str | None], LimitFacts] = {}
    raised = 0
    for limit in limits:
        before = last.get((limit.data_set, limit.period))
        if before is not None:
            pairs = (before.epsilon, limit.epsilon), (before.delta, limit.delta)
            raised += any(old is not None and (new is None or new > old) for old, new in pairs)
        last[limit.data_set, limit.period] = limit
    return raised


def _spent(data_set: DataSetFacts) -> Iterator[str]:
    runs = data_set.runs
    spent = amount_text(data_set.epsilon, data_set.delta)
    if not runs:
        yield "Nothing."
        return
    first, last = runs[0].time[:10], runs[-1].time[:10]
    when = f"on {first}" if first == last else f"from {first} to {last}"
    yield f"{spent[0].upper()}{spent[1:]} in {counted(len(runs), 'run')} {when}."
    yield from (f"{line[0].upper()}{line[1:]}." for line in map(period_line, data_set.periods))
    if len(data_set.versions) > 1:
        yield f"Whoever is in all {len(data_set.versions):,} versions has paid all of it."
    if data_set.epsilon or data_set.delta:
        yield promise(data_set.epsilon, data_set.delta)


def _conditions(data_set: DataSetFacts) -> Iterator[str]:
    sources = {each.bounds for each in data_set.measurements} - {None}
    if sources == {"stated"}:
        yield "The bounds to which values are cut were stated by the callers."
    elif sources:
        whose = "those of the copies"
        if sources != {"copy"}:
            whose = "in part those of the copies, in part stated by the callers"
        yield f"The bounds to which values are cut are {whose}; the private table gave none."
    most = max((run.max_rows or 0 for run in data_set.runs), default=0)
    if most > 1:
        yield (
            f"Where rows count, a person counts as at most {most:,} rows, and costs as many times."
        )
    unused = sum(run.unused for run in data_set.runs)
    if unused:
        yield (
            f"For {counted(unused, 'charge')} nothing was drawn; each counts as spent, and the "
            "same run again uses it."
        )
    yield from (f"{line[0].upper()}{line[1:]}." for line in standing_lines(data_set))


def _months(data_set: DataSetFacts) -> Table:
    rows = [
        Row(
            id=month,
            cells=(
                Cell(month),
                Cell(f"{runs:,}", runs),
                Cell(epsilon_text(epsilon), float(epsilon)),
                Cell(f"{float(delta):.3g}", float(delta)) if delta else Cell(),
            ),
        )
        for month, runs, epsilon, delta in data_set.months
    ]
    columns = (
        Column("month", "name"),
        Column("runs", "number"),
        Column("epsilon", "number"),
        Column("delta", "number"),
    )
    return Table(columns=columns, groups=[Group(rows=rows)])


def _versions(data_set: DataSetFacts) -> Table:
    rows = [
        Row(
            id=str(version.number),
            cells=(
                Cell(version.label),
                Cell(str(version.number), version.number),
                Cell(version.since[:10], version.since),
                Cell(f"{len(version.runs):,}", len(version.runs)),
                Cell(epsilon_text(version.epsilon), float(version.epsilon)),
                Cell(f"{float(version.delta):.3g}") if version.delta else Cell(),
            ),
        )
        for version in data_set.versions
    ]
    columns = (
        Column("version", "name", fold=16),
        Column("table", "number"),
        Column("since", below=True),
        Column("runs", "number"),
        Column("epsilon", "number"),
        Column("delta", "number"),
    )
    return Table(columns=columns, groups=[Group(rows=rows)])


def _mechanisms(data_set: DataSetFacts) -> Table:
    rows = [
        Row(id=mechanism, cells=(Cell(mechanism), Cell(f"{number:,}", number)))
        for mechanism, number in data_set.mechanisms
    ]
    columns = Column("mechanism", "name"), Column("measurements", "number")
    return Table(columns=columns, groups=[Group(rows=rows)])


def _limits(report: StatementReport) -> Table:
    columns = (
        Column("limit", "name", fold=16),
        Column("date"),
        Column("data set"),
        Column("period"),
    )
    rows = [_limit(number, limit) for number, limit in enumerate(report.limits, 1)]
    return Table(columns=columns, groups=[Group(rows=rows)])


def _limit(number: int, limit: LimitFacts) -> Row:
    whose = "every one" if limit.data_set is None else str(limit.data_set)
    most = limit_text(limit.epsilon, limit.delta)
    period = f"each {limit.period}" if limit.period else "ever"
    cells = Cell(most), Cell(limit.time[:10], limit.time), Cell(whose), Cell(period)
    return Row(id=f"limit {number}", cells=cells)


def _verifying(report: StatementReport) -> Iterator[str]:
    yield (
        f"The ledger is a chain of {counted(report.entries, 'entry', 'entries')}; each holds the "
        f"hash of the one before, and the last hash, the head, is {report.head}."
    )
    yield (
        f"pqd ledger verify {report.name} --head {report.head} says whether the ledger still holds "
        "all that this statement is about: keep the head, or an export (pqd ledger export), apart "
        "from the ledger."
    )
    yield "Each charge was written before anything that it pays for was drawn; none is taken back."
