"""Conjunctions: a query as its head and the conditions of its WHERE, each shape parsed once.

``SELECT SUM(a) FROM D WHERE b = 'x' AND c < 5`` has the head ``SELECT SUM(a) FROM D`` and two
conditions.  Each condition is parsed by itself if all conditions bind tighter than AND; else the
whole WHERE is one condition.  Unusual or wrong SQL has no conjunction here: then the whole query is
parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from sqlglot import exp

from pqd.errors import QueryError
from pqd.sql.expressions import SQL_LIMIT, ExpressionChecker
from pqd.sql.literals import Template, Token, as_double, shaped, tokens
from pqd.sql.parser import quiet, statements
from pqd.sql.predicate import Atom, Predicate, combined, normal_form
from pqd.sql.schema import Schema

_SHAPES = 1024
_BEFORE = "SELECT COUNT(*) FROM D WHERE "
# Expressions that bind tighter than AND.
_TIGHT = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Like, exp.ILike, exp.Is, exp.Not, exp.Paren, exp.Column),
)
# Predicate of a shape, with templates in place of the SQL of its atoms.
_Parts = Template | tuple[Literal["and", "or"], tuple["_Parts", ...]]


class Conjunction(NamedTuple):
    """Query as its ``head`` and the conditions joined by AND, each with its literals."""

    head: str
    conditions: tuple[tuple[Condition, tuple[str, ...]], ...]

    @property
    def where(self) -> str:
        """Conditions as the parser prints them."""
        return " AND ".join(condition.sql(literals) for condition, literals in self.conditions)

    @property
    def mentioned(self) -> frozenset[str]:
        """Names of the columns in the conditions, as written."""
        return frozenset().union(*(condition.mentioned for condition, _ in self.conditions))

    def resolved(
        self, schema: Schema, tables: frozenset[str]
    ) -> tuple[Predicate, frozenset[str]] | None:
        """Predicate and columns; None if the whole query must be parsed, which reports errors."""
        parts: dict[Predicate, None] = {}
        columns: set[str] = set()
        for condition, literals in self.conditions:
            found = condition.resolved(schema, tables)
            doubles = list(map(as_double, literals))
            if found is None or None in doubles:
                return None
            parts[_filled(found.parts, [text for text in doubles if text])] = None
            columns |= found.columns
        return combined("and", tuple(parts)), frozenset(columns)


def conjunction(sql: str) -> Conjunction | None:
    """Conjunction that the query plainly is, else None."""
    found = tokens(sql) if len(sql) <= SQL_LIMIT else None
    spans = _spans(found) if found else None
    if not found or not spans:
        return None
    head = sql[: found[spans[0][0] - 1].start]
    several = _conditions(sql, found, spans)
    if several and all(condition.is_tight for condition, _ in several):
        return Conjunction(head, several)
    whole = _conditions(sql, found, [(spans[0][0], len(found))])
    return Conjunction(head, whole) if whole else None


def _conditions(
    sql: str, found: Sequence[Token], spans: Sequence[tuple[int, int]]
) -> tuple[tuple[Condition, tuple[str, ...]], ...] | None:
    """Conditions in ``spans`` of the tokens; None if one of them cannot be parsed by itself."""
    conditions = []
    for first, last in spans:
        start, end = found[first].start, found[last - 1].end
        form = shaped(sql[start:end], found[first:last], start)
        condition = _condition(form.shape, len(form.literals)) if form else None
        if form is None or condition is None:
            return None
        conditions.append((condition, form.literals))
    return tuple(conditions)


def _spans(found: Sequence[Token]) -> list[tuple[int, int]] | None:
    """Range of tokens (first, end) of each condition; None without conditions."""
    depth, start, between = 0, 0, False
    spans = []
    for place, (kind, text, _) in enumerate(found):
        if kind in {"end", "comment"}:
            return None
        depth += (kind == "open") - (kind == "close")
        word = text.upper() if kind == "word" and not depth else ""
        if word == "WHERE":
            if start:
                return None
            start = place + 1
        elif start and word == "BETWEEN":
            between = True
        elif start and word == "AND":
            if not between:
                spans.append((start, place))
                start = place + 1
            between = False
    spans.append((start, len(found)))
    return spans if start and all(first < last for first, last in spans) else None


@lru_cache(_SHAPES)
def _condition(shape: str, number: int) -> Condition | None:
    """Condition of a shape with ``number`` stand-ins; None if it cannot be parsed by itself."""
    try:
        nodes = statements(_BEFORE + shape)
    except QueryError:
        return None
    select = nodes[0]
    if len(nodes) > 1 or {name for name, value in select.args.items() if value} != {
        "expressions",
        "from_",
        "where",
    }:
        return None
    condition = Condition(shape, number, select.args["where"].this)
    return condition if condition.is_whole else None


class Condition:
    """Condition of one shape, and its predicate under the schema used last."""

    def __init__(self, shape: str, number: int, root: exp.Expr) -> None:
        """Take the tree of a ``shape`` with ``number`` stand-ins."""
        self._shape, self._number, self._root = shape, number, root
        self._sql = Template(root.sql(dialect="duckdb"))
        self.mentioned = frozenset(column.name for column in root.find_all(exp.Column))
        self._last: tuple[frozenset[str], Schema, _Resolved | None] | None = None

    @property
    def is_tight(self) -> bool:
        """Whether the condition binds tighter than AND."""
        return isinstance(self._root, _TIGHT)

    @property
    def is_whole(self) -> bool:
        """Whether the condition's SQL has every literal once."""
        return sorted(self._sql.numbers) == list(range(self._number))

    def sql(self, literals: Sequence[str]) -> str:
        """SQL of the condition, as the parser prints it."""
        return self._sql.filled(literals)

    def resolved(self, schema: Schema, tables: frozenset[str]) -> _Resolved | None:
        """Predicate and columns; None if the condition must be parsed as a part of its query."""
        last = self._last
        if last is None or last[0] != tables or last[1] != schema:
            self._last = last = tables, dict(schema), self._read(schema, tables)
        return last[2]

    def _read(self, schema: Schema, tables: frozenset[str]) -> _Resolved | None:
        checker = ExpressionChecker(self._shape, schema, tables)
        try:
            with quiet():
                parts = _parts(normal_form(checker.predicate(self._root)))
        except (QueryError, RecursionError):
            # The condition is wrong, or a stand-in makes it wrong, for example in place of a date.
            return None
        whole = sorted(_numbers(parts)) == list(range(self._number))
        return _Resolved(parts, frozenset(checker.columns)) if whole else None


class _Resolved(NamedTuple):
    """Predicate of a shape, and the columns of the schema that it names."""

    parts: _Parts
    columns: frozenset[str]


def _parts(predicate: Predicate) -> _Parts:
    if isinstance(predicate, Atom):
        return Template(predicate.sql)
    return predicate.how, tuple(map(_parts, predicate.parts))


def _numbers(parts: _Parts) -> list[int]:
    if isinstance(parts, Template):
        return parts.numbers
    return [number for part in parts[1] for number in _numbers(part)]


def _filled(parts: _Parts, literals: Sequence[str]) -> Predicate:
    if isinstance(parts, Template):
        return Atom(parts.filled(literals))
    how, several = parts
    return combined(how, tuple(dict.fromkeys(_filled(part, literals) for part in several)))
