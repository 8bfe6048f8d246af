"""What the page of an audit is given."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from reports.html.curves import Curves
from reports.html.query import asked, block, panel, tally_view, verdict_cells
from reports.models.refusals import refused_lines
from reports.terminal.audit import SIMULATED, remarks
from reports.text.audit import cost_sentences
from reports.text.escape import visible
from reports.text.headlines import audit_headline, tally
from reports.text.numbers import epsilon_text

if TYPE_CHECKING:
    from reports.models.audit import AuditReport, Cost


def audit_context(report: AuditReport, command: str | None) -> dict[str, Any]:
    """Return the context of ``audit.html.j2``."""
    title, lead = audit_headline(report)
    curves = Curves()
    rows = _rows(report, curves)
    tables = f"{visible(report.private)}, compared with {visible(report.synthetic)}"
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
        "cost": list(cost_sentences(report.cost, tables)),
        "budget": budget(report.cost),
        "command": command,
        "replays": report.cost.ledger is not None,
        "refused": list(refused_lines(report.refused)),
        "remarks": [text.plain for text in remarks(report.verdicts, report.notes)],
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
                "question": asked(verdict),
                "cells": verdict_cells(verdict),
                "panel": panel(verdict, report.tolerance, curves),
            }
            for verdict in verdicts
        ]
    return rows


def budget(cost: Cost) -> dict[str, Any] | None:
    """Return how much of a limit is used up, in per cent of it; None without a limit."""
    if not cost.limit or cost.total is None:
        return None
    used = min(float(cost.total / cost.limit), 1.0)
    now = min(float(cost.epsilon / cost.limit), used)
    return {
        "before": round(100 * (used - now), 2),
        "now": round(100 * now, 2),
        "total": epsilon_text(cost.total),
        "limit": epsilon_text(cost.limit),
    }
