"""Page of a check: what its template shows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from pqd.reports.html import MOST_ROWS
from pqd.reports.html.budget import spending
from pqd.reports.html.curves import Curves
from pqd.reports.html.many import ManyRow, many
from pqd.reports.html.page import page
from pqd.reports.html.pictures import shares
from pqd.reports.html.query import (
    CANDIDATES,
    block,
    candidate_rows,
    panel,
    query_words,
    told,
    verdict_cells,
)
from pqd.reports.text.audit import SIMULATED
from pqd.reports.text.check import (
    HOW_TO_READ,
    advice,
    badge,
    cost_lines,
    counts_sentence,
    group_line,
    message_head,
    remark_lines,
    result,
    row,
    worst_first,
)
from pqd.reports.text.cost import spent_cell

if TYPE_CHECKING:
    from pqd.reports.models.audit import Verdict
    from pqd.reports.models.check import CheckReport, CheckResult

# What the widest screen has room for beside a line that is marked.
_WIDTH = 72
KINDS = {
    "PASS": "yes",
    "FAIL": "no",
    "ERROR": "no",
    "WARN": "open",
    "KNOWN": "open",
    "PLAN": "none",
}
_NAMES = {
    "PASS": "passed",
    "FAIL": "failed",
    "ERROR": "broken",
    "WARN": "warned",
    "KNOWN": "known",
    "PLAN": "planned",
}


# So many failures show their details at once.
_FEW = 5
_COLUMNS = (
    ("Result", "first"),
    ("Check", ""),
    ("Expected", ""),
    *((title, "number") for title in ("p", "Synthetic answer", "Tolerance", "Off by")),
)


def render(report: CheckReport, command: str | None) -> str:
    """Page of ``check.html.j2``."""
    return page("check.html.j2", **_context(report, command))


def _context(report: CheckReport, command: str | None) -> dict[str, Any]:
    curves, word = Curves(), result(report)
    large = sum(max(1, len(entry.verdicts)) for entry in report.checks) > MOST_ROWS
    few = sum(entry.gate == "fail" for entry in report.checks) <= _FEW
    rows = [] if large else [_row(entry, curves, few=few) for entry in worst_first(report)]
    spent = "0" if report.dry else spent_cell(report.cost)
    # A run that stopped early does not know its private table.
    private = [("Private table", report.private)] if report.private else []
    facts = [("Spec", report.spec), *private, ("Epsilon spent", spent)]
    return {
        "kind": "check",
        "word": word,
        "title": word,
        "tone": {"PASSED": "yes", "PLANNED": "none"}.get(word, "no"),
        "lead": counts_sentence(report),
        "spec": report.spec,
        "stamp": SIMULATED if report.simulated else "",
        "tally": _tally(report),
        "facts": [(name, text) for name, text in facts if text],
        "rows": rows,
        "many": _many(report) if large else None,
        "drawings": curves.drawings(),
        "cost": list(cost_lines(report)),
        **spending(report.cost, dry=report.dry),
        "command": command,
        "replays": report.cost.ledger is not None and not report.dry,
        "reading": HOW_TO_READ,
        "remarks": list(remark_lines(report)),
    }


def _tally(report: CheckReport) -> list[dict[str, Any]]:
    counts = Counter(badge(entry) for entry in report.checks)
    words = [word for word in _NAMES if counts[word]]
    boxes = shares(counts[word] for word in words)
    return [
        {"name": _NAMES[word], "kind": KINDS[word], "number": counts[word], "box": box}
        for word, box in zip(words, boxes, strict=True)
    ]


def _many(report: CheckReport) -> dict[str, Any]:
    rows = [_many_row(place, entry) for place, entry in enumerate(worst_first(report))]
    counts = Counter(badge(entry) for entry in report.checks)
    return many(rows, _COLUMNS, [_NAMES[word] for word in _NAMES if counts[word]], CANDIDATES)


def _many_row(place: int, entry: CheckResult) -> ManyRow:
    word, single = badge(entry), entry.verdicts[0] if len(entry.verdicts) == 1 else None
    first, others = message_head(entry.message, _WIDTH)
    shown, cells = row(entry), verdict_cells(single) if single else {}
    place_in_query = (("The place in the query", others),) if others else ()
    simulated = any(verdict.simulated for verdict in entry.verdicts)
    return ManyRow(
        id=entry.id,
        cells=(
            (word, str(place), KINDS[word]),
            (entry.expect, entry.expect, ""),
            (shown.p, cells.get("p_sort", ""), ""),
            (shown.answer, cells.get("answer_sort", ""), ""),
            (shown.tolerance, cells.get("tau_sort", ""), ""),
            (cells.get("off", ""), cells.get("off_sort", ""), ""),
        ),
        words=first,
        kind=KINDS[word],
        marks=("SIMULATED",) if simulated else (),
        standings=(_NAMES[word],),
        lines=_many_lines(entry, single),
        table=candidate_rows(single) if single else (),
        code=(*place_in_query, ("Query", entry.sql)),
    )


def _many_lines(entry: CheckResult, single: Verdict | None) -> list[tuple[str, str]]:
    place = (f"line {entry.line} of the spec", "detail")
    groups = () if single else entry.verdicts
    verdicts = (
        told(single, entry.tolerance) if single else [(group_line(v), "plain") for v in groups]
    )
    return [place, *verdicts, *((text, "advice") for text in advice(entry))]


def _row(entry: CheckResult, curves: Curves, *, few: bool) -> dict[str, Any]:
    """Row of a check; details of a failure are open where those are ``few``."""
    word, single = badge(entry), entry.verdicts[0] if len(entry.verdicts) == 1 else None
    first, others = message_head(entry.message, _WIDTH)
    return {
        "id": entry.id,
        "entry": entry,
        "badge": word,
        "kind": KINDS[word],
        "standing": _NAMES[word],
        "open": entry.gate == "error" or (entry.gate == "fail" and few),
        "simulated": any(verdict.simulated for verdict in entry.verdicts),
        "message": first,
        "others": others,
        "shown": row(entry),
        "cells": verdict_cells(single) if single else None,
        "words": query_words(single) if single else "",
        "panel": panel(single, entry.tolerance, curves) if single else None,
        "block": block(entry.verdicts) if len(entry.verdicts) > 1 else None,
        "advice": list(advice(entry)),
    }
