"""Leaderboard of a comparison as a plot for notebooks: a point and an interval per candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from deciders.errors import ParameterError
from reports.plots import CurveAxes
from reports.text.escape import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from reports.models.report import BoardRow

# Per cent that the axis shows at least.
_LEAST = 10.0
_INK, _GRID, _LINE = "#57606a", "#c9ced6", "#1f5fbf"


def plot_board(rows: Sequence[BoardRow], title: str, ax: Axes | None, *, simulated: bool) -> Axes:
    """Draw the shares of candidates, the best above, on ``ax`` or on axes of its own.

    Raises
    ------
    ParameterError
        There is no candidate.
    """
    if not rows:
        raise ParameterError("there is nothing to draw: nothing was compared")
    if ax is None:
        figure = Figure(figsize=(6, 1.1 + 0.36 * len(rows)), layout="constrained")
        ax = figure.add_subplot(axes_class=CurveAxes)
    places = range(len(rows))
    for place, row in zip(places, rows, strict=True):
        ends = [100 * row.low, 100 * row.high]
        ax.plot(ends, [place, place], color=_LINE, linewidth=2, solid_capstyle="butt")
        # What is no copy of anyone is hollow: a second channel beside its name.
        face = "white" if row.reference else _LINE
        point = [100 * row.share], [place]
        ax.plot(*point, "o", color=_LINE, markerfacecolor=face, markersize=7)
    ax.set_xlim(*_ends(rows))
    ax.set_yticks(list(places), [visible(row.name) for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelcolor=_INK)
    ax.grid(visible=True, axis="x", color=_GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    stamp = "SIMULATED: " if simulated else ""
    ax.set_title(f"{stamp}{title}", loc="left", fontsize=10)
    return ax


def _ends(rows: Sequence[BoardRow]) -> tuple[float, float]:
    """Ends of the axis in per cent: all intervals, and no less than a tenth of the whole.

    What is all but equal must not look far apart.
    """
    low, high = 100 * min(row.low for row in rows), 100 * max(row.high for row in rows)
    lack = max(0.0, _LEAST - (high - low)) / 2
    low, high = low - lack, high + lack
    if high > 100:
        low, high = low - (high - 100), 100.0
    elif low < 0:
        low, high = 0.0, high - low
    return low - 1, high + 1
