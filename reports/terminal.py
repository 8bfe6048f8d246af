"""The terminal rendering: verdict first, complete at any width, colour only as a second channel."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from reports.chart import chart_lines
from reports.numbers import epsilon_text, number_text
from reports.visible import visible
from reports.words import headline, p_value_text, sentences

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reports.model import AuditReport, Verdict

INDENT = " " * 5
_BADGES = {"YES": "bold green", "NO": "bold red", "?": "bold yellow"}
_STYLES = {"plain": "", "warning": "yellow", "detail": "dim"}
SIMULATED = "SIMULATED: these verdicts come from seeded noise and protect nobody."


class TerminalReport:
    """A rich renderable of an audit report; ``verbose`` adds the charts that were computed."""

    def __init__(self, report: AuditReport, *, verbose: bool = False) -> None:
        """Keep the report."""
        self._report, self._verbose = report, verbose

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one block per verdict, then the summary."""
        unicode = options.encoding.lower().startswith("utf")
        if self._report.simulated:
            yield Text(SIMULATED, style="bold yellow")
            yield Text()
        for verdict in self._report.verdicts:
            yield from wrapped(_head(verdict), console, options.max_width)
            for line in self._lines(verdict, unicode=unicode, width=options.max_width):
                yield from indented(line, console, options.max_width)
            yield Text()
        for line in _summary(self._report):
            yield from wrapped(line, console, options.max_width)

    def _lines(self, verdict: Verdict, *, unicode: bool, width: int) -> Iterator[Text]:
        for text, role in sentences(verdict, self._report.tolerance, "±" if unicode else "+-"):
            yield Text(text, style=_STYLES[role])
        if self._verbose:
            for text in chart_lines(
                verdict.candidates, verdict.decider, unicode=unicode, width=width
            ):
                yield Text(text, no_wrap=True)


def rendered_text(renderable: RenderableType, width: int) -> str:
    """Return ``renderable`` as plain text."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None, force_terminal=False)
    console.print(renderable)
    return stream.getvalue()


def report_text(report: AuditReport, width: int = 80) -> str:
    """Return the terminal report as plain text."""
    return rendered_text(TerminalReport(report), width)


def indented(line: Text, console: Console, width: int) -> Iterator[Text]:
    """Yield ``line`` wrapped under the badge."""
    if line.no_wrap:
        yield Text(INDENT).append_text(line)
        return
    for piece in wrapped(line, console, max(20, width - len(INDENT))):
        yield Text(INDENT).append_text(piece)


def wrapped(line: Text, console: Console, width: int) -> Iterator[Text]:
    """Yield ``line`` in pieces of at most ``width``, without trailing blanks."""
    for piece in line.wrap(console, width):
        piece.rstrip()
        yield piece


def _head(verdict: Verdict) -> Text:
    badge, words = headline(verdict)
    head = Text.assemble((f"{badge:<5}{words}", _BADGES[badge]))
    if verdict.p_value is not None:
        head.append(f"   {p_value_text(verdict.p_value)}")
    head.append(f"   {visible(verdict.id)}", style="bold")
    if verdict.simulated:
        head.append("   SIMULATED", style="bold yellow")
    if not verdict.epsilon:
        head.append("   cost 0")
    if verdict.replayed:
        head.append("   replayed, cost 0")
    return head


def _summary(report: AuditReport) -> Iterator[Text]:
    standings = [verdict.standing for verdict in report.verdicts]
    counts = f"{standings.count('trusted')} trusted, {standings.count('not trusted')} not"
    if "undecided" in standings:
        counts += f", {standings.count('undecided')} undecided"
    yield Text(f"{counts}.", style="bold")
    yield Text(f"{_spent(report)} One row counts as one person.")
    level = number_text(float(report.verdicts[0].alpha) * 100, 3)
    yield Text(
        f"Undecided: p above {level} %. Least tau: from it on a verdict errs with at most "
        f"{level} % where the answers agree or lie 2 tau apart."
    )
    for note in report.notes:
        yield Text(visible(note))


def _spent(report: AuditReport) -> str:
    paid = [v.epsilon for v in report.verdicts if not v.replayed and v.epsilon]
    total = f"Spent epsilon {epsilon_text(report.spent)}"
    if len(paid) > 1 and len(set(paid)) == 1:
        total += f" = {len(paid)} x {epsilon_text(paid[0])}"
    tables = f"{visible(report.private)}, compared with {visible(report.synthetic)}"
    return f"{total} on {tables}, which is taken as public."
