"""Cells of a marginal: which cells differ by more than noise explains, and by how much.

Among thousands of cells, noise alone makes some look wrong, and a list of the worst cells would
show just these cells.  So a cell counts as different only if its difference exceeds a bound.  With
probability 1 - alpha, the noise of all cells together stays below this bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.reports.blocks import (
    PAGE,
    Bars,
    Block,
    Cell,
    Column,
    Group,
    Heat,
    HeatCell,
    Heats,
    Key,
    Line,
    Lines,
    Picture,
    Row,
    Table,
)
from pqd.reports.documents.shared import on_page
from pqd.reports.text.distances import digits_of, figure_text, level_text, names_text
from pqd.reports.text.numbers import (
    counted,
    epsilon_text,
    interval_text,
    number_text,
    percent_text,
    points_text,
)

if TYPE_CHECKING:
    from pqd.reports.models.profile import CellFacts, DistanceFacts, ProfileReport, ZoomedMarginal

# Largest numbers of listed cells of a marginal, of bars of a column, and of labels of an axis.
_CELLS, _BARS, _AXIS = 8, 60, 20
# Number of pairs of which both tables are drawn.
_PAIRS = 2
# Shares of the largest cell above which the next shade begins.
_SHARES = (0.05, 1 / 3, 2 / 3)


def cell_blocks(report: ProfileReport, marginal: ZoomedMarginal) -> Iterator[Block]:
    """Blocks on the cells of a marginal: a heat map or bars, a table, and a sentence."""
    digits, bound = zoom_digits(marginal), noise_bound(report, marginal)
    widest = max((max(c.copy, c.private.high) for c in marginal.cells), default=1.0) * 1.02 or 1.0
    yield on_page(Lines([Line(f"It cost epsilon {epsilon_text(marginal.epsilon)}.", "detail")]))
    if len(marginal.columns) == 2:
        pairs = [each for each in report.zoomed if len(each.columns) == 2]
        if any(marginal is each for each in pairs[:_PAIRS]):
            lead = Line("Private table minus copy, in percentage points:", "detail")
            yield on_page(_both_tables(marginal, digits), Lines([lead]))
        yield difference_heat(marginal, bound, digits)
    if len(marginal.columns) == 1 and len(marginal.cells) <= _BARS:
        yield _histogram(report, marginal, widest, digits)
    titles = "copy", "private", f"{level_text(report.alpha)} interval", "points"
    different = different_cells(report, marginal)
    yield Table(
        columns=(
            Column("cell", "name", fold=14),
            Column("shares", "picture", drop=PAGE),
            *(Column(title, "number") for title in titles),
        ),
        groups=[
            Group(
                rows=[_cell(cell, digits, bound, widest) for cell in marginal.cells],
                most=min(len(different), _CELLS),
            )
        ],
        silent=True,
    )
    yield Lines([Line(noise_sentence(report, marginal))])


def column_histogram(report: ProfileReport, marginal: ZoomedMarginal) -> Iterator[Block]:
    """Both distributions of one column, as bars; nothing of a column with too many cells."""
    if len(marginal.cells) <= _BARS:
        widest = max((max(c.copy, c.private.high) for c in marginal.cells), default=1.0) * 1.02
        yield _histogram(report, marginal, widest or 1.0, zoom_digits(marginal))


def _histogram(report: ProfileReport, marginal: ZoomedMarginal, widest: float, digits: int) -> Bars:
    """Bars of the cells of a column, in the order of its axis."""
    order = {label: place for place, label in enumerate(marginal.axes[0])}
    cells = sorted(marginal.cells, key=lambda cell: order.get(cell.labels[0], len(order)))
    level = level_text(report.alpha)
    return Bars(
        [(names_text(cell.labels), _shares(cell, widest, digits)) for cell in cells],
        [
            Key([("copied", "")], "copy"),
            Key([("full", "")], "private table, about"),
            Key([("span", "")], f"its {level} interval"),
        ],
    )


def _shares(cell: CellFacts, widest: float, digits: int) -> Picture:
    value, low, high = cell.private
    label = f"copy {copy_share(cell, digits)}, private {figure_text(cell.private, digits)}"
    return Picture((0, widest), value, low, high, mark=cell.copy, style="pair", label=label)


def _cell(cell: CellFacts, digits: int, bound: float, widest: float) -> Row:
    value, low, high = cell.private
    name = names_text(cell.labels)
    cells = (
        Cell(name),
        Cell(picture=_shares(cell, widest, digits)),
        Cell(copy_share(cell, digits), cell.copy),
        Cell(percent_text(value, digits), value),
        Cell(interval_text(low, high, digits), high - low),
        Cell(points(cell, digits), cell.difference.value, strong=differs(cell, bound)),
    )
    return Row(id=name, cells=cells)


def difference_heat(marginal: ZoomedMarginal, bound: float, digits: int) -> Heat:
    """Heat map of the signed differences of a pair; a cell that noise may explain has no shade."""
    cells = {cell.labels: cell for cell in marginal.cells}
    largest = max((abs(cell.difference.value) for cell in marginal.cells), default=0.0)
    down, along = (_axis(marginal, place) for place in (0, 1))

    def shaded(cell: CellFacts | None) -> HeatCell | None:
        if cell is None:
            return None
        private, labels = figure_text(cell.private, digits), names_text(cell.labels)
        told = f"{labels}: copy {copy_share(cell, digits)}, private {private}"
        return HeatCell(difference_shade(cell, bound, largest), points(cell, digits), told)

    rows = [(row, [shaded(cells.get((row, column))) for column in along]) for row in down]
    names = [names_text([name]) for name in marginal.columns]
    left = [
        f"{len(shown)} of {len(axis)} cells of {name}"
        for shown, axis, name in zip((down, along), marginal.axes, marginal.columns, strict=True)
        if len(shown) < len(axis)
    ]
    note = f"Shown are {' and '.join(left)}, those with the largest differences." if left else ""
    keys = [
        Key([("less3", "\u2212"), ("less1", "\u2212")], "the copy has too many"),
        Key([("more1", "+"), ("more3", "+")], "the copy has too few"),
        Key([("z0", "0")], "noise may account for it"),
    ]
    return Heat(along, rows, f"{names[0]} down, {names[1]} along", names[0], keys, note)


def _both_tables(marginal: ZoomedMarginal, digits: int) -> Heats:
    """Shares of a pair's cells in both tables, of the cells that ``difference_heat`` shows."""
    cells = {cell.labels: cell for cell in marginal.cells}
    largest = max((max(c.copy, c.private.value) for c in marginal.cells), default=0.0)
    down, along = (_axis(marginal, place) for place in (0, 1))
    names = [names_text([name]) for name in marginal.columns]

    def shaded(cell: CellFacts | None, *, copied: bool) -> HeatCell | None:
        if cell is None:
            return None
        share = cell.copy if copied else cell.private.value
        step = sum(share > part * largest for part in _SHARES)
        text = percent_text(share, digits).removesuffix(" %")
        told = "" if copied else f"{names_text(cell.labels)}: {figure_text(cell.private, digits)}"
        return HeatCell(f"less{step}" if step else "z0", text, told)

    def drawn(title: str, *, copied: bool) -> tuple[str, Heat]:
        rows = [(r, [shaded(cells.get((r, c)), copied=copied) for c in along]) for r in down]
        return title, Heat(along, rows, f"{title}: {names[0]} down, {names[1]} along", names[0])

    return Heats(
        [
            drawn("Copy, exact, in per cent of its rows", copied=True),
            drawn("Private table, about, with its noise", copied=False),
        ],
        [
            Key([("z0", "0"), ("less1", "·"), ("less2", "·"), ("less3", "·")],
                f"from few rows to many, the most {percent_text(largest, digits)}"),
        ],
    )  # fmt: skip


def difference_shade(cell: CellFacts, bound: float, largest: float) -> str:
    """Shade of a difference; if noise may explain all of it, the shade is that of no difference."""
    value = cell.difference.value
    if not largest or not differs(cell, bound):
        return "z0"
    step = 1 + sum(abs(value) >= part * largest for part in (1 / 3, 2 / 3))
    return f"{'more' if value > 0 else 'less'}{step}"


def _axis(marginal: ZoomedMarginal, place: int) -> list[str]:
    """Labels of one axis in their order; of many labels, those with the largest differences."""
    axis = marginal.axes[place]
    sizes = dict.fromkeys(axis, 0.0)
    for cell in marginal.cells:
        label = cell.labels[place]
        sizes[label] = max(sizes.get(label, 0.0), abs(cell.difference.value))
    worst = set(sorted(axis, key=lambda label: -sizes[label])[:_AXIS])
    return [label for label in axis if label in worst]


def noise_bound(report: ProfileReport, marginal: ZoomedMarginal) -> float:
    """Bound, as a share of the rows, that the noise of no cell exceeds with probability 1 - alpha.

    The bound is a union bound over the tails of discrete Laplace noise with parameter b.  The
    variance of this noise is 1 / (2 sinh(1 / (2 b))^2), and its standard deviation is the ``scale``
    of the budget.  For whole t, Pr[abs(noise) >= t] = 2 p^t / (1 + p) with p = exp(-1 / b).
    """
    scales = [part.scale for part in report.budget if part.part == "cells"]
    if not scales or report.rows is None:
        return 0.0
    spread = 0.5 / math.asinh(1 / (math.sqrt(2) * max(scales)))
    return _noise_share(report, spread, len(marginal.cells))


def _noise_share(report: ProfileReport, spread: float, cells: int) -> float:
    """The same bound for so many cells, with noise of parameter ``spread``."""
    tail = 2 / (1 + math.exp(-1 / spread))
    rows = spread * math.log(tail * max(1, cells) / float(report.alpha))
    return rows / max(1.0, report.rows.low if report.rows else report.copy_rows)


def hides_cells(report: ProfileReport, each: DistanceFacts, epsilon: Fraction) -> bool:
    """Whether noise would hide every cell of a marginal if its cells were measured at ``epsilon``.

    No cell differs by more than the total variation, which is half the sum of all differences.
    """
    spread = (report.cost.max_rows or 1) / float(epsilon)
    return (each.value or 0.0) <= _noise_share(report, spread, each.cells)


def differs(cell: CellFacts, bound: float) -> bool:
    """Whether a cell differs by more than noise explains, even if it is the worst of all cells."""
    value, low, high = cell.difference
    return abs(value) > bound and not low <= 0 <= high


def different_cells(report: ProfileReport, marginal: ZoomedMarginal) -> Sequence[CellFacts]:
    """Cells that differ by more than noise explains, worst first."""
    bound = noise_bound(report, marginal)
    return [cell for cell in marginal.cells if differs(cell, bound)]


def noise_sentence(report: ProfileReport, marginal: ZoomedMarginal) -> str:
    """Sentence on how many cells differ by more than noise explains."""
    different, number = len(different_cells(report, marginal)), len(marginal.cells)
    points = number_text(100 * noise_bound(report, marginal), 2)
    which = {0: "None", number: "All"}.get(different, f"{different:,}")
    verb = "differs" if different < 2 else "differ"
    return (
        f"{which} of {counted(number, 'cell')} {verb} by more than {points} points, which noise "
        "alone may do to the worst."
    )


def copy_share(cell: CellFacts, digits: int) -> str:
    """Exact share of a cell in the copy; ``none`` if the copy has no such value."""
    return "none" if cell.unseen else percent_text(cell.copy, max(1, digits))


def points(cell: CellFacts, digits: int) -> str:
    """Private share minus the copy's share, with its sign, in percentage points."""
    return points_text(cell.difference.value, digits)


def zoom_digits(marginal: ZoomedMarginal) -> int:
    """Number of digits for all shares of a zoomed marginal."""
    return digits_of(*(cell.private for cell in marginal.cells))
