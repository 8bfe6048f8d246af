"""Carets below a line of text, wherever the line is broken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import zip_longest

from rich.cells import cell_len

from pqd.reports.text.escape import visible


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
