"""The default engine: DuckDB reads and evaluates atoms, numpy combines and counts.

DuckDB is embedded and locked: it may read the given files and nothing else, cannot write, cannot
load extensions, and its settings cannot be changed.  Every column is cast to its public kind by
TRY_CAST, so a private cell that does not convert is NULL and no row can raise.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import numpy as np

from deciders import Histogram, Lattice
from pqd.engine.bitmaps import WORD, Words, matching
from pqd.engine.column_types import TESTS, kind_of
from pqd.engine.contingency import ContingencyTable, contingency_sql, joined, keys_of, listed
from pqd.engine.histograms import Chunk, builder_of
from pqd.engine.marginals import (
    MarginalCounts,
    MarginalPlan,
    Tally,
    ValueCounts,
    cells_sql,
    coded,
    text_frame,
    value_counts_of,
)
from pqd.engine.partitions import Partition, number_sql
from pqd.engine.reading.frames import loosely_typed, numbered, readable
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan, TablePlan
from pqd.engine.scan_sql import (
    KEPT,
    PERSON,
    content_hash,
    content_sql,
    mark_of,
    people_sql,
    predicate_sql,
    scan_sql,
    typed_sql,
)
from pqd.engine.tables import Table, literal_path, missing
from pqd.errors import QueryError, RunError, TableError
from pqd.interrupts import heeded
from pqd.sql.query import BoundExpression
from pqd.sql.schema import Kind, Schema, fold_case, quote_identifier, quote_literal

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

# DuckDB vectors of 2,048 rows that one chunk holds; memory stays bounded whatever the table.
_CHUNK = 200
_LOADED = "synthetic_columns"
_FIRST_ROWS = 2048
_DECIMALS = 6
_MEDDLING = {
    *("statistics_propagation", "type_pushdown", "scalar_fn_pushdown", "filter_pushdown"),
    *("row_group_pruner", "late_materialization", "compressed_materialization", "extension"),
}
_FINEST = 2.0**50
_CSV = "; give it rows as long as the header, cells in UTF-8, and line ends of one kind"
# What is gathered from a scan: histograms, or cells.
Gathered = TypeVar("Gathered")
Plan = TypeVar("Plan", bound=TablePlan)


class DuckDBEngine:
    """One locked DuckDB over the given tables."""

    def __init__(self, *tables: Table) -> None:
        """Open, register and lock; read nothing but column names."""
        self._connection = duckdb.connect(":memory:")
        self._value_counts: dict[tuple[str, Kind], ValueCounts] = {}
        self._cell_tables: dict[Partition, str] = {}
        # A path may be a pattern to DuckDB, so it is let through as such too; it matches one file.
        names = {name for t in tables if t.path for name in (str(t.path), literal_path(t.path))}
        paths = ", ".join(map(quote_literal, sorted(names)))
        for setting in (
            *self._without_bar(),
            "SET autoinstall_known_extensions = false",
            "SET autoload_known_extensions = false",
            "SET temp_directory = ''",
            "SET TimeZone = 'UTC'",
            f"SET disabled_optimizers = {quote_literal(','.join(self._meddling()))}",
            f"SET allowed_paths = [{paths}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._execute(setting)

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        with heeded():
            return self._connection.execute(sql)

    def _chunks(self, sql: str) -> "Iterator[pd.DataFrame]":
        cursor = self._execute(sql)
        while True:
            with heeded():
                frame = cursor.fetch_df_chunk(_CHUNK)
            if not len(frame):
                return
            yield frame

    def _without_bar(self) -> list[str]:
        """Settings that hide DuckDB's progress bar: in Jupyter none where it cannot show."""
        (bar,) = self._one("SELECT current_setting('enable_progress_bar')")
        return ["SET enable_progress_bar = false"] if bar else []

    def _meddling(self) -> list[str]:
        """Optimizers by which other rows, or the file's format, sway what a row counts.

        Statistics fold isnan() for a whole row group; a TRY_CAST pushed into the CSV reader drops
        the rows that do not convert.  Which ones exist differs from release to release.
        """
        rows = self._execute("SELECT * FROM duckdb_optimizers()").fetchall()
        return sorted(_MEDDLING & {str(row[0]) for row in rows})

    def _register(
        self, table: Table, names: Sequence[str], used: Sequence[str] | None = None
    ) -> None:
        """Make the columns ``names`` of a frame known to DuckDB; see ``readable``."""
        if table.frame is None:
            return
        registered = False
        # A second try on a copy: the engine does not read every layout of a frame.
        for again in (False, True):
            with suppress(duckdb.Error, TypeError, ValueError, OverflowError), heeded():
                columns = readable(table.frame, names, used=used, afresh=again)
                self._connection.register(table.relation, columns)
                registered = True
                break
        # Raised outside the handler, since the first error may hold a value of the frame.
        if not registered:
            raise TableError(f"the {table.role} frame holds columns that the engine cannot read")

    def described(self, table: Table) -> Table:
        """``table`` with its column names filled in."""
        if table.columns:
            return table
        rows = self._attempted(f"DESCRIBE SELECT * FROM {table.relation}")
        if rows is None:
            raise TableError(
                f"the {table.role} table {table.label} is not Parquet, or broken; write it anew"
            )
        return replace(table, columns=tuple(str(row[0]) for row in rows))

    def _attempted(self, sql: str) -> list[tuple[Any, ...]] | None:
        """All rows, None if the engine fails; its message may hold a private value."""
        with suppress(duckdb.Error):
            rows: list[tuple[Any, ...]] = self._execute(sql).fetchall()
            return rows
        return None

    def schema(self, table: Table, wanted: Iterable[str], stated: Schema) -> Schema:
        """Load the ``wanted`` columns of the synthetic table and return the kind of every column.

        ``stated`` kinds win.  A text column of a CSV is a number, boolean or time if every value
        that is not NULL reads as one.  Columns that are not wanted count as text.
        """
        lowered = {fold_case(name) for name in wanted}
        names = [name for name in table.columns if fold_case(name) in lowered]
        self._loaded = tuple(names)
        self._register(table, names)
        loose = names if table.textual else loosely_typed(table.frame, names)
        try:
            columns = ", ".join(map(quote_identifier, names)) or "1"
            self._execute(f"CREATE TEMP TABLE {_LOADED} AS SELECT {columns} FROM {table.relation}")
            kinds = {**self._stored_kinds(), **self._text_kinds(loose)}
        except duckdb.Error as error:
            reason = str(error).splitlines()[0][:200]
            hint = _CSV if table.textual else ""
            raise TableError(
                f"the synthetic table {table.label} cannot be read: {reason}{hint}"
            ) from None
        return {name: stated.get(name) or kinds.get(name, Kind.TEXT) for name in table.columns}

    def _stored_kinds(self) -> dict[str, Kind]:
        return {
            str(name): kind_of(str(stored))
            for name, stored, *_ in self._execute(f"DESCRIBE {_LOADED}").fetchall()
        }

    def _text_kinds(self, names: Sequence[str]) -> dict[str, Kind]:
        """Kind of columns of text: the first that every value that is not NULL fits.

        The first rows rule out most; only what they leave is tried on the whole table.
        """
        open_pairs = [(name, kind) for name in names for kind in TESTS]
        for source in (f"(SELECT * FROM {_LOADED} LIMIT {_FIRST_ROWS})", _LOADED):
            if not open_pairs:
                break
            outputs = ", ".join(
                f"bool_and({TESTS[kind].format(quote_identifier(name))}) "
                f"FILTER ({quote_identifier(name)} IS NOT NULL)"
                for name, kind in open_pairs
            )
            outcomes = self._one(f"SELECT {outputs} FROM {source}")
            # NULL says that there is no value yet, which on the whole table means text.
            refuted = {False} if source != _LOADED else {False, None}
            open_pairs = [
                pair for pair, fits in zip(open_pairs, outcomes, strict=True) if fits not in refuted
            ]
        kinds = dict.fromkeys(names, Kind.TEXT)
        kinds.update(reversed(open_pairs))
        return kinds

    def loaded(self) -> "pd.DataFrame":
        """Loaded columns of the synthetic table."""
        frame: pd.DataFrame = self._execute(f"SELECT * FROM {_LOADED}").df()
        return frame

    def rows(self) -> int:
        """Count the rows of the loaded synthetic table."""
        return int(self._one(f"SELECT count(*) FROM {_LOADED}")[0])

    def profile(
        self,
        schema: Schema,
        columns: Collection[str],
        value: str,
        totalled: PrivacyUnit | None = None,
    ) -> Lattice | None:
        """Lattice that ``value`` takes in the synthetic table, None without values.

        With ``totalled`` it holds each person's total too, over all rows.

        The step is the coarsest of 1, 0.1, ... 0.000001 that all values fit, coarser for numbers
        so large that a double cannot tell such steps apart.
        """
        person = self._person(totalled) if totalled else None
        mark = mark_of(columns)
        beside = [f"{quote_identifier(person)} AS {mark}u"] if person else []
        typed = typed_sql(_LOADED, schema, {name: name for name in columns}, beside)
        whole = ", ".join(f"bool_and(round(v * 1e{d}) / 1e{d} = v)" for d in range(_DECIMALS + 1))
        row = self._one(
            f"SELECT count(v), min(v), max(v), {whole} FROM (SELECT {value} AS v FROM {typed}) "
            "WHERE isfinite(v)"
        )
        rows, low, high, *fits = row
        if not rows:
            return None
        if person:
            sums = f"SELECT sum(v) AS s FROM (SELECT {value} AS v, {mark}u AS p FROM {typed})"
            least, most = self._one(
                f"SELECT min(s), max(s) FROM ({sums} WHERE isfinite(v) GROUP BY p)"
            )
            low, high = min(low, least), max(high, most)
        decimals = fits.index(True) if True in fits else _DECIMALS
        while max(abs(low), abs(high)) * 10.0**decimals > _FINEST:
            decimals -= 1
        step = Fraction(10) ** -decimals
        lower, upper = Fraction(low) / step, Fraction(high) / step
        return Lattice(round(lower) * step, round(upper) * step, step)

    def _person(self, unit: PrivacyUnit) -> str | None:
        """Unit's column in the synthetic table, None if it has none."""
        return next(
            (name for name in self._loaded if fold_case(name) == fold_case(unit.column)), None
        )

    def _one(self, sql: str) -> tuple[Any, ...]:
        # All rows are fetched: an unfinished result would block the next use of the connection.
        rows: list[tuple[Any, ...]] = self._execute(sql).fetchall()
        return rows[0]

    def groups(
        self, schema: Schema, columns: Sequence[str], resolved: BoundExpression, most: int
    ) -> list[tuple[Any, ...]]:
        """Distinct values of ``columns`` on synthetic rows that match, ``most`` at most.

        They ascend, NULL last.
        """
        typed = typed_sql(_LOADED, schema, {name: name for name in {*columns, *resolved.columns}})
        names = ", ".join(map(quote_identifier, columns))
        where = predicate_sql(resolved.where) if resolved.where else "TRUE"
        sql = f"SELECT DISTINCT {names} FROM {typed} WHERE {where} ORDER BY ALL LIMIT {most}"
        rows: list[tuple[Any, ...]] = self._execute(sql).fetchall()
        return rows

    def content(
        self, table: Table, key: bytes, most: int | None = None, *, loosely: bool = False
    ) -> str:
        """Keyed hash of all that ``table`` holds, whatever its name and row order.

        Of its first ``most`` columns by name; ``loosely`` whatever the type of its cells too.

        Raises
        ------
        RunError
            If the scan breaks; the message says nothing of the content.
        """
        names = sorted(table.columns, key=fold_case)[:most]
        self._register(table, names, used=())
        rows = self._attempted(content_sql(table.relation, names, key, loosely=loosely))
        if rows is None:
            raise _unreadable(table)
        return json.dumps([[fold_case(name) for name in names], *map(str, rows[0])])

    def check(self, table: Table, columns: Iterable[str]) -> None:
        """Raise TableError if ``table`` lacks one of ``columns``."""
        stored = {fold_case(name) for name in table.columns}
        for name in columns:
            if fold_case(name) not in stored:
                missing(table, name)

    def histograms(
        self,
        table: Table,
        schema: Schema,
        workload: ScanPlan,
    ) -> tuple[Histogram, ...]:
        """Answer the whole workload in one scan: one histogram per statistic.

        ``schema`` gives the public kinds.  Histograms of counts hold their mass at value 0, those
        of distinct counts the multiplicities.

        Raises
        ------
        TableError
            If ``table`` lacks a column.
        RunError
            If the scan breaks; the message says nothing of the content.
        """
        return self._scanned(table, schema, workload, _scan_sql(workload), self._counted)

    def contingency(self, table: Table, schema: Schema, workload: ScanPlan) -> ContingencyTable:
        """Contingency table: rows with each combination of atoms and lattice place, in one scan.

        Of one number at most, and where one row is one person.

        Raises
        ------
        TableError, RunError
            As ``histograms``.
        """
        return self._scanned(table, schema, workload, _scan_sql(workload), self._gathered)

    def marginals(self, table: Table, schema: Schema, plan: MarginalPlan) -> MarginalCounts:
        """Rows in each cell of every marginal of ``plan``, in one scan.

        ``schema`` gives the public kinds.

        Raises
        ------
        TableError, RunError
            As ``histograms``.
        """
        names = self._text_cells(plan.partitions)
        unit_rows = plan.unit.max_rows if plan.unit else 0

        def sql(source: str) -> str:
            return cells_sql(source, plan.partitions, names, unit_rows)

        return self._scanned(table, schema, plan, sql, self._tallied)

    def codes(self, schema: Schema, partitions: Sequence[Partition]) -> "NDArray[np.int64]":
        """Cell of each row of the loaded synthetic table in each of ``partitions``, in its order.

        Of shape (rows, partitions).
        """
        columns = {partition.column: partition.column for partition in partitions}
        place = f"{mark_of(columns)}n"
        typed = typed_sql(_LOADED, schema, columns, [f"row_number() OVER () AS {place}"])
        sql = cells_sql(typed, partitions, self._text_cells(partitions), 0, [place])
        frame = self._execute(sql).df()
        # A join may change the order of the rows.
        if not frame[place].is_monotonic_increasing:
            frame = frame.sort_values(place)
        codes = coded(frame, partitions)
        return np.column_stack([codes[partition] for partition in partitions])

    def value_counts(self, schema: Schema, column: str, most: int | None = None) -> ValueCounts:
        """Distinct values of a column of the loaded synthetic table, and the rows with each.

        The values are left out if there are more than ``most``.
        """
        known = self._value_counts.get((column, schema[column]))
        if known is None or (not len(known.values) and known.distinct and most is None):
            typed = typed_sql(_LOADED, schema, {column: column})
            value = number_sql(column, schema[column])
            self._execute(
                f"CREATE OR REPLACE TEMP TABLE value_counts AS SELECT value, count(*) AS rows FROM "
                f"(SELECT {value} AS value FROM {typed}) GROUP BY value"
            )
            distinct, rows, nulls = self._one(
                "SELECT count(value), sum(rows), coalesce(sum(rows) FILTER (value IS NULL), 0) "
                "FROM value_counts"
            )
            few = most is None or distinct <= most
            where = "value IS NOT NULL" if few else "FALSE"
            frame = self._execute(f"SELECT * FROM value_counts WHERE {where}").df()
            known = value_counts_of(frame, int(distinct), int(nulls), int(rows))
            self._value_counts[column, schema[column]] = known
        return known

    def _text_cells(self, partitions: Sequence[Partition]) -> dict[Partition, str]:
        """Names of the tables in which the texts of ``partitions`` have their cells, made once."""
        for partition in partitions:
            if partition.texts and partition not in self._cell_tables:
                name = f"text_cells_{len(self._cell_tables)}"
                frame = text_frame(partition.texts)
                self._connection.register(f"{name}_frame", frame)
                self._execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {name}_frame")
                self._connection.unregister(f"{name}_frame")
                self._cell_tables[partition] = name
        return {one: self._cell_tables[one] for one in partitions if one in self._cell_tables}

    def each(self, schema: Schema, workload: ScanPlan) -> ContingencyTable:
        """Atoms and lattice place of each row of the synthetic table, in its order."""
        typed = typed_sql(_LOADED, schema, {name: name for name in workload.columns})
        rows = self._execute(scan_sql(typed, workload)).df()
        return listed(rows, keys_of(workload))

    def frame(self, table: Table) -> "pd.DataFrame":
        """All columns of the synthetic table, its rows in their order."""
        self._register(table, table.columns)
        frame: pd.DataFrame = self._execute(f"SELECT * FROM {table.relation}").df()
        return numbered(frame) if table.textual else frame

    def _scanned(
        self,
        table: Table,
        schema: Schema,
        plan: Plan,
        sql_of: Callable[[str], str],
        gather: Callable[[str, Plan], Gathered],
    ) -> Gathered:
        """Outcome of a scan; an error tells nothing of the content.

        ``sql_of`` is the scan's SQL over that of the typed rows.
        """
        self.check(table, plan.columns)
        public = table.role == "synthetic"
        sql = sql_of(self._source(table, schema, plan))
        try:
            return gather(sql, plan)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0][:200] if public else None
        if reason:
            raise QueryError(f"the engine cannot evaluate these queries: {reason}")
        # Raised outside the handler, since the engine's own error may hold a private value.
        raise _unreadable(table)

    def _source(self, table: Table, schema: Schema, workload: TablePlan) -> str:
        """SQL of the typed rows that ``workload`` reads."""
        public = table.role == "synthetic"
        stored = {fold_case(name): name for name in table.columns}
        names = {name: stored[fold_case(name)] for name in workload.columns}
        unit = workload.unit
        if not public:
            used = list(names.values())
            self._register(table, table.columns if unit else used, used)
        source = _LOADED if public else table.relation
        if unit is None:
            return typed_sql(source, schema, names)
        person = stored.get(fold_case(unit.column))
        if person is None and not public:
            missing(table, unit.column)
        content = self._loaded if public else sorted(table.columns, key=fold_case)
        hashed = content_hash(content, workload.key)
        return people_sql(source, schema, names, person, hashed)

    def _counted(self, sql: str, workload: ScanPlan) -> tuple[Histogram, ...]:
        place = {atom: bit for bit, atom in enumerate(workload.atoms)}
        column = {measure: f"v{number}" for number, measure in enumerate(workload.measures)}
        words_count = -(-len(place) // WORD)
        by_person = workload.unit is not None
        builders = [builder_of(statistic, by_person=by_person) for statistic in workload.statistics]
        for frame in self._chunks(sql):
            words: Words = [frame[f"b{number}"].to_numpy() for number in range(words_count)]
            chunk = Chunk(
                len(frame),
                {measure: frame[name].to_numpy() for measure, name in column.items()},
                frame[PERSON].to_numpy() if by_person else None,
                frame[KEPT].to_numpy() if by_person else None,
            )
            for statistic, builder in zip(workload.statistics, builders, strict=True):
                rows = matching(statistic.predicate, place, words) if statistic.predicate else None
                builder.add(chunk, rows)
        return tuple(builder.histogram() for builder in builders)

    def _gathered(self, sql: str, workload: ScanPlan) -> ContingencyTable:
        keys = keys_of(workload)
        return joined(list(self._chunks(contingency_sql(sql, keys))), keys)

    def _tallied(self, sql: str, plan: MarginalPlan) -> MarginalCounts:
        tally = Tally(plan.marginals)
        for frame in self._chunks(sql):
            tally.add(coded(frame, plan.partitions))
        return tally.counts()


def _scan_sql(workload: ScanPlan) -> Callable[[str], str]:
    return lambda source: scan_sql(source, workload)


def _unreadable(table: Table) -> RunError:
    return RunError(
        f"the {table.role} table {table.label} could not be read to its end; check the file"
    )
