"""Escapes that make text from queries and file names harmless on a terminal and in a build log."""

from __future__ import annotations

import math
import re
import shlex
import unicodedata
from collections.abc import Iterator
from itertools import zip_longest

from rich.cells import cell_len

# Categories of hidden signs: control signs, format signs (such as a reversed direction of text),
# halves of characters, line separators and paragraph separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Text in a log that the runner of a build takes as a command: "::name" at the start of a line
# (GitHub), and anywhere "##[name" (GitHub, Azure), "##vso[name" (Azure) and "##teamcity[name".
_OBEYED = re.compile(r"(?P<begun>(?:^|[\r\n])\s*):(?=:)|##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)


def visible(text: str, *, keep: str = "") -> str:
    """Text in which an escape replaces every hidden sign that a terminal would obey.

    Signs in ``keep`` stay unchanged.
    """
    return "".join(
        sign.encode("unicode_escape").decode()
        if unicodedata.category(sign) in _HIDDEN and sign not in keep
        else sign
        for sign in text
    )


def quoted(text: str) -> str:
    """Text as one word of a command line, with escapes in place of hidden signs."""
    return shlex.quote(visible(text))


def inert(text: str) -> str:
    """Text without commands to the runner of a build, which reads the lines of a log.

    One sign of each command is replaced by its JSON escape, so the meaning of JSON text stays.
    """
    return _OBEYED.sub(
        lambda found: "#\\u0023" if found["begun"] is None else f"{found['begun']}\\u003a", text
    )


def caret_lines(line: str, carets: str, width: float = math.inf) -> Iterator[str]:
    """Pieces of a line, ``width`` cells wide at most, each with its carets on the next line.

    A sign that takes several cells, because it is wide or escaped, has a caret below each of them.
    All pieces have the indent of the line.  A piece ends after a blank if it has one, else within a
    word.
    """
    indent = " " * min(len(line) - len(line.lstrip(" ")), 8)
    shown = under = ""
    for sign, caret in zip_longest(line, carets[: len(line) + 1], fillvalue=" "):
        piece = visible(sign)
        if cell_len(shown + piece) > width and shown != indent:
            at = len(shown) if sign == " " else shown.rfind(" ") + 1
            at = at if at > len(indent) else len(shown)
            cells = cell_len(shown[:at])
            yield from _pair(shown[:at], under[:cells])
            shown, under = indent + shown[at:], indent + under[cells:]
            if sign == caret == " ":
                continue
        shown, under = shown + piece, under + caret * cell_len(piece)
    yield from _pair(shown, under)


def _pair(shown: str, under: str) -> Iterator[str]:
    if shown.strip():
        yield shown.rstrip()
    if under.strip():
        yield under.rstrip()
