"""SQL text as trees: sqlglot's parser, with its errors turned into QueryError."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from pqd.errors import QueryError

TOO_DEEP = "the query is nested too deeply; write it with fewer parentheses"


def statements(sql: str) -> list[exp.Expr]:
    """Statements in a text, each a tree that can be printed again.

    Raises
    ------
    QueryError
        If the text is not SQL; the message marks the place if it is known.
    """
    try:
        with quiet():
            nodes = [node for node in sqlglot.parse(sql, read="duckdb") if node]
            # Some odd texts give broken trees, which fail only when they are printed.
            for node in nodes:
                node.sql(dialect="duckdb")
    except ParseError as error:
        raise _malformed(sql, error) from None
    except RecursionError:
        raise QueryError(TOO_DEEP, sql) from None
    except Exception:  # noqa: BLE001 - sqlglot fails on odd texts by whatever its own code raises
        raise QueryError("this is not SQL; check quotes and parentheses", sql) from None
    return nodes


@contextmanager
def quiet() -> Iterator[None]:
    """Silence sqlglot's log of fallbacks and unsupported SQL: our refusal reports them."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _malformed(sql: str, error: ParseError) -> QueryError:
    first = error.errors[0] if error.errors else {}
    highlight, before = first.get("highlight") or "", first.get("start_context") or ""
    start = len(before) if before and sql.startswith(before) else sql.find(highlight)
    description = str(first.get("description") or "").rstrip(".")
    if not description or "<" in description:
        description = "something is missing here"
    message = (
        f"malformed SQL: {description}; a column whose name is more than letters, digits and _, "
        'or a word of SQL, takes double quotes, such as "hours per week"'
    )
    if start < 0 or not highlight:
        return QueryError(message, sql)
    return QueryError(message, sql, start, start + len(highlight))
