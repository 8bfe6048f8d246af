"""Pieces of GitHub-flavoured Markdown, in which every quoted text is shown as plain text.

No text from a spec, a query or a table can make a tag, a link, a mention or a cell of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pqd.reports.escape import visible

# ASCII signs with a meaning in Markdown or HTML: anywhere in a line, and at its start.
_SIGNS = re.compile(
    r"""[^\w\s,.;:%?'"/()=+^-]|(?<![a-z0-9])_|_(?![a-z0-9])|:(?=\S)|(?<=www)\.|(?<=GH)-""",
    re.ASCII | re.IGNORECASE,
)
_START = re.compile(r"^(\d*)([-+=.):])")
# GitHub looks for mentions, references and addresses in the finished text, where escapes do not
# count.  So an empty comment separates these signs from the text behind them.
_APART = frozenset("@#:-")
_APART_BY = "<!-- -->"
# Most characters for the tables, and for the list of queries; a comment holds 65,536.
ROOM = 22_000


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Table; each column is a title and its alignment: ``---``, ``---:`` or ``:---:``."""
    head = " | ".join(title for title, _ in columns)
    rule = " | ".join(sides for _, sides in columns)
    lines = (f"| {' | '.join(cells)} |" for cells in rows)
    return "\n".join([f"| {head} |", f"| {rule} |", *lines])


def fitting(rows: Iterable[Sequence[str]], room: int = ROOM) -> list[Sequence[str]]:
    """First rows of a table or list that fit into ``room`` characters."""
    fit: list[Sequence[str]] = []
    for cells in rows:
        room -= sum(len(cell) + 3 for cell in cells)
        if room < 0:
            break
        fit.append(cells)
    return fit


def more(left: int) -> Iterator[str]:
    """Line on the rows that did not fit: their number, and where they are; nothing if all fit."""
    if left > 0:
        yield f"and {left:,} more: the page and the JSON report have all of them"


def folded(title: str, parts: Iterable[str]) -> str:
    """Parts under a title; a click on the title shows the parts."""
    inside = "\n\n".join(parts)
    return f"<details>\n<summary>{title}</summary>\n\n{inside}\n\n</details>"


def items(lines: Iterable[str]) -> str:
    """Lines of text as a list."""
    return "\n".join(f"- {_START.sub(_started, markdown(line))}" for line in lines)


def sentence(text: str) -> str:
    """Text as a paragraph."""
    return _START.sub(_started, markdown(text))


def _started(found: re.Match[str]) -> str:
    return f"{found[1]}&#{ord(found[2])};"


def code(text: str) -> str:
    """Text on one line, set as code."""
    return f"<code>{markdown(text)}</code>"


def verbatim(text: str) -> str:
    """Unchanged lines in a ``<pre>``."""
    return f"<pre>{_SIGNS.sub(_reference, text)}</pre>"


def markdown(text: str) -> str:
    """Text on one line, escaped so that Markdown shows it unchanged."""
    return _SIGNS.sub(_reference, visible(" ".join(text.split())))


def _reference(found: re.Match[str]) -> str:
    sign = found[0]
    return f"&#{ord(sign)};{_APART_BY if sign in _APART else ''}" if sign.isascii() else sign
