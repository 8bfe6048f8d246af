"""Reader of a table: its columns, each distinct value once, in one pass over the file or frame."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from pqd.engine.reading.columns import Columns
from pqd.engine.reading.csv_files import BLOCK_SIZES, csv_blocks, is_packed
from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.engine.reading.frames import frame_blocks
from pqd.engine.reading.parquet_files import parquet_blocks
from pqd.engine.reading.row_hashes import RowHasher
from pqd.errors import RunError, TableError
from pqd.interrupts import heed
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pqd.engine.tables import Table

    Texts = Callable[[pa.Array], Sequence[str | None]]
    Blocks = Iterator[Mapping[str, pa.DictionaryArray]]

_BREAKS = (pa.ArrowException, OSError, EOFError, zlib.error)
Result = TypeVar("Result")
_CSV = "; give it rows as long as the header, and cells in UTF-8"


def plain_texts(values: pa.Array) -> Sequence[str | None]:
    """Texts of values that are texts."""
    texts: list[str | None] = values.cast(pa.large_string()).to_pylist()
    return texts


class TableReader:
    """Reader of one table; ``texts`` gives the texts of distinct values, for hashes.

    What is asked for together is read in one pass, and kept in the table's memory.
    """

    def __init__(self, table: Table, texts: Texts = plain_texts) -> None:
        """Nothing is read yet."""
        self._table, self._texts, self._memory = table, texts, table.memory

    def columns(self, names: Sequence[str], rank_key: bytes | None = None) -> Columns:
        """Columns ``names``, as the table stores them, ranked by whole rows under ``rank_key``.

        Raises
        ------
        TableError
            If a synthetic table cannot be read.
        RunError
            If the private one cannot; the message says nothing of the content.
        """
        # Rows are counted by the cells of a column, the first if none is asked for.
        wanted = list(names) or list(self._table.columns[:1])
        memory = self._memory
        with memory.lock:
            self._read(wanted, rank_key, None)
            ranks = memory.ranks[rank_key] if rank_key is not None else None
            return Columns(memory.rows, {name: memory.columns[name] for name in names}, ranks)

    def content(self, key: bytes, names: Sequence[str] = ()) -> str:
        """Keyed hash of all that the table holds, whatever the order of its rows and columns.

        The columns ``names`` are kept on the way.

        Raises
        ------
        TableError, RunError
            As ``columns``.
        """
        with self._memory.lock:
            self._read(names, None, key)
            return self._memory.contents[key]

    def _read(
        self, names: Sequence[str], rank_key: bytes | None, content_key: bytes | None
    ) -> None:
        """Read what is not known yet, in one pass."""
        memory, every = self._memory, self._table.columns
        version = self._table.version()
        if version != memory.version:
            memory.forget(version)
        new = [name for name in names if name not in memory.columns]
        ranked = rank_key is not None and rank_key not in memory.ranks
        hashed = content_key is not None and content_key not in memory.contents
        if not (new or ranked or hashed):
            return

        def work(blocks: Blocks) -> None:
            builders = {name: ColumnBuilder() for name in new}
            ranker = RowHasher(every, rank_key or b"", self._texts, ranked=True)
            hasher = RowHasher(every, content_key or b"", self._texts)
            hashers = [*([ranker] if ranked else []), *([hasher] if hashed else [])]
            for block in blocks:
                for name, builder in builders.items():
                    builder.add(block[name])
                for each in hashers:
                    each.add(block)
            columns = {name: builder.column() for name, builder in builders.items()}
            if rank_key is not None and ranked:
                memory.ranks[rank_key] = ranker.ranks()
            if content_key is not None and hashed:
                memory.contents[content_key] = _content(every, hasher)
            memory.columns.update(columns)
            if new:
                memory.rows = len(columns[new[0]].codes)

        in_one_pass(self._table, every if ranked or hashed else new, work)


def _content(names: Sequence[str], hasher: RowHasher) -> str:
    return json.dumps([sorted(map(fold_case, names)), *map(str, hasher.content())])


def read_columns(table: Table, names: Sequence[str]) -> Columns:
    """Columns ``names`` of ``table``, whose cells are texts; see ``TableReader``."""
    return TableReader(table).columns(names)


def in_one_pass(table: Table, wanted: Sequence[str], work: Callable[[Blocks], Result]) -> Result:
    """Result of ``work`` on the blocks of a table: cells of the ``wanted`` columns by name.

    Work begins anew, with larger blocks, where a row is longer than one.

    Raises
    ------
    TableError, RunError
        As ``TableReader.columns``.
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
