"""The kind of a column: from the type that the engine stores it as, or from its texts."""

from pqd.sql.schema import Kind

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


def kind_of(stored: str) -> Kind:
    """Kind of a DuckDB type."""
    name = stored.partition("(")[0]
    if name == "BOOLEAN":
        return Kind.BOOLEAN
    if name in _TIMES:
        return Kind.TIME
    return Kind.NUMBER if name in _NUMBERS else Kind.TEXT
