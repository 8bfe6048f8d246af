"""Terminal rendering of ``pqd release``: per batch how it was answered, then every answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from reports.terminal.blocks import excerpt, left_out, where_all_are
from reports.text.cost import cost_sentences
from reports.text.escape import visible
from reports.text.numbers import epsilon_text, number_text
from reports.text.query import query_text
from reports.text.release import (
    SIMULATED,
    batch_sentence,
    headline,
    interval_text,
    level_text,
    noise_text,
    tables_text,
    truncation_text,
)
from reports.text.words import MOST_IN_FULL, counted, first_of

if TYPE_CHECKING:
    from reports.models.release import ReleasedBatch, ReleasedQuery, ReleaseReport
    from reports.terminal.layout import Screen


def render(report: ReleaseReport, screen: Screen, *, verbose: bool) -> Iterator[Text]:
    """Lines of a release: the batches with their answers, then the summary.

    Of many answers the first of each batch alone are told, without ``verbose``.
    """
    if report.simulated:
        yield from screen.wrapped(SIMULATED, "bold yellow")
        yield Text()
    cut = len(report.queries) > MOST_IN_FULL and not verbose
    if cut:
        yield from screen.wrapped(headline(report)[0], "bold")
        yield Text()
    answers: dict[str, list[ReleasedQuery]] = {}
    for query in report.queries:
        answers.setdefault(query.batch, []).append(query)
    for batch in report.batches:
        yield from _batch(batch, screen)
        queries = answers.get(batch.name, [])
        if cut:
            yield from excerpt(queries, lambda query: _query(query, screen), screen)
            continue
        for query in queries:
            yield from _query(query, screen)
        yield Text()
    if cut:
        yield from where_all_are(screen)
    yield from screen.paragraphs(left_out(report.refused, verbose=verbose))
    told = (*_reading(report), *report.notes)
    yield from screen.paragraphs(map(visible, told if verbose else first_of(told)))


def _batch(batch: ReleasedBatch, screen: Screen) -> Iterator[Text]:
    """Lines on all queries of a batch."""
    number = counted(batch.queries, "query", "queries")
    head = Text.assemble((visible(batch.name), "bold"))
    head.append(f"   {number} together at epsilon {epsilon_text(batch.epsilon)}")
    if batch.replayed:
        head.append("   replayed, paid for before")
    yield from screen.wrapped(head)
    yield from screen.indented(visible(batch_sentence(batch)), "dim")


def _query(query: ReleasedQuery, screen: Screen) -> Iterator[Text]:
    """One query and its answer."""
    line = Text.assemble((visible(query.id), "bold"))
    text = query_text(query.aggregate, query.attribute, None, query.where)
    line.append(f"  {text}", style="default")
    yield from screen.wrapped(line)
    answer = Text(number_text(query.answer), style="bold green")
    if within := interval_text(query, ".."):
        answer.append(f"   {within}", style="default")
    for part in _facts(query, screen.sign):
        answer.append(f"; {part}", style="default")
    yield from screen.indented(answer)


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
