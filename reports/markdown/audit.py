"""Audits and plans as Markdown: a row per query, a grouped query's rows folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from reports.markdown.markup import code, folded, items, left_out, markdown, sentence, table
from reports.terminal.audit import SIMULATED, marks, remarks
from reports.text.audit import (
    budget_text,
    cost_sentences,
    estimate_text,
    headline,
    p_cell,
    question,
    share_text,
    threshold_text,
)
from reports.text.escape import visible
from reports.text.headlines import audit_headline, plan_headline, tally
from reports.text.numbers import number_text

if TYPE_CHECKING:
    from reports.models.audit import AuditReport, QueryFacts, Verdict
    from reports.models.plan import PlannedQuery, PlanReport

_VERDICTS = (
    ("query", "---"),
    ("verdict", "---"),
    ("p", "---:"),
    ("synthetic answer", "---:"),
    ("tolerance", "---:"),
    ("least tau", "---:"),
)
_PLANNED = (
    ("query", "---"),
    ("synthetic answer", "---:"),
    ("tolerance", "---:"),
    ("decider", "---"),
)
_BUDGETED = (("budget", "---"), ("least tau", "---:"), ("wrong at most", "---:"))
_NEEDED = (("epsilon for tau, about", "---:"),)


def audit_parts(report: AuditReport) -> Iterator[str]:
    """Yield the parts of an audit."""
    title, lead = audit_headline(report)
    yield f"## pqd audit: {markdown(title)}"
    if report.simulated:
        yield f"**{SIMULATED}**"
    yield sentence(lead)
    if single := [verdict for verdict in report.verdicts if verdict.block is None]:
        yield table(_VERDICTS, map(_verdict, single))
    blocks = (verdict for verdict in report.verdicts if verdict.block is not None)
    for name, found in groupby(blocks, key=lambda verdict: verdict.block):
        groups = list(found)
        counts = tally(verdict.standing for verdict in groups)
        told = ", ".join(f"{number} {standing}" for standing, number in counts if number)
        yield folded(f"{code(name or '')}: {told}", [table(_VERDICTS, map(_verdict, groups))])
    yield from left_out(report.refused)
    yield folded("Queries", [items(_asked(report.verdicts))])
    tables = f"{visible(report.private)}, compared with {visible(report.synthetic)}"
    yield folded("Cost", [items(cost_sentences(report.cost, tables))])
    reading = (text.plain for text in remarks(report.verdicts, report.notes))
    yield folded("How to read this", [items(reading)])


def _verdict(verdict: Verdict) -> list[str]:
    badge, words = headline(verdict)
    signs = "".join(f" {mark}" for mark in marks(verdict))
    answer = estimate_text(verdict)
    told = f"; private answer {answer}" if answer else ""
    return [
        code(verdict.group or verdict.id),
        f"**{markdown(badge)}** {markdown(words)}{signs}{markdown(told)}",
        markdown(p_cell(verdict.p_value)),
        number_text(verdict.q_synthetic),
        f"±{number_text(verdict.tau, 4)}",
        threshold_text(verdict.tau_min),
    ]


def _asked(entries: Sequence[QueryFacts]) -> Iterator[str]:
    for name, found in groupby(entries, key=lambda entry: entry.block):
        for entry in found:
            where = entry.where if name is None else None
            asked = question(entry.aggregate, entry.attribute, entry.p, where)
            yield f"{entry.id}: {asked}" if name is None else f"{name}: {asked} per group"
            if name is not None:
                break


def plan_parts(plan: PlanReport) -> Iterator[str]:
    """Yield the parts of a plan."""
    title, lead = plan_headline(plan)
    yield f"## pqd plan: {markdown(title)}"
    yield sentence(lead)
    budgeted = plan.epsilon is not None
    columns = (*_PLANNED, *(_BUDGETED if budgeted else ()), *_NEEDED)
    if single := [entry for entry in plan.queries if entry.block is None]:
        yield table(columns, (_planned(entry, budgeted=budgeted) for entry in single))
    blocks = (entry for entry in plan.queries if entry.block is not None)
    for name, found in groupby(blocks, key=lambda entry: entry.block):
        groups = list(found)
        enough = sum(entry.decidable is True for entry in groups)
        told = f"{enough} of {len(groups)} decidable" if budgeted else f"{len(groups)} groups"
        rows = (_planned(entry, budgeted=budgeted) for entry in groups)
        yield folded(f"{code(name or '')}: {told}", [table(columns, rows)])
    yield from left_out(plan.refused)
    yield folded("Queries", [items(_asked(plan.queries))])
    public = f"Planned on {visible(plan.synthetic)} alone: no private table was read."
    yield folded("How to read this", [items([public, *plan.notes])])


def _planned(entry: PlannedQuery, *, budgeted: bool) -> list[str]:
    chosen = entry.chosen
    cells = [
        code(entry.group or entry.id),
        number_text(entry.q_synthetic),
        f"±{number_text(entry.tau, 4)}",
        code(entry.decider),
    ]
    if budgeted:
        wrong = None if chosen.false_no is None else chosen.worst
        cells += ["**OK**" if entry.decidable else "**LOW**", threshold_text(chosen.tau_min)]
        cells.append(markdown(share_text(wrong)))
    return [*cells, budget_text(chosen.epsilon_needed)]
