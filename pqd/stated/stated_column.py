"""Column as a file of metadata states it: kind, range, list of values, formats of its cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pqd.deciders import ParameterError
from pqd.deciders.exact import exact
from pqd.sql.schema import Kind
from pqd.stated.column_facts import MOST_STATED, Bounds, ColumnFacts, StatedCells
from pqd.stated.joined_formats import DAYS
from pqd.stated.json_document import Node, is_infinite, shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Larger floats are written with an exponent.
_LARGE = 1e15


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


def with_values(
    column: StatedColumn, node: Node | None, name: str, unread: list[str]
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


def _listed_values(node: Node) -> list[Node]:
    """Values of a list, without empty ones; ParameterError unless all are of one sort."""
    items = [
        # Since the second version of table schemas a category may have a label.
        each["value"] if isinstance(each.value, Mapping) else each
        for each in node.listed()
    ]
    items = [each for each in items if each.value is not None and each.value != ""]
    known: dict[str, Node] = {}
    for each in items:
        if not _sort(each.value) or is_infinite(each.value):
            raise each.wrong("write texts, or finite numbers")
        if _sort(each.value) != _sort(items[0].value):
            first = f"{items[0].place} is {shown(items[0].value)}"
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


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGE:
        return str(int(value))
    return str(value)


def _number_at(node: Node, column: StatedColumn) -> float:
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


def _time_at(node: Node, form: str | None) -> datetime:
    """Day or time at a place, in the stated form or as 2020-12-31."""
    text = node.text() or ""
    with suppress(ValueError):
        return datetime.strptime(text, form or DAYS).replace(tzinfo=UTC)
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    raise node.wrong("write a day as 2020-12-31" + (f", or in the form {form}" if form else ""))


def with_range(column: StatedColumn, low: Node, high: Node, *, is_time: bool) -> StatedColumn:
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
    ranged = ranged_column(replace(column, of_texts=column.of_texts or is_time), *ends)
    if ranged.ends[0] > ranged.ends[1]:
        raise low.error(
            f"is {shown(low.value)} and {high.place} is {shown(high.value)}; the first must not "
            "be above the second"
        )
    return ranged


def ranged_column(
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
