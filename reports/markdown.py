"""The Markdown rendering of ``pqd check``, for a comment or a job summary on GitHub.

Nothing that comes from a spec, a query or a table can make up a tag, a link, a mention, a cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from reports.check_words import (
    HOW_TO_READ,
    badge,
    cost_lines,
    counts_sentence,
    detail_lines,
    message_head,
    remark_lines,
    result,
    row,
    worst_first,
)
from reports.terminal import SIMULATED
from reports.visible import visible

if TYPE_CHECKING:
    from reports.check import CheckEntry, CheckReport

# ASCII signs that mean something to Markdown or HTML somewhere within a line; and at its start.
_SIGNS = re.compile(
    r"""[^\w\s,.;:%?'"/()=+^-]|(?<![a-z0-9])_|_(?![a-z0-9])|:(?=\S)|(?<=www)\.|(?<=GH)-""",
    re.ASCII | re.IGNORECASE,
)
_START = re.compile(r"^(\d*)([-+=.):])")
# Mentions, references and addresses are looked for in finished text: these signs stand apart.
_APART = frozenset("@#:-")
_APART_BY = "<!-- -->"
_HEADER = (
    "| check | result | why | p | synthetic answer | tolerance |\n"
    "| --- | --- | --- | ---: | ---: | ---: |"
)


def markdown_text(report: CheckReport) -> str:
    """Return ``report`` as GitHub-flavoured Markdown: what went wrong first, all else folded."""
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: CheckReport) -> Iterator[str]:
    entries = worst_first(report)
    fine = [entry for entry in entries if badge(entry) == "PASS"]
    others = entries[: len(entries) - len(fine)]
    yield f"## pqd check: {result(report)}"
    if report.simulated:
        yield f"**{SIMULATED}**"
    tables = f"{_code(report.spec)} on {_code(report.private)}"
    yield f"{counts_sentence(report)} {tables}"
    if others:
        yield _table(others)
        for entry in others:
            yield _folded(f"{badge(entry)} {_code(entry.id)}", _details(entry))
    if fine:
        yield _folded(f"{len(fine)} passed", [_table(fine)])
    yield _folded("Cost", [_listed(cost_lines(report))])
    yield _folded("How to read this", [_listed([*HOW_TO_READ, *remark_lines(report)])])


def _table(entries: Sequence[CheckEntry]) -> str:
    return "\n".join([_HEADER, *map(_row, entries)])


def _row(entry: CheckEntry) -> str:
    cells = row(entry)
    simulated = " SIMULATED" if any(v.simulated for v in entry.verdicts) else ""
    why = markdown(message_head(entry.message)[0])
    amounts = map(markdown, (cells.p, cells.answer, cells.tolerance))
    parts = [_code(entry.id), f"**{badge(entry)}**{simulated}", why, *amounts]
    return f"| {' | '.join(parts)} |"


def _details(entry: CheckEntry) -> Iterator[str]:
    _, others = message_head(entry.message)
    if others:
        yield f"<pre>{_lines(others)}</pre>"
    sql = visible(entry.sql, keep="\n")
    yield f"<pre>{_lines(sql)}</pre>"
    yield _listed(detail_lines(entry))


def _folded(title: str, parts: Iterable[str]) -> str:
    inside = "\n\n".join(parts)
    return f"<details>\n<summary>{title}</summary>\n\n{inside}\n\n</details>"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_START.sub(_started, markdown(line))}" for line in lines)


def _started(found: re.Match[str]) -> str:
    return f"{found[1]}&#{ord(found[2])};"


def _code(text: str) -> str:
    return f"<code>{markdown(text)}</code>"


def _lines(text: str) -> str:
    """Return lines as they stand, for ``<pre>``."""
    return _SIGNS.sub(_reference, text)


def markdown(text: str) -> str:
    """Return ``text`` on one line as Markdown that shows it and nothing else."""
    return _SIGNS.sub(_reference, visible(" ".join(text.split())))


def _reference(found: re.Match[str]) -> str:
    sign = found[0]
    return f"&#{ord(sign)};{_APART_BY if sign in _APART else ''}" if sign.isascii() else sign
