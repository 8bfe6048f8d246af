"""Markdown of an audit: a row per query, a grouped query's rows folded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from pqd.reports.markdown.queries import query_lines
from pqd.reports.text.audit import (
    SIMULATED,
    audit_costs,
    headline,
    off_by_text,
    remarks,
    worst_verdicts,
)
from pqd.reports.text.numbers import number_text, p_cell, threshold_text
from pqd.reports.text.query import marks, verdict_words
from pqd.reports.text.words import first_of, tally
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
    from pqd.reports.models.audit import AuditReport, Verdict

_COLUMNS = (
    ("query", "---"),
    ("verdict", "---"),
    ("p", "---:"),
    ("synthetic answer", "---:"),
    ("tolerance", "---:"),
    ("off by", "---:"),
    ("threshold", "---:"),
)


def render(report: AuditReport) -> Iterator[str]:
    """Parts of an audit; where its verdicts do not fit, the worst of them."""
    title, lead = headline(report)
    yield f"## pqd audit: {markdown(title)}"
    if report.simulated:
        yield f"**{SIMULATED}**"
    yield sentence(lead)
    verdicts = report.verdicts
    if len(fitting(map(_verdict, verdicts))) == len(verdicts):
        yield from _tables(report)
        shown = verdicts
    else:
        worst = worst_verdicts(verdicts)
        rows = fitting(_verdict(replace(verdict, group=None)) for verdict in worst)
        yield table(_COLUMNS, rows)
        yield from more(len(verdicts) - len(rows))
        shown = tuple(worst[: len(rows)])
    yield from left_out(report.refused)
    yield folded("Queries", fitting_items(list(query_lines(shown))))
    yield folded("Cost", [items(audit_costs(report))])
    yield folded("How to read this", [items(first_of(remarks(report.verdicts, report.notes)))])


def _tables(report: AuditReport) -> Iterator[str]:
    """All verdicts, those of a grouped query folded."""
    if single := [verdict for verdict in report.verdicts if verdict.block is None]:
        yield table(_COLUMNS, map(_verdict, single))
    blocks = (verdict for verdict in report.verdicts if verdict.block is not None)
    for name, members in groupby(blocks, key=lambda verdict: verdict.block):
        groups = list(members)
        counts = tally(verdict.standing for verdict in groups)
        told = ", ".join(f"{number} {standing}" for standing, number in counts if number)
        yield folded(f"{code(name or '')}: {told}", [table(_COLUMNS, map(_verdict, groups))])


def _verdict(verdict: Verdict) -> list[str]:
    badge, words = verdict_words(verdict)
    signs = "".join(f" {mark}" for mark in marks(verdict))
    return [
        code(verdict.group or verdict.id),
        f"**{markdown(badge)}** {markdown(words)}{signs}",
        markdown(p_cell(verdict.p_value, verdict.alpha)),
        number_text(verdict.q_synthetic),
        f"±{number_text(verdict.tau, 4)}",
        markdown(off_by_text(verdict, "±")),
        threshold_text(verdict.tau_min),
    ]
