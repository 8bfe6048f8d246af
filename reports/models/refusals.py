"""Model of what is not judged: queries that were refused, columns left out, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pqd.reports.models.standings import Standing


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Column or marginal that is not judged, or is judged with a flaw, and the reason in words.

    ``standing`` is None for a marginal with too many cells.  For a column it says whether the
    copy lacks it (``MISSING``), whether the private table lacks it (``COPY_ALONE``), whether it
    looks like an identifier (``NOT_JUDGED``), or whether the caller left it out (``SET_ASIDE``).
    """

    columns: tuple[str, ...]
    reason: str
    standing: Standing | None = None
