"""Likeness of two tables: whether they hold the same rows, however their cells are written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pqd.engine.counting.recognition import Content, ContentCounter
from pqd.engine.reading.text_format import USUAL
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa

    from pqd.engine.counting.arrow_sql import ArrowSQL
    from pqd.engine.reading.text_format import TextFormat
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.engine.table import Table

_TEXT = "CAST(value AS VARCHAR)"


def loose_texts(
    sql: ArrowSQL, text_format: TextFormat | None, values: pa.Array
) -> Sequence[str | None]:
    """Texts of distinct values; equal values of different types or formats have equal texts."""
    texts: list[str | None] = sql.of_values(values, _loose_sql(text_format or USUAL)).to_pylist()
    return texts


def _loose_sql(text_format: TextFormat) -> str:
    """SQL of a value's text, equal for equal values of different types.

    1, 1.0 and 01 are one number, a date is its midnight, TRUE is true.  An empty text is NULL, and
    so is NaN.  A text is a number or a time if ``text_format`` can read it so.
    """
    number = f"TRY_CAST({text_format.number_sql(_TEXT)} AS DOUBLE)"
    # 0 is added to turn -0 into 0.
    plain = f"CASE WHEN isnan({number}) THEN NULL ELSE CAST({number} + 0e0 AS VARCHAR) END"
    time = f"CAST({text_format.time_sql(_TEXT)} AS VARCHAR)"
    other = f"COALESCE({time}, lower({_TEXT}))"
    return f"NULLIF(CASE WHEN {number} IS NULL THEN {other} ELSE {plain} END, '')"


@dataclass(frozen=True)
class ContentPlan:
    """Plan of a scan that hashes the content of ``columns``."""

    columns: tuple[str, ...]
    unit: PrivacyUnit | None = None


def loose_content(sql: ArrowSQL, table: Table, names: Sequence[str], key: bytes) -> Content:
    """Keyed hash of the columns ``names`` of a table, by ``loose_texts`` of their cells.

    Raises
    ------
    TableError, RunError
        If the columns cannot be read.
    """
    counter = ContentCounter(tuple(names), key, partial(loose_texts, sql, table.text_format))
    return table.scanner(table, sql).scan(counter, ContentPlan(tuple(names)))


def same_rows(sql: ArrowSQL, one: Table, other: Table, names: Collection[str]) -> bool:
    """Whether two tables have the same multiset of rows; columns are matched by name.

    The columns ``names`` are compared first, each by itself, since most tables that differ do so in
    one column.  Only if these columns agree, pqd reads all columns, and hashes whole rows under a
    key that is never stored (pqd/engine/counting/recognition.py says how sure the result is).

    Raises
    ------
    TableError, RunError
        If the columns ``names`` of a table cannot be read.
    """
    stored = [{fold_case(name): name for name in table.columns} for table in (one, other)]
    if stored[0].keys() != stored[1].keys():
        return False
    shared = sorted({fold_case(name) for name in names} & stored[0].keys()) or [min(stored[0])]
    for table, known in zip((one, other), stored, strict=True):
        table.scanner(table, sql).read([known[name] for name in shared], ())
    if all(table.memory.batches for table in (one, other)):
        if _rows(one) != _rows(other):
            return False
        # Columns with few values come first, since they show a difference soonest.
        shared.sort(key=lambda name: _values(one, stored[0][name]))
    key = os.urandom(32)
    for name in shared:
        contents = [loose_content(sql, table, [name], key) for table in (one, other)]
        if contents[0] != contents[1]:
            return False
    try:
        every = [loose_content(sql, table, sorted(stored[0]), key) for table in (one, other)]
    except Exception:  # noqa: BLE001 - whatever breaks is not told
        return False
    return every[0] == every[1]


def _rows(table: Table) -> int:
    return sum(batch.rows for batch in table.memory.batches)


def _values(table: Table, name: str) -> int:
    return sum(len(batch.columns[name].values) for batch in table.memory.batches)
