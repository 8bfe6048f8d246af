"""Notebook rendering of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.text.cost import account_sentences
from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lines
from pqd.reports.text.numbers import epsilon_text, number_text
from pqd.reports.text.release import (
    SIMULATED,
    difference,
    error_text,
    headline,
    interval_text,
    level_text,
    noise_text,
)
from pqd.reports.text.words import first_of, gap_text
from pqd.reports.writers.summary import Summary, Table, numbers, table_of

if TYPE_CHECKING:
    from pqd.reports.models.release import ReleasedBatch, ReleasedQuery, ReleaseReport
    from pqd.reports.writers.summary import CellText


def render(report: ReleaseReport) -> Summary:
    """Title, what was spent, a row per answer, and one per batch; queries not asked, and notes."""
    title, lead = headline(report)
    stamp = SIMULATED if report.simulated else ""
    tables = [_answers(report), _batches(report)]
    replayed = [batch.replayed for batch in report.batches]
    known = replayed if all(replayed) else ()
    account = list(account_sentences(report.cost, report.private, known))
    lines = [*first_of(refused_lines(report.refused)), *first_of(map(visible, report.notes))]
    return Summary(title, lead, tables, stamp, account, lines)


def _answers(report: ReleaseReport) -> Table:
    simulated = " SIMULATED" if report.simulated else ""

    def row(query: ReleasedQuery) -> list[CellText]:
        return [
            (f"{query.id}{simulated}", "name"),
            (number_text(query.answer), "number"),
            (interval_text(query), "number"),
            (noise_text(query), "number"),
            (number_text(query.q_synthetic), "number"),
            (gap_text(difference(query)), "number"),
        ]

    titles = ("private answer", f"{level_text(report.alpha)} interval", "noise")
    heads = (("query", ""), *numbers((*titles, "synthetic answer", "difference")))
    return table_of(heads, report.queries, row)


def _batches(report: ReleaseReport) -> Table:
    def row(batch: ReleasedBatch) -> list[CellText]:
        return [
            (f"{batch.name}{' (replayed)' if batch.replayed else ''}", "name"),
            (f"{batch.queries:,}", "number"),
            (epsilon_text(batch.epsilon), "number"),
            (error_text(batch.error), "number"),
            (batch.mechanism, ""),
        ]

    titles = ("queries", "epsilon", "simulated error")
    return table_of((("batch", ""), *numbers(titles), ("mechanism", "")), report.batches, row)
