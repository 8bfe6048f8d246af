"""Literals: SQL apart from its constants.  A workload of thousands of queries has few such shapes.

A literal is a text in single quotes or a number, as it is written.  A *shape* is SQL in which a
stand-in has the place of each literal.  What is not plainly understood here has no tokens: prefixed
or adjoining texts, comments in /* */, parameters, letters beyond ASCII outside of quotes.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import sqlglot
from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Sequence

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
# Stand-ins: a text of private use characters, and a number that nobody writes.
_FIRST, _MOST = 738_150_294_000, 1000
_STAND_IN = re.compile(r"'\ue000(\d+)\ue001'|\b738150294(\d\d\d)(?:\.0e0)?\b")
_SHAPES = 1024


class Token(NamedTuple):
    """Token of SQL, its text and place.

    ``kind`` is word, name (in double quotes), text, number, sign, open, close, end or comment.
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Place after its last character."""
        return self.start + len(self.text)


def tokens(sql: str) -> list[Token] | None:
    """Tokens of SQL but for spaces, None if any is not plainly understood."""
    found = []
    end = 0
    while match := _TOKEN.match(sql, end):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        found.append(Token(kind, sql[start:end], start))
    return None if sql[end:].strip(" \t\r\n") else found


class Shaped(NamedTuple):
    """SQL as its shape and its literals, in order."""

    shape: str
    literals: tuple[str, ...]


def shaped(sql: str, parts: Sequence[Token], offset: int = 0) -> Shaped | None:
    """Shape and literals of ``sql``, of which ``parts`` are the tokens; None for too many.

    ``offset`` is the place of ``sql`` in the text that the tokens are places of.
    """
    pieces: list[str] = []
    literals: list[str] = []
    end = 0
    for kind, text, start in parts:
        if kind in {"text", "number"}:
            number = len(literals)
            stand_in = f"'\ue000{number}\ue001'" if kind == "text" else str(_FIRST + number)
            pieces += [sql[end : start - offset], stand_in]
            literals.append(text)
            end = start - offset + len(text)
    if len(literals) > _MOST:
        return None
    return Shaped("".join([*pieces, sql[end:]]), tuple(literals))


class Template:
    """SQL made from a shape, in which each literal of the shape stands once."""

    def __init__(self, sql: str) -> None:
        """Find the stand-ins in ``sql``."""
        self._pieces = _STAND_IN.split(sql)
        # Three pieces a stand-in: what is before it, and its number, as a text's or a number's.
        pairs = zip(self._pieces[1::3], self._pieces[2::3], strict=True)
        self.numbers = [int(text or number) for text, number in pairs]
        del self._pieces[2::3]

    def filled(self, literals: Sequence[str]) -> str:
        """The SQL with ``literals`` in their places."""
        pieces = self._pieces.copy()
        pieces[1::2] = [literals[number] for number in self.numbers]
        return "".join(pieces)


def as_double(literal: str) -> str | None:
    """Literal as DuckDB reads it: a number is a DOUBLE, one with an exponent; None if infinite."""
    if literal.startswith("'"):
        return literal
    number = float(literal)
    text = repr(number)
    return (text if "e" in text else text + "e0") if math.isfinite(number) else None


@lru_cache(4 * _SHAPES)
def condition_tree(sql: str) -> exp.Expr:
    """Tree of a condition, to be read alone: whoever asks again is given the same one.

    One is parsed for a shape, so that places in the text are those of the shape.

    Raises
    ------
    ValueError, RecursionError, SqlglotError
        If it is not understood, or nested too deeply.
    """
    parts = tokens(sql)
    form = shaped(sql, parts) if parts is not None else None
    tree = _tree(form.shape, len(form.literals)) if form and form.literals else None
    if form is None or tree is None:
        return _parsed(sql)
    root = tree.root.copy()
    for node, number in zip(root.find_all(exp.Literal), tree.numbers, strict=True):
        if number is not None:
            literal = form.literals[number]
            node.set("this", literal[1:-1].replace("''", "'") if literal[0] == "'" else literal)
    return root


class _Tree(NamedTuple):
    """Parsed shape, and which stand-in each of its literals is, if any."""

    root: exp.Expr
    numbers: tuple[int | None, ...]


@lru_cache(_SHAPES)
def _tree(shape: str, number: int) -> _Tree | None:
    root = _parsed(shape)
    literals = [Template(node.sql(dialect="duckdb")) for node in root.find_all(exp.Literal)]
    numbers = tuple(literal.numbers[0] if literal.numbers else None for literal in literals)
    whole = sorted(n for n in numbers if n is not None) == list(range(number))
    return _Tree(root, numbers) if whole else None


def _parsed(sql: str) -> exp.Expr:
    return sqlglot.condition(sql, dialect="duckdb")
