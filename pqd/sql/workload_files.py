"""Queries from text: SQL strings, a ``.sql`` file, or a ``.csv`` list."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from pqd.deciders.names import near_hint, nearest_names
from pqd.deciders.options import option
from pqd.errors import (
    MOST_MISTAKES,
    NO_PERMISSION,
    NothingSelectedError,
    PqdError,
    QueryError,
    for_all,
)
from pqd.sql.file_statements import (
    BINS,
    TAU,
    WEIGHT,
    Mistake,
    Statement,
    list_statements,
    sql_statements,
)
from pqd.sql.grouping import BINS_OR_GROUPS, Bins
from pqd.sql.query import Query, read_weight
from pqd.sql.tolerance import Tolerance

_LIMIT = 10_000_000
_KINDS = {".sql", ".csv"}


def as_queries(
    queries: str | Query | Iterable[str | Query], bins: str | None = None
) -> tuple[Query, ...]:
    """``queries`` parsed, each with its own id (``q1``, ``q2``, ... by default).

    A query with bins becomes one query for each bin; ``bins`` is for queries without own bins.

    Raises
    ------
    NothingSelectedError
        If there is no query.
    QueryError
        If a query is not understood, or an id occurs twice; the message names the query.
    ParameterError
        If bins are not understood.
    """
    try:
        stated = [queries] if isinstance(queries, (str, Query)) else list(queries)
    except TypeError:
        kind = type(queries).__name__
        message = f"the queries are a {kind}; give SQL, a pqd.Query, or a list of these"
        raise QueryError(message) from None
    if not stated:
        raise NothingSelectedError(f"there is no query to answer; give one ({option('--queries')})")
    names = {query.id for query in stated if isinstance(query, Query) and query.id}
    free = (name for name in (f"q{number}" for number in count(1)) if name not in names)
    single = len(stated) == 1
    parsed = for_all(
        lambda each: _named(*each, free, named=not single), list(enumerate(stated, start=1))
    )
    ids = Counter(query.id for query in parsed)
    twice = sorted(str(name) for name, number in ids.items() if number > 1)
    if twice:
        raise QueryError(f"two queries have the id {', '.join(twice)}; ids must differ")
    return tuple(each for query in parsed for each in _binned(query, bins))


def _binned(query: Query, bins: str | None) -> tuple[Query, ...]:
    stated = bins if query.bins is None else query.bins
    return (query,) if stated is None else Bins.parse(stated).of(query)


def _named(number: int, query: object, free: Iterator[str], *, named: bool) -> Query:
    """Query with an id: its own, else the next free id; ``named``: an error begins with the id."""
    if isinstance(query, Query):
        return query if query.id else replace(query, id=next(free))
    if not isinstance(query, str):
        raise QueryError(f"query {number} is a {type(query).__name__}; give SQL or a pqd.Query")
    name = next(free)
    try:
        return Query(query, name)
    except QueryError as error:
        if named:
            error.args = (f"query {name}: {error}",)
        raise


def read_queries(path: str | Path, tables: Iterable[str | Path] = ()) -> tuple[Query, ...]:
    """Queries of a workload file, which must not be a file of the run's ``tables``.

    In a ``.sql`` file each statement ends in ``;``.  Lines ``-- id: NAME``, ``-- tau: 5%``,
    ``-- bins: age=0:100:10`` and ``-- weight: 3`` before a statement state its name, tolerance,
    bins and weight.  A ``.csv`` file has the columns ``id, sql`` or ``id, aggregate, attribute,
    where_sql``, and ``tau``, ``bins`` and ``weight`` if they are stated.

    Raises
    ------
    QueryError
        If the file cannot be read, or queries in it are not understood: the message names up to 20
        mistakes.  The message quotes the file only if the file is known to hold queries, since the
        user may have named a private table by mistake.
    """
    path = Path(path)
    text, kind = _text(path, tables)
    statements = list_statements(text, path) if kind == ".csv" else sql_statements(text, path)
    queries, mistakes = [], []
    lines: dict[str, int] = {}
    for number, statement in enumerate(statements, start=1):
        query, own = _query(statement)
        first = lines.setdefault(statement.id, statement.line) if statement.id else statement.line
        if first != statement.line:
            own.append(Mistake(statement.line, f"line {first} has that id; ids must differ"))
        label = statement.id or f"q{number}"
        mistakes += [f"{path.name}, line {line}, query {label}: {text}" for line, text in own]
        if query:
            queries.append((label, query))
    if mistakes:
        more = len(mistakes) - MOST_MISTAKES
        last = [f"{path.name}: and {more:,} more mistakes"] if more > 0 else []
        error = QueryError("\n".join([*mistakes[:MOST_MISTAKES], *last]))
        error.understood = tuple(replace(query, id=label) for label, query in queries)
        raise error
    return tuple(query for _, query in queries)


def _query(statement: Statement) -> tuple[Query | None, list[Mistake]]:
    """Query of a statement, and all mistakes in the query and in the values stated beside it."""
    mistakes, line = list(statement.mistakes), statement.line
    stated: dict[str, str] = {}
    for name, parse in ((TAU, Tolerance.parse), (BINS, Bins.parse), (WEIGHT, read_weight)):
        if value := statement.stated.get(name):
            try:
                parse(value)
                stated[name] = value
            except PqdError as error:
                mistakes.append(Mistake(line, str(error)))
    if not statement.sql or not statement.is_whole:
        return None, mistakes
    try:
        query = Query(
            statement.sql,
            statement.id,
            tau=stated.get(TAU),
            bins=stated.get(BINS),
            weight=stated.get(WEIGHT),
        )
        if query.bins and query.group_by:
            mistakes.append(Mistake(line, BINS_OR_GROUPS))
    except QueryError as error:
        query = None
        mistakes.append(Mistake(line, str(error)))
    return query, [*mistakes, *statement.misplaced]


def _text(path: Path, tables: Iterable[str | Path]) -> tuple[str, str]:
    """Text of a regular file, and the suffix of its name after links are followed."""
    file = _regular(path)
    kind = file.suffix.lower() if file else ""
    if file is None or kind not in _KINDS:
        raise QueryError(
            f"the query file {path} cannot be read: it must be, or link to, a file whose name ends "
            "in .sql or .csv"
        )
    if any(_same_file(file, table) for table in tables):
        raise QueryError(f"the query file {path} is a table of this run; name a file of queries")
    # Raise outside the handlers: the errors that they catch hold the text of the file.
    text, reason = None, "cannot be read"
    try:
        with file.open(encoding="utf-8-sig") as opened:
            text = opened.read(_LIMIT + 1)
    except PermissionError:
        reason = f"may not be read: {NO_PERMISSION}"
    except UnicodeDecodeError:
        reason = "is not text in UTF-8; save it as UTF-8 (is it a table?)"
    except OSError:
        pass
    if text is None:
        raise QueryError(f"the query file {path} {reason}")
    if len(text) > _LIMIT:
        raise QueryError(f"the query file {path} is larger than {_LIMIT:,} characters")
    return text, kind


def _regular(path: Path) -> Path | None:
    """Regular file that a path leads to; None if it leads to something else."""
    try:
        file = path.resolve()
        mode = file.stat().st_mode
    except FileNotFoundError:
        near = near_hint(
            nearest_names(path.name, [each.name for each in path.parent.glob("*.sql")])
        )
        message = f"the query file {path} cannot be read: there is no such file{near}"
        raise QueryError(message) from None
    except PermissionError:
        raise QueryError(f"the query file {path} may not be read: {NO_PERMISSION}") from None
    except (OSError, ValueError, RuntimeError):
        return None
    return file if stat.S_ISREG(mode) else None


def _same_file(file: Path, table: str | Path) -> bool:
    with suppress(OSError, ValueError):
        return file.samefile(table)
    return False
