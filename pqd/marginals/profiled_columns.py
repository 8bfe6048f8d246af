"""Profiled columns: columns that are judged, and the reasons why another column is not.

Every column of the copies has its place here, and every column of the private table whose name may
be told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pqd.deciders.names import pasted
from pqd.deciders.options import option
from pqd.engine.marginals import ValueCounts
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table
from pqd.errors import TableError, for_all
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.standings import Standing
from pqd.sql.schema import Kind, Schema, differs_by_blanks, fold_case
from pqd.stated.column_facts import unknown_column

# Reasons why a column is left out.
_WITHOUT_CELLS = "the table that gives the cells has no such column"
NOT_PRIVATE = "the private table has no such column"
BY_BLANKS = "; the names differ only by blanks"
# A column with at most this number of distinct values is neither free text nor an identifier.
MOST_DISTINCT = 100


class ColumnChoice(NamedTuple):
    """Choice of columns: the judged columns, the columns left out, and the flaws of each copy.

    ``flaws`` has, for each copy, the judged columns that this copy lacks or has turned into
    identifiers.
    """

    judged: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    flaws: tuple[tuple[LeftOut, ...], ...]


def candidate_columns(
    tables: SyntheticTables, request: ProfileRequest, unit: PrivacyUnit | None
) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Columns that may be judged, in the order of the tables, and the columns left out.

    Only headers are read.  A column may be judged if the private table has it, and a copy has it;
    with ``cells_from`` that table too must have it.

    Raises
    ------
    TableError, ParameterError
        If the private table or every copy lacks a wanted column, or a wanted column is the column
        of the privacy unit.
    """
    if request.named is not None:
        return _wanted_columns(tables, request.named, unit), ()
    names: list[str] = []
    left_out: list[LeftOut] = []
    for name in tables.all_columns:
        if absence := _absence(tables, request, unit, name):
            left_out.append(LeftOut(columns=(name,), reason=absence[1], standing=absence[0]))
        else:
            names.append(name)
    reason = "the copy lacks it" if len(tables.copies) == 1 else "every copy lacks it"
    missing = [
        LeftOut(columns=(name,), reason=reason, standing=Standing.MISSING)
        for name in _private_alone(tables)
        if not _is_unit(name, unit) and request.judges(name) is not False
    ]
    return tuple(names), (*left_out, *missing)


def _absence(
    tables: SyntheticTables, request: ProfileRequest, unit: PrivacyUnit | None, name: str
) -> tuple[Standing, str] | None:
    """Standing and reason of a column that is left out by its name alone; None if it is not."""
    if _is_unit(name, unit):
        return Standing.SET_ASIDE, f"it names the person ({option('--unit')})"
    if request.judges(name) is False:
        return Standing.SET_ASIDE, request.set_aside(name)
    if tables.private and not _has(tables.private, name):
        hint = BY_BLANKS if differs_by_blanks(name, tables.private.columns) else ""
        return Standing.COPY_ALONE, f"{NOT_PRIVATE}{hint}"
    if tables.cells_from and not _has(tables.cells_from, name):
        return Standing.NOT_JUDGED, _WITHOUT_CELLS
    return None


def _private_alone(tables: SyntheticTables) -> Iterator[str]:
    """Names of private columns that no copy has, where they may be told.

    Guarantee: neighbouring tables share one schema, so a catalogue or a footer tells nothing of a
    row.  The first line of a file may be a row itself.  So its names are told only if it has all
    columns of a copy (docs/limitations.md).
    """
    private = tables.private
    if private is None:
        return
    whole = any(all(_has(private, n) for n in table.columns) for table in tables.tables)
    if private.source.catalogued or whole:
        known = set(map(fold_case, tables.all_columns))
        yield from (name for name in private.columns if fold_case(name) not in known)


def _wanted_columns(
    tables: SyntheticTables, wanted: Sequence[str], unit: PrivacyUnit | None
) -> tuple[str, ...]:
    folded = [fold_case(name) for name in wanted]

    measured = tables.all_columns if tables.cells_from is None else tables.cells_from.columns

    def check(name: str) -> None:
        if fold_case(name) not in map(fold_case, measured):
            raise unknown_column(name, measured, "columns")
        if _is_unit(name, unit):
            raise TableError(
                f'the column "{name}" is that of the privacy unit: it names people, and has no '
                "distribution to compare; leave it out of the columns"
            )

    for_all(check, wanted)
    names = tuple(name for name in measured if fold_case(name) in folded)
    if tables.private is not None:
        tables.engine.check(tables.private, names)
    return names


def _has(table: Table, name: str) -> bool:
    return fold_case(name) in map(fold_case, table.columns)


def _is_unit(name: str, unit: PrivacyUnit | None) -> bool:
    return unit is not None and fold_case(unit.column) == fold_case(name)


def choose_columns(
    tables: SyntheticTables,
    schema: Schema,
    request: ProfileRequest,
    unit: PrivacyUnit | None = None,
) -> ColumnChoice:
    """Judged columns in the order of the tables, with the columns left out and the copies' flaws.

    Free text and identifiers are left out if no copy can be judged on them.  If one copy can, all
    copies are judged, and the others have a flaw.  Wanted columns are judged whatever they hold.
    ``schema`` is the schema of the loaded copies.

    Raises
    ------
    TableError, ParameterError
        As ``candidate_columns``.
    """
    candidates, left_out = candidate_columns(tables, request, unit)
    if request.named is not None:
        lacking = [
            tuple(_lacking(table, name) for name in candidates if not _has(table, name))
            for _, table in tables.copies
        ]
        return ColumnChoice(candidates, left_out, tuple(lacking))
    flaws = {name: _flaws(tables, schema, request, name) for name in candidates}
    unfit = {name: known for name in candidates if (known := _unfit(flaws[name]))}
    if tables.cells_from is not None:
        unfit = {
            name: reason
            for name in candidates
            if not request.judges(name)
            and (reason := _unique_reason(tables.engine, tables.cells_from, schema, name))
        }
    others = [
        LeftOut(
            columns=(name,),
            reason=f"{reason}; judge it with {option(f'--columns {pasted(name)}')}",
            standing=Standing.NOT_JUDGED,
        )
        for name, reason in unfit.items()
    ]
    places = {name: place for place, name in enumerate(tables.all_columns)}
    every = sorted((*left_out, *others), key=lambda each: places.get(each.columns[0], len(places)))
    judged = tuple(name for name in candidates if name not in unfit)
    of_copies = tuple(
        tuple(flaw for name in judged if (flaw := flaws[name][place]))
        for place, _ in enumerate(tables.copies)
    )
    return ColumnChoice(judged, tuple(every), of_copies)


def _unfit(flaws: Sequence[LeftOut | None]) -> str:
    """Reason why no copy can be judged on a column; empty if one can."""
    if not all(flaws):
        return ""
    unique = (each for each in flaws if each and each.standing is Standing.NOT_JUDGED)
    return next((each.reason for each in unique), "")


def _lacking(table: Table, name: str) -> LeftOut:
    """Flaw of a copy that lacks a column."""
    return LeftOut(columns=(name,), reason=f"{table.label} lacks it", standing=Standing.MISSING)


def _flaws(
    tables: SyntheticTables, schema: Schema, request: ProfileRequest, name: str
) -> tuple[LeftOut | None, ...]:
    """Flaw of a column in each copy: it is missing, or looks like an identifier; else None."""
    flaws: list[LeftOut | None] = []
    for engine, table in tables.copies:
        if not _has(table, name):
            flaws.append(_lacking(table, name))
            continue
        where = replace(table, label="the copy") if len(tables.copies) == 1 else table
        reason = "" if request.judges(name) else _unique_reason(engine, where, schema, name)
        flaw = LeftOut(columns=(name,), reason=reason, standing=Standing.NOT_JUDGED)
        flaws.append(flaw if reason else None)
    return tuple(flaws)


def _unique_reason(engine: SyntheticTable, table: Table, schema: Schema, name: str) -> str:
    """Reason why a column is free text or an identifier in a table; empty if it is neither.

    Only rows with a value count: a note that most rows lack is free text all the same.
    """
    kind, summary = schema[name], engine.value_counts(schema, name)
    if not looks_unique(kind, summary):
        return ""
    what = "an identifier or free text" if kind is Kind.TEXT else "an identifier"
    filled = summary.rows - summary.nulls
    return f"looks like {what} in {table.label} ({summary.distinct:,} values in {filled:,} rows)"


def looks_unique(kind: Kind, summary: ValueCounts) -> bool:
    """Whether the values of a column look like identifiers or free text: few of them repeat."""
    filled = summary.rows - summary.nulls
    if summary.distinct <= MOST_DISTINCT:
        return False
    if kind is Kind.TEXT:
        return 2 * summary.distinct > filled
    return kind is Kind.NUMBER and summary.distinct == filled and are_whole(summary)


def are_whole(summary: ValueCounts) -> bool:
    """Whether all numbers of a column are whole."""
    return bool(np.all(summary.values == np.rint(summary.values)))


def coarse_columns(
    sizes: Mapping[str, Sequence[int]], flaws: Sequence[Collection[str]]
) -> dict[int, tuple[str, ...]]:
    """Columns in which a copy has fewer than half the cells of another copy, by the copy's place.

    ``sizes`` has the number of cells of each column in each copy.  ``flaws`` has the columns that
    each copy lacks or turned into identifiers; their cells count for nothing.
    """
    coarse: dict[int, list[str]] = {}
    for name, numbers in sizes.items():
        sound = [place for place, names in enumerate(flaws) if name not in names]
        most = max((numbers[place] for place in sound), default=0)
        for place in sound:
            if 2 * numbers[place] < most:
                coarse.setdefault(place, []).append(name)
    return {place: tuple(names) for place, names in coarse.items()}
