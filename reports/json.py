"""The JSON rendering; its shape is docs/report-schema.md, its version ``schema_version``."""

import json
import math
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reports.models.audit import SCHEMA_VERSION, AuditReport
from reports.text.numbers import plain

if TYPE_CHECKING:
    from reports.models.check import CheckReport
    from reports.models.compare import CompareReport
    from reports.models.release import ReleaseReport


def report_dict(report: AuditReport) -> dict[str, Any]:
    """Return ``report`` as JSON values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "audit",
        "private": report.private,
        "synthetic": report.synthetic,
        "tolerance": report.tolerance,
        "spent_epsilon": plain(report.spent),
        "cost": json_values(report.cost),
        "simulated": report.simulated,
        "notes": list(report.notes),
        "verdicts": [json_values(verdict) for verdict in report.verdicts],
        "refused": json_values(report.refused),
    }


def check_dict(report: "CheckReport") -> dict[str, Any]:
    """Return what came of a spec as JSON values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "check",
        "spec": report.spec,
        "private": report.private,
        "exit_code": report.exit_code,
        "dry": report.dry,
        "baseline": report.baseline,
        "spent_epsilon": 0 if report.dry else plain(report.cost.epsilon),
        "cost": json_values(report.cost),
        "simulated": report.simulated,
        "notes": list(report.notes),
        "checks": [json_values(check) for check in report.checks],
    }


def json_text(values: dict[str, Any]) -> str:
    """Return ``values`` as indented JSON text that ends in a newline."""
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def json_values(value: Any) -> Any:  # noqa: ANN401 - walks any tree of dataclasses
    """Return ``value`` as JSON values: fractions as numbers, an infinite one as a string."""
    if is_dataclass(value):
        return {field.name: json_values(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (list, tuple)):
        return [json_values(part) for part in value]
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, float) and math.isinf(value):
        return "infinite"
    return value


def compare_dict(report: "CompareReport") -> dict[str, Any]:
    """Return ``report`` as JSON values."""
    values = json_values(report)
    for query, given in zip(values["queries"], report.queries, strict=True):
        for cell, of in zip(query["cells"], given.cells, strict=True):
            cell["standing"] = of.standing
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "compare",
        "spent_epsilon": plain(report.cost.epsilon),
        "simulated": report.simulated,
        "tied": [list(names) for names in report.tied],
        **values,
    }


def release_dict(report: "ReleaseReport") -> dict[str, Any]:
    """Return ``report`` as JSON values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "release",
        "spent_epsilon": plain(report.cost.epsilon),
        **json_values(report),
    }
