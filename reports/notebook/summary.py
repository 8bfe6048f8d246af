"""Summary of a report: a title, sentences and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

# A notebook is no place for hundreds of rows; to_html and to_frame have them all.
MOST = 60
# A text, and how it is marked: yes, no, open, name, number or nothing.
CellText = tuple[str, str]
Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Table:
    """A table; a column is a title and ``number`` where it is one.

    ``more`` is the number of rows that there is no room for.
    """

    columns: tuple[CellText, ...]
    rows: Sequence[Sequence[CellText]]
    more: int = 0


def table_of(
    columns: tuple[CellText, ...],
    entries: Sequence[Entry],
    row: Callable[[Entry], Sequence[CellText]],
) -> Table:
    """Table with a row for each of the first ``entries``."""
    rows = [row(entry) for entry in entries[:MOST]]
    return Table(columns, rows, len(entries) - len(rows))


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a report for a notebook; ``stamp`` is empty unless noise was seeded.

    ``account`` says what was spent, and where that is written down; ``lines`` are all else that is
    to be read.  ``command`` is what makes such a report where its kind has another name.
    """

    title: str
    lead: str
    tables: Sequence[Table]
    stamp: str = ""
    account: Sequence[str] = ()
    lines: Sequence[str] = ()
    command: str = ""


def numbers(titles: Sequence[str]) -> Iterator[CellText]:
    """Columns of numbers."""
    for title in titles:
        yield title, "number"
