"""Texts of a page: hidden signs are written out, and lines are broken where a reader expects it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING

from pqd.reports import blocks as b
from pqd.reports.escape import caret_lines, visible
from pqd.reports.text.numbers import UNITS

if TYPE_CHECKING:
    from markupsafe import Markup

# Cells per line of a code with carets, as many as a page has room for.
_WIDTH = 72
# Option such as --dry-run; a browser would break it at a hyphen.
_OPTION = re.compile(r"(--[a-z]+(?:-[a-z]+)*)")
# Word that may be wider than a column, and its places at which a line may be broken: behind a sign
# between two parts, else behind so many letters.
_MOST = 24
_LONG = re.compile(rf"\S{{{_MOST + 1},}}")
_PART = re.compile(rf"[_./](?=[^_./])|[^_./-]{{{_MOST}}}(?=[^_./-])")


def harmless(text: str) -> str:
    """Text in which every hidden sign is written as an escape; line ends stay."""
    return text if text.isprintable() else visible(text, keep="\n")


def bound(text: str) -> str:
    """Harmless text in which no number is separated from its unit."""
    return UNITS.sub("\N{NO-BREAK SPACE}", harmless(text))


def titled(column: b.Column) -> str:
    """Title of a column with a capital at its start; unchanged if a user gave the title."""
    title = column.title
    return title if column.foreign else title[:1].upper() + title[1:]


def told(text: b.Text) -> str | Markup:
    """Sentence with its options written as in a shell, and not broken at their hyphens."""
    parts = _OPTION.split(b.plain(text))
    if len(parts) == 1:
        return parts[0]
    shown = list(map(_escaped, parts))
    shown[1::2] = [f'<span class="word">{option}</span>' for option in shown[1::2]]
    return _markup("".join(shown))


def cell_content(cell: b.Cell, *, marks: Sequence[str] = (), beside: bool = True) -> str | Markup:
    """Content of a cell: its badge, its text, the row's marks, and its second line.

    ``beside``: the badge stands beside the text; else it stands below the text.
    """
    text = _breakable(cell.text)
    if cell.strong:
        text = f"<b>{text}</b>"
    badge = cell.badge
    if badge and (beside or not cell.text):
        shown = f'<span class="badge {badge.tone}">{_escaped(badge.text)}</span>'
        text = f"{shown} {text}".rstrip()
    elif badge:
        text += _under(badge.text)
    text += "".join(f' <span class="mark">{_escaped(mark)}</span>' for mark in marks)
    return _markup(text + _under(cell.under))


def _under(text: str) -> str:
    return f' <span class="under">{_breakable(text)}</span>' if text else ""


def _escaped(text: str) -> str:
    return escape(bound(text))


def _breakable(text: str) -> str:
    """Escaped text whose long words may be broken between their parts."""
    pieces = _LONG.sub(lambda word: _PART.sub("\\g<0>\0", word[0]), bound(text)).split("\0")
    return "<wbr>".join(map(escape, pieces))


def _markup(text: str) -> Markup:
    from markupsafe import Markup  # noqa: PLC0415 - comes with Jinja2, which is imported late

    return Markup(text)  # noqa: S704 - what it quotes is escaped


def code_text(part: b.Code) -> str:
    """Text of a code; a line with carets is folded together with its carets."""
    if not part.carets:
        return part.text
    lines: list[str] = []
    for line, carets in zip_longest(part.text.split("\n"), part.carets, fillvalue=""):
        lines += caret_lines(line, carets, _WIDTH) if carets else [line]
    return "\n".join(lines)


def verbatim(text: str) -> Markup:
    """Text that a reader may copy: its blanks stay blanks."""
    return _markup(escape(harmless(text)))
