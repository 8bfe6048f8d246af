"""Curves of a page: the scale is drawn once, and each distinct set of curves is drawn once."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pqd.reports import blocks

_NAMES = ("first", "second", "third")


class Curve(NamedTuple):
    """Picture of curves: the number of its drawing on the page, its legend, and its label."""

    number: int
    legend: Sequence[tuple[str, str]]
    label: str


class Drawings:
    """Curves that a page shows, in the order of their first use."""

    def __init__(self) -> None:
        """No curves yet."""
        self._numbers: dict[tuple[tuple[float | None, ...], ...], int] = {}

    def add(self, block: blocks.Curves) -> Curve:
        """Picture of the curves of ``block``."""
        key = tuple(_rounded(points) for _, points in block.lines)
        number = self._numbers.setdefault(key, len(self._numbers) + 1)
        legend = tuple(zip(_NAMES, (name for name, _ in block.lines), strict=False))
        return Curve(number, legend, block.label)

    def drawings(self) -> dict[str, str]:
        """All drawings of the page as SVG, by their ids; the scale comes first."""
        if not self._numbers:
            return {}
        # Matplotlib is imported only by a page that shows a curve.
        from pqd.reports.plots import curves_svg, frame_svg  # noqa: PLC0415

        ids = (f"curve-{number}" for number in self._numbers.values())
        drawings = zip(ids, curves_svg(self._numbers), strict=True)
        return {"curve-scale": frame_svg(), **dict(drawings)}


def can_draw() -> bool:
    """Whether matplotlib, which draws the curves, is installed."""
    return find_spec("matplotlib") is not None


def _rounded(points: Sequence[float | None]) -> tuple[float | None, ...]:
    """Curve rounded to a quarter of a pixel, so that curves that look alike share a drawing."""
    return tuple(None if chance is None else round(chance, 3) for chance in points)
