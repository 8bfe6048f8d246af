"""Screen for a terminal report, its lines, and how much of the report it shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from pqd.reports.blocks import plain
from pqd.reports.escape import visible
from pqd.reports.text.numbers import UNITS

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

    from pqd.reports.blocks import Text as Sentence

INDENT = " " * 5

# Rich may break a line at every blank.  So while a line is wrapped, half a character (a lone
# surrogate) replaces the blanks of ``UNITS``.  No text has this sign, since ``visible`` escapes it.
_BOND = "\ud800"


def bound(text: Text) -> Text:
    """Text whose blanks are replaced, so that it stays on one line."""
    whole = text.copy()
    whole.plain = whole.plain.replace(" ", _BOND)
    return whole


def words(text: str) -> list[str]:
    """Parts of a text that may not be broken, such as ``5 %``."""
    return [word.replace(_BOND, " ") for word in UNITS.sub(_BOND, text).split()]


# Signs that a screen without Unicode cannot show, and their substitutes.
_SPELLED = str.maketrans({"±": "+-", "✓": "+", "✗": "x", "…": "...", "\u2013": "-"})


def said(text: Sentence, screen: Screen) -> str:
    """Sentence with its options written as in a shell, in signs that the screen can show."""
    shown = visible(plain(text))
    return shown if screen.unicode else shown.translate(_SPELLED)


class Extent(Enum):
    """How much of a report is shown.

    QUIET shows failures and the last line.  BRIEF shows a line per verdict, but not all lines of a
    long report.  ALL shows every line.  VERBOSE shows all details too.
    """

    QUIET = "quiet"
    BRIEF = "brief"
    ALL = "all"
    VERBOSE = "verbose"


@dataclass(frozen=True, slots=True)
class Screen:
    """Room of ``width`` cells on a console; ``unicode``: the console can show Unicode."""

    console: Console
    width: int
    unicode: bool

    @classmethod
    def of(cls, console: Console, options: ConsoleOptions) -> Screen:
        """Screen with the width and the encoding of a console."""
        return cls(console, options.max_width, options.encoding.lower().startswith("utf"))

    @property
    def sign(self) -> str:
        """Sign of a tolerance or a deviation."""
        return "±" if self.unicode else "+-"

    def inner(self, indent: int = len(INDENT)) -> Screen:
        """Screen within this one, to the right of an indent."""
        return replace(self, width=max(20, self.width - indent))

    def wrapped(self, line: Text | str, style: str = "") -> Iterator[Text]:
        """Pieces of a line, each no wider than the screen and without blanks at its end.

        A number and its unit stay on one line, such as ``5 %``.
        """
        text = Text(line, style=style) if isinstance(line, str) else line.copy()
        text.plain = UNITS.sub(_BOND, text.plain)
        for piece in text.wrap(self.console, self.width):
            piece.plain = piece.plain.replace(_BOND, " ")
            piece.rstrip()
            yield piece

    def cut(self, text: str, width: int) -> str:
        """Text of at most ``width`` cells; it ends in dots if it is cut."""
        if cell_len(text) <= width:
            return text
        sign = "…" if self.unicode else "..."
        return set_cell_size(text, max(0, width - len(sign))).rstrip() + sign

    def paragraphs(self, lines: Iterable[Text | str]) -> Iterator[Text]:
        """Wrapped pieces of several lines, one line after the other."""
        for line in lines:
            yield from self.wrapped(line)

    def indented(self, line: Text | str, style: str = "") -> Iterator[Text]:
        """Pieces of a line, indented to stand below a badge; a ``no_wrap`` line stays whole."""
        text = Text(line, style=style) if isinstance(line, str) else line
        pieces = iter((text,)) if text.no_wrap else self.inner().wrapped(text)
        for piece in pieces:
            yield Text(INDENT).append_text(piece)
