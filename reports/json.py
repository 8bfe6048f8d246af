"""The JSON rendering; its shape is docs/report-schema.md, its version ``schema_version``."""

import json
import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from reports.model import SCHEMA_VERSION, AuditReport
from reports.numbers import plain


def report_dict(report: AuditReport) -> dict[str, Any]:
    """Return ``report`` as JSON values: budgets as numbers, an infinite threshold as a string."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "audit",
        "private": report.private,
        "synthetic": report.synthetic,
        "tolerance": report.tolerance,
        "spent_epsilon": plain(report.spent),
        "simulated": report.simulated,
        "notes": list(report.notes),
        "verdicts": [_values(asdict(verdict)) for verdict in report.verdicts],
    }


def report_json(report: AuditReport) -> str:
    """Return ``report`` as indented JSON text that ends in a newline."""
    return json.dumps(report_dict(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _values(value: Any) -> Any:  # noqa: ANN401 - walks any JSON-like tree
    if isinstance(value, dict):
        return {key: _values(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_values(part) for part in value]
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, float) and math.isinf(value):
        return "infinite"
    return value
