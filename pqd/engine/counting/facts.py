"""Facts of cells: DuckDB evaluates SQL once for each distinct value.

Each row then looks its facts up by its code.  So every expression has DuckDB's meaning, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pqd.engine.counting.column_types import typed_values
from pqd.engine.counting.typed_sql import mark_of
from pqd.engine.reading.buffers import arrow_of, filled, numpy_of
from pqd.sql.schema import quote_identifier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.counting.arrow_sql import ArrowSQL
    from pqd.engine.counting.batch import Batch, Names
    from pqd.engine.counting.combinations import Combinations
    from pqd.engine.reading.text_format import TextFormat
    from pqd.sql.schema import Kind, Schema

    FactArrays = list[NDArray[Any]]
    FactsOf = Callable[[Sequence[pa.Array]], FactArrays]

# For a column and a kind: the values before the cast, and the values after the cast.
Known = dict[tuple[str, "Kind"], tuple[pa.Array, pa.Array]]
# The pattern skips texts, since a quoted name inside a text is no name.
_NAMES = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)\"""")
# Most values of a column that are remembered.
MOST = 1 << 20
# Texts, in lower case, that stand for a missing value wherever a column is no text.
_MISSING = r"^(|-|\?|\.|na|n/a|#n/a|#nv|nan|null|none|nil|missing)$"
# Truths packed into an octet.
OCTET = 8


class TypedSQL:
    """SQL over columns that are cast to their public kinds (``schema``).

    ``text_format`` is that of the table, if its cells are stored as text.  ``known`` caches the
    last cast of each column; several scans of one table may share it.
    """

    def __init__(
        self,
        sql: ArrowSQL,
        schema: Schema,
        known: Known | None = None,
        text_format: TextFormat | None = None,
    ) -> None:
        """Nothing is cast yet."""
        self.sql, self.schema, self._text_format = sql, schema, text_format
        self._known: Known = {} if known is None else known

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy for another process, with an empty cache."""
        return TypedSQL, (self.sql, self.schema, None, self._text_format)

    def unreadable(self, expression: str) -> str:
        """SQL of whether a cell that an expression names holds something that does not convert."""
        names = self.names(expression)
        cells = (
            f"({quote_identifier(self.filled_name(name))} AND {quote_identifier(name)} IS NULL)"
            for name in names
        )
        return " OR ".join(cells) or "FALSE"

    def filled_name(self, name: str) -> str:
        """Name beside a column ``name`` that no column has: whether its cells hold something."""
        return f"{mark_of(self.schema)}{name}"

    def names(self, expression: str) -> Names:
        """Columns that an expression names, sorted."""
        quoted = {match[1] for match in _NAMES.finditer(expression)} - {None}
        return tuple(sorted({name.replace('""', '"') for name in quoted} & self.schema.keys()))

    def typed(self, name: str, values: pa.Array) -> pa.Array:
        """``values`` of a column, each cast to its kind; a value that does not convert is NULL."""
        key = name, self.schema[name]
        source, cast = self._known.get(key, (None, None))
        if source is not values:
            cast = typed_values(self.sql, values, self.schema[name], self._text_format)
            self._known[key] = values, cast
        return cast

    def table(
        self, batch: Batch, names: Names, combinations: Combinations, mentioned: str = ""
    ) -> pa.Table:
        """Cells (``cells``) of ``combinations`` of the columns ``names`` of a batch."""
        if not names:
            return pa.table({"none": arrow_of(np.zeros(combinations.size, np.bool_))})
        columns: dict[str, pa.Array] = {}
        for number, name in enumerate(names):
            cells = self.cells(name, batch.columns[name].values, mentioned)
            if len(names) > 1:
                codes = arrow_of(combinations.digits[number].astype(np.int32))
                for each, values in cells.items():
                    cells[each] = pa.DictionaryArray.from_arrays(codes, values)
            columns |= cells
        return pa.table(columns)

    def cells(self, name: str, values: pa.Array, mentioned: str) -> dict[str, pa.Array]:
        """``values`` of a column as typed, and if ``mentioned`` whether each holds something."""
        cells, filled_name = {name: self.typed(name, values)}, self.filled_name(name)
        if quote_identifier(filled_name) in mentioned:
            cells[filled_name] = is_filled(values)
        return cells

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "TypedSQL(...)"


class ByValue:
    """Pure function of a value, evaluated once for each distinct value.

    Results are cached until more than ``MOST`` values are known; then the cache begins anew.
    """

    def __init__(self, function: Callable[[pa.Array], FactArrays]) -> None:
        """Take the function, which gives arrays aligned with the values."""
        self._function = function
        self._known: pa.Array | None = None
        self._facts: FactArrays = []

    def of(self, values: pa.Array) -> FactArrays:
        """Facts of distinct ``values``, aligned with them."""
        known = self._known
        if known is values:
            return self._facts
        if known is None or known.type != values.type or len(known) > MOST:
            self._known, self._facts = values, self._function(values)
            return self._facts
        places = pc.index_in(values, value_set=known)
        new = values.filter(places.is_null())
        if len(new):
            more = self._function(new)
            self._known = pa.concat_arrays([known, new])
            self._facts = [np.concatenate(both) for both in zip(self._facts, more, strict=True)]
        place = filled(places, -1)
        fresh = place < 0
        place = np.where(fresh, len(known) - 1 + np.cumsum(fresh), place)
        return [each[place] for each in self._facts]

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "ByValue(...)"


class Facts:
    """Facts of the cells of columns ``names``, by SQL ``expressions`` over them.

    ``facts_of`` turns the values of the expressions into arrays with an entry for each value.
    """

    def __init__(
        self, sql: TypedSQL, names: Names, expressions: Sequence[str], facts_of: FactsOf
    ) -> None:
        """Nothing is evaluated yet."""
        self._sql, self._names = sql, names
        self._expressions, self._facts_of = expressions, facts_of
        self._mentioned = " ".join(expressions)
        self._by_value = ByValue(self._of_values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy for another process, with an empty cache."""
        return Facts, (self._sql, self._names, self._expressions, self._facts_of)

    def of(self, batch: Batch) -> tuple[NDArray[Any], FactArrays]:
        """Code of each row, and the facts of each code."""
        if len(self._names) == 1:
            column = batch.columns[self._names[0]]
            return column.codes, self._by_value.of(column.values)
        combinations = batch.combinations(self._names)
        table = self._sql.table(batch, self._names, combinations, self._mentioned)
        return combinations.codes, self._evaluated(table)

    def _of_values(self, values: pa.Array) -> FactArrays:
        (name,) = self._names
        return self._evaluated(pa.table(self._sql.cells(name, values, self._mentioned)))

    def _evaluated(self, table: pa.Table) -> FactArrays:
        chunks = self._sql.sql.evaluated(table, self._expressions)
        parts = [self._facts_of([each.combine_chunks() for each in chunk]) for chunk in chunks]
        return parts[0] if len(parts) == 1 else list(map(np.concatenate, zip(*parts, strict=True)))

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "Facts(...)"


def is_filled(values: pa.Array) -> pa.Array:
    """Whether each cell holds something: neither NULL, nor NaN, nor a text that says "missing"."""
    filled_cells = pc.is_valid(values)
    if pa.types.is_floating(values.type):
        return pc.and_kleene(filled_cells, pc.invert(pc.is_nan(values)))
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(values))
        return pc.and_kleene(filled_cells, pc.invert(pc.match_substring_regex(texts, _MISSING)))
    return filled_cells


def truth_octets(truths: Sequence[pa.Array]) -> FactArrays:
    """Truths of conditions, 8 to an octet: array ``i`` has conditions ``8 i`` to ``8 i + 7``."""
    parts = (truths[first : first + OCTET] for first in range(0, len(truths), OCTET))
    return [np.packbits(np.stack(list(map(numpy_of, part))), 0, "little")[0] for part in parts]


def is_true(conditions: Mapping[Any, Any]) -> list[str]:
    """SQL of the truth of each atom of ``conditions``; unknown becomes false."""
    return [f"COALESCE({atom.sql}, FALSE)" for atom in conditions]
