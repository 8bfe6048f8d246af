"""SQL of typed columns: cells cast to their public kinds, without an error."""

from collections.abc import Iterable

from pqd.engine.reading.text_format import USUAL, TextFormat
from pqd.sql.schema import Kind, quote_identifier

_TYPES = {
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
}


def cast_sql(column: str, kind: Kind, text_format: TextFormat = USUAL) -> str:
    """SQL of a column cast to its public ``kind``; the cast raises no error.

    If ``text_format`` is not the usual one, the column holds texts of this format.

    A cell that does not convert is NULL, and so is NaN.  As numbers, truths are 0 and 1, even if
    they are texts: pandas turns a column of truths into objects if a cell is missing.
    """
    name = quote_identifier(column)
    if kind is Kind.TIME:
        return text_format.time_sql(name)
    number = text_format.number_sql(name) if kind is Kind.NUMBER else name
    cast = f"TRY_CAST({number} AS {_TYPES[kind]})"
    if kind is not Kind.NUMBER:
        return cast
    truth = f"CASE CAST({name} AS VARCHAR) WHEN 'true' THEN 1e0 WHEN 'false' THEN 0e0 END"
    return finite_sql(f"COALESCE({cast}, {truth})")


def finite_sql(value: str) -> str:
    """SQL of ``value`` with NULL in place of NaN; infinities are kept."""
    return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"


def mark_of(columns: Iterable[str]) -> str:
    """Prefix that no column's name has, since it is longer than every name."""
    return "_" * (1 + max(map(len, columns), default=0))
