"""Blocks that several terminal renderings share: a grouped query, a chart, queries not asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text

from reports.terminal.chart import chart_lines
from reports.text.escape import visible
from reports.text.notes import refused_lines, refused_sentence
from reports.text.numbers import threshold_text
from reports.text.query import group_parts, query_text, verdict_words
from reports.text.words import LISTED, first_of

if TYPE_CHECKING:
    from reports.models.audit import Verdict
    from reports.models.query import QueryFacts
    from reports.models.refusals import QueryRefusal
    from reports.terminal.layout import Screen

Entry = TypeVar("Entry")
_ALL = "--verbose shows every query in full; --html FILE, --json FILE and to_frame() have all."
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


def left_out(refused: Sequence[QueryRefusal], *, verbose: bool) -> Iterator[Text]:
    """Queries that were not asked, by name, each with the reason; of many the first."""
    if refused:
        yield Text(f"{refused_sentence(refused)}:", style="bold yellow")
    every = refused_lines(refused)
    for line in every if verbose else first_of(every):
        yield Text(visible(line))


def excerpt(
    entries: Sequence[Entry], lines: Callable[[Entry], Iterator[Text]], screen: Screen
) -> Iterator[Text]:
    """Lines of the first of many entries, and how many more there are."""
    for entry in entries[:LISTED]:
        yield from lines(entry)
    yield from more(len(entries) - LISTED, screen)


def more(left: int, screen: Screen) -> Iterator[Text]:
    """How many entries there are beyond those listed."""
    if left > 0:
        yield from screen.wrapped(f"and {left:,} more like these")
    yield Text()


def where_all_are(screen: Screen) -> Iterator[Text]:
    """Where to find what an excerpt leaves out."""
    yield from screen.wrapped(_ALL, "dim")
    yield Text()


def entry_lines(head: Text, facts: QueryFacts, screen: Screen) -> Iterator[Text]:
    """Head of an entry, and its query."""
    yield from screen.wrapped(head)
    text = query_text(facts.aggregate, facts.attribute, facts.p, facts.where)
    yield from screen.indented(text)
