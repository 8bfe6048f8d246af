"""Measures: the value that each row gives, as a code of ascending distinct values; its lattice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from pqd.deciders import Lattice
from pqd.engine.kernel.arrow_sql import joined
from pqd.engine.kernel.combinations import as_codes, at_codes
from pqd.engine.reading.buffers import numpy_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.evaluator import Evaluator

    Floats = NDArray[np.float64]

_DECIMALS = 6
_FINEST = 2.0**50
_HALF = 0.5
# Places of a table of ranks at most, of all and for each number.
_PLACES, _WIDE = 1 << 22, 16


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

    def reordered(self, order: NDArray[np.int64]) -> Measured:
        """The same of the rows in another ``order``."""
        return Measured(self.codes.take(order), self.values)


def measured(
    evaluator: Evaluator, sql: str, number: str = "", lattice: Lattice | None = None
) -> Measured:
    """Values of an expression, evaluated once for each combination of its columns.

    Where it is that of a ``number`` (SQL), or of its place on a ``lattice``, and the number is a
    column of doubles, it is computed here: the same values, without a statement of DuckDB.
    """
    names = evaluator.names(sql)
    combinations = evaluator.combinations(names)

    def values() -> tuple[NDArray[Any], NDArray[Any]]:
        doubles = evaluator.doubles(number)
        if doubles is None:
            values, codes = numbered(joined(evaluator.values(names, combinations, [sql])))
        else:
            held = ~np.isnan(doubles)
            values, codes = _numbered(_places(doubles[held], lattice), held)
        return values, as_codes(codes, values.size + 1)

    values_of, codes = evaluator.looked_up(names, ("measured", sql), values)
    return Measured(at_codes(codes, combinations.codes), values_of)


def _places(numbers: Floats, lattice: Lattice | None) -> NDArray[Any]:
    """Places of ``numbers`` on a lattice, or without one themselves."""
    if lattice is None:
        return numbers
    # Of numbers that no double is in steps, and infinite ones, the place is at an end.
    with np.errstate(invalid="ignore", over="ignore"):
        steps = (numbers - float(lattice.lower)) / float(lattice.step)
        below = np.floor(steps)
        # Halves go up: below 0, where they go down, all are clamped.
        nearest = below + (steps - below >= _HALF)
    places: NDArray[np.int64] = np.clip(nearest, 0, lattice.points - 1).astype(np.int64)
    return places


def alike(one: Measured, other: Measured) -> bool:
    """Whether two have the same codes on all rows."""
    return one.size == other.size and np.array_equal(one.codes, other.codes)


def numbered(array: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Ascending distinct values, and for each place its value's number; a NULL has the last."""
    valid = array.drop_null()
    if not pa.types.is_integer(array.type) and not pa.types.is_floating(array.type):
        # What is no number is told apart by equality alone.
        valid = valid.combine_chunks().dictionary_encode().indices
    return _numbered(numpy_of(valid), numpy_of(array.is_valid()))


def _numbered(numbers: NDArray[Any], held: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ascending distinct ``numbers``, which stand where ``held``, and each place's rank among them.

    The rank where none is held is their number.
    """
    values, own = _ranked(numbers)
    codes = np.full(held.size, values.size, np.int64)
    codes[held] = own
    return values, codes


def _ranked(numbers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ascending distinct numbers, and the rank of each; 0 and -0 are one, and so are all NaN."""
    whole = {"i": np.int64, "u": np.uint64}.get(numbers.dtype.kind)
    wide = numbers.astype(whole or np.float64, copy=False)
    low, high = (wide.min().item(), wide.max().item()) if wide.size else (0, 0)
    # Neither where one is NaN or infinite.
    near = high - low < min(_PLACES, _WIDE * wide.size)
    if not near or (not whole and np.any(wide != np.rint(wide))):
        values, ranks = np.unique(numbers, return_inverse=True)
        return values, ranks
    # Whole numbers are looked up in a tenth of the time in which they are sorted.
    least = wide.dtype.type(low)
    places = (wide - least).astype(np.int64)
    present = np.zeros(int(high - low) + 1, np.bool_)
    present[places] = True
    distinct = np.flatnonzero(present)
    rank_of = np.empty(present.size, np.int32)
    rank_of[distinct] = np.arange(distinct.size)
    values = (distinct.astype(wide.dtype) + least).astype(numbers.dtype)
    return values, rank_of.take(places)


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
    doubles = evaluator.doubles(value)

    def evaluated(outputs: Sequence[str]) -> list[NDArray[Any]]:
        parts = list(evaluator.values(names, combinations, outputs))
        each = zip(*parts, strict=True)
        return [np.concatenate([numpy_of(part) for part in output]) for output in each]

    if doubles is None:
        values, whole = evaluated([f"CAST({value} AS DOUBLE)", _whole_sql(value, 0)])
    else:
        values, whole = doubles, doubles == np.rint(doubles)
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
