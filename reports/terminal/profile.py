"""Terminal rendering of ``pqd profile``: one figure, columns and pairs worst first, details."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.terminal.layout import INDENT, NARROW
from reports.text.distances import (
    SHORT,
    SIMULATED,
    cells_text,
    columns_sentence,
    digits_of,
    left_out_lines,
    level_text,
    names_text,
    reference_text,
    ways_text,
)
from reports.text.escape import visible
from reports.text.numbers import interval_text, p_cell, percent_text
from reports.text.profile import (
    BADGES,
    at_once_sentences,
    cell_words,
    class_words,
    copy_share,
    cost_lines,
    counts_sentence,
    distance_words,
    headline,
    least_text,
    marginal_rows,
    next_step,
    overall_sentence,
    paid_lines,
    plan_sentences,
    points,
    report_tolerance,
    rest_sentence,
    scores_sentence,
    table_sentences,
    target_sentences,
    zoom_digits,
)
from reports.text.remarks.worst_cells import different_cells, noise_sentence
from reports.text.words import counted

if TYPE_CHECKING:
    from rich.console import RenderResult

    from reports.models.profile import CellFacts, DistanceFacts, ProfileReport, ZoomedMarginal
    from reports.terminal.layout import Screen

_STYLES = {"within": "bold green", "beyond": "bold red", "undecided": "bold yellow"}
# So many marginals of several columns, and cells of one marginal, unless all are asked for.
_WORST = 10
_CELLS = 8

Row = Sequence["DistanceFacts"]


def render(report: ProfileReport, screen: Screen, *, verbose: bool) -> RenderResult:
    """Lines of a profile; ``verbose`` shows every marginal and how columns were cut into cells."""
    if report.simulated:
        yield from screen.wrapped(SIMULATED, "bold yellow")
        yield Text()
    yield from _head(report, screen)
    for ways in range(1, report.ways + 1):
        yield Text()
        yield from _marginals(report, ways, screen, verbose=verbose)
    if not report.dry:
        yield Text()
        yield from screen.wrapped(counts_sentence(report))
        yield from screen.paragraphs(at_once_sentences(report))
        yield from screen.paragraphs(table_sentences(report))
    for marginal in report.zoomed:
        yield Text()
        yield from _zoomed(report, marginal, screen, verbose=verbose)
    yield from _target(report, screen)
    yield Text()
    yield from _notes(report, screen, verbose=verbose)


def _head(report: ProfileReport, screen: Screen) -> Iterator[Text]:
    if report.dry or not report.marginals:
        yield from screen.wrapped(headline(report)[0], "bold")
        yield from screen.paragraphs(plan_sentences(report) if report.dry else ())
    else:
        yield from screen.wrapped(overall_sentence(report), "bold")
    yield from screen.paragraphs(filter(None, [scores_sentence(report)]))


def _marginals(report: ProfileReport, ways: int, screen: Screen, *, verbose: bool) -> RenderResult:
    rows = marginal_rows(report, ways)
    shown = rows if verbose or ways == 1 else rows[:_WORST]
    number = counted(len(rows), ways_text(ways, 1), ways_text(ways))
    # What is only planned has no worst.
    some = f"first {len(shown)}" if report.dry else f"{len(shown)} worst"
    title = number if len(shown) == len(rows) else f"{some} of {number}"
    yield Text(f"{title}, tolerance {report_tolerance(report)}", style="bold")
    if screen.width < NARROW:
        for row in shown:
            yield from _stacked(row, screen)
    else:
        yield _table(report, shown, ways)
    if rest := [each for row in rows[len(shown) :] for each in row]:
        yield from screen.wrapped(rest_sentence(rest, ways))


def _table(report: ProfileReport, rows: Sequence[Row], ways: int) -> Table:
    """Table of marginals; in a plan of what can be decided."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    first = rows[0][0].distance if rows else "tv"
    others = list(dict.fromkeys(each.distance for row in rows for each in row[1:]))
    table.add_column("verdict" if not report.dry else "budget", no_wrap=True)
    table.add_column(ways_text(ways, 1), overflow="fold", min_width=14)
    if report.dry:
        for title in ("cells", "threshold", "fresh"):
            table.add_column(title, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*_planned(row[0]))
        return table
    table.add_column(SHORT[first], justify="right", no_wrap=True)
    table.add_column(f"{level_text(report.alpha)} interval", justify="right", no_wrap=True)
    table.add_column("fresh", justify="right", no_wrap=True)
    for distance in others:
        table.add_column(SHORT[distance], justify="right", no_wrap=True)
    table.add_column("p", justify="right", no_wrap=True)
    digits = digits_of(*(each.estimate for row in rows for each in row))
    for row in rows:
        beside = {each.distance: each for each in row[1:]}
        more = [_beside(beside.get(distance), digits) for distance in others]
        table.add_row(*_measured(row[0], digits, more))
    return table


def _planned(each: DistanceFacts) -> Iterator[Text | str]:
    yield Text("OK" if each.decidable else "LOW", "bold green" if each.decidable else "bold yellow")
    yield names_text(each.columns)
    yield f"{each.cells:,}"
    yield least_text(each)
    yield "" if each.reference is None else reference_text(each.reference, 1)


def _measured(each: DistanceFacts, digits: int, more: Sequence[Text]) -> Iterator[Text | str]:
    yield Text(BADGES[each.standing], _STYLES[each.standing])
    yield names_text(each.columns)
    value, low, high = each.estimate or (0.0, 0.0, 1.0)
    yield percent_text(value, digits)
    yield interval_text(low, high, digits)
    yield "" if each.reference is None else reference_text(each.reference, digits)
    yield from more
    yield p_cell(each.p_value)


def _beside(each: DistanceFacts | None, digits: int) -> Text:
    """Another distance of the same column, with its own verdict."""
    if each is None or each.value is None:
        return Text()
    text = Text(percent_text(each.value, digits))
    return text.append(f" {BADGES[each.standing]:>3}", _STYLES[each.standing])


def _stacked(row: Row, screen: Screen) -> Iterator[Text]:
    """One marginal where a table has no room."""
    for each in row:
        if each.estimate is None:
            badge = Text("OK" if each.decidable else "LOW", "bold")
        else:
            badge = Text(BADGES[each.standing], _STYLES[each.standing])
        short = "" if each.distance == "tv" else f"{SHORT[each.distance]} of "
        line = badge.append(f"  {short}{distance_words(each)}", style="not bold default")
        yield from screen.wrapped(line)


def _zoomed(
    report: ProfileReport, marginal: ZoomedMarginal, screen: Screen, *, verbose: bool
) -> RenderResult:
    yield from screen.wrapped(f"{names_text(marginal.columns)}: worst cells", "bold")
    digits, found = zoom_digits(marginal), different_cells(report, marginal)
    shown = marginal.cells if verbose else found[:_CELLS]
    if screen.width < NARROW:
        for cell in shown:
            yield from screen.indented(f"{names_text(cell.labels)}: {cell_words(cell, digits)}")
    elif shown:
        yield _cells(shown, digits)
    yield from screen.indented(noise_sentence(report, marginal))


def _cells(cells: Sequence[CellFacts], digits: int) -> Padding:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("cell", overflow="fold", min_width=14)
    for title in ("copy", "private", "interval", "points"):
        table.add_column(title, justify="right", no_wrap=True)
    for cell in cells:
        value, low, high = cell.private
        table.add_row(
            names_text(cell.labels),
            copy_share(cell, digits),
            percent_text(value, digits),
            interval_text(low, high, digits),
            points(cell, digits),
        )
    return Padding(table, (0, 0, 0, len(INDENT)), expand=False)


def _target(report: ProfileReport, screen: Screen) -> Iterator[Text]:
    if report.target is None:
        return
    yield Text()
    yield from screen.wrapped(f"Target {visible(report.target.column)}", "bold")
    yield from screen.paragraphs(target_sentences(report.target))
    for each in report.target.classes:
        yield from screen.indented(class_words(each))


def _notes(report: ProfileReport, screen: Screen, *, verbose: bool) -> Iterator[Text]:
    if verbose:
        for column in report.columns:
            yield from screen.wrapped(f"{visible(column.name)}: {cells_text(column)}", "dim")
    yield from screen.wrapped(columns_sentence(report.columns))
    yield from screen.paragraphs(f"Left out: {line}" for line in left_out_lines(report.left_out))
    yield from screen.paragraphs(map(visible, report.notes))
    yield from screen.paragraphs(cost_lines(report))
    for line in paid_lines(report):
        yield from screen.indented(line)
    if step := next_step(report):
        yield from screen.wrapped(step, "bold")
