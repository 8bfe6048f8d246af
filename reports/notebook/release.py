"""Notebook rendering of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.notebook.summary import Summary, Table, numbers
from reports.text.notes import refused_lines
from reports.text.numbers import epsilon_text, number_text
from reports.text.release import (
    SIMULATED,
    difference,
    error_text,
    headline,
    interval_text,
    level_text,
    noise_text,
)
from reports.text.words import first_of, gap_text

if TYPE_CHECKING:
    from reports.models.release import ReleaseReport


def render(report: ReleaseReport) -> Summary:
    """Title, queries that were not asked, a row per answer, and one per batch."""
    title, lead = headline(report)
    stamp = SIMULATED if report.simulated else ""
    tables = [_answers(report), _batches(report)]
    return Summary(title, lead, tables, stamp, [*first_of(refused_lines(report.refused))])


def _answers(report: ReleaseReport) -> Table:
    simulated = " SIMULATED" if report.simulated else ""
    answers = [
        [
            (f"{query.id}{simulated}", "name"),
            (number_text(query.answer), "number"),
            (interval_text(query), "number"),
            (noise_text(query), "number"),
            (number_text(query.q_synthetic), "number"),
            (gap_text(difference(query)), "number"),
        ]
        for query in report.queries
    ]
    titles = ("private answer", f"{level_text(report.alpha)} interval", "noise")
    return Table((("query", ""), *numbers((*titles, "synthetic answer", "difference"))), answers)


def _batches(report: ReleaseReport) -> Table:
    batches = [
        [
            (f"{batch.name}{' (replayed)' if batch.replayed else ''}", "name"),
            (f"{batch.queries:,}", "number"),
            (epsilon_text(batch.epsilon), "number"),
            (error_text(batch.error), "number"),
            (batch.mechanism, ""),
        ]
        for batch in report.batches
    ]
    titles = ("queries", "epsilon", "simulated error")
    return Table((("batch", ""), *numbers(titles), ("mechanism", "")), batches)
