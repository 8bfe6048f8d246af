"""Writer of CSV: all tables of a report as one table, for a spreadsheet or a script."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from pqd.reports.models.report import document_of
from pqd.reports.writers.tables import text_tables

if TYPE_CHECKING:
    from pqd.reports.models.report import Report
    from pqd.reports.writers.tables import TextTable

# Signs with which a spreadsheet begins a formula, and what no formula that does harm consists of.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FIGURES = re.compile(r"[-+\d\s.,%±\u2013()]+")
_TABLE, _STAMP = "table", "seeded noise"
_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")


def csv_text(report: Report) -> str:
    """Tables of a report of any kind as CSV, with one head for all.

    The first column names the table, the last one says SIMULATED if the noise was seeded.  Figures
    are those of the report, but for the commas of thousands.
    """
    tables = list(text_tables(document_of(report)))
    titles = dict.fromkeys(title for table in tables for title in _titles(table))
    stamp = {_STAMP: "SIMULATED"} if getattr(report, "simulated", False) else {}
    text = io.StringIO()
    writer = csv.DictWriter(text, [_TABLE, *titles, *stamp], lineterminator="\n")
    writer.writeheader()
    for number, table in enumerate(tables, 1):
        name = _inert(table.title or str(number))
        for row in table.rows:
            cells = dict(zip(_titles(table), map(_inert, row), strict=True))
            writer.writerow({_TABLE: name, **cells, **stamp})
    return text.getvalue()


def _titles(table: TextTable) -> list[str]:
    """Titles of the columns, each of its own: a candidate may be called like another column."""
    titles = [_TABLE, _STAMP]
    for column in table.columns:
        title = _inert(column.title or column.kind)
        titles.append(f"{title} ({titles.count(title) + 1})" if title in titles else title)
    return titles[2:]


def _inert(text: str) -> str:
    """Text that no spreadsheet takes as a formula: an apostrophe stands before one."""
    if _THOUSANDS.fullmatch(text):
        return text.replace(",", "")
    return f"'{text}" if text.startswith(_FORMULA) and not _FIGURES.fullmatch(text) else text
