"""Engine: reads, recognises and counts tables, with SQL that DuckDB evaluates.

DuckDB is embedded and locked: it reads no file and writes none, it cannot load extensions, and its
settings cannot be changed.  TRY_CAST gives every column its public kind.  So a private cell that
does not convert is NULL, and no row can raise an error.
"""

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

import pyarrow as pa

from pqd.deciders import Histogram
from pqd.engine.contingency import ContingencyCounter, ContingencyTable
from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.counting.facts import Known, TypedSQL
from pqd.engine.counting.recognition import Content
from pqd.engine.counting.tally import Counter
from pqd.engine.histograms import HistogramCounter
from pqd.engine.marginals import MarginalCounter, MarginalCounts, MarginalPlan
from pqd.engine.scan import unreadable
from pqd.engine.scan_plan import ScanPlan, TablePlan
from pqd.engine.table import Scanner, Table, missing
from pqd.errors import QueryError, RunError
from pqd.exception_barrier import of_memory, withheld
from pqd.sql.schema import Schema, fold_case

# Result of a scan: histograms, a contingency table or marginals.
Whole = TypeVar("Whole")
Plan = TypeVar("Plan", bound=TablePlan)


class Engine:
    """Engine of one locked DuckDB, which evaluates SQL for the scans of tables."""

    def __init__(self) -> None:
        """Prepare; DuckDB is not opened yet, and no table is read."""
        self._sql = ArrowSQL()
        # Facts of the synthetic table's values, cached for several scans.
        self._known: Known = {}

    def open(self) -> None:
        """Open DuckDB and lock it now; otherwise this happens at its first use."""
        self._sql.open()

    def read(
        self,
        table: Table,
        names: Collection[str],
        content_keys: Collection[bytes] = (),
        *,
        ahead: bool = False,
    ) -> None:
        """Read columns ``names`` (any case) and the content of ``table`` in one pass; keep them.

        ``content_keys`` are the keys under which the content is hashed.  With ``ahead`` a second
        thread may read blocks of a CSV in advance.

        Raises
        ------
        TableError, RunError
            If the table cannot be read; the message says nothing of the content.
        """
        lowered = {fold_case(name) for name in names}
        stored = [name for name in table.columns if fold_case(name) in lowered]
        self._scanner(table).read(stored, content_keys, ahead=ahead)

    def content(self, table: Table, key: bytes) -> Content:
        """Keyed hash of the whole content of ``table``; its name and row order do not count.

        Raises
        ------
        TableError, RunError
            As ``read``.
        """
        return self._scanner(table).content(key)

    def same_rows(self, one: Table, other: Table, names: Collection[str]) -> bool:
        """Whether two tables hold the same rows; the columns ``names`` are compared first."""
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
        """One histogram for each statistic of the workload, from one scan.

        ``schema`` gives the public kinds.  The histogram of a count holds its mass at value 0.  The
        histogram of a distinct count tells how many values occur 1, 2, ... times.

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

        The workload measures at most one number, and each row must be a person of its own.

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

    def _scanned(
        self,
        table: Table,
        schema: Schema,
        plan: Plan,
        counter_of: Callable[[TypedSQL, Plan], Counter[Whole]],
    ) -> Whole:
        """Result of a counter on all rows; an error quotes nothing of a private table."""
        import duckdb  # noqa: PLC0415 - see locked_connection

        self.check(table, plan.columns)
        public = table.role == "synthetic"
        stored = set(map(fold_case, table.columns))
        if plan.unit and fold_case(plan.unit.column) not in stored and not public:
            missing(table, plan.unit.column)
        kinds = {name: schema[name] for name in plan.columns}
        known = self._known if public else None
        counter = counter_of(TypedSQL(self._sql, kinds, known, table.text_format), plan)
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

    def _scanner(self, table: Table) -> Scanner:
        """Scanner for the table's kind of source; ``Scanner`` says what a scanner does."""
        return table.scanner(table, self._sql)
