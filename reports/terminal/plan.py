"""Terminal rendering of a plan: per query what each decider is worth, then the summary."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from reports.terminal.blocks import chart, entry_lines, excerpt, left_out, where_all_are
from reports.terminal.layout import NARROW
from reports.text.escape import visible
from reports.text.numbers import (
    budget_text,
    epsilon_text,
    number_text,
    share_text,
    threshold_text,
)
from reports.text.plan import headline, reading, worst_planned
from reports.text.query import proof_sentence, query_text, tolerance
from reports.text.words import MOST_IN_FULL, first_of

if TYPE_CHECKING:
    from rich.console import RenderResult

    from reports.models.plan import PlannedQuery, PlanReport
    from reports.models.query import CandidateFacts
    from reports.terminal.layout import Screen


_SHOWN = attrgetter("shown")


def render(plan: PlanReport, screen: Screen, *, verbose: bool) -> RenderResult:
    """Lines of a plan; ``verbose`` adds the charts where they were computed.

    Of many queries the worst alone are told, without ``verbose``.
    """
    if len(plan.queries) > MOST_IN_FULL and not verbose:
        yield from screen.wrapped(headline(plan)[0], "bold")
        yield Text()
        worst = worst_planned(plan)
        yield from excerpt(worst, lambda one: entry_lines(_brief(one), one, screen), screen)
        yield from where_all_are(screen)
    else:
        yield from _queries(plan, screen, verbose=verbose)
    yield from screen.paragraphs(_summary(plan, verbose=verbose))


def _queries(plan: PlanReport, screen: Screen, *, verbose: bool) -> RenderResult:
    for query in plan.queries:
        yield from _query(query, plan, screen)
        if verbose:
            for line in chart(query, screen):
                yield from screen.indented(line)
        yield Text()


def _query(query: PlannedQuery, plan: PlanReport, screen: Screen) -> RenderResult:
    yield from screen.wrapped(_head(query))
    text = query_text(query.aggregate, query.attribute, query.p, query.where)
    yield from screen.indented(text)
    stated = tolerance(query.tau, plan.tolerance, screen.sign)
    yield from screen.indented(f"synthetic answer {number_text(query.q_synthetic)}, {stated}")
    if screen.width < NARROW:
        for candidate in filter(_SHOWN, query.candidates):
            yield from screen.indented(_line(query, candidate))
    else:
        yield _table(query, with_budget=plan.epsilon is not None)


def _head(query: PlannedQuery) -> Text:
    name = (visible(query.id), "bold")
    if query.decidable is None:
        return Text.assemble(name)
    if query.decidable:
        return Text.assemble(("OK   ", "bold green"), name)
    needed = budget_text(query.chosen.epsilon_needed)
    remedy = "no epsilon would do" if needed == "none" else f"about epsilon {needed} would do"
    told = proof_sentence(query.chosen) or f"tolerance below the threshold; {remedy}"
    return Text.assemble(("LOW  ", "bold yellow"), name, (f"   {told}", "yellow"))


def _brief(query: PlannedQuery) -> Text:
    """Head of a query in an excerpt."""
    head = _head(query)
    if query.decidable is None:
        head.append(f"   needs about epsilon {budget_text(query.chosen.epsilon_needed)}")
    return head


def _line(query: PlannedQuery, candidate: CandidateFacts) -> Text:
    """Candidate in words, where a table has no room."""
    taken = candidate.decider == query.decider
    parts = [f"{'>' if taken else ' '} {candidate.decider}: "]
    if candidate.tau_min is not None:
        parts.append(f"threshold {threshold_text(candidate.tau_min)}, ")
        parts.append(f"false no {share_text(candidate.false_no)}, ")
        parts.append(f"false yes {share_text(candidate.false_yes)}, ")
    parts.append(f"epsilon needed about {budget_text(candidate.epsilon_needed)}")
    return Text("".join(parts), style="bold" if taken else "")


def _table(query: PlannedQuery, *, with_budget: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("     decider", no_wrap=True)
    titles = ["threshold", "false no", "false yes"] if with_budget else []
    for title in [*titles, "epsilon needed, about"]:
        table.add_column(title, justify="right")
    for candidate in filter(_SHOWN, query.candidates):
        taken = candidate.decider == query.decider
        cells = [f"   {'>' if taken else ' '} {candidate.decider}"]
        if with_budget:
            cells.append(threshold_text(candidate.tau_min))
            cells += [share_text(candidate.false_no), share_text(candidate.false_yes)]
        table.add_row(*cells, budget_text(candidate.epsilon_needed), style="bold" if taken else "")
    return table


def _summary(plan: PlanReport, *, verbose: bool) -> Iterator[Text | str]:
    count = len(plan.queries)
    if plan.epsilon is not None:
        enough = sum(query.decidable is True for query in plan.queries)
        total = epsilon_text(plan.epsilon * count if plan.price is None else plan.price)
        yield Text(
            f"{enough} of {count} decidable at epsilon {epsilon_text(plan.epsilon)} each "
            f"({total} in total).",
            style="bold",
        )
    yield from left_out(plan.refused, verbose=verbose)
    yield from reading(plan) if verbose else first_of(reading(plan))
