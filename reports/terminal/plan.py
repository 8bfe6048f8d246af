"""Terminal rendering of a plan: a line per query, those that need most first; or one in full."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from pqd.reports.terminal.blocks import Blocks, chart, left_out, of_name, questions_of
from pqd.reports.terminal.frame import Standing, closing, first_names, heading, notes_lines, table
from pqd.reports.terminal.rows import answer_cells
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import (
    budget_text,
    number_text,
    share_text,
    threshold_text,
)
from pqd.reports.text.plan import (
    answer,
    decided,
    epsilon_needed,
    next_step,
    price_sentence,
    reading,
    worst_planned,
)
from pqd.reports.text.query import proof_sentence, query_text, tolerance
from pqd.reports.text.words import counted
from pqd.reports.writers.terminal.grid import GAP, Cells, Column
from pqd.reports.writers.terminal.layout import NARROW, Extent

if TYPE_CHECKING:
    from rich.console import RenderResult

    from pqd.reports.models.plan import PlannedQuery, PlanReport
    from pqd.reports.models.query import CandidateFacts
    from pqd.reports.writers.terminal.layout import Screen

_SHOWN = attrgetter("shown")
_OK, _LOW = Text("OK", style="bold green"), Text("LOW", style="bold yellow")
_BADGES = {True: _OK, False: _LOW, None: Text("?", style="bold yellow")}
_LEAD = len("budget") + GAP
_THRESHOLD = "threshold: the smallest tolerance that the planned epsilon tells"
_NEEDS = "needs: the epsilon that this tolerance needs"
_COLUMNS = (
    Column("budget"),
    Column("query", least=20),
    Column("copy", right=True),
    Column("tolerance", right=True, spare=2),
    Column("threshold", right=True, spare=1, legend=_THRESHOLD),
    Column("needs", right=True, legend=_NEEDS),
    Column("decider", spare=3),
)


def render(plan: PlanReport, screen: Screen, extent: Extent) -> RenderResult:
    """Lines of a plan; in full with the charts that were computed."""
    if extent is Extent.VERBOSE:
        yield from _in_full(plan, screen)
        return
    if extent is not Extent.QUIET:
        answers = counted(len(plan.queries), "answer")
        level = f"alpha {number_text(float(plan.alpha) * 100, 3)} %"
        tolerance = f"tolerance {visible(plan.tolerance)}"
        subject = f"{answers} of {visible(plan.synthetic)}, {tolerance}, {level}"
        title = answer(plan) if plan.queries else subject
        yield from heading(title, "nothing spent", f"{subject}." if plan.queries else "", screen)
    poor = worst_planned(plan)
    low = [query for query in poor if query.decidable is False]
    yield from _table(plan, poor, screen, extent)
    yield from left_out(plan.refused, screen, extent)
    yield from notes_lines(plan.notes, screen, extent)
    failures = f"LOW: {first_names([visible(query.id) for query in low])}." if low else ""
    told, step = decided(plan), next_step(plan)
    if not plan.budgeted:
        told, step = f"{step or answer(plan)}.", ""
    counts = Text(told, style="bold")
    yield from closing(failures, counts, step, price_sentence(plan), screen, extent)


def explain(plan: PlanReport, name: str, screen: Screen) -> RenderResult:
    """Lines on one query in full, or on those of one grouped query.

    Raises
    ------
    ParameterError
        The plan has no such query.
    """
    found, refused = of_name(plan.queries, plan.refused, name)
    for query in found:
        yield from _query(query, plan, screen)
        yield Text()
    yield from left_out(refused, screen, Extent.VERBOSE)
    yield from screen.paragraphs(list(reading(plan))[:2])


def _table(
    plan: PlanReport, poor: Sequence[PlannedQuery], screen: Screen, extent: Extent
) -> Iterator[Text]:
    budgeted = plan.budgeted
    columns = _COLUMNS if budgeted else (*_COLUMNS[1:4], *_COLUMNS[5:])

    def lines(queries: Sequence[PlannedQuery]) -> Iterator[Cells | Text]:
        blocks = Blocks(queries)
        for query in blocks.entries:
            yield from blocks.head(query, _LEAD if budgeted else 0)
            yield _cells(query, blocks, screen, budgeted=budgeted)

    enough = [query for query in plan.queries if query.decidable]
    standings = (
        Standing(_LOW if budgeted else Text(), poor, failed=True),
        Standing(_OK, enough, passed=True),
    )
    yield from table(
        columns,
        standings,
        lines,
        lambda each: visible(each.id),
        screen,
        extent,
        questions=questions_of(plan.queries),
    )


def _cells(
    query: PlannedQuery, blocks: Blocks[PlannedQuery], screen: Screen, *, budgeted: bool
) -> Cells:
    answer = answer_cells(query, screen.sign)
    needs = budget_text(epsilon_needed(query))
    if not budgeted:
        return blocks.name(query), *answer, needs, query.decider
    least, badge = threshold_text(query.chosen.tau_min), _BADGES[query.decidable]
    return badge, blocks.name(query), *answer, least, needs, query.decider


def _in_full(plan: PlanReport, screen: Screen) -> RenderResult:
    """Every query with all its deciders, and how to read it."""
    for query in plan.queries:
        yield from _query(query, plan, screen)
        for line in chart(query, screen):
            yield from screen.indented(line)
        yield Text()
    if plan.budgeted:
        yield from screen.wrapped(f"{decided(plan)} {price_sentence(plan)}", "bold")
    yield from left_out(plan.refused, screen, Extent.VERBOSE)
    yield from screen.paragraphs(reading(plan))


def _query(query: PlannedQuery, plan: PlanReport, screen: Screen) -> RenderResult:
    yield from screen.wrapped(_head(query))
    text = query_text(query.aggregate, query.attribute, query.p, query.where)
    yield from screen.indented(text)
    stated = tolerance(query.tau, query.tolerance or plan.tolerance, screen.sign)
    yield from screen.indented(f"synthetic answer {number_text(query.q_synthetic)}, {stated}")
    if screen.width < NARROW:
        for candidate in filter(_SHOWN, query.candidates):
            yield from screen.indented(_line(query, candidate))
    else:
        yield _deciders(query, with_budget=plan.budgeted)


def _head(query: PlannedQuery) -> Text:
    name = (visible(query.id), "bold")
    if query.decidable is None:
        needs = epsilon_needed(query)
        told = (
            "" if needs is None or math.isinf(needs) else f"   needs epsilon {budget_text(needs)}"
        )
        return Text.assemble(name, told)
    if query.decidable:
        told = "   this tolerance can be decided at the planned epsilon"
        return Text.assemble(("OK   ", "bold green"), name, told)
    needed = budget_text(query.chosen.epsilon_needed)
    remedy = "no epsilon would do" if needed == "none" else f"about epsilon {needed} would do"
    told = proof_sentence(query.chosen) or f"tolerance below the threshold; {remedy}"
    return Text.assemble(("LOW  ", "bold yellow"), name, (f"   {told}", "yellow"))


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


def _deciders(query: PlannedQuery, *, with_budget: bool) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column("     decider", no_wrap=True)
    titles = ["threshold", "false no", "false yes"] if with_budget else []
    for title in [*titles, "epsilon needed, about"]:
        grid.add_column(title, justify="right")
    for candidate in filter(_SHOWN, query.candidates):
        taken = candidate.decider == query.decider
        cells = [f"   {'>' if taken else ' '} {candidate.decider}"]
        if with_budget:
            cells.append(threshold_text(candidate.tau_min))
            cells += [share_text(candidate.false_no), share_text(candidate.false_yes)]
        grid.add_row(*cells, budget_text(candidate.epsilon_needed), style="bold" if taken else "")
    return grid
