"""Writer of GitHub-flavoured Markdown: small enough for a comment, with folded details."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from pqd.reports.blocks import (
    PAGE,
    Bars,
    Code,
    Definitions,
    Heat,
    Lines,
    Plot,
    Section,
    Shares,
    Table,
    plain,
)
from pqd.reports.escape import caret_lines, visible
from pqd.reports.models.report import document_of
from pqd.reports.text.numbers import first_of
from pqd.reports.writers.markup import (
    ROOM,
    code,
    fitting,
    folded,
    items,
    markdown,
    more,
    sentence,
    table,
    verbatim,
)

if TYPE_CHECKING:
    from pqd.reports.blocks import Block, Cell, Column, Document, Line, Row
    from pqd.reports.models.report import Report

# A comment holds 65,536 characters.
LIMIT = 65_000
_CUT = "This report has no room in a comment: the page and the JSON report have it."
_SIDES = {"badge": "---", "number": "---:", "name": "---", "text": "---", "picture": "---"}


def markdown_text(report: Report) -> str:
    """Report of any kind as Markdown, small enough for a comment."""
    return document_text(document_of(report))


def document_text(document: Document) -> str:
    """Document as Markdown, small enough for a comment.

    Names may have any length, so the text may be too long.  Then parts are left out: first the
    folded parts, from the last to the first, then the longest of the others.
    """
    parts = list(_Writer().document(document))
    while len(parts) > 1 and sum(len(part) + 2 for part in parts) > LIMIT:
        last = [place for place, part in enumerate(parts) if part.startswith("<details>")]
        longest = max(range(1, len(parts)), key=lambda place: len(parts[place]))
        del parts[last[-1] if last else longest]
    text = "\n\n".join(parts)
    return f"{text if len(text) < LIMIT else _CUT}\n"


class _Writer:
    """Writer of the parts of one comment; ``room`` is the room that is left for tables."""

    def __init__(self) -> None:
        self.room = ROOM

    def document(self, document: Document) -> Iterator[str]:
        """Parts of a document."""
        banner = [f"**{markdown(plain(line.text))}**" for line in document.banner]
        # One part, which stays however little room there is.
        yield "\n\n".join([*banner, f"## pqd {document.kind}: {markdown(document.title)}"])
        if document.advice:
            yield f"**{markdown(document.advice)}**"
        if document.lead:
            yield sentence(document.lead)
        yield from self.block(Lines(document.sure))
        for block in document.body:
            yield from self.block(block)
        if document.omitted.lines:
            told = first_of(each.text for each in document.omitted.lines)
            yield folded(markdown(document.omitted.title), [items(told)])
        if asked := list(_asked(document)):
            yield folded("Queries", self._fitting(asked))
        if cost := list(self._blocks(document.cost)):
            yield folded("Cost", cost)
        reading = [*self._blocks(document.reading), *_listed(first_of(map(_text, document.notes)))]
        if reading:
            yield folded("How to read this", reading)

    def _fitting(self, texts: Sequence[str]) -> Iterator[str]:
        """List of the first lines of text that fit."""
        shown = len(fitting([markdown(text)] for text in texts))
        yield items(texts[:shown])
        yield from more(len(texts) - shown)

    def _blocks(self, blocks: Iterable[Block]) -> Iterator[str]:
        for block in blocks:
            yield from self.block(block)

    def block(self, block: Block) -> Iterator[str]:
        """Parts of a block; words replace a picture."""
        if isinstance(block, Section) and block.drop < PAGE:
            parts = list(self._blocks(block.blocks))
            yield from [folded(markdown(block.title), parts)] if block.folded and parts else parts
        elif isinstance(block, Table):
            yield from self._table(block)
        elif isinstance(block, Lines):
            yield from _listed(map(_text, block.lines))
        elif isinstance(block, Definitions):
            yield from _listed(f"{name}: {text}" for name, text in block.pairs)
        elif isinstance(block, Shares | Heat | Bars | Plot):
            yield from _listed(map(_text, block.words))
        elif isinstance(block, Code):
            yield verbatim(_with_carets(block))

    def _table(self, shown: Table) -> Iterator[str]:
        """Rows in their order, as many as fit; the groups of a grouped query are folded."""
        listed = [row for group in shown.groups for row in group.rows[: group.most]][: shown.most]
        if not listed:
            yield from [markdown(shown.empty)] if shown.empty else []
            return
        places = [p for p in shown.places() if shown.columns[p].kind != "picture"]
        heads = [_head(shown.columns[place]) for place in places]
        whole = [[_cell(row, shown.columns[p], row.cells[p]) for p in places] for row in listed]
        fit = len(fitting(whole, self.room))
        self.room -= sum(len(cell) + 3 for cells in whole[:fit] for cell in cells)
        if fit < len(listed):
            yield table(heads, whole[:fit])
        else:
            alone = [
                cells for row, cells in zip(listed, whole, strict=True) if row.grouping is None
            ]
            if alone:
                yield table(heads, alone)
            yield from _groupings(shown, listed, whole, heads)
        yield from _listed(f"{row.id}: {plain(row.remark)}" for row in listed[:fit] if row.remark)
        folds = [group for group in shown.groups if group.fold and group.rows]
        yield from _listed(group.fold for group in folds)
        left = shown.size - fit - sum(len(group.rows) for group in folds)
        yield from [] if shown.silent else more(left)
        yield from self._failed(shown) if shown.in_full else ()

    def _failed(self, shown: Table) -> Iterator[str]:
        """Details of the rows that failed, folded, as many as fit."""
        for group in shown.groups:
            named = group.badge.text or group.name
            for row in group.rows if group.fate == "failed" and named else ():
                message = [sentence(row.aside)] if row.said is None and row.aside else []
                parts = [*message, *self._blocks(row.details())]
                title = f"{markdown(group.badge.text)} {code(row.id)}".strip()
                text = folded(title, parts)
                self.room -= len(text)
                if parts and self.room > 0:
                    yield text


def _groupings(
    shown: Table,
    listed: Sequence[Row],
    whole: Sequence[Sequence[str]],
    heads: Sequence[tuple[str, str]],
) -> Iterator[str]:
    """Folded tables of the groups of each grouped query, each below the counts of its outcomes."""
    place = next((p for p, c in enumerate(shown.columns) if c.kind == "name"), 0)
    names = {row.id: group.name for group in shown.groups for row in group.rows}
    order = {name: number for number, name in enumerate(dict.fromkeys(map(_grouping, listed)))}
    pairs = sorted(zip(listed, whole, strict=True), key=lambda pair: order[_grouping(pair[0])])
    for name, members in groupby(pairs, key=lambda pair: _grouping(pair[0])):
        if not name:
            continue
        rows, cells = zip(*members, strict=True)
        counts = Counter(names[row.id] for row in rows)
        told = ", ".join(f"{number} {word or 'groups'}" for word, number in counts.items())
        lines = [
            [code(row.member) if at == place else cell for at, cell in enumerate(line)]
            for row, line in zip(rows, cells, strict=True)
        ]
        yield folded(f"{code(name)}: {told}", [table(heads, lines)])


def _with_carets(block: Code) -> str:
    """Text with its carets below the signs that they mark."""
    pairs = zip_longest(block.text.split("\n"), block.carets, fillvalue="")
    lines = (
        piece
        for line, carets in pairs
        for piece in (caret_lines(line, carets) if carets else [visible(line)])
    )
    return "\n".join(lines)


def _grouping(row: Row) -> str:
    return row.grouping.name if row.grouping else ""


def _text(line: Line) -> str:
    return plain(line.text)


def _listed(texts: Iterable[str]) -> Iterator[str]:
    if lines := items(text for text in texts if text):
        yield lines


def _head(column: Column) -> tuple[str, str]:
    return markdown(column.title), _SIDES[column.kind]


def _cell(row: Row, column: Column, cell: Cell) -> str:
    if column.kind == "name":
        return f"{code(cell.text)} {row.stamp}".strip()
    text = f"{cell.text} ({cell.under})" if cell.under else cell.text
    shown = f"**{markdown(text)}**" if cell.strong and text else markdown(text)
    badge = f"**{markdown(cell.badge.text)}**" if cell.badge and cell.badge.text else ""
    return f"{shown} {badge}".strip()


def _asked(document: Document) -> Iterator[str]:
    """Question of each row; a grouped query appears once."""
    seen = set()
    for shown in document.tables:
        for row in shown.rows:
            grouping = row.grouping
            name = grouping.name if grouping else row.id
            asks = grouping.line if grouping else row.asks
            if asks and name not in seen:
                seen.add(name)
                yield f"{name}: {asks}"
