"""Tables of very many rows: a page has the first rows as HTML, and all rows as data.

The script of the page shows the data, some rows at a time.  Rows have no pictures, and the script
makes the details of a row when a reader opens it.  So the file needs less than a kilobyte per query
and opens at once, and its first rows can be read without the script.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

from pqd.reports import blocks as b
from pqd.reports.writers.html.texts import bound, code_text, harmless, titled

# Number of rows that are shown at once, and that can be read without the script.
_PAGE = 100
# Number of rows that are printed; a browser cannot print much more than ten thousand.
_PRINTED = 1000
# Tones, the worst first.
_WORST: tuple[b.Tone, ...] = ("no", "open", "yes")
# Signs that an inline block of data must not hold, with their escapes.
_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})
# Cell of the data: its text, the text by which it is sorted, and its class.
Shown = tuple[str, str, str]


class FirstRow(NamedTuple):
    """Row that can be read without the script."""

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
        Words by which a reader can filter rows.
    """
    from markupsafe import Markup  # noqa: PLC0415 - comes with Jinja2, which is imported late

    places = {name: place for place, name in enumerate(names)}
    columns = [place for place, column in enumerate(table.columns) if not column.below]
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
    """Text by which a cell is sorted: whole numbers exactly, other numbers with ten digits."""
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
    """Row as the script reads it; its texts hold no sign that a browser would obey."""
    lines = [[bound(b.plain(row.remark)), "plain"]] if row.remark else []
    small: list[int | list[str]] = []
    code: list[list[str]] = []
    for part in b.spread(row.details()):
        if isinstance(part, b.Lines):
            lines += ([bound(b.plain(text)), role] for text, role in part.lines)
        elif isinstance(part, b.Code):
            code.append([bound(part.title), harmless(code_text(part))])
        elif isinstance(part, b.Table) and not small:
            # Pictures are not drawn here, so their column would be empty.
            shown = [column.kind != "picture" for column in part.columns]
            head = tuple(map(titled, compress(part.columns, shown)))
            place = heads.setdefault(head, len(heads))
            small = [place, *(_small(each, shown) for each in part.rows)]
    # A row without a verdict gets the tone of its worst badge.  Rows with a bad tone are printed.
    tones = {cell.badge.tone for cell in row.cells if cell.badge}
    return [
        bound(name),
        [_cell(*map(bound, cell)) for cell in cells],
        bound(row.asks),
        bound(row.said.text if row.said else row.aside),
        row.said.tone if row.said else next((tone for tone in _WORST if tone in tones), "none"),
        [*map(bound, row.marks)],
        [places[name] for name in row.names],
        [line[:1] if line[1] == "plain" else line for line in lines],
        small,
        code,
    ]


def _cell(text: str, by: str, tone: str) -> list[str]:
    """Cell as the script reads it; the script sorts by the text if ``by`` is left out."""
    return [text, by, tone] if tone else [text] if by == text else [text, by]


def _small(row: b.Row, shown: Sequence[bool]) -> list[str]:
    """Texts of the ``shown`` cells of a row in a small table; the first text ends in the marks."""
    texts = [
        " ".join(filter(None, [cell.badge.text if cell.badge else "", cell.text, cell.under]))
        for cell in compress(row.cells, shown)
    ]
    marks = f" ({', '.join(row.marks)})" if row.marks else ""
    return [bound(f"{texts[0]}{marks}"), *map(bound, texts[1:])]
