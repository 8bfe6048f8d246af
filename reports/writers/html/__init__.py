"""Writer of pages: one file that loads nothing and can be read without its script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.blocks import Lines
from pqd.reports.models.report import document_of
from pqd.reports.writers.html.frame import page
from pqd.reports.writers.html.texts import told
from pqd.reports.writers.html.views import Views, budget_view

if TYPE_CHECKING:
    from pqd.reports.blocks import Document
    from pqd.reports.models.report import Report


def html_text(report: Report, command: str | None = None) -> str:
    """Report of any kind as a page of HTML; whatever it quotes is text there, never a tag.

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
    return page_text(document_of(report), command)


def page_text(document: Document, command: str | None = None) -> str:
    """Document as a page, as of ``html_text``."""
    views = Views(document)
    omitted = document.omitted
    left_out = omitted.alike or [line.text for line in omitted.lines]
    context = {
        "document": document,
        "command": command,
        "lead": told(document.lead),
        "counts": views.block(document.counts) if document.counts else None,
        "body": views.blocks(document.body),
        "omitted": [told(line) for line in left_out],
        "budget": budget_view(document.budget) if document.budget else None,
        "cost": views.blocks(document.cost or [Lines(document.account)]),
        "reading": views.blocks(document.reading),
        "notes": [told(line.text) for line in document.notes],
        "banner": [told(line.text) for line in document.banner],
    }
    # Every view is made by now, and with it every curve is known.
    scripts = ("pages.js",) if views.many else ()
    drawings = views.curves.drawings()
    return page("document.html.j2", scripts=scripts, drawings=drawings, **context)
