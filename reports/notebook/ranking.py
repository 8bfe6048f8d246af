"""Notebook rendering of a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.notebook.summary import Summary, Table, numbers
from reports.text.distances import (
    SIMULATED,
    digits_of,
    left_out_lines,
    level_text,
    ways_text,
)
from reports.text.numbers import interval_text, percent_text
from reports.text.ranking import better_sentences, fresh_text, headline, noise_sentence
from reports.text.words import rank_text

if TYPE_CHECKING:
    from reports.models.ranking import RankingReport


def render(report: RankingReport) -> Summary:
    """Title, who is better for certain, a row per copy, and those marginals that were asked for."""
    title, lead = headline(report)
    lines = [*better_sentences(report), *filter(None, [noise_sentence(report)])]
    lines += [f"Left out: {line}" for line in left_out_lines(report.left_out)]
    tables = [_board(report), *_marginals(report)]
    stamp = SIMULATED if report.simulated else ""
    return Summary(title, lead, tables, stamp, lines, command="compare")


def _board(report: RankingReport) -> Table:
    digits = digits_of(*(copy.overall.estimate for copy in report.copies))
    simulated = " SIMULATED" if report.simulated else ""
    rows = []
    for copy in report.copies:
        value, low, high = copy.overall.estimate or (0.0, 0.0, 1.0)
        rows.append(
            [
                (rank_text(copy), ""),
                (f"{copy.candidate}{simulated}", "name"),
                (percent_text(value, digits), "number"),
                (interval_text(low, high, digits), "number"),
                (fresh_text(copy), "number"),
            ]
        )
    titles = ("quality", f"{level_text(report.alpha)} interval", "fresh sample")
    return Table((("rank", ""), ("copy", ""), *numbers(titles)), rows)


def _marginals(report: RankingReport) -> list[Table]:
    names = [copy.candidate for copy in report.copies]
    found = []
    for ways in sorted({len(each.columns) for each in report.marginals}):
        rows = [
            [
                (", ".join(each.columns), "name"),
                *((percent_text(f.value, digits_of(f)), "number") for f in each.estimates),
            ]
            for each in report.marginals
            if len(each.columns) == ways
        ]
        found.append(Table(((ways_text(ways, 1), ""), *numbers(names)), rows))
    return found
