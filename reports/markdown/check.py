"""The Markdown rendering, for a comment on GitHub: verdict first, details folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reports.markdown.audit import audit_parts, plan_parts
from reports.markdown.compare import compare_parts
from reports.markdown.markup import code, folded, items, markdown, table, verbatim
from reports.markdown.release import release_parts
from reports.models.audit import AuditReport
from reports.models.check import CheckReport
from reports.models.compare import CompareReport
from reports.models.release import ReleaseReport
from reports.terminal.audit import SIMULATED
from reports.text.check import (
    HOW_TO_READ,
    badge,
    cost_lines,
    counts_sentence,
    detail_lines,
    message_head,
    remark_lines,
    result,
    row,
    worst_first,
)
from reports.text.escape import visible

if TYPE_CHECKING:
    from reports.models.check import CheckResult
    from reports.models.report import Report

_COLUMNS = (
    ("check", "---"),
    ("result", "---"),
    ("why", "---"),
    ("p", "---:"),
    ("synthetic answer", "---:"),
    ("tolerance", "---:"),
)


def markdown_text(report: Report) -> str:
    """Return ``report`` as GitHub-flavoured Markdown: what matters first, all else folded."""
    if isinstance(report, AuditReport):
        parts = audit_parts(report)
    elif isinstance(report, CheckReport):
        parts = _parts(report)
    elif isinstance(report, CompareReport):
        parts = compare_parts(report)
    elif isinstance(report, ReleaseReport):
        parts = release_parts(report)
    else:
        parts = plan_parts(report)
    return "\n\n".join(parts) + "\n"


def _parts(report: CheckReport) -> Iterator[str]:
    entries = worst_first(report)
    fine = [entry for entry in entries if badge(entry) == "PASS"]
    others = entries[: len(entries) - len(fine)]
    yield f"## pqd check: {result(report)}"
    if report.simulated:
        yield f"**{SIMULATED}**"
    # A run that stopped early does not know it.
    tables = f"{code(report.spec)} on {code(report.private or 'the private table')}"
    yield f"{counts_sentence(report)} {tables}"
    if others:
        yield _table(others)
        for entry in others:
            yield folded(f"{badge(entry)} {code(entry.id)}", _details(entry))
    if fine:
        yield folded(f"{len(fine)} passed", [_table(fine)])
    yield folded("Cost", [items(cost_lines(report))])
    yield folded("How to read this", [items([*HOW_TO_READ, *remark_lines(report)])])


def _table(entries: Sequence[CheckResult]) -> str:
    return table(_COLUMNS, map(_row, entries))


def _row(entry: CheckResult) -> list[str]:
    cells = row(entry)
    simulated = " SIMULATED" if any(v.simulated for v in entry.verdicts) else ""
    why = markdown(message_head(entry.message)[0])
    amounts = map(markdown, (cells.p, cells.answer, cells.tolerance))
    return [code(entry.id), f"**{badge(entry)}**{simulated}", why, *amounts]


def _details(entry: CheckResult) -> Iterator[str]:
    _, others = message_head(entry.message)
    if others:
        yield verbatim(others)
    yield verbatim(visible(entry.sql, keep="\n"))
    yield items(detail_lines(entry))
