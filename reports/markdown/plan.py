"""Markdown of a plan: a row per query, a grouped query's rows folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from pqd.reports.markdown.queries import query_lines
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import budget_text, number_text, share_text, threshold_text
from pqd.reports.text.plan import headline, worst_planned
from pqd.reports.text.words import first_of
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
    from pqd.reports.models.plan import PlannedQuery, PlanReport

_COLUMNS = (
    ("query", "---"),
    ("synthetic answer", "---:"),
    ("tolerance", "---:"),
    ("decider", "---"),
)
_BUDGETED = (("budget", "---"), ("threshold", "---:"), ("wrong at most", "---:"))
_NEEDED = (("epsilon needed, about", "---:"),)


def render(plan: PlanReport) -> Iterator[str]:
    """Parts of a plan; where its queries do not fit, the worst of them."""
    title, lead = headline(plan)
    yield f"## pqd plan: {markdown(title)}"
    yield sentence(lead)
    budgeted = plan.budgeted
    columns = (*_COLUMNS, *(_BUDGETED if budgeted else ()), *_NEEDED)
    rows = fitting(_row(query, budgeted=budgeted) for query in plan.queries)
    if len(rows) == len(plan.queries):
        yield from _tables(plan, columns)
        shown = plan.queries
    else:
        worst = worst_planned(plan)
        rows = fitting(_row(replace(query, group=None), budgeted=budgeted) for query in worst)
        yield table(columns, rows)
        yield from more(len(plan.queries) - len(rows))
        shown = tuple(worst[: len(rows)])
    yield from left_out(plan.refused)
    yield folded("Queries", fitting_items(list(query_lines(shown))))
    public = f"Planned on {visible(plan.synthetic)} alone: no private table was read."
    yield folded("How to read this", [items(first_of([public, *plan.notes]))])


def _tables(plan: PlanReport, columns: Sequence[tuple[str, str]]) -> Iterator[str]:
    """All queries, those of a grouped query folded."""
    budgeted = plan.budgeted
    if single := [query for query in plan.queries if query.block is None]:
        yield table(columns, (_row(query, budgeted=budgeted) for query in single))
    blocks = (query for query in plan.queries if query.block is not None)
    for name, members in groupby(blocks, key=lambda query: query.block):
        groups = list(members)
        enough = sum(query.decidable is True for query in groups)
        told = f"{enough} of {len(groups)} decidable" if budgeted else f"{len(groups)} groups"
        rows = (_row(query, budgeted=budgeted) for query in groups)
        yield folded(f"{code(name or '')}: {told}", [table(columns, rows)])


def _row(query: PlannedQuery, *, budgeted: bool) -> list[str]:
    chosen = query.chosen
    cells = [
        code(query.group or query.id),
        number_text(query.q_synthetic),
        f"±{number_text(query.tau, 4)}",
        code(query.decider),
    ]
    if budgeted:
        wrong = None if chosen.false_no is None else chosen.worst
        cells += ["**OK**" if query.decidable else "**LOW**", threshold_text(chosen.tau_min)]
        cells.append(markdown(share_text(wrong)))
    return [*cells, budget_text(chosen.epsilon_needed)]
