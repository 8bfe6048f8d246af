"""Terminal rendering of ``pqd compare``: leaderboard first, then a line per query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.table import Table
from rich.text import Text

from reports.terminal.blocks import left_out, more, where_all_are
from reports.terminal.layout import NARROW
from reports.text.audit import SIMULATED
from reports.text.compare import (
    SYMBOLS,
    cell_sentence,
    cell_sign,
    column_names,
    compare_costs,
    how_to_read,
    named_sentence,
    query_sentences,
    share_words,
    tie_sentences,
    worst_compared,
)
from reports.text.escape import visible
from reports.text.numbers import percent, percent_range
from reports.text.query import query_text
from reports.text.words import LISTED, MOST_IN_FULL, first_of, rank_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderResult

    from reports.models.compare import ComparedQuery, CompareReport
    from reports.terminal.layout import Screen
    from reports.text.compare import Columns

_STYLES = {"trusted": "bold green", "not trusted": "bold red", "undecided": "bold yellow"}
_BAR = 16


def render(report: CompareReport, screen: Screen, *, verbose: bool) -> RenderResult:
    """Lines of a comparison; ``verbose`` tells every query in full.

    Of many queries the worst alone have a line, without ``verbose``.
    """
    if report.simulated:
        yield from screen.wrapped(SIMULATED, "bold yellow")
        yield Text()
    yield from _board(report, screen)
    yield Text()
    if verbose:
        for query in report.queries:
            yield from _full(query, screen)
        yield Text()
    elif len(report.queries) > MOST_IN_FULL:
        yield from screen.wrapped(f"Worst of {len(report.queries):,} queries", "bold")
        worst = worst_compared(report.queries)
        yield from _lines(worst[:LISTED], report, screen)
        yield from more(len(worst) - LISTED, screen)
        yield from where_all_are(screen)
    else:
        yield from _lines(report.queries, report, screen)
        yield Text()
    yield from screen.paragraphs(left_out(report.refused, verbose=verbose))
    tables = f"{visible(report.private)}, whatever the number of candidates"
    told = (*compare_costs(report, tables), *how_to_read(report, unicode=screen.unicode))
    every = (*told, *report.notes)
    yield from screen.paragraphs(map(visible, every if verbose else first_of(every)))


def _board(report: CompareReport, screen: Screen) -> RenderResult:
    if screen.width < NARROW:
        for row in report.leaderboard:
            yield from screen.wrapped(visible(row.candidate), "bold")
            yield from screen.indented(share_words(row))
    else:
        yield _table(report, screen)
    for sentence in (*tie_sentences(report), *named_sentence(report)):
        yield from screen.wrapped(visible(sentence))


def _table(report: CompareReport, screen: Screen) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rank", no_wrap=True)
    table.add_column("candidate", overflow="fold")
    table.add_column("within", justify="right", no_wrap=True)
    table.add_column(f"0 %{'100 %':>{_BAR - 3}}", no_wrap=True)
    table.add_column("true share", no_wrap=True)
    for title in ("yes", "no", "?"):
        table.add_column(title, justify="right")
    for row in report.leaderboard:
        table.add_row(
            rank_text(row, unicode=screen.unicode),
            Text(visible(row.candidate), style="bold"),
            percent(row.share),
            _bar(row.low, row.share, row.high, unicode=screen.unicode),
            percent_range(row.low, row.high),
            *(str(number) for number in (row.trusted, row.not_trusted, row.undecided)),
        )
    return table


def _bar(low: float, share: float, high: float, *, unicode: bool) -> str:
    """Share between the ends of its band on a line."""
    rule, dot, blank = ("─", "●", "·") if unicode else ("-", "o", ".")
    first, last, middle = (round(x * (_BAR - 1)) for x in (low, high, share))
    signs = [rule if first <= place <= last else blank for place in range(_BAR)]
    signs[middle] = dot
    return "".join(signs)


def _lines(
    queries: Sequence[ComparedQuery], report: CompareReport, screen: Screen
) -> Iterator[Text]:
    """Each query with a sign per candidate: on one line where there is room."""
    columns, symbols = column_names(report), SYMBOLS[screen.unicode]
    for legend in columns.legend:
        yield from screen.wrapped(legend, "dim")
    signs = columns.width * len(columns.candidates)
    longest = max((len(visible(query.id)) for query in queries), default=0)
    if signs + longest > screen.width:
        for query in queries:
            yield from _stacked(query, columns, screen)
        return
    yield Text("".join(f"{title:<{columns.width}}" for title in columns.titles), style="dim")
    for query in queries:
        line = Text(no_wrap=True)
        for name in columns.candidates:
            cell = query.cell(name)
            line.append(f"{cell_sign(cell, symbols):<{columns.width}}", _STYLES[cell.standing])
        line.append(_cut(_words(query), screen.width - signs, "…" if screen.unicode else "..."))
        yield line


def _stacked(query: ComparedQuery, columns: Columns, screen: Screen) -> Iterator[Text]:
    """One query, and below it the candidates with their signs."""
    yield from screen.wrapped(_words(query))
    line = Text()
    for name, title in zip(columns.candidates, columns.titles, strict=True):
        cell = query.cell(name)
        # One word each, so that no line breaks between a candidate and its sign.
        line.append(f"{title}:{cell_sign(cell, SYMBOLS[screen.unicode])}", _STYLES[cell.standing])
        line.append("  ")
    yield from screen.indented(line)


def _words(query: ComparedQuery) -> str:
    text = query_text(query.aggregate, query.attribute, query.p, query.where)
    return f"{visible(query.id)}  {text}"


def _cut(text: str, width: int, sign: str) -> str:
    """Text in ``width`` cells, with a sign where it is cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - len(sign))).rstrip() + sign


def _full(query: ComparedQuery, screen: Screen) -> Iterator[Text]:
    """One query in full."""
    yield from screen.wrapped(visible(query.id), "bold")
    for text in query_sentences(query):
        yield from screen.indented(visible(text))
    for cell in query.cells:
        line = Text(visible(cell.candidate), style=_STYLES[cell.standing])
        line.append(f": {cell_sentence(cell, query, screen.sign)}", style="default")
        yield from screen.indented(line)
    yield Text()
