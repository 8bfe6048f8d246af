"""Pictures by the places of their parts, in per cent of the width, so that they can stretch.

They are a few lines and boxes each, and there may be hundreds on a page, so a template draws them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pqd.reports.text.numbers import number_text, threshold_text

if TYPE_CHECKING:
    from pqd.reports import blocks

# How much of an interval's half is left free beside it.
_MARGIN = 5 / 3
# Beyond as many tolerances a threshold leaves the picture.
_FAR = 4.0
# Labels of both ends fit under an interval of this share of the width.
_WIDE = 45.0
# What a verdict of such a tone says of the private answer.
_CLAIMS = {"yes": "inside", "no": "outside"}


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values that a picture shows."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Place of ``value``, in per cent of the width, at an edge if it lies beyond."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def box(self, low: float, high: float) -> Box:
        """Part of the picture between two values."""
        left, right = self.place(low), self.place(high)
        return Box(left, round(right - left, 2))


class Box(NamedTuple):
    """A box from ``left``, ``width`` wide, both in per cent."""

    left: float
    width: float

    @property
    def right(self) -> float:
        """Where it ends."""
        return round(self.left + self.width, 2)


class Placed(NamedTuple):
    """A picture of a cell, placed.

    ``between`` is the interval.  ``inside`` and ``aside`` are of strips: the tolerance around the
    mark, and left or right where all of it lies beyond that edge.
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
    """The tolerance around a synthetic answer, and the effectiveness threshold.

    ``claim`` is what the verdict says of the private answer: inside, outside, open, or none.
    ``least`` is missing where the threshold is not known or infinite; ``beyond`` says that it is
    too wide to be shown whole.
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


def interval_picture(block: blocks.Interval) -> IntervalPicture:
    """Picture of one query."""
    least = block.least if block.least is not None and math.isfinite(block.least) else None
    tau = max((block.high - block.low) / 2, 0.0)
    half = max(tau * _MARGIN, min(least or 0.0, _FAR * tau) * 1.15)
    scale = Scale(block.answer - half, block.answer + half)
    inside = scale.box(block.low, block.high)
    lower, answer, upper = (number_text(x, 9) for x in (block.low, block.answer, block.high))
    label = f"Synthetic answer {answer}, tolerance from {lower} to {upper}"
    if least is not None:
        label += f"; the effectiveness threshold is {threshold_text(least)}"
    return IntervalPicture(
        claim=_CLAIMS.get(block.tone, block.tone),
        inside=inside,
        least=None if least is None else scale.box(block.answer - least, block.answer + least),
        beyond=least is not None and least > half,
        wide=inside.width >= _WIDE,
        lower=lower,
        answer=answer,
        upper=upper,
        label=label,
        least_text=block.least_text,
    )


def side_by_side(sizes: Iterable[float]) -> list[Box]:
    """One box per size, side by side over the whole width."""
    sizes, left, boxes = list(sizes), 0.0, []
    total = sum(sizes) or 1.0
    for size in sizes:
        boxes.append(Box(round(100 * left / total, 2), round(100 * size / total, 2)))
        left += size
    return boxes
