"""Persons: whose row each row is, and which of a person's rows are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pqd.engine.kernel.combinations import as_codes
from pqd.engine.kernel.measures import numbered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.kernel.bitmaps import Rows
    from pqd.engine.kernel.evaluator import Evaluator


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


def person_codes(evaluator: Evaluator, column: str) -> PersonCodes:
    """Persons by the stored ``column``: rows of one value are one, those without are one more."""
    stored = evaluator.columns.by_name[column]
    if not pa.types.is_floating(stored.values.type):
        return PersonCodes(stored.codes, len(stored.values))
    # All that are no number are one.
    values, codes = numbered(pa.chunked_array([stored.values]))
    size = values.size + 1
    return PersonCodes(as_codes(codes, size)[stored.codes], size)


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
    kept[order] = np.arange(order.size) - starts[persons.codes[order]] < most
    return kept
