"""Terminal rendering of ``pqd release``: a line per answer, and how each batch was answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from pqd.reports.terminal.blocks import Blocks, left_out, of_name, questions_of
from pqd.reports.terminal.frame import (
    WIDEST,
    closing,
    heading,
    notes_lines,
    stamp,
    with_questions,
)
from pqd.reports.text.cost import budget_sentence, cost_sentences, spent_text
from pqd.reports.text.escape import quoted, visible
from pqd.reports.text.numbers import epsilon_text, number_text, to_digits_of
from pqd.reports.text.query import query_text
from pqd.reports.text.release import (
    SIMULATED,
    batch_sentence,
    interval_text,
    level_text,
    missed_text,
    noise_text,
    tables_text,
    truncation_text,
)
from pqd.reports.text.words import LISTED, MOST_IN_FULL, counted
from pqd.reports.writers.terminal.grid import Cells, Column, grid_lines
from pqd.reports.writers.terminal.layout import Extent
from pqd.reports.writers.terminal.table import fold_text

if TYPE_CHECKING:
    from pqd.reports.models.release import ReleasedBatch, ReleasedQuery, ReleaseReport
    from pqd.reports.writers.terminal.layout import Screen

_COLUMNS = (
    Column("query", least=20),
    Column("private answer", right=True),
    Column("low .. high", right=True),
    Column("noise", right=True, spare=1),
    Column("cut at", right=True, spare=3),
    Column("copy", right=True, spare=2),
)


def render(report: ReleaseReport, screen: Screen, extent: Extent) -> Iterator[Text]:
    """Lines of a release: every answer beside the copy's, then the summary."""
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    if extent is Extent.VERBOSE:
        yield from _in_full(report, screen)
        return
    if extent is not Extent.QUIET:
        answers = counted(len(report.queries), "private answer")
        replayed = [batch.replayed for batch in report.batches]
        spent = spent_text(report.cost, replayed if all(replayed) else ())
        subject = f"{answers} beside {visible(report.synthetic)}"
        yield from heading(subject, spent, _question(report), screen)
    # Answers are what a release is for, however short it is to be.
    yield from _table(report, screen, extent)
    yield from left_out(report.refused, screen, extent)
    yield from notes_lines(report.notes, screen, extent)
    budget = budget_sentence(report.cost, report.private)
    yield from closing("", _counts(report), _step(report), budget, screen, extent)


def explain(report: ReleaseReport, name: str, screen: Screen) -> Iterator[Text]:
    """Lines on one answer and its batch, or on those to one grouped query.

    Raises
    ------
    ParameterError
        The report has no such query.
    """
    found, refused = of_name(report.queries, report.refused, name)
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    for query in found:
        yield from _query(query, screen)
    for batch in report.batches:
        if batch.name in {query.batch for query in found}:
            yield Text()
            yield from _batch(batch, screen)
    yield from left_out(refused, screen, Extent.VERBOSE)


def _question(report: ReleaseReport) -> str:
    """What the columns of the table mean."""
    told = "Answers are noisy."
    if any(query.low is not None for query in report.queries):
        level = level_text(report.alpha)
        told = f"Answers are noisy; the exact one lies in low .. high with probability {level}."
        told = " ".join(filter(None, (told, missed_text(report))))
    if any(query.threshold is not None for query in report.queries):
        told += " Values that are very large are cut off in sums (--explain tells where)."
    return told


def _table(report: ReleaseReport, screen: Screen, extent: Extent) -> Iterator[Text]:
    cut = len(report.queries) > MOST_IN_FULL and extent is not Extent.ALL
    blocks = Blocks(report.queries)
    told = [
        any(_cells(query, blocks, screen)[place] for query in report.queries) for place in range(6)
    ]
    columns = [column for column, any_ in zip(_COLUMNS, told, strict=True) if any_]
    indent = "  " if screen.width >= WIDEST else ""
    rows: list[Cells | Text] = []
    for batch in report.batches:
        queries = [query for query in report.queries if query.batch == batch.name]
        shown = queries[:LISTED] if cut and len(queries) > LISTED + 1 else queries
        for query in shown:
            rows += blocks.head(query, 0)
            cells = _cells(query, blocks, screen)
            rows.append(tuple(cell for cell, any_ in zip(cells, told, strict=True) if any_))
        if rest := [visible(query.id) for query in queries[len(shown) :]]:
            rows.append(Text(fold_text(rest, screen.width - len(indent))))
    rows, legend = with_questions(columns, rows, questions_of(report.queries), screen, extent)
    yield from grid_lines(columns, rows, screen, indent=indent)
    yield from legend
    if rows:
        yield Text()


def _cells(
    query: ReleasedQuery, blocks: Blocks[ReleasedQuery], screen: Screen
) -> tuple[Text | str, ...]:
    """Cells of an answer, to the digits that its interval or its noise gives a meaning to."""
    bounded = query.low is not None and query.high is not None
    scale = (query.high or 0) - (query.low or 0) if bounded else query.deviation or 0
    answer, copy = (to_digits_of(number, scale) for number in (query.answer, query.q_synthetic))
    return (
        blocks.name(query),
        Text(answer, style="bold green"),
        interval_text(query, ".."),
        "" if bounded else noise_text(query, screen.sign),
        " .. ".join(number_text(end) for end in _cuts(query)),
        copy,
    )


def _cuts(query: ReleasedQuery) -> list[float]:
    return [end for end in (query.lower_threshold, query.threshold) if end is not None]


def _counts(report: ReleaseReport) -> Text:
    parts = [
        f"{counted(batch.queries, 'query', 'queries')} at epsilon {epsilon_text(batch.epsilon)} "
        f"({batch.mechanism})"
        for batch in report.batches
    ]
    told = f"Answered together: {'; '.join(parts)}." if parts else "Nothing was answered."
    return Text(told, style="bold")


def _step(report: ReleaseReport) -> str:
    return f"pqd release ... --explain {quoted(report.queries[0].id)}" if report.queries else ""


def _in_full(report: ReleaseReport, screen: Screen) -> Iterator[Text]:
    """Every answer in full, by batch, and all that is known of the run."""
    for batch in report.batches:
        yield from _batch(batch, screen)
        for query in report.queries:
            if query.batch == batch.name:
                yield from _query(query, screen)
        yield Text()
    yield from left_out(report.refused, screen, Extent.VERBOSE)
    yield from screen.paragraphs(map(visible, (*_reading(report), *report.notes)))


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
