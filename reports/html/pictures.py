"""Intervals as pictures: where each part lies, in per cent of the width, so that they can stretch.

They are a few lines and boxes each, and there may be hundreds on a page, so a template draws them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqd.reports.text.numbers import number_text, threshold_text

if TYPE_CHECKING:
    from pqd.reports.models.compare import Cell, ComparedQuery

# How much of an interval's half is left free beside it.
_MARGIN = 5 / 3
# Beyond as many tolerances a threshold, or a candidate, leaves the picture.
_FAR = 4.0
# Labels of both ends fit under an interval of this share of the width.
_WIDE = 45.0


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values that a picture shows."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Place of ``value``, in per cent of the width, at an edge if it lies beyond."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(100 * min(max(share, 0.0), 1.0), 2)


@dataclass(frozen=True, slots=True)
class Band:
    """A box from ``left``, ``width`` wide, both in per cent."""

    left: float
    width: float

    @property
    def right(self) -> float:
        """Where it ends."""
        return round(self.left + self.width, 2)


def band(scale: Scale, low: float, high: float) -> Band:
    """Part of the picture between two values."""
    left, right = scale.place(low), scale.place(high)
    return Band(left, round(right - left, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalPicture:
    """The tolerance around a synthetic answer, and the effectiveness threshold.

    ``claim`` is what the verdict says of the private answer: inside, outside, open, or none.
    ``least`` is missing where the threshold is not known or infinite; ``beyond`` says that it is
    too wide to be shown whole.
    """

    claim: str
    inside: Band
    least: Band | None
    beyond: bool
    wide: bool
    lower: str
    answer: str
    upper: str
    label: str


def interval_picture(
    answer: float, ends: tuple[float, float], least: float | None, claim: str
) -> IntervalPicture:
    """Picture of one query."""
    tau = max((ends[1] - ends[0]) / 2, 0.0)
    reach = 0.0 if least is None or math.isinf(least) else min(least, _FAR * tau)
    half = max(tau * _MARGIN, reach * 1.15)
    scale = Scale(answer - half, answer + half)
    known = least is not None and not math.isinf(least)
    inside = band(scale, *ends)
    texts = [number_text(value, 9) for value in (ends[0], answer, ends[1])]
    label = f"Synthetic answer {texts[1]}, tolerance from {texts[0]} to {texts[2]}"
    if known:
        label += f"; the effectiveness threshold is {threshold_text(least)}"
    return IntervalPicture(
        claim=claim,
        inside=inside,
        least=band(scale, answer - (least or 0), answer + (least or 0)) if known else None,
        beyond=least is not None and known and least > half,
        wide=inside.width >= _WIDE,
        lower=texts[0],
        answer=texts[1],
        upper=texts[2],
        label=label,
    )


@dataclass(frozen=True, slots=True)
class CandidatePicture:
    """One candidate's tolerance on the scale of its query; ``aside`` is left, right or empty."""

    inside: Band
    answer: float
    aside: str


@dataclass(frozen=True, slots=True)
class EstimatePicture:
    """A query's scale: the estimate and what it is known to lie in, None where not released."""

    scale: Scale
    estimate: float | None
    between: Band | None

    def candidate(self, cell: Cell) -> CandidatePicture | None:
        """Place of a candidate's tolerance, None where it has no answer."""
        if cell.q_synthetic is None or cell.lower is None or cell.upper is None:
            return None
        low, high = float(cell.lower), float(cell.upper)
        aside = "right" if low > self.scale.high else "left" if high < self.scale.low else ""
        inside = band(self.scale, low, high)
        return CandidatePicture(inside, self.scale.place(float(cell.q_synthetic)), aside)


def estimate_picture(query: ComparedQuery) -> EstimatePicture:
    """Scale of a query, wide enough for all candidates that are not far off."""
    answers = sorted(float(c.q_synthetic) for c in query.cells if c.q_synthetic is not None)
    middle = answers[len(answers) // 2] if answers else 0.0
    if query.estimate is not None:
        middle = float(query.estimate)
    known = [float(end) for end in (query.low, query.high) if end is not None]
    half = max([abs(end - middle) for end in known] + [_reach(query, middle)]) * 1.08
    scale = Scale(middle - half, middle + half)
    if query.estimate is None:
        return EstimatePicture(scale, None, None)
    low = scale.low if query.low is None else float(query.low)
    high = scale.high if query.high is None else float(query.high)
    return EstimatePicture(scale, scale.place(middle), band(scale, low, high))


def _reach(query: ComparedQuery, middle: float) -> float:
    """Distances from the middle at which the tolerances of the candidates end."""
    cells = [cell for cell in query.cells if cell.q_synthetic is not None]
    widest = max((float(cell.tau) for cell in cells), default=0.0) or 1.0
    far = (abs(float(c.q_synthetic or 0) - middle) + float(c.tau) for c in cells)
    return max((min(reach, _FAR * widest) for reach in far), default=1.0) or 1.0


def shares(counts: Iterable[int]) -> list[Band]:
    """One box per count, side by side over the whole width."""
    sizes: Sequence[int] = list(counts)
    total, left, boxes = sum(sizes) or 1, 0, []
    for size in sizes:
        boxes.append(Band(round(100 * left / total, 2), round(100 * size / total, 2)))
        left += size
    return boxes
