"""Parquet: names of the columns, and the rows in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from pqd.engine.reading.values import encoded_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

# Rows of a block.
_ROWS = 1 << 17


def parquet_names(path: Path) -> tuple[str, ...]:
    """Column names of a file, in its order.

    Raises
    ------
    pyarrow.ArrowException, OSError
        If it is not Parquet, or broken.
    """
    return tuple(pq.read_schema(path).names)


def parquet_blocks(
    path: Path, wanted: Sequence[str], *, threads: bool = True
) -> Iterator[Mapping[str, pa.DictionaryArray]]:
    """Rows in blocks: the cells of the ``wanted`` columns.

    Raises
    ------
    pyarrow.ArrowException, OSError
        If the file is broken.
    """
    schema = pq.read_schema(path)
    # What is nested has no dictionary.
    flat = [name for name in wanted if not pt.is_nested(schema.field(name).type)]
    with pq.ParquetFile(path, read_dictionary=flat, pre_buffer=False) as file:
        batches = file.iter_batches(_ROWS, columns=list(wanted), use_threads=threads)
        yield from encoded_blocks(batches, file.schema_arrow, wanted)
