"""Blocks of a document: the content of a report, in order, without a format.

A document says what a reader sees and in which order.  A writer says where it stands and how it
looks in one format.  A block has no markup, no escapes, no widths and no colours, and it does not
know the format.  All blocks are frozen, and a writer escapes every text once.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Tone = Literal["yes", "no", "open", "none"]
Fate = Literal["always", "failed", "open", "passed"]
Role = Literal["plain", "strong", "detail", "warning", "advice"]
# Value of ``drop``: only a page has room for this column or section.
PAGE = 9


class Option(NamedTuple):
    """Option of a command inside a sentence, which is made again in a shell."""

    name: str
    value: str = ""


# A sentence; its parts are joined without blanks.
Text = str | tuple[str | Option, ...]


class Line(NamedTuple):
    """Sentence or item of a list, and its role for the reader."""

    text: Text
    role: Role = "plain"


class Badge(NamedTuple):
    """Verdict in a word or two; its colour only repeats the word."""

    text: str
    tone: Tone = "none"


NO_BADGE = Badge("")


class Picture(NamedTuple):
    """Picture in a cell: a value, its interval, a limit and a mark on a shared scale.

    The style ``dot`` draws the value as a point with its interval.  A ``bar`` fills from the left
    end to the value.  A ``pair`` has two bars: one for ``value``, one for ``mark``.  A ``strip``
    draws the value as a line; ``mark`` is the middle of a tolerance, ``limit`` is the tolerance,
    and ``tone`` colours it.  ``label`` is the picture in words.
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

    ``sort`` is the exact number behind the text; the column is sorted by it.  ``under`` is a second
    line, shown where there is room.  ``strong``: readers look for this figure first.  A format
    that can do so puts the colour ``shade`` behind the text, and shows ``hint`` to a pointer.
    """

    text: str = ""
    sort: float | str | None = None
    badge: Badge | None = None
    under: str = ""
    strong: bool = False
    picture: Picture | None = None
    shade: str = ""
    hint: str = ""

    @property
    def empty(self) -> bool:
        """Whether the cell shows nothing."""
        return not (self.text or self.badge or self.under or self.picture)


class Column(NamedTuple):
    """Column of a table.

    ``kind``: a ``badge`` and a ``name`` begin a row.  A ``number`` is aligned right and never
    broken.  A ``text`` may be folded, but not below ``fold`` characters (0: never folded).  A
    ``picture`` has no words.
    ``drop``: where room is short, columns with the largest ``drop`` are left out first.  A column
    with 0 is always shown; a column with ``PAGE`` is shown on pages only.
    ``legend`` explains the title; it stands above the table.
    ``below``: a page shows this column as the second line of the column before it.
    ``foreign``: a user gave the title, so no format changes it.
    ``term``: the name under which the document's definitions explain the title.
    """

    title: str
    kind: Literal["badge", "name", "number", "text", "picture"] = "text"
    drop: int = 0
    fold: int = 0
    legend: str = ""
    below: bool = False
    foreign: bool = False
    term: str = ""


class Key(NamedTuple):
    """Meaning of one or more signs in a picture.

    Each sign is a pair: a shade and the text on it, or the name of a mark and an empty text.
    """

    signs: Sequence[tuple[str, str]]
    text: str


class Grouping(NamedTuple):
    """Grouped query that several rows share; each row is one group of the query.

    ``asks`` and ``line`` are the query in one line, in words and as it is written, if it is.
    """

    name: str
    asks: str
    line: str
    code: str


def _nothing() -> Sequence[Block]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Row of a table, with its details.

    ``id`` is the name of the row for ``--explain`` and links; ``aliases`` are its other names.
    ``asks`` is the row's question in words.  ``said`` is its verdict in a few words, and ``aside``
    says how sure the verdict is.  Without ``said``, ``aside`` is a message.  ``marks`` are words
    such as SIMULATED.  ``names`` are words by which a page filters rows.  ``remark`` is a line
    below the row: a condition, or what would decide the query; where all rows are wanted,
    ``whole_remark`` takes its place.  ``parts`` are further lines below
    the row; they do not count as rows.  ``details`` are computed only if a writer shows them.
    ``open``: the details are shown without a request.
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
    whole_remark: Text = ""
    open: bool = False
    parts: Sequence[Row] = ()
    details: Callable[[], Iterable[Block]] = _nothing

    @property
    def stamp(self) -> str:
        """SIMULATED for a row from seeded noise, if no cell of the row says so; else empty."""
        told = any("SIMULATED" in cell.text for cell in self.cells)
        return "SIMULATED" if "SIMULATED" in self.marks and not told else ""

    @property
    def called(self) -> frozenset[str]:
        """Names by which ``--explain`` finds the row."""
        return frozenset({self.id, *self.aliases, *([self.grouping.name] if self.grouping else [])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows with the same outcome, the surest first.

    ``fate`` decides how many rows are listed: failures are listed even with ``--quiet``, and fewer
    passes are listed than others.  ``most`` is the largest number of listed rows on a terminal and
    in Markdown; if it is None, the writer decides.  ``open``: a page shows the rows with their
    details opened.  ``fold`` is a sentence that stands in the place of the rows that are not
    listed; a page and a notebook show it beside the rows.
    """

    rows: Sequence[Row]
    name: str = ""
    badge: Badge = NO_BADGE
    fate: Fate = "open"
    most: int | None = None
    open: bool = False
    fold: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Groups of rows, the worst first.

    ``label`` is the name of a small table.  ``find`` says what a page's search looks for; if it is
    empty, there is no search.  ``in_full``: ``--verbose`` shows the details of every row in place
    of the rows.  ``words`` replace a small table on a terminal.  ``between`` separates listed
    names, and is not a comma if a name may contain one.  ``beside``: the question of each row
    stands beside its cells where there is room.  ``silent``: no line counts the rows that are not
    listed, since another sentence counts them.  ``order`` is a page's sentence on which rows
    come first.  ``most`` is the largest number of rows that a comment and a notebook list; if it is
    None, as many as fit.  ``empty`` is the sentence for a table without rows.

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
        """Indices of the columns that can stand outside a page, and are not empty."""
        return [place for place in self.told if self.columns[place].drop < PAGE]

    @property
    def told(self) -> list[int]:
        """Indices of the columns that have a nonempty cell; all columns if there are no rows."""
        cells = [row.cells for row in self.rows]
        every = range(len(self.columns))
        return [p for p in every if not cells or any(not each[p].empty for each in cells)]


class Lines(NamedTuple):
    """Sentences, one after the other."""

    lines: Sequence[Line]


class Definitions(NamedTuple):
    """Names that a report uses, each with its meaning."""

    pairs: Sequence[tuple[str, str]]


class Code(NamedTuple):
    """Text as it was written, such as SQL.

    ``carets`` has one text per line: blanks, with carets below the signs that they mark.  It is
    empty if nothing is marked.
    """

    title: str
    text: str
    carets: Sequence[str] = ()


class Shares(NamedTuple):
    """Bar of the parts of a whole.

    Each part is a name, a size and a tone; a number in place of the tone is the number of a colour.
    """

    parts: Sequence[tuple[str, float, Tone | int]]
    words: Sequence[Line] = ()


class Interval(NamedTuple):
    """Picture of one query: the tolerance around the copy's answer, and what the verdict claims.

    ``low`` and ``high`` are the ends of the tolerance, ``least`` is the effectiveness threshold.
    ``tone`` is the tone of the verdict: ``yes`` claims that the private answer lies within the
    tolerance, ``no`` claims that it lies outside.  ``estimate`` is the noisy private answer, and
    ``estimate_low`` and ``estimate_high`` are the ends of the exact one; each is None if it is not
    known.  ``told`` says all three, and is empty if nothing is known.
    """

    answer: float
    low: float
    high: float
    least: float | None
    tone: Tone
    least_text: str = ""
    estimate: float | None = None
    estimate_low: float | None = None
    estimate_high: float | None = None
    told: str = ""


class Curves(NamedTuple):
    """Curves of the chance of a yes by the true gap: one line per decider.

    A line is a name and its points, one point for each eighth of the tolerance.  A point is None if
    no table can have this gap.
    """

    lines: Sequence[tuple[str, Sequence[float | None]]]
    label: str = ""


class HeatCell(NamedTuple):
    """Cell of a heat map.

    ``shade`` is its colour, ``text`` the text in it, and ``told`` a sentence for a pointer.
    ``sign`` stands before the text.  ``name`` says to a screen reader what the shade means.
    ``tone`` is the colour of the cell in a format without shades.
    """

    shade: str
    text: str
    told: str
    sign: str = ""
    name: str = ""
    tone: Tone = "none"


class Heat(NamedTuple):
    """Heat map: a matrix of shades; ``words`` replace it in a format that does not draw."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[HeatCell | None]]]
    caption: str
    corner: str = ""
    keys: Sequence[Key] = ()
    note: str = ""
    words: Sequence[Line] = ()


class Heats(NamedTuple):
    """Heat maps side by side on a page, each under its title, with keys for all of them."""

    maps: Sequence[tuple[str, Heat]]
    keys: Sequence[Key] = ()


class Bars(NamedTuple):
    """Histogram: a label and a picture for each bar, in the order of the axis."""

    rows: Sequence[tuple[str, Picture]]
    keys: Sequence[Key] = ()
    words: Sequence[Line] = ()


class Trace(NamedTuple):
    """Line of a plot, with a band.

    A point is a place from the left, the low end of the band, the value and its high end; all are
    shares of the plot.
    """

    name: str
    points: Sequence[tuple[float, float, float, float]]


class Dot(NamedTuple):
    """Point of a plot, with its name and an interval both ways.

    The low end, the value and the high end, from the left and upwards, are shares of the plot.
    """

    name: str
    across: tuple[float, float, float]
    up: tuple[float, float, float]


class Plot(NamedTuple):
    """Plot of at most three lines, or of named points; ``words`` replace it where nothing is drawn.

    ``across`` and ``up`` are the marks of the axes: a share of the plot and a text.  ``diagonal``
    draws a line from corner to corner, and says what it means.  ``meaning`` says in plain words
    what to look for in the drawing.
    """

    lines: Sequence[Trace]
    titles: tuple[str, str]
    across: Sequence[tuple[float, str]]
    up: Sequence[tuple[float, str]]
    label: str
    band: str
    meaning: str
    diagonal: str = ""
    words: Sequence[Line] = ()
    dots: Sequence[Dot] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under a title.

    ``folded``: Markdown folds the blocks until a reader opens them, and a terminal indents them.
    ``brief``: a terminal shows the title too.  ``drop``: 0 is shown on every terminal, 1 on a
    terminal only with ``--all`` or ``--verbose``, other values never on a terminal, and ``PAGE`` on
    pages only.
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
    | Heats
    | Bars
    | Plot
)  # fmt: skip


class Omission(NamedTuple):
    """Sentence on something that was left out, and the names by which ``--explain`` finds it."""

    text: str
    names: tuple[str, ...] = ()


class Omitted(NamedTuple):
    """Queries that were not asked, or columns that were left out.

    ``lines`` has one line for each of them, ``alike`` one line for each reason.
    """

    title: str = ""
    lines: Sequence[Omission] = ()
    alike: Sequence[str] = ()


NOTHING_OMITTED = Omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """Last lines on a terminal, which a reader sees first: failures, counts, next step, budget.

    ``word`` is the result in one word; it stands before the counts.  ``ways`` are lines of their
    own after the budget: what would do if a run would be refused.
    """

    failed: str = ""
    word: Badge = NO_BADGE
    counts: str = ""
    step: Text = ""
    caution: str = ""
    budget: str = ""
    ways: Sequence[str] = ()


NOTHING_MORE = Closing()


class Budget(NamedTuple):
    """Budget of a private table.

    ``before`` and ``now`` are the shares of the limit that were spent before and in this run.
    ``total`` is the epsilon spent so far, and ``limit`` the most that may be spent, both as text.
    """

    before: float
    now: float
    total: str
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Report as its readers see it: parts that each writer puts in an order of its own.

    ``kind`` is the command that makes the report.  ``title``, ``advice`` and ``lead`` hold the main
    result; ``advice`` is the one sentence on what to do with it.  ``sure`` says how many of the
    statements may be wrong; a page and a comment show it beside the main result.
    ``subject``, ``spent`` and ``opening`` are the heading on a terminal.  ``banner`` stands first
    in every format.  ``body`` is the main part; ``omitted`` and ``notes`` follow it.  ``always``
    are the notes that even ``--quiet`` shows.  ``cost`` and ``reading`` come last: a page shows
    them at the end, Markdown folds them, and a terminal shows them with ``--verbose``.  ``account``
    says what was spent and which ledger holds it.  ``made`` is the day of the run.  ``replays``
    names what another run would replay, such as ``verdicts``.  ``unknown`` is the error message for
    a name that no row has; ``{}`` stands for the name.
    """

    kind: str
    title: str
    lead: str
    advice: str = ""
    sure: Sequence[Line] = ()
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
        """Tables of the body and of its sections."""
        return tables(self.body)


def tables(blocks: Iterable[Block]) -> Iterator[Table]:
    """Tables among some blocks and inside their sections, in order."""
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Section):
            yield from tables(block.blocks)


def spread(parts: Iterable[Block]) -> Iterator[Block]:
    """Blocks, where a section without a title is replaced by its own blocks."""
    for part in parts:
        if isinstance(part, Section) and not part.title:
            yield from spread(part.blocks)
        else:
            yield part


def plain(text: Text) -> str:
    """Sentence with its options written as in a shell."""
    parts = (text,) if isinstance(text, str) else text
    return "".join(part if isinstance(part, str) else _option(part) for part in parts)


def _option(option: Option) -> str:
    return f"--{option.name} {shlex.quote(option.value)}" if option.value else f"--{option.name}"
