"""Terminal renderings: verdict first, complete at any width, colour only as a second channel."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult

from reports.models.report import renderer
from reports.terminal.layout import Screen
from reports.text.escape import inert

if TYPE_CHECKING:
    from reports.models.report import Report


class TerminalReport:
    """A rich renderable of a report of any kind; ``verbose`` tells all that is known."""

    def __init__(self, report: Report, *, verbose: bool = False) -> None:
        """Report, and how much of it is told."""
        self._report, self._verbose = report, verbose

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines of the report, laid out for the console."""
        screen = Screen.of(console, options)
        yield from renderer(__name__, self._report)(self._report, screen, verbose=self._verbose)


def terminal_text(report: Report, width: int = 80, *, verbose: bool = False) -> str:
    """Terminal report as plain text, which may be printed where a build's runner reads."""
    stream = io.StringIO()
    # In a notebook rich would show the text at once, and leave the stream empty.
    console = Console(
        file=stream, width=width, color_system=None, force_terminal=False, force_jupyter=False
    )
    console.print(TerminalReport(report, verbose=verbose))
    return inert(stream.getvalue())
