"""Text from queries and file names, made harmless for a terminal and for a build's log."""

from __future__ import annotations

import math
import re
import shlex
import unicodedata
from collections.abc import Iterator
from itertools import zip_longest

from rich.cells import cell_len

# Controls, formats (such as reversed direction), halves of characters, line and page separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# What the runner of a build obeys in a log: "::name" where a line begins (GitHub), and anywhere
# "##[name" (GitHub, Azure), "##vso[name" (Azure), "##teamcity[name".
_OBEYED = re.compile(r"(?P<begun>(?:^|[\r\n])\s*):(?=:)|##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)


def visible(text: str, *, keep: str = "") -> str:
    """Text with every sign that a terminal would obey written out as an escape.

    Signs in ``keep`` are left as they are.
    """
    return "".join(
        sign.encode("unicode_escape").decode()
        if unicodedata.category(sign) in _HIDDEN and sign not in keep
        else sign
        for sign in text
    )


def quoted(text: str) -> str:
    """Text as one word of a command line, with every sign written out that a terminal obeys."""
    return shlex.quote(visible(text))


def inert(text: str) -> str:
    """Text without a command to the runner of a build that reads its lines.

    One sign of it is written as JSON would escape it, so that JSON says what it said.
    """
    return _OBEYED.sub(
        lambda found: "#\\u0023" if found["begun"] is None else f"{found['begun']}\\u003a", text
    )


def caret_lines(line: str, carets: str, width: float = math.inf) -> Iterator[str]:
    """Pieces of ``width`` cells of a line and its carets, the carets below what they mark.

    Signs that take two cells, or are written out, have as many carets; every piece is indented
    as the line is.
    """
    indent = " " * min(len(line) - len(line.lstrip(" ")), 8)
    shown = under = ""
    for sign, caret in zip_longest(line, carets[: len(line) + 1], fillvalue=" "):
        piece = visible(sign)
        if cell_len(shown + piece) > width and shown != indent:
            yield from _pair(shown, under)
            shown = under = indent
        shown, under = shown + piece, under + caret * cell_len(piece)
    yield from _pair(shown, under)


def _pair(shown: str, under: str) -> Iterator[str]:
    if shown.strip():
        yield shown.rstrip()
    if under.strip():
        yield under.rstrip()
