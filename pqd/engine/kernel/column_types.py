"""The kind of a column: from the type that the engine stores it as, or from its texts."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pqd.engine.reading.buffers import numpy_of
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
    held = {name: values.drop_null() for name, values in columns.items()}
    firsts = [values[:_FIRST] for values in held.values()]
    if not sum(map(len, firsts)):
        return dict.fromkeys(held, Kind.TEXT)
    fits = _fits(sql, pa.concat_arrays(firsts), list(TESTS))
    ends = np.cumsum([len(values) for values in firsts])
    return {
        name: _kind(sql, values, fit)
        for (name, values), fit in zip(held.items(), np.split(fits, ends[:-1]), strict=True)
    }


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
