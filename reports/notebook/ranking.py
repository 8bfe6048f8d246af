"""Notebook rendering of a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.notebook.summary import Summary, Table, numbers, table_of
from pqd.reports.text.cost import account_sentences
from pqd.reports.text.distances import (
    SIMULATED,
    digits_of,
    left_out_lines,
    level_text,
    ways_text,
)
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import interval_text, percent_text
from pqd.reports.text.ranking import better_sentences, fresh_text, headline, noise_sentence
from pqd.reports.text.words import first_of, rank_text

if TYPE_CHECKING:
    from pqd.reports.models.ranking import RankedMarginal, RankingReport
    from pqd.reports.notebook.summary import CellText


def render(report: RankingReport) -> Summary:
    """Title, what was spent, who is better for certain, a row per copy, and marginals asked for."""
    title, lead = headline(report)
    lines = [*better_sentences(report), *filter(None, [noise_sentence(report)])]
    lines += first_of(f"Left out: {line}" for line in left_out_lines(report.left_out))
    lines += first_of(map(visible, report.notes))
    tables = [_board(report), *_marginals(report)]
    stamp = SIMULATED if report.simulated else ""
    replayed = [report.replayed] if report.replayed else []
    account = list(account_sentences(report.cost, report.private, replayed))
    return Summary(title, lead, tables, stamp, account, lines, command="compare")


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
        marginals = [each for each in report.marginals if len(each.columns) == ways]
        heads = ((ways_text(ways, 1), ""), *numbers(names))
        found.append(table_of(heads, marginals, _marginal))
    return found


def _marginal(each: RankedMarginal) -> list[CellText]:
    values = (
        (percent_text(figure.value, digits_of(figure)), "number") for figure in each.estimates
    )
    return [(", ".join(each.columns), "name"), *values]
