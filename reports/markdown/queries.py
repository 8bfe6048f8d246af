"""Lines that say what was asked, the groups of one query in a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pqd.reports.text.query import grouped_text, query_text

if TYPE_CHECKING:
    from pqd.reports.models.query import QueryFacts


def query_lines(queries: Sequence[QueryFacts]) -> Iterator[str]:
    """Id and words of each query; of a grouped one, once."""
    for name, members in groupby(queries, key=lambda query: query.block):
        for query in members:
            parts = query.aggregate, query.attribute, query.p
            if name is not None:
                yield f"{name}: {grouped_text(*parts, query.block_sql)}"
                break
            yield f"{query.id}: {query_text(*parts, query.where)}"
