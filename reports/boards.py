"""Plot of a leaderboard for notebooks: a point and an interval for each candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.deciders.errors import ParameterError
from pqd.reports.axes import INK, own_axes, title_figure, without_frame
from pqd.reports.escape import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from pqd.reports.models.board import BoardRow

# The axis spans at least this many percentage points.
_LEAST = 10.0


def plot_board(rows: Sequence[BoardRow], title: str, ax: Axes | None, *, simulated: bool) -> Axes:
    """Draw the shares of candidates, the best at the top, on ``ax`` or on new axes.

    Raises
    ------
    ParameterError
        There are no candidates.
    """
    if not rows:
        raise ParameterError("there is nothing to draw: nothing was compared")
    ax = ax or own_axes(6, 1.1 + 0.36 * len(rows))
    line = INK["line first"]
    places = range(len(rows))
    for place, row in zip(places, rows, strict=True):
        ends = [100 * row.low, 100 * row.high]
        ax.plot(ends, [place, place], color=line, linewidth=2, solid_capstyle="butt")
        # The point of a reference is hollow, so that it differs from the points of copies.
        face = "white" if row.reference else line
        point = [100 * row.share], [place]
        ax.plot(*point, "o", color=line, markerfacecolor=face, markersize=7)
    ax.set_xlim(*_ends(rows))
    ax.set_yticks(list(places), [visible(row.name) for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    without_frame(ax)
    ax.grid(visible=True, axis="x", color=INK["grid"], linewidth=0.8)
    ax.set_axisbelow(True)
    title_figure(ax, title, simulated=simulated)
    return ax


def _ends(rows: Sequence[BoardRow]) -> tuple[float, float]:
    """Ends of the axis in per cent: it shows all intervals, and at least ten percentage points.

    So nearly equal candidates do not look far apart.
    """
    low, high = 100 * min(row.low for row in rows), 100 * max(row.high for row in rows)
    lack = max(0.0, _LEAST - (high - low)) / 2
    low, high = low - lack, high + lack
    if high > 100:
        low, high = low - (high - 100), 100.0
    elif low < 0:
        low, high = 0.0, high - low
    return low - 1, high + 1
