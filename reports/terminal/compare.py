"""Terminal rendering of ``pqd compare``: leaderboard first, then a line per query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from pqd.reports.documents.shared import first_names
from pqd.reports.terminal.blocks import left_out, of_name
from pqd.reports.terminal.frame import (
    PASSES,
    Standing,
    closing,
    heading,
    notes_lines,
    stamp,
    table,
)
from pqd.reports.text.audit import SIMULATED
from pqd.reports.text.compare import (
    SYMBOLS,
    cell_sentence,
    cell_sign,
    column_names,
    compare_costs,
    headline,
    how_to_read,
    named_sentence,
    query_sentences,
    share_words,
    tie_sentences,
    worst_compared,
)
from pqd.reports.text.cost import budget_sentence, spent_text
from pqd.reports.text.escape import quoted, visible
from pqd.reports.text.numbers import percent, percent_range
from pqd.reports.text.query import query_text
from pqd.reports.text.words import MOST_IN_FULL, counted, rank_text, worst_first
from pqd.reports.writers.terminal.grid import Cells, Column
from pqd.reports.writers.terminal.layout import NARROW, Extent
from pqd.reports.writers.terminal.table import fold_text

if TYPE_CHECKING:
    from rich.console import RenderResult

    from pqd.reports.models.compare import ComparedQuery, CompareReport
    from pqd.reports.text.compare import Columns
    from pqd.reports.writers.terminal.layout import Screen

_STYLES = {"trusted": "bold green", "not trusted": "bold red", "undecided": "bold yellow"}
_BAR = 16
# Room that the name of a query needs beside the signs.
_LEAST = 16


def render(report: CompareReport, screen: Screen, extent: Extent) -> RenderResult:
    """Lines of a comparison; in full with every query and candidate in sentences."""
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    quiet, queries = extent is Extent.QUIET, report.queries
    if not quiet:
        asked = counted(len(queries), "query", "queries")
        names = counted(len(report.leaderboard), "candidate")
        subject = f"{asked} on {names}, tolerance {visible(report.tolerance)}"
        spent = spent_text(report.cost, [query.replayed for query in queries])
        yield from heading(subject, spent, "", screen)
        yield from _board(report, screen)
        yield Text()
    if extent is Extent.VERBOSE:
        for query in queries:
            yield from _full(query, screen)
        yield Text()
        yield from left_out(report.refused, screen, extent)
        tables = f"{visible(report.private)}, whatever the number of candidates"
        told = (*compare_costs(report, tables), *how_to_read(report, unicode=screen.unicode))
        yield from screen.paragraphs(map(visible, (*told, *report.notes)))
        return
    yield from _queries(report, screen, extent)
    yield from left_out(report.refused, screen, extent)
    yield from notes_lines(report.notes, screen, extent)
    worst = worst_compared(queries)
    outside = [visible(query.id) for query in worst if _standing(query) == "not trusted"]
    failures = f"Outside on some candidate: {first_names(outside)}." if outside else ""
    counts = Text(f"{headline(report)[0]}.", style="bold")
    first = next(iter((*worst, *queries)), None)
    step = f"pqd compare ... --explain {quoted(first.id)}" if first else ""
    budget = budget_sentence(report.cost, report.private)
    yield from closing(failures, counts, step, budget, screen, extent)


def explain(report: CompareReport, name: str, screen: Screen) -> Iterator[Text]:
    """Lines on one query and all its candidates, or on the groups of one.

    Raises
    ------
    ParameterError
        The report has no such query.
    """
    found, refused = of_name(report.queries, report.refused, name)
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    for query in found:
        yield from _full(query, screen)
    yield from left_out(refused, screen, Extent.VERBOSE)


def _standing(query: ComparedQuery) -> str:
    """Standing of a query on the candidate that it fares worst on."""
    return worst_first([cell.standing for cell in query.cells])


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
    board = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    board.add_column("rank", no_wrap=True)
    board.add_column("candidate", overflow="fold")
    board.add_column("within", justify="right", no_wrap=True)
    board.add_column(f"0 %{'100 %':>{_BAR - 3}}", no_wrap=True)
    board.add_column("true share", no_wrap=True)
    for title in ("yes", "no", "?"):
        board.add_column(title, justify="right")
    for row in report.leaderboard:
        board.add_row(
            rank_text(row, unicode=screen.unicode),
            Text(visible(row.candidate), style="bold"),
            percent(row.share),
            _bar(row.low, row.share, row.high, unicode=screen.unicode),
            percent_range(row.low, row.high),
            *(str(number) for number in (row.trusted, row.not_trusted, row.undecided)),
        )
    return board


def _bar(low: float, share: float, high: float, *, unicode: bool) -> str:
    """Share between the ends of its band on a line."""
    rule, dot, blank = ("─", "●", "·") if unicode else ("-", "o", ".")
    first, last, middle = (round(x * (_BAR - 1)) for x in (low, high, share))
    signs = [rule if first <= place <= last else blank for place in range(_BAR)]
    signs[middle] = dot
    return "".join(signs)


def _queries(report: CompareReport, screen: Screen, extent: Extent) -> Iterator[Text]:
    """A line per query with a sign per candidate, those first that most are outside on."""
    columns, symbols = column_names(report), SYMBOLS[screen.unicode]
    if extent is not Extent.QUIET and report.queries:
        signs = f"{symbols['yes']} within tolerance, {symbols['no']} outside, in brackets if "
        yield from screen.wrapped(f"{signs}undecided: it leans that way", "dim")
        for legend in columns.legend:
            yield from screen.wrapped(legend, "dim")

    def lines(queries: Sequence[ComparedQuery]) -> Iterator[Cells]:
        for query in queries:
            found = (query.cell(name) for name in columns.candidates)
            signs = [Text(cell_sign(cell, symbols), _STYLES[cell.standing]) for cell in found]
            words = query_text(query.aggregate, query.attribute, query.p, query.where)
            # In a third of the width.
            words = screen.cut(words, max(screen.width - 50, 20))
            yield *signs, visible(query.id), words

    worst = worst_compared(report.queries)
    by_standing = {name: [q for q in worst if _standing(q) == name] for name in _STYLES}
    good = [query for query in report.queries if _standing(query) == "trusted"]
    standings = (
        Standing(Text(), by_standing["not trusted"], failed=True),
        Standing(Text(), by_standing["undecided"]),
        Standing(Text(), good, passed=True),
    )
    if columns.width * len(columns.candidates) + _LEAST > screen.width:
        for each in standings if extent is not Extent.QUIET else standings[:1]:
            # Each takes two lines here.
            many = extent is Extent.BRIEF and len(report.queries) > MOST_IN_FULL
            most = PASSES if many else len(each.entries)
            for query in each.entries[:most]:
                yield from _stacked(query, columns, screen)
            if rest := [visible(query.id) for query in each.entries[most:]]:
                yield Text(fold_text(rest, screen.width))
        yield Text()
        return
    titles = [Column(title) for title in columns.titles]
    shown = (*titles, Column("query", least=14), Column("", spare=1))
    yield from table(shown, standings, lines, lambda each: visible(each.id), screen, extent)


def _stacked(query: ComparedQuery, columns: Columns, screen: Screen) -> Iterator[Text]:
    """One query, and below it the candidates with their signs, where a table has no room."""
    yield from screen.wrapped(visible(query.id))
    line = Text()
    for name, title in zip(columns.candidates, columns.titles, strict=True):
        cell = query.cell(name)
        # One word each, so that no line breaks between a candidate and its sign.
        line.append(f"{title}:{cell_sign(cell, SYMBOLS[screen.unicode])}", _STYLES[cell.standing])
        line.append("  ")
    yield from screen.indented(line)


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
