"""Parquet: the schema of a file, and its rows in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as pt

from pqd.engine.reading.values import at_least_one

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

# Rows of a batch.
_ROWS = 1 << 17


def _parquet() -> ModuleType:
    """Pyarrow's reader, loaded only for a Parquet file: it loads all file systems of Arrow."""
    import pyarrow.parquet  # noqa: PLC0415 - only where it is used

    reader: ModuleType = pyarrow.parquet
    return reader


def parquet_schema(path: Path) -> pa.Schema:
    """Names and types of the columns of a file, in its order.

    Raises
    ------
    pyarrow.ArrowException, OSError
        If the file is not Parquet, or is broken.
    """
    return _parquet().read_schema(path)


def parquet_batches(
    path: Path, wanted: Sequence[str], *, threads: bool = True
) -> Iterator[pa.RecordBatch]:
    """Rows in batches: the cells of the ``wanted`` columns.

    Raises
    ------
    pyarrow.ArrowException, OSError
        If the file is broken.
    """
    schema = parquet_schema(path)
    # A nested column cannot be read with a dictionary.
    flat = [name for name in wanted if not pt.is_nested(schema.field(name).type)]
    with _parquet().ParquetFile(path, read_dictionary=flat, pre_buffer=False) as file:
        batches = file.iter_batches(_ROWS, columns=list(wanted), use_threads=threads)
        yield from at_least_one(batches, file.schema_arrow, wanted)
