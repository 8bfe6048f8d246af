"""Notebook rendering of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.notebook.summary import MOST, Summary, Table, numbers
from reports.text.notes import refused_lines
from reports.text.numbers import budget_text, number_text, threshold_text
from reports.text.plan import headline, worst_planned
from reports.text.words import first_of

if TYPE_CHECKING:
    from reports.models.plan import PlanReport


def render(plan: PlanReport) -> Summary:
    """Title, queries that were not planned, and a row per query, of many the worst first."""
    title, lead = headline(plan)
    return Summary(title, lead, [_queries(plan)], lines=[*first_of(refused_lines(plan.refused))])


def _queries(plan: PlanReport) -> Table:
    words = {True: ("OK", "yes"), False: ("LOW", "open"), None: ("", "")}
    queries = plan.queries
    if len(queries) > MOST:
        queries = (*worst_planned(plan), *(query for query in queries if query.decidable))
    rows = [
        [
            words[query.decidable],
            (query.id, "name"),
            (number_text(query.q_synthetic), "number"),
            (f"±{number_text(query.tau, 4)}", "number"),
            (threshold_text(query.chosen.tau_min), "number"),
            (budget_text(query.chosen.epsilon_needed), "number"),
        ]
        for query in queries
    ]
    titles = ("synthetic answer", "tolerance", "threshold", "epsilon needed, about")
    return Table((("budget", ""), ("query", ""), *numbers(titles)), rows)
