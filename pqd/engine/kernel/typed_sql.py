"""SQL of typed columns: cells cast to their public kinds, without an error."""

from collections.abc import Iterable

from pqd.sql.schema import Kind, quote_identifier

_TYPES = {
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
}
# Floating numbers below it hold every whole one.
_EXACT = 1 << 53


def cast_sql(column: str, kind: Kind) -> str:
    """SQL of a column cast to its public ``kind``; no cast can raise.

    A cell that does not convert is NULL, and so is what is not a number (NaN).
    """
    cast = f"TRY_CAST({quote_identifier(column)} AS {_TYPES[kind]})"
    return finite_sql(cast) if kind is Kind.NUMBER else cast


def floating_text_sql(column: str) -> str:
    """SQL of the text of a floating column, in which whole numbers are written as integers are.

    Pandas makes 3.0 of every 3 in a column where one is missing: another person's row would decide
    whether a row matches '3'.
    """
    name = quote_identifier(column)
    whole = f"{name} = trunc({name}) AND abs({name}) < {_EXACT}"
    integer = f"CAST(TRY_CAST({name} AS BIGINT) AS VARCHAR)"
    return f"CASE WHEN {whole} THEN {integer} ELSE CAST({name} AS VARCHAR) END"


def finite_sql(value: str) -> str:
    """SQL that is NULL where ``value`` is not a number (NaN), infinities kept."""
    return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"


def mark_of(columns: Iterable[str]) -> str:
    """Prefix of a name that no column has: longer than any."""
    return "_" * (1 + max(map(len, columns), default=0))
