"""Places of the parts of pictures, in per cent of the width, so that pictures can stretch.

A template draws the pictures, since each has few lines and boxes, and a page may have hundreds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pqd.reports.text.numbers import number_text, threshold_text

if TYPE_CHECKING:
    from pqd.reports import blocks

# Half the width of an interval's picture is at least this many tolerances.
_MARGIN = 5 / 3
# Number of tolerances beyond which a threshold is not shown whole.
_FAR = 4.0
# Per cent of the width from which on the labels of both ends fit below an interval.
_WIDE = 45.0
# Where the private answer lies according to a verdict, by the verdict's tone.
_CLAIMS = {"yes": "inside", "no": "outside"}


@dataclass(frozen=True, slots=True)
class Scale:
    """Range of values that a picture shows."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Place of ``value`` in per cent of the width; an edge if the value lies beyond it."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def box(self, low: float, high: float) -> Box:
        """Part of the picture between two values."""
        left, right = self.place(low), self.place(high)
        return Box(left, round(right - left, 2))


class Box(NamedTuple):
    """Box whose left edge is at ``left``; ``left`` and ``width`` are in per cent."""

    left: float
    width: float

    @property
    def right(self) -> float:
        """Place of the right edge."""
        return round(self.left + self.width, 2)


class Placed(NamedTuple):
    """Picture of a cell, with the places of its parts.

    ``between`` is the interval.  A strip also has ``inside``, the tolerance around the mark, and
    ``aside``: ``left`` or ``right`` if the whole tolerance lies beyond that edge of the picture.
    """

    style: str
    tone: str
    label: str
    value: float | None
    between: Box | None
    limit: float | None
    mark: float | None
    inside: Box | None
    aside: str


def placed(picture: blocks.Picture) -> Placed:
    """Places of all parts of a picture."""
    scale, mark, limit = Scale(*picture.scale), picture.mark, picture.limit
    between = inside = None
    aside = ""
    if picture.low is not None and picture.high is not None:
        between = scale.box(picture.low, picture.high)
    if picture.style == "strip" and mark is not None:
        low, high = mark - (limit or 0.0), mark + (limit or 0.0)
        aside = "right" if low > scale.high else "left" if high < scale.low else ""
        inside = scale.box(low, high) if limit is not None else None
        limit = None
    places = (
        None if value is None else scale.place(value) for value in (picture.value, limit, mark)
    )
    value_at, limit_at, mark_at = places
    return Placed(
        picture.style,
        picture.tone,
        picture.label,
        value_at,
        between,
        limit_at,
        mark_at,
        inside,
        aside,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalPicture:
    """Picture of the tolerance around a synthetic answer, and of the effectiveness threshold.

    ``claim`` is where the private answer lies according to the verdict: inside, outside, open or
    none.  ``least`` is the box of the threshold; None if the threshold is unknown or infinite.
    ``beyond``: the threshold is too wide to be shown whole.  ``wide``: the labels of both ends fit
    below the tolerance.  ``between`` is where the private answer lies, and ``estimate`` is the
    place of the noisy one, as ``told`` says.
    """

    claim: str
    inside: Box
    least: Box | None
    beyond: bool
    wide: bool
    lower: str
    answer: str
    upper: str
    label: str
    least_text: str
    between: Box | None
    estimate: float | None
    told: str


def interval_picture(block: blocks.Interval) -> IntervalPicture:
    """Picture of the tolerance and the threshold of one query."""
    least = block.least if block.least is not None and math.isfinite(block.least) else None
    tau = max((block.high - block.low) / 2, 0.0)
    private = (block.estimate, block.estimate_low, block.estimate_high)
    gaps = [abs(value - block.answer) for value in private if value is not None]
    half = max(tau * _MARGIN, *(1.15 * x for x in (min(least or 0.0, _FAR * tau), *gaps)))
    scale = Scale(block.answer - half, block.answer + half)
    between = None
    if gaps and private[1:] != (None, None):
        low, high = (
            end if other is None else other
            for end, other in zip((scale.low, scale.high), private[1:], strict=True)
        )
        between = scale.box(low, high)
    inside = scale.box(block.low, block.high)
    lower, answer, upper = (number_text(x, 9) for x in (block.low, block.answer, block.high))
    label = f"Synthetic answer {answer}, tolerance from {lower} to {upper}"
    if block.told:
        label += f"; private answer {block.told}"
    if least is not None:
        label += f"; the effectiveness threshold is {threshold_text(least)}"
    return IntervalPicture(
        claim=f"estimated {block.tone}" if between else _CLAIMS.get(block.tone, block.tone),
        inside=inside,
        least=None if least is None else scale.box(block.answer - least, block.answer + least),
        beyond=least is not None and least > half,
        wide=inside.width >= _WIDE,
        lower=lower,
        answer=answer,
        upper=upper,
        label=label,
        least_text=block.least_text,
        between=between,
        estimate=None if block.estimate is None else scale.place(block.estimate),
        told=block.told,
    )


def side_by_side(sizes: Iterable[float]) -> list[Box]:
    """Boxes side by side over the whole width, one for each size."""
    sizes, left, boxes = list(sizes), 0.0, []
    total = sum(sizes) or 1.0
    for size in sizes:
        boxes.append(Box(round(100 * left / total, 2), round(100 * size / total, 2)))
        left += size
    return boxes


# Edges of a plot within its drawing, whose size the template has.
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 352.0, 8.0, 176.0
# Place of a point's name beside it, room that a sign of it takes, and the longest name.
_ASIDE, _SIGN, _HIGH, _LONGEST = 6.0, 6.5, 12.0, 22


class Traced(NamedTuple):
    """Line of a plot as paths; ``style`` is the name of its look."""

    style: str
    name: str
    line: str
    band: str


class Dotted(NamedTuple):
    """Named point of a plot as a cross of its intervals; the name stands at ``text``."""

    name: str
    cross: str
    point: tuple[float, float]
    text: tuple[float, float]
    anchor: str


class Plotted(NamedTuple):
    """Plot with the places of its parts in the drawing."""

    plot: blocks.Plot
    lines: list[Traced]
    dots: list[Dotted]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]


def plotted(plot: blocks.Plot) -> Plotted:
    """Places of all parts of a plot."""
    traces = []
    for style, trace in zip(("first", "second", "third"), plot.lines, strict=False):
        line = [(_across(x), _up(y)) for x, _, y, _ in trace.points]
        low = [(_across(x), _up(y)) for x, y, _, _ in trace.points]
        high = [(_across(x), _up(y)) for x, _, _, y in trace.points]
        traces.append(Traced(style, trace.name, _path(line), f"{_path([*high, *low[::-1]])}Z"))
    across = [(_across(place), text) for place, text in plot.across]
    up = [(_up(place), text) for place, text in plot.up]
    return Plotted(plot, traces, list(_dotted(plot.dots)), across, up)


def _dotted(dots: Iterable[blocks.Dot]) -> Iterator[Dotted]:
    """Points from the top; a name moves down until it stands on no other name."""
    taken: list[tuple[float, float, float]] = []
    for dot in sorted(dots, key=lambda dot: -dot.up[1]):
        (left, x, right), (low, y, high) = map(_across, dot.across), map(_up, dot.up)
        name = dot.name if len(dot.name) <= _LONGEST else f"{dot.name[: _LONGEST - 1]}\u2026"
        ends = x > (_LEFT + _RIGHT) / 2
        at, height, width = x - _ASIDE if ends else x + _ASIDE, y - _ASIDE, _SIGN * len(name)
        first, last = (at - width, at) if ends else (at, at + width)
        while any(first < b and a < last and abs(height - h) < _HIGH for a, b, h in taken):
            height += _HIGH
        taken.append((first, last, height))
        cross = f"M{left:g} {y:g}H{right:g}M{x:g} {low:g}V{high:g}"
        text = round(at, 2), round(height, 2)
        yield Dotted(name, cross, (x, y), text, "end" if ends else "start")


def _across(share: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * min(max(share, 0.0), 1.0), 2)


def _up(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * min(max(share, 0.0), 1.0), 2)


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
