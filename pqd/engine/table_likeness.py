"""Likeness of two tables: whether they hold the same rows, however their cells are written."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from pqd.engine.table_reader import TableReader
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pqd.engine.kernel.arrow_sql import ArrowSQL
    from pqd.engine.reading.columns import Column
    from pqd.engine.tables import Table

_TEXT = "CAST(value AS VARCHAR)"
_NUMBER = f"TRY_CAST({_TEXT} AS DOUBLE)"
# 0 is added since there is a negative zero.
_PLAIN = f"CASE WHEN isnan({_NUMBER}) THEN NULL ELSE CAST({_NUMBER} + 0e0 AS VARCHAR) END"
_OTHER = f"COALESCE(CAST(TRY_CAST({_TEXT} AS TIMESTAMP) AS VARCHAR), lower({_TEXT}))"
# SQL of a value's text, alike for values that say the same in another type: 1, 1.0 and 01 are one
# number, a date is its midnight, TRUE is true; what is empty or no number (NaN) is NULL.
_LOOSE = f"NULLIF(CASE WHEN {_NUMBER} IS NULL THEN {_OTHER} ELSE {_PLAIN} END, '')"

# Bytes of values that are looked at together.
_SMALL = 1 << 20


class TableLikeness:
    """Compares tables by ``sql``, which evaluates on distinct values alone."""

    def __init__(self, sql: ArrowSQL) -> None:
        """Nothing is read yet."""
        self._sql = sql

    def same_rows(self, one: Table, other: Table, names: Collection[str]) -> bool:
        """Whether two tables are the same multiset of rows, by columns of the same names.

        The columns ``names`` are compared first, value by value: most tables that differ do so in
        one column.  Only where all agree are all columns read, and hashed row by row under a key
        that is never stored (pqd/engine/reading/row_hashes.py: how sure that is).  A table of which
        that breaks is unlike any other: an error would tell that the private columns are exactly
        those of a copy.

        Raises
        ------
        TableError, RunError
            If the columns ``names`` of a table cannot be read.
        """
        stored = [{fold_case(name): name for name in table.columns} for table in (one, other)]
        if stored[0].keys() != stored[1].keys():
            return False
        shared = sorted({fold_case(name) for name in names} & stored[0].keys())
        shared = shared or [min(stored[0])]
        pair = [
            TableReader(table).columns([known[name] for name in shared])
            for table, known in zip((one, other), stored, strict=True)
        ]
        if pair[0].rows != pair[1].rows:
            return False
        columns = [
            (pair[0].by_name[stored[0][name]], pair[1].by_name[stored[1][name]]) for name in shared
        ]
        # The shortest first: what differs is then found soonest.
        columns.sort(key=lambda both: len(both[0].values) + len(both[1].values))
        if not all(self._same_cells(*both) for both in columns):
            return False
        key = os.urandom(32)
        contents = [self._content(table, key) for table in (one, other)]
        return contents[0] == contents[1] is not None

    def _content(self, table: Table, key: bytes) -> str | None:
        """Hash of all that a table holds, None if it cannot be read."""
        try:
            return TableReader(table, self.loose_texts).content(key)
        except Exception:  # noqa: BLE001 - whatever breaks is not told
            return None

    def loose_texts(self, values: pa.Array) -> Sequence[str | None]:
        """Texts of distinct values, alike for those that say the same."""
        texts: list[str | None] = self._sql.of_values(values, _LOOSE).to_pylist()
        return texts

    def _same_cells(self, one: Column, other: Column) -> bool:
        """Whether two columns have the same texts, each on as many rows."""
        size = one.values.nbytes + other.values.nbytes
        if one.values.type == other.values.type and size <= _SMALL:
            # One statement for both takes as long as one for either.
            texts = self.loose_texts(pa.concat_arrays([one.values, other.values]))
            parts = texts[: len(one.values)], texts[len(one.values) :]
        else:
            parts = self.loose_texts(one.values), self.loose_texts(other.values)
        return _rows_by_text(parts[0], one) == _rows_by_text(parts[1], other)


def _rows_by_text(texts: Sequence[str | None], column: Column) -> Counter[str | None]:
    """How many rows of a column have each text; ``texts`` are those of its values."""
    rows: Counter[str | None] = Counter()
    for text, number in zip(texts, column.counts().tolist(), strict=True):
        rows[text] += number
    return rows
