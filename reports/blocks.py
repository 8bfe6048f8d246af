"""Blocks of a document: all that a reader sees of a report, in words and in order, for no format.

A document says what and in which order; a writer says where and how.  No block holds markup, an
escape, a width or a colour, and none asks which format it is for.  All of them are frozen, and a
writer escapes every text once.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Tone = Literal["yes", "no", "open", "none"]
Fate = Literal["always", "failed", "open", "passed"]
Role = Literal["plain", "strong", "detail", "warning", "advice"]
# Value of Column.drop: only a page has room for the column.
PAGE = 9


class Option(NamedTuple):
    """Option inside a sentence: ``--zoom 5`` in a shell, ``zoom=5`` in Python."""

    name: str
    value: str = ""


# A sentence.  Its parts stand side by side with no blank between them.
Text = str | tuple[str | Option, ...]


class Line(NamedTuple):
    """Sentence, or item of a list, and what it is to its reader."""

    text: Text
    role: Role = "plain"


class Badge(NamedTuple):
    """Verdict in a word or two; colour only repeats what the word says."""

    text: str
    tone: Tone = "none"


NO_BADGE = Badge("")


class Picture(NamedTuple):
    """Numbers on a shared scale, drawn in a cell: a value, its interval, a limit, a mark.

    A ``dot`` and a ``strip`` show the value as a point, the strip in the colour of its tone; a
    ``bar`` fills from the left end; a ``pair`` draws ``mark`` as a second bar.  ``label`` says all
    of it in words.
    """

    scale: tuple[float, float]
    value: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    mark: float | None = None
    style: Literal["dot", "bar", "pair", "strip"] = "dot"
    tone: Tone = "none"
    label: str = ""


class Cell(NamedTuple):
    """Cell of a table.

    ``sort`` is the exact number behind the text, ``under`` a second line where there is room,
    ``strong`` the figure that a reader looks for.  ``links`` are the parts of a text that names
    rows, each with the name of its row, which a page leads to.  ``shade`` is the colour behind the
    text, and ``hint`` what a pointer reads there, where a format has either.
    """

    text: str = ""
    sort: float | str | None = None
    badge: Badge | None = None
    under: str = ""
    strong: bool = False
    picture: Picture | None = None
    links: Sequence[tuple[str, str]] = ()
    shade: str = ""
    hint: str = ""

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.text or self.badge or self.under or self.picture)


class Column(NamedTuple):
    """Column of a table.

    ``kind``: a ``badge`` and a ``name`` lead a row; a ``number`` is set right and never broken; a
    ``text`` folds down to ``fold`` characters (0: never); a ``picture`` has no words.
    ``drop``: where room is short, the columns with the largest number are left out first; 0 is
    kept everywhere, ``PAGE`` is for pages alone.
    ``legend`` says above the table what the title means.
    ``below``: where a cell may have two lines, this column is the second line of the one before.
    ``foreign``: the title is a name that a user gave, which no format changes.
    ``member``: a page shows the column only in the table of a grouped query's groups.
    """

    title: str
    kind: Literal["badge", "name", "number", "text", "picture"] = "text"
    drop: int = 0
    fold: int = 0
    legend: str = ""
    below: bool = False
    foreign: bool = False
    member: bool = False


class Key(NamedTuple):
    """Meaning of signs in a picture: shades with what stands in them, or a mark by its name."""

    signs: Sequence[tuple[str, str]]
    text: str


class Grouping(NamedTuple):
    """Grouped query, as its rows share it; each of its groups is a row of its own."""

    name: str
    asks: str
    code: str


def _nothing() -> Sequence[Block]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Row of a table, and all that is known behind it.

    ``id`` is what ``--explain`` and links call it, ``asks`` its question in words, ``said`` its
    verdict in a few words and ``aside`` how sure that is, or a message in place of both.
    ``marks`` are words such as SIMULATED, ``names`` what a page filters by, ``aliases`` other ids.
    ``remark`` is a line below the row: a condition, or what would decide.  ``parts`` are rows below
    it that do not count as rows.  ``details`` are computed only where a writer shows them; those of
    an ``open`` row are told at once.
    """

    id: str
    cells: tuple[Cell, ...]
    asks: str = ""
    said: Badge | None = None
    aside: str = ""
    marks: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    grouping: Grouping | None = None
    member: str = ""
    remark: Text = ""
    open: bool = False
    parts: Sequence[Row] = ()
    details: Callable[[], Iterable[Block]] = _nothing

    @property
    def stamp(self) -> str:
        """Mark of a row from seeded noise whose cells do not have it; empty for another."""
        told = any("SIMULATED" in cell.text for cell in self.cells)
        return "SIMULATED" if "SIMULATED" in self.marks and not told else ""

    @property
    def called(self) -> frozenset[str]:
        """Names that ``--explain`` finds the row by."""
        return frozenset({self.id, *self.aliases, *([self.grouping.name] if self.grouping else [])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows that fared alike, the surest first.

    ``fate`` decides how early they are folded: failures are shown even with ``--quiet``, passes
    fold early.  ``most`` rows are listed where a reader wants no more of them; None leaves the
    number to the writer.  ``open``: the details of its rows stand open where a reader can close
    them.
    """

    rows: Sequence[Row]
    name: str = ""
    badge: Badge = NO_BADGE
    fate: Fate = "open"
    most: int | None = None
    open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Groups of rows, the worst first.

    ``label`` names a small table.  ``find`` says what a page's search looks for, empty without a
    search.  ``in_full``: ``--verbose`` tells the details of every row in place of the rows.
    ``words`` stand for a small table where it has no room.  ``between`` separates names that may
    hold a comma.  ``beside``: what each row asks stands beside its name where there is room.
    ``silent``: rows that are not listed are not counted, since a sentence below counts them.
    ``order`` says which rows come first, where a reader can change it.  ``most`` rows are listed
    in a comment and in a notebook; None: as many as there is room for.
    ``empty`` is said where there is no row.

    Raises
    ------
    ValueError
        A row has more or fewer cells than there are columns.
    """

    columns: tuple[Column, ...]
    groups: Sequence[Group]
    label: str = ""
    find: str = ""
    in_full: bool = False
    words: Sequence[Line] = ()
    between: str = ", "
    beside: bool = False
    silent: bool = False
    keys: Sequence[Key] = ()
    order: str = ""
    most: int | None = None
    empty: str = ""

    def __post_init__(self) -> None:
        """Compare each row with the columns."""
        if any(len(row.cells) != len(self.columns) for row in self.rows):
            raise ValueError("every row of a table has one cell per column")

    @property
    def rows(self) -> Iterator[Row]:
        """All rows in their order."""
        return (row for group in self.groups for row in group.rows)

    @property
    def size(self) -> int:
        """Number of rows."""
        return sum(len(group.rows) for group in self.groups)

    def places(self) -> list[int]:
        """Indices of the columns that a format without pictures has room for."""
        return [place for place in self.told if self.columns[place].drop < PAGE]

    @property
    def told(self) -> list[int]:
        """Indices of the columns that say something in a row; all of a table without rows."""
        cells = [row.cells for row in self.rows]
        every = range(len(self.columns))
        return [p for p in every if not cells or any(not each[p].empty for each in cells)]


class Lines(NamedTuple):
    """Sentences, one after the other."""

    lines: Sequence[Line]


class Definitions(NamedTuple):
    """Names of what is shown, each with its meaning."""

    pairs: Sequence[tuple[str, str]]


class Code(NamedTuple):
    """Text as it was written, such as SQL; ``carets`` has a text of carets per line, or nothing."""

    title: str
    text: str
    carets: Sequence[str] = ()


class Shares(NamedTuple):
    """Parts of a whole as a bar: a name, a size, and a tone or the number of a colour each."""

    parts: Sequence[tuple[str, float, Tone | int]]
    words: Sequence[Line] = ()


class Interval(NamedTuple):
    """Picture of one question: the tolerance around the copy's answer, the threshold, the claim.

    ``tone`` is that of the verdict: yes claims that the private answer lies within, no outside.
    """

    answer: float
    low: float
    high: float
    least: float | None
    tone: Tone
    least_text: str = ""


class Curves(NamedTuple):
    """Chance of a yes by true gap, in eighths of the tolerance: a name and its points each.

    A point is None where no table can have the gap.
    """

    lines: Sequence[tuple[str, Sequence[float | None]]]
    label: str = ""


class HeatCell(NamedTuple):
    """Cell of a heat map: its shade, what stands in it, what is told of it, its sign and name.

    ``tone`` is its colour where there are no shades.
    """

    shade: str
    text: str
    told: str
    sign: str = ""
    name: str = ""
    tone: Tone = "none"


class Heat(NamedTuple):
    """Matrix of shades; ``words`` stand for it where nothing is drawn."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[HeatCell | None]]]
    caption: str
    corner: str = ""
    keys: Sequence[Key] = ()
    note: str = ""
    words: Sequence[Line] = ()


class Bars(NamedTuple):
    """Histogram in the order of its axis: a label and a picture per bar."""

    rows: Sequence[tuple[str, Picture]]
    keys: Sequence[Key] = ()
    words: Sequence[Line] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under a title.

    ``folded`` ones are opened on demand where a format can.  ``brief``: the title also stands in
    formats that have little room for titles.  ``drop``: a screen has room for 0, and for 1
    where it is to tell all; only a page has room for ``PAGE``.
    """

    title: str
    blocks: Sequence[Block]
    folded: bool = False
    brief: bool = True
    drop: int = 0


Block = (
    Section
    | Table
    | Lines
    | Definitions
    | Code
    | Shares
    | Interval
    | Curves
    | Heat
    | Bars
)  # fmt: skip


class Omission(NamedTuple):
    """Sentence on what was not done, and the names that ``--explain`` finds it by."""

    text: str
    names: tuple[str, ...] = ()


class Omitted(NamedTuple):
    """Queries that were not asked, or columns that were left out.

    ``lines`` tell each by itself, ``alike`` those of one reason together.
    """

    title: str = ""
    lines: Sequence[Omission] = ()
    alike: Sequence[str] = ()


NOTHING_OMITTED = Omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """Last lines of a terminal, where a reader looks: failures, counts, the next step, the budget.

    ``word`` is the result in one word, which stands before the counts.
    """

    failed: str = ""
    word: Badge = NO_BADGE
    counts: str = ""
    step: Text = ""
    caution: str = ""
    budget: str = ""


NOTHING_MORE = Closing()


class Budget(NamedTuple):
    """Budget of a private table: shares of the limit spent before and now, and both in words."""

    before: float
    now: float
    total: str
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Report as its readers see it: slots that each writer orders in its own way.

    ``kind`` is the command that makes it.  ``title`` and ``lead`` are enough for who reads no
    further.  ``subject``, ``spent`` and ``opening`` head a terminal, ``banner`` heads every
    rendering.  ``body`` is the report; ``omitted`` and ``notes`` follow it, and ``always`` are
    notes that even ``--quiet`` shows.  ``cost`` and ``reading`` are behind: folded, at the end, or
    left to ``--verbose``.  ``account`` says where spending is written down.  ``made`` is the day,
    ``replays`` what another run would replay, ``unknown`` the refusal of a name, for ``{}``, that
    no row has.
    """

    kind: str
    title: str
    lead: str
    subject: str = ""
    spent: str = ""
    opening: Sequence[Line] = ()
    banner: Sequence[Line] = ()
    facts: Sequence[tuple[str, str]] = ()
    counts: Shares | None = None
    meaning: str = ""
    body: Sequence[Block] = ()
    omitted: Omitted = NOTHING_OMITTED
    notes: Sequence[Line] = ()
    always: Sequence[Line] = ()
    account: Sequence[Line] = ()
    budget: Budget | None = None
    cost: Sequence[Block] = ()
    reading: Sequence[Block] = ()
    closing: Closing = NOTHING_MORE
    made: str = ""
    replays: str = ""
    unknown: str = ""

    @property
    def tables(self) -> Iterator[Table]:
        """Tables of the body, those of its sections among them."""
        return tables(self.body)


def tables(blocks: Iterable[Block]) -> Iterator[Table]:
    """Tables among blocks and their sections, in order."""
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Section):
            yield from tables(block.blocks)


def spread(parts: Iterable[Block]) -> Iterator[Block]:
    """Blocks, with those of a section that has no title in its place."""
    for part in parts:
        if isinstance(part, Section) and not part.title:
            yield from spread(part.blocks)
        else:
            yield part


def plain(text: Text) -> str:
    """Sentence with its options as a shell takes them."""
    parts = (text,) if isinstance(text, str) else text
    return "".join(part if isinstance(part, str) else _option(part) for part in parts)


def _option(option: Option) -> str:
    return f"--{option.name} {shlex.quote(option.value)}" if option.value else f"--{option.name}"
