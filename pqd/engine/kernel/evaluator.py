"""Values of SQL expressions on the distinct combinations of cells that rows hold.

DuckDB evaluates each expression once for each combination of the columns that it names; rows are
looked up by code.  So the meaning of every expression is DuckDB's, row by row.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pqd.engine.kernel.arrow_sql import SOURCE, ArrowSQL
from pqd.engine.kernel.combinations import Combinations, combined
from pqd.engine.kernel.typed_sql import cast_sql
from pqd.engine.reading.buffers import arrow_of
from pqd.engine.reading.columns import Column, Columns
from pqd.sql.schema import Kind, Schema, quote_identifier

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_TEXTS = {"string", "large_string"}
# Texts are passed over: a quoted name inside one is none.
_NAMES = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)\"""")

Names = tuple[str, ...]


class Evaluator:
    """Evaluates SQL over the typed columns of one table.

    ``columns`` are the table's; ``schema`` gives the public kinds, and ``stored`` for each public
    name the one in ``columns``.
    """

    def __init__(
        self, sql: ArrowSQL, columns: Columns, schema: Schema, stored: Mapping[str, str]
    ) -> None:
        """Nothing is evaluated yet."""
        self.sql, self.columns = sql, columns
        self._schema, self._stored = schema, stored
        self._typed: dict[str, Column] = {}
        self._names: dict[str, Names] = {}

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.columns.rows

    def names(self, expression: str) -> Names:
        """Columns that an expression names, sorted."""
        if expression not in self._names:
            quoted = {match[1] for match in _NAMES.finditer(expression)} - {None}
            named = {name.replace('""', '"') for name in quoted}
            self._names[expression] = tuple(sorted(named & self._stored.keys()))
        return self._names[expression]

    def typed(self, name: str) -> Column:
        """Column of public ``name``, cast to its kind; what does not convert is NULL.

        Values that are one after the cast stay apart.
        """
        if name not in self._typed:
            self._typed[name] = self._cast(name)
        return self._typed[name]

    def _cast(self, name: str) -> Column:
        stored, kind = self.columns.by_name[self._stored[name]], self._schema[name]
        if kind is Kind.TEXT and str(stored.values.type) in _TEXTS:
            return stored
        typed = self.sql.of_values(stored.values, cast_sql("value", kind))
        return Column(stored.codes, typed.combine_chunks())

    def combinations(self, names: Names) -> Combinations:
        """Combinations of the cells of columns ``names`` that rows hold."""
        columns = [self.typed(name) for name in names]
        return combined([(each.codes, len(each.values)) for each in columns], self.rows)

    def values(
        self, names: Names, combinations: Combinations, expressions: Sequence[str]
    ) -> Iterator[list[pa.ChunkedArray]]:
        """Values of ``expressions`` on ``combinations`` in their order, chunk by chunk.

        Raises
        ------
        duckdb.Error
            If an expression cannot be evaluated; its message may hold a value of the table.
        """
        return self.sql.evaluated(self._table(names, combinations), expressions)

    def distinct(
        self, names: Sequence[str], beside: Collection[str], where: str, most: int
    ) -> list[tuple[Any, ...]]:
        """Distinct values of columns ``names`` on rows that meet ``where``, ``most`` at most.

        They ascend, NULL last.  ``beside`` are the columns of ``where``.
        """
        every = tuple(sorted({*names, *beside}))
        table = self._table(every, self.combinations(every))
        outputs = ", ".join(map(quote_identifier, names))
        return self.sql.fetched(
            table,
            f"SELECT DISTINCT {outputs} FROM {SOURCE} WHERE {where} ORDER BY ALL LIMIT {most}",
        )

    def _table(self, names: Names, combinations: Combinations) -> pa.Table:
        """Combinations as an Arrow table of dictionaries, by public name."""
        if not names:
            return pa.table({"none": arrow_of(np.zeros(combinations.size, np.bool_))})
        columns = {name: self.typed(name).values for name in names}
        if len(names) > 1:
            for name, digits in zip(names, combinations.digits, strict=True):
                codes = arrow_of(digits.astype(np.int32))
                columns[name] = pa.DictionaryArray.from_arrays(codes, columns[name])
        return pa.table(columns)
