"""Notebook rendering of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.html.query import WORDS, verdict_cells
from reports.notebook.summary import MOST, Summary, Table, numbers
from reports.text.audit import SIMULATED, headline, worst_verdicts
from reports.text.notes import refused_lines
from reports.text.words import first_of

if TYPE_CHECKING:
    from reports.models.audit import AuditReport


def render(report: AuditReport) -> Summary:
    """Title, queries that were not asked, and a row per verdict, of many the worst first."""
    title, lead = headline(report)
    stamp = SIMULATED if report.simulated else ""
    left_out = [*first_of(refused_lines(report.refused))]
    return Summary(title, lead, [_verdicts(report)], stamp, left_out)


def _verdicts(report: AuditReport) -> Table:
    rows = []
    verdicts = report.verdicts
    if len(verdicts) > MOST:
        verdicts = (*worst_verdicts(verdicts), *(v for v in verdicts if v.standing == "trusted"))
    for verdict in verdicts:
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
