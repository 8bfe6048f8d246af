"""Table on a screen: one line per row, the worst first, and one line for all further rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.text import Text

from pqd.deciders.options import option
from pqd.reports.blocks import Group, Table
from pqd.reports.text.numbers import LISTED, MOST_IN_FULL
from pqd.reports.writers.terminal.grid import GAP, Column, fits, grid_lines
from pqd.reports.writers.terminal.layout import Extent, said
from pqd.reports.writers.terminal.pictures import picture_text

if TYPE_CHECKING:
    from pqd.reports.blocks import Cell, Row
    from pqd.reports.writers.terminal.grid import Cells
    from pqd.reports.writers.terminal.layout import Screen

TONES = {"yes": "bold green", "no": "bold red", "open": "bold yellow", "none": "dim"}
PASSES = 10
# Number of names in the line on rows that are not listed.
_NAMED = 6
# Default ids of queries, such as q3, which say nothing about the query.
_NUMBERED = re.compile(r"q\d+")
_OPEN = 5
_EVERY = frozenset({Extent.ALL, Extent.VERBOSE})
# Cells of a line that are kept for the table, if the questions of its rows stand beside it.
_BESIDE = 50
# Fewest cells in which a question, cut, stands beside the name of its row.
_LEAST_QUESTION = 32


def grid(table: Table, screen: Screen, extent: Extent, indent: str = "") -> Iterator[Text]:
    """Lines of a table, its titles first."""
    return _Grid(table, screen, extent, indent).lines()


def most_open(extent: Extent) -> int | None:
    """Number of open rows whose details are shown; None for all of them."""
    return None if extent is Extent.ALL else _OPEN


def shown_by_group(table: Table, rows: Sequence[Row]) -> Table:
    """Table of some rows of a grouped query, each named by its group."""
    renamed = [
        replace(
            row,
            grouping=None,
            cells=tuple(
                cell._replace(text=row.member or cell.text) if column.kind == "name" else cell
                for cell, column in zip(row.cells, table.columns, strict=True)
            ),
        )
        for row in rows
    ]
    return replace(table, groups=[Group(rows=renamed)])


@dataclass(frozen=True)
class _Grid:
    """Layout of one table on a screen."""

    table: Table
    screen: Screen
    extent: Extent
    indent: str

    @cached_property
    def places(self) -> list[int]:
        return self.table.places()

    @cached_property
    def name(self) -> int:
        """Index of the column of names among the shown columns."""
        kinds = [self.table.columns[place].kind for place in self.places]
        return kinds.index("name") if "name" in kinds else 0

    @cached_property
    def chosen(self) -> bool:
        """Whether a row has the mark ``used``, such as the decider that is taken."""
        return any("used" in row.marks for row in self.table.rows)

    @cached_property
    def lead(self) -> int:
        """Width that the badges take before the names, with the gap."""
        first = self.table.columns[self.places[0]]
        if first.kind != "badge":
            return 0
        badges = (cell_len(group.badge.text) for group in self.table.groups)
        return max([cell_len(first.title), *badges]) + GAP

    def lines(self) -> Iterator[Text]:
        quiet = self.extent is Extent.QUIET
        if not self.table.size:
            return
        columns = [self._column(place) for place in self.places]
        rows: list[Cells | Text] = []
        for group in self.table.groups:
            if not quiet or group.fate in {"always", "failed"}:
                rows.extend(self._group(group))
        asked = {} if quiet and not self.table.beside else self._asked()
        below: list[Text] = []
        if self.table.beside:
            columns, rows = self._with_questions(columns, rows, asked)
        elif asked:
            rows, below = self._asking(columns, rows, asked)
        titled = not quiet
        yield from grid_lines(columns, rows, self.screen, indent=self.indent, titled=titled)
        yield from below

    def _column(self, place: int) -> Column:
        column = self.table.columns[place]
        right = column.kind == "number"
        title, legend = (said(text, self.screen) for text in (column.title, column.legend))
        leads = {"badge", "name"} if self.lead else {"name"}
        stacked: Literal["leads", "titled", "bare", "drawn"] = "bare"
        if column.kind in leads:
            stacked = "leads"
        elif column.kind == "picture":
            stacked = "drawn"
        elif right or column.foreign:
            stacked = "titled"
        return Column(title, right, column.fold, column.drop, legend, stacked)

    def _group(self, group: Group) -> Iterator[Cells | Text]:
        """Lines of the first rows of a group, and one line on all other rows."""
        most = self._most(group)
        yield from self._rows(group.rows[:most])
        rest = [said(row.id, self.screen) for row in group.rows[most:]]
        if rest and not self.table.silent:
            room = self.screen.width - len(self.indent) - self.lead
            badge = said(group.badge.text, self.screen)
            blank = " " * max(self.lead - cell_len(badge), GAP if badge else 0)
            lead = Text.assemble((badge, TONES[group.badge.tone]), blank)
            # The hint names --all, which cannot be combined with --quiet.
            hint = "" if self.extent is Extent.QUIET else lister()
            told = f"{said(group.fold, self.screen)}{hint}" if group.fold else ""
            told = told or fold_text(rest, room, self.table.between, hint)
            yield lead.append(told, "default")

    def _most(self, group: Group) -> int:
        """Number of rows of a group that get a line of their own."""
        number = len(group.rows)
        if self.extent in _EVERY:
            return number
        most = number if self.table.size <= MOST_IN_FULL else LISTED
        most = PASSES if group.fate == "passed" else most
        most = most if group.most is None else group.most
        # If only one row would be left out, it is listed, since the hint needs a line too.
        return number if number <= most + 1 and not self.table.silent else most

    def _rows(self, rows: Sequence[Row]) -> Iterator[Cells | Text]:
        """Cells of rows; the groups of a grouped query stand together below its name."""
        sizes = Counter(row.grouping.name for row in rows if row.grouping)
        for grouping, members in groupby(together(rows), key=lambda row: row.grouping):
            several = grouping is not None and sizes[grouping.name] > 1
            if grouping is not None and several:
                told = f"{grouping.name}   {grouping.asks}"
                yield Text(f"{' ' * self.lead}{said(told, self.screen)}", "dim")
            for row in members:
                yield self._cells(row, f"  {row.member}" if several else "")
                for part in row.parts:
                    yield self._cells(part, f"  {part.member}")
                yield from self._remark(row)

    def _cells(self, row: Row, name: str) -> Cells:
        cells = [self._cell(row.cells[place]) for place in self.places]
        if self.chosen:
            cells[self.name] = Text("> " if "used" in row.marks else "  ") + cells[self.name]
        if name:
            cells[self.name] = Text(said(name, self.screen))
        return tuple(cells)

    def _remark(self, row: Row) -> Iterator[Text]:
        """Remark below a row, on several lines if it is long."""
        whole = row.whole_remark if self.extent is Extent.ALL else ""
        if remark := whole or row.remark:
            blank = " " * (self.lead + GAP)
            screen = self.screen.inner(len(blank) + len(self.indent))
            for piece in screen.wrapped(said(remark, self.screen)):
                yield Text(f"{blank}{piece.plain}", "dim")

    def _cell(self, cell: Cell) -> Text:
        if cell.picture:
            return Text(picture_text(cell.picture, unicode=self.screen.unicode))
        text = Text(said(cell.text, self.screen), "bold" if cell.strong else "")
        if cell.badge is None:
            return text
        badge = said(cell.badge.text, self.screen)
        return text.append(f" {badge:>3}" if cell.text else badge, TONES[cell.badge.tone])

    def _asked(self) -> dict[str, str]:
        """Questions of rows by the rows' names.

        All rows are included if their questions stand beside them; else only rows with a default
        name such as q3.
        """
        return {
            said(row.id, self.screen): said(row.asks, self.screen)
            for row in self.table.rows
            if self.table.beside or _NUMBERED.fullmatch(row.id)
        }

    def _with_questions(
        self, columns: list[Column], rows: list[Cells | Text], asked: Mapping[str, str]
    ) -> tuple[list[Column], list[Cells | Text]]:
        """Columns and rows with the rows' questions as the last column, cut if room is short."""
        room = max(self.screen.width - _BESIDE, 20)
        return [*columns, Column("", spare=1, stacked="drawn")], [
            row
            if isinstance(row, Text)
            else (*row, Text(self.screen.cut(asked.get(str(row[self.name]), ""), room), "dim"))
            for row in rows
        ]

    def _asking(
        self, columns: Sequence[Column], rows: list[Cells | Text], asked: Mapping[str, str]
    ) -> tuple[list[Cells | Text], list[Text]]:
        """Rows with their questions beside their names if all fit; else questions as lines below.

        Returns the rows, and the lines below the table.
        """
        at = self.name
        shown = {
            name: asked[name]
            for row in rows
            if not isinstance(row, Text) and (name := str(row[at])) in asked
        }
        beside = self._beside(rows, shown)
        if fits(columns, beside, self.screen.width - len(self.indent)):
            return beside, []
        if not shown:
            return rows, []
        if self.extent is Extent.BRIEF and (cut := self._cut_to_fit(columns, rows, shown)):
            return cut, []
        width = max(map(cell_len, shown))
        lines = (f"{self.indent}{name:<{width}}  {asks}" for name, asks in shown.items())
        told = [Text(self.screen.cut(line, self.screen.width), "dim") for line in lines]
        if self.extent is Extent.BRIEF and len(told) > PASSES + 1:
            more = (
                f"{self.indent}{len(told) - PASSES:,} more   ({option('--all')} tells what they "
                "ask)"
            )
            told = [*told[:PASSES], Text(more, "dim")]
        return rows, [Text(), *told]

    def _beside(self, rows: Sequence[Cells | Text], shown: Mapping[str, str]) -> list[Cells | Text]:
        """Rows with their questions, as ``shown``, beside their names."""
        at = self.name
        return [
            (*row[:at], Text.assemble(name, "  ", (shown[name], "dim")), *row[at + 1 :])
            if not isinstance(row, Text) and (name := str(row[at])) in shown
            else row
            for row in rows
        ]

    def _cut_to_fit(
        self, columns: Sequence[Column], rows: list[Cells | Text], shown: Mapping[str, str]
    ) -> list[Cells | Text]:
        """Rows with their questions beside their names, cut to the room; empty if it is too short.

        ``--all`` shows them whole.
        """
        longest = max(map(cell_len, shown.values()))
        for room in range(longest, _LEAST_QUESTION - 1, -1):
            beside = self._beside(
                rows, {name: self.screen.cut(asks, room) for name, asks in shown.items()}
            )
            if fits(columns, beside, self.screen.width - len(self.indent)):
                return beside
        return []


def together(rows: Sequence[Row]) -> list[Row]:
    """Rows in their order, except that rows of one grouping follow its first row."""
    first: dict[str, int] = {}
    for place, row in enumerate(rows):
        first.setdefault(_grouping(row), place)
    return sorted(rows, key=lambda row: first[_grouping(row)])


def _grouping(row: Row) -> str:
    return row.grouping.name if row.grouping else row.id


def lister() -> str:
    """Hint on how to list the rows that share a line."""
    return f"   ({option('--all')} lists them)"


def fold_text(names: Sequence[str], room: int, between: str = ", ", hint: str = "") -> str:
    """First names that fit into ``room``, the number of other names, and a ``hint``."""
    for shown in range(min(_NAMED, len(names) - 1), 0, -1):
        text = f"{between.join(names[:shown])} and {len(names) - shown:,} more{hint}"
        if cell_len(text) <= room:
            return text
    text = f"{len(names):,} more"
    return f"{text}{hint}" if cell_len(text + hint) <= room else text
