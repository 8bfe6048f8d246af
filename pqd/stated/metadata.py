"""Metadata of a table in a file: metadata of SDV, or a schema of Frictionless; all of it public.

Kinds, keys, ranges and lists of values are read.  Other facts, such as patterns of texts, are
named in ``Metadata.unread``.  Formats: docs.sdv.dev (metadata), specs.frictionlessdata.io (table
schema).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pqd.deciders import ParameterError
from pqd.deciders.exact import as_float
from pqd.paths import usable
from pqd.sql.schema import Kind, fold_case
from pqd.stated.column_facts import Facts

_FORMS = (
    "metadata of SDV for one table (METADATA_SPEC_VERSION) or a table schema of Frictionless "
    "(fields) are understood"
)
_SDV_KINDS = {"numerical": Kind.NUMBER, "datetime": Kind.TIME, "boolean": Kind.BOOLEAN}
_SCHEMA_KINDS = {
    **dict.fromkeys(("integer", "number", "year"), Kind.NUMBER),
    **dict.fromkeys(("date", "datetime"), Kind.TIME),
    "boolean": Kind.BOOLEAN,
    "string": Kind.TEXT,
}
_CONSTRAINTS = {"required", "unique", "minimum", "maximum", "enum"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedColumn:
    """Stated facts of one column.

    ``low`` and ``high`` are the stated ends of its range as they were written, and ``ends`` are
    the same ends as numbers (times in microseconds since 1970).  ``values`` are all values that
    the column may have, as texts.
    """

    kind: Kind | None = None
    low: str | None = None
    high: str | None = None
    ends: tuple[float, float] = (-math.inf, math.inf)
    values: tuple[str, ...] = ()
    required: bool = False
    unique: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Stated facts of a table: its columns and keys.

    ``complete`` says that the table has no other column.  ``unread`` names facts that were not
    read, such as ``the pattern of zip``.
    """

    columns: Mapping[str, StatedColumn] = field(default_factory=dict)
    keys: tuple[tuple[str, ...], ...] = ()
    complete: bool = False
    unread: tuple[str, ...] = ()

    def with_facts(self, facts: Facts, keys: Sequence[Sequence[str]] = ()) -> Metadata:
        """Metadata, in which kinds and bounds of ``facts`` go before those of the file."""
        names = {fold_case(name): name for name in self.columns}
        columns = dict(self.columns)
        for name, fact in facts.items():
            own = names.get(fold_case(name), name)
            stated = columns.get(own, StatedColumn())
            if fact.kind is not None:
                stated = replace(stated, kind=fact.kind)
            if fact.bounds is not None:
                low, high = fact.bounds
                stated = _ranged(stated, *(None if e is None else as_float(e) for e in (low, high)))
            columns[own] = stated
        every = dict.fromkeys((*self.keys, *map(tuple, keys)))
        return replace(self, columns=columns, keys=tuple(every))


def read_metadata(path: str | Path) -> Metadata:
    """Metadata of a JSON file.

    Raises
    ------
    ParameterError
        If there is no such file, if it holds no metadata that is understood, or if it holds the
        metadata of several tables.
    """
    file = usable(path)
    try:
        stated = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError:
        raise ParameterError(f"metadata: {path} cannot be read; name a JSON file") from None
    except (ValueError, RecursionError):
        raise ParameterError(f"metadata: {path} is no JSON; {_FORMS}") from None
    try:
        return parse_metadata(stated)
    except ParameterError as error:
        raise ParameterError(f"metadata {path}: {error}") from None


def parse_metadata(stated: object) -> Metadata:
    """Metadata of the content of a JSON file; errors as ``read_metadata``."""
    if not isinstance(stated, Mapping):
        raise ParameterError(f"it is no JSON object; {_FORMS}")
    if "tables" in stated or "resources" in stated:
        sdv = "tables" in stated
        tables = stated["tables"] if sdv else stated["resources"]
        every = list(tables.values()) if isinstance(tables, Mapping) else tables
        if not isinstance(every, Sequence) or len(every) != 1:
            raise ParameterError("it describes several tables or none; give the metadata of one")
        (table,) = every
        stated = table if sdv else _mapping(table, "a resource").get("schema")
    table = _mapping(stated, "the table")
    if "columns" in table:
        return _of_sdv(table)
    if "fields" in table:
        return _of_schema(table)
    raise ParameterError(_FORMS)


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{what} is {type(value).__name__} and no JSON object; {_FORMS}")
    return value


def _of_sdv(table: Mapping[str, Any]) -> Metadata:
    columns, unread = {}, []
    for name, facts in _mapping(table["columns"], "columns").items():
        each = _mapping(facts, f"the column {name}")
        sdtype = each.get("sdtype")
        if not isinstance(sdtype, str):
            raise ParameterError(f"the column {name} has no sdtype; {_FORMS}")
        kind = _SDV_KINDS.get(sdtype)
        form = each.get("datetime_format")
        if kind is Kind.TIME and form is not None and not str(form).startswith("%Y-%m-%d"):
            # Other ways to write a day are texts to pqd.
            kind = None
            unread.append(f"the datetime_format of {name}")
        columns[name] = StatedColumn(
            kind=kind, values=_values(each.get("order"), name), unique=sdtype == "id"
        )
    keys = [table.get("primary_key"), *(table.get("alternate_keys") or ())]
    return Metadata(
        columns=columns,
        keys=tuple(_key(key, columns) for key in keys if key),
        complete=True,
        unread=tuple(unread),
    )


def _of_schema(table: Mapping[str, Any]) -> Metadata:
    fields = table["fields"]
    if not isinstance(fields, Sequence) or isinstance(fields, str):
        raise ParameterError(f"fields is no list; {_FORMS}")
    columns, unread = {}, []
    for place, given in enumerate(fields, 1):
        each = _mapping(given, f"field {place}")
        name = each.get("name")
        if not isinstance(name, str):
            raise ParameterError(f"field {place} has no name; {_FORMS}")
        stated = _mapping(each.get("constraints") or {}, f"constraints of {name}")
        unread += [f"the {key} of {name}" for key in stated if key not in _CONSTRAINTS]
        columns[name] = _ranged(
            StatedColumn(
                kind=_SCHEMA_KINDS.get(str(each.get("type"))),
                values=_values(stated.get("enum"), name),
                required=stated.get("required") is True,
                unique=stated.get("unique") is True,
            ),
            *(_end(stated.get(key), f"{key} of {name}") for key in ("minimum", "maximum")),
        )
    if set(table.get("missingValues") or [""]) != {""}:
        unread.append("missingValues")
    key = table.get("primaryKey")
    return Metadata(
        columns=columns,
        keys=(_key(key, columns),) if key else (),
        complete=True,
        unread=tuple(unread),
    )


def _key(stated: object, columns: Mapping[str, StatedColumn]) -> tuple[str, ...]:
    """Columns of a key, which is a name or a list of names."""
    names = [stated] if isinstance(stated, str) else stated
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"the key {stated!r} is neither a name nor a list of names")
    for name in names:
        if name not in columns:
            raise ParameterError(f'the key names the column "{name}", which is not described')
    return tuple(names)


def _values(stated: object, name: str) -> tuple[str, ...]:
    """Listed values as texts; numbers without a needless ``.0``."""
    if stated is None:
        return ()
    if not isinstance(stated, Sequence) or isinstance(stated, str):
        raise ParameterError(f"the values of {name} are no list")
    return tuple(_written(value) for value in stated)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _end(stated: object, what: str) -> float | datetime | None:
    """End of a range: a number, or a day such as 2020-12-31."""
    if stated is None:
        return None
    if isinstance(stated, (int, float)) and not isinstance(stated, bool):
        return stated
    for read in (float, datetime.fromisoformat):
        try:
            return read(str(stated))
        except ValueError:
            continue
    raise ParameterError(f"the {what} is {stated!r}; write a number, or a day as 2020-12-31")


def _ranged(
    column: StatedColumn, low: float | datetime | None, high: float | datetime | None
) -> StatedColumn:
    """Column whose range is also stated."""
    if low is None and high is None:
        return column
    written = [None if end is None else _end_text(end) for end in (low, high)]
    ends = (
        -math.inf if low is None else _number(low),
        math.inf if high is None else _number(high),
    )
    return replace(column, low=written[0], high=written[1], ends=ends)


def _end_text(end: float | datetime) -> str:
    return str(end.date()) if isinstance(end, datetime) else _written(end)


def _number(end: float | datetime) -> float:
    if isinstance(end, datetime):
        moment = end if end.tzinfo else end.replace(tzinfo=UTC)
        return (moment - _EPOCH).total_seconds() * 1e6
    return float(end)
