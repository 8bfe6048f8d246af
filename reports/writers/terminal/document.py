"""Document on a screen: its heading, its body, its notes and its last lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from pqd.deciders.errors import ParameterError
from pqd.deciders.options import option
from pqd.reports.blocks import (
    NO_BADGE,
    Bars,
    Code,
    Curves,
    Definitions,
    Heat,
    Line,
    Lines,
    Plot,
    Section,
    Shares,
    Table,
)
from pqd.reports.escape import caret_lines
from pqd.reports.text.numbers import first_of
from pqd.reports.writers.terminal.grid import GAP
from pqd.reports.writers.terminal.layout import INDENT, Extent, said
from pqd.reports.writers.terminal.pictures import curve_lines
from pqd.reports.writers.terminal.table import TONES, grid, most_open, shown_by_group

if TYPE_CHECKING:
    from pqd.reports.blocks import Badge, Block, Closing, Document, Omission, Row
    from pqd.reports.blocks import Text as Sentence
    from pqd.reports.writers.terminal.layout import Screen

WIDEST = 80
_NOTES = 3
# Style of a line by its role.
_ROLES = {"plain": "", "strong": "bold", "detail": "dim", "warning": "yellow", "advice": ""}
_LEAD = 6


def lines_of(document: Document, screen: Screen, extent: Extent) -> Iterator[Text]:
    """Lines of a document; ``extent`` says how much of it is shown."""
    yield from _without_last_blank(_Writer(screen, extent).document(document))


def explained_lines(document: Document, name: str, screen: Screen) -> Iterator[Text]:
    """Lines on the rows called ``name``, with all details; of a grouped query, on its groups.

    Raises
    ------
    ParameterError
        The document has no row of this name.
    """
    yield from _without_last_blank(_Writer(screen, Extent.ALL).explained(document, name))


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writer of blocks on a ``screen``; ``inner``: the caller already indents the blocks."""

    screen: Screen
    extent: Extent
    inner: bool = False

    @property
    def quiet(self) -> bool:
        return self.extent is Extent.QUIET

    @property
    def full(self) -> bool:
        return self.extent is Extent.VERBOSE

    @property
    def indent(self) -> str:
        return "" if self.inner or self.screen.width < WIDEST else " " * GAP

    def document(self, document: Document) -> Iterator[Text]:
        """Lines of a document; with ``--verbose``, details of rows replace the rows."""
        spelled = self.full and any(table.in_full for table in document.tables)
        # Details need no heading.  A table of rows needs a heading.
        headed = not (spelled and all(table.in_full for table in document.tables))
        yield from self._banner(document)
        if not self.quiet and headed:
            yield from self._heading(document)
        for block in document.body:
            yield from self._apart(self.block(block))
        if spelled:
            yield from self.screen.wrapped(_counts(document.closing, self.screen))
        yield from self._omitted(document)
        if not spelled:
            yield from self._apart(self._notes(document))
        if self.full:
            behind = [*document.cost, *document.reading, Lines(document.sure)]
            for block in [*behind, Lines(document.notes)] if spelled else behind:
                yield from self.block(block)
            yield Text()
        if not spelled:
            yield from self._closing(document.closing)

    def explained(self, document: Document, name: str) -> Iterator[Text]:
        """Details of the rows called ``name``, and how to read them."""
        # The name of a pair of columns may have blanks around its comma.
        wanted = {name, ", ".join(part.strip() for part in name.split(","))}
        omitted = [each for each in document.omitted.lines if wanted.intersection(each.names)]
        found = False
        yield from self._banner(document)
        for table in document.tables:
            rows = [row for row in table.rows if wanted.intersection(row.called)]
            found = found or bool(rows)
            yield from self._rows_in_full(table, rows)
        if not found and not omitted:
            told = document.unknown or "there is no {} in this report; its lines have the names"
            raise ParameterError(told.format(repr(name)))
        yield from self._apart(self._told(omitted))
        yield from self._reading([*document.reading, Lines(document.sure)])

    def _reading(self, blocks: Iterable[Block]) -> Iterator[Text]:
        """Blocks without their lines of the role ``detail``, which are about all rows."""
        for block in blocks:
            if isinstance(block, Lines):
                yield from self._lines(line for line in block.lines if line.role != "detail")
            else:
                yield from self.block(block)

    def _rows_in_full(self, table: Table, rows: Sequence[Row]) -> Iterator[Text]:
        if (
            len(rows) > 1
            and (grouping := rows[0].grouping)
            and len({row.grouping for row in rows}) == 1
        ):
            yield from self.screen.wrapped(
                Text.assemble(
                    (self._said(grouping.name), "bold"), f"   {self._said(grouping.asks)}"
                )
            )
            yield from self._apart(grid(shown_by_group(table, rows), self.screen, self.extent))
            return
        for row in rows:
            yield from self._row_in_full(table, row)

    # Lines around the blocks

    def _banner(self, document: Document) -> Iterator[Text]:
        for line in document.banner:
            yield from self.screen.wrapped(self._said(line.text), "bold yellow")
            yield Text()

    def _heading(self, document: Document) -> Iterator[Text]:
        """Subject of a report, its cost at the right, and the opening sentences below."""
        subject, spent = self._said(document.subject), self._said(document.spent)
        blank = min(self.screen.width, WIDEST) - cell_len(subject) - cell_len(spent)
        if not subject:
            return
        if blank >= GAP:
            yield Text.assemble((subject, "bold"), " " * blank, spent)
        else:
            yield from self.screen.wrapped(subject, "bold")
            yield from self.screen.wrapped(spent)
        yield from self._lines(document.opening)
        yield Text()

    def _omitted(self, document: Document) -> Iterator[Text]:
        omitted = document.omitted
        if not omitted.lines or self.quiet:
            return
        yield from self.screen.wrapped(f"{self._said(omitted.title)}:", "bold yellow")
        if self.extent is Extent.BRIEF:
            yield from self.screen.paragraphs(map(self._said, first_of(omitted.alike)))
        else:
            yield from self._told(omitted.lines)
        yield Text()

    def _told(self, omitted: Iterable[Omission]) -> Iterator[Text]:
        return self.screen.paragraphs(self._said(each.text) for each in omitted)

    def _notes(self, document: Document) -> Iterator[Text]:
        """First notes and the last note, which may be a warning; all notes if that is asked."""
        every = list(document.always if self.quiet else document.notes)
        if self.extent is Extent.BRIEF and len(every) > _NOTES + 1:
            left = Line(
                f"... {len(every) - _NOTES:,} more notes ({option('--all')} lists them) ..."
            )
            every = [*every[: _NOTES - 1], left, every[-1]]
        yield from self._lines(every)

    def _closing(self, closing: Closing) -> Iterator[Text]:
        """Names of the failures, the counts with the next step, a caution, and the budget."""
        counts = _counts(closing, self.screen)
        budget = self._said(closing.budget)
        if self.quiet:
            told = (counts, Text(budget))
            yield from self.screen.wrapped(Text(" ").join(text for text in told if text))
            return
        if closing.failed:
            yield from self.screen.wrapped(self._said(closing.failed), "bold red")
        ahead = f"Next: {self._said(closing.step)}" if closing.step else ""
        if counts.cell_len + 3 + cell_len(ahead) <= self.screen.width:
            yield counts + Text(f"   {ahead}" if ahead else "")
        else:
            yield from self.screen.wrapped(counts)
            yield from self.screen.wrapped(ahead)
        # With --verbose, the lines on the cost already say what was spent in all.
        for text in filter(None, (self._said(closing.caution), "" if self.full else budget)):
            yield from self.screen.wrapped(text)
        yield from self.screen.paragraphs(map(self._said, () if self.full else closing.ways))

    # Blocks

    def block(self, block: Block) -> Iterator[Text]:
        """Lines of a block; its words replace a picture that a terminal cannot draw."""
        if isinstance(block, Section):
            yield from self._section(block)
        elif isinstance(block, Table):
            yield from self._table(block)
        elif self.quiet:
            return
        elif isinstance(block, Lines):
            yield from self._lines(block.lines)
        elif isinstance(block, Definitions):
            yield from self._lines(Line(f"{name}: {text}") for name, text in block.pairs)
        elif isinstance(block, Shares):
            yield from self._set_in(self._within().block(Lines(block.words)))
        elif isinstance(block, Heat | Bars | Plot):
            yield from self._lines(block.words)
        elif isinstance(block, Curves):
            yield from curve_lines(block, self.screen)
        elif isinstance(block, Code) and block.carets:
            yield from self._code(block)

    def _said(self, text: Sentence) -> str:
        return said(text, self.screen)

    def _apart(self, lines: Iterable[Text]) -> Iterator[Text]:
        """Lines, followed by a blank line; nothing if there are no lines."""
        every = list(lines)
        yield from every
        if every and every[-1].plain and not self.quiet:
            yield Text()

    def _set_in(self, lines: Iterable[Text]) -> Iterator[Text]:
        return (Text(INDENT).append_text(line) if line.plain else Text() for line in lines)

    def _lines(self, lines: Iterable[Line]) -> Iterator[Text]:
        """Sentences; all lines of an indented sentence have the same indent."""
        for text, role in lines:
            shown = self._said(text)
            blank = shown[: len(shown) - len(shown.lstrip(" "))]
            screen = self.screen.inner(len(blank)) if blank else self.screen
            for piece in screen.wrapped(shown[len(blank) :], _ROLES[role]):
                yield Text(blank).append_text(piece) if blank else piece

    def _within(self, indent: int = len(INDENT)) -> _Writer:
        return replace(self, screen=self.screen.inner(indent), inner=True)

    def _section(self, section: Section) -> Iterator[Text]:
        """Title of a section and its blocks; the blocks of a folded section are indented."""
        room = 1 if self.extent in {Extent.ALL, Extent.VERBOSE} else 0
        if section.drop > room:
            return
        inner = self._within() if section.folded else self
        lines = [line for block in section.blocks for line in inner.block(block)]
        if lines and section.brief and not self.quiet:
            yield from self.screen.wrapped(self._said(section.title), "bold")
        yield from self._set_in(lines) if section.folded else lines

    def _code(self, code: Code) -> Iterator[Text]:
        """Lines of a text with the carets below them."""
        for line, carets in zip_longest(code.text.split("\n"), code.carets, fillvalue=""):
            if carets:
                yield from map(Text, caret_lines(line, carets, self.screen.width))
            else:
                yield from self.screen.wrapped(self._said(line))

    def _table(self, table: Table) -> Iterator[Text]:
        if self.full and table.in_full:
            for row in table.rows:
                yield from self._row_in_full(table, row)
        elif table.words:
            yield from self._lines(() if self.quiet else table.words)
        else:
            yield from grid(table, self.screen, self.extent, self.indent)
            yield from self._open_rows(table)

    def _open_rows(self, table: Table) -> Iterator[Text]:
        """Details of the first rows that are ``open``: these are shown without ``--explain``."""
        rows = [row for row in table.rows if row.open]
        shown = rows[: most_open(self.extent)]
        for place, row in enumerate(shown):
            if place or not self.quiet:
                yield Text()
            yield from self._opened(table, row)
        if more := len(rows) - len(shown):
            yield Text()
            why = f"{option('--all')} tells why"
            yield from self.screen.wrapped(f"{more:,} more could not be decided ({why})")
        if rows and self.quiet:
            yield Text()

    def _opened(self, table: Table, row: Row) -> Iterator[Text]:
        """Badge, name and message of a row, with its details indented below."""
        badge = _badge(table, row)
        word = f"{self._said(badge.text) + ' ':<{_LEAD}}" if badge.text else ""
        lead, width = Text(word, TONES[badge.tone]), max(_LEAD, len(word))
        inner = self._within(width)
        head = Text(self._said(row.id), "bold")
        if row.aside:
            head.append(f"   {self._said(row.aside)}", "default")
        below = (line for block in (_about(row), *row.details()) for line in inner.block(block))
        for line in (*inner.screen.wrapped(_marked(head, row)), *below):
            yield lead + line if line.plain else Text()
            lead = Text(" " * width)

    def _row_in_full(self, table: Table, row: Row) -> Iterator[Text]:
        """Details of a row below its verdict; below its name and message if it has no verdict."""
        if row.said is None:
            yield from self._opened(table, row)
            yield Text()
            return
        badge, name = _badge(table, row), Text(self._said(row.id), "bold")
        word = f"{self._said(badge.text) + ' ':<{len(INDENT)}}" if badge.text else ""
        parts = (Text(word + self._said(row.said.text), TONES[badge.tone]), Text(row.aside), name)
        head = Text("   ").join(part for part in parts if part)
        yield from self.screen.wrapped(_marked(head, row))
        inner = self._within()
        for block in (_about(row), *row.details()):
            yield from self._set_in(inner.block(block))
        yield Text()


def _about(row: Row) -> Lines:
    """Question of a row, and its remark."""
    return Lines([Line(text) for text in (row.asks, row.remark) if text])


def _badge(table: Table, row: Row) -> Badge:
    """Badge in a column of badges; a badge in another column is about one candidate only."""
    cells = zip(table.columns, row.cells, strict=True)
    return next((c.badge for column, c in cells if column.kind == "badge" and c.badge), NO_BADGE)


def _marked(head: Text, row: Row) -> Text:
    for mark in row.marks:
        head.append(f"   {mark}", "bold yellow" if mark == "SIMULATED" else "default")
    return head


def _counts(closing: Closing, screen: Screen) -> Text:
    word = closing.word
    style = "bold" if word.tone == "none" else TONES[word.tone]
    lead = (f"{word.text}: ", style) if word.text else ""
    return Text.assemble(lead, (said(closing.counts, screen), "bold"))


def _without_last_blank(lines: Iterable[Text]) -> Iterator[Text]:
    """Lines without the blank lines at the end."""
    blank = 0
    for line in lines:
        if not line.plain:
            blank += 1
            continue
        yield from (Text() for _ in range(blank))
        blank = 0
        yield line
