"""Private table of Spark: what is asked of it is counted where its rows are.

Its content is counted first, under a key of the run too; each later scan counts that again, so that
a table which changed in between is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from pqd.engine.kernel.batch import row_batches
from pqd.engine.partial_content import (
    Content,
    ContentCounting,
    Contents,
    PersonCells,
    content_text,
)
from pqd.engine.partial_scans import ScanCounting
from pqd.engine.reading.buffers import arrow_of
from pqd.engine.reading.row_hashes import RowHasher
from pqd.engine.sources.source import UnreadableError
from pqd.engine.spark.table import SparkTable
from pqd.engine.table_likeness import TableLikeness
from pqd.engine.table_reader import TableReader, unreadable
from pqd.errors import RunError
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pqd.engine.kernel.arrow_sql import ArrowSQL
    from pqd.engine.kernel.tally import Counter, Counts
    from pqd.engine.reading.columns import Column
    from pqd.engine.scan_plan import TablePlan
    from pqd.engine.spark.partial_counts import Counting
    from pqd.engine.tables import Table

Whole = TypeVar("Whole")
_RECOGNISED = "recognised"


def partitioned(table: Table) -> PartitionedTable | None:
    """Table as one whose rows stay in Spark, None if they do not."""
    if table.role == "private" and isinstance(table.source, SparkTable):
        return PartitionedTable(table, table.source)
    return None


class PartitionedTable:
    """Private ``table`` whose rows are in Spark."""

    def __init__(self, table: Table, source: SparkTable) -> None:
        """Nothing is counted yet."""
        self._table, self._source = table, source

    def read(self, names: Sequence[str], content_keys: Collection[bytes]) -> None:
        """Take the content, under each key and under one of the run, in one job.

        Raises
        ------
        RunError
            If the table cannot be read; the message says nothing of the content.
        """
        own = self._own_content(names)
        every = [ContentCounting(self._table.columns, key) for key in content_keys]
        self._contents([*every, own])
        self._source.known.setdefault(_RECOGNISED, own)

    def content(self, key: bytes) -> str:
        """Keyed hash of all that the table holds, as ``TableReader.content`` gives it."""
        (content,) = self._contents([ContentCounting(self._table.columns, key)])
        return content_text(self._table.columns, content)

    def same_rows(self, public: Table, names: Collection[str], sql: ArrowSQL) -> bool:
        """Whether ``public`` holds the same rows; see ``TableLikeness.same_rows``.

        Rows are compared by a hash of the columns ``names``, under a key that is never stored.
        """
        lowered = {fold_case(name) for name in self._table.columns}
        if lowered != {fold_case(name) for name in public.columns}:
            return False
        compared = set(map(fold_case, names))
        own = self._own_content([n for n in self._table.columns if fold_case(n) in compared])
        (content,) = self._contents([own])
        if content != self._public_content(public, own.columns, sql):
            return False
        try:
            every = ContentCounting(self._table.columns, self._source.key, loose=True)
            (content,) = self._contents([every])
            return content == self._public_content(public, every.columns, sql)
        except Exception:  # noqa: BLE001 - whatever breaks is not told
            return False

    def scanned(
        self,
        counter: Counter[Whole],
        plan: TablePlan,
        names: Mapping[str, str],
        person: str | None,
    ) -> Whole:
        """What ``counter`` gives of all rows, in one job.

        Raises
        ------
        RunError
            If a worker fails, or the table is not the one that was recognised.
        """
        own = self._source.known.get(_RECOGNISED) or self._own_content([*names.values()])
        cells = PersonCells(self._table.columns, person, plan.key) if person else None
        contents = Contents((own,))
        work = ScanCounting(counter, dict(names), contents, plan.unit, person, cells)
        counts = self._counted(work)
        (content,) = contents.contents(counts)
        if self._source.known.setdefault(own, content) != content:
            raise RunError(
                "the private table changed while it was read; run again when it is settled"
            )
        return counter.whole(counts)

    def _own_content(self, names: Sequence[str]) -> ContentCounting:
        """Content by some columns, under the key of the run; by the first for none."""
        columns = tuple(dict.fromkeys(names)) or self._table.columns[:1]
        return ContentCounting(columns, self._source.key, loose=True)

    def _contents(self, each: Sequence[ContentCounting]) -> list[Content]:
        """Contents, of which those that are not known are counted in one job."""
        with self._source.lock:
            known = self._source.known
            new = Contents(tuple(one for one in each if one not in known))
            if new.each:
                known.update(zip(new.each, new.contents(self._counted(new)), strict=True))
            return [known[one] for one in each]

    def _counted(self, work: Counting) -> Counts:
        try:
            return self._source.counted(work)
        except UnreadableError as error:
            advice = error.advice
        raise unreadable(self._table, advice)

    def _public_content(self, public: Table, names: Sequence[str], sql: ArrowSQL) -> Content:
        """Content of a public table by the columns of these names."""
        stored = {fold_case(name): name for name in public.columns}
        own = [stored[fold_case(name)] for name in names]
        columns = TableReader(public).columns(own)
        hasher = RowHasher(own, self._source.key, TableLikeness(sql).loose_texts)
        for batch in row_batches(columns, {name: name for name in own}):
            hasher.add({name: encoded_column(batch.columns[name]) for name in own})
        return hasher.content().result()


def encoded_column(column: Column) -> pa.DictionaryArray:
    """Cells of a column as a block of a reader has them."""
    return pa.DictionaryArray.from_arrays(arrow_of(column.codes.astype(np.int32)), column.values)
