"""Values of SQL expressions on the distinct combinations of cells that rows hold.

DuckDB evaluates each expression once for each combination of the columns that it names; rows are
looked up by code.  So the meaning of every expression is DuckDB's, row by row.
"""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from pqd.engine.kernel.arrow_sql import SOURCE, ArrowSQL
from pqd.engine.kernel.column_types import typed_values
from pqd.engine.kernel.combinations import Combinations, combined
from pqd.engine.reading.buffers import arrow_of, numpy_of
from pqd.engine.reading.columns import Column, Columns
from pqd.interrupts import heed
from pqd.sql.schema import Kind, Schema, quote_identifier

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

# Texts are passed over: a quoted name inside one is none.
_NAMES = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)\"""")

Names = tuple[str, ...]
# Values of columns by name and kind: as stored, and as cast.
Casts = dict[tuple[str, Kind], tuple[pa.Array, pa.Array]]
Looked = TypeVar("Looked")


class Evaluator:
    """Evaluates SQL over the typed columns of one table.

    ``columns`` are the table's; ``schema`` gives the public kinds, and ``stored`` for each public
    name the one in ``columns``.  Evaluators of one table may share what they ``cast``.  Batches of
    its rows have what they find out of values ``shared``.
    """

    def __init__(
        self,
        sql: ArrowSQL,
        columns: Columns,
        schema: Schema,
        stored: Mapping[str, str],
        cast: Casts | None = None,
    ) -> None:
        """Nothing is evaluated yet."""
        self.sql, self.columns = sql, columns
        self._schema, self._stored = schema, stored
        self._casts: Casts = {} if cast is None else cast
        self._names: dict[str, Names] = {}
        self.shared: dict[Hashable, Any] | None = None

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
        stored, key = self.columns.by_name[self._stored[name]], (name, self._schema[name])
        source, cast = self._casts.get(key, (None, None))
        if source is not stored.values:
            cast = typed_values(self.sql, stored.values, self._schema[name])
            self._casts[key] = stored.values, cast
        return Column(stored.kept, cast)

    def doubles(self, expression: str) -> NDArray[np.float64] | None:
        """Values of an expression, NaN for NULL, if it is a column of doubles; None of any other.

        They are those of the combinations of its columns, in their order.
        """
        for name in self.names(expression)[:1]:
            values = self.typed(name).values
            if quote_identifier(name) == expression and pa.types.is_float64(values.type):
                return numpy_of(values)
        return None

    def batches(self) -> Iterator[Evaluator]:
        """Evaluators of the rows in batches, in their order; what they share is evaluated once.

        Rows have no ranks in a batch: persons are told apart in all rows.
        """
        shared: dict[Hashable, Any] = {}
        for columns in self.columns.batches({*self._stored.values()}):
            heed()
            if columns is self.columns:
                yield self
            else:
                batch = copy(self)
                batch.columns, batch.shared = columns, shared
                yield batch

    def looked_up(self, names: Names, key: Hashable, compute: Callable[[], Looked]) -> Looked:
        """What ``compute`` finds of the combinations of ``names``, by its ``key``.

        Those of one column are its values, which all batches have.
        """
        if self.shared is None or len(names) > 1:
            return compute()
        if key not in self.shared:
            self.shared[key] = compute()
        found: Looked = self.shared[key]
        return found

    def combinations(self, names: Names) -> Combinations:
        """Combinations of the cells of columns ``names`` that rows hold; the values of one column.

        All rows are looked at at once.
        """
        columns = [self.typed(name) for name in names]
        return combined([(each.codes, len(each.values)) for each in columns], self.rows)

    def occupied(self, names: Names) -> Combinations:
        """Combinations as of ``combinations``, in another order, without the codes of rows."""
        sizes = [len(self.typed(name).values) for name in names]
        if len(names) == 1:
            return Combinations(np.empty(0, np.uint8), sizes[0], (np.arange(sizes[0]),))
        batches = [each.combinations(names) for each in self.batches()]
        if len(batches) == 1:
            return batches[0]
        digits = zip(*(each.digits for each in batches), strict=True)
        rows = sum(each.size for each in batches)
        return combined(list(zip(map(np.concatenate, digits), sizes, strict=True)), rows)

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

    def held(self, name: str, most: int) -> set[Any] | None:
        """Values of column ``name`` but NULL; None for more than ``most``."""
        values = self.typed(name).values.drop_null().unique()
        return {*values.to_pylist()} if len(values) <= most else None

    def distinct(
        self, names: Sequence[str], beside: Collection[str], where: str, most: int
    ) -> list[tuple[Any, ...]]:
        """Distinct values of columns ``names`` on rows that meet ``where``, ``most`` at most.

        They ascend, NULL last.  ``beside`` are the columns of ``where``.
        """
        every = tuple(sorted({*names, *beside}))
        table = self._table(every, self.occupied(every))
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
