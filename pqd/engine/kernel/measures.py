"""Measures: the value that each row gives, as a code of ascending distinct values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pqd.engine.kernel.arrow_sql import joined
from pqd.engine.kernel.combinations import as_codes
from pqd.engine.reading.buffers import numpy_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.kernel.evaluator import Evaluator


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measured:
    """Value of each row: ``values[codes[i]]``, or NULL where the code is their number.

    ``values`` are distinct and ascend if they are numbers; else they are whole numbers that stand
    for values that are equal.
    """

    codes: NDArray[Any]
    values: NDArray[Any]

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "Measured(...)"

    @property
    def size(self) -> int:
        """Number of distinct values."""
        return self.values.size


def measured(evaluator: Evaluator, sql: str) -> Measured:
    """Values of an expression, evaluated once for each combination of its columns."""
    names = evaluator.names(sql)
    combinations = evaluator.combinations(names)

    def values() -> tuple[NDArray[Any], NDArray[Any]]:
        values, codes = numbered(joined(evaluator.values(names, combinations, [sql])))
        return values, as_codes(codes, values.size + 1)

    values_of, codes = evaluator.looked_up(names, ("measured", sql), values)
    return Measured(codes[combinations.codes], values_of)


def numbered(array: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Ascending distinct values, and for each place its value's number; a NULL has the last."""
    held = np.flatnonzero(numpy_of(array.is_valid()))
    valid = array.drop_null()
    if not pa.types.is_integer(array.type) and not pa.types.is_floating(array.type):
        # What is no number is told apart by equality alone.
        valid = valid.combine_chunks().dictionary_encode().indices
    numbers = numpy_of(valid)
    # 0 and -0 are one, and so are all that are no number.
    values, own = np.unique(numbers, return_inverse=True)
    codes = np.full(len(array), values.size, np.int64)
    codes[held] = own
    return values, codes
