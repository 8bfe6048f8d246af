"""Texts of a page: harmless, and not broken where a reader would copy them."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from pqd.reports import blocks as b
from pqd.reports.escape import caret_lines, visible

if TYPE_CHECKING:
    from markupsafe import Markup

# What the widest screen has room for beside a line that is marked.
_WIDTH = 72
# An option of two words or more, which a browser would break at its hyphens.
_OPTION = re.compile(r"(--[a-z]+(?:-[a-z]+)+)")


def harmless(text: str) -> str:
    """Text in which every sign that would hide something is written out; line ends stay."""
    return text if text.isprintable() else visible(text, keep="\n")


def titled(column: b.Column) -> str:
    """Title of a column, which begins with a capital but where it is a name."""
    title = column.title
    return title if column.foreign else title[:1].upper() + title[1:]


def told(text: b.Text) -> str | Markup:
    """Sentence whose options are spelled as a shell takes them, and not broken at their hyphens."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with Jinja2, imported late

    first, *rest = _OPTION.split(b.plain(text))
    if not rest:
        return first
    shown = [escape(harmless(part)) for part in (first, *rest)]
    for place in range(1, len(shown), 2):
        shown[place] = Markup('<span class="word">{}</span>').format(shown[place])
    return Markup("").join(shown)


def code_text(part: b.Code) -> str:
    """Text of a code; lines that carets mark are folded with them."""
    if not part.carets:
        return part.text
    lines: list[str] = []
    for line, carets in zip_longest(part.text.split("\n"), part.carets, fillvalue=""):
        lines += caret_lines(line, carets, _WIDTH) if carets else [line]
    return "\n".join(lines)
