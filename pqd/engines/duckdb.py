"""The default engine: DuckDB reads and evaluates atoms, numpy combines and counts.

DuckDB is embedded and locked: it may read the given files and nothing else, cannot write, cannot
load extensions, and its settings cannot be changed.  Every column is cast to its public kind by
TRY_CAST, so a private cell that does not convert is NULL and no row can raise.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from deciders import Histogram, Lattice
from pqd.engines.bitmaps import WORD, Words, matching
from pqd.errors import RunError, TableError
from pqd.expressions import Kind, Schema
from pqd.tables import Table, identifier, missing, quoted
from pqd.workload import Measured, Task, Workload

# DuckDB vectors of 2,048 rows that one chunk holds; memory stays bounded whatever the table.
_CHUNK = 200
_LOADED = "synthetic_columns"
_TYPES = {
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
}
_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "HUGEINT")
_DECIMALS = 6
_FINEST = 2.0**50


class DuckDBEngine:
    """One locked DuckDB over the given tables."""

    def __init__(self, *tables: Table) -> None:
        """Open, register and lock; read nothing but column names."""
        self._connection = duckdb.connect(":memory:")
        paths = ", ".join(quoted(table.path) for table in tables if table.path)
        for setting in (
            "SET enable_progress_bar = false",
            "SET autoinstall_known_extensions = false",
            "SET autoload_known_extensions = false",
            "SET temp_directory = ''",
            f"SET allowed_paths = [{paths}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._connection.execute(setting)
        for table in tables:
            if table.frame is not None:
                self._register(table)

    def _register(self, table: Table) -> None:
        try:
            self._connection.register(table.relation, table.frame)
        except (duckdb.Error, TypeError, ValueError):
            # Only the type of trouble is told: the message may hold a value.
            message = f"the {table.role} frame holds columns that the engine cannot read"
            raise TableError(message) from None

    def described(self, table: Table) -> Table:
        """Return ``table`` with its column names filled in."""
        if table.columns:
            return table
        try:
            rows = self._connection.execute(f"DESCRIBE SELECT * FROM {table.relation}").fetchall()
        except duckdb.Error:
            message = f"the {table.role} table {table.label} cannot be read; is it Parquet?"
            raise TableError(message) from None
        return replace(table, columns=tuple(str(row[0]) for row in rows))

    def schema(self, table: Table, wanted: Iterable[str], given: Schema) -> Schema:
        """Load the ``wanted`` columns of the synthetic table and return the kind of every column.

        ``given`` kinds win.  A text column of a CSV is a number, boolean or time if every value
        that is not NULL reads as one.  Columns that are not wanted count as text.
        """
        lowered = {name.lower() for name in wanted}
        names = [name for name in table.columns if name.lower() in lowered]
        try:
            columns = ", ".join(map(identifier, names)) or "1"
            self._connection.execute(
                f"CREATE TEMP TABLE {_LOADED} AS SELECT {columns} FROM {table.relation}"
            )
            kinds = self._text_kinds(names) if table.textual else self._stored_kinds()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0][:200]
            raise TableError(
                f"the synthetic table {table.label} cannot be read: {reason}"
            ) from None
        return {name: given.get(name) or kinds.get(name, Kind.TEXT) for name in table.columns}

    def _stored_kinds(self) -> dict[str, Kind]:
        return {
            str(name): _kind(str(stored))
            for name, stored, *_ in self._connection.execute(f"DESCRIBE {_LOADED}").fetchall()
        }

    def _text_kinds(self, names: Sequence[str]) -> dict[str, Kind]:
        tests = {
            Kind.BOOLEAN: "lower({0}) IN ('true', 'false')",
            Kind.NUMBER: "TRY_CAST({0} AS DOUBLE) IS NOT NULL",
            Kind.TIME: "TRY_CAST({0} AS TIMESTAMP) IS NOT NULL",
        }
        if not names:
            return {}
        columns = [identifier(name) for name in names]
        sql = ", ".join(f"bool_and({test.format(c)})" for c in columns for test in tests.values())
        row = self._connection.execute(f"SELECT {sql} FROM {_LOADED}").fetchone() or ()
        verdicts = np.array(row, dtype=object).reshape(len(names), len(tests))
        return {
            name: next((kind for kind, holds in zip(tests, held, strict=True) if holds), Kind.TEXT)
            for name, held in zip(names, verdicts, strict=True)
        }

    def rows(self) -> int:
        """Count the rows of the loaded synthetic table."""
        return int(self._one(f"SELECT count(*) FROM {_LOADED}")[0])

    def profile(self, schema: Schema, columns: Iterable[str], value: str) -> Lattice | None:
        """Return the lattice that ``value`` takes in the synthetic table, None without values.

        The step is the coarsest of 1, 0.1, ... 0.000001 that all values fit, coarser for numbers
        so large that a double cannot tell such steps apart.
        """
        typed = _typed(_LOADED, schema, columns)
        whole = ", ".join(f"bool_and(round(v * 1e{d}) / 1e{d} = v)" for d in range(_DECIMALS + 1))
        row = self._one(
            f"SELECT count(v), min(v), max(v), {whole} FROM (SELECT {value} AS v FROM {typed}) "
            "WHERE isfinite(v)"
        )
        rows, low, high, *fits = row
        if not rows:
            return None
        decimals = fits.index(True) if True in fits else _DECIMALS
        while max(abs(low), abs(high)) * 10.0**decimals > _FINEST:
            decimals -= 1
        step = Fraction(10) ** -decimals
        lower, upper = Fraction(low) / step, Fraction(high) / step
        return Lattice(round(lower) * step, round(upper) * step, step)

    def _one(self, sql: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self._connection.execute(sql).fetchone() or ()
        return row

    def histograms(
        self,
        table: Table,
        schema: Schema,
        workload: Workload,
        progress: Callable[[], None] = lambda: None,
    ) -> tuple[Histogram, ...]:
        """Answer the whole workload in one scan: one histogram per task.

        ``schema`` gives the public kinds.  Histograms of counts hold their mass at value 0, those
        of distinct counts the multiplicities.

        Raises
        ------
        TableError
            If ``table`` lacks a column.
        RunError
            If the scan breaks; the message says nothing of the content.
        """
        stored = {name.lower(): name for name in table.columns}
        for name in workload.columns:
            if name.lower() not in stored:
                missing(table.role, table.label, name)
        source = _LOADED if table.role == "synthetic" else table.relation
        sql = _scan(_typed(source, schema, workload.columns), workload)
        try:
            return self._counted(sql, workload, progress)
        except duckdb.Error as error:
            # The engine's own message may hold a value of the table.
            raise RunError(
                f"the {table.role} table {table.label} could not be read to its end "
                f"({type(error).__name__}); check the file, or convert it to Parquet"
            ) from None

    def _counted(
        self, sql: str, workload: Workload, progress: Callable[[], None]
    ) -> tuple[Histogram, ...]:
        place = {atom: bit for bit, atom in enumerate(workload.atoms)}
        column = {measured: f"v{number}" for number, measured in enumerate(workload.measured)}
        words_count = -(-len(place) // WORD)
        masses = [0] * len(workload.tasks)
        parts: list[list[Histogram]] = [[] for _ in workload.tasks]
        cursor = self._connection.execute(sql)
        while len(chunk := cursor.fetch_df_chunk(_CHUNK)):
            words: Words = [chunk[f"b{number}"].to_numpy() for number in range(words_count)]
            values = {measured: chunk[name].to_numpy() for measured, name in column.items()}
            for number, task in enumerate(workload.tasks):
                rows = matching(task.predicate, place, words) if task.predicate else None
                if task.measured:
                    index = values[task.measured] if rows is None else values[task.measured][rows]
                    parts[number].append(_histogram(index[index >= 0], task.measured.lattice))
                else:
                    masses[number] += len(chunk) if rows is None else int(np.count_nonzero(rows))
            progress()
        return tuple(
            _gathered(task, part, mass)
            for task, part, mass in zip(workload.tasks, parts, masses, strict=True)
        )


def _gathered(task: Task, parts: Sequence[Histogram], mass: int) -> Histogram:
    """Return the histogram of a task from those of its chunks."""
    if task.measured is None:
        return Histogram.of_mass(mass)
    merged = Histogram.merged(parts)
    return merged if task.measured.lattice else merged.multiplicities()


def _histogram(index: NDArray[np.int64], lattice: Lattice | None) -> Histogram:
    """Return the histogram, in lattice units, of places on the lattice."""
    places = Histogram.from_values(index)
    if lattice is None:
        return places
    return Histogram(lattice.lower_units + lattice.step_units * places.values, places.counts)


def _scan(source: str, workload: Workload) -> str:
    """Return the SQL of the scan: atoms packed into words, numbers as places on their lattice."""
    outputs = []
    every = workload.atoms
    for first in range(0, len(every), WORD):
        packed = " | ".join(
            f"(COALESCE({atom.sql}, FALSE)::UBIGINT << {bit})"
            for bit, atom in enumerate(every[first : first + WORD])
        )
        outputs.append(f"{packed} AS b{first // WORD}")
    for number, measured in enumerate(workload.measured):
        outputs.append(f"{_place(measured)} AS v{number}")
    return f"SELECT {', '.join(outputs) or '1 AS one'} FROM {source}"


def _place(measured: Measured) -> str:
    """Return the SQL of the lattice place of a number: snapped, clamped, -1 for NULL.

    Without a lattice it is a hash: a map of each row by itself, so that it cannot hurt privacy;
    two of a million distinct values meet with a chance of about 10^-7.
    """
    lattice = measured.lattice
    if lattice is None:
        hashed = f"CAST(hash({measured.sql}) >> 1 AS BIGINT)"
        return f"CASE WHEN ({measured.sql}) IS NULL THEN -1 ELSE {hashed} END"
    lower, step = (f"{float(x)!r}::DOUBLE" for x in (lattice.lower, lattice.step))
    snapped = f"round(({_finite(measured.sql)} - {lower}) / {step})"
    return f"COALESCE(CAST(LEAST(GREATEST({snapped}, 0e0), {lattice.points - 1}e0) AS BIGINT), -1)"


def _finite(value: str) -> str:
    """Return SQL that is NULL where ``value`` is not a number (NaN), infinities kept."""
    return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"


def _typed(source: str, schema: Schema, columns: Iterable[str]) -> str:
    """Return SQL of ``source`` with ``columns`` cast to their public kinds; no cast can raise."""
    casts = []
    for name in columns:
        cast = f"TRY_CAST({identifier(name)} AS {_TYPES[schema[name]]})"
        casts.append(
            f"{_finite(cast) if schema[name] is Kind.NUMBER else cast} AS {identifier(name)}"
        )
    return f"(SELECT {', '.join(casts) or '1 AS one'} FROM {source})"


def _kind(stored: str) -> Kind:
    """Return the kind of a DuckDB type."""
    if stored == "BOOLEAN":
        return Kind.BOOLEAN
    if stored.startswith(("TIMESTAMP", "DATE")):
        return Kind.TIME
    if any(mark in stored for mark in _NUMBERS) and not stored.endswith("]"):
        return Kind.NUMBER
    return Kind.TEXT
