"""The HTML rendering: one page per report, that loads nothing and can be read without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.html.audit import audit_context
from reports.html.check import check_context
from reports.html.compare import compare_context
from reports.html.page import page
from reports.html.plan import plan_context
from reports.html.release import release_context
from reports.models.audit import AuditReport
from reports.models.check import CheckReport
from reports.models.compare import CompareReport
from reports.models.release import ReleaseReport

if TYPE_CHECKING:
    from reports.models.report import Report


def html_text(report: Report, command: str | None = None) -> str:
    """Return ``report`` as a page of HTML; whatever it quotes is text there, never a tag.

    Parameters
    ----------
    report
        What is shown.
    command
        The command that makes the report again, shown as it is.

    Returns
    -------
    str
        One file that asks for no other, the same for the same report.
    """
    if isinstance(report, AuditReport):
        return page("audit.html.j2", **audit_context(report, command))
    if isinstance(report, CheckReport):
        return page("check.html.j2", **check_context(report, command))
    if isinstance(report, CompareReport):
        return page("compare.html.j2", **compare_context(report, command))
    if isinstance(report, ReleaseReport):
        return page("release.html.j2", **release_context(report, command))
    return page("plan.html.j2", **plan_context(report, command))
