"""Cells of a synthetic table that do not fit the kind of their column; all of it is public."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from pqd.engine.counting.column_types import typed_values
from pqd.engine.reading.buffers import arrow_of, numpy_of

if TYPE_CHECKING:
    from pqd.engine.counting.arrow_sql import ArrowSQL
    from pqd.engine.counting.batch import Column
    from pqd.sql.schema import Kind

# Ways to write a number or a day that no kind reads.
_WAYS = {
    "comma": re.compile(r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*"),
    "day-first": re.compile(r"\s*\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})(\s+\d{1,2}:\d{2}.*)?\s*"),
}
_LOOKED_AT = 2048


class Misfits(NamedTuple):
    """Number of cells but NULL, number of cells that do not fit a kind, and an ``example``."""

    cells: int
    unfit: int
    example: str


def misfits(sql: ArrowSQL, column: Column, kind: Kind) -> Misfits:
    """Cells of ``column`` that become NULL in a cast to ``kind``."""
    values = column.values
    typed = typed_values(sql, values, kind)
    held = numpy_of(values.is_valid())
    lost = held & ~numpy_of(typed.is_valid())
    rows = column.counts()
    first = values.take(arrow_of(np.flatnonzero(lost)[:1]))
    # DuckDB makes the text, since Python's days end with the year 9999.
    texts: list[str] = sql.of_values(first, "CAST(value AS VARCHAR)").to_pylist()
    return Misfits(int(rows[held].sum()), int(rows[lost].sum()), "".join(texts))


def way_in(text: str) -> str:
    """Way in which a text writes a number or a day that no kind reads; empty for other texts."""
    return next((way for way, pattern in _WAYS.items() if pattern.fullmatch(text)), "")


def way_of(column: Column) -> tuple[str, str] | None:
    """Way (see ``way_in``) that all first texts of a column share, and one such text; or None."""
    if not pa.types.is_large_string(column.values.type):
        return None
    texts: list[str] = column.values.drop_null()[:_LOOKED_AT].to_pylist()
    ways = set(map(way_in, texts))
    (way,) = ways if len(ways) == 1 else ("",)
    return (way, texts[0]) if way else None
