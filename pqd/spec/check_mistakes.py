"""Mistakes in the SQL and in the columns of checks, told beside the other problems of a spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from pqd.engine.tables import dry_table
from pqd.errors import PqdError, QueryError
from pqd.planning.table_separation import separate_tables
from pqd.spec.model import Source
from pqd.spec.sources import open_source
from pqd.spec.validation import Values
from pqd.sql.query import Query
from pqd.sql.schema import fold_case
from pqd.stated.column_facts import unknown_column


def check_mistakes(
    checks: Sequence[Values], private: Source | None, synthetic: Mapping[str, Source]
) -> Iterator[tuple[int, str, str]]:
    """Number of the check, key and message of each mistake in SQL and in column names.

    Only the headers of the synthetic tables are looked up.  If one is missing, or private, nothing
    is said of its columns.
    """
    headers = {name: _header(private, source) for name, source in synthetic.items()}
    for number, values in enumerate(checks):
        named = [("column", name) for name in [values.get("column")] if name]
        named += [("marginal", name) for name in values.get("marginal") or ()]
        if sql := values.get("sql"):
            try:
                names = Query(sql).mentioned
            except QueryError as error:
                yield number, "sql", str(error).splitlines()[0]
                continue
            named += [("sql", name) for name in sorted(names)]
        for header in filter(None, (headers.get(each) for each in values.get("synthetic") or ())):
            known = set(map(fold_case, header))
            for key, name in named:
                if fold_case(name) not in known:
                    yield number, key, str(unknown_column(name, header, key))


def _header(private: Source | None, source: Source) -> tuple[str, ...]:
    """Columns of a synthetic table; empty if it cannot be read, or is known as private."""
    with suppress(PqdError):
        if private is not None:
            secret = dry_table(open_source(private, "private", {}))
            return separate_tables(secret, open_source(source, "synthetic", {})).columns
    return ()
