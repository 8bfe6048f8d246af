"""Helpers of all plots: axes without a frame, and a title that says if noise was seeded."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colours of the parts of a plot in a notebook, by the role of the part; pages use the same roles.
INK = {
    "text": "#57606a", "grid": "#c9ced6", "mark": "#57606a",
    "line first": "#1f5fbf", "line second": "#7a5195", "line third": "#5c6670",
}  # fmt: skip
# Text stays text, and equal plots give equal bytes.
SVG_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "pqd",
    "path.simplify": False,
}


class CurveAxes(Axes):
    """Axes that a notebook shows as a picture, although pyplot does not know their figure."""

    def _repr_svg_(self) -> str:
        stream = io.StringIO()
        figure = self.get_figure(root=True)
        if figure is not None:
            with mpl.rc_context(SVG_SETTINGS):
                figure.savefig(stream, format="svg", metadata={"Date": None})
        return stream.getvalue()


def own_axes(width: float, height: float) -> Axes:
    """Axes with their own figure; ``width`` and ``height`` are in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure.add_subplot(axes_class=CurveAxes)


def without_frame(ax: Axes, colour: str = INK["text"]) -> None:
    """Remove the frame and the tick marks; the labels of the ticks get ``colour``."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelcolor=colour)


def title_figure(ax: Axes, title: str, *, simulated: bool) -> None:
    """Put a title at the left, with the word SIMULATED before it if the noise was seeded.

    Names on the ticks are shown as they are written: a dollar sign in a name begins no formula.
    """
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)
    stamp = "SIMULATED: " if simulated else ""
    ax.set_title(f"{stamp}{title}", loc="left", fontsize=10)
