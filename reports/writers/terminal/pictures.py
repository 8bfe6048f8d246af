"""Pictures made of characters: curves as bars, and an interval on a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from pqd.reports.writers.terminal.layout import said

if TYPE_CHECKING:
    from pqd.reports.blocks import Curves, Picture
    from pqd.reports.writers.terminal.layout import Screen

_BARS = {True: " ▁▂▃▄▅▆▇█", False: " .:-=+*#@"}
_UNKNOWN = {True: "·", False: "'"}
# Signs within the interval, at the value, and elsewhere, by whether the screen shows Unicode.
_DOTS = {True: ("─", "●", "·"), False: ("-", "o", ".")}
_NAME, _PLACES = 16, 16
_WIDE = 66


def curve_lines(curves: Curves, screen: Screen) -> Iterator[Text]:
    """Scale, and one line of bars per decider.

    Each eighth of tau takes two characters, or one on a narrow screen.  The height of a bar is the
    chance of a yes.  A dot means that no table can have this gap.
    """
    each = 2 if screen.width >= _WIDE else 1
    scale = f"{'Pr[yes] by gap':<{_NAME}} 0{'tau':>{8 * each + 2}}{'2 tau':>{8 * each + 2}}"
    yield Text(scale, no_wrap=True)
    for name, points in curves.lines:
        bars = "".join(each * _level(point, unicode=screen.unicode) for point in points)
        yield Text(f"{said(name, screen):<{_NAME}} {bars.rstrip()}", no_wrap=True)


def _level(chance: float | None, *, unicode: bool) -> str:
    if chance is None:
        return _UNKNOWN[unicode]
    # A chance above 0.005 gets a bar, even where its height would round to 0.
    levels = _BARS[unicode]
    step = round(chance * (len(levels) - 1))
    return levels[max(step, 1)] if chance > 0.005 else levels[step]


def picture_text(picture: Picture, *, unicode: bool) -> str:
    """Line that is the scale, with the interval and the value on it."""
    within, dot, elsewhere = _DOTS[unicode]
    low, high = picture.scale
    span = (high - low) or 1.0

    def place(value: float) -> int:
        return round(min(max((value - low) / span, 0.0), 1.0) * (_PLACES - 1))

    if picture.value is None:
        return elsewhere * _PLACES
    ends = (
        place(picture.value if picture.low is None else picture.low),
        place(picture.value if picture.high is None else picture.high),
    )
    signs = [within if ends[0] <= at <= ends[1] else elsewhere for at in range(_PLACES)]
    signs[place(picture.value)] = dot
    return "".join(signs)
