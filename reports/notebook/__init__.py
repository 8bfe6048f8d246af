"""Notebook renderings: a summary and tables, no script, no page around them; or a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.html.page import fragment
from pqd.reports.models.report import renderer
from pqd.reports.text.escape import inert

if TYPE_CHECKING:
    from pqd.reports.models.report import Report
    from pqd.reports.notebook.summary import Summary


def notebook_html(report: Report) -> str:
    """Report of any kind as a piece of HTML for a notebook's cell."""
    summary: Summary = renderer(__name__, report)(report).in_python()
    return fragment("notebook.html.j2", kind=summary.command or report.kind, summary=summary)


def brief_text(report: Report) -> str:
    """Report of any kind in a few lines: its title, what was spent, and what shows more."""
    summary: Summary = renderer(__name__, report)(report).in_python()
    lines = [
        summary.stamp,
        f"{type(report).__name__}: {summary.title}",
        " ".join(summary.account),
        "print() shows it in full, open() as a page, to_frame() as data.",
    ]
    return inert("\n".join(filter(None, lines)))
