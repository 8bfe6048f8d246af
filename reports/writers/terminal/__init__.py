"""Writer for terminals: works at any width, and colour only repeats what the words say."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult

from pqd.reports.escape import inert
from pqd.reports.models.report import document_of
from pqd.reports.writers.terminal.document import explained_lines, lines_of
from pqd.reports.writers.terminal.layout import Extent, Screen

if TYPE_CHECKING:
    from pqd.reports.models.report import Report


class TerminalReport:
    """Renderable of the library rich: a report of any kind, or one entry of it in full."""

    def __init__(
        self, report: Report, extent: Extent = Extent.BRIEF, explained: str | None = None
    ) -> None:
        """Report, how much of it is shown, and the id of an entry if only this entry is shown."""
        self._report, self._extent, self._explained = report, extent, explained

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines of the report, laid out for the console."""
        screen = Screen.of(console, options)
        if self._explained is None:
            yield from lines_of(document_of(self._report), screen, self._extent)
        else:
            yield from explained_lines(document_of(self._report), self._explained, screen)


def terminal_text(report: Report, width: int = 80, extent: Extent = Extent.BRIEF) -> str:
    """Terminal report as plain text that is safe in a build log: it holds no runner commands."""
    stream = io.StringIO()
    # Without force_jupyter=False, rich in a notebook shows the text and leaves the stream empty.
    console = Console(
        file=stream, width=width, color_system=None, force_terminal=False, force_jupyter=False
    )
    console.print(TerminalReport(report, extent))
    return inert(stream.getvalue())
