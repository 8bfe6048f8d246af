"""Pictures of the documents: one SVG that is legible on light and on dark pages.

Figures are drawn with the placeholder colours of ``ROLES``.  ``save`` replaces them by CSS
variables, whose values follow the reader's preference for light or dark.
"""

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Placeholder, shade on light pages, shade on dark pages.
ROLES = {
    "paper": ("#fffffe", "#ffffff", "#1e2129"),
    "text": ("#000001", "#3a424d", "#d5d9e0"),
    "grid": ("#000002", "#dfe3e8", "#3b414d"),
    "first": ("#000011", "#1f5fbf", "#78aef5"),
    "second": ("#000012", "#c2571a", "#f2a06b"),
    "third": ("#000013", "#6b4aa0", "#bfa2ee"),
    "fourth": ("#000014", "#2a7f62", "#74cbab"),
    "fifth": ("#000015", "#8a6d1b", "#dcc06a"),
    "sixth": ("#000016", "#a02f5b", "#ee90b6"),
}
INK = {name: placeholder for name, (placeholder, _, _) in ROLES.items()}
LINES = tuple(INK[name] for name in ("first", "second", "third", "fourth", "fifth", "sixth"))
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
MARKS = ("o", "s", "^", "D", "v", "P")

_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "pqd",
    "path.simplify": False,
    "font.size": 8.5,
    "font.family": "sans-serif",
    "axes.edgecolor": INK["grid"],
    "axes.labelcolor": INK["text"],
    "axes.titlesize": 8.5,
    "axes.titlecolor": INK["text"],
    "axes.facecolor": INK["paper"],
    "figure.facecolor": INK["paper"],
    "savefig.facecolor": INK["paper"],
    "text.color": INK["text"],
    "xtick.color": INK["grid"],
    "ytick.color": INK["grid"],
    "xtick.labelcolor": INK["text"],
    "ytick.labelcolor": INK["text"],
    "grid.color": INK["grid"],
    "grid.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.2,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Context in which figures have the style of the documents."""
    with mpl.rc_context(_STYLE):  # type: ignore[arg-type]  # keys are known to matplotlib
        yield


def panels(
    number: int, *, columns: int = 3, width: float = 1.8, height: float = 1.6
) -> tuple[Figure, list[Axes]]:
    """Figure with ``number`` panels in rows of at most ``columns``; sizes are inches of a panel."""
    across = min(columns, number)
    down = math.ceil(number / across)
    # A line for the legend above, and a line for the label of the axes below.
    figure = Figure(figsize=(width * across, height * down + 0.45), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).reshape(-1).tolist()
    for spare in axes[number:]:
        spare.set_visible(False)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(length=2)
    return figure, axes[:number]


def legend(figure: Figure, axis: Axes, columns: int = 5) -> None:
    """Put one legend of the lines of ``axis`` above all panels."""
    handles, labels = axis.get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def picture(figure: Figure, title: str) -> str:
    """SVG of a figure, whose title a screen reader tells; equal figures give equal texts."""
    stream = io.StringIO()
    with drawing():
        figure.savefig(stream, format="svg", metadata={"Date": None, "Title": title})
    text = stream.getvalue()
    for name, (placeholder, _, _) in ROLES.items():
        text = text.replace(placeholder, f"var(--{name})")
    shades = [
        "".join(f"--{name}:{shades[place]};" for name, shades in ROLES.items()) for place in (1, 2)
    ]
    style = (
        f"<style>svg{{{shades[0]}}}@media (prefers-color-scheme:dark){{svg{{{shades[1]}}}}}</style>"
    )
    return text.replace(" <defs>", f" {style}\n <defs>", 1)


def save(figure: Figure, path: Path, title: str) -> None:
    """Write the picture of a figure."""
    path.write_text(picture(figure, title), encoding="utf-8")
