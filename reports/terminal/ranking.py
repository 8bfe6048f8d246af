"""Terminal rendering of ``pqd compare`` without queries: a line per copy, the best first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from pqd.deciders.errors import ParameterError
from pqd.reports.terminal.frame import closing, heading, notes_lines, stamp
from pqd.reports.terminal.layout import NARROW, Extent
from pqd.reports.text.cost import budget_sentence, spent_text
from pqd.reports.text.distances import (
    SIMULATED,
    columns_sentence,
    digits_of,
    figure_text,
    left_out_lines,
    level_text,
    names_text,
    ways_text,
)
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import interval_text, percent_text
from pqd.reports.text.ranking import (
    better_sentences,
    cost_lines,
    fresh_text,
    headline,
    marginals_text,
    noise_sentence,
    paid_lines,
    scores_text,
)
from pqd.reports.text.words import counted, rank_text

if TYPE_CHECKING:
    from rich.console import RenderResult

    from pqd.reports.models.ranking import RankedMarginal, RankingReport
    from pqd.reports.terminal.layout import Screen

_QUESTION = "fresh: what a fresh sample of that copy's own distribution would score"
# So many marginals of as many columns, unless all are asked for.
_WORST = 10


def render(report: RankingReport, screen: Screen, extent: Extent) -> RenderResult:
    """Lines of a ranking; in full with all that is known of the run."""
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    if extent is not Extent.QUIET:
        answers = [report.replayed] if report.replayed else []
        spent = spent_text(report.cost, answers)
        yield from heading(f"Overall quality: {marginals_text(report)}", spent, _QUESTION, screen)
        yield from _board(report, screen)
        yield from screen.paragraphs(better_sentences(report))
        for copy in report.copies:
            if told := scores_text(copy):
                yield from screen.wrapped(f"{visible(copy.candidate)}: {told}")
        for ways in sorted({len(each.columns) for each in report.marginals}):
            yield Text()
            yield from _marginals(report, ways, screen, extent)
        yield from screen.paragraphs(filter(None, [noise_sentence(report)]))
        yield Text()
    full = extent is Extent.VERBOSE
    if full:
        yield from screen.wrapped(columns_sentence(report.columns))
    left_out = (f"Left out: {line}" for line in left_out_lines(report.left_out))
    yield from notes_lines((*left_out, *report.notes), screen, extent)
    if full:
        yield from screen.paragraphs(cost_lines(report))
        for line in paid_lines(report):
            yield from screen.indented(line)
    budget = budget_sentence(report.cost, report.private)
    counts = Text(f"{headline(report)[0]}.", style="bold")
    step = "" if report.marginals else "--marginals shows which columns and pairs differ"
    yield from closing("", counts, step, "" if full else budget, screen, extent)


def explain(report: RankingReport, name: str, screen: Screen) -> RenderResult:  # noqa: ARG001 - refused
    """Refuse to explain a query, since a ranking has none.

    Raises
    ------
    ParameterError
        Always.
    """
    raise ParameterError(
        f"a ranking has no query {name!r} to explain; --marginals shows which columns differ"
    )


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


def _marginals(report: RankingReport, ways: int, screen: Screen, extent: Extent) -> RenderResult:
    rows = [each for each in report.marginals if len(each.columns) == ways]
    full = extent in {Extent.ALL, Extent.VERBOSE}
    shown = rows if full or ways == 1 else rows[:_WORST]
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
