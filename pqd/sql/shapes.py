"""Shapes: conditions without their constants; thousands of queries share a few shapes.

``SELECT SUM(a) FROM D WHERE b = 'x' AND c < 5`` has the head ``SELECT SUM(a) FROM D`` and two
conditions.  The second condition consists of the *shape* ``c < [0]`` and the literal ``5``.  [0] is
a *stand-in*, an improbable text or number in place of the literal.  Every head and every shape is
parsed once.  If a part between two ANDs binds looser than AND (it has an OR, for example), the
whole WHERE is one condition.

SQL has no shape and is parsed as a whole if it has prefixed or adjoining texts, comments,
parameters, letters beyond ASCII outside quotes, or a mistake.  The error on a mistake then marks
its place in the text of the user.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from pqd.errors import QueryError
from pqd.sql.expressions import SQL_LIMIT, ExpressionChecker, double_text
from pqd.sql.predicate import Atom, Predicate, atoms, combined, normal_form
from pqd.sql.schema import Schema
from pqd.sql.select import BoundExpression, Select, quiet

_TOKEN = re.compile(
    r"""
    [ \t\r\n]*
    (?:
        (?P<word>[A-Za-z_][A-Za-z_0-9]*) (?![\w'"])
        | (?P<text>'(?:[^'\ud800-\udfff]|'')*') (?![\w'"])
        | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?) (?![\w.'"])
        | (?P<sign>[=<>!,+*] | - (?!-) | \. (?=[A-Za-z_"]))
        | (?P<open>\() | (?P<close>\)) | (?P<end>;) | (?P<comment>--[^\r\n]*)
        | (?P<name>"(?:[^"\ud800-\udfff]|"")+") (?![\w'"])
    )
    """,
    re.VERBOSE,
)
# A stand-in is a text of Unicode's private use characters, or a number from _FIRST on.
_FIRST, _MOST_LITERALS = 738_150_294_000, 1000
_STAND_IN = re.compile(r"'\ue000(\d+)\ue001'|\b738150294(\d\d\d)(?:\.0e0)?\b")
_MOST_SHAPES = 1024
# Expressions that bind tighter than AND.
_TIGHT = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Like, exp.ILike, exp.Is, exp.Not, exp.Paren, exp.Column),
)


class Token(NamedTuple):
    """Token of SQL with its text and place.

    ``kind`` is word, name (in double quotes), text, number, sign, open, close, end or comment.
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Place after the token's last character."""
        return self.start + len(self.text)


def tokens(sql: str) -> list[Token] | None:
    """Tokens of SQL, spaces left out; None if a part of the text is no known token."""
    plain = []
    end = 0
    while match := _TOKEN.match(sql, end):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        plain.append(Token(kind, sql[start:end], start))
    return None if sql[end:].strip(" \t\r\n") else plain


class Conjunction(NamedTuple):
    """Query as its ``head`` and the ``conditions`` that AND joins."""

    head: Select
    conditions: tuple[Condition, ...]

    @property
    def where(self) -> str:
        """Conditions as the parser prints them."""
        return " AND ".join(each.shape.sql.filled(each.literals) for each in self.conditions)

    @property
    def mentioned(self) -> frozenset[str]:
        """Names of the columns in the query, as written."""
        return self.head.mentioned.union(*(each.shape.mentioned for each in self.conditions))

    def resolved(self, schema: Schema) -> BoundExpression | None:
        """Query in terms of typed columns; None if the query must be parsed as a whole."""
        try:
            bound = self.head.resolved(schema)
        except QueryError:
            return None
        columns = bound.columns
        parts: list[Predicate] = []
        for shape, literals in self.conditions:
            resolved = shape.resolved(schema, self.head.tables)
            doubles = [text for literal in literals if (text := _as_double(literal))]
            if resolved is None or len(doubles) < len(literals):
                return None
            parts.append(_filled(resolved[0], doubles))
            columns |= resolved[1]
        where = combined("and", tuple(parts))
        predicate = combined("and", (where, bound.predicate)) if bound.predicate else where
        return BoundExpression(predicate, bound.value, columns, where)


class Condition(NamedTuple):
    """Condition: its shape, and its literals in the order of the text."""

    shape: Shape
    literals: tuple[str, ...]


def conjunction(sql: str) -> Conjunction | None:
    """Query as a conjunction; None if the query must be parsed as a whole."""
    plain = tokens(sql) if len(sql) <= SQL_LIMIT else None
    spans = _spans(plain) if plain else None
    if not plain or not spans:
        return None
    head = _head(sql[: plain[spans[0][0] - 1].start])
    conditions = [_condition(sql, plain[first:last]) for first, last in spans]
    if not all(each and isinstance(each.shape.tree, _TIGHT) for each in conditions):
        conditions = [_condition(sql, plain[spans[0][0] :])]
    known = tuple(each for each in conditions if each)
    return Conjunction(head, known) if head and len(known) == len(conditions) else None


@lru_cache(4 * _MOST_SHAPES)
def condition_tree(sql: str) -> exp.Expr:
    """Tree of a condition; the tree is cached, so a caller must not change it.

    Conditions of one shape share one parse, so places in the tree refer to the text of the shape.

    Raises
    ------
    ValueError, RecursionError, SqlglotError
        If the condition is not understood, or is nested too deeply.
    """
    plain = tokens(sql)
    condition = _condition(sql, plain) if plain else None
    tree = condition.shape.filled(condition.literals) if condition else None
    return sqlglot.condition(sql, dialect="duckdb") if tree is None else tree


def _spans(plain: Sequence[Token]) -> list[tuple[int, int]] | None:
    """Range of tokens (first, end) of each condition; None if there is no condition."""
    depth, start, between = 0, 0, False
    spans = []
    for place, (kind, text, _) in enumerate(plain):
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
    spans.append((start, len(plain)))
    return spans if start and all(first < last for first, last in spans) else None


def _condition(sql: str, plain: Sequence[Token]) -> Condition | None:
    """Condition made of tokens of ``sql``; None if the condition cannot be parsed by itself."""
    pieces: list[str] = []
    literals: list[str] = []
    end = plain[0].start
    for kind, text, start in plain:
        if kind in {"text", "number"}:
            number = len(literals)
            stand_in = f"'\ue000{number}\ue001'" if kind == "text" else str(_FIRST + number)
            pieces += [sql[end:start], stand_in]
            literals.append(text)
            end = start + len(text)
    pieces.append(sql[end : plain[-1].end])
    shape = _shape("".join(pieces), len(literals)) if len(literals) <= _MOST_LITERALS else None
    return Condition(shape, tuple(literals)) if shape else None


@lru_cache(_MOST_SHAPES)
def _head(sql: str) -> Select | None:
    """Statement before WHERE; None if it is refused or grouped."""
    try:
        head = Select(sql)
    except (QueryError, RecursionError):
        return None
    return None if head.where or head.group_by else head


@lru_cache(_MOST_SHAPES)
def _shape(text: str, number: int) -> Shape | None:
    """Shape with ``number`` stand-ins; None if the shape cannot be parsed by itself."""
    try:
        with quiet():
            shape = Shape(text, number)
    except Exception:  # noqa: BLE001 - sqlglot fails on odd texts by whatever its own code raises
        return None
    return shape if _each_once(shape.sql.numbers, number) else None


class Shape:
    """Condition with stand-ins, and its predicate under the schema used last.

    ``tree`` is the tree of the condition, and must not be changed; ``sql`` is a template of the
    condition as the parser prints it; ``mentioned`` are the names of its columns, as written.
    """

    def __init__(self, text: str, number: int) -> None:
        """Parse the ``text`` of a condition with ``number`` stand-ins."""
        self.tree = sqlglot.condition(text, dialect="duckdb")
        self.sql = _Template(self.tree.sql(dialect="duckdb"))
        self.mentioned = frozenset(column.name for column in self.tree.find_all(exp.Column))
        self._text, self._number = text, number
        self._last: tuple[frozenset[str], Schema, _Resolved | None] | None = None

    def filled(self, literals: Sequence[str]) -> exp.Expr | None:
        """Tree with ``literals``; None if the tree does not hold each stand-in once."""
        if not _each_once(self._order, self._number):
            return None
        root = self.tree.copy()
        for node, number in zip(root.find_all(exp.Literal), self._order, strict=True):
            text = literals[number]
            node.set("this", text[1:-1].replace("''", "'") if text[0] == "'" else text)
        return root

    @cached_property
    def _order(self) -> list[int]:
        """Numbers of the stand-ins in the order of the tree."""
        literals = self.tree.find_all(exp.Literal)
        return [number for each in literals for number in _Template(each.sql("duckdb")).numbers]

    def resolved(self, schema: Schema, tables: frozenset[str]) -> _Resolved | None:
        """Predicate and columns; None if the condition must be parsed as a part of its query."""
        last = self._last
        if last is None or last[0] != tables or last[1] != schema:
            self._last = last = tables, dict(schema), self._resolved(schema, tables)
        return last[2]

    def _resolved(self, schema: Schema, tables: frozenset[str]) -> _Resolved | None:
        checker = ExpressionChecker(self._text, schema, tables)
        try:
            with quiet():
                parts = _parts(normal_form(checker.predicate(self.tree)))
        except (QueryError, RecursionError):
            # The condition is wrong, or its stand-in is, for example in the place of a date.
            return None
        whole = _each_once(list(_numbers(parts)), self._number)
        return (parts, frozenset(checker.columns)) if whole else None


class _Template:
    """SQL with stand-ins; ``numbers`` are the numbers of the stand-ins, in order."""

    def __init__(self, sql: str) -> None:
        self._pieces = _STAND_IN.split(sql)
        # The split gives three pieces for each stand-in: the SQL before it, its number if it is a
        # text, and its number if it is a number.
        pairs = zip(self._pieces[1::3], self._pieces[2::3], strict=True)
        self.numbers = [int(text or number) for text, number in pairs]
        del self._pieces[2::3]

    def filled(self, literals: Sequence[str]) -> str:
        """SQL with ``literals`` in their places."""
        pieces = self._pieces.copy()
        pieces[1::2] = [literals[number] for number in self.numbers]
        return "".join(pieces)


# Predicate with templates in place of the SQL of its atoms.
_Parts = _Template | tuple[Literal["and", "or"], tuple["_Parts", ...]]
# Parts, and the columns of the schema that they name.
_Resolved = tuple[_Parts, frozenset[str]]


def _parts(predicate: Predicate) -> _Parts:
    if isinstance(predicate, Atom):
        return _Template(predicate.sql)
    return predicate.how, tuple(map(_parts, predicate.parts))


def _numbers(parts: _Parts) -> Iterator[int]:
    if isinstance(parts, _Template):
        yield from parts.numbers
    else:
        for part in parts[1]:
            yield from _numbers(part)


def _filled(parts: _Parts, literals: Sequence[str]) -> Predicate:
    if isinstance(parts, _Template):
        return Atom(parts.filled(literals))
    how, several = parts
    return combined(how, tuple(_filled(part, literals) for part in several))


def _each_once(numbers: Sequence[int], number: int) -> bool:
    return sorted(numbers) == list(range(number))


def _as_double(literal: str) -> str | None:
    """Literal for DuckDB: a number gets an exponent, so it is a DOUBLE; None if it is infinite."""
    if literal.startswith("'"):
        return literal
    number = float(literal)
    return double_text(number) if math.isfinite(number) else None


# Conditions whose constants are looked up.  Ranges such as age > 64 are left out.
_COMPARED = re.compile(r"(?<![<>])=|<>|\bIN\b|\bLIKE\b", re.IGNORECASE)
# Characters with a special meaning in a LIKE pattern.
_WILD = re.compile(r"[%_\\]")


def constants(predicate: Predicate | None) -> Iterator[tuple[str, str | float]]:
    """Yield each column and constant that are compared by =, <>, IN or a LIKE without wildcards."""
    for atom in atoms(predicate) if predicate else ():
        yield from _pairs(atom.sql)


@lru_cache(maxsize=4096)
def _pairs(condition: str) -> tuple[tuple[str, str | float], ...]:
    """Columns and constants of one condition; empty if the condition is nested too deeply."""
    if not _COMPARED.search(condition):
        return ()
    try:
        tree = condition_tree(condition)
    except (ValueError, SqlglotError, RecursionError):
        return ()
    pairs: list[tuple[str, str | float]] = []
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In, exp.Like):
        sides = [node.this, node.args.get("expression"), *node.expressions]
        bare = [side.unnest() for side in sides if isinstance(side, exp.Expr)]
        columns = [side.name for side in bare if isinstance(side, exp.Column)]
        constants = [value for side in bare if (value := _constant(side)) is not None]
        if isinstance(node, exp.Like) and any(_WILD.search(str(each)) for each in constants):
            continue
        if len(columns) == 1:
            pairs.extend((columns[0], constant) for constant in constants)
    return tuple(pairs)


def _constant(side: exp.Expr) -> str | float | None:
    """Text or number on one side of a comparison; None for any other expression."""
    if isinstance(side, exp.Cast):
        side = side.this
    sign = 1.0
    if isinstance(side, exp.Neg):
        side, sign = side.this.unnest(), -1.0
    if not isinstance(side, exp.Literal):
        return None
    if side.is_string:
        return str(side.this) if sign > 0 else None
    try:
        return sign * float(side.this)
    except ValueError:
        return None
