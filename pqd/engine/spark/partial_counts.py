"""Partial counts: what is counted of some rows, in a form in which Spark adds it up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from pqd.engine.reading.buffers import arrow_of, numpy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Block = Mapping[str, pa.Array]

# Columns of the rows that Spark adds up: ``rows`` is the sum, the others say of what.
FIELDS = ("part", "place", "word", "rows")
# Columns that say of a row whose it is, and its rank among the rows of that person.
PERSON_FIELDS = ("person", "rank")
SCHEMA = pa.schema(
    [("part", pa.int32()), ("place", pa.int64()), ("word", pa.binary()), ("rows", pa.int64())]
)


class PartialCounts(NamedTuple):
    """Counts of some rows: of one ``parts[i]``, at ``places[i]`` and ``words[i]``, so many.

    A part is a statistic or marginal by its number, or one of the negative numbers below.
    """

    parts: NDArray[np.int32]
    places: NDArray[np.int64]
    words: pa.Array
    rows: NDArray[np.int64]

    def __repr__(self) -> str:
        """Name of the type alone: what it counts may be private, and a traceback may show this."""
        return "PartialCounts(...)"

    def of(self, part: int) -> PartialCounts:
        """Counts of one part, its places in ascending order."""
        chosen = np.flatnonzero(self.parts == part)
        chosen = chosen[np.argsort(self.places[chosen], kind="stable")]
        return self._taken(chosen)

    def by_part(self, size: int) -> list[PartialCounts]:
        """Counts of each of the parts ``0 .. size - 1``, their places in ascending order."""
        order = np.lexsort((self.places, self.parts))
        bounds = np.searchsorted(self.parts[order], np.arange(size + 1))
        return [self._taken(order[bounds[part] : bounds[part + 1]]) for part in range(size)]

    def _taken(self, rows: NDArray[np.int64]) -> PartialCounts:
        words = self.words.take(arrow_of(rows))
        return PartialCounts(self.parts[rows], self.places[rows], words, self.rows[rows])

    def batch(self) -> pa.RecordBatch:
        """Counts as rows of Arrow."""
        columns = arrow_of(self.parts), arrow_of(self.places), self.words, arrow_of(self.rows)
        return pa.RecordBatch.from_arrays(list(columns), schema=SCHEMA)


def counts_of(
    part: int, places: NDArray[np.int64], rows: NDArray[np.int64], words: pa.Array | None = None
) -> PartialCounts:
    """Counts of one part."""
    words = pa.nulls(rows.size, pa.binary()) if words is None else words
    parts = np.full(rows.size, part, np.int32)
    return PartialCounts(parts, places.astype(np.int64), words, rows.astype(np.int64))


def joined_counts(parts: Iterable[PartialCounts]) -> PartialCounts:
    """All counts of ``parts``, as they are."""
    every = [counts_of(0, np.empty(0, np.int64), np.empty(0, np.int64)), *parts]
    return PartialCounts(
        np.concatenate([each.parts for each in every]),
        np.concatenate([each.places for each in every]),
        pa.concat_arrays([each.words for each in every]),
        np.concatenate([each.rows for each in every]),
    )


def counts_in(block: Block) -> PartialCounts:
    """Counts that a block of FIELDS holds."""
    parts, places, words, rows = (block[name].dictionary_decode() for name in FIELDS)
    return PartialCounts(numpy_of(parts), numpy_of(places), words.cast(pa.binary()), numpy_of(rows))


class Counting(Protocol):
    """What is counted of rows; it goes to the workers of Spark.

    The counts of two chunks of rows add up to those of both, whatever chunks a table is cut into:
    no row is looked at together with another, but for rows of one person, which are in one chunk.

    Attributes
    ----------
    columns
        Names of the columns that are read.
    persons
        What says whose row a row is; None where no persons are told apart.
    distinct
        Whether counts with a word are numbers of rows of one value, of which it is counted how many
        values have so many rows.
    """

    @property
    def columns(self) -> Sequence[str]: ...  # noqa: D102 - see the class
    @property
    def persons(self) -> PersonRows | None: ...  # noqa: D102
    @property
    def distinct(self) -> bool: ...  # noqa: D102

    def counts(self, blocks: Sequence[Block], ranks: NDArray[np.uint64] | None) -> PartialCounts:
        """Counts of the rows of ``blocks``, which have ``ranks`` if persons are told apart."""
        ...


class PersonRows(Protocol):
    """Person of each row, and the rank of the row by all of its cells."""

    @property
    def columns(self) -> Sequence[str]: ...  # noqa: D102 - those that are read

    def told(self, block: Block) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number of the person, and rank, of each row.

        Rows of one person have one number; those of two may have the same.
        """
        ...
