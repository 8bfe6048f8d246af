"""Persons: whose row each row is, which of a person's rows are kept, and what these add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pqd.deciders import Histogram
from pqd.engine.kernel.combinations import as_codes, at_codes
from pqd.engine.kernel.measures import Measured, numbered
from pqd.engine.kernel.tallies import RowsByCell
from pqd.engine.reading.columns import batches_of
from pqd.engine.reading.values import doubles_of, is_number, plain_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.deciders import Lattice
    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.cells import Cells
    from pqd.engine.kernel.evaluator import Evaluator

    Integers = NDArray[np.int64]

# Totals beyond this are beyond any lattice; they are clamped all the same.
_BEYOND = 2.0**60


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PersonCodes:
    """Person of each row: ``codes`` (rows,) below ``size``."""

    codes: NDArray[Any]
    size: int

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "PersonCodes(...)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Persons(PersonCodes):
    """Persons of a table, and the rows of each that are ``kept``."""

    kept: Rows

    def __repr__(self) -> str:
        """Name of the type alone."""
        return "Persons(...)"

    def reordered(self, order: Integers) -> Persons:
        """The same of the rows in another ``order``."""
        return Persons(self.codes.take(order), self.size, self.kept.take(order))


def person_codes(evaluator: Evaluator, column: str) -> PersonCodes:
    """Persons by the stored ``column``: rows of one value are one, those without are one more.

    Numbers of one double are one value: pandas makes doubles of all where one is missing.
    """
    stored = evaluator.columns.by_name[column]
    held = stored.values
    plain = doubles_of(held) if is_number(held.type) else plain_values(held)
    if plain.type == held.type and not pa.types.is_floating(plain.type):
        return PersonCodes(stored.codes, len(held))
    # All that are no number are one.
    values, codes = numbered(pa.chunked_array([plain]))
    size = values.size + 1
    return PersonCodes(at_codes(as_codes(codes, size), stored.codes), size)


def persons_of(evaluator: Evaluator, column: str | None, most: int) -> Persons:
    """Persons by the stored ``column``, None where each row is a person.

    Of each person the first ``most`` rows by rank are kept: which these are depends on that
    person's rows alone.
    """
    rows = evaluator.rows
    if column is None:
        return Persons(np.arange(rows), rows, np.ones(rows, np.bool_))
    if evaluator.columns.ranks is None:
        raise ValueError("the rows of a person need ranks")
    known = person_codes(evaluator, column)
    return Persons(known.codes, known.size, _first(known, evaluator.columns.ranks, most))


def _first(persons: PersonCodes, ranks: NDArray[Any], most: int) -> Rows:
    """Mask of the first ``most`` rows of each person by rank."""
    order = np.lexsort((ranks, persons.codes))
    starts = np.concatenate(([0], np.cumsum(np.bincount(persons.codes, minlength=persons.size))))
    kept = np.zeros(order.size, np.bool_)
    # Of some rows at a time, since whole numbers of all take more memory than what is asked.
    for first, last in batches_of(order.size):
        rows = order[first:last]
        kept[rows] = np.arange(first, last) - starts[persons.codes[rows]] < most
    return kept


class PersonTotals:
    """Adds up each person's rows to one value, clamped to the lattice of totals.

    Exact: a row is a whole number of steps below 2^53; its high and low 32 bits are added up apart.
    """

    def __init__(
        self, cells: Cells, lattices: tuple[Lattice, Lattice], values: Measured, persons: Persons
    ) -> None:
        """Take the rows with a value; ``lattices`` are those of rows and of totals."""
        of_rows, self._lattice = lattices
        self._size = persons.size
        held = values.codes < values.size
        steps = values.values + int(of_rows.lower / of_rows.step)
        self._rows = RowsByCell(
            cells.codes[held], cells.size, persons.codes[held], steps[values.codes[held]]
        )

    def histogram(self, cells: Rows) -> Histogram:
        """Histogram of the totals of rows in ``cells``, in units of their lattice."""
        persons, steps = self._rows.chosen(cells)
        high, low = np.zeros((2, self._size), np.int64)
        np.add.at(high, persons, steps >> 32)
        np.add.at(low, persons, steps & 0xFFFFFFFF)
        somebody = np.bincount(persons, minlength=self._size) > 0
        places = self._clamped(high[somebody], low[somebody])
        return Histogram.from_values(self._lattice.units_at(places))

    def _clamped(self, high: Integers, low: Integers) -> Integers:
        about = high.astype(np.float64) * 2.0**32 + low
        within = np.abs(about) < _BEYOND
        total = np.where(within, (np.where(within, high, 0) << 32) + low, 0)
        total = np.where(within, total, np.sign(about) * _BEYOND).astype(np.int64)
        first = round(self._lattice.lower / self._lattice.step)
        places: Integers = np.clip(total - first, 0, self._lattice.points - 1)
        return places
