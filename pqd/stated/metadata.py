"""Metadata of a table in a file: metadata of SDV, or a schema of Frictionless; all of it public.

Kinds, keys, ranges, lists of values and formats of cells are read.  Other facts, such as patterns
of texts, are named in ``Metadata.unread``.  A message names the place of a mistake in the file:
``columns.age.range_min``.  Formats: docs.sdv.dev (metadata), specs.frictionlessdata.io (table
schema).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pqd.deciders import ParameterError
from pqd.deciders.exact import as_float, exact
from pqd.deciders.names import pasted
from pqd.engine.reading.text_format import DECIMALS, THOUSANDS, TextFormat
from pqd.paths import usable
from pqd.sql.schema import Kind, fold_case
from pqd.stated.column_facts import (
    MOST_STATED,
    Bounds,
    ColumnFacts,
    Facts,
    StatedCells,
    check_lattice,
)
from pqd.stated.joined_formats import DAYS, is_form, joined_format
from pqd.stated.text_formats import FileFormat

_FORMS = (
    "metadata of SDV for one table (METADATA_SPEC_VERSION) or a table schema of Frictionless "
    "(fields) are understood"
)
_SDV_KINDS = {"numerical": Kind.NUMBER, "datetime": Kind.TIME, "boolean": Kind.BOOLEAN}
# Types of SDV with facts of their own; any other is the name of a generator of made-up values.
_SDV_TYPES = (*_SDV_KINDS, "categorical", "ordinal", "id", "unknown")
_SCHEMA_KINDS: Mapping[str, Kind | None] = {
    **dict.fromkeys(("integer", "number", "year"), Kind.NUMBER),
    **dict.fromkeys(("date", "datetime"), Kind.TIME),
    "boolean": Kind.BOOLEAN,
    "string": Kind.TEXT,
    **dict.fromkeys(("any", "array", "duration", "geojson", "geopoint", "list", "object")),
    **dict.fromkeys(("time", "yearmonth")),
}
_CONSTRAINTS = {"required", "unique", "minimum", "maximum", "enum"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Keys of a field that change how its cells are written, and are not read.
_UNREAD_KEYS = ("bareNumber", "trueValues", "falseValues", "missingValues")
_USUAL_FORMATS = {None, "default", "any"}
# Larger floats are written with an exponent.
_LARGE = 1e15
# Metadata of one table is small: a larger file, or a longer list, is a mistake.
_MOST_BYTES, _MOST_VALUES = 16 * 2**20, 100_000
# A word this near to a type of SDV is a misspelt one.
_NEAR = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedColumn:
    """Stated facts of one column.

    ``low`` and ``high`` are the stated ends of its range as they were written, and ``ends`` are
    the same ends as numbers (times in microseconds since 1970).  ``values`` are all values that
    the column may have, as texts; ``of_texts`` says that range and values are not numbers, and
    ``kind_of_values`` that the kind is known by the values alone.  An
    ``identifier`` names a person or a thing, or is made up.  ``decimal``, ``thousands`` and
    ``dates`` are the signs of numbers and the form of days, such as ``%d.%m.%Y``; None if they are
    not stated.  ``place`` is where the file has the column.
    """

    kind: Kind | None = None
    low: str | None = None
    high: str | None = None
    ends: tuple[float, float] = (-math.inf, math.inf)
    values: tuple[str, ...] = ()
    of_texts: bool = False
    kind_of_values: bool = False
    required: bool = False
    unique: bool = False
    identifier: bool = False
    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None
    place: str = field(default="", compare=False)

    @property
    def facts(self) -> ColumnFacts:
        """Facts that serve a run: kind, bounds of numbers, cells of texts, not to be judged.

        A list of numbers states its least and largest number as bounds.
        """
        return ColumnFacts(
            bounds=self._bounds,
            kind=self.kind,
            cells=StatedCells(values=self.values) if self.has_cells else None,
            judge=False if self.identifier else None,
        )

    @property
    def without_values(self) -> StatedColumn:
        """Column without its range and its list of values, and without what these tell."""
        return replace(
            self,
            kind=None if self.kind_of_values else self.kind,
            low=None,
            high=None,
            ends=(-math.inf, math.inf),
            values=(),
            of_texts=False,
            kind_of_values=False,
        )

    @property
    def has_cells(self) -> bool:
        """Whether the listed values are the cells of a profile."""
        return self.kind is Kind.TEXT and 0 < len(self.values) <= MOST_STATED

    @property
    def _bounds(self) -> Bounds | None:
        """Range of numbers; None for other kinds, and where nothing is stated."""
        if self.kind not in {None, Kind.NUMBER} or (self.kind is None and self.of_texts):
            return None
        if self.low is None and self.high is None:
            numbers = [exact(value) for value in self.values]
            return (min(numbers), max(numbers)) if numbers else None
        low, high = (None if end is None else exact(end) for end in (self.low, self.high))
        return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Stated facts of a table: its columns and keys.

    ``complete`` says that the table has no other column.  ``unread`` names facts that were not
    read, such as ``the pattern of zip``.  ``missing`` are all texts that stand for no value, and
    None if they are not stated.  ``persons`` are columns whose values may be persons: keys and
    identifiers.  ``ranged`` says that SDV may have taken ranges and values from a table that it has
    seen.  ``label`` is the name of the file.
    """

    columns: Mapping[str, StatedColumn] = field(default_factory=dict)
    keys: tuple[tuple[str, ...], ...] = ()
    complete: bool = False
    unread: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    persons: tuple[str, ...] = ()
    ranged: bool = False
    label: str = field(default="", compare=False)

    @property
    def without_values(self) -> Metadata:
        """Metadata of the form of cells alone: kinds, formats, keys and missing values."""
        columns = {name: column.without_values for name, column in self.columns.items()}
        return replace(self, columns=columns, ranged=False)

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

    @property
    def text_format(self) -> FileFormat:
        """Format of cells that the columns state together, and where they contradict each other."""
        columns = self.columns.values()
        return joined_format(
            [(each.decimal, each.place) for each in columns],
            [(each.thousands, each.place) for each in columns],
            [(each.dates or DAYS, each.place) for each in columns if each.kind is Kind.TIME],
            self.missing,
            self.label,
        )

    @property
    def facts(self) -> dict[str, ColumnFacts]:
        """Facts by column that serve a run; each says where it is stated.

        Raises
        ------
        ParameterError
            If bounds are too far apart.
        """
        facts = {}
        for name, column in self.columns.items():
            source = f"metadata {self.label}, {column.place}"
            try:
                facts[name] = replace(column.facts, source=source)
                check_lattice(facts[name])
            except ParameterError as error:
                raise ParameterError(f"{source}: {error}") from None
        return facts


def read_metadata(path: str | Path, name: str | None = None) -> Metadata:
    """Metadata of a JSON file, which messages call by its path or by ``name``.

    Raises
    ------
    ParameterError
        If there is no such file, if it holds no metadata that is understood, or if it holds the
        metadata of several tables.  The message quotes names and values at the place of a mistake
        only, since another file may be given by mistake.
    """
    file, path = usable(path), path if name is None else name
    try:
        # A pipe may have no writer, and is not waited for.
        content = b"" if file.is_fifo() else _beginning(file)
    except FileNotFoundError:
        advice = f"pqd init PRIVATE COPY --metadata {pasted(str(path))} writes one from the copy"
        raise ParameterError(f"metadata: there is no {path}; {advice}") from None
    except OSError:
        raise ParameterError(f"metadata: {path} cannot be read; name a JSON file") from None
    if len(content) > _MOST_BYTES:
        raise ParameterError(
            f"metadata: {path} is larger than {_MOST_BYTES // 2**20} MiB; metadata of one table "
            f"is small: {_FORMS}"
        )
    try:
        stated = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_object)
    except RecursionError:
        raise ParameterError(f"metadata: {path} is nested too deeply; {_FORMS}") from None
    except ValueError:
        raise ParameterError(f"metadata: {path} is no JSON; {_FORMS}") from None
    try:
        return replace(parse_metadata(stated), label=Path(path).name)
    except ParameterError as error:
        raise ParameterError(f"metadata {path}: {error}") from None


def _beginning(file: Path) -> bytes:
    """Content of a file, or a little more than the most that is read."""
    with file.open("rb") as opened:
        return opened.read(_MOST_BYTES + 1)


class _Twice(dict[str, Any]):
    """JSON object with a key that stands in it twice."""

    key: str = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON object, which remembers a key that stands twice."""
    whole = dict(pairs)
    if len(whole) == len(pairs):
        return whole
    twice, seen = _Twice(whole), set[str]()
    for key, _ in pairs:
        if key in seen:
            twice.key = key
        seen.add(key)
    return twice


def parse_metadata(stated: object) -> Metadata:
    """Metadata of the content of a JSON file; errors as ``read_metadata``."""
    node = _Node(stated, "")
    if not isinstance(stated, Mapping):
        raise ParameterError(f"it is no JSON object; {_FORMS}")
    for several in ("tables", "resources"):
        if several in stated:
            tables = node[several]
            is_named = isinstance(tables.value, Mapping)
            every = list(tables.named().values()) if is_named else tables.listed()
            if len(every) != 1:
                raise tables.error("describes several tables or none; give the metadata of one")
            (node,) = every
            if several == "resources":
                node.named()
                node = node["schema"]
            break
    if "schema" in node.named() and not {"columns", "fields"} & node.named().keys():
        node = node["schema"]
    node.named()
    if "columns" in node.value:
        return _of_sdv(node)
    if "fields" in node.value:
        return _of_schema(node)
    raise ParameterError(_FORMS)


@dataclass(frozen=True, slots=True)
class _Node:
    """Value in a JSON document, and its place there, such as ``columns.age``."""

    value: Any
    place: str

    def __getitem__(self, key: str) -> _Node:
        """Value of a key of an object; None if the object lacks it."""
        place = f"{self.place}.{_written_key(str(key))}".removeprefix(".")
        return _Node(self.value.get(key), place)

    def error(self, what: str) -> ParameterError:
        """Error that says ``what`` is wrong with the value at its place."""
        return ParameterError(f"{self.place or 'it'} {what}")

    def wrong(self, allowed: str) -> ParameterError:
        """Error for a value that is not ``allowed``."""
        return self.error(f"is {_shown(self.value)}; {allowed}")

    def named(self) -> dict[str, _Node]:
        """Values of an object by key; ParameterError for any other value."""
        if not isinstance(self.value, Mapping):
            raise self.error(f"is {_shown(self.value)} and no JSON object; {_FORMS}")
        if isinstance(self.value, _Twice):
            raise self[self.value.key].error("stands there twice; leave one of the two out")
        return {str(key): self[key] for key in self.value}

    def listed(self) -> list[_Node]:
        """Items of a list, each at its place; ParameterError for any other value."""
        if isinstance(self.value, str) or not isinstance(self.value, Sequence):
            raise self.wrong("write a list")
        if len(self.value) > _MOST_VALUES:
            raise self.error(f"has {len(self.value):,} items; at most {_MOST_VALUES:,} are read")
        return [_Node(each, f"{self.place}[{place}]") for place, each in enumerate(self.value)]

    def text(self) -> str | None:
        """Text; None if it is not stated; ParameterError for any other value."""
        if self.value is not None and not isinstance(self.value, str):
            raise self.wrong("write a text")
        return self.value

    def flag(self) -> bool:
        """True or false; false if it is not stated; ParameterError for any other value."""
        if self.value is not None and not isinstance(self.value, bool):
            raise self.wrong("write true or false")
        return bool(self.value)


def _written_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", key) else json.dumps(key[:60])


def _shown(value: object) -> str:
    """Value as JSON, cut short; of an object or a list only what it is."""
    if value is None:
        return "missing"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, str):
        return json.dumps(value[:40])
    if isinstance(value, Sequence):
        return "a list"
    if not isinstance(value, (int, float)):
        return f"a {type(value).__name__}"
    return "no finite number" if _is_infinite(value) else json.dumps(value)[:40]


def _check_names(nodes: Mapping[str, _Node]) -> None:
    """Refuse columns whose names differ by case alone, which no table can tell apart."""
    known: dict[str, str] = {}
    for name, node in nodes.items():
        if (other := known.setdefault(fold_case(name), name)) != name:
            raise node.error(
                f"differs from the column {_written_key(other)} by case alone; leave one of the "
                "two out"
            )


def _of_sdv(table: _Node) -> Metadata:
    nodes = table["columns"].named()
    _check_names(nodes)
    unread: list[str] = []
    columns = {name: _sdv_column(name, node, unread) for name, node in nodes.items()}
    primary, sequence, others = (
        table[key] for key in ("primary_key", "sequence_key", "alternate_keys")
    )
    alternate = [] if others.value is None else others.listed()
    keys = tuple(_key(each, columns) for each in (primary, *alternate) if each.value)
    persons = _key(sequence, columns) if sequence.value else ()
    return Metadata(
        columns=columns,
        keys=keys,
        complete=True,
        unread=tuple(unread),
        persons=_persons((persons, *keys[: bool(primary.value)]), columns),
        ranged=any(each.low or each.high or each.values for each in columns.values()),
    )


def _sdv_column(name: str, node: _Node, unread: list[str]) -> StatedColumn:
    node.named()
    sdtype = node["sdtype"].text()
    if sdtype is None:
        raise node["sdtype"].wrong(f"state one such as numerical; {_FORMS}")
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
    column = _with_values(column, lists[0] if lists else None, name, unread)
    timed = sdtype == "datetime"
    return _with_range(column, node["range_min"], node["range_max"], is_time=timed)


def _of_schema(table: _Node) -> Metadata:
    unread: list[str] = []
    nodes: dict[str, _Node] = {}
    for node in table["fields"].listed():
        node.named()
        name = node["name"].text()
        if name is None:
            raise node["name"].wrong("name the column")
        if name in nodes:
            raise node["name"].wrong(f"so is the name of {nodes[name].place}; leave one out")
        nodes[name] = node
    _check_names(nodes)
    columns = {name: _schema_column(name, node, unread) for name, node in nodes.items()}
    missing = _missing(table["missingValues"])
    key = _key(table["primaryKey"], columns) if table["primaryKey"].value else ()
    return Metadata(
        columns=columns,
        keys=(key,) if key else (),
        complete=True,
        unread=tuple(unread),
        missing=missing,
        persons=_persons([key], columns),
    )


def _missing(node: _Node) -> tuple[str, ...] | None:
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


def _signs(node: _Node, written: str | None) -> tuple[str | None, str | None]:
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


def _schema_column(name: str, node: _Node, unread: list[str]) -> StatedColumn:
    written, dates = node["type"].text(), None
    if written is not None and written not in _SCHEMA_KINDS:
        raise node["type"].wrong(f"use one of {', '.join(sorted(_SCHEMA_KINDS))}")
    kind = _SCHEMA_KINDS.get(written or "any")
    if written in {"date", "datetime"} and node["format"].value not in _USUAL_FORMATS:
        dates = node["format"].text()
        if not is_form(dates or ""):
            kind = None
            unread.append(f"the format of {name}")
    decimal, thousands = _signs(node, written)
    unread += [f"the {key} of {name}" for key in _UNREAD_KEYS if node[key].value is not None]
    constraints = node["constraints"]
    if constraints.value is None:
        constraints = _Node({}, constraints.place)
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
    column = _with_values(column, listed, name, unread)
    timed = written in {"date", "datetime"}
    return _with_range(column, constraints["minimum"], constraints["maximum"], is_time=timed)


def _persons(
    keys: Sequence[tuple[str, ...]], columns: Mapping[str, StatedColumn]
) -> tuple[str, ...]:
    """Columns whose values may be persons: keys of one column, then identifiers."""
    single = [key[0] for key in keys if len(key) == 1]
    ids = [name for name, column in columns.items() if column.identifier and column.unique]
    return tuple(dict.fromkeys((*single, *ids)))


def _key(node: _Node, columns: Mapping[str, StatedColumn]) -> tuple[str, ...]:
    """Columns of a key, which is a name or a list of names."""
    if not isinstance(node.value, (str, list, tuple)):
        raise node.wrong("write a name or a list of names")
    items = [node] if isinstance(node.value, str) else node.listed()
    for each in items:
        if not isinstance(each.value, str):
            raise each.wrong("a key is the name of a column, or a list of names")
        if each.value not in columns:
            raise each.error(f"names the column {_shown(each.value)}, which is not described")
    return tuple(each.value for each in items)


def _with_values(
    column: StatedColumn, node: _Node | None, name: str, unread: list[str]
) -> StatedColumn:
    """Column with a list of values.

    Values written as texts make a column without a kind one of texts, unless they are true and
    false, or days.
    """
    items = [] if node is None else _listed_values(node)
    if not items:
        return column
    values, of_texts = tuple(_written(each.value) for each in items), column.dates is not None
    if column.kind is Kind.NUMBER:
        for each in items:
            _number_at(each, column)
    elif {value.lower() for value in values} <= {"true", "false"}:
        of_texts = True
    elif isinstance(items[0].value, str):
        if column.kind is None and not of_texts:
            column = replace(column, kind=Kind.TEXT, kind_of_values=True)
        of_texts = True
    column = replace(column, values=values, of_texts=of_texts)
    if column.kind is Kind.TEXT and not column.has_cells:
        unread.append(f"the {len(values):,} values of {name} as cells (at most {MOST_STATED:,})")
    return column


def _listed_values(node: _Node) -> list[_Node]:
    """Values of a list, without empty ones; ParameterError unless all are of one sort."""
    items = [
        # Since the second version of table schemas a category may have a label.
        each["value"] if isinstance(each.value, Mapping) else each
        for each in node.listed()
    ]
    items = [each for each in items if each.value is not None and each.value != ""]
    known: dict[str, _Node] = {}
    for each in items:
        if not _sort(each.value) or _is_infinite(each.value):
            raise each.wrong("write texts, or finite numbers")
        if _sort(each.value) != _sort(items[0].value):
            first = f"{items[0].place} is {_shown(items[0].value)}"
            raise each.wrong(f"{first}: write texts only, or numbers only")
        if (other := known.setdefault(_written(each.value), each)) is not each:
            raise each.wrong(f"so is {other.place}; leave one of the two out")
    return items


def _sort(value: object) -> str:
    """Sort of a value in a list: text, number, or truth value; empty for any other."""
    if isinstance(value, bool):
        return "truth value"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else ""


def _is_infinite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGE:
        return str(int(value))
    return str(value)


def _number_at(node: _Node, column: StatedColumn) -> float:
    """Number at a place, perhaps written as a text; ParameterError for any other value.

    The text ``1.000`` may be a thousand in a column with signs of its own, so it is refused.
    """
    value = node.value
    if isinstance(value, str) and (column.thousands or column.decimal == ","):
        raise node.wrong("write a number without quotes, such as 1234.5")
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(exact(value))
        except (ParameterError, OverflowError):
            raise node.wrong("write a finite number") from None
        if isinstance(value, str) or not isinstance(value, int):
            return number
        return value
    raise node.wrong("write a number")


def _time_at(node: _Node, form: str | None) -> datetime:
    """Day or time at a place, in the stated form or as 2020-12-31."""
    text = node.text() or ""
    with suppress(ValueError):
        return datetime.strptime(text, form or DAYS).replace(tzinfo=UTC)
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    raise node.wrong("write a day as 2020-12-31" + (f", or in the form {form}" if form else ""))


def _with_range(column: StatedColumn, low: _Node, high: _Node, *, is_time: bool) -> StatedColumn:
    """Column with a range of numbers or times, from the two ends that the file states."""
    stated = [end for end in (low, high) if end.value is not None]
    if not stated:
        return column
    if not is_time and column.kind in {Kind.TEXT, Kind.BOOLEAN}:
        raise stated[0].error(
            f"is of a column of kind {column.kind}, which has no range; remove it"
        )
    ends = [
        None
        if end.value is None
        else _time_at(end, column.dates)
        if is_time
        else _number_at(end, column)
        for end in (low, high)
    ]
    ranged = _ranged(replace(column, of_texts=column.of_texts or is_time), *ends)
    if ranged.ends[0] > ranged.ends[1]:
        raise low.error(
            f"is {_shown(low.value)} and {high.place} is {_shown(high.value)}; the first must not "
            "be above the second"
        )
    return ranged


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
