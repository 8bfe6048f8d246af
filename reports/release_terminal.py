"""The terminal rendering of ``pqd release``: per batch how it was answered, then every answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from reports.numbers import epsilon_text, number_text
from reports.terminal import indented, wrapped
from reports.visible import visible
from reports.words import cost_sentences, question

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from reports.release import ReleasedBatch, ReleasedQuery, ReleaseReport

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
        tables = f"{visible(report.private)}; the classes of rows come from "
        tables += visible(report.synthetic)
        for sentence in (*cost_sentences(report.cost, tables), *report.notes):
            yield from wrapped(Text(visible(sentence)), console, width)


def _batch(batch: ReleasedBatch, console: Console, width: int) -> Iterator[Text]:
    """Yield what is said of all queries of a batch."""
    number = "1 query" if batch.queries == 1 else f"{batch.queries:,} queries"
    head = Text.assemble((visible(batch.name), "bold"))
    head.append(f"   {number} together at epsilon {epsilon_text(batch.epsilon)}")
    if batch.replayed:
        head.append("   replayed, paid for before")
    yield from wrapped(head, console, width)
    classes = "1 class" if batch.classes == 1 else f"{batch.classes:,} classes"
    text = f"answered by {batch.mechanism} on {classes} of rows: {batch.reason}"
    yield from indented(Text(visible(text), style="dim"), console, width)


def _query(query: ReleasedQuery, console: Console, width: int, sign: str) -> Iterator[Text]:
    """Yield one query and its answer."""
    line = Text.assemble((visible(query.id), "bold"))
    asked = question(query.aggregate, query.attribute, None, query.where)
    line.append(f"  {asked}", style="default")
    yield from wrapped(line, console, width)
    answer = Text(number_text(query.answer), style="bold green")
    for part in _facts(query, sign):
        answer.append(f"; {part}", style="default")
    yield from indented(answer, console, width)


def _facts(query: ReleasedQuery, sign: str) -> Iterator[str]:
    if query.deviation is not None:
        yield f"noise {sign}{number_text(query.deviation, 3)} (standard deviation)"
    if query.threshold is not None:
        below = query.lower_threshold
        low = "" if below is None else f"below {number_text(below)} or "
        yield f"values {low}above {number_text(query.threshold)} count as that"
    yield f"synthetic {number_text(query.q_synthetic)}"
