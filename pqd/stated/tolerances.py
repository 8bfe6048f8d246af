"""Tolerances as a caller states them: of the run, of single queries, or in the queries."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number
from pqd.sql.query import Query
from pqd.sql.tolerance import Tolerance

_MOST_NAMED = 3


def with_tolerances(
    queries: Sequence[Query], tau: Number | None, tolerances: Mapping[str, Number] | None = None
) -> tuple[tuple[Query, ...], Number]:
    """Queries with the tolerances that are theirs alone, and the tolerance of all others.

    ``tolerances`` are by query id; they come before what a query says itself, and that before
    ``tau``, which may be None where every query has its own: then the first of those is returned.

    Raises
    ------
    ParameterError
        If one is no tolerance or of no query, or a query has none.
    """
    stated = {name: Tolerance.parse(each) for name, each in (tolerances or {}).items()}
    names = {name for query in queries for name in (query.id, query.block) if name}
    for name in stated:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ParameterError(
                f"a tolerance is given for {name!r}, but there is no such query{hint}"
            )
    own = tuple(_with(query, stated) for query in queries)
    if tau is None:
        return own, _first(own)
    Tolerance.parse(tau)
    return own, tau


def _with(query: Query, stated: Mapping[str, Tolerance]) -> Query:
    """Query with the tolerance that is stated for it, or for the query that it is a group of."""
    tolerance = stated.get(query.id or "", stated.get(query.block or ""))
    return query if tolerance is None else query.within(tolerance.text)


def _first(queries: Sequence[Query]) -> Number:
    """Tolerance of the first query; ParameterError names those that have none."""
    taus = [query.tau for query in queries if query.tau is not None]
    without = [query.id or "" for query in queries if query.tau is None]
    if not taus or without:
        more = len(without) - _MOST_NAMED
        named = ", ".join(without[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        who = f" for {named}" if taus else ""
        raise ParameterError(
            f"tau (--tau) is missing{who}; give it a value such as 10 or 3.2%, or every query one "
            "of its own (-- tau: 5% before it in a .sql file, a column tau in a list)"
        )
    return taus[0]


def stated_for(queries: Sequence[Query], tolerance: Tolerance) -> str | None:
    """Tolerance of all queries as stated, None where they differ; some have ``tolerance``."""
    texts = dict.fromkeys((query.tolerance or tolerance).text for query in queries)
    return next(iter(texts), tolerance.text) if len(texts) < 2 else None
