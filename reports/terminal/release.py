"""The terminal rendering of ``pqd release``: per batch how it was answered, then every answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from reports.terminal.audit import indented, left_out, wrapped
from reports.text.audit import cost_sentences, question
from reports.text.escape import visible
from reports.text.headlines import counted
from reports.text.numbers import epsilon_text, number_text
from reports.text.release import (
    batch_sentence,
    interval_text,
    level_text,
    noise_text,
    tables_text,
    truncation_text,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from reports.models.release import ReleasedBatch, ReleasedQuery, ReleaseReport

SIMULATED = "SIMULATED: these answers come from seeded noise and protect nobody."


class TerminalRelease:
    """A rich renderable of a release."""

    def __init__(self, report: ReleaseReport) -> None:
        """Keep the report."""
        self._report = report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the batches with their answers, then the summary."""
        report, width = self._report, options.max_width
        sign = "±" if options.encoding.lower().startswith("utf") else "+-"
        if report.simulated:
            yield from wrapped(Text(SIMULATED, style="bold yellow"), console, width)
            yield Text()
        for batch in report.batches:
            yield from _batch(batch, console, width)
            for query in report.queries:
                if query.batch == batch.name:
                    yield from _query(query, console, width, sign)
            yield Text()
        for line in left_out(report.refused):
            yield from wrapped(line, console, width)
        for sentence in (*_reading(report), *report.notes):
            yield from wrapped(Text(visible(sentence)), console, width)


def _batch(batch: ReleasedBatch, console: Console, width: int) -> Iterator[Text]:
    """Yield what is said of all queries of a batch."""
    number = counted(batch.queries, "query", "queries")
    head = Text.assemble((visible(batch.name), "bold"))
    head.append(f"   {number} together at epsilon {epsilon_text(batch.epsilon)}")
    if batch.replayed:
        head.append("   replayed, paid for before")
    yield from wrapped(head, console, width)
    yield from indented(Text(visible(batch_sentence(batch)), style="dim"), console, width)


def _query(query: ReleasedQuery, console: Console, width: int, sign: str) -> Iterator[Text]:
    """Yield one query and its answer."""
    line = Text.assemble((visible(query.id), "bold"))
    asked = question(query.aggregate, query.attribute, None, query.where)
    line.append(f"  {asked}", style="default")
    yield from wrapped(line, console, width)
    answer = Text(number_text(query.answer), style="bold green")
    if within := interval_text(query, ".."):
        answer.append(f"   {within}", style="default")
    for part in _facts(query, sign):
        answer.append(f"; {part}", style="default")
    yield from indented(answer, console, width)


def _facts(query: ReleasedQuery, sign: str) -> Iterator[str]:
    # An interval says more than a deviation.
    if query.low is None and (noise := noise_text(query, sign)):
        yield f"noise {noise} (standard deviation)"
    if cut := truncation_text(query):
        yield cut
    yield f"synthetic {number_text(query.q_synthetic)}"


def _reading(report: ReleaseReport) -> Iterator[str]:
    if any(query.low is not None for query in report.queries):
        level = level_text(report.alpha)
        yield f"low .. high holds the exact answer with probability {level}, each by itself."
    yield from cost_sentences(report.cost, tables_text(report))
