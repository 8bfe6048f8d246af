"""Persons: the person of each row, its weight, and batches that hold all rows of persons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pqd.engine.counting import batch
from pqd.engine.counting.batch import Batch, Column, concatenated
from pqd.engine.counting.combinations import as_codes, at_codes
from pqd.engine.counting.tally import run_starts
from pqd.engine.reading.buffers import numpy_of
from pqd.engine.reading.values import doubles_of, is_number, plain_values
from pqd.interrupts import heed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

# A row is counted in so many parts where persons are told apart.  A share 1/j is a whole number of
# parts for each j up to 16.
PARTS = math.lcm(*range(1, 17))


def parts_per_row(unit: object | None) -> int:
    """Parts of a row in which rows are counted; whole rows without a privacy ``unit``."""
    return 1 if unit is None else PARTS


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PersonCodes:
    """Person of each row: ``codes`` (rows,) below ``size``."""

    codes: NDArray[Any]
    size: int

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "PersonCodes(...)"


def person_codes(column: Column) -> PersonCodes:
    """Persons by the unit's column: rows of one value are one person, rows of NULL another.

    Numbers with the same double are one value, since pandas turns all numbers of a column into
    doubles if a cell is missing.
    """
    held = column.values
    plain = doubles_of(held) if is_number(held.type) else plain_values(held)
    if plain.type == held.type and not pa.types.is_floating(plain.type):
        return PersonCodes(column.codes, len(held))
    # All cells that are no number are one person.
    values, codes = numbered(pa.chunked_array([plain]))
    size = values.size + 1
    return PersonCodes(at_codes(as_codes(codes, size), column.codes), size)


def in_order(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Codes (rows,) numbered anew from 0 on, in the order in which they are first met."""
    _, first, own = np.unique(codes, return_index=True, return_inverse=True)
    order: NDArray[np.int64] = first.argsort().argsort()[own]
    return order


def person_batches(batches: Iterable[Batch], column: str | None, most: int) -> Iterator[Batch]:
    """Batches of rows in the order of persons; each batch has all rows of its persons.

    The stored ``column`` tells the person of a row; without a column each row is a person.  A
    person counts as at most ``most`` rows.
    """
    if column is None:
        for each in batches:
            yield Batch(each.rows, each.columns, np.arange(each.rows), most)
        return
    every = concatenated(list(batches))
    person = person_codes(every.columns[column]).codes
    order = np.argsort(person, kind="stable")
    person = person.take(order)
    for first, last in _ends(person):
        heed()
        some = order[first:last]
        columns = {
            name: Column(each.codes.take(some), each.values) for name, each in every.columns.items()
        }
        yield Batch(last - first, columns, person[first:last], most)


def row_weights(person: NDArray[np.integer], most: int) -> NDArray[np.int64]:
    """Weight of each row in parts: ``PARTS min(j, most) // j`` for a row of a person with j rows.

    ``person`` (rows,) ascends.  A weight depends on the number of the person's own rows alone, and
    the weights of a person add up to at most ``PARTS most``.  So one person, added or removed,
    moves a count of weights by at most that number (docs/theory.md, Theorem U1).
    """
    starts = run_starts(person)
    rows = np.diff(starts, append=person.size)
    return np.repeat(PARTS * np.minimum(rows, most) // rows, rows)


def _ends(person: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """First row of each batch, and the row after its last; a batch ends with a person's last."""
    ends, first = np.append(run_starts(person), person.size), 0
    for bound in (*range(batch.JOINED, person.size, batch.JOINED), person.size):
        last = int(ends[np.searchsorted(ends, bound)])
        if last > first or not person.size:
            yield first, last
        first = last


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each number mixed to another one, by the finalizer of SplitMix64 (Steele et al. 2014)."""
    bits = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def numbered(array: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Ascending distinct numbers, and the place of each cell's number; NULL has the place after.

    For values that are not numbers, only equality counts.
    """
    valid = array.drop_null()
    if not pa.types.is_integer(array.type) and not pa.types.is_floating(array.type):
        valid = valid.combine_chunks().dictionary_encode().indices
    held = numpy_of(array.is_valid())
    values, own = np.unique(numpy_of(valid), return_inverse=True)
    codes = np.full(held.size, values.size, np.int64)
    codes[held] = own
    return values, codes
