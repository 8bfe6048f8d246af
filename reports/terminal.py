"""The terminal rendering: verdict first, complete at any width, colour only as a second channel."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from reports.numbers import epsilon_text, number_text

if TYPE_CHECKING:
    from reports.model import AuditReport, CandidateFacts, Verdict

_BADGES = {"yes": ("YES", "bold green"), "no": ("NO", "bold red"), "?": ("?", "bold yellow")}
_INDENT = " " * 5


class TerminalReport:
    """A rich renderable of an audit report."""

    def __init__(self, report: AuditReport) -> None:
        """Keep the report."""
        self._report = report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the heading, one block per verdict, and the summary."""
        sign = "±" if options.encoding.lower().startswith("utf") else "+-"
        report = self._report
        if report.simulated:
            yield Text("SIMULATED: these verdicts come from seeded noise and protect nobody.")
            yield Text()
        for verdict in report.verdicts:
            head, *lines = _block(verdict, report.tolerance, sign)
            yield head
            for line in lines:
                yield from _indented(line, console, options.max_width)
            yield Text()
        yield from _summary(report)


def report_text(report: AuditReport, width: int = 80) -> str:
    """Return the terminal report as plain text."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None, force_terminal=False)
    console.print(TerminalReport(report))
    return stream.getvalue()


def _block(verdict: Verdict, tolerance: str, sign: str) -> Iterator[Text]:
    """Yield the lines of one verdict; all but the first stand under its badge."""
    badge, style, headline = _verdict(verdict)
    head = Text.assemble((f"{badge:<5}{headline}", style), f"   {verdict.id}")
    if verdict.p_value is not None:
        head.append(f"   {_p_text(verdict.p_value)}")
    if verdict.simulated:
        head.append("   SIMULATED", style="bold yellow")
    if verdict.replayed:
        head.append("   replayed, cost 0")
    yield head
    yield _query_line(verdict)
    yield _answer_line(verdict, tolerance, sign)
    yield from _margin_line(verdict)
    yield _threshold_line(verdict)
    yield _candidates_line(verdict)


def _indented(line: Text, console: Console, width: int) -> Iterator[Text]:
    """Yield ``line`` wrapped under the badge, without trailing blanks."""
    for piece in line.wrap(console, max(20, width - len(_INDENT))):
        piece.rstrip()
        yield Text(_INDENT).append_text(piece)


def _verdict(verdict: Verdict) -> tuple[str, str, str]:
    """Return the badge, its style, and the verdict in words."""
    words = {"yes": "within tolerance", "no": "outside tolerance"}
    if verdict.conclusive is False:
        return *_BADGES["?"], f"undecided: leans {verdict.outcome.upper()}"
    return *_BADGES[verdict.outcome], words[verdict.outcome]


def _query_line(verdict: Verdict) -> Text:
    operand = verdict.attribute or "*"
    where = f" where {' '.join(verdict.where.split())}" if verdict.where else ""
    return Text(f"{verdict.aggregate}({operand}){where}")


def _answer_line(verdict: Verdict, tolerance: str, sign: str) -> Text:
    share = f" ({tolerance})" if tolerance.endswith("%") else ""
    ends = f"({number_text(verdict.lower, 9)}, {number_text(verdict.upper, 9)})"
    return Text(
        f"synthetic answer {number_text(verdict.q_synthetic)}, "
        f"tolerance {sign}{number_text(verdict.tau)}{share}: is the private answer inside {ends}?"
    )


def _margin_line(verdict: Verdict) -> Iterator[Text]:
    if verdict.margin is not None:
        rows = max(1, verdict.margin if verdict.outcome == "yes" else 1 - verdict.margin)
        yield Text(f"about {rows:,} people would have to be added or removed to change this answer")


def _threshold_line(verdict: Verdict) -> Text:
    tau, least = number_text(verdict.tau), verdict.tau_min
    if least is None:
        return Text(f"the least tau that means something is not known for {verdict.decider}")
    chosen = next(c for c in verdict.candidates if c.decider == verdict.decider)
    shown = ("" if chosen.tau_min_exact else "at most ") + number_text(least, 4)
    if least == float("inf"):
        return Text(f"no tau means anything with {verdict.decider} at this epsilon", style="yellow")
    if verdict.tau >= least:
        times = f" ({tau} is {number_text(verdict.tau / least, 3)} times that)" if least else ""
        return Text(f"means something from tau {shown} at this epsilon{times}")
    return Text(
        f"tau {tau} is BELOW {shown}, the least that means something at this epsilon: "
        "raise tau or epsilon",
        style="yellow",
    )


def _candidates_line(verdict: Verdict) -> Text:
    others = [c for c in verdict.candidates if c.decider != verdict.decider]
    line = Text(f"decided by {verdict.decider}: {verdict.reason}", style="dim")
    if others:
        line.append("; least tau of " + ", ".join(_candidate(c) for c in others))
    return line


def _candidate(candidate: CandidateFacts) -> str:
    if candidate.tau_min is None:
        return f"{candidate.decider} no closed form"
    if candidate.tau_min == float("inf"):
        return f"{candidate.decider} none at this epsilon"
    bound = "" if candidate.tau_min_exact else "<= "
    return f"{candidate.decider} {bound}{number_text(candidate.tau_min, 4)}"


def _p_text(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}".rstrip("0")


def _summary(report: AuditReport) -> Iterator[Text]:
    undecided = sum(v.conclusive is False for v in report.verdicts)
    trusted = sum(v.trusted and v.conclusive is not False for v in report.verdicts)
    refused = len(report.verdicts) - undecided - trusted
    counts = f"{trusted} trusted, {refused} not"
    if undecided:
        counts += f", {undecided} undecided"
    yield Text(f"{counts}.", style="bold")
    yield Text(f"{_spent(report)} One row counts as one person.")
    level = number_text(float(report.verdicts[0].alpha) * 100, 3)
    yield Text(f"The least tau that means something: at it, a verdict errs with at most {level} %.")
    for note in report.notes:
        yield Text(note)


def _spent(report: AuditReport) -> str:
    paid = [v.epsilon for v in report.verdicts if not v.replayed]
    total = f"Spent epsilon {epsilon_text(report.spent)}"
    if len(paid) > 1 and len(set(paid)) == 1:
        total += f" = {len(paid)} x {epsilon_text(paid[0])}"
    return f"{total} on {report.private}."
