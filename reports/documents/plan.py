"""Document of a plan: a row per query, those that need most first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.reports.blocks import (
    NO_BADGE,
    PAGE,
    Block,
    Cell,
    Closing,
    Code,
    Column,
    Definitions,
    Document,
    Group,
    Interval,
    Line,
    Lines,
    Row,
    Section,
    Shares,
    Table,
)
from pqd.reports.documents.queries import (
    UNKNOWN,
    answer_cells,
    asked,
    curves,
    deciders,
    grouping_of,
    omitted_queries,
)
from pqd.reports.documents.shared import first_names, lines, on_page
from pqd.reports.models.standings import PLANS, Standing
from pqd.reports.text.numbers import (
    budget_text,
    epsilon_text,
    number_text,
    share_text,
    threshold_text,
)
from pqd.reports.text.plan import (
    answer,
    decided,
    epsilon_needed,
    headline,
    next_step,
    price_sentence,
    reading,
    worst_planned,
)
from pqd.reports.text.query import amount_text, proof_sentence, tolerance, worth_sentence
from pqd.reports.text.words import counted

if TYPE_CHECKING:
    from pqd.reports.models.plan import PlannedQuery, PlanReport

_THRESHOLD = "threshold: the smallest tolerance that the planned epsilon tells"
_NEEDS = "needs: the epsilon that this tolerance needs"


def document(plan: PlanReport) -> Document:
    """Document of ``plan``."""
    title, lead = headline(plan)
    answers = counted(len(plan.queries), "answer")
    level = f"alpha {number_text(float(plan.alpha) * 100, 3)} %"
    subject = f"{answers} of {plan.synthetic}, tolerance {plan.tolerance}, {level}"
    enough = sum(query.decidable is True for query in plan.queries)
    sizes = {Standing.DECIDABLE: enough, Standing.TOO_LITTLE: len(plan.queries) - enough}
    told = list(reading(plan))
    return Document(
        kind="plan",
        title=title,
        lead=lead,
        subject=answer(plan) if plan.queries else subject,
        spent="nothing spent",
        opening=[Line(f"{subject}.", "detail")] if plan.queries else [],
        facts=list(_facts(plan)),
        counts=Shares([(each, size, each.badge.tone) for each, size in sizes.items()])
        if plan.budgeted
        else None,
        body=[Section(title="Queries", blocks=[_queries(plan)], brief=False)],
        omitted=omitted_queries(plan.refused),
        notes=lines(plan.notes),
        account=[Line(price_sentence(plan))],
        reading=[
            Lines(lines(told[: len(told) - len(plan.notes)])),
            on_page(Definitions(_terms(plan))),
        ],
        closing=_closing(plan),
        made=plan.day or "",
        unknown=UNKNOWN,
    )


def _facts(plan: PlanReport) -> Iterator[tuple[str, str]]:
    yield "Synthetic table", plan.synthetic
    yield "Tolerance", plan.tolerance
    if plan.epsilon is not None:
        yield "Epsilon per query", epsilon_text(plan.epsilon)
    if plan.total_epsilon is not None:
        yield "Epsilon in all", epsilon_text(plan.total_epsilon)
    yield "Epsilon spent", "0"


def _terms(plan: PlanReport) -> list[tuple[str, str]]:
    """Meaning of what stands in the table."""
    level = number_text(float(plan.alpha) * 100, 3)
    enough = (
        f"Whether the decider taken is wrong at most {level} % of the time at this tolerance, on "
        "test tables made from the copy: those whose answer is the copy's, and those whose answer "
        "is two tolerances away."
    )
    least = "The effectiveness threshold: the smallest tolerance that is OK at this epsilon."
    needs = (
        "The smallest epsilon at which this tolerance can be decided, on the worst of several "
        "shapes that the private table might have; it is no bound. None: no epsilon will do."
    )
    chance = (
        "A curve that is high left of the tolerance and low right of it tells the cases apart. "
        "The steeper, the better."
    )
    return [
        ("OK, LOW", enough),
        ("Threshold", least),
        ("Needs", needs),
        ("Chance of a yes", chance),
    ]


def _queries(plan: PlanReport) -> Table:
    poor = worst_planned(plan)
    enough = [query for query in plan.queries if query.decidable]
    groups = [
        Group(
            name=standing if plan.budgeted else "",
            badge=standing.badge if plan.budgeted or standing is Standing.DECIDABLE else NO_BADGE,
            rows=[_row(query, plan) for query in queries],
            fate=standing.fate,
        )
        for standing, queries in zip(PLANS, (poor, enough), strict=True)
    ]
    return Table(
        columns=_columns(budgeted=plan.budgeted),
        groups=groups,
        find="id or words of a query",
        in_full=True,
        empty="No query was planned.",
    )


def _columns(*, budgeted: bool) -> tuple[Column, ...]:
    badge = Column("budget", "badge"), Column("query", "name", fold=20)
    least = Column("threshold", "number", drop=1, legend=_THRESHOLD)
    wrong = Column("wrong at most", "number", drop=PAGE)
    return (
        *(badge if budgeted else badge[1:]),
        Column("copy", "number"),
        Column("tolerance", "number", drop=2),
        *((least, wrong) if budgeted else ()),
        Column("needs", "number", legend=_NEEDS),
        Column("decider", drop=3),
    )


def _row(query: PlannedQuery, plan: PlanReport) -> Row:
    copy, amount = answer_cells(query)
    needs, least = epsilon_needed(query), query.chosen.tau_min
    wrong = None if query.chosen.false_no is None else query.chosen.worst
    figures = Cell(threshold_text(least), least), Cell(share_text(wrong), wrong)
    badge = Cell(badge=query.standing.badge, sort=int(query.decidable is True))
    cells = (
        *((badge,) if plan.budgeted else ()),
        Cell(query.id),
        Cell(copy, float(query.q_synthetic)),
        Cell(amount, float(query.tau)),
        *(figures if plan.budgeted else ()),
        Cell(budget_text(needs), needs),
        Cell(query.decider),
    )
    return Row(
        id=query.id,
        cells=cells,
        asks=asked(query),
        aside=_said(query),
        names=(PLANS[query.decidable is True],) if plan.budgeted else (),
        grouping=grouping_of(query),
        member=query.group or query.id,
        details=lambda: _details(query, plan),
    )


def _said(query: PlannedQuery) -> str:
    needs = epsilon_needed(query)
    if query.decidable is None:
        known = needs is not None and not math.isinf(needs)
        return f"needs epsilon {budget_text(needs)}" if known else ""
    if query.decidable:
        return "this tolerance can be decided at the planned epsilon"
    needed = budget_text(query.chosen.epsilon_needed)
    remedy = "no epsilon would do" if needed == "none" else f"about epsilon {needed} would do"
    return proof_sentence(query.chosen) or f"tolerance below the threshold; {remedy}"


def _details(query: PlannedQuery, plan: PlanReport) -> Sequence[Block]:
    stated = tolerance(query.tau, query.tolerance or plan.tolerance, "±")
    shown = [candidate for candidate in query.candidates if candidate.shown]
    return [
        _interval(query),
        Lines([Line(f"synthetic answer {number_text(query.q_synthetic)}, {stated}")]),
        on_page(Lines(list(_reasons(query)))),
        deciders(query, shown, budgeted=plan.budgeted),
        *curves(query),
        Code("Query", query.sql),
    ]


def _reasons(query: PlannedQuery) -> Iterator[Line]:
    """Whether the decider is reliable at this tolerance, and why it would be taken."""
    if query.chosen.tau_min is not None:
        text, enough = worth_sentence(query)
        yield Line(text, "plain" if enough else "warning")
    yield Line(f"{query.decider} would decide: {query.reason}", "detail")


def _interval(query: PlannedQuery) -> Interval:
    """The tolerance around the copy's answer; nothing is claimed of the private one."""
    answer, tau, least = float(query.q_synthetic), float(query.tau), query.chosen.tau_min
    told = amount_text(query, least)
    return Interval(answer, answer - tau, answer + tau, least, "none", told)


def _closing(plan: PlanReport) -> Closing:
    low = [query.id for query in worst_planned(plan) if query.decidable is False]
    counts, step = decided(plan), next_step(plan)
    if not plan.budgeted:
        counts, step = f"{step or answer(plan)}.", ""
    return Closing(
        failed=f"LOW: {first_names(low)}." if low else "",
        counts=counts,
        step=step,
        budget=price_sentence(plan),
    )
