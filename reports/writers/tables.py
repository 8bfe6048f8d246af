"""Tables of a report of any kind, whole, as texts: what the writers for data and papers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from pqd.reports.blocks import PAGE, Section, Table
from pqd.reports.escape import visible

if TYPE_CHECKING:
    from pqd.reports.blocks import Block, Cell, Column, Document


class TextTable(NamedTuple):
    """Table of texts: its title, its columns, and all of its rows."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


def text_tables(document: Document) -> Iterator[TextTable]:
    """Tables of a document that have a row, each with all rows; pictures are left out."""
    for title, table in _titled(document.body):
        places = [p for p in table.places() if table.columns[p].kind != "picture"]
        columns = tuple(table.columns[place] for place in places)
        rows = tuple(
            tuple(_text(row.cells[p], c) for p, c in zip(places, columns, strict=True))
            for row in table.rows
        )
        if rows:
            yield TextTable(title, columns, rows)


def _titled(blocks: Iterable[Block], title: str = "") -> Iterator[tuple[str, Table]]:
    """Tables of some blocks, each with its own label, or with the title of its section."""
    for block in blocks:
        if isinstance(block, Table):
            yield block.label or title, block
        elif isinstance(block, Section) and block.drop < PAGE:
            yield from _titled(block.blocks, block.title or title)


def _text(cell: Cell, column: Column) -> str:
    badge = cell.badge.text if cell.badge else ""
    under = f"({cell.under})" if cell.under and column.kind != "name" else ""
    return visible(" ".join(filter(None, (cell.text, under, badge))))
