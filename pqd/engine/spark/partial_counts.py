"""Counts of some rows, in a form in which Spark adds them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from pqd.engine.counting.tally import Counts, Tally
from pqd.engine.reading.buffers import arrow_of, numpy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from pqd.engine.counting.batch import Batch

# Columns that Spark adds up: a statistic, one of its keys, and how often this key occurs.
FIELDS = ("part", "word", "rows")
# Column with the person of a row.
PERSON_FIELD = "person"
SCHEMA = pa.schema([("part", pa.int32()), ("word", pa.binary()), ("rows", pa.int64())])
# A whole number as a word: its bytes, the highest first.
_WHOLE = np.dtype(">i8")


def counts_batch(counts: Counts) -> pa.RecordBatch:
    """Counts as rows of Arrow: the number of a statistic, a key as bytes, how often it occurs."""
    tallies = counts.tallies
    sizes = [tally.counts.size for tally in tallies.values()]
    parts = np.repeat(np.array([*tallies], np.int32), sizes)
    words = [pa.nulls(0, pa.binary()), *(_words(tally.keys) for tally in tallies.values())]
    rows = np.concatenate([np.empty(0, np.int64), *(tally.counts for tally in tallies.values())])
    columns = [arrow_of(parts), pa.concat_arrays(words), arrow_of(rows)]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _words(keys: NDArray[np.generic]) -> pa.BinaryArray:
    """Keys as bytes, all of one length."""
    octets = keys if keys.dtype.kind == "V" else keys.astype(_WHOLE)
    ends = arrow_of(np.arange(keys.size + 1, dtype=np.int32) * np.int32(octets.itemsize))
    return pa.BinaryArray.from_buffers(
        pa.binary(), keys.size, [None, ends.buffers()[1], pa.py_buffer(octets.tobytes())]
    )


def counts_in(batches: Iterable[pa.RecordBatch]) -> Counts:
    """Counts from batches that have the columns FIELDS."""
    tallies: dict[int, list[tuple[bytes, int]]] = {}
    for batch in batches:
        statistics, keys, rows = (batch.column(name) for name in FIELDS)
        numbers = numpy_of(statistics).tolist(), numpy_of(rows).tolist()
        octets = keys.cast(pa.binary()).to_pylist()
        for statistic, count, key in zip(*numbers, octets, strict=True):
            tallies.setdefault(statistic, []).append((key, count))
    return Counts({statistic: _tally(pairs) for statistic, pairs in tallies.items()})


def _tally(pairs: Sequence[tuple[bytes, int]]) -> Tally:
    words, counts = zip(*pairs, strict=True)
    octets = np.frombuffer(b"".join(words), f"V{len(words[0])}")
    keys = octets.view(_WHOLE).astype(np.int64) if octets.itemsize == _WHOLE.itemsize else octets
    return Tally.of(keys, np.array(counts, np.int64))


class Counting(Protocol):
    """Count of rows for the workers of Spark, which get a copy of it.

    The counts of chunks add up to the counts of the table, wherever the table is cut.  A row is
    counted alone, but the rows of one person count together, and are in one chunk.

    Attributes
    ----------
    columns
        Names of the columns that are read.
    persons
        Map of each row to its person; None if persons are not told apart.
    distinct
        Statistics for which the scan counts how many keys occur 1, 2, ... times.
    """

    @property
    def columns(self) -> Sequence[str]: ...  # noqa: D102 - see the class
    @property
    def persons(self) -> PersonRows | None: ...  # noqa: D102
    @property
    def distinct(self) -> frozenset[int]: ...  # noqa: D102

    def counts(self, batch: Batch) -> Counts:
        """Counts of the rows of ``batch``."""
        ...


class PersonRows(Protocol):
    """Person of each row."""

    def persons(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """Number of the person of each row.

        Rows of one person have one number; two persons may share a number.
        """
        ...
