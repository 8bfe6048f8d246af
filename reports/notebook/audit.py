"""Notebook rendering of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.html.query import WORDS
from pqd.reports.terminal.rows import badge_of, mixed_replays, numbers_of
from pqd.reports.text.audit import SIMULATED, headline, worst_verdicts
from pqd.reports.text.cost import account_sentences
from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lines
from pqd.reports.text.words import first_of
from pqd.reports.writers.summary import Summary, Table, numbers, table_of

if TYPE_CHECKING:
    from pqd.reports.models.audit import AuditReport, Verdict
    from pqd.reports.writers.summary import CellText


def render(report: AuditReport) -> Summary:
    """Title, what was spent, a row per verdict, the worst first; queries not asked, and notes."""
    title, lead = headline(report)
    replayed = [verdict.replayed for verdict in report.verdicts]
    return Summary(
        title,
        lead,
        [_verdicts(report)],
        SIMULATED if report.simulated else "",
        list(account_sentences(report.cost, report.private, replayed)),
        [*first_of(refused_lines(report.refused)), *first_of(map(visible, report.notes))],
    )


def _verdicts(report: AuditReport) -> Table:
    """Table with the columns of the terminal's."""
    mixed = mixed_replays(report.verdicts)

    def row(verdict: Verdict) -> list[CellText]:
        *amounts, sure = numbers_of(verdict, "±", mixed=mixed)
        badge = badge_of(verdict).plain
        told = ((text, "number") for text in amounts)
        return [(badge, WORDS[verdict.standing]), (verdict.id, "name"), *told, (sure, "")]

    trusted = [verdict for verdict in report.verdicts if verdict.standing == "trusted"]
    heads = (("verdict", ""), ("query", ""), *numbers(("copy", "tolerance", "off by")))
    return table_of((*heads, ("sure?", "")), [*worst_verdicts(report.verdicts), *trusted], row)
