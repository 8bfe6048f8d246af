"""Views of blocks: the values that the template of each type of block shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, groupby, zip_longest
from types import SimpleNamespace as View
from typing import TYPE_CHECKING, Any, NamedTuple

from pqd.reports import blocks as b
from pqd.reports.writers.html.curves import Drawings, can_draw
from pqd.reports.writers.html.many import many_view
from pqd.reports.writers.html.pictures import (
    Placed,
    interval_picture,
    placed,
    plotted,
    side_by_side,
)
from pqd.reports.writers.html.texts import cell_content, code_text, titled, told, verbatim

if TYPE_CHECKING:
    from markupsafe import Markup

# If a table has more rows, the script of the page makes them.
MOST_ROWS = 300
# If a query has no more groups than this, all of them are shown at once.
_FEW = 12
# Word for groups of a query whose outcome has no name.
_GROUPS = "groups"
_CLASSES = {
    "badge": "first",
    "name": "name",
    "number": "number",
    "picture": "band",
    "text": "sentence",
}


class _Place(NamedTuple):
    """Index of a column, index of the column shown as its second line, and its title."""

    place: int
    below: int | None
    column: b.Column
    title: str


class CellView(NamedTuple):
    """Cell as its row shows it; the column is sorted by ``sort``, or by the text if it is None."""

    kind: str
    title: str
    content: str | Markup
    sort: str | None
    picture: Placed | None
    shade: str
    hint: str


class Views:
    """Views of the blocks of one page, with the page's curves, ids and anchors of rows."""

    def __init__(self, document: b.Document) -> None:
        """Make no view yet."""
        self.curves, self._ids = Drawings(), count(1)
        self.many = any(self._is_many(table) for table in document.tables)
        self._anchors = {} if self.many else _anchors(document)
        self._terms = {
            name.lower(): meaning
            for part in document.reading
            if isinstance(part, b.Definitions)
            for name, meaning in part.pairs
        }

    @staticmethod
    def _is_many(table: b.Table) -> bool:
        return table.size > MOST_ROWS and any(map(_opens, table.rows))

    def blocks(self, parts: Iterable[b.Block], *, small: bool = False) -> list[View]:
        """Views of several blocks; ``small``: the blocks are details, so their tables are small."""
        # Without matplotlib there are no curves; the command that writes the page says so.
        drawn = (p for p in b.spread(parts) if not isinstance(p, b.Curves) or can_draw())
        return [self.block(part, small=small) for part in drawn]

    def block(self, part: b.Block, *, small: bool = False) -> View:
        """View of a block, with the name of its type."""
        name = type(part).__name__.lower()
        view: dict[str, Any] = getattr(self, f"_{name}")(part, small=small)
        return View(**{"type": name, "small": small, "curve": None, **view})

    def _id(self) -> str:
        return f"part-{next(self._ids)}"

    def _section(self, part: b.Section, *, small: bool) -> dict[str, Any]:
        id_ = self._id()
        parts = self.blocks(part.blocks, small=small)
        return {"id": id_, "title": part.title, "blocks": parts}

    def _lines(self, part: b.Lines, **_: bool) -> dict[str, Any]:
        return {"lines": [(told(text), role) for text, role in part.lines]}

    def _definitions(self, part: b.Definitions, **_: bool) -> dict[str, Any]:
        return {"pairs": [(name, told(text)) for name, text in part.pairs]}

    def _code(self, part: b.Code, **_: bool) -> dict[str, Any]:
        return {"title": part.title, "text": verbatim(code_text(part)), "marked": bool(part.carets)}

    def _shares(self, part: b.Shares, **_: bool) -> dict[str, Any]:
        return {"parts": _parts(part)}

    def _interval(self, part: b.Interval, **_: bool) -> dict[str, Any]:
        return {"picture": interval_picture(part)}

    def _curves(self, part: b.Curves, **_: bool) -> dict[str, Any]:
        return {"curve": self.curves.add(part)}

    def _heat(self, part: b.Heat, **_: bool) -> dict[str, Any]:
        """Heat map; its words in its place if it has too many rows to be drawn."""
        if len(part.rows) <= MOST_ROWS:
            return {"heat": part, "anchors": self._anchors}
        return {"type": "lines", "lines": [(told(text), role) for text, role in part.words]}

    def _heats(self, part: b.Heats, **_: bool) -> dict[str, Any]:
        return {"maps": part.maps, "signs": part.keys}

    def _bars(self, part: b.Bars, **_: bool) -> dict[str, Any]:
        rows = [(label, placed(picture)) for label, picture in part.rows]
        return {"rows": rows, "signs": part.keys}

    def _plot(self, part: b.Plot, **_: bool) -> dict[str, Any]:
        return {"plot": plotted(part)}

    def _table(self, table: b.Table, *, small: bool) -> dict[str, Any]:
        table = _without_empty_columns(table)
        places = list(_places(table.columns))
        heads = [(each.title, _CLASSES.get(each.column.kind, "")) for each in places]
        terms = {each.title: self._terms.get(_term(each.column), "") for each in places}
        names = _names(table)
        shown: dict[str, Any] = {
            "id": self._id(),
            "label": table.label,
            "heads": heads,
            "signs": table.keys,
            "legend": "; ".join(c.legend for c in table.columns if c.legend),
            "find": table.find,
            "order": " ".join(filter(None, (table.order, *_folds(table)))) if table.size else "",
            "empty": table.empty,
            "names": names,
            "folded": [],
            "terms": {} if small else {title: told for title, told in terms.items() if told},
            "counts": ", ".join(
                f"{len(g.rows):,} {g.name}" for g in table.groups if g.name and g.rows
            ),
        }
        if not small and self._is_many(table):
            return {**shown, "style": "many", "many": many_view(table, heads, names)}
        folded = [
            g
            for g in table.groups
            if g.rows and g.fate == "passed" and g.most == 0 and not (table.find or small)
        ]
        shown["folded"] = [
            (f"{len(g.rows)} {g.name}", self.block(replace(table, groups=[g]), small=True))
            for g in folded
        ]
        listed = [
            row
            for g in table.groups
            if g not in folded
            for row in (g.rows[: g.most] if table.silent else g.rows)
        ]
        opens = any(map(_opens, listed))
        style = "small" if small or table.words else "rows" if opens else "brief"
        rows = list(self._rows(table, listed, style))
        pictured = any(column.kind == "picture" for column in table.columns)
        return {**shown, "style": style, "rows": rows, "pictured": pictured}

    def _rows(self, table: b.Table, rows: Sequence[b.Row], style: str) -> Iterator[View]:
        """Views of rows; all groups of a query share one view, at the place of the worst group."""
        columns = list(_places(table.columns))
        open_ = {id(row) for group in table.groups if group.open for row in group.rows}
        order = {_called(row): place for place, row in reversed(list(enumerate(rows)))}
        ordered = sorted(rows, key=lambda row: order[_called(row)])
        for grouping, members in groupby(ordered, key=lambda row: row.grouping):
            if grouping is not None and style == "rows":
                yield self._grouping(table, grouping, list(members))
                continue
            for row in members:
                panel = self._panel(row.details()) if style == "rows" else None
                marks = row.marks if panel is None else ()
                cells = self._cells(columns, row, marks, beside=style == "small")
                anchor = self._anchors.get(row.id, "")
                yield View(
                    grouping=None,
                    row=row,
                    cells=list(cells),
                    anchor=anchor,
                    panel=panel,
                    remark=told(row.remark),
                    open=row.open or id(row) in open_,
                )

    def _cells(
        self, columns: Sequence[_Place], row: b.Row, marks: Sequence[str], *, beside: bool
    ) -> Iterator[CellView]:
        """Views of the cells of a row; the ``marks`` stand beside the row's name."""
        for place, below, column, title in columns:
            cell = row.cells[place]
            if below is not None:
                cell = cell._replace(under=row.cells[below].text)
            named = column.kind == "name"
            content = cell_content(
                cell._replace(strong=False) if named else cell,
                marks=marks if named else (),
                beside=beside or column.kind == "badge",
            )
            picture = placed(cell.picture) if cell.picture else None
            by = sorted_by(column, cell)
            yield CellView(column.kind, title, content, by, picture, cell.shade, cell.hint)

    def _panel(self, parts: Iterable[b.Block]) -> list[View]:
        """Views of details; a picture of curves stands beside the first sentences."""
        views = self.blocks(parts, small=True)
        shown: list[View] = []
        beside = next((view for view in views if view.type == "lines"), None)
        for view in views:
            if view.type == "curves" and beside is not None:
                beside.curve = view.curve
            else:
                shown.append(view)
        return shown

    def _grouping(self, table: b.Table, grouping: b.Grouping, rows: Sequence[b.Row]) -> View:
        """View of a grouped query: the counts of its outcomes, and a table for each outcome."""
        groups = []
        mine = set(map(id, rows))
        for group in table.groups:
            members = [row for row in group.rows if id(row) in mine]
            if members:
                part = replace(group, rows=members)
                groups.append((part, group.fate != "passed" or len(rows) <= _FEW))
        name = next(at for at, column in enumerate(table.columns) if column.kind == "name")
        return View(
            grouping=grouping,
            code=verbatim(grouping.code),
            groups=f"{len(rows)} {_GROUPS}",
            answers=len(rows),
            anchor=self._anchors.get(grouping.name, ""),
            tone=groups[0][0].badge.tone,
            marks=sorted({mark for row in rows for mark in row.marks}),
            shares=_parts(
                b.Shares([(g.name or _GROUPS, len(g.rows), g.badge.tone) for g, _ in groups])
            ),
            # Open the row if it shows nothing but its groups, and these are few.
            open=len(rows) <= _FEW and not any(group.name for group, _ in groups),
            columns=[each.column.kind for each in _places(table.columns)],
            parts=[
                View(
                    title=f"{len(group.rows)} {group.name or _GROUPS}",
                    open=open_,
                    table=self._members(table.columns, group, name),
                )
                for group, open_ in groups
            ],
        )

    def _members(self, columns: tuple[b.Column, ...], group: b.Group, name: int) -> View:
        """Small table of the groups of a query that have the same outcome."""
        rows = [
            replace(row, cells=(b.Cell(row.member), *row.cells[:name], *row.cells[name + 1 :]))
            for row in group.rows
        ]
        others = (*columns[:name], *columns[name + 1 :])
        titles = (b.Column("group", "name"), *others)
        table = b.Table(columns=titles, groups=[replace(group, rows=rows)])
        return self.block(table, small=True)


def _all(parts: Iterable[b.Block]) -> Iterator[b.Block]:
    """Blocks, and the blocks inside sections."""
    for part in parts:
        yield part
        if isinstance(part, b.Section):
            yield from _all(part.blocks)


def _anchors(document: b.Document) -> dict[str, str]:
    """Anchor of each row, by its name; empty if no heat map links to the rows.

    A heat map links to rows if its own rows have the names of all rows of a table.
    """
    rows = (row for table in document.tables if table.find for row in table.rows)
    called = list(dict.fromkeys(map(_called, rows)))
    heats = [part for part in _all(document.body) if isinstance(part, b.Heat)]
    linked = any({name for name, _ in heat.rows} == set(called) for heat in heats)
    return {name: f"row-{place}" for place, name in enumerate(called, 1)} if linked else {}


def _called(row: b.Row) -> str:
    return row.grouping.name if row.grouping else row.id


def _opens(row: b.Row) -> bool:
    """Whether a row has something to show when a reader opens it."""
    return bool(row.asks or row.aside or row.open or row.remark)


def _places(columns: Sequence[b.Column]) -> Iterator[_Place]:
    """Places of the columns that stand side by side, without those shown as a second line."""
    for place, (column, following) in enumerate(zip_longest(columns, columns[1:])):
        if not column.below:
            below = place + 1 if following is not None and following.below else None
            yield _Place(place, below, column, titled(column))


def _term(column: b.Column) -> str:
    return (column.term or column.title).lower()


def _folds(table: b.Table) -> Iterator[str]:
    return (f"{group.fold}." for group in table.groups if group.fold and group.rows)


def _names(table: b.Table) -> list[str]:
    """Words by which a reader can filter rows: the names of groups, then the names of rows."""
    groups = [group.name for group in table.groups if group.name]
    return list(dict.fromkeys([*groups, *(name for row in table.rows for name in row.names)]))


def _without_empty_columns(table: b.Table) -> b.Table:
    """Table without the columns that are empty in all rows."""
    kept = table.told
    if len(kept) == len(table.columns):
        return table
    groups = [
        replace(
            group,
            rows=[
                replace(row, cells=tuple(row.cells[place] for place in kept)) for row in group.rows
            ],
        )
        for group in table.groups
    ]
    return replace(table, columns=tuple(table.columns[place] for place in kept), groups=groups)


def sorted_by(column: b.Column, cell: b.Cell) -> str | None:
    """Text by which a cell is sorted: its exact number.

    None if the shown text is used; empty if a cell of a column of numbers has no number.
    """
    if cell.sort is None:
        return None if column.kind in {"name", "text"} else ""
    return cell.sort if isinstance(cell.sort, str) else repr(cell.sort)


def _parts(part: b.Shares) -> list[View]:
    boxes = side_by_side(size for _, size, _ in part.parts)
    return [
        View(
            name=name,
            number=size,
            tone=f"part{tone}" if isinstance(tone, int) else tone,
            box=box,
        )
        for (name, size, tone), box in zip(part.parts, boxes, strict=True)
    ]


def budget_view(budget: b.Budget) -> dict[str, Any]:
    """View of a budget: its shares of the limit in per cent, and its texts."""
    before, now = round(100 * budget.before, 2), round(100 * budget.now, 2)
    return {"before": before, "now": now, "total": budget.total, "limit": budget.limit}
