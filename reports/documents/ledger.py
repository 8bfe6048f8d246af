"""Document of a ledger: the spending on each private data set, and the head of the hash chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.names import names_and_more
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
from pqd.reports.documents.shared import lines
from pqd.reports.text.cost import amount_text, limit_text
from pqd.reports.text.numbers import counted, epsilon_text

if TYPE_CHECKING:
    from pqd.reports.blocks import Block
    from pqd.reports.models.ledger import (
        AccountFacts,
        DataSetFacts,
        LedgerReport,
        MeasurementFacts,
        PeriodFacts,
        RunFacts,
    )

# Of a run's measurements so many are told, and so many characters of each.
_MOST_TOLD, _LONGEST = 4, 120
# Numbers of names that a line lists: columns of a run, versions of a data set.
_MOST_COLUMNS, _MOST_VERSIONS = 8, 3
# Of more runs than this a page can search.
_MOST_UNSOUGHT = 20
_RUN_COLUMNS = (
    Column("entry", "number"),
    Column("date", below=True),
    Column("run"),
    Column("copy", "name", fold=16),
    Column("table", "number", drop=1),
    Column("epsilon", "number"),
    Column("counts", "number", drop=1),
    Column("delta", "number", drop=1),
    Column("rule", drop=3),
    Column("person", drop=2, below=True),
)


def document(report: LedgerReport) -> Document:
    """Document of ``report``."""
    body: list[Block] = [*map(_section, report.data_sets), Lines(lines(_closing_lines(report)))]
    return Document(kind="ledger", title="Ledger", lead="", body=body)


def _section(data_set: DataSetFacts) -> Section:
    since = data_set.versions[0].since[:10]
    title = f"data set {data_set.number}   {data_set.name}   since {since}"
    blocks: list[Block] = [Lines(lines(data_set_lines(data_set)))]
    return Section(title=title, blocks=[*blocks, runs_table(data_set)], folded=True)


def data_set_lines(data_set: DataSetFacts) -> Iterator[str]:
    """Lines on the spending on one private data set, and on its versions."""
    yield _spent_line(data_set)
    yield from map(period_line, data_set.periods)
    yield from standing_lines(data_set)
    yield from map(_version_line, data_set.versions[: -_MOST_VERSIONS - 1 : -1])
    more = len(data_set.versions) - _MOST_VERSIONS
    if more > 0:
        yield f"and {counted(more, 'earlier version')}"
    answers = counted(sum(version.answers for version in data_set.versions), "measurement")
    yield f"{answers} stored; repeating them costs nothing"
    if len(data_set.versions) > 1:
        since = data_set.versions[0].since[:10]
        yield f"Whoever is in every version since {since} has paid all of it."


def standing_lines(data_set: DataSetFacts) -> Iterator[str]:
    """Lines on what the custodian has said of a data set."""
    if data_set.rows_per_person is not None:
        yield f"for persons with at most {counted(data_set.rows_per_person, 'row')}"
    if data_set.ended is not None:
        yield f"ended: {data_set.ended}"
    for version in data_set.versions:
        if version.public is not None:
            yield f"table {version.number} ({version.label}) was declared public: {version.public}"


def _spent_line(data_set: DataSetFacts) -> str:
    return f"spent {_spent_of(data_set.epsilon, data_set.limit)}" + _delta_of(
        data_set.delta, data_set.limit_delta
    )


def period_line(period: PeriodFacts) -> str:
    """Line on what is spent in the current period of the calendar, and on its limit."""
    spent = _spent_of(period.epsilon, period.limit) + _delta_of(period.delta, period.limit_delta)
    return f"in the {period.kind} from {period.first}: {spent}; the next begins on {period.after}"


def _spent_of(epsilon: Fraction, limit: Fraction | None) -> str:
    spent = f"epsilon {epsilon_text(epsilon)}"
    if limit is None:
        return spent
    left = max(limit - epsilon, Fraction(0))
    return f"{spent} of {epsilon_text(limit)}, {epsilon_text(left)} left"


def _delta_of(delta: Fraction, limit: Fraction | None) -> str:
    if not (delta or limit):
        return ""
    spent = f"; delta {float(delta):.3g}"
    if limit is None:
        return spent
    return f"{spent} of {float(limit):.3g}, {float(max(limit - delta, Fraction(0))):.3g} left"


def _version_line(version: AccountFacts) -> str:
    spent = amount_text(version.epsilon, version.delta)
    return f"table {version.number}: {version.label}, since {version.since[:10]}, {spent}"


def runs_table(data_set: DataSetFacts) -> Table:
    """Table of the runs on a data set, the last one first."""
    numbers = {run.entry: version.number for version in data_set.versions for run in version.runs}
    several = len(data_set.versions) > 1
    rows = [_run(run, numbers[run.entry] if several else None) for run in reversed(data_set.runs)]
    return Table(
        columns=_RUN_COLUMNS,
        groups=[Group(rows=rows)],
        find="a copy, a command or words of a query" if len(rows) > _MOST_UNSOUGHT else "",
        order="The last run comes first." if len(rows) > 1 else "",
    )


def _run(run: RunFacts, table: int | None) -> Row:
    delta = Cell(f"{float(run.delta):.3g}", float(run.delta)) if run.delta else Cell()
    counts = Cell() if run.counted is None else Cell(amount_text(*run.cost)[8:], float(run.counted))
    if not run.unit:
        person = "each row" if run.row_is_person else ""
    else:
        person = f"{run.unit}, {counted(run.max_rows, 'row')}" if run.max_rows else run.unit
    cells = (
        Cell(str(run.entry), run.entry),
        Cell(run.time[:10], run.time),
        Cell(run.command),
        Cell(", ".join(run.copies)),
        Cell() if table is None else Cell(str(table), table),
        Cell(epsilon_text(run.epsilon), float(run.epsilon)),
        counts,
        delta,
        Cell(run.rule),
        Cell(person),
    )
    unused = "; nothing was drawn for it: the same run again uses this charge" if run.unused else ""
    return Row(
        id=str(run.entry),
        cells=cells,
        remark=asked_text(run.measurements) + unused,
        whole_remark=asked_text(run.measurements, whole=True) + unused,
        details=lambda: [Definitions([(each.id, _asks(each)) for each in run.measurements])],
    )


def _asks(measurement: MeasurementFacts) -> str:
    """SQL of a measurement or the columns of its marginals, its mechanism and its epsilon."""
    asks = measurement.sql or f"columns {', '.join(measurement.columns)}"
    return f"{asks}; {measurement.mechanism}, epsilon {epsilon_text(measurement.epsilon)}"


def asked_text(measurements: Sequence[MeasurementFacts], *, whole: bool = False) -> str:
    """SQL or names of the measurements of a run, and the columns of its marginals.

    All of it if ``whole``; else shortened.
    """
    texts = list(dict.fromkeys(" ".join(each.sql.split()) or each.id for each in measurements))
    columns = list(dict.fromkeys(name for each in measurements for name in each.columns))
    if whole:
        told = "; ".join(texts)
        return f"{told} (columns {', '.join(columns)})" if columns else told
    told = "; ".join(_cut(text) for text in texts[:_MOST_TOLD])
    told += f"; and {len(texts) - _MOST_TOLD:,} more" if len(texts) > _MOST_TOLD else ""
    return f"{told} (columns {names_and_more(columns, _MOST_COLUMNS)})" if columns else told


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3].rstrip()}..."


def _closing_lines(report: LedgerReport) -> Iterator[str]:
    """Lines that hold for all data sets, and the head of the hash chain."""
    if not report.data_sets:
        yield "Nothing was ever charged."
    if report.limit is not None or report.limit_delta is not None:
        most = limit_text(report.limit, report.limit_delta)
        yield f"{most[0].upper()}{most[1:]} on every data set."
    if len(report.data_sets) > 1:
        yield "Each data set has a budget of its own: a person in several pays in each."
    yield f"{report.entries} entries, head {report.head}"
