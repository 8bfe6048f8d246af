"""The default engine: a table becomes columns of codes, and DuckDB evaluates SQL on their values.

DuckDB is embedded and locked: it may read the given files and nothing else, cannot write, cannot
load extensions, and its settings cannot be changed.  Every column is cast to its public kind by
TRY_CAST, so a private cell that does not convert is NULL and no row can raise.
"""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import numpy as np

from deciders import Histogram, Lattice
from pqd.engine.column_types import kind_of, text_kind
from pqd.engine.contingency import ContingencyTable, contingency_of, row_cells
from pqd.engine.histograms import histograms_of
from pqd.engine.kernel.arrow_sql import ArrowSQL, arrow_table
from pqd.engine.kernel.combinations import as_codes
from pqd.engine.kernel.evaluator import Evaluator
from pqd.engine.kernel.persons import Persons, person_codes, persons_of
from pqd.engine.kernel.typed_sql import mark_of
from pqd.engine.lattices import lattice_of
from pqd.engine.marginals import (
    MarginalCounts,
    MarginalPlan,
    ValueCounts,
    codes_of,
    counted,
    value_counts_of,
)
from pqd.engine.partitions import Partition
from pqd.engine.reading.columns import Column, Columns
from pqd.engine.reading.frames import loosely_typed, numbered, readable
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan, TablePlan
from pqd.engine.scan_sql import content_hash, content_sql, predicate_sql
from pqd.engine.tables import Table, literal_path, missing
from pqd.errors import QueryError, RunError, TableError
from pqd.interrupts import heeded
from pqd.sql.query import BoundExpression
from pqd.sql.schema import Kind, Schema, fold_case, quote_identifier, quote_literal

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_MEDDLING = {
    *("statistics_propagation", "type_pushdown", "scalar_fn_pushdown", "filter_pushdown"),
    *("row_group_pruner", "late_materialization", "compressed_materialization", "extension"),
}
_RANK = "CAST('0x' || ({0})[1:16] AS UBIGINT)"
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
        self._evaluators: dict[tuple[tuple[str, Kind], ...], Evaluator] = {}
        self._sql = ArrowSQL(self._connection)
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
        loose = set(names if table.textual else loosely_typed(table.frame, names))
        try:
            self._synthetic = self._columns(table, names)
            columns = self._synthetic.by_name
            kinds = {
                name: text_kind(self._sql, column.values)
                if name in loose
                else kind_of(self._sql.type_of(column.values))
                for name, column in columns.items()
            }
        except duckdb.Error as error:
            reason = str(error).splitlines()[0][:200]
            hint = _CSV if table.textual else ""
            raise TableError(
                f"the synthetic table {table.label} cannot be read: {reason}{hint}"
            ) from None
        self._evaluators.clear()
        self._value_counts.clear()
        return {name: stated.get(name) or kinds.get(name, Kind.TEXT) for name in table.columns}

    def loaded(self) -> "pd.DataFrame":
        """Loaded columns of the synthetic table."""
        return self._sql.frame(arrow_table(self._synthetic))

    def rows(self) -> int:
        """Count the rows of the loaded synthetic table."""
        return self._synthetic.rows

    def profile(
        self,
        schema: Schema,
        columns: Collection[str],
        value: str,
        totalled: PrivacyUnit | None = None,
    ) -> Lattice | None:
        """Lattice that ``value`` takes in the synthetic table, None without values.

        ``columns`` are those that it names.  With ``totalled`` the lattice holds each person's
        total too, over all rows.
        """
        evaluator = self._evaluator(schema, columns)
        person = self._person(totalled) if totalled else None
        persons = person_codes(evaluator, person) if person else None
        return lattice_of(evaluator, value, persons)

    def _person(self, unit: PrivacyUnit) -> str | None:
        """Unit's column in the synthetic table, None if it has none."""
        names = self._synthetic.by_name
        return next((name for name in names if fold_case(name) == fold_case(unit.column)), None)

    def _evaluator(self, schema: Schema, columns: Iterable[str]) -> Evaluator:
        """Evaluator of the loaded ``columns`` of the synthetic table."""
        kinds = {name: schema[name] for name in sorted(columns)}
        key = tuple(kinds.items())
        if key not in self._evaluators:
            stored = {name: name for name in kinds}
            self._evaluators[key] = Evaluator(self._sql, self._synthetic, kinds, stored)
        return self._evaluators[key]

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
        evaluator = self._evaluator(schema, {*columns, *resolved.columns})
        where = predicate_sql(resolved.where) if resolved.where else "TRUE"
        return evaluator.distinct(columns, resolved.columns, where, most)

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
        return self._scanned(table, schema, workload, histograms_of)

    def contingency(self, table: Table, schema: Schema, workload: ScanPlan) -> ContingencyTable:
        """Contingency table: rows with each combination of atoms and lattice place, in one scan.

        Of one number at most, and where one row is one person.

        Raises
        ------
        TableError, RunError
            As ``histograms``.
        """
        return self._scanned(
            table, schema, workload, lambda evaluator, plan, _: contingency_of(evaluator, plan)
        )

    def marginals(self, table: Table, schema: Schema, plan: MarginalPlan) -> MarginalCounts:
        """Rows in each cell of every marginal of ``plan``, in one scan.

        ``schema`` gives the public kinds.

        Raises
        ------
        TableError, RunError
            As ``histograms``.
        """
        return self._scanned(table, schema, plan, counted)

    def codes(self, schema: Schema, partitions: Sequence[Partition]) -> "NDArray[np.int64]":
        """Cell of each row of the loaded synthetic table in each of ``partitions``, in its order.

        Of shape (rows, partitions).
        """
        evaluator = self._evaluator(schema, {partition.column for partition in partitions})
        codes = codes_of(evaluator, partitions)
        return np.column_stack([codes[partition].astype(np.int64) for partition in partitions])

    def value_counts(self, schema: Schema, column: str) -> ValueCounts:
        """Distinct values of a column of the loaded synthetic table, and the rows with each."""
        key = column, schema[column]
        if key not in self._value_counts:
            evaluator = self._evaluator(schema, [column])
            self._value_counts[key] = value_counts_of(evaluator, *key)
        return self._value_counts[key]

    def each(self, schema: Schema, workload: ScanPlan) -> ContingencyTable:
        """Atoms and lattice place of each row of the synthetic table, in its order."""
        return row_cells(self._evaluator(schema, workload.columns), workload)

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
        count: Callable[[Evaluator, Plan, Persons | None], Gathered],
    ) -> Gathered:
        """What ``count`` gathers of a table; an error tells nothing of the content."""
        import pyarrow as pa  # noqa: PLC0415 - a heavy import that only scans need

        self.check(table, plan.columns)
        public = table.role == "synthetic"
        stored = {fold_case(name): name for name in table.columns}
        person = stored.get(fold_case(plan.unit.column)) if plan.unit else None
        if plan.unit and person is None and not public:
            missing(table, plan.unit.column)
        names = {name: stored[fold_case(name)] for name in plan.columns}
        key, read = plan.key if person else None, list(names.values())
        try:
            columns = self._public(key) if public else self._columns(table, read, key, person)
            evaluator = Evaluator(self._sql, columns, {name: schema[name] for name in names}, names)
            persons = persons_of(evaluator, person, plan.unit.max_rows) if plan.unit else None
            return count(evaluator, plan, persons)
        except (duckdb.Error, pa.ArrowException) as error:
            reason = str(error).splitlines()[0][:200] if public else None
        if reason:
            raise QueryError(f"the engine cannot evaluate these queries: {reason}")
        # Raised outside the handler, since the engine's own error may hold a private value.
        raise _unreadable(table)

    def _public(self, key: bytes | None) -> Columns:
        """Loaded columns of the synthetic table, ranked by ``key``."""
        if key is None:
            return self._synthetic
        table = arrow_table(self._synthetic)
        hashed = _RANK.format(content_hash(sorted(table.column_names, key=fold_case), key))
        parts = self._sql.evaluated(table, [hashed])
        return replace(
            self._synthetic, ranks=np.concatenate([rank.to_numpy() for (rank,) in parts])
        )

    def _columns(
        self,
        table: Table,
        names: Sequence[str],
        key: bytes | None = None,
        person: str | None = None,
    ) -> Columns:
        """Columns ``names`` and ``person`` of a table, ranked by a hash of each row under ``key``.

        Of ``person`` only equality counts.
        """
        self._register(table, names if key is None else table.columns, names)
        names = sorted({*names, *([person] if person else [])})
        described = self._execute(f"DESCRIBE SELECT * FROM {table.relation}").fetchall()
        types = {str(name): str(kind) for name, kind, *_ in described}
        outputs = [
            quote_identifier(name)
            if kind_of(types[name]) is not Kind.TEXT or types[name] == "VARCHAR"
            else f"CAST({quote_identifier(name)} AS VARCHAR) AS {quote_identifier(name)}"
            for name in names
        ]
        mark = mark_of(names)
        if key is not None:
            hashed = content_hash(sorted(table.columns, key=fold_case), key)
            outputs.append(f"{_RANK.format(hashed)} AS {mark}h")
        outputs.append(f"1 AS {mark}o")
        with heeded():
            selected = f"SELECT {', '.join(outputs)} FROM {table.relation}"
            rows = self._connection.sql(selected).to_arrow_table()
        by_name = {}
        for name in names:
            encoded = rows[name].combine_chunks().dictionary_encode("encode")
            codes = as_codes(encoded.indices.to_numpy(), len(encoded.dictionary))
            by_name[name] = Column(codes, encoded.dictionary)
        ranks = rows[f"{mark}h"].to_numpy() if key is not None else None
        return Columns(rows.num_rows, by_name, ranks)


def _unreadable(table: Table) -> RunError:
    return RunError(
        f"the {table.role} table {table.label} could not be read to its end; check the file"
    )
