"""Notebook rendering of ``pqd check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.html.check import KINDS
from reports.notebook.summary import Summary, Table, numbers
from reports.text.audit import SIMULATED
from reports.text.check import badge, counts_sentence, message_head, result, row, worst_first

if TYPE_CHECKING:
    from reports.models.check import CheckReport


def render(report: CheckReport) -> Summary:
    """Result, how many checks came to what, and a row per check, the worst first."""
    stamp = SIMULATED if report.simulated else ""
    return Summary(result(report), counts_sentence(report), [_checks(report)], stamp)


def _checks(report: CheckReport) -> Table:
    rows = []
    for check in worst_first(report):
        cells, word = row(check), badge(check)
        signs = " SIMULATED" if any(verdict.simulated for verdict in check.verdicts) else ""
        amounts = ((text, "number") for text in (cells.p, cells.answer, cells.tolerance))
        why = message_head(check.message)[0]
        rows.append([(f"{word}{signs}", KINDS[word]), (check.id, "name"), (why, ""), *amounts])
    titles = ("p", "synthetic answer", "tolerance")
    return Table((("result", ""), ("check", ""), ("why", ""), *numbers(titles)), rows)
