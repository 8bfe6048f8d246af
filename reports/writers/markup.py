"""Pieces of GitHub-flavoured Markdown: whatever they quote is shown, and nothing else.

Nothing that comes from a spec, a query or a table can make up a tag, a link, a mention, a cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pqd.reports.escape import visible

# ASCII signs that mean something to Markdown or HTML somewhere within a line; and at its start.
_SIGNS = re.compile(
    r"""[^\w\s,.;:%?'"/()=+^-]|(?<![a-z0-9])_|_(?![a-z0-9])|:(?=\S)|(?<=www)\.|(?<=GH)-""",
    re.ASCII | re.IGNORECASE,
)
_START = re.compile(r"^(\d*)([-+=.):])")
# Mentions, references and addresses are looked for in finished text: these signs stand apart.
_APART = frozenset("@#:-")
_APART_BY = "<!-- -->"
# Characters of a table, and of a list of queries; a comment holds 65,536.
ROOM = 22_000


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Table; a column is a title and ``---``, ``---:`` or ``:---:``."""
    head = " | ".join(title for title, _ in columns)
    rule = " | ".join(sides for _, sides in columns)
    lines = (f"| {' | '.join(cells)} |" for cells in rows)
    return "\n".join([f"| {head} |", f"| {rule} |", *lines])


def fitting(rows: Iterable[Sequence[str]], room: int = ROOM) -> list[Sequence[str]]:
    """First rows of a table or list, as many as there is room for."""
    fit: list[Sequence[str]] = []
    for cells in rows:
        room -= sum(len(cell) + 3 for cell in cells)
        if room < 0:
            break
        fit.append(cells)
    return fit


def more(left: int) -> Iterator[str]:
    """How many rows there was no room for, and where they are."""
    if left > 0:
        yield f"and {left:,} more: the page and the JSON report have all of them"


def folded(title: str, parts: Iterable[str]) -> str:
    """Parts under a title that opens them."""
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
    """Lines as they stand, for ``<pre>``."""
    return f"<pre>{_SIGNS.sub(_reference, text)}</pre>"


def markdown(text: str) -> str:
    """Text on one line as Markdown that shows it and nothing else."""
    return _SIGNS.sub(_reference, visible(" ".join(text.split())))


def _reference(found: re.Match[str]) -> str:
    sign = found[0]
    return f"&#{ord(sign)};{_APART_BY if sign in _APART else ''}" if sign.isascii() else sign
