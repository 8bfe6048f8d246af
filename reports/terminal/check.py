"""The terminal rendering of ``pqd check``: one block per check, verdict first, then the summary."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from rich.text import Text

from reports.terminal.audit import SIMULATED, block_lines, marks, wrapped
from reports.terminal.chart import chart_lines
from reports.text.audit import p_value_text, question, sentences, tolerance
from reports.text.check import (
    PLANNED,
    advice,
    aligned,
    badge,
    cost_lines,
    counts_sentence,
    group_line,
    message_parts,
    remark_lines,
    result,
)
from reports.text.escape import visible
from reports.text.numbers import number_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from reports.models.audit import Verdict
    from reports.models.check import CheckReport, CheckResult

_INDENT = " " * 6
_BADGES = {"PASS": "bold green", "FAIL": "bold red", "ERROR": "bold red", PLANNED: "dim"}
_RESULTS = {"PASSED": "bold green", "PLANNED": "bold"}
_STYLES = {"plain": "", "warning": "yellow", "detail": "dim"}


class TerminalCheck:
    """A rich renderable of a check report; ``verbose`` tells as much of what passed."""

    def __init__(self, report: CheckReport, *, verbose: bool = False) -> None:
        """Keep the report."""
        self._report, self._verbose = report, verbose

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one block per check, then the summary."""
        if self._report.simulated:
            yield from wrapped(Text(SIMULATED, style="bold yellow"), console, options.max_width)
            yield Text()
        for entry in self._report.checks:
            yield from _Block(entry, console, options, verbose=self._verbose).lines()
            yield Text()
        for line in _summary(self._report):
            plain = line.plain
            indent = plain[: len(plain) - len(plain.lstrip(" "))]
            for piece in wrapped(line[len(indent) :], console, options.max_width - len(indent)):
                yield Text.assemble(indent, piece)


class _Block:
    """One check on one terminal."""

    def __init__(
        self, entry: CheckResult, console: Console, options: ConsoleOptions, *, verbose: bool
    ) -> None:
        self._entry, self._console, self._options = entry, console, options
        self._width = max(20, options.max_width - len(_INDENT))
        self._unicode = options.encoding.lower().startswith("utf")
        self._sign = "±" if self._unicode else "+-"
        self._long = verbose or entry.gate != "pass"
        self._verbose = verbose

    def lines(self) -> Iterator[Text]:
        """Yield the badge with the message beside it, and all else below that."""
        word, below = badge(self._entry), False
        for line in self._inner():
            first = (f"{word:<6}", _BADGES.get(word, "bold yellow"))
            yield Text.assemble(_INDENT if below else first, line)
            below = True

    def _inner(self) -> Iterator[Text]:
        head = Text(visible(self._entry.id), style="bold")
        first, *others = message_parts(self._entry.message)
        if first[1] is not None:
            first, others = ("", None), [first, *others]
        head = Text.assemble(head, *(("   ", visible(first[0])) if first[0] else ()))
        for part in self._marks():
            head.append(f"   {part}")
        yield from wrapped(head, self._console, self._width)
        for line, carets in others:
            if carets is None:
                yield from self._wrapped(visible(line))
            else:
                yield from map(Text, aligned(line, carets, self._width))
        yield from self._body()
        for text in advice(self._entry):
            yield from self._wrapped(text)
        if self._entry.gate == "error":
            yield from self._wrapped(f"see line {self._entry.line} of the spec")

    def _wrapped(self, text: str, style: str = "") -> Iterator[Text]:
        yield from wrapped(Text(text, style=style), self._console, self._width)

    def _marks(self) -> Iterator[str]:
        verdicts = self._entry.verdicts
        if len(verdicts) == 1:
            p_value = p_value_text(verdicts[0].p_value)
            if p_value not in self._entry.message:
                yield p_value
            yield from marks(verdicts[0])

    def _body(self) -> Iterator[Text]:
        verdicts = self._entry.verdicts
        if len(verdicts) == 1:
            yield from self._single(verdicts[0])
            return
        if verdicts or badge(self._entry) == PLANNED:
            groups = f"{len(verdicts)} groups of " if verdicts else ""
            yield from self._wrapped(groups + visible(" ".join(self._entry.sql.split())))
        if self._verbose:
            for verdict in verdicts:
                yield from self._wrapped(group_line(verdict, self._sign), "bold")
                yield from self._single(verdict)
        elif verdicts:
            options = self._options.update(width=self._width)
            lines = block_lines(list(verdicts), self._console, options, unicode=self._unicode)
            # Its first line is a title, which the head of the check has said.
            yield from islice(lines, 1, None)

    def _single(self, verdict: Verdict) -> Iterator[Text]:
        if not self._long:
            asked = question(verdict.aggregate, verdict.attribute, verdict.p, verdict.where)
            yield from self._wrapped(asked)
            amount = tolerance(verdict.tau, self._entry.tolerance, self._sign)
            answer = f"synthetic answer {number_text(verdict.q_synthetic)}, {amount}"
            yield from self._wrapped(answer)
            return
        told = list(sentences(verdict, self._entry.tolerance, self._sign))
        # The last one lists what other deciders would be worth.
        for text, role in told if self._verbose else told[:-1]:
            yield from self._wrapped(text, _STYLES[role])
        if self._verbose:
            for text in chart_lines(
                verdict.candidates, verdict.decider, unicode=self._unicode, width=self._width
            ):
                yield Text(text, no_wrap=True)


def _summary(report: CheckReport) -> Iterator[Text]:
    word = result(report)
    yield Text.assemble(
        (f"{word}: ", _RESULTS.get(word, "bold red")), (counts_sentence(report), "bold")
    )
    for line in (*cost_lines(report), *remark_lines(report)):
        yield Text(line)
