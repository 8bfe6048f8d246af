"""SQL of a whole table with its columns cast to their kinds, for twins that go row by row."""

from collections.abc import Mapping, Sequence

from pqd.engine.counting.typed_sql import cast_sql
from pqd.sql.schema import Schema, quote_identifier


def typed_sql(
    source: str, schema: Schema, columns: Mapping[str, str], beside: Sequence[str] = ()
) -> str:
    """SQL of ``source`` with columns cast to their public kinds.

    ``columns`` gives, for each public name, the name that ``source`` stores it under; ``beside``
    are further outputs.
    """
    casts = [
        f"{cast_sql(stored, schema[name])} AS {quote_identifier(name)}"
        for name, stored in columns.items()
    ]
    return f"(SELECT {', '.join([*beside, *casts]) or '1 AS one'} FROM {source})"
