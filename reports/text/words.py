"""Phrases that all kinds of reports share: counts, lists, standings, gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.reports.text.numbers import end_text, number_text

if TYPE_CHECKING:
    from pqd.reports.models.compare import LeaderboardRow
    from pqd.reports.models.ranking import RankedCopy

# Tolerance of a report whose queries have different ones.
EACH_ITS_OWN = "stated for each query"
# A report of more verdicts is a summary with the worst of them, in the terminal and in Markdown.
MOST_IN_FULL = 50
LISTED = 20
# A title names so many.
_RIVALS = 4


def counted(number: int, one: str, several: str | None = None) -> str:
    """Number with its noun: ``1 query`` or ``2 queries``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def first_of(lines: Iterable[str]) -> Iterator[str]:
    """First of many lines, how many more there are, and the last, which may be a warning."""
    every = list(lines)
    if len(every) <= LISTED:
        yield from every
        return
    yield from every[: LISTED - 1]
    yield f"... {len(every) - LISTED:,} more ..."
    yield every[-1]


def listed(names: tuple[str, ...] | list[str]) -> str:
    """Names in a row: ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def undecided_title(names: Sequence[str]) -> str:
    """Title of a comparison in which none of ``names`` is established as the best."""
    shown = list(names[:_RIVALS])
    if more := len(names) - len(shown):
        shown.append(counted(more, "other"))
    return f"Which is the best is undecided between {listed(shown)}"


def rank_text(row: LeaderboardRow | RankedCopy) -> str:
    """Rank, or the ranks that a candidate may have, such as ``1\u20133``."""
    if row.best_rank == row.worst_rank:
        return str(row.best_rank)
    return f"{row.best_rank}\u2013{row.worst_rank}"


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
        return f"at most {end_text(high or 0, up=True)}"
    if high is None:
        return f"at least {end_text(low, up=False)}"
    return f"between {end_text(low, up=False)} and {end_text(high, up=True)}"
