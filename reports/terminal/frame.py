"""Frame of a terminal report: its heading, its table with the worst first, and its closing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from rich.cells import cell_len
from rich.text import Text

from pqd.reports.text.escape import visible
from pqd.reports.text.words import LISTED, MOST_IN_FULL
from pqd.reports.writers.terminal.grid import GAP, fits, grid_lines
from pqd.reports.writers.terminal.layout import Extent
from pqd.reports.writers.terminal.table import LISTER, fold_text

if TYPE_CHECKING:
    from pqd.reports.writers.terminal.grid import Cells, Column
    from pqd.reports.writers.terminal.layout import Screen

Entry = TypeVar("Entry")
# What the entry of a name asks; None if there is none, or if the name says it.
Questions = Callable[[str], str | None]
PASSES = 10
WIDEST = 80
_NOTES = 3


@dataclass(frozen=True, slots=True)
class Standing(Generic[Entry]):
    """Entries of a table that fared alike, their badge, and whether they are failures or passes.

    ``listed`` of them have a line each, if it says so.
    """

    badge: Text
    entries: Sequence[Entry]
    failed: bool = False
    passed: bool = False
    listed: int | None = None

    def most(self, total: int, extent: Extent) -> int:
        """Number of entries that have a line, where all standings have ``total``."""
        number = len(self.entries)
        if extent in {Extent.ALL, Extent.VERBOSE}:
            return number
        most = number if total <= MOST_IN_FULL else LISTED
        most = PASSES if self.passed else most
        most = most if self.listed is None else self.listed
        # One that is left alone has a line rather than a line that says so.
        return number if number <= most + 1 else most


def stamp(words: str, screen: Screen, *, shown: bool) -> Iterator[Text]:
    """First line of a report that comes from seeded noise, nothing of another."""
    if shown:
        yield from screen.wrapped(words, "bold yellow")
        yield Text()


def heading(text: str, spent: str, question: str, screen: Screen) -> Iterator[Text]:
    """Subject of a report, at the right what it spent, and below what its lines answer."""
    width = min(screen.width, WIDEST)
    blank = width - cell_len(text) - cell_len(spent)
    if blank >= GAP:
        yield Text.assemble((text, "bold"), " " * blank, spent)
    else:
        yield from screen.wrapped(text, "bold")
        yield from screen.wrapped(spent)
    if question:
        yield from screen.wrapped(question, "dim")
    yield Text()


def table(  # noqa: PLR0913 - what a table is made of
    columns: Sequence[Column],
    standings: Sequence[Standing[Entry]],
    lines: Callable[[Sequence[Entry]], Iterable[Cells | Text]],
    name: Callable[[Entry], str],
    screen: Screen,
    extent: Extent,
    *,
    between: str = ", ",
    questions: Questions = lambda _: None,
) -> Iterator[Text]:
    """Lines of a table, the worst first; ``lines`` has the rows of entries, ``name`` one's name.

    Of many entries that fared alike the first have a line each, and all others one line.
    ``questions`` gives what an entry asks whose name does not say it.
    """
    quiet = extent is Extent.QUIET
    total = sum(len(each.entries) for each in standings)
    indent = " " * GAP if screen.width >= WIDEST else ""
    lead = max((each.badge.cell_len for each in standings), default=0)
    lead = max(lead, cell_len(columns[0].title)) + GAP
    rows: list[Cells | Text] = []
    for each in standings:
        if quiet and not each.failed:
            continue
        most = each.most(total, extent)
        rows.extend(lines(each.entries[:most]))
        if rest := each.entries[most:]:
            badge = Text.assemble(each.badge, " " * (lead - each.badge.cell_len))
            room = screen.width - len(indent) - lead
            # What lists them cannot be given with --quiet.
            more = "" if quiet else LISTER
            names = [name(entry) for entry in rest]
            rows.append(badge.append(fold_text(names, room, between, more), "default"))
    rows, legend = with_questions(columns, rows, questions, screen, extent)
    yield from grid_lines(columns, rows, screen, indent=indent, titled=not quiet)
    yield from legend
    if rows and not quiet:
        yield Text()


def with_questions(
    columns: Sequence[Column],
    rows: list[Cells | Text],
    questions: Questions,
    screen: Screen,
    extent: Extent,
) -> tuple[list[Cells | Text], list[Text]]:
    """Rows with what each asks beside its name, where all have room; else lines below that say it.

    Of many ``questions`` that have no room beside the names the first are told.
    """
    indent = " " * GAP if screen.width >= WIDEST else ""
    place = next(
        (place for place, column in enumerate(columns) if column.title in {"query", "check"}), 0
    )
    asked = {
        name: question
        for row in rows
        if not isinstance(row, Text) and (question := questions(name := str(row[place])))
    }
    beside = [
        (
            *row[:place],
            Text.assemble(str(row[place]), "  ", (asked[name], "dim")),
            *row[place + 1 :],
        )
        if not isinstance(row, Text) and (name := str(row[place])) in asked
        else row
        for row in rows
    ]
    if fits(columns, beside, screen.width - len(indent)):
        return beside, []
    if not asked or extent is Extent.QUIET:
        return rows, []
    width = max(map(cell_len, asked))
    told = [
        Text(screen.cut(f"{indent}{name:<{width}}  {question}", screen.width), "dim")
        for name, question in asked.items()
    ]
    if extent is Extent.BRIEF and len(told) > PASSES + 1:
        more = f"{indent}{len(told) - PASSES:,} more   (--all tells what they ask)"
        told = [*told[:PASSES], Text(more, "dim")]
    return rows, [Text(), *told]


def notes_lines(notes: Iterable[str], screen: Screen, extent: Extent) -> Iterator[Text]:
    """Notes of a report: the first, and the last, which may be a warning."""
    every = [] if extent is Extent.QUIET else list(notes)
    if extent is Extent.BRIEF and len(every) > _NOTES + 1:
        left = len(every) - _NOTES
        every = [*every[: _NOTES - 1], f"... {left:,} more notes (--all lists them) ...", every[-1]]
    yield from screen.paragraphs(map(visible, every))
    if every:
        yield Text()


def closing(
    failures: str,
    counts: Text,
    step: str,
    budget: str,
    screen: Screen,
    extent: Extent,
    caution: str = "",
) -> Iterator[Text]:
    """Last lines: failures by name, the counts beside the next step, what they mean, the budget."""
    if extent is Extent.QUIET:
        yield from screen.wrapped(Text(" ").join(filter(None, (counts, Text(budget)))))
        return
    if failures:
        yield from screen.wrapped(failures, "bold red")
    ahead = f"Next: {step}" if step else ""
    if counts.cell_len + 3 + cell_len(ahead) <= screen.width:
        yield counts + Text(f"   {ahead}" if ahead else "")
    else:
        yield from screen.wrapped(counts)
        yield from screen.wrapped(ahead)
    for text in filter(None, (caution, budget)):
        yield from screen.wrapped(text)
