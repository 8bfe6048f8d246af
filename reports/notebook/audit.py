"""Notebook rendering of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.html.query import WORDS, verdict_cells
from reports.notebook.summary import Summary, Table, numbers
from reports.text.audit import SIMULATED, headline
from reports.text.notes import refused_lines

if TYPE_CHECKING:
    from reports.models.audit import AuditReport


def render(report: AuditReport) -> Summary:
    """Title, queries that were not asked, and a row per verdict."""
    title, lead = headline(report)
    stamp = SIMULATED if report.simulated else ""
    return Summary(title, lead, [_verdicts(report)], stamp, [*refused_lines(report.refused)])


def _verdicts(report: AuditReport) -> Table:
    rows = []
    for verdict in report.verdicts:
        cells = verdict_cells(verdict)
        signs = "".join(f" {mark}" for mark in cells["marks"])
        rows.append(
            [
                (f"{cells['badge']}{signs}", WORDS[verdict.standing]),
                (verdict.id, "name"),
                *((cells[name], "number") for name in ("p", "answer", "tau", "people")),
            ]
        )
    titles = ("p", "synthetic answer", "tolerance", "margin")
    return Table((("verdict", ""), ("query", ""), *numbers(titles)), rows)
