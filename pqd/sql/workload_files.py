"""Queries from text: one SQL string, several, a ``.sql`` file, or a ``.csv`` list of them."""

from __future__ import annotations

import csv
import io
import re
import stat
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import TokenType, exp, tokenize
from sqlglot.errors import SqlglotError

from pqd.errors import NothingSelectedError, QueryError
from pqd.sql.literals import tokens
from pqd.sql.query import Query

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ID = re.compile(r"--[ \t]*id:[ \t]*(\S+)")
_SELECT = re.compile(r"SELECT\s.*\sFROM\b", re.IGNORECASE | re.DOTALL)
_LIMIT = 10_000_000
_KINDS = {".sql", ".csv"}


def as_queries(queries: str | Query | Iterable[str | Query]) -> tuple[Query, ...]:
    """``queries`` parsed, each with an id of its own (``q1``, ``q2``, ... by default).

    Raises
    ------
    NothingSelectedError
        If there is none.
    QueryError
        If one is not understood, or an id stands twice; the message names the query.
    """
    try:
        stated = [queries] if isinstance(queries, (str, Query)) else list(queries)
    except TypeError:
        kind = type(queries).__name__
        message = f"the queries are a {kind}; give SQL, a pqd.Query, or a list of these"
        raise QueryError(message) from None
    if not stated:
        raise NothingSelectedError(
            "there is no query to answer; give SQL or a pqd.Query (-q or --queries)"
        )
    names = {query.id for query in stated if isinstance(query, Query) and query.id}
    free = (name for name in (f"q{number}" for number in count(1)) if name not in names)
    parsed = [_named(number, query, free) for number, query in enumerate(stated, start=1)]
    ids = Counter(query.id for query in parsed)
    twice = sorted(str(name) for name, number in ids.items() if number > 1)
    if twice:
        raise QueryError(f"two queries have the id {', '.join(twice)}; ids must differ")
    return tuple(parsed)


def _named(number: int, query: object, free: Iterator[str]) -> Query:
    """Query with an id: its own, else the next one that is free."""
    if isinstance(query, Query):
        return query if query.id else replace(query, id=next(free))
    if not isinstance(query, str):
        raise QueryError(f"query {number} is a {type(query).__name__}; give SQL or a pqd.Query")
    return Query(query, next(free))


def read_queries(path: str | Path, tables: Iterable[object] = ()) -> tuple[Query, ...]:
    """Read a workload file, which is none of the run's ``tables``.

    A ``.sql`` file holds statements that end in ``;``; a line ``-- id: NAME`` before one names it.
    A ``.csv`` file has the columns ``id, aggregate, attribute, where_sql``.

    Raises
    ------
    QueryError
        If the file cannot be read, or a query in it is not understood.  Nothing of it is quoted
        unless it is known for a file of queries: a private table may be given by mistake.
    """
    path = Path(path)
    text, kind = _text(path, tables)
    pairs = _from_csv(text, path) if kind == ".csv" else _from_sql(text, path)
    queries = []
    for number, (name, sql) in enumerate(pairs, start=1):
        label = name or f"q{number}"
        try:
            queries.append(Query(sql, name))
        except QueryError as error:
            raise QueryError(f"{path.name}, query {label}: {error}") from None
    return tuple(queries)


def _text(path: Path, tables: Iterable[object]) -> tuple[str, str]:
    """Text of a regular file, and the suffix of its name once links are followed."""
    file = _regular(path)
    kind = file.suffix.lower() if file else ""
    if file is None or kind not in _KINDS:
        raise QueryError(
            f"the query file {path} cannot be read: it must be, or link to, a file whose name ends "
            "in .sql or .csv"
        )
    if any(_same_file(file, table) for table in tables):
        raise QueryError(f"the query file {path} is a table of this run; name a file of queries")
    # Raised outside the handler, whose error holds what was read.
    text = None
    with suppress(OSError, UnicodeDecodeError), file.open(encoding="utf-8-sig") as opened:
        text = opened.read(_LIMIT + 1)
    if text is None:
        raise QueryError(f"the query file {path} cannot be read as text")
    if len(text) > _LIMIT:
        raise QueryError(f"the query file {path} is larger than {_LIMIT:,} characters")
    return text, kind


def _regular(path: Path) -> Path | None:
    """File that a path leads to, None if it is none."""
    try:
        file = path.resolve()
        mode = file.stat().st_mode
    except FileNotFoundError:
        raise QueryError(f"the query file {path} cannot be read: there is no such file") from None
    except (OSError, ValueError, RuntimeError):
        return None
    return file if stat.S_ISREG(mode) else None


def _same_file(file: Path, table: object) -> bool:
    place = getattr(table, "path", table)
    with suppress(OSError, ValueError):
        return isinstance(place, (str, Path)) and file.samefile(place)
    return False


def _from_sql(text: str, path: Path) -> list[tuple[str | None, str]]:
    """Statements with their names; the text is SQL if each of them is a SELECT."""
    pairs = list(_statements(text, path))
    for number, (_, sql) in enumerate(pairs, start=1):
        if not _SELECT.match(sql):
            raise QueryError(
                f"the query file {path} holds something else than queries: its statement {number} "
                "is not SELECT ... FROM D; mend it, or name a file of queries"
            )
    return pairs


def _statements(text: str, path: Path) -> Iterator[tuple[str | None, str]]:
    """Split at semicolons that are not inside a string or comment."""
    before = 0
    first = last = None
    for start, end, is_end in _places(text, path):
        if not is_end:
            first = start if first is None else first
            last = end
        elif first is not None:
            yield _name(text[before:first]), text[first:last]
            first = None
        if is_end:
            before = end
    if first is not None:
        yield _name(text[before:first]), text[first:last]


def _places(text: str, path: Path) -> Iterable[tuple[int, int, bool]]:
    """Start and end of each token but comments, and whether it is a semicolon."""
    plain = tokens(text)
    if plain is not None:
        return [(t.start, t.end, t.kind == "end") for t in plain if t.kind != "comment"]
    # Raised outside the handler, whose error quotes the text.
    every = None
    with suppress(SqlglotError):
        every = tokenize(text, read="duckdb")
    if every is None:
        raise QueryError(f"the query file {path} is not SQL; check its quotes")
    return [(t.start, t.end + 1, t.token_type == TokenType.SEMICOLON) for t in every]


def _name(comments: str) -> str | None:
    names = _ID.findall(comments)
    return names[-1] if names else None


def _from_csv(text: str, path: Path) -> Iterator[tuple[str | None, str]]:
    rows = csv.DictReader(io.StringIO(text))
    needed = {"aggregate", "where_sql"}
    if not needed <= set(rows.fieldnames or ()):
        raise QueryError(
            f"the query file {path} is no list of queries, whose first line names the columns id, "
            "aggregate, attribute, where_sql"
        )
    try:
        for row in rows:
            yield row.get("id") or None, _statement(row)
    except csv.Error:
        raise QueryError(f"the query file {path} is not a CSV; check its quotes") from None


def _statement(row: dict[str, str]) -> str:
    attribute = (row.get("attribute") or "*").strip()
    operand = "*" if attribute == "*" else exp.to_identifier(attribute).sql(dialect="duckdb")
    where = (row.get("where_sql") or "").strip()
    aggregate = (row.get("aggregate") or "").strip()
    if not aggregate.isidentifier():
        raise QueryError("a row of the query list has no aggregate, such as COUNT")
    return f"SELECT {aggregate}({operand}) FROM D" + (f" WHERE {where}" if where else "")
