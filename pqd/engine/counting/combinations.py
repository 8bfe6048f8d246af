"""Combinations of codes: several columns of codes become one column, by mixed radix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pqd.engine.reading.buffers import arrow_of, numpy_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)
# Numbers below this bound are renumbered by a table, even if there are few rows.
_SMALL = 1 << 16
# Codes that are looked up at a time.
_CACHED = 1 << 15


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Combinations:
    """Combinations of codes that rows hold, and the combination of each row.

    ``codes`` (rows,) has the number of each row's combination, below ``size``.  ``digits`` has an
    array (size,) for each part: the part's code in each combination.
    """

    codes: NDArray[Any]
    size: int
    digits: tuple[NDArray[Any], ...]

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "Combinations(...)"


def combined(parts: Sequence[tuple[NDArray[Any], int]], rows: int) -> Combinations:
    """Combinations of ``parts``, each given as the codes of rows and the number of codes."""
    if not parts:
        return Combinations(np.zeros(rows, np.uint8), min(rows, 1), ())
    codes, size = parts[0]
    digits = [np.arange(size)]
    for part, number in parts[1:]:
        bound = size * number
        kind = np.min_scalar_type(bound)
        joint = np.multiply(codes, kind.type(number), dtype=kind, casting="unsafe")
        np.add(joint, part, out=joint, dtype=kind, casting="unsafe")
        codes, distinct = renumbered(joint, bound)
        digits = [*(digit[distinct // number] for digit in digits), distinct % number]
        size = distinct.size
    return Combinations(codes, size, tuple(digits))


def renumbered(numbers: NDArray[Any], bound: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Codes of whole ``numbers`` below ``bound``, and the distinct number of each code."""
    if bound <= max(_SMALL, 4 * numbers.size):
        present = np.zeros(bound, np.bool_)
        present[numbers] = True
        distinct = np.flatnonzero(present)
        lookup = np.zeros(bound, np.min_scalar_type(distinct.size))
        lookup[distinct] = np.arange(distinct.size)
        return at_codes(lookup, numbers), distinct
    encoded = arrow_of(numbers).dictionary_encode()
    distinct = numpy_of(encoded.dictionary).astype(np.int64)
    return as_codes(numpy_of(encoded.indices), distinct.size), distinct


def at_codes(lookup: NDArray[Scalar], codes: NDArray[Any]) -> NDArray[Scalar]:
    """``lookup[codes]`` for codes below its size; if both are bytes, in a sixth of the time."""
    if codes.dtype == np.uint8 and lookup.itemsize == 1:
        table = lookup[: 1 << 8].tobytes().ljust(1 << 8, b"\0")
        return np.frombuffer(bytearray(codes).translate(table), lookup.dtype)
    if codes.size <= _CACHED:
        return lookup.take(codes)
    found = np.empty(codes.size, lookup.dtype)
    # Numpy first makes 64-bit integers of the codes; in parts, these stay in the cache.
    for first in range(0, codes.size, _CACHED):
        some = slice(first, first + _CACHED)
        # No code is out of range; without "clip", numpy's check takes a third longer.
        lookup.take(codes[some], out=found[some], mode="clip")
    return found


def as_codes(codes: NDArray[Any], size: int) -> NDArray[Any]:
    """``codes`` below ``size`` in the smallest type that holds them."""
    return codes.astype(np.min_scalar_type(size), copy=False)
