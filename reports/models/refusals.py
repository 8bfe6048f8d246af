"""Queries that were not asked: which, why, and the sentences that every rendering shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A query that was not asked, since the synthetic table gives nothing to hold it against.

    It cost nothing.  ``reason`` says why, in public, and what to do; ``block`` is the id of the
    query that it is a group of, ``group`` that group in words.
    """

    id: str
    sql: str
    reason: str
    block: str | None = None
    group: str | None = None


def refused_sentence(refused: Sequence[Refused]) -> str:
    """Return how many queries were not asked, empty if all were."""
    number = len(refused)
    if not number:
        return ""
    return f"{number:,} {'query was' if number == 1 else 'queries were'} not asked and cost nothing"


def refused_lines(refused: Sequence[Refused]) -> Iterator[str]:
    """Yield a line per query that was not asked, groups of one reason together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for each in refused:
        alike.setdefault((each.block or each.id, each.reason), []).append(each.group or "")
    for (name, reason), groups in alike.items():
        yield f"{name}{_named(groups)}: {reason}"


def _named(groups: Sequence[str]) -> str:
    known = [group for group in groups if group]
    if not known:
        return ""
    more = len(known) - _MOST_NAMED
    return f" ({'; '.join(known[:_MOST_NAMED])}{f' and {more:,} more' if more > 0 else ''})"
