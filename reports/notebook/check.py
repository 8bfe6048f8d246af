"""Notebook rendering of ``pqd check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.html.check import KINDS
from pqd.reports.text.audit import SIMULATED
from pqd.reports.text.check import (
    badge,
    baseline_sentence,
    counts_sentence,
    message_head,
    result,
    row,
    worst_first,
)
from pqd.reports.text.cost import account_sentences
from pqd.reports.text.escape import visible
from pqd.reports.text.words import first_of
from pqd.reports.writers.summary import Summary, Table, numbers, table_of

if TYPE_CHECKING:
    from pqd.reports.models.check import CheckReport, CheckResult
    from pqd.reports.writers.summary import CellText


def render(report: CheckReport) -> Summary:
    """Result, what was spent, how many checks came to what, and a row per check, worst first."""
    replayed = [verdict.replayed for check in report.checks for verdict in check.verdicts]
    account = account_sentences(report.cost, report.private, replayed, dry=report.dry)
    return Summary(
        f"{result(report)}: {counts_sentence(report).removesuffix('.')}",
        "",
        [_checks(report)],
        SIMULATED if report.simulated else "",
        list(account),
        [*first_of(map(visible, report.notes)), *filter(None, [baseline_sentence(report)])],
    )


def _checks(report: CheckReport) -> Table:
    titles = ("p", "synthetic answer", "tolerance")
    heads = (("result", ""), ("check", ""), ("why", ""), *numbers(titles))
    return table_of(heads, worst_first(report), _row)


def _row(check: CheckResult) -> list[CellText]:
    cells, word = row(check), badge(check)
    signs = " SIMULATED" if any(verdict.simulated for verdict in check.verdicts) else ""
    amounts = ((text, "number") for text in (cells.p, cells.answer, cells.tolerance))
    why = message_head(check.message)[0]
    return [(f"{word}{signs}", KINDS[word]), (check.id, "name"), (why, ""), *amounts]
