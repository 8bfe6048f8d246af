"""Very many rows of a page: the first as HTML, and all as data that its script shows in pages.

A row has no picture, and its details are made when it is opened: the page stays below a kilobyte
per query, opens at once, and can still be read without its script.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

from pqd.reports import blocks as b
from pqd.reports.writers.html.texts import code_text, harmless, titled

# Rows that are seen at once, and rows that are read without the script.
_PAGE = 100
# Rows that are printed; a browser gives up beyond some ten thousand.
_PRINTED = 1000
# Tones, the worst first.
_WORST: tuple[b.Tone, ...] = ("no", "open", "yes")
# What a text within an inline block of data must not hold.
_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})
# A text, what it is sorted by, and its class.
Shown = tuple[str, str, str]


class FirstRow(NamedTuple):
    """Row that is read without the script."""

    row: b.Row
    cells: Sequence[Shown]


def many_view(
    table: b.Table, heads: Sequence[tuple[str, str]], names: Sequence[str]
) -> dict[str, Any]:
    """View of a table of very many rows, the worst first.

    Parameters
    ----------
    table
        All rows.
    heads
        Title and class of each column.
    names
        What rows can be found by.
    """
    from markupsafe import Markup  # noqa: PLC0415 - comes with Jinja2, which is imported late

    places = {name: place for place, name in enumerate(names)}
    columns = [
        place for place, column in enumerate(table.columns) if not (column.below or column.member)
    ]
    kinds = [table.columns[place].kind for place in columns]
    name = kinds.index("name")
    small: dict[tuple[str, ...], int] = {}
    first: list[FirstRow] = []
    rows = []
    for row in table.rows:
        cells = [_shown(row.cells[place]) for place in columns]
        if len(first) < _PAGE:
            first.append(FirstRow(row, tuple(cells)))
        called = cells.pop(name)[0]
        rows.append(_values(row, called, cells, places, small))
    data = {"page": _PAGE, "printed": _PRINTED, "heads": list(small), "name": name, "rows": rows}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return {
        "heads": heads,
        "name": name,
        "total": f"{len(rows):,}",
        "first": first,
        "blank": FirstRow(b.Row(id="", cells=()), [("", "", "")] * len(heads)),
        "data": Markup(text.translate(_ESCAPES)),  # noqa: S704 - no sign of it begins a tag
    }


def _shown(cell: b.Cell) -> Shown:
    badge, by = cell.badge, _sorted_by(cell.sort)
    text = badge.text if badge else cell.text
    text = f"{text} {cell.under}" if cell.under else text
    return text, by, badge.tone if badge else ""


def _sorted_by(sort: float | str | None) -> str:
    """What a cell is sorted by: whole numbers exactly, others to ten digits."""
    if sort is None or isinstance(sort, str):
        return sort or ""
    return str(int(sort)) if math.isfinite(sort) and sort == int(sort) else f"{sort:.10g}"


def _values(
    row: b.Row,
    name: str,
    cells: Sequence[Shown],
    places: dict[str, int],
    heads: dict[tuple[str, ...], int],
) -> list[Any]:
    """Row as the script reads it; no sign of it is one that a browser would obey."""
    lines = [[harmless(b.plain(row.remark)), "plain"]] if row.remark else []
    small: list[int | list[str]] = []
    code: list[list[str]] = []
    for part in b.spread(row.details()):
        if isinstance(part, b.Lines):
            lines += ([harmless(b.plain(text)), role] for text, role in part.lines)
        elif isinstance(part, b.Code):
            code.append([harmless(part.title), harmless(code_text(part))])
        elif isinstance(part, b.Table) and not small:
            # A picture is not drawn here, so it would leave a column empty.
            shown = [column.kind != "picture" for column in part.columns]
            head = tuple(map(titled, compress(part.columns, shown)))
            place = heads.setdefault(head, len(heads))
            small = [place, *(_small(each, shown) for each in part.rows)]
    # A row is as good as its worst sign: paper has all rows that are not as they should be.
    tones = {cell.badge.tone for cell in row.cells if cell.badge}
    return [
        harmless(name),
        [_cell(*map(harmless, cell)) for cell in cells],
        harmless(row.asks),
        harmless(row.said.text if row.said else row.aside),
        row.said.tone if row.said else next((tone for tone in _WORST if tone in tones), "none"),
        [*map(harmless, row.marks)],
        [places[name] for name in row.names],
        [line[:1] if line[1] == "plain" else line for line in lines],
        small,
        code,
    ]


def _cell(text: str, by: str, tone: str) -> list[str]:
    """Cell as the script reads it, which sorts by the text where nothing else is said."""
    return [text, by, tone] if tone else [text] if by == text else [text, by]


def _small(row: b.Row, shown: Sequence[bool]) -> list[str]:
    """``shown`` cells of a row of a small table as texts; its marks stand beside its name."""
    texts = [
        " ".join(filter(None, [cell.badge.text if cell.badge else "", cell.text, cell.under]))
        for cell in compress(row.cells, shown)
    ]
    marks = f" ({', '.join(row.marks)})" if row.marks else ""
    return [harmless(f"{texts[0]}{marks}"), *map(harmless, texts[1:])]
