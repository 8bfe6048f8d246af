"""Summary of a report: a title, sentences and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

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

    def in_python(self) -> Summary:
        """Summary whose sentences name arguments of Python in place of command-line options."""
        account, lines = ([*map(in_python, texts)] for texts in (self.account, self.lines))
        return replace(self, lead=in_python(self.lead), account=account, lines=lines)


# Command with its options, such as "pqd profile ... --zoom 5".
_COMMAND = re.compile(r"pqd ([a-z]+) \.\.\.((?: --[a-z-]+ [^\s,;]+)+)")
# Options that reports name.  No other option is replaced, since it may be the name of a column.
_NAMES = "cells|columns|dry-run|epsilon|row-is-person|target|tau|total-epsilon|type|unit|ways|zoom"
_OPTION = re.compile(
    rf"--({_NAMES})\b"
    r"(?: (\d[\d./%]*(?<!\.)|COLUMN=\d+)|(?<=--unit) (?:\"([^\"]+)\"|([^\s\"]+)\b))?"
)
_BOUNDS = "--bounds, or [columns.NAME] in a spec"
_BOUNDS_IN_PYTHON = 'columns={"NAME": {"bounds": (low, high)}}'


def in_python(text: str) -> str:
    """Text in which arguments of Python, such as ``zoom=5``, replace command-line options."""
    text = text.replace(_BOUNDS, _BOUNDS_IN_PYTHON)
    text = _COMMAND.sub(lambda found: f"pqd.{found[1]}(..., {_arguments(found[2])})", text)
    return _OPTION.sub(_argument, text)


def _arguments(options: str) -> str:
    return ", ".join(
        _OPTION.sub(_argument, f"--{each.strip()}") for each in options.split("--")[1:]
    )


def _argument(found: re.Match[str]) -> str:
    name, value = found[1].replace("-", "_"), found[2] or found[3] or found[4]
    if value is None:
        return name
    column, equals, number = value.partition("=")
    if equals:
        return f'{name}={{"{column}": {number}}}'
    plain = re.fullmatch(r"\d+(\.\d+)?", value)
    return f"{name}={value}" if plain else f'{name}="{value}"'
