"""Document of a lint: findings in a copy, faults first, and the facts of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pqd.reports.blocks import (
    Block,
    Cell,
    Closing,
    Column,
    Definitions,
    Document,
    Group,
    Lines,
    Row,
    Section,
    Table,
)
from pqd.reports.documents.shared import first_names, lines
from pqd.reports.models.standings import FINDINGS, Standing
from pqd.reports.text.numbers import counted

if TYPE_CHECKING:
    from pqd.reports.models.lint import Finding, LintedColumn, LintReport

# Name of a finding in whole rows.
_ROWS = "rows"
_MEANINGS = [
    (
        Standing.FAULT.badge.text,
        (
            "Contradicts a stated fact, or hardly any real table is so. pqd lint --strict then ends"
            " with 1."
        ),
    ),
    (Standing.LOOK.badge.text, "May be right; whoever knows the columns can tell."),
]
_SILENCE = (
    "This is said of the copy alone: a copy without findings may still be far from the private "
    "table, which pqd profile measures."
)


def document(report: LintReport) -> Document:
    """Document of ``report``."""
    title = _title(report)
    faulty = first_names(dict.fromkeys(map(_name, report.faults)))
    return Document(
        kind="lint",
        title=title,
        lead=f"{_subject(report)}. {_SILENCE}",
        subject=_subject(report),
        spent="nothing spent",
        facts=[
            ("Synthetic table", report.synthetic),
            ("Rows", f"{report.rows:,}"),
            ("Columns", f"{len(report.columns):,}"),
            ("Epsilon spent", "0"),
        ],
        body=list(_body(report)),
        notes=lines(map(str, report.notes)),
        reading=[Definitions(_MEANINGS), Lines(lines([_SILENCE]))],
        closing=Closing(
            counts=f"{title}.",
            failed=f"Faults: {faulty}" if faulty else "",
            step="pqd profile measures how far the copy is from the private table",
        ),
        made=report.day or "",
        unknown="the copy has no finding in {} to explain",
    )


def _title(report: LintReport) -> str:
    if not report.findings:
        return "No findings"
    looks = len(report.findings) - len(report.faults)
    parts = [counted(len(report.faults), Standing.FAULT)] if report.faults else []
    parts += [f"{looks:,} {Standing.LOOK}"] if looks else []
    return ", ".join(parts)


def _subject(report: LintReport) -> str:
    columns = counted(len(report.columns), "column")
    return f"{report.synthetic}: {report.rows:,} rows, {columns}"


def _body(report: LintReport) -> Iterator[Block]:
    groups = [
        Group(
            name=standing,
            badge=standing.badge,
            rows=[_row(each) for each in report.findings if each.standing is standing],
            fate=standing.fate,
            most=len(report.findings),
        )
        for standing in FINDINGS
    ]
    findings = Table(
        columns=(Column("finding", "badge"), Column("column", "name", fold=14), Column("what")),
        groups=groups,
        empty="Nothing was found.",
    )
    yield Section(title="Findings", blocks=[findings], brief=False)
    columns = Table(
        columns=(
            Column("column", "name", fold=14),
            Column("kind"),
            Column("filled", "number"),
            Column("values", "number"),
            Column("least", "number", drop=1),
            Column("largest", "number", drop=1),
            Column("most frequent", drop=2),
        ),
        groups=[Group(rows=[_column(each, report.rows) for each in report.columns])],
    )
    yield Section(title="Columns", blocks=[columns], folded=True, drop=1)


def _name(finding: Finding) -> str:
    return first_names(finding.columns) or _ROWS


def _row(finding: Finding) -> Row:
    name = _name(finding)
    cells = (Cell(badge=finding.standing.badge), Cell(name), Cell(finding.note.sentence))
    return Row(id=name, cells=cells, names=finding.columns)


def _column(column: LintedColumn, rows: int) -> Row:
    filled = "all" if column.filled == rows else f"{column.filled:,}"
    frequent = f"{column.frequent} ({column.most:,})" if column.frequent else ""
    cells = (
        Cell(column.name),
        Cell(column.kind),
        Cell(filled, column.filled),
        Cell(f"{column.distinct:,}", column.distinct),
        Cell(column.low),
        Cell(column.high),
        Cell(frequent, column.most),
    )
    return Row(id=column.name, cells=cells)
