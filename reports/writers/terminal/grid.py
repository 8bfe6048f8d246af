"""Grid of aligned columns; where room is short, it omits the least important columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.text import Text

from pqd.reports.writers.terminal.layout import bound, words

if TYPE_CHECKING:
    from pqd.reports.writers.terminal.layout import Screen

GAP = 2
# Parts of a name: a long name is broken after one of these signs, not within a word.
_PARTS = re.compile(r"[^-_.,/]*[-_.,/]|[^-_.,/]+")
Cells = tuple[Text | str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a grid; if no column has a title, the grid has no line of titles.

    ``right``: the column is aligned right, and stays as wide as its longest word, so that no number
    is broken.
    ``least``: where room is short, cells are folded, but not below this width; 0: never folded.
    ``spare``: if folding is not enough, columns with the largest ``spare`` are left out first; a
    column with 0 is never left out.
    ``legend`` explains the title; it stands above the grid if the column is shown.
    ``stacked``: if even this is not enough, each row takes several lines.  Its first line has the
    cells that ``leads``.  Below come the cells that are ``titled``, each after its title, and the
    cells that are ``bare``, without a title.  The cells that are ``drawn`` are left out.
    """

    title: str
    right: bool = False
    least: int = 0
    spare: int = 0
    legend: str = ""
    stacked: Literal["leads", "titled", "bare", "drawn"] = "bare"


def grid_lines(
    columns: Sequence[Column],
    rows: Sequence[Cells | Text],
    screen: Screen,
    *,
    indent: str = "",
    titled: bool = True,
) -> Iterator[Text]:
    """Lines of a grid, its titles first; a row that is one text is printed as it is."""
    cells = [row for row in rows if not isinstance(row, Text)]
    room = screen.width - len(indent)
    places, widths = _places(columns, cells, room)
    if legends := [columns[place].legend for place in places if titled and columns[place].legend]:
        yield from screen.wrapped(Text("; ".join(legends), "dim"))
    if titled and cells and any(columns[place].title for place in places):
        titles = tuple(column.title for column in columns)
        if widths:
            pieces = _aligned(titles, columns, places, widths, screen)
            yield from (Text(indent).append(piece.plain, "dim") for piece in pieces)
    for row in rows:
        if isinstance(row, Text):
            whole = Text(indent).append_text(row)
            yield from (whole,) if whole.cell_len <= screen.width else screen.wrapped(whole)
        elif widths:
            for line in _aligned(row, columns, places, widths, screen):
                yield Text(indent).append_text(line)
        else:
            yield from _stacked(row, columns, screen)


def fits(columns: Sequence[Column], rows: Sequence[Cells | Text], room: int) -> bool:
    """Whether all rows fit into ``room`` with no cell folded and no column left out."""
    cells = [row for row in rows if not isinstance(row, Text)]
    return sum(_natural(columns, cells)) + GAP * (len(columns) - 1) <= room


def _natural(columns: Sequence[Column], rows: Sequence[Cells]) -> list[int]:
    """Width of each column if no cell is folded."""
    return [
        max([cell_len(column.title), *(cell_len(str(row[place])) for row in rows)])
        for place, column in enumerate(columns)
    ]


def _places(
    columns: Sequence[Column], rows: Sequence[Cells], room: int
) -> tuple[list[int], list[int]]:
    """Indices of the shown columns, and their widths; no widths if these columns do not fit."""
    natural = _natural(columns, rows)
    least = [_least(column, [row[place] for row in rows]) for place, column in enumerate(columns)]
    heads = [_head(column, [row[place] for row in rows]) for place, column in enumerate(columns)]
    places = list(range(len(columns)))
    while True:
        widths = {place: natural[place] for place in places}
        over = sum(widths.values()) + GAP * (len(places) - 1) - room
        # First, titles of several words are broken into lines.
        for place in places:
            if over > 0 and columns[place].right:
                gained = max(0, min(over, widths[place] - heads[place]))
                widths[place], over = widths[place] - gained, over - gained
        while over > 0:
            able = [p for p in places if least[p] and widths[p] > least[p]]
            if not able:
                break
            widest = max(able, key=lambda place: widths[place])
            widths[widest] -= 1
            over -= 1
        if over <= 0:
            return places, list(widths.values())
        most = max(columns[place].spare for place in places)
        if not most:
            return places, []
        places = [place for place in places if columns[place].spare != most]


def _least(column: Column, cells: Sequence[Text | str]) -> int:
    """Least width of a column when its cells are folded; 0 if they are never folded."""
    if not column.least or not column.right:
        return column.least
    return max([column.least, *(cell_len(word) for cell in cells for word in words(str(cell)))])


def _head(column: Column, cells: Sequence[Text | str]) -> int:
    """Width of a column if its title is broken between its words."""
    parts = [*words(column.title), *map(str, cells)]
    return max(map(cell_len, parts), default=0)


def _aligned(
    row: Cells,
    columns: Sequence[Column],
    places: Sequence[int],
    widths: Sequence[int],
    screen: Screen,
) -> Iterator[Text]:
    """Lines of one row; more than one if a cell is folded."""
    folded = []
    for place, width in zip(places, widths, strict=True):
        cell = row[place]
        text = Text(cell) if isinstance(cell, str) else cell
        folded.append([text] if text.cell_len <= width else list(_folded(text, width, screen)))
    for pieces in zip_longest(*folded, fillvalue=Text()):
        line = Text(no_wrap=True)
        for piece, place, width in zip(pieces, places, widths, strict=True):
            if place != places[0]:
                line.append(" " * GAP)
            blank = " " * (width - piece.cell_len)
            line.append(blank if columns[place].right else "")
            line.append_text(piece)
            line.append("" if columns[place].right else blank)
        line.rstrip()
        yield line


def _folded(text: Text, width: int, screen: Screen) -> Iterator[Text]:
    """Pieces of a folded cell, all with the indent of the first."""
    blank = len(text.plain) - len(text.plain.lstrip(" "))
    rest = text[blank:]
    broken = " ".join(_broken(word, width - blank) for word in rest.plain.split(" "))
    if broken != rest.plain:
        rest = Text(broken, rest.style)
    for piece in replace(screen, width=width - blank).wrapped(rest):
        yield Text(" " * blank).append_text(piece)


def _broken(word: str, width: int) -> str:
    """Word in lines of at most ``width`` cells, broken after hyphens and similar signs.

    A part without such a sign is not broken, even if it is longer than ``width``.
    """
    if cell_len(word) <= width:
        return word
    lines = [""]
    for part in _PARTS.findall(word):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _stacked(row: Cells, columns: Sequence[Column], screen: Screen) -> Iterator[Text]:
    """Lines of one row if the grid does not fit: the leading cells, and the others below."""
    cells = [Text(cell) if isinstance(cell, str) else cell for cell in row]
    pairs = [(column, cell) for column, cell in zip(columns, cells, strict=True) if cell.plain]
    gap, room = Text(" " * GAP), screen.inner().width
    yield from screen.wrapped(gap.join(cell for column, cell in pairs if column.stacked == "leads"))
    others = []
    for column, cell in pairs:
        if column.stacked == "titled":
            named = Text(f"{column.title} ", "dim").append_text(cell)
            # Keep title and text on one line: a sign alone would not say which title it has.
            others.append(bound(named) if named.cell_len <= room else named)
        elif column.stacked == "bare":
            others.append(cell)
    if others:
        yield from screen.indented(gap.join(others))
