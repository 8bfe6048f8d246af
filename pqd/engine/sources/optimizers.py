"""Optimizers of DuckDB by which other rows, or the file's format, sway what a row counts.

Statistics fold isnan() for a whole row group; a TRY_CAST pushed into the CSV reader drops the rows
that do not convert.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.sql.schema import quote_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MEDDLING = {
    *("statistics_propagation", "type_pushdown", "scalar_fn_pushdown", "filter_pushdown"),
    *("row_group_pruner", "late_materialization", "compressed_materialization", "extension"),
}


def without_meddling(connection: DuckDBPyConnection) -> str:
    """Setting that switches them off; which ones exist differs from release to release."""
    rows = connection.execute("SELECT * FROM duckdb_optimizers()").fetchall()
    names = sorted(_MEDDLING & {str(row[0]) for row in rows})
    return f"SET disabled_optimizers = {quote_literal(','.join(names))}"
