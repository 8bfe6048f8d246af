"""Queries from text: one SQL string, several, a ``.sql`` file, or a ``.csv`` list of them."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import TokenType, exp, tokenize
from sqlglot.errors import SqlglotError

from pqd.errors import NothingSelectedError, QueryError
from pqd.query import Query

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ID = re.compile(r"--[ \t]*id:[ \t]*(\S+)")
_LIMIT = 10_000_000


def as_queries(queries: str | Query | Iterable[str | Query]) -> tuple[Query, ...]:
    """Return ``queries`` parsed, each with an id of its own (``q1``, ``q2``, ... by default).

    Raises
    ------
    NothingSelectedError
        If there is none.
    QueryError
        If one is not understood, or an id stands twice; the message names the query.
    """
    given = [queries] if isinstance(queries, (str, Query)) else list(queries)
    if not given:
        raise NothingSelectedError("there is no query to answer; give one with -q or --queries")
    names = {query.id for query in given if isinstance(query, Query) and query.id}
    free = (name for name in (f"q{number}" for number in count(1)) if name not in names)
    parsed = [_named(number, query, free) for number, query in enumerate(given, start=1)]
    ids = [query.id for query in parsed]
    twice = sorted({str(name) for name in ids if ids.count(name) > 1})
    if twice:
        raise QueryError(f"two queries have the id {', '.join(twice)}; ids must differ")
    return tuple(parsed)


def _named(number: int, query: object, free: Iterator[str]) -> Query:
    """Return a query with an id: its own, else the next one that is free."""
    if isinstance(query, Query):
        return query if query.id else replace(query, id=next(free))
    if not isinstance(query, str):
        raise QueryError(f"query {number} is a {type(query).__name__}; give SQL or a pqd.Query")
    return Query(query, next(free))


def read_queries(path: str | Path) -> tuple[Query, ...]:
    """Read a workload file.

    A ``.sql`` file holds statements that end in ``;``; a line ``-- id: NAME`` before one names it.
    A ``.csv`` file has the columns ``id, aggregate, attribute, where_sql``.

    Raises
    ------
    QueryError
        If the file cannot be read, or a query in it is not understood.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise QueryError(f"the query file {path} cannot be read: there is no such file") from None
    except (OSError, UnicodeDecodeError):
        raise QueryError(f"the query file {path} cannot be read as text") from None
    if len(text) > _LIMIT:
        raise QueryError(f"the query file {path} is larger than {_LIMIT:,} characters")
    pairs = _from_csv(text) if path.suffix.lower() == ".csv" else _from_sql(text)
    found = []
    for number, (name, sql) in enumerate(pairs, start=1):
        label = name or f"q{number}"
        try:
            found.append(Query(sql, name))
        except QueryError as error:
            raise QueryError(f"{path.name}, query {label}: {error}") from None
    return tuple(found)


def _from_sql(text: str) -> Iterator[tuple[str | None, str]]:
    """Split at semicolons that are not inside a string or comment."""
    try:
        tokens = tokenize(text, read="duckdb")
    except SqlglotError:
        raise QueryError("the query file is not SQL; check its quotes") from None
    before = 0
    first = last = None
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON:
            first = token.start if first is None else first
            last = token.end + 1
        elif first is not None:
            yield _name(text[before:first]), text[first:last]
            first = None
        if token.token_type == TokenType.SEMICOLON:
            before = token.end + 1
    if first is not None:
        yield _name(text[before:first]), text[first:last]


def _name(comments: str) -> str | None:
    names = _ID.findall(comments)
    return names[-1] if names else None


def _from_csv(text: str) -> Iterator[tuple[str | None, str]]:
    rows = csv.DictReader(io.StringIO(text))
    needed = {"aggregate", "where_sql"}
    if not needed <= set(rows.fieldnames or ()):
        raise QueryError("a query list needs the columns id, aggregate, attribute, where_sql")
    try:
        for row in rows:
            yield row.get("id") or None, _statement(row)
    except csv.Error:
        raise QueryError("the query list is not a CSV; check its quotes") from None


def _statement(row: dict[str, str]) -> str:
    attribute = (row.get("attribute") or "*").strip()
    operand = "*" if attribute == "*" else exp.to_identifier(attribute).sql(dialect="duckdb")
    where = (row.get("where_sql") or "").strip()
    aggregate = (row.get("aggregate") or "").strip()
    if not aggregate.isidentifier():
        raise QueryError("a row of the query list has no aggregate, such as COUNT")
    return f"SELECT {aggregate}({operand}) FROM D" + (f" WHERE {where}" if where else "")
