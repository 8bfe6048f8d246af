"""Cells of a synthetic table that do not fit the kind of their column; all of it is public."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pqd.engine.counting.column_types import typed_values
from pqd.engine.reading.buffers import arrow_of, numpy_of

if TYPE_CHECKING:
    from pqd.engine.counting.arrow_sql import ArrowSQL
    from pqd.engine.counting.batch import Column
    from pqd.engine.reading.text_format import TextFormat
    from pqd.sql.schema import Kind

# Ways to write a number or a day that no kind reads.
_WAYS = {
    "thousands": re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*"),
    "comma": re.compile(r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*"),
    "day-first": re.compile(r"\s*\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})(\s+\d{1,2}:\d{2}.*)?\s*"),
}


class Misfits(NamedTuple):
    """Number of cells but NULL, number of cells that do not fit a kind, and an ``example``."""

    cells: int
    unfit: int
    example: str


def misfits(
    sql: ArrowSQL, column: Column, kind: Kind, text_format: TextFormat | None = None
) -> Misfits:
    """Cells of ``column``, which are of ``text_format``, that become NULL in a cast to ``kind``."""
    values = column.values
    typed = typed_values(sql, values, kind, text_format)
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
