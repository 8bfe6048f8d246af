"""Terminal rendering of what a profile looks into: cells of marginals, and a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pqd.reports.text.distances import names_text
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import interval_text, percent_text
from pqd.reports.text.profile import (
    cell_words,
    class_words,
    copy_share,
    points,
    target_sentences,
    zoom_digits,
)
from pqd.reports.text.remarks.worst_cells import different_cells, noise_sentence
from pqd.reports.writers.terminal.layout import INDENT, NARROW

if TYPE_CHECKING:
    from rich.console import RenderResult

    from pqd.reports.models.profile import CellFacts, ProfileReport, ZoomedMarginal
    from pqd.reports.writers.terminal.layout import Screen

# So many cells of one marginal, unless all are asked for.
_CELLS = 8


def zoom_lines(
    report: ProfileReport, marginal: ZoomedMarginal, screen: Screen, *, every: bool
) -> RenderResult:
    """Lines on the cells of a marginal that differ most; on ``every`` one if that is asked for."""
    yield from screen.wrapped(f"{names_text(marginal.columns)}: worst cells", "bold")
    digits, found = zoom_digits(marginal), different_cells(report, marginal)
    shown = marginal.cells if every else found[:_CELLS]
    if screen.width < NARROW:
        for cell in shown:
            yield from screen.indented(f"{names_text(cell.labels)}: {cell_words(cell, digits)}")
    elif shown:
        yield _cells(shown, digits)
    yield from screen.indented(noise_sentence(report, marginal))


def _cells(cells: Sequence[CellFacts], digits: int) -> Padding:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column("cell", overflow="fold", min_width=14)
    for title in ("copy", "private", "interval", "points"):
        grid.add_column(title, justify="right", no_wrap=True)
    for cell in cells:
        value, low, high = cell.private
        grid.add_row(
            names_text(cell.labels),
            copy_share(cell, digits),
            percent_text(value, digits),
            interval_text(low, high, digits),
            points(cell, digits),
        )
    return Padding(grid, (0, 0, 0, len(INDENT)), expand=False)


def target_lines(report: ProfileReport, screen: Screen) -> Iterator[Text]:
    """Lines on how well what is learnt on the copy holds on the private table."""
    if report.target is None:
        return
    yield from screen.wrapped(f"Target {visible(report.target.column)}", "bold")
    yield from screen.paragraphs(target_sentences(report.target))
    for each in report.target.classes:
        yield from screen.indented(class_words(each))
    yield Text()
