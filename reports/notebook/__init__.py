"""Notebook renderings: a summary and tables, no script, no page around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.html.page import fragment
from reports.models.report import renderer

if TYPE_CHECKING:
    from reports.models.report import Report
    from reports.notebook.summary import Summary


def notebook_html(report: Report) -> str:
    """Report of any kind as a piece of HTML for a notebook's cell."""
    summary: Summary = renderer(__name__, report)(report)
    return fragment("notebook.html.j2", kind=summary.command or report.kind, summary=summary)
