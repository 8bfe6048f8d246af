"""Model of queries that were not asked, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRefusal:
    """Refusal of a query for which the synthetic table gives nothing to compare with.

    It cost nothing.  ``reason`` says why, in public, and what to do; ``block`` is the id of the
    query that it is a group of, ``group`` that group in words.
    """

    id: str
    sql: str
    reason: str
    block: str | None = None
    group: str | None = None
