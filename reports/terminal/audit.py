"""The terminal rendering: verdict first, complete at any width, colour only as a second channel."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from reports.models.refusals import refused_lines, refused_sentence
from reports.terminal.chart import chart_lines
from reports.text.audit import (
    cost_sentences,
    headline,
    p_value_text,
    question,
    sentences,
    threshold_text,
)
from reports.text.escape import inert, visible
from reports.text.numbers import number_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reports.models.audit import AuditReport, Verdict
    from reports.models.refusals import Refused

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
        for block, verdicts in groupby(self._report.verdicts, key=lambda v: v.block):
            if block is None or self._verbose:
                for verdict in verdicts:
                    yield from self._single(verdict, console, options, unicode=unicode)
            else:
                yield from block_lines(list(verdicts), console, options, unicode=unicode)
                yield Text()
        for line in _summary(self._report):
            yield from wrapped(line, console, options.max_width)

    def _single(
        self, verdict: Verdict, console: Console, options: ConsoleOptions, *, unicode: bool
    ) -> Iterator[Text]:
        yield from wrapped(_head(verdict), console, options.max_width)
        for line in self._lines(verdict, unicode=unicode, width=options.max_width):
            yield from indented(line, console, options.max_width)
        yield Text()

    def _lines(self, verdict: Verdict, *, unicode: bool, width: int) -> Iterator[Text]:
        for text, role in sentences(verdict, self._report.tolerance, "±" if unicode else "+-"):
            yield Text(text, style=_STYLES[role])
        if self._verbose:
            for text in chart_lines(
                verdict.candidates, verdict.decider, unicode=unicode, width=width
            ):
                yield Text(text, no_wrap=True)


def rendered_text(renderable: RenderableType, width: int) -> str:
    """Return ``renderable`` as plain text, which may be printed where a build's runner reads."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None, force_terminal=False)
    console.print(renderable)
    return inert(stream.getvalue())


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
    head.append(f"   {p_value_text(verdict.p_value)}")
    head.append(f"   {visible(verdict.id)}", style="bold")
    for mark in marks(verdict):
        head.append(f"   {mark}", style="bold yellow" if verdict.simulated else "")
    return head


def block_lines(
    verdicts: list[Verdict], console: Console, options: ConsoleOptions, *, unicode: bool
) -> Iterator[Text]:
    """Yield the verdicts of one grouped query: what all share, then a line per group."""
    first, width = verdicts[0], options.max_width
    sign = "±" if unicode else "+-"
    asked = question(first.aggregate, first.attribute, first.p, None)
    title = Text.assemble((f"{'':<5}{visible(first.block or '')}", "bold"), f"   {asked} per group")
    yield from wrapped(title, console, width)
    for verdict in verdicts:
        badge = headline(verdict)[0]
        parts = "   ".join(group_parts(verdict, sign))
        line = Text.assemble((f"{badge:<5}", _BADGES[badge]), parts)
        if verdict.epsilon and verdict.decidable is False:
            least = threshold_text(verdict.tau_min)
            line.append(f"   least tau {least}", style="yellow")
        yield from wrapped(line, console, width)
    deciders = ", ".join(sorted({verdict.decider for verdict in verdicts}))
    yield from indented(Text(f"decided by {deciders}", style="dim"), console, width)


def group_parts(verdict: Verdict, sign: str) -> Iterator[str]:
    """Yield what a line says of the verdict of one group, beside its badge."""
    yield visible(verdict.group or verdict.id)
    amount = f"{number_text(verdict.q_synthetic)} {sign}{number_text(verdict.tau, 3)}"
    yield f"{verdict.aggregate.lower()} {amount}"
    yield p_value_text(verdict.p_value)
    yield from marks(verdict)


def marks(verdict: Verdict) -> Iterator[str]:
    """Yield what sets a verdict apart from one just drawn and paid for."""
    if verdict.simulated:
        yield "SIMULATED"
    if verdict.replayed:
        yield "replayed"
    elif not verdict.epsilon:
        yield "cost 0"


def _summary(report: AuditReport) -> Iterator[Text]:
    standings = [verdict.standing for verdict in report.verdicts]
    counts = f"{standings.count('trusted')} trusted, {standings.count('not trusted')} not"
    if "undecided" in standings:
        counts += f", {standings.count('undecided')} undecided"
    yield Text(f"{counts}.", style="bold")
    yield from left_out(report.refused)
    tables = f"{visible(report.private)}, compared with {visible(report.synthetic)}"
    for sentence in cost_sentences(report.cost, tables):
        yield Text(sentence)
    yield from remarks(report.verdicts, report.notes)


def left_out(refused: Sequence[Refused]) -> Iterator[Text]:
    """Yield the queries that were not asked, by name, each with the reason."""
    if refused:
        yield Text(f"{refused_sentence(refused)}:", style="bold yellow")
    for line in refused_lines(refused):
        yield Text(visible(line))


def remarks(verdicts: Sequence[Verdict], notes: Sequence[str]) -> Iterator[Text]:
    """Yield how to read the verdicts, and the report's own notes."""
    for alpha in sorted({verdict.alpha for verdict in verdicts}):
        level = number_text(float(alpha) * 100, 3)
        yield Text(
            f"Undecided: p above {level} %, or no p-value. Least tau: from it on a verdict errs "
            f"with at most {level} % where the answers agree or lie 2 tau apart."
        )
    for note in notes:
        yield Text(visible(note))
