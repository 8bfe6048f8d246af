"""Checks of the queries that a caller states, and the tolerance of each query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, as_float
from pqd.deciders.names import closest_name, names_and_more
from pqd.deciders.options import option
from pqd.errors import for_all
from pqd.sql.tolerance import Tolerance

if TYPE_CHECKING:
    from pqd.sql.query import Query

_MOST_NAMED = 3


def check_stated(queries: object, offer: str, explain: str | None = None) -> None:
    """Refuse a run without a query, before any table is opened.

    ``offer`` is a command that needs no query.  ``explain`` names the verdict of an earlier run
    that the caller wants to see, if any.

    Raises
    ------
    ParameterError
        If there is no query; the message names everything that a run with queries needs.
    """
    if queries is None and explain is not None:
        raise ParameterError(
            f"{option('--explain')} {explain} needs the earlier run as it was: repeat its queries "
            f"and options ({option('--queries')}, {option('--tau')}, {option('--epsilon')}) and "
            "add it; what was paid for is replayed at no cost. No table was opened and nothing "
            "was spent"
        )
    if queries is None:
        raise ParameterError(
            f"{_no_query()} To judge the whole copy without a query: {offer}. No table was opened "
            "and nothing was spent"
        )


def _no_query() -> str:
    """Sentence on what a run with queries needs."""
    query = option('--query "SELECT COUNT(*) FROM D"')
    return (
        f"there is no query; give one, such as {query}, or a file of them "
        f"({option('--queries')}), with {option('--tau 5%')} and {option('--epsilon 0.25')}."
    )


def check_ranking(
    queries: object,
    total_epsilon: object,
    of_queries: Mapping[str, object],
    of_ranking: Mapping[str, object],
) -> bool:
    """Whether a comparison has no queries, and so ranks the copies by their overall quality.

    ``of_queries`` and ``of_ranking`` hold arguments by name.  An argument that is None or empty
    counts as not stated.

    Raises
    ------
    ParameterError
        If neither queries nor a total budget are stated, or if an argument belongs to the other
        kind of comparison.
    """
    ranking = queries is None
    foreign = [name for name, value in of_queries.items() if value]
    asked = [name for name, value in of_ranking.items() if value]
    if ranking and total_epsilon is None and asked:
        leave = f", and leave {', '.join(foreign)} out" if foreign else ""
        raise ParameterError(
            f"{', '.join(asked)} is of a ranking by overall quality, which has a budget of its own:"
            f" add {option('--total-epsilon 1')}{leave}. No table was opened and nothing was spent"
        )
    if ranking and total_epsilon is None:
        raise ParameterError(
            f"{_no_query()} To rank the copies by their overall quality, without a query, give "
            f"{option('--total-epsilon 0.25')} alone. No table was opened and nothing was spent"
        )
    if ranking and foreign:
        raise ParameterError(
            "there is no query, so the copies are ranked by their overall quality, where "
            f"{', '.join(foreign)} means nothing; leave it out, or give queries"
        )
    if total_epsilon is not None:
        asked.insert(0, option("--total-epsilon"))
    if not ranking and asked:
        bare = {name.lstrip("-").replace("-", "_") for name in asked}
        alone = "; pqd risk tries attacks on one copy" if "risk" in bare else ""
        alone += "; pqd plan says what queries cost" if "dry_run" in bare else ""
        if "facts" in bare:
            alone += f"; with queries write {option('--bounds age=0:120')}"
        if total_epsilon is not None:
            alone += f"; with queries the price is {option('--epsilon 0.25')}, for each of them"
        raise ParameterError(
            f"{', '.join(asked)} is of a ranking by overall quality, which takes no queries; leave "
            f"it out, or the queries{alone}"
        )
    return ranking


def scaled(queries: Sequence[Query], scale: str | None) -> tuple[Query, ...]:
    """Queries with this scale, except those that state one themselves.

    Raises
    ------
    ParameterError
        If the scale is unknown.
    """
    # Imported here, since the command line refuses a run without queries before it parses SQL.
    from pqd.sql.query import check_scale  # noqa: PLC0415

    known = check_scale(scale)
    return tuple(query.scaled(known) for query in queries)


def with_tolerances(
    queries: Sequence[Query], tau: Number | None, tolerances: Mapping[str, Number] | None = None
) -> tuple[tuple[Query, ...], Number]:
    """Queries with their own tolerances, and the tolerance of all other queries.

    ``tolerances`` maps query ids to tolerances.  They take precedence over the tolerance that a
    query states itself, which takes precedence over ``tau``.  ``tau`` may be None if every query
    has a tolerance of its own; the tolerance of the first query is then returned.

    Raises
    ------
    ParameterError
        If a tolerance is invalid or has the id of no query, or if a query has no tolerance.
    """
    stated = {name: Tolerance.parse(each) for name, each in (tolerances or {}).items()}
    _check_names(queries, stated, "tolerance")
    own = tuple(_with(query, stated) for query in queries)
    known = _first(own) if tau is None else tau
    check_counts(own, Tolerance.parse(known))
    return own, known


def check_counts(queries: Sequence[Query], tolerance: Tolerance) -> None:
    """Refuse an amount below 1 as the tolerance of a COUNT; it was probably meant as a share.

    A query without a tolerance of its own has ``tolerance``.

    Raises
    ------
    ParameterError
        If a query counts rows or values, and its tolerance is an amount below 1.
    """
    narrow: dict[Tolerance, list[str]] = {}
    for query in queries:
        own = query.tolerance or tolerance
        is_amount = not (own.relative or own.of_rows)
        if is_amount and own.amount < 1 and query.aggregate.startswith("COUNT"):
            narrow.setdefault(own, []).append(query.id or "")

    def refuse(each: Tolerance) -> None:
        names = names_and_more(narrow[each], _MOST_NAMED)
        share = f"{as_float(100 * each.amount):g}%"
        raise ParameterError(
            f"tau is {each.text} for the COUNT of {names}: only the very same number is within it; "
            f"write {share} for a share of the answer, or an amount of 1 or more"
        )

    for_all(refuse, narrow)


def with_weights(
    queries: Sequence[Query], weights: Mapping[str, Number] | None = None
) -> tuple[Query, ...]:
    """Queries with the weights of a release that ``weights`` states, by the ids of queries.

    A stated weight takes precedence over the weight that a query states itself.  The groups of a
    GROUP BY query, and the bins of a query, each have the weight of the query.

    Raises
    ------
    ParameterError
        If a weight is no positive number, or has the id of no query.
    """
    stated = dict(weights or {})
    _check_names(queries, stated, "weight")
    found = [stated.get(query.id or "", stated.get(query.block or "")) for query in queries]
    return tuple(
        query if weight is None else query.weighing(weight)
        for query, weight in zip(queries, found, strict=True)
    )


def _check_names(queries: Sequence[Query], stated: Iterable[str], what: str) -> None:
    """Refuse names of no query, for each of which a ``what`` is stated."""
    names = {name for query in queries for name in (query.id, query.block) if name}
    for name in stated:
        if name not in names:
            near = closest_name(name, names)
            hint = f"; did you mean {near!r}?" if near else ""
            raise ParameterError(
                f"a {what} is given for {name!r}, but there is no such query{hint}"
            )


def _with(query: Query, stated: Mapping[str, Tolerance]) -> Query:
    """Query with the tolerance stated for its id, or for the GROUP BY query that it belongs to."""
    tolerance = stated.get(query.id or "", stated.get(query.block or ""))
    return query if tolerance is None else query.within(tolerance.text)


def _first(queries: Sequence[Query]) -> Number:
    """Tolerance of the first query; ParameterError if any query has no tolerance."""
    taus = [query.tau for query in queries if query.tau is not None]
    without = [query.id or "" for query in queries if query.tau is None]
    if not taus or without:
        who = f" for {names_and_more(without, _MOST_NAMED)}" if taus else ""
        raise ParameterError(
            f"{option('--tau')} is missing{who}; give it a value such as 10 or 3.2%, or every query"
            " one of its own (-- tau: 5% before it in a .sql file, a column tau in a list)"
        )
    return taus[0]


def stated_for(queries: Sequence[Query], tolerance: Tolerance) -> str | None:
    """Common tolerance of all queries as text; None if their tolerances differ.

    A query without a tolerance of its own has ``tolerance``.
    """
    texts = dict.fromkeys((query.tolerance or tolerance).text for query in queries)
    return next(iter(texts), tolerance.text) if len(texts) < 2 else None
