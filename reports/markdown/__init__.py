"""Markdown renderings, GitHub-flavoured: what matters first, all else folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.models.report import renderer

if TYPE_CHECKING:
    from pqd.reports.models.report import Report


def markdown_text(report: Report) -> str:
    """Report of any kind as Markdown, small enough for a comment."""
    return "\n\n".join(renderer(__name__, report)(report)) + "\n"
