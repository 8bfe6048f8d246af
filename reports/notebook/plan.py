"""Notebook rendering of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lead, refused_lines
from pqd.reports.text.numbers import budget_text, number_text, threshold_text
from pqd.reports.text.plan import headline, price_sentence, terms, worst_planned
from pqd.reports.text.words import first_of
from pqd.reports.writers.summary import Summary, Table, numbers, table_of

if TYPE_CHECKING:
    from pqd.reports.models.plan import PlannedQuery, PlanReport
    from pqd.reports.writers.summary import CellText


def render(plan: PlanReport) -> Summary:
    """Title, a row per query, the worst first, queries that were not planned, and notes."""
    title, _ = headline(plan)
    lead = f"{terms(plan)}.{refused_lead(plan.refused)}" if plan.queries else ""
    lines = [*first_of(refused_lines(plan.refused)), *first_of(map(visible, plan.notes))]
    return Summary(title, lead, [_queries(plan)], account=[price_sentence(plan)], lines=lines)


def _queries(plan: PlanReport) -> Table:
    words = {True: ("OK", "yes"), False: ("LOW", "open"), None: ("", "")}

    def row(query: PlannedQuery) -> list[CellText]:
        return [
            words[query.decidable],
            (query.id, "name"),
            (number_text(query.q_synthetic), "number"),
            (f"±{number_text(query.tau, 4)}", "number"),
            (threshold_text(query.chosen.tau_min), "number"),
            (budget_text(query.chosen.epsilon_needed), "number"),
        ]

    queries = [*worst_planned(plan), *(query for query in plan.queries if query.decidable)]
    titles = ("synthetic answer", "tolerance", "threshold", "epsilon needed, about")
    return table_of((("budget", ""), ("query", ""), *numbers(titles)), queries, row)
