"""Scans: the counts of a table, batch by batch, and the batches that are kept between two scans.

A scan is a fold: a counter counts each batch, and the counts of batches add up.  pqd reads a table
once to recognise it, and keeps the batches for later counts if they are small enough.  A larger
private table is read again for each scan.
"""

from __future__ import annotations

import zlib
from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from pqd.engine.counting.batch import JOINED, concatenated, encoded_batches, joined_batches
from pqd.engine.counting.persons import person_batches
from pqd.engine.counting.recognition import ContentCounter
from pqd.engine.counting.tally import JointCounter, folded
from pqd.engine.reading.blocks_ahead import blocks_ahead
from pqd.engine.sources.source import UnreadableError
from pqd.engine.table_likeness import same_rows
from pqd.errors import RunError, TableError
from pqd.exception_barrier import of_memory, withheld

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence

    from pqd.engine.counting.arrow_sql import ArrowSQL
    from pqd.engine.counting.batch import Batch
    from pqd.engine.counting.recognition import Content
    from pqd.engine.counting.tally import Counter
    from pqd.engine.scan_plan import TablePlan
    from pqd.engine.table import Table
    from pqd.errors import PqdError

Whole = TypeVar("Whole")
Result = TypeVar("Result")
_BREAKS = (pa.ArrowException, OSError, EOFError, zlib.error)
# Most bytes of codes and values of a private table that are kept.
_KEPT = 768 << 20
CHANGED = "the private table changed while it was read; run again when it is settled"


class LocalScanner:
    """Scanner of a table whose rows pqd reads itself; ``sql`` gives the texts of values."""

    def __init__(self, table: Table, sql: ArrowSQL) -> None:
        """Nothing is read yet."""
        self._table, self._sql, self._memory = table, sql, table.memory

    def read(
        self, names: Sequence[str], content_keys: Collection[bytes], *, ahead: bool = False
    ) -> None:
        """Read columns, and hash the content under each key, in one pass."""
        with self._memory.lock:
            self._read(names, content_keys, ahead=ahead)

    def _read(
        self,
        names: Sequence[str],
        content_keys: Collection[bytes] = (),
        *,
        ahead: bool = False,
    ) -> None:
        """Read, in one pass, the columns and contents that are not known yet."""
        memory, every = self._memory, self._table.content_columns
        version = self._table.version()
        if version != memory.version:
            memory.forget(version)
        new = [key for key in content_keys if key not in memory.contents]
        known = memory.has(names)
        if known and not new:
            return
        wanted = list(dict.fromkeys([*(memory.names or ()), *names]))
        contents = JointCounter(*(ContentCounter(every, key, self._sql.texts) for key in new))
        memory.missing.clear()
        kept = _Kept(public=self._table.role == "synthetic")

        def work(batches: Iterator[Batch]) -> list[Content]:
            counts = []
            for batch in batches:
                if new:
                    counts.append(contents.count(batch))
                if not known:
                    kept.add(_as_read(self._table, batch.selected(wanted)))
            return contents.whole(folded(counts)) if new else []

        read = list(dict.fromkeys((*every, *wanted))) if new else wanted or every[:1]
        found = _in_one_pass(self._table, read, work, ahead=ahead)
        memory.contents |= dict(zip(new, found, strict=True))
        if not known:
            memory.names = frozenset(wanted)
            memory.batches = kept.batches()

    def content(self, key: bytes) -> Content:
        """Keyed hash of the whole content of the table."""
        with self._memory.lock:
            self._read((), (key,))
            return self._memory.contents[key]

    def same_rows(self, public: Table, names: Collection[str]) -> bool:
        """Whether ``public`` holds the same rows."""
        return same_rows(self._sql, self._table, public, names)

    def scan(self, counter: Counter[Whole], plan: TablePlan) -> Whole:
        """Result of ``counter`` on all rows."""
        unit = plan.unit
        names, person = self._table.stored_names(plan)
        read = list(dict.fromkeys([*names.values(), *([person] if person else [])]))

        def whole(batches: Iterator[Batch]) -> Whole:
            if unit:
                batches = person_batches(batches, person, unit.max_rows)
            counts = folded(counter.count(batch.named(names)) for batch in batches)
            return counter.whole(counts.multiplicities(counter.distinct))

        with self._memory.lock:
            self._read(read)
            batches = self._memory.batches
        if batches:
            return whole(rows for batch in batches for rows in batch.slices(JOINED))
        return self._read_again(read, whole)

    def _read_again(self, names: Sequence[str], whole: Callable[[Iterator[Batch]], Whole]) -> Whole:
        """Result of ``whole`` on a table that is too large to be kept; the table is read again.

        Raises
        ------
        RunError
            If the content has changed since the table was recognised.
        """
        table, memory = self._table, self._memory
        known = next(iter(memory.contents), None)
        content = ContentCounter(table.content_columns, known or b"", self._sql.texts)
        counts = []

        def work(batches: Iterator[Batch]) -> Whole:
            def selected() -> Iterator[Batch]:
                for batch in batches:
                    if known:
                        counts.append(content.count(batch))
                    yield _as_read(table, batch.selected(names))

            return whole(selected())

        read = list(dict.fromkeys((*table.content_columns, *names))) if known else names
        read = read or table.content_columns[:1]
        result = _in_one_pass(table, read, work)
        if known and content.whole(folded(counts)) != memory.contents[known]:
            raise RunError(CHANGED)
        return result

    def rows(self, names: Sequence[str]) -> Batch:
        """All rows of a public table, in one batch."""
        with self._memory.lock:
            self._read(names)
            (batch,) = self._memory.batches
            return batch.selected(names)


class _Kept:
    """Kept batches: all of a public table; of a private table all, or none if it is too large."""

    def __init__(self, *, public: bool) -> None:
        self._public = public
        self._batches: list[Batch] = []
        self._size = 0

    def add(self, batch: Batch) -> None:
        """Keep a batch; none is kept of a private table that is too large."""
        self._size += batch.nbytes
        if self._public or self._size <= _KEPT:
            self._batches.append(batch)
        else:
            self._batches.clear()

    def batches(self) -> list[Batch]:
        """Kept batches; those of a public table are joined into one."""
        return [concatenated(self._batches)] if self._public else self._batches


def first_rows(table: Table, names: Sequence[str], *, many: bool = False) -> Batch:
    """First rows of a table: the stored columns ``names``; with ``many`` up to ``JOINED`` rows.

    Raises
    ------
    TableError, RunError
        If the table cannot be read.
    """
    rows = _in_one_pass(table, names, next, first=not many)
    return rows.without(table.text_format.missing_texts) if table.text_format else rows


def _as_read(table: Table, batch: Batch) -> Batch:
    """Rows in which texts that mean a missing cell are NULL; the content has all texts as stored.

    A ledger thus knows the rows by what is stored, whatever texts are stated to mean.
    """
    if table.text_format is None:
        return batch
    texts = table.text_format.missing_texts
    if table.role == "synthetic":
        table.memory.count_missing(batch.cells_with(texts))
    return batch.without(texts)


def _in_one_pass(
    table: Table,
    wanted: Sequence[str],
    work: Callable[[Iterator[Batch]], Result],
    *,
    ahead: bool = False,
    first: bool = False,
) -> Result:
    """Result of ``work`` on the batches of a table, with the ``wanted`` columns.

    With ``ahead`` a second thread reads the blocks of a CSV in advance.

    Raises
    ------
    TableError, RunError
        If the table cannot be read to its end.
    """
    advice = "check the file"
    try:
        with _broken(), closing(_record_batches(table, wanted, ahead=ahead)) as batches:
            if first:
                return work(encoded_batches(islice(batches, 1), wanted))
            return work(joined_batches(encoded_batches(batches, wanted)))
    except UnreadableError as error:
        advice = error.advice
    # Raised outside the handler, since the reader's own error may hold a value.
    raise unreadable(table, advice)


@contextmanager
def _broken() -> Iterator[None]:
    """Context that catches the errors of a broken table; RunError if memory ran out."""
    lacking = None
    try:
        yield
    except _BREAKS as error:
        lacking = withheld(error) if of_memory(error) else None
    # Raised outside the handler, since the caught error may hold a value.
    if lacking:
        raise RunError(lacking)


def unreadable(table: Table, advice: str = "check the file") -> PqdError:
    """Refusal of a table that cannot be read to its end; the cause is not quoted."""
    kind = TableError if table.role == "synthetic" else RunError
    return kind(f"the {table.title} could not be read to its end; {advice}")


def _record_batches(
    table: Table, wanted: Sequence[str], *, ahead: bool
) -> Generator[pa.RecordBatch]:
    batches = table.source.batches(wanted, table.memory.note)
    # Only for CSV: other batches may be large, or belong to the thread that opened the source.
    yield from blocks_ahead(batches) if ahead and table.textual else batches
