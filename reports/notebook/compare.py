"""Notebook rendering of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.html.query import WORDS
from reports.notebook.summary import Summary, Table, numbers
from reports.text.audit import SIMULATED
from reports.text.compare import SYMBOLS, cell_sign, headline, tie_sentences
from reports.text.notes import refused_lines
from reports.text.numbers import percent, percent_range
from reports.text.words import first_of, rank_text

if TYPE_CHECKING:
    from reports.models.compare import CompareReport


def render(report: CompareReport) -> Summary:
    """Title, who cannot be told apart, the leaderboard, and a row per query."""
    title, lead = headline(report)
    stamp = SIMULATED if report.simulated else ""
    lines = [*tie_sentences(report), *first_of(refused_lines(report.refused))]
    return Summary(title, lead, [_board(report), _queries(report)], stamp, lines)


def _board(report: CompareReport) -> Table:
    board = [
        [
            (rank_text(row), ""),
            (row.candidate, "name"),
            (percent(row.share), "number"),
            (percent_range(row.low, row.high), "number"),
            *((str(n), "number") for n in (row.trusted, row.not_trusted)),
            (str(row.undecided), "number"),
        ]
        for row in report.leaderboard
    ]
    titles = ("within tolerance", "between", "trusted", "not", "undecided")
    return Table((("rank", ""), ("candidate", ""), *numbers(titles)), board)


def _queries(report: CompareReport) -> Table:
    names = [row.candidate for row in report.leaderboard]
    rows = []
    for query in report.queries:
        cells = {cell.candidate: cell for cell in query.cells}
        marked = (
            (cell_sign(cells[name], SYMBOLS[True]), WORDS[cells[name].standing])
            for name in names
            if name in cells
        )
        simulated = " SIMULATED" if query.simulated else ""
        rows.append([(f"{query.id}{simulated}", "name"), *marked])
    return Table((("query", ""), *((name, "") for name in names)), rows)
