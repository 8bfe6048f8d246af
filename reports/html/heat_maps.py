"""Heat maps of a profile: distances of all pairs, and signed differences of a marginal's cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqd.reports.text.distances import digits_of, figure_text, names_text
from pqd.reports.text.numbers import p_value_text, percent_text
from pqd.reports.text.profile import SIGNS, copy_share, least_text, points, zoom_digits
from pqd.reports.text.remarks.worst_cells import differs

if TYPE_CHECKING:
    from pqd.reports.models.profile import CellFacts, DistanceFacts, ProfileReport, ZoomedMarginal

# Where shades begin, in tolerances: the third ends at the tolerance, so the last two are beyond.
STEPS = (0.25, 0.5, 1.0, 2.0)
# Where shades of a difference begin, as shares of the largest one of the map.
_PARTS = (1 / 3, 2 / 3)
# More labels of an axis than these have no room; those with the largest differences are shown.
_MOST = 20


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One cell: its class, what stands in it, and what is said of it when it is pointed at."""

    level: str
    sign: str
    text: str
    told: str
    standing: str = ""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Cells in rows under the names of their columns; None where there is nothing to show."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[HeatCell | None]]]
    note: str = ""


def matrix(report: ProfileReport) -> HeatMap | None:
    """One triangle of all pairs, the columns themselves on its long side; None without pairs."""
    found = {frozenset(each.columns): each for each in (*report.of_ways(1), *report.of_ways(2))}
    if not report.of_ways(2):
        return None
    names = [column.name for column in report.columns]
    digits = digits_of(*(each.estimate for each in found.values()))
    rows = []
    for place, name in enumerate(names, 1):
        pairs = [found.get(frozenset((name, other))) for other in names[:place]]
        cells = [None if each is None else _distance(each, digits) for each in pairs]
        rows.append((name, [*cells, *[None] * (len(names) - place)]))
    return HeatMap(names, rows)


def _distance(each: DistanceFacts, digits: int) -> HeatCell:
    name = names_text(each.columns)
    if each.estimate is None:
        least = least_text(each)
        level, sign = ("t1", "") if each.decidable else ("t3", "?")
        return HeatCell(level, sign, least.removesuffix(" %"), f"{name}: threshold {least}")
    odds = p_value_text(each.p_value, each.alpha)
    told = f"{name}: {figure_text(each.estimate)}, {each.standing}, {odds}"
    text = percent_text(each.estimate.value, digits).removesuffix(" %").replace(" ", "")
    return HeatCell(level_of(each), SIGNS[each.standing], text, told, each.standing)


def level_of(each: DistanceFacts) -> str:
    """Class of a distance's shade: the farther, the stronger."""
    share = (each.value or 0.0) / each.tau if each.tau else 0.0
    return f"t{sum(share >= step for step in STEPS)}"


def difference_map(marginal: ZoomedMarginal, bound: float) -> HeatMap | None:
    """Signed differences of the cells of a pair; None for other marginals.

    What does not exceed ``bound`` has no shade.
    """
    if len(marginal.columns) != 2:
        return None
    cells = {cell.labels: cell for cell in marginal.cells}
    down, along = (_worst(marginal, place) for place in (0, 1))
    largest = max((abs(cell.difference.value) for cell in marginal.cells), default=0.0)
    digits = zoom_digits(marginal)
    rows = [
        (row, [_difference(cells.get((row, column)), (bound, largest), digits) for column in along])
        for row in down
    ]
    left = [
        f"{len(shown)} of {len(axis)} cells of {name}"
        for shown, axis, name in zip((down, along), marginal.axes, marginal.columns, strict=True)
        if len(shown) < len(axis)
    ]
    note = f"Shown are {' and '.join(left)}, those with the largest differences." if left else ""
    return HeatMap(along, rows, note)


def _worst(marginal: ZoomedMarginal, place: int) -> list[str]:
    """Labels of one axis in their order: all of them, or those with the largest differences."""
    axis = marginal.axes[place]
    sizes = dict.fromkeys(axis, 0.0)
    for cell in marginal.cells:
        label = cell.labels[place]
        sizes[label] = max(sizes.get(label, 0.0), abs(cell.difference.value))
    worst = sorted(axis, key=lambda label: -sizes[label])[:_MOST]
    return [label for label in axis if label in set(worst)]


def _difference(cell: CellFacts | None, ends: tuple[float, float], digits: int) -> HeatCell | None:
    if cell is None:
        return None
    told = (
        f"{names_text(cell.labels)}: copy {copy_share(cell, digits)}, private "
        f"{figure_text(cell.private, digits)}"
    )
    return HeatCell(signed_level(cell, *ends), "", points(cell, digits), told)


def signed_level(cell: CellFacts, bound: float, largest: float) -> str:
    """Class of a difference's shade; none where noise may account for all of it."""
    value = cell.difference.value
    if not largest or not differs(cell, bound):
        return "z0"
    step = 1 + sum(abs(value) >= part * largest for part in _PARTS)
    return f"{'more' if value > 0 else 'less'}{step}"
