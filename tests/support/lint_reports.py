"""Lints made by hand: a copy with faults and odd columns, and a copy without any."""

from __future__ import annotations

from pqd.deciders.note import note
from pqd.reports.models.lint import Finding, LintedColumn, LintReport

COLUMNS = (
    LintedColumn(
        name="id", kind="number", filled=3040, distinct=3000, low="0", high="2,999",
        frequent="0", most=2,
    ),
    LintedColumn(name="zip", kind="text", filled=3012, distinct=3, frequent="99999", most=1056),
    LintedColumn(name="gone", kind="text", filled=0, distinct=0),
    LintedColumn(
        name="since", kind="time", filled=3040, distinct=2, low="2020-01-01", high="9999-12-31",
        frequent="9999-12-31", most=1537,
    ),
)  # fmt: skip
FINDINGS = (
    Finding(
        note=note("key-repeats", columns=("id",), repeated=80, rows=3040),
        columns=("id",),
        fault=True,
    ),
    Finding(note=note("column-empty", column="gone"), columns=("gone",), fault=True),
    Finding(
        note=note("rows-repeat", repeated=80, rows=3040, most=2, column="id", pairs=40, nearly=40),
        fault=True,
    ),
    Finding(note=note("codes-as-text", column="zip", example="06680"), columns=("zip",)),
    Finding(
        note=note("days-unusual", column="since", cells=1537, example="9999-12-31"),
        columns=("since",),
    ),
)
LINT = LintReport(
    synthetic="copy.csv",
    rows=3040,
    columns=COLUMNS,
    findings=FINDINGS,
    notes=(note("metadata-unread", facts=("the pattern of zip",)),),
    day="2026-01-05",
)
CLEAN = LintReport(synthetic="copy.csv", rows=3040, columns=COLUMNS[:2], day="2026-01-05")
