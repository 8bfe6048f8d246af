"""JSON rendering; docs/report-schema.md describes its shape, ``schema_version`` is its version."""

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
    """Value in the form that JSON can hold.

    A fraction becomes a number, an infinite number becomes the string ``infinite``, and a note
    becomes its sentence.  Any other dataclass becomes an object: first the values of its
    ``computed()``, then its fields.  A named tuple becomes an object of its parts.
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
