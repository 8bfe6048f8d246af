"""Phrases that all kinds of reports share: counts, lists, standings, gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reports.text.numbers import number_text

STANDINGS = ("trusted", "not trusted", "undecided")


def counted(number: int, one: str, several: str | None = None) -> str:
    """Number with its noun: ``1 query`` or ``2 queries``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def listed(names: tuple[str, ...] | list[str]) -> str:
    """Names in a row: ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def tally(standings: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Count of each standing, in a fixed order."""
    counts = Counter(standings)
    return tuple((name, counts[name]) for name in STANDINGS)


def worst_first(standings: Sequence[str]) -> str:
    """Standing that a reader must see first."""
    order = ("not trusted", "undecided", "trusted")
    return next((name for name in order if name in standings), "undecided")


def gap_text(gap: float | None) -> str:
    """Estimated gap with its sign."""
    if gap is None:
        return "not released"
    return f"{'+' if gap > 0 else ''}{number_text(gap, 4)}"


def between_text(low: float | None, high: float | None) -> str:
    """Interval in words: ``between 3 and 5``, or what is known of it."""
    if low is None and high is None:
        return "nothing bounds it"
    if low is None:
        return f"at most {number_text(high or 0, 4)}"
    if high is None:
        return f"at least {number_text(low, 4)}"
    return f"between {number_text(low, 4)} and {number_text(high, 4)}"
