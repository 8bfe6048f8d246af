"""Very many rows of a page: the first as HTML, and all as data that its script shows in pages.

A row has no picture, and its details are made when it is opened: the page stays below a kilobyte
per query, opens at once, and can still be read without its script.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pqd.reports.text.escape import visible

# As many rows are seen at once, and without the script.
_PAGE = 100
# As many are printed; a browser gives up beyond some ten thousand.
_PRINTED = 1000
# What a text within an inline block of data must not hold.
_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})

# A text, what it is sorted by, and its class.
CellView = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyRow:
    """Row of a table: the first of ``cells`` stands before the id, the others behind it.

    ``said`` and ``words`` stand below, with ``marks``; ``kind`` is yes, no, open or none.
    ``standings`` are what the row is found by.  The details are ``lines``, each with a role, the
    rows of a ``table``, and ``code``, each with a title.
    """

    id: str
    cells: Sequence[CellView]
    words: str
    kind: str = "none"
    said: str = ""
    marks: Sequence[str] = ()
    standings: Sequence[str] = ()
    lines: Sequence[tuple[str, str]] = ()
    table: Sequence[Sequence[str]] = ()
    code: Sequence[tuple[str, str]] = ()


def many(
    rows: Sequence[ManyRow],
    columns: Sequence[tuple[str, str]],
    standings: Sequence[str],
    head: Sequence[str] = (),
) -> dict[str, Any]:
    """View of ``many.html.j2``: rows, the worst first.

    Parameters
    ----------
    rows
        All rows.
    columns
        Title and class of each column, that of the ids second.
    standings
        What rows can be found by.
    head
        Titles of the columns of each row's own table.
    """
    from markupsafe import Markup  # noqa: PLC0415 - comes with Jinja2, which is imported late

    places = {name: place for place, name in enumerate(standings)}
    sizes = {"page": _PAGE, "printed": _PRINTED}
    data = {**sizes, "head": head, "rows": [_values(row, places) for row in rows]}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return {
        "columns": columns,
        "standings": standings,
        "total": f"{len(rows):,}",
        "first": rows[:_PAGE],
        "blank": ManyRow(id="", cells=[("", "", "")] * (len(columns) - 1), words=""),
        "data": Markup(text.translate(_ESCAPES)),  # noqa: S704 - no sign of it begins a tag
    }


def _values(row: ManyRow, places: dict[str, int]) -> list[Any]:
    """Row as the script reads it; no sign of it is one that a browser would obey."""
    return [
        _shown(row.id),
        [[*map(_shown, cell if cell[2] else cell[:2])] for cell in row.cells],
        _shown(row.words),
        _shown(row.said),
        row.kind,
        [*map(_shown, row.marks)],
        [places[name] for name in row.standings],
        [[_shown(text), role] if role != "plain" else [_shown(text)] for text, role in row.lines],
        [[*map(_shown, cells)] for cells in row.table],
        [[title, _shown(text)] for title, text in row.code],
    ]


def _shown(text: str) -> str:
    return text if text.isascii() and text.isprintable() else visible(text, keep="\n")
