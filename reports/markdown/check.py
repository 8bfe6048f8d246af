"""The Markdown rendering, for a comment on GitHub: verdict first, details folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.reports.text.audit import SIMULATED
from pqd.reports.text.check import (
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
from pqd.reports.text.escape import visible
from pqd.reports.text.words import first_of
from pqd.reports.writers.markup import (
    ROOM,
    code,
    fitting,
    folded,
    items,
    markdown,
    more,
    table,
    verbatim,
)

if TYPE_CHECKING:
    from pqd.reports.models.check import CheckReport, CheckResult

# What passed takes less room than what did not.
_PASSED = 12_000
_COLUMNS = (
    ("check", "---"),
    ("result", "---"),
    ("why", "---"),
    ("p", "---:"),
    ("synthetic answer", "---:"),
    ("tolerance", "---:"),
)


def render(report: CheckReport) -> Iterator[str]:
    """Parts of a check report."""
    checks = worst_first(report)
    fine = [check for check in checks if badge(check) == "PASS"]
    others = checks[: len(checks) - len(fine)]
    yield f"## pqd check: {result(report)}"
    if report.simulated:
        yield f"**{SIMULATED}**"
    # A run that stopped early does not know it.
    tables = f"{code(report.spec)} on {code(report.private or 'the private table')}"
    yield f"{counts_sentence(report)} {tables}"
    if others:
        yield from _table(others)
        details = (
            [folded(f"{badge(check)} {code(check.id)}", _details(check))] for check in others
        )
        yield from (part for (part,) in fitting(details))
    if fine:
        yield folded(f"{len(fine)} passed", _table(fine, _PASSED))
    yield folded("Cost", [items(first_of(cost_lines(report)))])
    yield folded("How to read this", [items([*HOW_TO_READ, *first_of(remark_lines(report))])])


def _table(checks: Sequence[CheckResult], room: int = ROOM) -> Iterator[str]:
    """First checks, as many as fit, and how many more there are."""
    rows = fitting(map(_row, checks), room)
    yield table(_COLUMNS, rows)
    yield from more(len(checks) - len(rows))


def _row(check: CheckResult) -> list[str]:
    cells = row(check)
    simulated = " SIMULATED" if any(v.simulated for v in check.verdicts) else ""
    why = markdown(message_head(check.message)[0])
    amounts = map(markdown, (cells.p, cells.answer, cells.tolerance))
    return [code(check.id), f"**{badge(check)}**{simulated}", why, *amounts]


def _details(check: CheckResult) -> Iterator[str]:
    _, others = message_head(check.message)
    if others:
        yield verbatim(others)
    yield verbatim(visible(check.sql, keep="\n"))
    yield items(detail_lines(check))
