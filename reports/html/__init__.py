"""HTML renderings: one page per report, that loads nothing and can be read without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pqd.reports.models.report import renderer

if TYPE_CHECKING:
    from pqd.reports.models.report import Report

# A page of more verdicts shows them in pages, without pictures.
MOST_ROWS = 300


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
    return cast("str", renderer(__name__, report)(report, command))
