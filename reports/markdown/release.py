"""A release as Markdown: the first answers, and all else folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pqd.reports.text.cost import cost_sentences
from pqd.reports.text.numbers import epsilon_text, number_text
from pqd.reports.text.release import (
    SIMULATED,
    batch_sentence,
    difference,
    error_text,
    headline,
    how_to_read,
    interval_text,
    level_text,
    noise_text,
    query_words,
    tables_text,
    truncation_text,
)
from pqd.reports.text.words import counted, first_of, gap_text
from pqd.reports.writers.markup import (
    code,
    fitting,
    fitting_items,
    folded,
    items,
    left_out,
    markdown,
    more,
    sentence,
    table,
)

if TYPE_CHECKING:
    from pqd.reports.models.release import ReleasedBatch, ReleasedQuery, ReleaseReport

# As many answers are seen at once.
_SHOWN = 20
_BATCHES = (
    ("batch", "---"),
    ("queries", "---:"),
    ("epsilon", "---:"),
    ("mechanism", "---"),
    ("simulated error", "---:"),
)


def render(report: ReleaseReport) -> Iterator[str]:
    """Parts of a release."""
    title, lead = headline(report)
    yield f"## pqd release: {markdown(title)}"
    if report.simulated:
        yield f"**{SIMULATED}**"
    yield sentence(lead)
    cut = _is_cut(report)
    rows = fitting(_row(query, cut=cut) for query in report.queries)
    yield from _answers(list(zip(report.queries, rows, strict=False)), report)
    yield from more(len(report.queries) - len(rows))
    if report.batches:
        reasons = (f"{batch.name}: {batch_sentence(batch)}" for batch in report.batches)
        yield folded(
            "How they were answered",
            [table(_BATCHES, map(_batch, report.batches)), items(reasons)],
        )
    yield from left_out(report.refused)
    if report.queries:
        lines = dict.fromkeys(_query_line(query) for query in report.queries)
        yield folded("Queries", fitting_items(list(lines)))
    yield folded("Cost", [items(cost_sentences(report.cost, tables_text(report)))])
    reading = (f"{name}: {text}" for name, text in how_to_read(report))
    yield folded("How to read this", [items([*reading, *first_of(report.notes)])])


def _answers(
    rows: Sequence[tuple[ReleasedQuery, Sequence[str]]], report: ReleaseReport
) -> Iterator[str]:
    """First answers, the others folded, and each grouped query folded."""
    columns = _columns(report)
    single = [row for query, row in rows if query.block is None]
    if single:
        yield table(columns, single[:_SHOWN])
    if others := single[_SHOWN:]:
        yield folded(counted(len(others), "more answer"), [table(columns, others)])
    blocks = ((query.block, row) for query, row in rows if query.block is not None)
    for name, members in groupby(blocks, key=lambda member: member[0]):
        groups = [row for _, row in members]
        yield folded(
            f"{code(name or '')}: {counted(len(groups), 'group')}", [table(columns, groups)]
        )


def _columns(report: ReleaseReport) -> list[tuple[str, str]]:
    titles = [
        "private answer",
        f"{markdown(level_text(report.alpha))} interval",
        "noise",
        "synthetic answer",
        "difference",
    ]
    cut = [("truncation", "---")] if _is_cut(report) else []
    return [("query", "---"), *((title, "---:") for title in titles), *cut]


def _is_cut(report: ReleaseReport) -> bool:
    return any(query.threshold is not None for query in report.queries)


def _row(query: ReleasedQuery, *, cut: bool) -> list[str]:
    return [
        code(query.group or query.id),
        f"**{number_text(query.answer)}**",
        interval_text(query),
        noise_text(query),
        number_text(query.q_synthetic),
        gap_text(difference(query)),
        *([truncation_text(query)] if cut else []),
    ]


def _batch(batch: ReleasedBatch) -> list[str]:
    return [
        f"{code(batch.name)}{' (replayed)' if batch.replayed else ''}",
        f"{batch.queries:,}",
        epsilon_text(batch.epsilon),
        code(batch.mechanism),
        error_text(batch.error),
    ]


def _query_line(query: ReleasedQuery) -> str:
    return f"{query.id if query.block is None else query.block}: {query_words(query)}"
