"""Model of queries that were refused, and of the reasons."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRefusal:
    """Refusal of a query for which the synthetic table gives no answer to compare with.

    The refusal costs nothing.  ``reason`` is public; it says why, and what to do.  If the query is
    a group of a grouped query, ``block`` is the id of the grouped query, and ``group`` is the group
    in words.
    """

    id: str
    sql: str
    reason: str
    block: str | None = None
    group: str | None = None
