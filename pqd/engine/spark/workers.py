"""Functions for Spark's Python workers: chunks of rows come in, partial counts go out.

Nothing else leaves a worker.  The message of an error would reach Spark's driver and logs, and may
quote a cell.  So the worker catches the error, and sends a row that says only that it failed.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from pqd.engine.counting.batch import batch_of
from pqd.engine.counting.tally import Counts, Tally
from pqd.engine.reading.buffers import arrow_of, numpy_of
from pqd.engine.spark.partial_counts import PERSON_FIELD, counts_batch
from pqd.threads import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pqd.engine.counting.batch import Batch
    from pqd.engine.spark.partial_counts import Counting, PersonRows

    Batches = Iterator[pa.RecordBatch]
    Mapped = Callable[[Batches], Batches]

# Statistic that reports a failure; its key, BROKEN or OTHER_VERSION, says how a worker failed.
FAILED = -(1 << 31)
BROKEN, OTHER_VERSION = 0, 1
# Rows and bytes of a chunk; a worker holds little more, unless one person has more rows.
CHUNK_ROWS, _CHUNK_BYTES = 1 << 20, 1 << 26
# Rows of a table that are sent to the driver in one piece.
_SENT_ROWS = 1 << 17


class Reading(NamedTuple):
    """Layout of rows from Spark: names of the columns in Spark's order, and the version of pqd.

    ``rows`` is the number of rows in a chunk.  With ``persons``, one more column follows, the
    person of the row.  The rows are then in the order of persons.
    """

    names: tuple[str, ...]
    version: str
    rows: int = CHUNK_ROWS
    persons: bool = False


def count_mapper(work: Counting, reading: Reading) -> Mapped:
    """Function for Spark's ``mapInArrow``: partial counts of the rows of one partition."""

    def counted(batches: Batches) -> Batches:
        failure = _version_failure(reading)
        if failure is None:
            failure = BROKEN
            with suppress(Exception):
                for chunk in _chunks(batches, reading):
                    yield counts_batch(work.counts(chunk))
                failure = None
        if failure is not None:
            yield counts_batch(Counts({FAILED: Tally(np.array([failure]), np.array([1]))}))

    return lambda batches: _sealed(counted(batches))


def person_mapper(work: PersonRows, reading: Reading) -> Mapped:
    """Function for ``mapInArrow``: the same columns, with each row's person.

    If the function fails on a batch, it gives one row without a person, and the count then fails.
    """

    def rows_with_persons(batches: Batches) -> Batches:
        other_version = _version_failure(reading) is not None
        for batch in batches:
            rows = None
            with suppress(Exception):
                if not other_version:
                    persons = work.persons(_named(batch, reading.names))
                    rows = _with_persons(batch, arrow_of(persons))
            yield _no_person(batch) if rows is None else rows

    return lambda batches: _sealed(rows_with_persons(batches))


def piece_mapper(reading: Reading) -> Mapped:
    """Function for ``mapInArrow``: rows packed into a few pieces of bytes, for the driver."""

    def packed(batches: Batches) -> Batches:
        for group in _groups(batches, _SENT_ROWS):
            yield _piece([_named(batch, reading.names) for batch in group])

    return lambda batches: _sealed(packed(batches))


def unpacked(piece: bytes) -> Iterator[pa.RecordBatch]:
    """Batches of the rows in a piece."""
    with pa.ipc.open_stream(piece) as stream:
        yield from stream


def _piece(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches packed into one row of bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return pa.RecordBatch.from_arrays(
        [pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["piece"]
    )


def _version_failure(reading: Reading) -> int | None:
    """Failure of a worker that has another version of pqd, else None."""
    # One thread here, since Spark has a worker for each core.
    os.environ[VARIABLE] = "1"
    return None if sys.modules["pqd"].__version__ == reading.version else OTHER_VERSION


def _sealed(batches: Batches) -> Batches:
    """``batches``; an error in them is raised without its message and its cause."""
    failed = False
    try:
        with warnings.catch_warnings(action="ignore"):
            yield from batches
    except Exception:  # noqa: BLE001 - whatever it is, it may hold a private value
        failed = True
    # Raised outside the handler, which would attach the first error as its cause.
    if failed:
        raise RuntimeError("a worker of pqd failed")


def _chunks(batches: Batches, reading: Reading) -> Iterator[Batch]:
    """Rows of a partition, chunk by chunk."""
    for group in _groups(batches, reading.rows, persons=reading.persons):
        yield batch_of([_named(batch, reading.names) for batch in group], reading.names)


def _groups(
    batches: Batches, rows: int, *, persons: bool = False
) -> Iterator[list[pa.RecordBatch]]:
    """Batches in groups of about ``rows`` rows; with ``persons`` no person is in two groups."""
    group: list[pa.RecordBatch] = []
    held = size = 0
    for rows_of_batch in _in_order(batches) if persons else batches:
        batch = rows_of_batch
        if not batch.num_rows:
            continue
        if group and (held >= rows or size >= _CHUNK_BYTES):
            own = _same_person(group[-1], batch) if persons else 0
            if own < batch.num_rows:
                yield [*group, batch.slice(0, own)] if own else group
                group, held, size, batch = [], 0, 0, batch.slice(own)
        group.append(batch)
        held += batch.num_rows
        size += batch.nbytes
    if group:
        yield group


def _in_order(batches: Batches) -> Batches:
    """``batches``; ValueError if persons do not ascend, since a person would count as two."""
    last = np.empty(0, np.int64)
    for batch in batches:
        own = np.concatenate((last, _persons(batch)))
        # Numbers are compared, since their difference may need more than 64 bits.
        if np.any(own[1:] < own[:-1]):
            raise ValueError("rows of one person are apart")
        last = own[-1:]
        yield batch


def _same_person(before: pa.RecordBatch, batch: pa.RecordBatch) -> int:
    """Number of first rows of ``batch`` that belong to the last person of ``before``."""
    other = _persons(batch) != _persons(before)[-1]
    return int(np.argmax(other)) if other.any() else batch.num_rows


def _persons(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """Person of each row, the last column; ValueError if one is missing: then a worker failed."""
    cells = batch.column(batch.num_columns - 1)
    if cells.null_count:
        raise ValueError("rows are missing")
    return numpy_of(cells)


def _named(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """First columns of a batch, by their ``names``."""
    return pa.RecordBatch.from_arrays(batch.columns[: len(names)], names=list(names))


def _no_person(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Row of NULLs, without a person."""
    columns = [pa.nulls(1, each.type) for each in batch.columns]
    missing = pa.RecordBatch.from_arrays(columns, batch.schema.names)
    return _with_persons(missing, pa.nulls(1, pa.int64()))


def _with_persons(batch: pa.RecordBatch, persons: pa.Array) -> pa.RecordBatch:
    """Columns of a batch, and the person of each row."""
    names = [*batch.schema.names, PERSON_FIELD]
    return pa.RecordBatch.from_arrays([*batch.columns, persons], names)
