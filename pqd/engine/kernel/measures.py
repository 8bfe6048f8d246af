"""Measures: the value that each row gives, as a code of ascending distinct values; its lattice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from deciders import Lattice
from pqd.engine.kernel.arrow_sql import joined
from pqd.engine.kernel.combinations import as_codes, at_codes
from pqd.engine.reading.buffers import numpy_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.evaluator import Evaluator

_DECIMALS = 6
_FINEST = 2.0**50


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
    return Measured(at_codes(codes, combinations.codes), values_of)


def alike(one: Measured, other: Measured) -> bool:
    """Whether two have the same codes on all rows."""
    return one.size == other.size and np.array_equal(one.codes, other.codes)


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


class Coded(Protocol):
    """Code of each row, below ``size``."""

    @property
    def codes(self) -> NDArray[Any]: ...  # noqa: D102 - see the class
    @property
    def size(self) -> int: ...  # noqa: D102


def lattice_of(evaluator: Evaluator, value: str, persons: Coded | None) -> Lattice | None:
    """Lattice that ``value`` (SQL) takes on the rows, None without values.

    With ``persons`` it holds each person's total too, over all rows.

    The step is the coarsest of 1, 0.1, ... 0.000001 that all values fit, coarser for numbers so
    large that a double cannot tell such steps apart.
    """
    names = evaluator.names(value)
    combinations = evaluator.combinations(names) if persons else evaluator.occupied(names)

    def evaluated(outputs: Sequence[str]) -> list[NDArray[Any]]:
        parts = list(evaluator.values(names, combinations, outputs))
        each = zip(*parts, strict=True)
        return [np.concatenate([numpy_of(part) for part in output]) for output in each]

    values, whole = evaluated([f"CAST({value} AS DOUBLE)", _whole_sql(value, 0)])
    finite = np.isfinite(values)
    if not finite.any():
        return None
    low, high = float(values[finite].min()), float(values[finite].max())
    if persons:
        rows = at_codes(finite, combinations.codes)
        codes = persons.codes[rows]
        sums = np.bincount(codes, values[combinations.codes[rows]], persons.size)
        held = sums[np.bincount(codes, minlength=persons.size) > 0]
        low, high = min(low, float(held.min())), max(high, float(held.max()))
    decimals = 0
    if not whole[finite].all():
        # Most numbers are whole: the other steps are tried where they are not.
        steps = range(1, _DECIMALS + 1)
        fits = evaluated([_whole_sql(value, step) for step in steps])
        fitting = (step for step, fit in zip(steps, fits, strict=True) if fit[finite].all())
        decimals = next(fitting, _DECIMALS)
    while max(abs(low), abs(high)) * 10.0**decimals > _FINEST:
        decimals -= 1
    step = Fraction(10) ** -decimals
    lower, upper = Fraction(low) / step, Fraction(high) / step
    return Lattice(round(lower) * step, round(upper) * step, step)


def _whole_sql(value: str, decimals: int) -> str:
    """SQL that is true where ``value`` has so many decimals at most."""
    return f"COALESCE(round(({value}) * 1e{decimals}) / 1e{decimals} = ({value}), FALSE)"
