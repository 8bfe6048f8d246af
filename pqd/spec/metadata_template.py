"""A first file of metadata, made from the synthetic table alone, for its reader to correct.

It is a table schema of Frictionless.  Kinds and lists of texts are those of the copy.  No range is
stated: a range that was the copy's would pass for a fact that somebody knows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pqd.deciders.numbers import number_text
from pqd.marginals.partition_choice import TEXTS
from pqd.sql.schema import Kind

if TYPE_CHECKING:
    from pqd.deciders import Lattice
    from pqd.engine.synthetic_tables import SyntheticTables

_TYPES = {Kind.TEXT: "string", Kind.BOOLEAN: "boolean", Kind.TIME: "datetime"}


def metadata_template(tables: SyntheticTables, numbers: Mapping[str, Lattice]) -> str:
    """Text of a table schema of the columns of the first copy, of which ``numbers`` are numbers."""
    schema = tables.schema(tables.columns, {})
    fields = [
        _field(tables, name, kind, numbers.get(name), schema) for name, kind in schema.items()
    ]
    return json.dumps({"fields": fields}, indent=2, ensure_ascii=False) + "\n"


def _field(
    tables: SyntheticTables,
    name: str,
    kind: Kind,
    lattice: Lattice | None,
    schema: Mapping[str, Kind],
) -> dict[str, Any]:
    """Field of a column: its type, and a list of its texts or a word on its range."""
    if kind is Kind.NUMBER:
        whole = lattice is not None and lattice.step.denominator == lattice.lower.denominator == 1
        field: dict[str, Any] = {"name": name, "type": "integer" if whole else "number"}
        if lattice is not None:
            low, high = number_text(lattice.lower), number_text(lattice.upper)
            field["description"] = (
                f"The copy has {low} to {high}. Better facts are those of a data dictionary: state "
                'them as "constraints": {"minimum": ..., "maximum": ...}'
            )
        return field
    field = {"name": name, "type": _TYPES[kind]}
    if kind is Kind.TEXT and (values := tables.distinct_values(dict(schema), name, TEXTS)):
        field["constraints"] = {"enum": sorted(values)}
    return field
