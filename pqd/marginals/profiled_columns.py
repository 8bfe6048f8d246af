"""Profiled columns: columns of the copy that are compared, and reasons to leave a column out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pqd.engine.marginals import ValueCounts
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table
from pqd.errors import TableError
from pqd.reports.models.profile import LeftOut
from pqd.sql.schema import Kind, Schema, fold_case
from pqd.stated.column_facts import unknown_column

# Reasons why a column is left out.
_OF_UNIT = "it names the person (--unit)"
NOT_PRIVATE = "the private table has no such column"
# A column with at most this number of distinct values is neither free text nor an identifier.
MOST_DISTINCT = 100


def shared_columns(
    tables: SyntheticTables, wanted: Sequence[str] | None, unit: PrivacyUnit | None
) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Columns that every table has, in the order of the first copy, and the columns left out.

    Only the headers are read.  ``wanted`` names the columns to profile; None means all.

    Raises
    ------
    TableError, ParameterError
        If a table lacks a wanted column, or a wanted column is the column of the privacy unit.
    """
    if wanted is not None:
        return _wanted_columns(tables, wanted, unit), ()
    others = [*tables.tables[1:], *([tables.private] if tables.private else [])]
    names: list[str] = []
    left_out: list[LeftOut] = []
    for name in tables.columns:
        reason = _OF_UNIT if _is_unit(name, unit) else _lacking(name, others)
        if reason:
            left_out.append(LeftOut(columns=(name,), reason=reason))
        else:
            names.append(name)
    return tuple(names), tuple(left_out)


def _wanted_columns(
    tables: SyntheticTables, wanted: Sequence[str], unit: PrivacyUnit | None
) -> tuple[str, ...]:
    folded = [fold_case(name) for name in wanted]
    for name in wanted:
        if not _has(tables.tables[0], name):
            raise unknown_column(name, tables.columns, "columns")
        if _is_unit(name, unit):
            raise TableError(
                f'the column "{name}" is that of the privacy unit: it names people, and has no '
                "distribution to compare; leave it out of the columns"
            )
    names = tuple(name for name in tables.columns if fold_case(name) in folded)
    tables.check(names)
    return names


def _lacking(name: str, others: Iterable[Table]) -> str | None:
    """Reason that names a table without the column; None if all tables have the column."""
    for table in others:
        if not _has(table, name):
            return NOT_PRIVATE if table.role == "private" else f"{table.label} has no such column"
    return None


def _has(table: Table, name: str) -> bool:
    return fold_case(name) in map(fold_case, table.columns)


def _is_unit(name: str, unit: PrivacyUnit | None) -> bool:
    return unit is not None and fold_case(unit.column) == fold_case(name)


def profiled_columns(
    tables: SyntheticTables,
    schema: Schema,
    wanted: Sequence[str] | None,
    unit: PrivacyUnit | None = None,
) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Profiled columns in the order of the first copy, and the columns left out with a reason.

    Free text, identifiers and the column of the unit are left out.  ``wanted`` columns are
    profiled even if they hold free text or identifiers.  ``schema`` is the schema of the loaded
    copies.

    Raises
    ------
    TableError, ParameterError
        As ``shared_columns``.
    """
    shared, left_out = shared_columns(tables, wanted, unit)
    if wanted is not None:
        return shared, left_out
    unique = {name: _unique_reason(tables, schema, name) for name in shared}
    unfit = [LeftOut(columns=(name,), reason=reason) for name, reason in unique.items() if reason]
    places = {name: place for place, name in enumerate(tables.columns)}
    every = sorted((*left_out, *unfit), key=lambda each: places[each.columns[0]])
    return tuple(name for name in shared if not unique[name]), tuple(every)


def _unique_reason(tables: SyntheticTables, schema: Schema, name: str) -> str | None:
    """Reason why a column is free text or an identifier in some copy; None if it is neither."""
    kind = schema[name]
    if kind not in {Kind.TEXT, Kind.NUMBER}:
        return None
    for summary in tables.value_counts(schema, name):
        if summary.distinct <= MOST_DISTINCT:
            continue
        if kind is Kind.TEXT and 2 * summary.distinct > summary.rows:
            return (
                f"its texts are nearly unique ({summary.distinct:,} different ones in "
                f"{summary.rows:,} rows of the copy), as free text and identifiers are; name it in "
                "--columns to profile it all the same"
            )
        if kind is Kind.NUMBER and _is_identifier(summary):
            return (
                f"it holds {summary.distinct:,} whole numbers, no two alike, as an identifier "
                "does; name it in --columns to profile it all the same"
            )
    return None


def _is_identifier(summary: ValueCounts) -> bool:
    """Whether all numbers are whole and different."""
    return summary.distinct == summary.rows - summary.nulls and bool(
        np.all(summary.values == np.rint(summary.values))
    )
