"""Refusals: queries, or single groups of them, that drop out of a run while the others go on."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TypeAlias

from pqd.errors import PqdError
from pqd.reports.models.refusals import QueryRefusal
from pqd.sql.query import Query

Refusal: TypeAlias = tuple["Query", PqdError]


class Refusals:
    """First refusal of each query, or of one of its groups."""

    def __init__(self, refusals: Iterable[Refusal] = ()) -> None:
        """Begin with ``refusals``."""
        self._by_id = {query.id or "": (query, error) for query, error in refusals}

    def of(self, query: Query) -> AbstractContextManager[None, bool]:
        """Context that notes a refusal of ``query`` and goes on after the block."""
        return _Refusing(query, self._by_id)

    @property
    def every(self) -> tuple[Refusal, ...]:
        """All refusals, in the order in which they came."""
        return tuple(self._by_id.values())

    @property
    def blocks(self) -> frozenset[str]:
        """Grouped queries of which a group is refused."""
        return frozenset(query.block for query, _ in self._by_id.values() if query.block)


class _Refusing(AbstractContextManager[None, bool]):
    def __init__(self, query: Query, by_id: dict[str, Refusal]) -> None:
        self._query, self._by_id = query, by_id

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, PqdError):
            return False
        self._by_id.setdefault(self._query.id or "", (self._query, error))
        return True


def refusal_facts(refusals: Iterable[Refusal]) -> tuple[QueryRefusal, ...]:
    """Refusals as a report shows them."""
    return tuple(
        QueryRefusal(id=q.id or "", sql=q.sql, reason=str(error), block=q.block, group=q.group)
        for q, error in refusals
    )
