"""The kind of a column: from the type that the engine stores it as, or from its texts."""

from __future__ import annotations

from contextlib import suppress
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pqd.engine.reading.buffers import numpy_of, true_in, whole
from pqd.engine.reading.text_codes import whole_numbers
from pqd.sql.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.arrow_sql import ArrowSQL

_TIMES = {"DATE", *(f"TIMESTAMP{unit}" for unit in ("", "_S", "_MS", "_NS", " WITH TIME ZONE"))}
_NUMBERS = {
    *(f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")),
    *("INTEGER", "UINTEGER", "DOUBLE", "FLOAT", "DECIMAL", "BIGNUM"),
}
# What a text must fit to be of a kind, in the order of preference.
TESTS = {
    Kind.BOOLEAN: "lower({0}) IN ('true', 'false')",
    Kind.NUMBER: "TRY_CAST({0} AS DOUBLE) IS NOT NULL",
    Kind.TIME: "TRY_CAST({0} AS TIMESTAMP) IS NOT NULL",
}
_FIRST = 2048
_FLOATS = {"float", "double"}


def kind_of(stored: str) -> Kind:
    """Kind of a DuckDB type."""
    name = stored.partition("(")[0]
    if name == "BOOLEAN":
        return Kind.BOOLEAN
    if name in _TIMES:
        return Kind.TIME
    return Kind.NUMBER if name in _NUMBERS else Kind.TEXT


def text_kinds(sql: ArrowSQL, columns: Mapping[str, pa.Array]) -> dict[str, Kind]:
    """Kind of each column of texts: the first that every value that is not NULL fits.

    The first values, of all columns at once, rule out most; only what they leave is tried on all.
    """
    every = {name: values.drop_null() for name, values in columns.items()}
    # These fit no earlier kind.
    numbers = {
        name for name, each in every.items() if len(each) and _whole_numbers(each) is not None
    }
    kinds = {name: Kind.NUMBER if name in numbers else Kind.TEXT for name in every}
    held = {name: values for name, values in every.items() if name not in numbers}
    firsts = [values[:_FIRST] for values in held.values()]
    if not sum(map(len, firsts)):
        return kinds
    fits = _fits(sql, pa.concat_arrays(firsts), list(TESTS))
    ends = np.cumsum([len(values) for values in firsts])
    for (name, values), fit in zip(held.items(), np.split(fits, ends[:-1]), strict=True):
        kinds[name] = _kind(sql, values, fit)
    return kinds


def _kind(sql: ArrowSQL, values: pa.Array, first: NDArray[np.bool_]) -> Kind:
    """Kind of ``values``, of the first of which it is known what they fit (values, kinds)."""
    if not len(values):
        return Kind.TEXT
    kinds = list(compress(TESTS, np.all(first, axis=0)))
    rest = np.all(_fits(sql, values[_FIRST:], kinds), axis=0)
    return next(compress(kinds, rest), Kind.TEXT)


def _fits(sql: ArrowSQL, values: pa.Array, kinds: Sequence[Kind]) -> NDArray[np.bool_]:
    """Whether each value fits each of ``kinds`` (values, kinds)."""
    if not len(values) or not kinds:
        return np.ones((len(values), len(kinds)), np.bool_)
    tests = [TESTS[kind].format("value") for kind in kinds]
    parts = sql.evaluated(pa.table({"value": values}), tests)
    return np.concatenate([np.column_stack([numpy_of(fit) for fit in part]) for part in parts])


def plain_numbers(values: pa.Array) -> pa.DoubleArray | None:
    """Doubles that DuckDB casts ``values`` to, null for null; None where it must be asked.

    A statement of DuckDB takes longer than all else that is done with them.
    """
    if pa.types.is_large_string(values.type):
        return _whole_numbers(values)
    if not pa.types.is_integer(values.type) and str(values.type) not in _FLOATS:
        return None
    # Of a number that no double is; the error quotes it.
    with suppress(pa.ArrowInvalid):
        numbers = values.cast(pa.float64())
        if not true_in(pc.is_nan(numbers)).any():
            return numbers
    return None


def _whole_numbers(texts: pa.LargeStringArray) -> pa.DoubleArray | None:
    """Whole numbers that texts say; None where one says something else, or what no double is."""
    numbers = whole_numbers(texts)
    if numbers is None:
        return None
    zeros = texts.filter(pc.equal(numbers, whole(0)))
    # DuckDB tells -0 from 0.
    if true_in(pc.starts_with(zeros, "-")).any():
        return None
    with suppress(pa.ArrowInvalid):
        return numbers.cast(pa.float64())
    return None
