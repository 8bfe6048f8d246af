"""Summary of a report: a title, sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Most rows of a table in a notebook; to_html and to_frame have all rows.
MOST = 60
# Text of a cell and its mark: yes, no, open, name, number or empty.
CellText = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """Table; each column is a title and its mark, which is ``number`` or empty.

    ``more`` is the number of rows that are left out.
    """

    columns: tuple[CellText, ...]
    rows: Sequence[Sequence[CellText]]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a report for a notebook.

    ``stamp`` is empty unless the noise was seeded.  ``account`` says what was spent, and which
    ledger holds it.  ``lines`` are all other sentences.  ``command`` is the command that makes the
    report; if it is empty, the command has the name of the report's kind.
    """

    title: str
    lead: str
    tables: Sequence[Table]
    stamp: str = ""
    account: Sequence[str] = ()
    lines: Sequence[str] = ()
    command: str = ""
