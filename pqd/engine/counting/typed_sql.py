"""SQL of typed columns: cells cast to their public kinds, without an error."""

from collections.abc import Iterable

from pqd.sql.schema import Kind, quote_identifier

_TYPES = {
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
}


def cast_sql(column: str, kind: Kind) -> str:
    """SQL of a column cast to its public ``kind``; no cast can raise.

    A cell that does not convert is NULL, and so is what is not a number (NaN).  Truths are 0 and 1,
    also as texts: pandas makes such a column of objects where one is missing.
    """
    name = quote_identifier(column)
    cast = f"TRY_CAST({name} AS {_TYPES[kind]})"
    if kind is not Kind.NUMBER:
        return cast
    truth = f"CASE CAST({name} AS VARCHAR) WHEN 'true' THEN 1e0 WHEN 'false' THEN 0e0 END"
    return finite_sql(f"COALESCE({cast}, {truth})")


def finite_sql(value: str) -> str:
    """SQL that is NULL where ``value`` is not a number (NaN), infinities kept."""
    return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"


def mark_of(columns: Iterable[str]) -> str:
    """Prefix of a name that no column has: longer than any."""
    return "_" * (1 + max(map(len, columns), default=0))
