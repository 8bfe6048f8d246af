"""Table schema of Frictionless; format: specs.frictionlessdata.io (table schema)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pqd.deciders import ParameterError
from pqd.engine.reading.text_format import DECIMALS, THOUSANDS, TextFormat
from pqd.sql.schema import Kind
from pqd.stated.joined_formats import is_form
from pqd.stated.json_document import Node
from pqd.stated.metadata import Metadata, check_names, key_columns, person_columns
from pqd.stated.stated_column import StatedColumn, with_range, with_values

_SCHEMA_KINDS: Mapping[str, Kind | None] = {
    **dict.fromkeys(("integer", "number", "year"), Kind.NUMBER),
    **dict.fromkeys(("date", "datetime"), Kind.TIME),
    "boolean": Kind.BOOLEAN,
    "string": Kind.TEXT,
    **dict.fromkeys(("any", "array", "duration", "geojson", "geopoint", "list", "object")),
    **dict.fromkeys(("time", "yearmonth")),
}
_CONSTRAINTS = {"required", "unique", "minimum", "maximum", "enum"}
# Keys of a field that change how its cells are written, and are not read.
_UNREAD_KEYS = ("bareNumber", "trueValues", "falseValues", "missingValues")
_USUAL_FORMATS = {None, "default", "any"}


def schema_metadata(table: Node) -> Metadata:
    """Metadata of a JSON object with ``fields``; ParameterError names the place of a mistake."""
    unread: list[str] = []
    nodes: dict[str, Node] = {}
    for node in table["fields"].listed():
        node.named()
        name = node["name"].text()
        if name is None:
            raise node["name"].wrong("name the column")
        if name in nodes:
            raise node["name"].wrong(f"so is the name of {nodes[name].place}; leave one out")
        nodes[name] = node
    check_names(nodes)
    columns = {name: _schema_column(name, node, unread) for name, node in nodes.items()}
    missing = _missing(table["missingValues"])
    key = key_columns(table["primaryKey"], columns) if table["primaryKey"].value else ()
    return Metadata(
        columns=columns,
        keys=(key,) if key else (),
        complete=True,
        unread=tuple(unread),
        missing=missing,
        persons=person_columns([key], columns),
    )


def _missing(node: Node) -> tuple[str, ...] | None:
    """All texts that stand for no value, in place of the usual ones; None for the default."""
    if node.value is None:
        return None
    texts = [
        # Since its second version a schema may give each of them a label.
        (each["value"] if isinstance(each.value, Mapping) else each).text() or ""
        for each in node.listed()
    ]
    if not any(texts):
        return None
    # The empty text sets the usual texts aside.
    missing = tuple(dict.fromkeys(("", *texts)))
    try:
        TextFormat(missing=missing)
    except ParameterError as error:
        raise node.error(f"is not understood: {error}") from None
    return missing


def _signs(node: Node, written: str | None) -> tuple[str | None, str | None]:
    """Sign of decimals of a field, which is a point by default, and its sign of thousands."""
    decimal = node["decimalChar"].text() or DECIMALS[0] if written == "number" else None
    thousands = node["groupChar"].text() or None if written in {"number", "integer"} else None
    for sign, key, allowed in (
        (decimal, "decimalChar", DECIMALS),
        (thousands, "groupChar", THOUSANDS),
    ):
        if sign is not None and sign not in allowed:
            raise node[key].wrong(f"write {' or '.join(map(json.dumps, allowed))}")
    return decimal, thousands


def _schema_column(name: str, node: Node, unread: list[str]) -> StatedColumn:
    written, dates = node["type"].text(), None
    if written is not None and written not in _SCHEMA_KINDS:
        raise node["type"].wrong(f"use one of {', '.join(sorted(_SCHEMA_KINDS))}")
    kind = _SCHEMA_KINDS.get(written or "any")
    if written in {"date", "datetime"} and (form := node["format"].text()) not in _USUAL_FORMATS:
        dates = form
        if not is_form(form or ""):
            kind = None
            unread.append(f"the format of {name}")
    decimal, thousands = _signs(node, written)
    unread += [f"the {key} of {name}" for key in _UNREAD_KEYS if node[key].value is not None]
    constraints = node["constraints"]
    if constraints.value is None:
        constraints = Node({}, constraints.place)
    constraints.named()
    unread += [f"the {key} of {name}" for key in constraints.value if key not in _CONSTRAINTS]
    column = StatedColumn(
        kind=kind,
        required=constraints["required"].flag(),
        unique=constraints["unique"].flag(),
        decimal=decimal,
        thousands=thousands,
        dates=dates,
        place=node.place,
    )
    lists = (constraints["enum"], node["categories"])
    listed = next((each for each in lists if each.value is not None), None)
    column = with_values(column, listed, name, unread)
    timed = written in {"date", "datetime"}
    return with_range(column, constraints["minimum"], constraints["maximum"], is_time=timed)
