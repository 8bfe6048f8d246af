"""Common type of a column whose parts have several types.

A program guesses types from the rows of one part.  So the type of another part must not change what
a cell means: truths do not become numbers, and times do not become nanoseconds, which cannot hold
all years.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pt

from pqd.engine.reading.values import texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Doubles hold every whole number of at most this many bits.
_EXACT_BITS = 53


def common_type(types: Iterable[pa.DataType]) -> pa.DataType:
    """Type that holds all values of ``types`` unchanged; text if no other type does."""
    known = {each for each in types if not pt.is_null(each)}
    if len(known) == 1:
        return known.pop()
    return _number(known) or _moment(known) or _unified(known) or pa.large_string()


def _number(known: set[pa.DataType]) -> pa.DataType | None:
    """Type of doubles, if some types are floating and doubles hold the values of all types."""
    exact = {each for each in known if pt.is_integer(each) and each.bit_width < _EXACT_BITS} | set(
        filter(pt.is_floating, known)
    )
    return pa.float64() if exact == known and any(map(pt.is_floating, known)) else None


def _moment(known: set[pa.DataType]) -> pa.DataType | None:
    """Type of microseconds for times or spans, since they hold more years than nanoseconds."""
    if _all(known, pt.is_timestamp) and len({each.tz for each in known}) == 1:
        return pa.timestamp("us", next(iter(known)).tz)
    return pa.duration("us") if _all(known, pt.is_duration) else None


def _unified(known: set[pa.DataType]) -> pa.DataType | None:
    """Widest type, if all types are integers, decimals, times of day, or bytes."""
    if not any(_all(known, one) for one in (pt.is_integer, pt.is_decimal, pt.is_time, _is_binary)):
        return None
    if pa.uint64() in known and any(map(pt.is_signed_integer, known)):
        # Arrow would unify them to int64, which does not hold all their values.
        return None
    schemas = [pa.schema([("", each)]) for each in known]
    kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    # The engine has no decimals of 256 bits.
    return None if pt.is_decimal256(kind) else kind


def as_type(cells: pa.DictionaryArray, kind: pa.DataType) -> pa.DictionaryArray:
    """Cells whose values are converted to ``kind``, a common type of theirs."""
    held = cells.dictionary
    if held.type == kind:
        return cells
    if held.null_count == len(held):
        held = pa.nulls(len(held), kind)
    elif pt.is_large_string(kind):
        held = texts_of(held)
    else:
        held = held.cast(kind, safe=False)
    return pa.DictionaryArray.from_arrays(cells.indices, held)


def _all(types: set[pa.DataType], one: Callable[[pa.DataType], Any]) -> bool:
    return bool(types) and all(map(one, types))


def _is_binary(kind: pa.DataType) -> bool:
    return kind in (pa.binary(), pa.large_binary())
