"""A comparison as Markdown: the leaderboard, who cannot be told apart, and all else folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from pqd.reports.text.audit import SIMULATED
from pqd.reports.text.compare import (
    KINDS,
    SYMBOLS,
    cell_sign,
    headline,
    how_to_read,
    named_sentence,
    query_sentences,
    tie_sentences,
    worst_compared,
)
from pqd.reports.text.cost import cost_sentences
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import percent, percent_range
from pqd.reports.text.query import grouped_text
from pqd.reports.text.words import first_of, rank_text
from pqd.reports.writers.markup import (
    code,
    fitting,
    fitting_items,
    folded,
    items,
    left_out,
    markdown,
    more,
    sentence,
    table,
)

if TYPE_CHECKING:
    from pqd.reports.models.compare import ComparedQuery, CompareReport, LeaderboardRow

_BOARD = (
    ("rank", "---:"),
    ("candidate", "---"),
    ("within tolerance", "---:"),
    ("between", "---"),
    ("trusted", "---:"),
    ("not", "---:"),
    ("undecided", "---:"),
)


def render(report: CompareReport) -> Iterator[str]:
    """Parts of a comparison."""
    title, lead = headline(report)
    yield f"## pqd compare: {markdown(title)}"
    if report.simulated:
        yield f"**{SIMULATED}**"
    yield sentence(lead)
    if report.leaderboard:
        yield table(_BOARD, map(_row, report.leaderboard))
    if told := list(tie_sentences(report)):
        yield items(told)
    yield from left_out(report.refused)
    if report.queries:
        yield folded("Every query on every candidate", _heat(report))
        yield folded("Queries", fitting_items(list(_query_lines(report.queries))))
    if told := list(named_sentence(report)):
        yield folded("Where each is closest, and where it is farthest off", [items(told)])
    tables = f"{visible(report.private)}, compared with {len(report.candidates)} synthetic tables"
    yield folded("Cost", [items(cost_sentences(report.cost, tables))])
    yield folded("How to read this", [items([*how_to_read(report), *first_of(report.notes)])])


def _row(row: LeaderboardRow) -> list[str]:
    kind = f" ({KINDS[row.kind]})" if row.kind in KINDS else ""
    return [
        rank_text(row),
        f"{code(row.candidate)}{kind}",
        f"**{markdown(percent(row.share))}**",
        markdown(percent_range(row.low, row.high)),
        str(row.trusted),
        str(row.not_trusted),
        str(row.undecided),
    ]


def _heat(report: CompareReport) -> Iterator[str]:
    """Every query on every candidate; where they do not fit, the worst of them."""
    names = [row.candidate for row in report.leaderboard]
    columns = [("query", "---"), *((code(name), ":---:") for name in names)]
    rows = fitting(_signs(query, names) for query in report.queries)
    if len(rows) < len(report.queries):
        worst = worst_compared(report.queries)
        rows = fitting(_signs(replace(query, group=None), names) for query in worst)
        yield table(columns, rows)
        yield from more(len(report.queries) - len(rows))
        return
    single = [query for query in report.queries if query.block is None]
    if single:
        yield table(columns, (_signs(query, names) for query in single))
    blocks = (query for query in report.queries if query.block is not None)
    for name, members in groupby(blocks, key=lambda query: query.block):
        groups = list(members)
        rows = [_signs(query, names) for query in groups]
        yield folded(f"{code(name or '')}: {len(groups)} groups", [table(columns, rows)])


def _signs(query: ComparedQuery, names: Sequence[str]) -> list[str]:
    cells = {cell.candidate: cell for cell in query.cells}
    signs = [cell_sign(cells[name], SYMBOLS[True]) if name in cells else "" for name in names]
    return [code(query.group or query.id), *signs]


def _query_lines(queries: Sequence[ComparedQuery]) -> Iterator[str]:
    for name, members in groupby(queries, key=lambda query: query.block):
        for query in members:
            if name is not None:
                text = grouped_text(query.aggregate, query.attribute, query.p, query.block_sql)
                yield f"{name}: {text}"
                break
            yield f"{query.id}: {'; '.join(query_sentences(query))}"
