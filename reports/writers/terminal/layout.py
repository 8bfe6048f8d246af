"""Screen that a terminal report is laid out on, lines of it, and how much is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from pqd.reports.blocks import plain
from pqd.reports.escape import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

    from pqd.reports.blocks import Text as Sentence

INDENT = " " * 5

# Blanks of "5 %" and "p < 0.001".  While a line is wrapped, half a character, which no text here
# holds (it would be escaped), stands for them: rich takes every blank for a place to break.
_BOUND = re.compile(r"(?<=\d) (?=%|M\b)|(?<=\bp) (?=[<>=] )|(?<=\bp [<>=]) (?=\d)")
_BOND = "\ud800"


def bound(text: Text) -> Text:
    """Text that stays on one line."""
    whole = text.copy()
    whole.plain = whole.plain.replace(" ", _BOND)
    return whole


def words(text: str) -> list[str]:
    """Parts of a text that stay on one line each."""
    return [word.replace(_BOND, " ") for word in _BOUND.sub(_BOND, text).split()]


# Signs that a screen without Unicode has no cell for.
_SPELLED = str.maketrans({"±": "+-", "✓": "+", "✗": "x", "…": "...", "\u2013": "-"})


def said(text: Sentence, screen: Screen) -> str:
    """Sentence with its options as a shell takes them, in signs that a screen shows."""
    shown = visible(plain(text))
    return shown if screen.unicode else shown.translate(_SPELLED)


class Extent(Enum):
    """Extent: failures and the last line, a line per verdict, all of them, or all that is known."""

    QUIET = "quiet"
    BRIEF = "brief"
    ALL = "all"
    VERBOSE = "verbose"


@dataclass(frozen=True, slots=True)
class Screen:
    """Room of ``width`` cells on a console, which shows Unicode or not."""

    console: Console
    width: int
    unicode: bool

    @classmethod
    def of(cls, console: Console, options: ConsoleOptions) -> Screen:
        """Screen that a console offers."""
        return cls(console, options.max_width, options.encoding.lower().startswith("utf"))

    @property
    def sign(self) -> str:
        """Sign of a tolerance or a deviation."""
        return "±" if self.unicode else "+-"

    def inner(self, indent: int = len(INDENT)) -> Screen:
        """Screen within this one, to the right of an indent."""
        return replace(self, width=max(20, self.width - indent))

    def wrapped(self, line: Text | str, style: str = "") -> Iterator[Text]:
        """Pieces of a line that fit, without trailing blanks; a number stays with its sign."""
        text = Text(line, style=style) if isinstance(line, str) else line.copy()
        text.plain = _BOUND.sub(_BOND, text.plain)
        for piece in text.wrap(self.console, self.width):
            piece.plain = piece.plain.replace(_BOND, " ")
            piece.rstrip()
            yield piece

    def cut(self, text: str, width: int) -> str:
        """Text in so many cells, with a sign where it is cut."""
        if cell_len(text) <= width:
            return text
        sign = "…" if self.unicode else "..."
        return set_cell_size(text, max(0, width - len(sign))).rstrip() + sign

    def paragraphs(self, lines: Iterable[Text | str]) -> Iterator[Text]:
        """Pieces of several lines, one after the other."""
        for line in lines:
            yield from self.wrapped(line)

    def indented(self, line: Text | str, style: str = "") -> Iterator[Text]:
        """Pieces of a line that fit under a badge; a line of ``no_wrap`` stays one."""
        text = Text(line, style=style) if isinstance(line, str) else line
        pieces = iter((text,)) if text.no_wrap else self.inner().wrapped(text)
        for piece in pieces:
            yield Text(INDENT).append_text(piece)
