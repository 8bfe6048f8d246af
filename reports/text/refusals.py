"""Queries that were not asked, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.models.refusals import QueryRefusal

_MOST_NAMED = 3


def refused_sentence(refused: Sequence[QueryRefusal]) -> str:
    """Number of queries that were not asked, empty if all were."""
    number = len(refused)
    if not number:
        return ""
    return f"{number:,} {'query was' if number == 1 else 'queries were'} not asked and cost nothing"


def refused_lines(refused: Sequence[QueryRefusal]) -> Iterator[str]:
    """Line per query that was not asked, groups of one reason together."""
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


def refused_lead(refused: Sequence[QueryRefusal]) -> str:
    """The same as the end of a paragraph."""
    sentence = refused_sentence(refused)
    return f" {sentence}." if sentence else ""
