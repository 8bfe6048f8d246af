"""Queries as a caller states them: what a run without any is told, and what belongs to which."""

from __future__ import annotations

from collections.abc import Mapping

from pqd.deciders.errors import ParameterError


def check_stated(queries: object, offer: str, explain: str | None = None) -> None:
    """Refuse a run without a query, before any table is opened; ``offer`` needs none.

    ``explain`` is the verdict of an earlier run that is to be shown, if any.

    Raises
    ------
    ParameterError
        With what to do, in place of one message after the other on what a query would need.
    """
    if queries is None and explain is not None:
        raise ParameterError(
            f"--explain {explain} needs the earlier run as it was: repeat its queries and options "
            "(-q or --queries, --tau, --epsilon) and add --explain; what was paid for is replayed "
            "at no cost. No table was opened and nothing was spent"
        )
    if queries is None:
        raise ParameterError(
            'there is no query; give one (-q "SELECT COUNT(*) FROM D") or a file of them '
            "(--queries), with --tau 5% and --epsilon 0.25. To judge the whole copy without a "
            f"query: {offer}. No table was opened and nothing was spent"
        )


def check_ranking(
    queries: object,
    total_epsilon: object,
    of_queries: Mapping[str, object],
    of_ranking: Mapping[str, object],
) -> bool:
    """Whether a comparison has no queries, and so ranks copies by their overall quality.

    What is stated by name, neither None nor empty, must belong to what is run.

    Raises
    ------
    ParameterError
        If neither queries nor a total budget are stated, or what belongs to the other.
    """
    ranking = queries is None
    if ranking and total_epsilon is None:
        raise ParameterError(
            'there is no query; give one (-q "SELECT COUNT(*) FROM D") or a file of them '
            "(--queries), with --tau 5% and --epsilon 0.25. To rank the copies by their overall "
            "quality, without a query, give total_epsilon alone (--total-epsilon 0.25). No table "
            "was opened and nothing was spent"
        )
    others = (
        of_queries
        if ranking
        else {"total_epsilon (--total-epsilon)": total_epsilon} | dict(of_ranking)
    )
    stated = [name for name, value in others.items() if value]
    if stated:
        names = ", ".join(stated)
        if ranking:
            raise ParameterError(
                f"there is no query, so the copies are ranked by their overall quality, where "
                f"{names} means nothing; leave it out, or give queries"
            )
        raise ParameterError(
            f"{names} is of a ranking by overall quality, which takes no queries; leave it out, "
            "or the queries"
        )
    return ranking
