"""Reader of a table: its columns, each distinct value once, in one pass over the file or frame."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from pqd.engine.reading.columns import Columns
from pqd.engine.reading.csv_files import BLOCK_SIZES, csv_blocks, is_packed
from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.engine.reading.frames import frame_blocks
from pqd.engine.reading.parquet_files import parquet_blocks
from pqd.errors import RunError, TableError
from pqd.interrupts import heed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pqd.engine.tables import Table

    Blocks = Iterator[Mapping[str, pa.DictionaryArray]]

_BREAKS = (pa.ArrowException, OSError, EOFError, zlib.error)
Result = TypeVar("Result")
_CSV = "; give it rows as long as the header, and cells in UTF-8"


def read_columns(table: Table, names: Sequence[str]) -> Columns:
    """Columns ``names`` of ``table``, by the names it stores them under.

    Raises
    ------
    TableError
        If a synthetic table cannot be read.
    RunError
        If the private one cannot; the message says nothing of the content.
    """
    # Rows are counted by the cells of a column, the first if none is asked for.
    wanted = list(names) or list(table.columns[:1])

    def collected(blocks: Blocks) -> Columns:
        builders = {name: ColumnBuilder() for name in wanted}
        for block in blocks:
            for name, cells in block.items():
                builders[name].add(cells)
        columns = {name: builder.column() for name, builder in builders.items()}
        rows = len(columns[wanted[0]].codes)
        return Columns(rows, {name: columns[name] for name in names})

    return in_one_pass(table, wanted, collected)


def in_one_pass(table: Table, wanted: Sequence[str], work: Callable[[Blocks], Result]) -> Result:
    """Result of ``work`` on the blocks of a table: cells of the ``wanted`` columns by name.

    Work begins anew, with larger blocks, where a row is longer than one.

    Raises
    ------
    TableError, RunError
        As ``read_columns``.
    """
    reason = None
    for size in _block_sizes(table):
        try:
            return work(_blocks(table, wanted, size))
        except _BREAKS as error:
            reason = str(error).splitlines()[0][:200] if table.role == "synthetic" else None
    # Raised outside the handler, since the reader's own error may hold a private value.
    if reason is None:
        raise RunError(
            f"the {table.role} table {table.label} could not be read to its end; check the file"
        )
    hint = _CSV if table.dialect else ""
    raise TableError(f"the synthetic table {table.label} cannot be read: {reason}{hint}")


def _block_sizes(table: Table) -> Sequence[int]:
    """Sizes of blocks to try, in bytes: the last holds the whole text, or is the most there is."""
    if table.path is None or table.dialect is None:
        return BLOCK_SIZES[:1]
    if is_packed(table.path):
        return BLOCK_SIZES
    length = table.path.stat().st_size
    enough = next((i for i, size in enumerate(BLOCK_SIZES) if size > length), len(BLOCK_SIZES))
    return BLOCK_SIZES[: enough + 1]


def _blocks(table: Table, wanted: Sequence[str], size: int) -> Blocks:
    for block in _opened(table, wanted, size):
        heed()
        yield block


def _opened(table: Table, wanted: Sequence[str], size: int) -> Blocks:
    if table.path is None:
        return frame_blocks(table.frame, wanted)
    if table.dialect is None:
        return parquet_blocks(table.path, wanted)
    public = table.role == "synthetic"
    return csv_blocks(
        table.path, table.columns, wanted, table.dialect, public=public, block_size=size
    )
