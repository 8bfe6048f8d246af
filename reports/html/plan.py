"""Page of a plan: what its template shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pqd.reports.html import MOST_ROWS
from pqd.reports.html.curves import Curves
from pqd.reports.html.many import ManyRow, many
from pqd.reports.html.page import page
from pqd.reports.html.query import (
    CANDIDATES,
    blocked,
    candidate_rows,
    panel,
    query_words,
    tally_view,
    told,
    worst_runs,
)
from pqd.reports.text.notes import refused_lines
from pqd.reports.text.numbers import (
    budget_text,
    epsilon_text,
    number_text,
    share_text,
    threshold_text,
)
from pqd.reports.text.plan import headline, worst_planned

if TYPE_CHECKING:
    from pqd.reports.models.plan import PlannedQuery, PlanReport

_BADGES = {
    True: ("OK", "yes", "decidable"),
    False: ("LOW", "open", "too little"),
    None: ("", "none", ""),
}


def render(plan: PlanReport, command: str | None) -> str:
    """Page of ``plan.html.j2``."""
    return page("plan.html.j2", **_context(plan, command))


def _context(plan: PlanReport, command: str | None) -> dict[str, Any]:
    title, lead = headline(plan)
    curves, large = Curves(), len(plan.queries) > MOST_ROWS
    rows = [] if large else list(_rows(plan, curves))
    facts = [("Synthetic table", plan.synthetic), ("Tolerance", plan.tolerance)]
    if plan.epsilon is not None:
        facts.append(("Epsilon per query", epsilon_text(plan.epsilon)))
    if plan.total_epsilon is not None:
        facts.append(("Epsilon in all", epsilon_text(plan.total_epsilon)))
    level = number_text(float(plan.alpha) * 100, 3)
    return {
        "kind": "plan",
        "title": title,
        "lead": lead,
        "stamp": "",
        "tally": _tally(plan.queries) if plan.budgeted else [],
        "facts": [*facts, ("Epsilon spent", "0")],
        "rows": rows,
        "many": _many(plan) if large else None,
        "budgeted": plan.budgeted,
        "drawings": curves.drawings(),
        "cost": [
            f"Planned on {plan.synthetic} alone: no private table was read, nothing was spent."
        ],
        "budget": None,
        "day": plan.day,
        "command": command,
        "replays": False,
        "level": level,
        "refused": list(refused_lines(plan.refused)),
        "remarks": list(plan.notes),
    }


def _many(plan: PlanReport) -> dict[str, Any]:
    enough = [query for query in plan.queries if query.decidable]
    rows = [_many_row(query, plan) for query in (*worst_planned(plan), *enough)]
    numbers = [("Synthetic answer", "number"), ("Tolerance", "number")]
    if not plan.budgeted:
        columns = [("Epsilon needed, about", "first number"), ("Query", ""), *numbers]
        return many(rows, columns, (), CANDIDATES)
    more = [(title, "number") for title in ("Threshold", "Wrong at most", "Epsilon needed, about")]
    columns = [("Budget", "first"), ("Query", ""), *numbers, *more]
    return many(rows, columns, ("decidable", "too little"), CANDIDATES)


def _many_row(query: PlannedQuery, plan: PlanReport) -> ManyRow:
    view = _cells(query)
    standings: tuple[str, ...] = ()
    if not plan.budgeted:
        first, names = (view["needed"], view["needed_sort"], ""), ["answer", "tau"]
    else:
        standings = (view["standing"],)
        first = (view["badge"], view["badge"], view["kind"])
        names = ["answer", "tau", "least", "wrong", "needed"]
    return ManyRow(
        id=query.id,
        cells=(first, *((view[name], view[f"{name}_sort"], "") for name in names)),
        words=query_words(query),
        kind=view["kind"],
        standings=standings,
        lines=told(query, plan.tolerance),
        table=candidate_rows(query),
        code=(("Query", query.sql),),
    )


def _tally(queries: Sequence[PlannedQuery]) -> list[dict[str, Any]]:
    enough = sum(query.decidable is True for query in queries)
    return tally_view((("decidable", enough), ("too little", len(queries) - enough)))


def _rows(plan: PlanReport, curves: Curves) -> Iterator[dict[str, Any]]:
    for queries in worst_runs(plan.queries, worst_planned(plan)):
        name = queries[0].block
        # Without a budget there is nothing to sort groups by.
        if name is not None and plan.budgeted:
            yield {"id": name, "block": _block(queries)}
            continue
        for query in queries:
            facts = panel(query, plan.tolerance, curves)
            yield {**_cells(query), "words": query_words(query), "block": None, "panel": facts}


def _block(queries: Sequence[PlannedQuery]) -> dict[str, Any]:
    rows = [_cells(query) for query in queries]
    deciders = ", ".join(sorted({query.decider for query in queries}))
    names = ("answer", "tau", "least", "wrong", "needed")
    for row in rows:
        row["numbers"] = [row[name] for name in names]
    return {
        **blocked(queries, [(row["standing"], row) for row in rows]),
        "kind": "yes" if all(query.decidable for query in queries) else "open",
        "tally": _tally(queries),
        "columns": (
            "Synthetic",
            "Tolerance",
            "Threshold",
            "Wrong at most",
            "Epsilon needed, about",
        ),
        "deciders": f"{deciders} would decide",
        "marks": (),
    }


def _cells(query: PlannedQuery) -> dict[str, Any]:
    badge, kind, standing = _BADGES[query.decidable]
    chosen = query.chosen
    wrong = None if chosen.false_no is None else chosen.worst
    return {
        "id": query.id,
        "group": query.group or query.id,
        "badge": badge,
        "kind": kind,
        "standing": standing,
        "marks": (),
        "answer": number_text(query.q_synthetic),
        "answer_sort": repr(float(query.q_synthetic)),
        "tau": f"±{number_text(query.tau, 4)}",
        "tau_sort": repr(float(query.tau)),
        "least": threshold_text(chosen.tau_min),
        "least_sort": "" if chosen.tau_min is None else repr(chosen.tau_min),
        "wrong": share_text(wrong),
        "wrong_sort": "" if wrong is None else repr(wrong),
        "needed": budget_text(chosen.epsilon_needed),
        "needed_sort": "" if chosen.epsilon_needed is None else repr(chosen.epsilon_needed),
    }
