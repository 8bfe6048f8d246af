"""The curves of a page: a scale drawn once, and each distinct set of curves drawn once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pqd.deciders.extras import missing_library
from pqd.reports.text.numbers import share_text

if TYPE_CHECKING:
    from pqd.reports.models.query import CandidateFacts, QueryFacts

_NAMES = ("first", "second", "third")
_PLACES = ((0, "at no gap"), (8, "at tau"), (16, "at 2 tau"))


@dataclass(frozen=True, slots=True)
class Curve:
    """A picture of curves: the number of its drawing on the page, a legend, and it in words."""

    number: int
    legend: tuple[tuple[str, str], ...]
    label: str


class Curves:
    """The curves that a page shows, in the order of their first use."""

    def __init__(self) -> None:
        """No curves yet."""
        self._drawings: dict[tuple[tuple[float | None, ...], ...], int] = {}

    def add(self, facts: QueryFacts) -> Curve | None:
        """Picture of a query's curves, None where there are none or none can be drawn."""
        if not _has_curve(facts) or not _can_draw():
            return None
        # Matplotlib is imported only by a page that shows a curve.
        from pqd.reports.plots import drawn  # noqa: PLC0415

        shown = drawn(facts.candidates, facts.decider)
        key = tuple(_rounded(candidate.curve or ()) for candidate in shown)
        number = self._drawings.setdefault(key, len(self._drawings) + 1)
        legend = tuple(zip(_NAMES, (c.decider for c in shown), strict=False))
        return Curve(number, legend, _label(shown[0]))

    def drawings(self) -> dict[str, str]:
        """Every drawing of the page as SVG under its id, the scale first."""
        if not self._drawings:
            return {}
        from pqd.reports.plots import curves_svg, frame_svg  # noqa: PLC0415 - the same

        ids = (f"curve-{number}" for number in self._drawings.values())
        drawings = zip(ids, curves_svg(self._drawings), strict=True)
        return {"curve-scale": frame_svg(), **dict(drawings)}


def curve_notes(facts: QueryFacts) -> list[tuple[str, str]]:
    """Line and role in place of curves that cannot be drawn."""
    if not _has_curve(facts) or _can_draw():
        return []
    return [(missing_library("plots", "The curve of the chance of a yes"), "advice")]


def _has_curve(facts: QueryFacts) -> bool:
    return any(candidate.curve for candidate in facts.candidates)


def _can_draw() -> bool:
    return find_spec("matplotlib") is not None


def _rounded(curve: Sequence[float | None]) -> tuple[float | None, ...]:
    """Curve to a quarter of a pixel, so that what looks alike is one drawing."""
    return tuple(None if chance is None else round(chance, 3) for chance in curve)


def _label(candidate: CandidateFacts) -> str:
    curve = candidate.curve or ()
    parts = [
        f"{share_text(chance)} {name}"
        for place, name in _PLACES
        if place < len(curve) and (chance := curve[place]) is not None
    ]
    return f"Chance of a yes with {candidate.decider}: {', '.join(parts) or 'not known'}"
