"""GitHub rendering of ``pqd check``: workflow commands, which GitHub shows as remarks on code."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pqd.reports.escape import inert, visible
from pqd.reports.models.standings import Standing
from pqd.reports.text.check import (
    alarms,
    cost_lines,
    counts_sentence,
    failure_lines,
    message_text,
    result,
    stamped,
    worst_first,
)
from pqd.reports.text.numbers import first_of
from pqd.reports.text.query import SIMULATED

if TYPE_CHECKING:
    from pqd.reports.models.check import CheckReport, CheckResult, GateFacts

# GitHub shows ten errors and ten warnings of a step, so more lines would only fill the log.
_MOST = 50
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = _DATA | {":": "%3A", ",": "%2C"}


def github_text(report: "CheckReport", path: str) -> str:
    """Workflow commands, one per line: one for each check that needs a remark, then a summary.

    ``path`` is the path of the spec in the repository.  A check that passed with a decided verdict
    needs no remark.  If very many checks need one, only the worst get a line, and the summary gives
    the number of the others.
    """
    told = [entry for entry in report.checks if _level(entry)]
    left = len(told) - _MOST
    if left > 0:
        told = [entry for entry in worst_first(report) if _level(entry)][:_MOST]
    lines = [_remark(entry, path, report.gate) for entry in told]
    costs = map(visible, cost_lines(report))
    summary = [f"{result(report).text}: {counts_sentence(report)}", *first_of(costs)]
    if left > 0:
        summary.insert(1, f"{left:,} more have no line here; the page and the JSON report have.")
    summary = [*map(visible, alarms(report)), *summary]
    if report.simulated:
        summary.insert(0, SIMULATED)
    lines.append(_command("notice", path, 1, "pqd check", "\n".join(summary)))
    return "\n".join(lines) + "\n"


def _remark(entry: "CheckResult", path: str, gate: "GateFacts | None") -> str:
    lines = [message_text(entry.message), *map(visible, failure_lines(entry, gate))]
    text = stamped(entry, "\n".join(lines))
    title = f"{entry.standing.badge.text} {visible(entry.id)}"
    return _command(_level(entry) or "notice", path, entry.line, title, text)


def _level(entry: "CheckResult") -> str:
    """Level of the remark on a check; empty if the check needs no remark."""
    open_ = entry.status == "undecided"
    return entry.standing.level or (Standing.UNDECIDED.level if open_ else "")


def _command(level: str, path: str, line: int, title: str, text: str) -> str:
    place = f"file={_escaped(inert(visible(path)), _PROPERTY)},line={max(line, 1)}"
    shown = _escaped(inert(title), _PROPERTY), _escaped(inert(text), _DATA)
    return f"::{level} {place},title={shown[0]}::{shown[1]}"


def _escaped(text: str, codes: Mapping[str, str]) -> str:
    """Text with the escapes of GitHub's toolkit, so that it stays on one line."""
    return "".join(codes.get(sign, sign) for sign in text)
