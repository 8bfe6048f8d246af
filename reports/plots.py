"""Operating-characteristic curves and heat maps of distances, drawn by matplotlib.

Curves are drawn for notebooks, and as small SVG for pages.  Heat maps are drawn for notebooks.

This module is imported only when it is needed, since importing matplotlib takes a third of a
second.
"""

from __future__ import annotations

import io
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pqd.deciders.errors import ParameterError
from pqd.reports.axes import INK, SVG_SETTINGS, own_axes, title_figure, without_frame
from pqd.reports.escape import visible
from pqd.reports.models.standings import Standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from pqd.reports.models.profile import ProfileReport
    from pqd.reports.models.query import CandidateFacts, QueryFacts

WIDTH, HEIGHT = 360, 216
_STEP = 1 / 8
# Number of curves: the chosen decider, and the two others that err least, as in the terminal.
_LINES = 3
_STYLES = ("-", "--", ":")
# Place of the axes in the picture: left, bottom, width, height.
_PLACE = (0.115, 0.165, 0.865, 0.725)
# Colour of each part of a drawing for a page.  The colour only identifies the part: the page
# replaces it by a class, so that the theme of the page sets the shown colour.
_ROLES = {
    "text": "#000001", "grid": "#000002", "mark": "#000003",
    "line first": "#000011", "line second": "#000012", "line third": "#000013",
}  # fmt: skip
_CLASSES = {colour: role for role, colour in _ROLES.items()}
# Shades of distances up to a quarter, a half, one and two tolerances, and above, as on pages.
_SHADES = ("#f5f2fa", "#e2daf1", "#c9bbe4", "#a48dcf", "#4b2e83")
_SVG = "{http://www.w3.org/2000/svg}"


def drawn(candidates: Sequence[CandidateFacts], chosen: str) -> list[CandidateFacts]:
    """Candidates whose curves are shown: the chosen decider first, then those that err least."""
    curved = [candidate for candidate in candidates if candidate.curve]
    return sorted(curved, key=lambda c: (c.decider != chosen, c.worst))[:_LINES]


def plot(
    queries: Sequence[QueryFacts],
    id: str | None,  # noqa: A002 - the name that reports use
    ax: Axes | None,
) -> Axes:
    """Draw the curves of a query on ``ax``, or on new axes.

    ``id`` names the query; None is the first query of the report.

    Raises
    ------
    ParameterError
        The report has no query of this id, or was made without curves.
    """
    found = next((query for query in queries if id is None or query.id == id), None)
    if found is None:
        known = ", ".join(visible(query.id) for query in queries[:5]) or "none"
        raise ParameterError(f"the report has no query {id!r}; it has: {known}")
    shown = drawn(found.candidates, found.decider)
    if not shown:
        raise ParameterError(
            f"the report has no curves of {found.id!r}; make it with detailed=True"
        )
    ax = ax or own_axes(6, 3.6)
    _draw_frame(ax, INK)
    lines = _draw_curves(ax, [candidate.curve or () for candidate in shown], INK)
    ax.set_title(visible(found.id), loc="left", pad=26, parse_math=False)
    names = [candidate.decider for candidate in shown]
    ax.legend(lines, names, frameon=False, loc="upper right")
    return ax


def plot_distances(report: ProfileReport, ax: Axes | None) -> Axes:
    """Heat map of a profile: a triangle of all pairs, with the columns on its diagonal.

    Raises
    ------
    ParameterError
        The report is a plan, or has no total variation of a column.
    """
    names = [column.name for column in report.columns]
    distances = (*report.of_ways(1), *report.of_ways(2))
    found = {frozenset(each.columns): each.value for each in distances}
    open_ = {frozenset(e.columns) for e in distances if e.standing is Standing.UNDECIDED}
    if report.dry or not found:
        raise ParameterError(
            "there is nothing to draw: no total variation was measured; run the profile itself"
        )
    nothing = math.nan
    values = [
        [found.get(frozenset((one, other)), nothing) if at <= place else nothing
         for at, other in enumerate(names)]
        for place, one in enumerate(names)
    ]  # fmt: skip
    size = 2.2 + 0.42 * len(names)
    ax = ax or own_axes(size + 0.8, size)
    tau = distances[0].tau
    shades = ListedColormap(_SHADES)
    steps = BoundaryNorm([0, tau / 4, tau / 2, tau, 2 * tau, max(1.0, 2.1 * tau)], len(_SHADES))
    drawn = np.array(values, float)
    for place, one in enumerate(names):
        for at, other in enumerate(names[: place + 1]):
            if frozenset((one, other)) in open_:
                # An undecided distance is hatched and has no shade, whatever its noisy value.
                drawn[place, at] = nothing
                corner = (at - 0.5, place - 0.5)
                ax.add_patch(
                    Rectangle(corner, 1, 1, fill=False, hatch="////", edgecolor="0.8", linewidth=0)
                )
    ax.imshow(drawn, cmap=shades, norm=steps)
    without_frame(ax)
    ax.set_xticks(range(len(names)), [visible(name) for name in names], rotation=90)
    ax.set_yticks(range(len(names)), [visible(name) for name in names])
    title_figure(ax, "total variation in per cent", simulated=report.simulated)
    for place, row in enumerate(values):
        for at, value in enumerate(row):
            if value is not None and not math.isnan(value):
                dark = value >= 2 * tau and not math.isnan(drawn[place, at])
                colour = "white" if dark else "black"
                text = f"{100 * value:.1f}"
                ax.text(at, place, text, ha="center", va="center", fontsize=8, color=colour)
    return ax


def frame_svg() -> str:
    """Scale that all curves of a page share, as the content of an SVG group."""
    with _settings():
        figure, axes = _blank()
        _draw_frame(axes, _ROLES)
        return _slim(figure)


def curves_svg(pictures: Iterable[Sequence[Sequence[float | None]]]) -> Iterator[str]:
    """Drawings of the curves of each picture; a page puts them over the scale."""
    with _settings():
        figure, axes = _blank()
        axes.set_axis_off()
        _scale(axes)
        for curves in pictures:
            _draw_curves(axes, curves, _ROLES)
            yield _slim(figure)
            for line in list(axes.lines):
                line.remove()


@contextmanager
def _settings() -> Iterator[None]:
    """Matplotlib's default settings in place of the user's, so that pages are reproducible."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SVG_SETTINGS | {"font.size": 10.5})
        yield


def _blank() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72), dpi=72)
    figure.patch.set_visible(False)
    axes = figure.add_axes(_PLACE)
    axes.patch.set_visible(False)
    return figure, axes


def _scale(axes: Axes) -> None:
    axes.set_xlim(0, 2.5)
    axes.set_ylim(0, 1)


def _draw_frame(axes: Axes, colours: dict[str, str]) -> None:
    _scale(axes)
    without_frame(axes, colours["text"])
    axes.set_xticks([0, 1, 2], ["0", "tau", "2 tau"])
    axes.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    axes.tick_params(pad=6)
    for height in (0, 0.5, 1):
        axes.plot([0, 2.5], [height] * 2, color=colours["grid"], linewidth=1, clip_on=False)
    axes.plot([1, 1], [0, 1], color=colours["mark"], linewidth=1, linestyle=(0, (2, 3)))
    words: dict[str, Any] = {"color": colours["text"], "transform": axes.transAxes}
    axes.text(0, 1.06, "chance of a yes", ha="left", va="bottom", **words)
    axes.text(1, -0.115, "true gap", ha="right", va="top", **words)


def _draw_curves(
    axes: Axes, curves: Iterable[Sequence[float | None]], colours: dict[str, str]
) -> list[Line2D]:
    lines: list[Line2D] = []
    names = ("line first", "line second", "line third")
    for curve, name, style in zip(curves, names, _STYLES, strict=False):
        gaps = [place * _STEP for place in range(len(curve))]
        chances = [math.nan if chance is None else chance for chance in curve]
        width = 2.4 if name == names[0] else 1.6
        lines += axes.plot(
            gaps, chances, color=colours[name], linestyle=style, linewidth=width, clip_on=False
        )
    return lines


def _slim(figure: Figure) -> str:
    """SVG of a figure without styles, fonts and names, which the page states once for all."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    tree = ET.fromstring(stream.getvalue())  # noqa: S314 - matplotlib's own output
    return "".join(_parts(tree))


def _parts(tree: ET.Element) -> Iterator[str]:
    for node in tree.iter():
        style = dict(_styles(node.get("style", "")))
        role = _CLASSES.get(style.get("stroke") or style.get("fill") or "")
        if node.tag == f"{_SVG}path" and role:
            yield f'<path class="{role}" d="{_short(node.get("d", ""))}"/>'
        elif node.tag == f"{_SVG}text" and role:
            anchor = style.get("text-anchor", "start")
            place = f'x="{_rounded(node.get("x"))}" y="{_rounded(node.get("y"))}"'
            yield f'<text class="{role}" {place} text-anchor="{anchor}">{node.text}</text>'


def _styles(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(";"):
        name, sign, value = part.partition(":")
        if sign:
            yield name.strip(), value.strip()


def _short(path: str) -> str:
    return " ".join(part if part.isalpha() else _rounded(part) for part in path.split())


def _rounded(number: str | None) -> str:
    return f"{float(number or 0):.1f}".removesuffix(".0")
