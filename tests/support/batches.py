"""Batches of rows of a table, each with dictionaries of its own."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pqd.engine.kernel.batch import Batch
from pqd.engine.reading.columns import Column, Columns
from pqd.engine.reading.values import encoded


def column_of(cells: pa.ChunkedArray) -> Column:
    """Cells as codes of their distinct values."""
    held = encoded(cells.combine_chunks()).dictionary_decode().dictionary_encode("encode")
    return Column(held.indices.to_numpy(zero_copy_only=False).astype(np.uint16), held.dictionary)


def batch_of(table: pa.Table) -> Batch:
    """All rows of a table in one batch."""
    return Batch(table.num_rows, {name: column_of(table[name]) for name in table.column_names})


def batches_of(table: pa.Table, size: int) -> Iterator[Batch]:
    """Rows in batches of ``size``, one at least."""
    for first in range(0, max(1, table.num_rows), size):
        yield batch_of(table.slice(first, size))


def columns_of(table: pa.Table, ranks: np.ndarray | None = None) -> Columns:
    """Columns of a table, as they are read."""
    by_name = {name: column_of(table[name]) for name in table.column_names}
    return Columns(table.num_rows, by_name, ranks)
