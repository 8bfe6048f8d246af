"""JSON rendering: its shape is docs/report-schema.md, its version ``schema_version``."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pqd.deciders.note import Note
from pqd.reports.text.numbers import plain

if TYPE_CHECKING:
    from pqd.reports.models.report import Report

SCHEMA_VERSION = 2


def json_text(report: Report) -> str:
    """Report as indented JSON text that ends in a newline."""
    values = report_values(report)
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def report_values(report: Report) -> dict[str, Any]:
    """Report of any kind as JSON values."""
    return {"schema_version": SCHEMA_VERSION, "kind": report.kind, **json_values(report)}


def json_values(value: Any) -> Any:  # noqa: ANN401 - walks any tree of dataclasses
    """Value as JSON has it: fractions as numbers, an infinite one as a string.

    A note is its sentence.  Another dataclass has its fields and, before them, what its
    ``computed()`` gives; a tuple of named parts is an object of them.
    """
    if isinstance(value, Note):
        value = str(value)
    if is_dataclass(value):
        computed = value.computed() if hasattr(value, "computed") else {}
        stated = {field.name: getattr(value, field.name) for field in fields(value)}
        return json_values({**computed, **stated})
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: json_values(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(part) for part in value]
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, float) and math.isinf(value):
        return "infinite"
    return value
