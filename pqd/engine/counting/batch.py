"""Batches of rows: each column as codes of the distinct values that the batch has.

Each batch gives counts, and the counts of batches add up.  Apart from counts, pqd remembers only
facts of single values from batch to batch.  A code has no meaning outside its batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pqd.engine.counting.combinations import Combinations, at_codes, combined
from pqd.engine.reading.buffers import arrow_of, filled, no_value, numpy_of, texts_of
from pqd.engine.reading.values import encoded
from pqd.interrupts import heed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

Names = tuple[str, ...]
# Rows and bytes that are encoded at a time: their texts are in memory.
ROWS, _SIZE = 1 << 18, 1 << 26
# Rows and bytes that are counted at a time: each atom needs a bit for each row.
JOINED, _JOINED_SIZE = 1 << 21, 1 << 27
# Codes that are counted at a time, to stay in the processor's cache: _CACHED, or _WIDE for each
# distinct code if this is more.
_CACHED, _WIDE = 1 << 15, 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """Cells of one column: row ``i`` holds ``values[codes[i]]``.

    ``codes`` (rows,) are unsigned integers of the smallest type that holds them.  ``values`` is a
    pyarrow array of distinct values in no particular order.  At most one value is null, and each
    value occurs in a row.
    """

    codes: NDArray[Any]
    values: pa.Array

    @property
    def nbytes(self) -> int:
        """Bytes of codes and values."""
        return int(self.codes.nbytes + self.values.nbytes)

    def counts(self) -> NDArray[np.int64]:
        """Rows with each value."""
        return occurrences(self.codes, len(self.values))

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "Column(...)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Batch:
    """Some rows of a table, by column.

    If rows belong to persons, ``person`` (rows,) is the number of each row's person, in ascending
    order, and a person counts as at most ``max_rows`` rows.  All rows of a person are in one batch.
    """

    rows: int
    columns: Mapping[str, Column]
    person: NDArray[np.integer] | None = None
    max_rows: int = 1

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(column.nbytes for column in self.columns.values())

    def combinations(self, names: Names) -> Combinations:
        """Combinations of cells that rows hold in the columns ``names``.

        The columns' own codes are the digits of a combination.  A single column has its values as
        combinations.
        """
        columns = [self.columns[name] for name in names]
        return combined([(each.codes, len(each.values)) for each in columns], self.rows)

    def named(self, stored: Mapping[str, str]) -> Batch:
        """Same rows, whose columns have public names beside the ``stored`` names."""
        aliases = {name: self.columns[own] for name, own in stored.items()}
        return Batch(self.rows, {**self.columns, **aliases}, self.person, self.max_rows)

    def selected(self, names: Iterable[str]) -> Batch:
        """Same rows with the columns ``names`` alone."""
        return Batch(self.rows, {name: self.columns[name] for name in names})

    def without(self, texts: Sequence[str]) -> Batch:
        """Same rows, in which cells that hold one of ``texts``, blanks around it aside, are NULL.

        A cell of another type than text stays as it is.
        """
        if not texts:
            return self
        columns = {name: _without(each, texts) for name, each in self.columns.items()}
        return Batch(self.rows, columns, self.person, self.max_rows)

    def cells_with(self, texts: Sequence[str]) -> dict[str, dict[str, int]]:
        """Number of cells with each of ``texts``, by column, of a public table."""
        return {name: _cells_with(each, texts) for name, each in self.columns.items()}

    def slices(self, rows: int) -> Iterator[Batch]:
        """Same rows in one or more batches of at most ``rows`` rows."""
        if self.rows <= rows:
            yield self
            return
        for first in range(0, self.rows, rows):
            some = slice(first, first + rows)
            columns = {
                name: Column(each.codes[some], each.values) for name, each in self.columns.items()
            }
            yield Batch(min(rows, self.rows - first), columns)

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "Batch(...)"


def encoded_batches(
    tables: Iterable[pa.RecordBatch], names: Sequence[str], rows: int | None = None
) -> Iterator[Batch]:
    """Rows of a source, in one or more batches of about ``rows`` rows."""
    most = rows or ROWS
    waiting: list[pa.RecordBatch] = []
    held = size = 0
    begun = False
    for table in tables:
        for first in range(0, max(table.num_rows, 1), most):
            heed()
            part = table.slice(first, most)
            waiting.append(part)
            held += part.num_rows
            size += part.nbytes
            if held >= most or size >= _SIZE:
                yield batch_of(waiting, names)
                waiting, held, size, begun = [], 0, 0, True
    if waiting and (held or not begun):
        yield batch_of(waiting, names)


def batch_of(tables: Sequence[pa.RecordBatch], names: Sequence[str]) -> Batch:
    """Rows of ``tables``, which have the same columns, as one batch."""
    columns = {name: column_of([table.column(name) for table in tables]) for name in names}
    return Batch(sum(table.num_rows for table in tables), columns)


def column_of(chunks: Sequence[pa.Array]) -> Column:
    """Column of the cells of ``chunks``, which have one type."""
    if isinstance(chunks[0], (pa.DictionaryArray, pa.ExtensionArray)):
        return stacked([_coded(encoded(chunk)) for chunk in chunks])
    column = _coded(encoded(*chunks))
    kind = column.values.type
    # Distinct cells may have one value: several NULLs, or two times in the same microsecond.
    one = column.values.null_count > 1 or pt.is_timestamp(kind) or pt.is_duration(kind)
    return stacked([column]) if one else column


def _without(column: Column, texts: Sequence[str]) -> Column:
    """Column in which values among ``texts`` are one NULL."""
    named = _named(column.values, texts)
    if named is None:
        return column
    kept = pc.if_else(arrow_of(named), no_value(column.values.type), column.values)
    return stacked([Column(column.codes, kept)])


def _cells_with(column: Column, texts: Sequence[str]) -> dict[str, int]:
    named = _named(column.values, texts)
    if named is None:
        return {}
    counts: dict[str, int] = {}
    held = column.values.filter(arrow_of(named)).to_pylist()
    for text, rows in zip(held, column.counts()[named].tolist(), strict=True):
        counts[text.strip()] = counts.get(text.strip(), 0) + rows
    return counts


def _named(values: pa.Array, texts: Sequence[str]) -> NDArray[np.bool_] | None:
    """Whether each value is one of ``texts``; None if none is."""
    if not texts or not pt.is_large_string(values.type):
        return None
    names = texts_of(texts)
    named = numpy_of(pc.is_in(pc.ascii_trim_whitespace(values), value_set=names))
    return named if named.any() else None


def _coded(cells: pa.DictionaryArray) -> Column:
    """Column of encoded cells, without values that no row has."""
    values, size = cells.dictionary, len(cells.dictionary)
    codes = filled(cells.indices, size)
    if cells.indices.null_count:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    used = occurrences(codes, len(values)) > 0
    if not used.all():
        codes = np.cumsum(used)[codes] - 1
        values = values.filter(arrow_of(used))
    return Column(narrowed(codes, len(values)), values)


def stacked(columns: Sequence[Column]) -> Column:
    """One column with the rows of several ``columns``, whose values have one type."""
    every = pa.concat_arrays([each.values for each in columns]).dictionary_encode("encode")
    if len(columns) == 1 and len(every.dictionary) == len(every):
        return columns[0]
    places, first, codes = narrowed(numpy_of(every.indices), len(every.dictionary)), 0, []
    for each in columns:
        last = first + len(each.values)
        codes.append(at_codes(places[first:last], each.codes))
        first = last
    return Column(np.concatenate(codes), every.dictionary)


def joined_batches(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Same rows in fewer batches."""
    held: list[Batch] = []
    rows = size = 0
    for batch in batches:
        if held and (rows + batch.rows > JOINED or size + batch.nbytes > _JOINED_SIZE):
            yield concatenated(held)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows += batch.rows
        size += batch.nbytes
    if held:
        yield concatenated(held)


def concatenated(batches: list[Batch]) -> Batch:
    """One batch with the rows of all ``batches``; the list is emptied, to free memory."""
    if len(batches) == 1:
        return batches.pop()
    rows = sum(batch.rows for batch in batches)
    parts = {name: [batch.columns[name] for batch in batches] for name in batches[0].columns}
    batches.clear()
    columns = {name: stacked(parts.pop(name)) for name in list(parts)}
    return Batch(rows, columns)


def narrowed(codes: NDArray[Any], size: int) -> NDArray[np.unsignedinteger]:
    """Codes below ``size`` in the least unsigned type that holds them."""
    narrow: NDArray[np.unsignedinteger] = codes.astype(
        np.min_scalar_type(max(size - 1, 0)), copy=False
    )
    return narrow


def occurrences(codes: NDArray[Any], size: int) -> NDArray[np.int64]:
    """How often each of ``size`` codes occurs."""
    counts = np.zeros(size, np.int64)
    step = max(_CACHED, _WIDE * size)
    for first in range(0, codes.size, step):
        counts += np.bincount(codes[first : first + step], minlength=size)
    return counts
