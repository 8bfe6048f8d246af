"""Literals: SQL apart from its constants, since thousands of queries have few shapes.

A literal is a text in single quotes or a number, as written.  A *shape* is SQL in which each
literal is replaced by a stand-in.  SQL that is not plainly understood here has no tokens: prefixed
or adjoining texts, comments in /* */, parameters, letters beyond ASCII outside quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import sqlglot
from sqlglot import exp

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
# Stand-ins: a text of private use characters, and an improbable number.
_FIRST, _MOST = 738_150_294_000, 1000
_STAND_IN = re.compile(r"'\ue000(\d+)\ue001'|\b738150294(\d\d\d)(?:\.0e0)?\b")
_SHAPES = 1024


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
    """Tokens of SQL without spaces; None if any token is not plainly understood."""
    found = []
    end = 0
    while match := _TOKEN.match(sql, end):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        found.append(Token(kind, sql[start:end], start))
    return None if sql[end:].strip(" \t\r\n") else found


class Shaped(NamedTuple):
    """SQL as its shape and its literals in order."""

    shape: str
    literals: tuple[str, ...]


def shaped(sql: str, parts: Sequence[Token], offset: int = 0) -> Shaped | None:
    """Shape and literals of ``sql``, whose tokens are ``parts``; None for too many literals.

    ``offset`` is the place of ``sql`` in the text to which the tokens' places refer.
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
    """SQL made from a shape; each literal of the shape occurs once."""

    def __init__(self, sql: str) -> None:
        """Find the stand-ins in ``sql``."""
        self._pieces = _STAND_IN.split(sql)
        # Three pieces for each stand-in: the SQL before it, its number if it stands for a text, and
        # its number if it stands for a number.
        pairs = zip(self._pieces[1::3], self._pieces[2::3], strict=True)
        self.numbers = [int(text or number) for text, number in pairs]
        del self._pieces[2::3]

    def filled(self, literals: Sequence[str]) -> str:
        """SQL with ``literals`` in their places."""
        pieces = self._pieces.copy()
        pieces[1::2] = [literals[number] for number in self.numbers]
        return "".join(pieces)


def as_double(literal: str) -> str | None:
    """Literal as DuckDB must read it: a number is a DOUBLE (with exponent); None if infinite."""
    if literal.startswith("'"):
        return literal
    number = float(literal)
    text = repr(number)
    return (text if "e" in text else text + "e0") if math.isfinite(number) else None


@lru_cache(4 * _SHAPES)
def condition_tree(sql: str) -> exp.Expr:
    """Tree of a condition, only to be read: the same text gives the same tree.

    Conditions of the same shape share a parse, so places in the tree are those of the shape.

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
    """Parsed shape, and for each of its literals the number of the stand-in, if it is one."""

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
