"""A ranking as Markdown: the copies, who is better for certain, and all else folded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pqd.reports.markdown.markup import code, folded, items, markdown, sentence, table
from pqd.reports.text.distances import (
    SIMULATED,
    columns_sentence,
    digits_of,
    left_out_lines,
    level_text,
    ways_text,
)
from pqd.reports.text.numbers import interval_text, percent_text
from pqd.reports.text.ranking import (
    better_sentences,
    cost_lines,
    fresh_text,
    headline,
    noise_sentence,
    paid_lines,
    scores_text,
)
from pqd.reports.text.remarks.definitions import ranking_definitions
from pqd.reports.text.words import counted, rank_text

if TYPE_CHECKING:
    from pqd.reports.models.ranking import RankedCopy, RankedMarginal, RankingReport

# A comment has room for so many marginals of as many columns.
_MOST = 30


def render(report: RankingReport) -> Iterator[str]:
    """Parts of a ranking."""
    title, lead = headline(report)
    yield f"## pqd compare: {markdown(title)}"
    if report.simulated:
        yield f"**{SIMULATED}**"
    yield sentence(lead)
    level = f"{markdown(level_text(report.alpha))} interval"
    titles = (("quality", "---:"), (level, "---:"), ("fresh sample", "---:"))
    digits = digits_of(*(copy.overall.estimate for copy in report.copies))
    rows = (_row(copy, digits) for copy in report.copies)
    yield table([("rank", "---:"), ("copy", "---"), *titles], rows)
    if told := list(better_sentences(report)):
        yield items(told)
    if told := [f"{c.candidate}: {scores_text(c)}" for c in report.copies if c.scores]:
        yield folded("By number of columns", [items(told)])
    for ways in sorted({len(each.columns) for each in report.marginals}):
        yield folded(f"Total variation of {ways_text(ways)}", _marginals(report, ways))
    if noise := noise_sentence(report):
        yield sentence(noise)
    if report.left_out:
        left = counted(len(report.left_out), "column")
        yield folded(f"{left} left out", [items(left_out_lines(report.left_out[:_MOST]))])
    yield folded("Cost", [items([*cost_lines(report), *paid_lines(report)])])
    reading = (f"{name}: {text}" for name, text in ranking_definitions(report))
    lines = [*reading, columns_sentence(report.columns), *report.notes]
    yield folded("How to read this", [items(lines)])


def _row(copy: RankedCopy, digits: int) -> list[str]:
    value, low, high = copy.overall.estimate or (0.0, 0.0, 1.0)
    quality = f"**{markdown(percent_text(value, digits))}**"
    ends = interval_text(low, high, digits)
    return [rank_text(copy), code(copy.candidate), quality, ends, markdown(fresh_text(copy))]


def _marginals(report: RankingReport, ways: int) -> Iterator[str]:
    rows = [each for each in report.marginals if len(each.columns) == ways]
    names = [(code(copy.candidate), "---:") for copy in report.copies]
    yield table([(ways_text(ways, 1), "---"), *names], map(_marginal, rows[:_MOST]))
    if len(rows) > _MOST:
        yield f"and {len(rows) - _MOST:,} more, with smaller distances"


def _marginal(each: RankedMarginal) -> list[str]:
    digits = digits_of(*each.estimates)
    texts = (markdown(percent_text(figure.value, digits)) for figure in each.estimates)
    return [", ".join(map(code, each.columns)), *texts]
