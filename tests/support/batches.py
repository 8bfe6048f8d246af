"""Batches of rows of a table, each with dictionaries of its own."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pqd.engine.counting import batch
from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.counting.batch import Batch, concatenated
from pqd.engine.scan import LocalScanner
from pqd.engine.tables import Table


def batch_of(table: pa.Table) -> Batch:
    """All rows of a table in one batch."""
    names = table.column_names
    (record,) = table.combine_chunks().to_batches() or [
        pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in table.schema.types], names)
    ]
    return batch.batch_of([record], names)


def batches_of(table: pa.Table, size: int) -> Iterator[Batch]:
    """Rows in batches of ``size``, one at least."""
    for first in range(0, max(1, table.num_rows), size):
        yield batch_of(table.slice(first, size))


def read_batch(table: Table, names: Sequence[str]) -> Batch:
    """All rows of columns ``names`` of a table, in one batch."""
    LocalScanner(table, ArrowSQL())._read(list(names))
    return concatenated(list(table.memory.batches)).selected(names)
