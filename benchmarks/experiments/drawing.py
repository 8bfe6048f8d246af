"""Pictures that several pages need: dots with bars of errors, and matrices of words."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from benchmarks.paper.pictures import INK, LINES, MARKS

# Distance in rows between the dots of several series on one label.
_APART = 0.18


class Series(NamedTuple):
    """Values of one series, one for each label, and how far each is uncertain to both sides."""

    values: Sequence[float]
    errors: Sequence[float] | None = None


def dots(axis: Axes, labels: Sequence[str], series: Mapping[str, Series]) -> None:
    """Draw a row for each label, from above, with a dot for each series."""
    for place, (name, each) in enumerate(series.items()):
        shift = _APART * (place - (len(series) - 1) / 2)
        axis.errorbar(
            each.values, [row + shift for row in range(len(labels))], xerr=each.errors,
            fmt=MARKS[place], color=LINES[place], label=name, elinewidth=1,
        )  # fmt: skip
    rows(axis, labels)


def rows(axis: Axes, labels: Sequence[str]) -> None:
    """Put labels on the rows of a panel, the first at the top."""
    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    axis.spines["left"].set_visible(False)
    axis.grid(axis="y", visible=False)


def bare(axis: Axes) -> None:
    """Take the labels of rows away: the panel to the left has them."""
    axis.set_yticks(axis.get_yticks(), [""] * len(axis.get_yticks()))


def logarithmic(axis: Axes) -> None:
    """Give a panel logarithmic widths, with labels at powers of ten alone."""
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())


def from_zero(axis: Axes) -> None:
    """Begin the widths of a panel at 0, with room for a dot there."""
    axis.set_xlim(left=-0.02 * axis.get_xlim()[1])


def mark(axis: Axes, value: float) -> None:
    """Draw a vertical line at a value that matters, such as alpha."""
    axis.axvline(value, color=INK["text"], linewidth=0.8, linestyle="--")
