"""Writer for a cell of a notebook: a short piece of HTML, or a few lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from pqd.reports.blocks import PAGE, Heat, Line, Lines, Section, Table, plain
from pqd.reports.escape import inert, visible
from pqd.reports.models.report import document_of
from pqd.reports.text.numbers import first_of
from pqd.reports.writers.html.frame import fragment
from pqd.reports.writers.summary import MOST, Summary
from pqd.reports.writers.summary import Table as SummaryTable

if TYPE_CHECKING:
    from pqd.reports.blocks import Block, Cell, Column, Document, HeatCell, Row
    from pqd.reports.models.report import Report
    from pqd.reports.writers.summary import CellText

# A heat map with more columns does not fit into a cell of a notebook.
_WIDEST = 20


def notebook_html(report: Report) -> str:
    """Report of any kind as a piece of HTML for a cell of a notebook."""
    summary = _summary(report)
    # Leave out sentences that the lead already says.
    account = [text for text in summary.account if text not in summary.lead]
    summary = replace(summary, account=account)
    return fragment("notebook.html.j2", kind=summary.command or report.kind, summary=summary)


def brief_text(report: Report) -> str:
    """Report of any kind in a few lines: its title, what was spent, and how to see more."""
    summary = _summary(report)
    lines = [
        summary.stamp,
        f"{type(report).__name__}: {summary.title}",
        " ".join(summary.account),
        "print() shows it in full, open() as a page, to_frame() as data.",
    ]
    return inert("\n".join(filter(None, lines)))


def _summary(report: Report) -> Summary:
    return summary_of(document_of(report))


def summary_of(document: Document) -> Summary:
    """Summary of a document: its sentences, and its tables with their first rows."""
    omitted = (each.text for each in document.omitted.lines)
    opened = (row for table in document.tables for row in table.rows if row.open)
    lines = [
        *map(_said, _lines(document.body)),
        *first_of(visible(f"{row.id}: {row.aside}") for row in opened),
        *first_of(map(visible, omitted)),
        *first_of(map(_said, document.notes)),
    ]
    return Summary(
        visible(document.title),
        visible(" ".join(filter(None, [document.advice, document.lead]))),
        list(_tables(document.body)),
        " ".join(map(_said, document.banner)),
        list(map(_said, document.account)),
        lines,
        command=document.kind,
    )


def _said(line: Line) -> str:
    return visible(plain(line.text))


def _lines(blocks: Iterable[Block]) -> Iterator[Line]:
    """Sentences of the body, without folded sections and lines of the role ``detail``."""
    for block in blocks:
        if isinstance(block, Section) and not block.folded and block.drop < PAGE:
            yield from _lines(block.blocks)
        elif isinstance(block, Table):
            yield from (Line(group.fold) for group in block.groups if group.fold)
        elif isinstance(block, Lines):
            yield from (line for line in block.lines if line.role != "detail")


def _tables(blocks: Iterable[Block]) -> Iterator[SummaryTable]:
    for block in blocks:
        if isinstance(block, Section) and block.drop < PAGE:
            yield from _tables(block.blocks)
        elif isinstance(block, Table) and block.silent:
            # Omit the table: the sentence that counts its other rows is folded, so not shown.
            continue
        elif isinstance(block, Table):
            places = [p for p in block.places() if block.columns[p].kind != "picture"]
            heads = tuple((block.columns[p].title, _mark(block.columns[p])) for p in places)
            listed = (row for group in block.groups if not group.fold for row in group.rows)
            rows = list(islice(listed, MOST if block.most is None else block.most))
            cells = [
                [_cell(row, block.columns[place], row.cells[place]) for place in places]
                for row in rows
            ]
            yield SummaryTable(heads, cells, block.size - len(cells))
        elif isinstance(block, Heat) and len(block.columns) <= _WIDEST:
            heads = ((block.corner, ""), *((name, "") for name in block.columns))
            shades = [[(name, "name"), *map(_shade, row)] for name, row in block.rows]
            yield SummaryTable(heads, shades)


def _shade(cell: HeatCell | None) -> CellText:
    if cell is None:
        return "", ""
    return f"{cell.sign} {cell.text}".strip(), "" if cell.tone == "none" else cell.tone


def _mark(column: Column) -> str:
    return "number" if column.kind == "number" else ""


def _cell(row: Row, column: Column, cell: Cell) -> CellText:
    if column.kind == "name":
        return f"{cell.text} {row.stamp}".strip(), "name"
    if cell.badge and not cell.text:
        return cell.badge.text, cell.badge.tone
    badge = cell.badge.text if cell.badge else ""
    return f"{cell.text} {badge}".strip(), _mark(column)
