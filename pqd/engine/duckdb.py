"""The default engine: a table becomes columns of codes, and DuckDB evaluates SQL on their values.

DuckDB is embedded and locked: it reads no file and writes none, cannot load extensions, and its
settings cannot be changed.  Every column is cast to its public kind by TRY_CAST, or to the same
values without it, so a private cell that does not convert is NULL and no row can raise.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from pqd.deciders import Histogram, Lattice
from pqd.engine.column_facts import ColumnFacts
from pqd.engine.contingency import ContingencyCounter, ContingencyTable
from pqd.engine.histograms import HistogramCounter
from pqd.engine.kernel.arrow_sql import ArrowSQL, arrow_table
from pqd.engine.kernel.batch import Column
from pqd.engine.kernel.column_types import kind_of, text_kinds
from pqd.engine.kernel.facts import Known, TypedSQL
from pqd.engine.kernel.misfits import Misfits, misfits, way_of
from pqd.engine.kernel.tally import Counter
from pqd.engine.marginals import MarginalCounter, MarginalCounts, MarginalPlan, ValueCounts
from pqd.engine.partitions import Partition
from pqd.engine.reading.frames import numbered
from pqd.engine.scan import unreadable
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan, TablePlan
from pqd.engine.table import Scanner, Table, missing
from pqd.errors import QueryError, RunError, TableError
from pqd.exception_barrier import of_memory, withheld
from pqd.sql.query import BoundExpression
from pqd.sql.schema import Kind, Schema, fold_case

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

_CSV = "; give it rows as long as the header, and cells in UTF-8 without NULs"
# What a scan counts: histograms, or cells.
Whole = TypeVar("Whole")
Plan = TypeVar("Plan", bound=TablePlan)


class DuckDBEngine:
    """One locked DuckDB, and the columns of tables that it evaluates on."""

    def __init__(self) -> None:
        """Open and read nothing."""
        self._held: Schema = {}
        self._facts: tuple[Schema, ColumnFacts] | None = None
        self._known: Known = {}
        self._sql = ArrowSQL()

    def open(self) -> None:
        """Open DuckDB and lock it, which else is done when it is first needed."""
        self._sql.open()

    def schema(self, table: Table, wanted: Iterable[str], stated: Schema) -> Schema:
        """Load the ``wanted`` columns of the synthetic table and return the kind of every column.

        ``stated`` kinds win.  A text column of a CSV is a number, boolean or time if every value
        that is not NULL reads as one.  Columns that are not wanted count as text.
        """
        lowered = {fold_case(name) for name in wanted}
        names = [name for name in table.columns if fold_case(name) in lowered]
        loose = set(table.source.loose(names))
        self._synthetic = self._scanner(table).rows(names)
        # Of other columns nothing is told, since only some private tables have them read.
        odd = next(filter(None, map(table.memory.odd.get, (None, *names))), None)
        if odd:
            raise TableError(f"the {table.title} cannot be read: {odd}{_CSV}")
        self._held = kinds = self._kinds(self._synthetic.columns, loose)
        self._facts = None
        self._known.clear()
        return {name: stated.get(name) or kinds.get(name, Kind.TEXT) for name in table.columns}

    def _kinds(self, columns: Mapping[str, Column], loose: Collection[str]) -> Schema:
        """Kinds of columns: the ``loose`` ones by their texts, others by their types."""
        texts: dict[str, pa.Array] = {}
        typed: dict[str, pa.Array] = {}
        for name, column in columns.items():
            (texts if name in loose else typed)[name] = column.values  # noqa: PD011 - no pandas
        stored = self._sql.types_of(typed)
        return text_kinds(self._sql, texts) | {name: kind_of(stored[name]) for name in typed}

    def misfits(self, name: str, kind: Kind) -> Misfits | None:
        """Cells of a loaded column that do not fit ``kind``, None where it is the column's own."""
        if name not in self._held or self._held[name] is kind:
            return None
        return misfits(self._sql, self._synthetic.columns[name], kind)

    def way_of(self, name: str) -> tuple[str, str] | None:
        """Way in which a loaded column writes numbers or days, that no kind reads; see there."""
        column = self._synthetic.columns.get(name)
        return way_of(column) if column else None

    def loaded(self) -> "pd.DataFrame":
        """Loaded columns of the synthetic table."""
        return self._sql.frame(arrow_table(self._synthetic))

    def rows(self) -> int:
        """Count the rows of the loaded synthetic table."""
        return self._synthetic.rows

    def profile(
        self, schema: Schema, value: str, totalled: PrivacyUnit | None = None
    ) -> Lattice | None:
        """Lattice that ``value`` takes in the synthetic table, None without values.

        With ``totalled`` the lattice holds each person's total too, over all rows.
        """
        person = self._person(totalled) if totalled else None
        return self._column_facts(schema).lattice(value, person)

    def _person(self, unit: PrivacyUnit) -> str | None:
        """Unit's column in the synthetic table, None if it has none."""
        names = self._synthetic.columns
        return next((name for name in names if fold_case(name) == fold_case(unit.column)), None)

    def _column_facts(self, schema: Schema) -> ColumnFacts:
        """Facts of the loaded columns, of the kinds of ``schema``."""
        if self._facts is None or self._facts[0] != schema:
            own = {fold_case(name): name for name in self._synthetic.columns}
            stored = {name: own[fold_case(name)] for name in schema if fold_case(name) in own}
            sql = TypedSQL(self._sql, schema, self._known)
            self._facts = schema, ColumnFacts(sql, self._synthetic, stored)
        return self._facts[1]

    def groups(
        self, schema: Schema, columns: Sequence[str], resolved: BoundExpression, most: int
    ) -> list[tuple[Any, ...]]:
        """Distinct values of ``columns`` on synthetic rows that match, ``most`` at most.

        They ascend, NULL last.
        """
        return self._column_facts(schema).groups(columns, resolved, most)

    def held(self, schema: Schema, column: str, most: int) -> set[Any] | None:
        """Values of a column of the synthetic table but NULL; None for more than ``most``."""
        return self._column_facts(schema).held(column, most)

    def _scanner(self, table: Table) -> Scanner:
        return table.scanner(table, self._sql)

    def read(
        self,
        table: Table,
        names: Collection[str],
        content_keys: Collection[bytes] = (),
        *,
        ahead: bool = False,
    ) -> None:
        """Read columns of any case that ``table`` has, and its content, in one pass; keep them.

        Blocks of a CSV may be read ``ahead``.

        Raises
        ------
        TableError, RunError
            If it cannot be read; the message says nothing of the content.
        """
        lowered = {fold_case(name) for name in names}
        stored = [name for name in table.columns if fold_case(name) in lowered]
        self._scanner(table).read(stored, content_keys, ahead=ahead)

    def content(self, table: Table, key: bytes) -> str:
        """Keyed hash of all that ``table`` holds, whatever its name and row order.

        Raises
        ------
        TableError, RunError
            As ``read``.
        """
        return self._scanner(table).content(key)

    def same_rows(self, one: Table, other: Table, names: Collection[str]) -> bool:
        """Whether two tables hold the same rows, by ``names`` first; see ``Scanner``."""
        return self._scanner(one).same_rows(other, names)

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
        return self._scanned(table, schema, workload, HistogramCounter)

    def contingency(self, table: Table, schema: Schema, workload: ScanPlan) -> ContingencyTable:
        """Contingency table: rows with each combination of atoms and lattice place, in one scan.

        Of one number at most, and where one row is one person.

        Raises
        ------
        TableError, RunError
            As ``histograms``.
        """
        return self._scanned(table, schema, workload, ContingencyCounter)

    def marginals(self, table: Table, schema: Schema, plan: MarginalPlan) -> MarginalCounts:
        """Rows in each cell of every marginal of ``plan``, in one scan.

        ``schema`` gives the public kinds.

        Raises
        ------
        TableError, RunError
            As ``histograms``.
        """
        return self._scanned(table, schema, plan, MarginalCounter)

    def codes(self, schema: Schema, partitions: Sequence[Partition]) -> "NDArray[np.int64]":
        """Cell of each row of the loaded synthetic table in each of ``partitions``, in its order.

        Of shape (rows, partitions).
        """
        return self._column_facts(schema).codes(partitions)

    def value_counts(self, schema: Schema, column: str) -> ValueCounts:
        """Distinct values of a column of the loaded synthetic table, and the rows with each."""
        return self._column_facts(schema).value_counts(column)

    def each(self, schema: Schema, workload: ScanPlan) -> ContingencyTable:
        """Atoms and lattice place of each row of the synthetic table, in its order."""
        return self._column_facts(schema).each(workload)

    def frame(self, table: Table) -> "pd.DataFrame":
        """All columns of the synthetic table, its rows in their order."""
        rows = self._scanner(table).rows(table.columns)
        if not table.source.ordered:
            # What is asked of its rows next must be of this order.
            self._synthetic = rows
            self._facts = None
        frame = self._sql.frame(arrow_table(rows))
        return numbered(frame) if table.textual else frame

    def _scanned(
        self,
        table: Table,
        schema: Schema,
        plan: Plan,
        counter_of: Callable[[TypedSQL, Plan], Counter[Whole]],
    ) -> Whole:
        """What a counter gives of a table; an error tells nothing of the content."""
        import duckdb  # noqa: PLC0415 - see locked_connection

        self.check(table, plan.columns)
        public = table.role == "synthetic"
        stored = set(map(fold_case, table.columns))
        if plan.unit and fold_case(plan.unit.column) not in stored and not public:
            missing(table, plan.unit.column)
        kinds = {name: schema[name] for name in plan.columns}
        counter = counter_of(TypedSQL(self._sql, kinds, self._known if public else None), plan)
        try:
            return self._scanner(table).scan(counter, plan)
        except (duckdb.Error, pa.ArrowException) as error:
            lacking = withheld(error) if of_memory(error) else None
            reason = str(error).splitlines()[0][:200] if public else None
        if lacking:
            raise RunError(lacking)
        if reason:
            raise QueryError(f"the engine cannot evaluate these queries: {reason}")
        # Raised outside the handler, since the engine's own error may hold a private value.
        raise unreadable(table)
