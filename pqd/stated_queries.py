"""Queries as a caller states them: what a run without any is told."""

from __future__ import annotations

from deciders.errors import ParameterError


def check_stated(queries: object, offer: str) -> None:
    """Refuse a run without a query, before any table is opened; ``offer`` needs none.

    Raises
    ------
    ParameterError
        With what to do, in place of one message after the other on what a query would need.
    """
    if queries is None:
        raise ParameterError(
            'there is no query; give one (-q "SELECT COUNT(*) FROM D") or a file of them '
            "(--queries), with --tau 5% and --epsilon 0.25. To judge the whole copy without a "
            f"query: {offer}. No table was opened and nothing was spent"
        )
