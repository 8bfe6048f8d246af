"""Metadata of SDV for one table; format: docs.sdv.dev (metadata)."""

from __future__ import annotations

from difflib import get_close_matches

from pqd.sql.schema import Kind
from pqd.stated.joined_formats import DAYS, is_form
from pqd.stated.json_document import FORMS, Node
from pqd.stated.metadata import Metadata, check_names, key_columns, person_columns
from pqd.stated.stated_column import StatedColumn, with_range, with_values

_SDV_KINDS = {"numerical": Kind.NUMBER, "datetime": Kind.TIME, "boolean": Kind.BOOLEAN}
# Types of SDV with facts of their own; any other is the name of a generator of made-up values.
_SDV_TYPES = (*_SDV_KINDS, "categorical", "ordinal", "id", "unknown")
# A word this near to a type of SDV is a misspelt one.
_NEAR = 0.75


def sdv_metadata(table: Node) -> Metadata:
    """Metadata of a JSON object with ``columns``; ParameterError names the place of a mistake."""
    nodes = table["columns"].named()
    check_names(nodes)
    unread: list[str] = []
    columns = {name: _sdv_column(name, node, unread) for name, node in nodes.items()}
    primary, sequence, others = (
        table[key] for key in ("primary_key", "sequence_key", "alternate_keys")
    )
    alternate = [] if others.value is None else others.listed()
    keys = tuple(key_columns(each, columns) for each in (primary, *alternate) if each.value)
    persons = key_columns(sequence, columns) if sequence.value else ()
    return Metadata(
        columns=columns,
        keys=keys,
        complete=True,
        unread=tuple(unread),
        persons=person_columns((persons, *keys[: bool(primary.value)]), columns),
        ranged=any(each.low or each.high or each.values for each in columns.values()),
    )


def _sdv_column(name: str, node: Node, unread: list[str]) -> StatedColumn:
    node.named()
    sdtype = node["sdtype"].text()
    if sdtype is None:
        raise node["sdtype"].wrong(f"state one such as numerical; {FORMS}")
    if sdtype not in _SDV_TYPES and (near := get_close_matches(sdtype, _SDV_TYPES, 1, _NEAR)):
        raise node["sdtype"].wrong(f"did you mean {near[0]}?")
    kind, dates = _SDV_KINDS.get(sdtype), node["datetime_format"].text()
    if kind is Kind.TIME and not is_form(dates or DAYS):
        kind = None
        unread.append(f"the datetime_format of {name}")
    made_up = node["pii"].flag() if node["pii"].value is not None else sdtype not in _SDV_TYPES
    column = StatedColumn(
        kind=kind,
        required=node["range_is_nullable"].value is not None
        and not node["range_is_nullable"].flag(),
        unique=sdtype == "id",
        identifier=sdtype == "id" or made_up,
        dates=dates,
        place=node.place,
    )
    lists = [node[key] for key in ("range_values", "order") if node[key].value is not None]
    column = with_values(column, lists[0] if lists else None, name, unread)
    timed = sdtype == "datetime"
    return with_range(column, node["range_min"], node["range_max"], is_time=timed)
