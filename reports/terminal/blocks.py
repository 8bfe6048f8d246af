"""Blocks that several terminal renderings share: a grouped query, a chart, queries not asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from reports.terminal.chart import chart_lines
from reports.text.escape import visible
from reports.text.notes import refused_lines, refused_sentence
from reports.text.numbers import threshold_text
from reports.text.query import group_parts, query_text, verdict_words

if TYPE_CHECKING:
    from reports.models.audit import Verdict
    from reports.models.query import QueryFacts
    from reports.models.refusals import QueryRefusal
    from reports.terminal.layout import Screen

BADGES = {"YES": "bold green", "NO": "bold red", "?": "bold yellow"}


def grouped(verdicts: Sequence[Verdict], screen: Screen) -> Iterator[Text]:
    """Verdicts of one grouped query: what all share, then a line per group."""
    first = verdicts[0]
    text = query_text(first.aggregate, first.attribute, first.p, None)
    title = Text.assemble((f"{'':<5}{visible(first.block or '')}", "bold"), f"   {text} per group")
    yield from screen.wrapped(title)
    yield from group_lines(verdicts, screen)


def group_lines(verdicts: Sequence[Verdict], screen: Screen) -> Iterator[Text]:
    """A line per group, and which deciders decided."""
    for verdict in verdicts:
        badge = verdict_words(verdict)[0]
        parts = "   ".join(group_parts(verdict, screen.sign))
        line = Text.assemble((f"{badge:<5}", BADGES[badge]), parts)
        if verdict.epsilon and verdict.decidable is False:
            line.append(f"   threshold {threshold_text(verdict.tau_min)}", style="yellow")
        yield from screen.wrapped(line)
    deciders = ", ".join(sorted({verdict.decider for verdict in verdicts}))
    yield from screen.indented(f"decided by {deciders}", "dim")


def chart(facts: QueryFacts, screen: Screen) -> Iterator[Text]:
    """Chart of the deciders' curves, empty where none was computed."""
    curves = facts.candidates, facts.decider
    for line in chart_lines(*curves, unicode=screen.unicode, width=screen.width):
        yield Text(line, no_wrap=True)


def left_out(refused: Sequence[QueryRefusal]) -> Iterator[Text]:
    """Queries that were not asked, by name, each with the reason."""
    if refused:
        yield Text(f"{refused_sentence(refused)}:", style="bold yellow")
    for line in refused_lines(refused):
        yield Text(visible(line))
