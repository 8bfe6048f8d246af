"""Writer of pages: a page is one file that loads nothing and can be read without its script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.blocks import Line, Lines
from pqd.reports.models.report import document_of
from pqd.reports.text.query import SIMULATED
from pqd.reports.writers.html.frame import page
from pqd.reports.writers.html.texts import told
from pqd.reports.writers.html.views import Views, budget_view

if TYPE_CHECKING:
    from pqd.reports.blocks import Document
    from pqd.reports.models.report import Report


def html_text(report: Report, command: str | None = None) -> str:
    """Report of any kind as a page of HTML; whatever the page quotes is text, never a tag.

    Parameters
    ----------
    report
        Report that is shown.
    command
        Command that makes the report again; the page shows it unchanged.

    Returns
    -------
    str
        Text of one file that loads no other file; equal reports give equal texts.
    """
    return page_text(document_of(report), command)


def page_text(document: Document, command: str | None = None) -> str:
    """Document as a page; ``html_text`` says more."""
    views = Views(document)
    omitted = document.omitted
    left_out = omitted.alike or [line.text for line in omitted.lines]
    context = {
        "document": document,
        "command": command,
        "lead": told(document.lead),
        # Seeded noise protects nobody, whatever its epsilon.
        "meaning": "" if Line(SIMULATED, "warning") in document.banner else document.meaning,
        "sure": [told(line.text) for line in document.sure],
        "counts": views.block(document.counts) if document.counts else None,
        "body": views.blocks(document.body),
        "omitted": [told(line) for line in left_out],
        "budget": budget_view(document.budget) if document.budget else None,
        "cost": views.blocks(document.cost or [Lines(document.account)] * bool(document.account)),
        "reading": views.blocks(document.reading),
        "notes": [told(line.text) for line in document.notes],
        "banner": [told(line.text) for line in document.banner],
    }
    # All views are made by now, so all curves of the page are known.
    scripts = ("pages.js",) if views.many else ()
    drawings = views.curves.drawings()
    return page("document.html.j2", scripts=scripts, drawings=drawings, **context)
