"""A small operating-characteristic chart for the terminal: Pr[yes] against the true gap."""

from collections.abc import Iterator, Sequence

from pqd.reports.models.query import CandidateFacts

_BLOCKS = " ▁▂▃▄▅▆▇█"
_PLAIN = " .:-=+*#@"
_NAME = 16
_WIDE = 66
# The chosen decider and the two that err least beside it.
_LINES = 3


def chart_lines(
    candidates: Sequence[CandidateFacts], chosen: str, *, unicode: bool, width: int = 80
) -> Iterator[str]:
    """Scale and one line per decider, two characters per eighth of tau, one if narrow.

    The height is the chance of a yes; a dot says that no table can have that gap.
    """
    drawn = [c for c in candidates if c.curve]
    if not drawn:
        return
    ranked = sorted(drawn, key=lambda c: (c.decider != chosen, c.worst))[:_LINES]
    each = 2 if width >= _WIDE else 1
    yield f"{'Pr[yes] by gap':<{_NAME}} 0{'tau':>{8 * each + 2}}{'2 tau':>{8 * each + 2}}"
    levels = _BLOCKS if unicode else _PLAIN
    for candidate in ranked:
        bars = "".join(each * _level(chance, levels) for chance in candidate.curve or ())
        yield f"{candidate.decider:<{_NAME}} {bars.rstrip()}"


def _level(chance: float | None, levels: str) -> str:
    if chance is None:
        return "·" if levels == _BLOCKS else "'"
    # A chance above 0 is shown, however small.
    step = round(chance * (len(levels) - 1))
    return levels[max(step, 1)] if chance > 0.005 else levels[step]
