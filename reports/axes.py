"""Axes that plots share: a figure of their own, no frame, and a title that says what is seeded."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colours of each part in a notebook, by the role that a page gives a theme's colour.
INK = {
    "text": "#57606a", "grid": "#c9ced6", "mark": "#57606a",
    "line first": "#1f5fbf", "line second": "#7a5195", "line third": "#5c6670",
}  # fmt: skip
# Text stays text, and the same plot the same bytes.
SVG_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "pqd",
    "path.simplify": False,
}


class CurveAxes(Axes):
    """Axes that a notebook shows as a picture, though no global figure is kept."""

    def _repr_svg_(self) -> str:
        stream = io.StringIO()
        figure = self.get_figure(root=True)
        if figure is not None:
            with mpl.rc_context(SVG_SETTINGS):
                figure.savefig(stream, format="svg", metadata={"Date": None})
        return stream.getvalue()


def own_axes(width: float, height: float) -> Axes:
    """Axes with a figure of their own, of so many inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure.add_subplot(axes_class=CurveAxes)


def without_frame(ax: Axes, colour: str = INK["text"]) -> None:
    """Take the frame and its tick marks away; labels of the ticks take the colour."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelcolor=colour)


def title_figure(ax: Axes, title: str, *, simulated: bool) -> None:
    """Put a title at the left, stamped where the noise was seeded.

    Names on the ticks are taken as they are written: a dollar sign in one begins no formula.
    """
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)
    stamp = "SIMULATED: " if simulated else ""
    ax.set_title(f"{stamp}{title}", loc="left", fontsize=10)
