"""The kind of a column: from the type that the engine stores it as, or from its texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.sql.schema import Kind

if TYPE_CHECKING:
    import pyarrow as pa

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


def text_kind(sql: ArrowSQL, values: pa.Array) -> Kind:
    """Kind of a column of text: the first that every value that is not NULL fits.

    The first values rule out most; only what they leave is tried on all.
    """
    held = values.drop_null()
    kinds = list(TESTS) if len(held) else []
    for part in (held.slice(0, _FIRST), held.slice(_FIRST)):
        kinds = [kind for kind in kinds if _fits(sql, part, kind)]
    return kinds[0] if kinds else Kind.TEXT


def _fits(sql: ArrowSQL, values: pa.Array, kind: Kind) -> bool:
    outcomes = sql.of_values(values, TESTS[kind].format("value"))
    return all(outcome.false_count == 0 for outcome in outcomes.chunks)
