"""Notebook rendering of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.models.outcomes import BY_STANDING
from pqd.reports.text.audit import SIMULATED
from pqd.reports.text.compare import (
    SYMBOLS,
    cell_sign,
    headline,
    tie_sentences,
    worst_compared,
)
from pqd.reports.text.cost import account_sentences
from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lines
from pqd.reports.text.numbers import percent, percent_range
from pqd.reports.text.words import first_of, rank_text
from pqd.reports.writers.summary import Summary, Table, numbers, table_of

if TYPE_CHECKING:
    from pqd.reports.models.compare import ComparedQuery, CompareReport
    from pqd.reports.writers.summary import CellText


def render(report: CompareReport) -> Summary:
    """Title, what was spent, who cannot be told apart, the leaderboard, and a row per query."""
    title, lead = headline(report)
    stamp = SIMULATED if report.simulated else ""
    replayed = [query.replayed for query in report.queries]
    account = list(account_sentences(report.cost, report.private, replayed))
    lines = [*tie_sentences(report), *first_of(refused_lines(report.refused))]
    lines += first_of(map(visible, report.notes))
    return Summary(title, lead, [_board(report), _queries(report)], stamp, account, lines)


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

    def row(query: ComparedQuery) -> list[CellText]:
        cells = {cell.candidate: cell for cell in query.cells}
        marked = (
            (cell_sign(cells[name], SYMBOLS[True]), BY_STANDING[cells[name].standing].tone)
            for name in names
            if name in cells
        )
        simulated = " SIMULATED" if query.simulated else ""
        return [(f"{query.id}{simulated}", "name"), *marked]

    worst = worst_compared(report.queries)
    known = {query.id for query in worst}
    queries = [*worst, *(query for query in report.queries if query.id not in known)]
    return table_of((("query", ""), *((name, "") for name in names)), queries, row)
