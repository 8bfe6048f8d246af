"""Page of an audit: what its template shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqd.reports.html import MOST_ROWS
from pqd.reports.html.budget import spending
from pqd.reports.html.curves import Curves
from pqd.reports.html.many import ManyRow, many
from pqd.reports.html.page import page
from pqd.reports.html.query import (
    CANDIDATES,
    block,
    candidate_rows,
    panel,
    query_words,
    tally_view,
    told,
    verdict_cells,
    worst_runs,
)
from pqd.reports.text.audit import SIMULATED, audit_costs, headline, remarks, worst_verdicts
from pqd.reports.text.cost import spent_cell
from pqd.reports.text.notes import refused_lines
from pqd.reports.text.words import STANDINGS, tally

if TYPE_CHECKING:
    from pqd.reports.models.audit import AuditReport, Verdict

_NUMBERS = ("p", "answer", "tau", "off")
_COLUMNS = (
    ("Verdict", "first"),
    ("Query", ""),
    *((title, "number") for title in ("p", "Synthetic answer", "Tolerance", "Off by")),
)


def render(report: AuditReport, command: str | None) -> str:
    """Page of ``audit.html.j2``."""
    return page("audit.html.j2", **_context(report, command))


def _context(report: AuditReport, command: str | None) -> dict[str, Any]:
    title, lead = headline(report)
    curves, large = Curves(), len(report.verdicts) > MOST_ROWS
    rows = [] if large else _rows(report, curves)
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
            ("Epsilon spent", spent_cell(report.cost)),
        ],
        "rows": rows,
        "many": _many(report) if large else None,
        "people": any(v.margin is not None and v.counted == "people" for v in report.verdicts),
        "drawings": curves.drawings(),
        "cost": list(audit_costs(report)),
        **spending(report.cost),
        "command": command,
        "replays": report.cost.ledger is not None,
        "refused": list(refused_lines(report.refused)),
        "remarks": list(remarks(report.verdicts, report.notes)),
    }


def _many(report: AuditReport) -> dict[str, Any]:
    trusted = [verdict for verdict in report.verdicts if verdict.standing == "trusted"]
    rows = [_many_row(v, report.tolerance) for v in (*worst_verdicts(report.verdicts), *trusted)]
    return many(rows, _COLUMNS, STANDINGS, CANDIDATES)


def _many_row(verdict: Verdict, stated: str) -> ManyRow:
    cells = verdict_cells(verdict)
    numbers = ((cells[name], cells[f"{name}_sort"], "") for name in _NUMBERS)
    return ManyRow(
        id=verdict.id,
        cells=((cells["badge"], cells["kind"], cells["kind"]), *numbers),
        words=query_words(verdict),
        kind=cells["kind"],
        said=cells["words"],
        marks=cells["marks"],
        standings=(verdict.standing,),
        lines=told(verdict, stated),
        table=candidate_rows(verdict),
        code=(("Query", verdict.sql),),
    )


def _rows(report: AuditReport, curves: Curves) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for verdicts in worst_runs(report.verdicts, worst_verdicts(report.verdicts)):
        if (name := verdicts[0].block) is not None:
            rows.append({"id": name, "block": block(verdicts)})
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
