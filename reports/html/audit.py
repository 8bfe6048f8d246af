"""Page of an audit: what its template shows."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from reports.html.budget import budget
from reports.html.curves import Curves
from reports.html.page import page
from reports.html.query import block, panel, query_words, tally_view, verdict_cells
from reports.text.audit import SIMULATED, audit_costs, headline, remarks
from reports.text.notes import refused_lines
from reports.text.numbers import epsilon_text
from reports.text.words import tally

if TYPE_CHECKING:
    from reports.models.audit import AuditReport


def render(report: AuditReport, command: str | None) -> str:
    """Page of ``audit.html.j2``."""
    return page("audit.html.j2", **_context(report, command))


def _context(report: AuditReport, command: str | None) -> dict[str, Any]:
    title, lead = headline(report)
    curves = Curves()
    rows = _rows(report, curves)
    return {
        "kind": "audit",
        "title": title,
        "lead": lead,
        "stamp": SIMULATED if report.simulated else "",
        "tally": tally_view(tally(verdict.standing for verdict in report.verdicts)),
        "facts": [
            ("Private table", report.private),
            ("Synthetic table", report.synthetic),
            ("Tolerance", report.tolerance),
            ("Epsilon spent", epsilon_text(report.spent)),
        ],
        "rows": rows,
        "people": any(v.margin is not None and v.counted == "people" for v in report.verdicts),
        "drawings": curves.drawings(),
        "cost": list(audit_costs(report)),
        "budget": budget(report.cost),
        "command": command,
        "replays": report.cost.ledger is not None,
        "refused": list(refused_lines(report.refused)),
        "remarks": list(remarks(report.verdicts, report.notes)),
    }


def _rows(report: AuditReport, curves: Curves) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, verdicts in groupby(report.verdicts, key=lambda verdict: verdict.block):
        if name is not None:
            rows.append({"id": name, "block": block(list(verdicts))})
            continue
        rows += [
            {
                "id": verdict.id,
                "block": None,
                "words": query_words(verdict),
                "cells": verdict_cells(verdict),
                "panel": panel(verdict, report.tolerance, curves),
            }
            for verdict in verdicts
        ]
    return rows
