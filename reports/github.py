"""The GitHub rendering of ``pqd check``: workflow commands, which become remarks on a change."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reports.text.audit import SIMULATED
from reports.text.check import (
    advice,
    badge,
    cost_lines,
    counts_sentence,
    message_text,
    result,
    stamped,
)
from reports.text.escape import inert, visible

if TYPE_CHECKING:
    from reports.models.check import CheckReport, CheckResult

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = _DATA | {":": "%3A", ",": "%2C"}


def github_text(report: "CheckReport", path: str) -> str:
    """Workflow commands, a line each: one per check that is not fine, then the summary.

    ``path`` is where the spec lies in the repository.  What passed as decided has no line.
    """
    lines = []
    for entry in report.checks:
        level = _level(entry)
        if level:
            text = stamped(entry, "\n".join([message_text(entry.message), *advice(entry)]))
            title = f"{badge(entry)} {visible(entry.id)}"
            lines.append(_command(level, path, entry.line, title, text))
    summary = [f"{result(report)}: {counts_sentence(report)}", *cost_lines(report)]
    if report.simulated:
        summary.insert(0, SIMULATED)
    lines.append(_command("notice", path, 1, "pqd check", "\n".join(summary)))
    return "\n".join(lines) + "\n"


def _level(entry: "CheckResult") -> str | None:
    if entry.gate in {"fail", "error"}:
        return "error"
    return "warning" if entry.gate != "pass" or entry.status == "undecided" else None


def _command(level: str, path: str, line: int, title: str, text: str) -> str:
    place = f"file={_escaped(inert(visible(path)), _PROPERTY)},line={max(line, 1)}"
    shown = _escaped(inert(title), _PROPERTY), _escaped(inert(text), _DATA)
    return f"::{level} {place},title={shown[0]}::{shown[1]}"


def _escaped(text: str, codes: Mapping[str, str]) -> str:
    """Text as GitHub's toolkit writes it; a line cannot end in it."""
    return "".join(codes.get(sign, sign) for sign in text)
