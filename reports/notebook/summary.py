"""Summary of a report: a title, sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# A notebook is no place for hundreds of rows; to_html and to_frame have them all.
MOST = 60
# A text, and how it is marked: yes, no, open, name, number or nothing.
CellText = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; a column is a title and ``number`` where it is one."""

    columns: tuple[CellText, ...]
    rows: Sequence[Sequence[CellText]]

    @property
    def shown(self) -> Sequence[Sequence[CellText]]:
        """The rows that there is room for."""
        return self.rows[:MOST]

    @property
    def more(self) -> int:
        """Number of rows beyond them."""
        return max(0, len(self.rows) - MOST)


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a report for a notebook; ``stamp`` is empty unless noise was seeded.

    ``command`` is what makes such a report where its kind has another name.
    """

    title: str
    lead: str
    tables: Sequence[Table]
    stamp: str = ""
    lines: Sequence[str] = ()
    command: str = ""


def numbers(titles: Sequence[str]) -> Iterator[CellText]:
    """Columns of numbers."""
    for title in titles:
        yield title, "number"
