"""Lines of the tables and keys in a TOML text, since tomllib gives no lines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

Where = tuple[str | int, ...]

# A text without closing quotes is one token to the end of the file, so that the statement in which
# it begins is known.
_TOKEN = re.compile(
    r'"""(?:\\.?|[^\\])*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'[^'\n]*'?"
    r"|\#[^\n]*"
    r"|[\[\]{}=\n]"
    r"|[^\"'#\[\]{}=\n]+",
    re.DOTALL,
)


class Places:
    """Line of every table and key; ``("check", 2, "tau")`` is the tau of the third check."""

    def __init__(self, text: str) -> None:
        """Find the places in ``text``, which is TOML."""
        self._lines: dict[Where, int] = {}
        self._last: dict[Where, int] = {}
        table: Where = ()
        for line, head in statements(text):
            names = _names(head)
            if head.startswith("[["):
                where = table = self._next_element(names)
            elif head.startswith("["):
                where = table = self._indexed(names)
            else:
                where = table + names
            for depth in range(1, len(where) + 1):
                self._lines.setdefault(where[:depth], line)

    def line(self, where: Where) -> int:
        """Line, from 1, of a place; if it is missing, of the nearest table around it."""
        for depth in range(len(where), 0, -1):
            if where[:depth] in self._lines:
                return self._lines[where[:depth]]
        return 1

    def _next_element(self, names: Where) -> Where:
        array = (*self._indexed(names[:-1]), names[-1])
        self._last[array] = self._last.get(array, -1) + 1
        return (*array, self._last[array])

    def _indexed(self, names: Where) -> Where:
        """Place of a header: its names; after each array comes the index of its last element."""
        where: Where = ()
        for name in names:
            where = (*where, name)
            if where in self._last:
                where = (*where, self._last[where])
        return where


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Line and head of each statement; the head is a header, or the text before the ``=``.

    A text or a list may span several lines.  A line inside it is never taken as a header.
    """
    line = begun = 1
    depth, start, end = 0, -1, -1
    for token in _TOKEN.finditer(text + "\n"):
        sign = token[0]
        if sign == "\n" and depth == 0:
            if start >= 0:
                yield begun, text[start : end if end >= 0 else token.start()].strip()
            start = end = -1
        elif start < 0 and not sign.isspace() and sign[0] != "#":
            start, begun = token.start(), line
        if start >= 0 and end < 0 and (sign == "=" or sign[0] == "#"):
            end = token.start()
        depth = max(0, depth + (sign in {"[", "{"}) - (sign in {"]", "}"}))
        line += sign.count("\n")
    if start >= 0:
        yield begun, text[start : end if end >= 0 else len(text)].strip()


def longest_dotted_key(text: str) -> tuple[int, int]:
    """Number of dots in the longest dotted key or header, and its line."""
    most, where, dots, line = 0, 1, 0, 1
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in {"=", "\n", "[", "]", "{", "}"}:
            dots = 0
        elif sign[0] not in "\"'#":
            # A comma separates two keys of an inline table, or two numbers of a list.
            for number, part in enumerate(sign.split(",")):
                dots = part.count(".") + (0 if number else dots)
                if dots > most:
                    most, where = dots, line
        line += sign.count("\n")
    return most, where


def _names(head: str) -> Where:
    """Names in a head, without quotes: ``a."b c"`` has the names ``a`` and ``b c``."""
    node: Any = tomllib.loads(head if head.startswith("[") else f"{head} = 0")
    names: list[str] = []
    while node and isinstance(node, (dict, list)):
        if isinstance(node, list):
            node = node[0]
        else:
            ((name, node),) = node.items()
            names.append(name)
    return tuple(names)
