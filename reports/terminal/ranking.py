"""Terminal rendering of ``pqd compare`` without queries: a line per copy, the best first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from reports.terminal.layout import NARROW
from reports.text.distances import (
    SIMULATED,
    columns_sentence,
    digits_of,
    figure_text,
    left_out_lines,
    level_text,
    names_text,
    ways_text,
)
from reports.text.escape import visible
from reports.text.numbers import interval_text, percent_text
from reports.text.ranking import (
    better_sentences,
    cost_lines,
    fresh_text,
    headline,
    noise_sentence,
    paid_lines,
    scores_text,
    subject,
)
from reports.text.words import counted, rank_text

if TYPE_CHECKING:
    from rich.console import RenderResult

    from reports.models.ranking import RankedMarginal, RankingReport
    from reports.terminal.layout import Screen

# So many marginals of as many columns, unless all are asked for.
_WORST = 10


def render(report: RankingReport, screen: Screen, *, verbose: bool) -> RenderResult:
    """Lines of a ranking; ``verbose`` shows every marginal that was asked for."""
    if report.simulated:
        yield from screen.wrapped(SIMULATED, "bold yellow")
        yield Text()
    yield from screen.wrapped(headline(report)[0], "bold")
    yield from screen.wrapped(f"Overall quality: {subject(report)}")
    yield Text()
    yield from _board(report, screen)
    yield from screen.paragraphs(better_sentences(report))
    for copy in report.copies:
        if told := scores_text(copy):
            yield from screen.wrapped(f"{visible(copy.candidate)}: {told}")
    for ways in sorted({len(each.columns) for each in report.marginals}):
        yield Text()
        yield from _marginals(report, ways, screen, verbose=verbose)
    yield from screen.paragraphs(filter(None, [noise_sentence(report)]))
    yield Text()
    yield from screen.wrapped(columns_sentence(report.columns))
    yield from screen.paragraphs(f"Left out: {line}" for line in left_out_lines(report.left_out))
    yield from screen.paragraphs(map(visible, report.notes))
    yield from screen.paragraphs(cost_lines(report))
    for line in paid_lines(report):
        yield from screen.indented(line)


def _board(report: RankingReport, screen: Screen) -> RenderResult:
    if screen.width < NARROW:
        for copy in report.copies:
            rank, name = rank_text(copy, unicode=screen.unicode), visible(copy.candidate)
            quality = figure_text(copy.overall.estimate) if copy.overall.estimate else "unknown"
            yield from screen.wrapped(f"{rank}  {name}: {quality}, fresh {fresh_text(copy)}")
        return
    table = _grid()
    table.add_column("rank", no_wrap=True)
    table.add_column("copy", overflow="fold", min_width=14)
    for title in ("quality", f"{level_text(report.alpha)} interval", "fresh"):
        table.add_column(title, justify="right", no_wrap=True)
    digits = digits_of(*(copy.overall.estimate for copy in report.copies))
    for copy in report.copies:
        value, low, high = copy.overall.estimate or (0.0, 0.0, 1.0)
        table.add_row(
            rank_text(copy, unicode=screen.unicode),
            Text(visible(copy.candidate), style="bold"),
            percent_text(value, digits),
            interval_text(low, high, digits),
            fresh_text(copy),
        )
    yield table


def _grid() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def _marginals(report: RankingReport, ways: int, screen: Screen, *, verbose: bool) -> RenderResult:
    rows = [each for each in report.marginals if len(each.columns) == ways]
    shown = rows if verbose or ways == 1 else rows[:_WORST]
    number = counted(len(rows), ways_text(ways, 1), ways_text(ways))
    title = number if len(shown) == len(rows) else f"{len(shown)} worst of {number}"
    yield Text(f"{title}, total variation from each copy", style="bold")
    names = [visible(copy.candidate) for copy in report.copies]
    room = 20 + sum(max(8, len(name)) + 2 for name in names)
    if room > screen.width:
        for each in shown:
            yield from _stacked(each, names, screen)
    else:
        table = _grid()
        table.add_column(ways_text(ways, 1), overflow="fold", min_width=14)
        for name in names:
            table.add_column(name, justify="right", no_wrap=True)
        for each in shown:
            digits = digits_of(*each.estimates)
            texts = (percent_text(figure.value, digits) for figure in each.estimates)
            table.add_row(names_text(each.columns), *texts)
        yield table
    if rest := len(rows) - len(shown):
        yield from screen.wrapped(f"and {rest:,} more, with smaller distances")


def _stacked(each: RankedMarginal, names: list[str], screen: Screen) -> Iterator[Text]:
    """One marginal where a table has no room."""
    digits = digits_of(*each.estimates)
    pairs = zip(names, each.estimates, strict=True)
    told = ", ".join(f"{name} {percent_text(figure.value, digits)}" for name, figure in pairs)
    yield from screen.wrapped(f"{names_text(each.columns)}: {told}")
