"""Synthetic table: the loaded columns of one copy, their kinds and their facts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pqd.deciders import Lattice
from pqd.engine.column_facts import ColumnFacts
from pqd.engine.contingency import ContingencyTable
from pqd.engine.counting.arrow_sql import arrow_table
from pqd.engine.counting.batch import Batch, Column, occurrences
from pqd.engine.counting.column_types import TEXTS, kind_of, text_kinds
from pqd.engine.counting.facts import TypedSQL
from pqd.engine.counting.misfits import Misfits, misfits
from pqd.engine.counting.persons import in_order, person_codes
from pqd.engine.counting.repeated_rows import RepeatedRows, repeated_rows
from pqd.engine.counting.text_styles import TextStyle, text_style
from pqd.engine.engine import Engine
from pqd.engine.marginals import ValueCounts
from pqd.engine.partitions import Partition
from pqd.engine.reading.frames import numbered
from pqd.engine.reading.text_format import USUAL, TextFormat
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan
from pqd.engine.table import Table
from pqd.errors import TableError
from pqd.sql.schema import Kind, Schema, fold_case
from pqd.sql.select import BoundExpression

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

_CSV = "; give it rows as long as the header, and cells in UTF-8 without NULs"


class SyntheticTable(Engine):
    """Engine that holds the loaded columns of one synthetic table."""

    def __init__(self) -> None:
        """Prepare; nothing is opened or read yet."""
        super().__init__()
        self._kinds: Schema = {}
        self._schema: Schema = {}
        self._text_format: TextFormat | None = None
        self._loose: frozenset[str] = frozenset()
        self._facts: tuple[Schema, ColumnFacts] | None = None

    def schema(self, table: Table, wanted: Iterable[str], stated: Schema) -> Schema:
        """Load the ``wanted`` columns of the synthetic table and return the kind of every column.

        ``stated`` kinds take precedence.  A text column of a CSV is a number, boolean or time if
        all its values but NULL are.  Columns that are not wanted count as text.
        """
        lowered = {fold_case(name) for name in wanted}
        names = [name for name in table.columns if fold_case(name) in lowered]
        self._loose = frozenset(table.source.loose(names))
        self._synthetic = self._scanner(table).rows(names)
        self._text_format = table.text_format
        # Defects of other columns are not reported: the private table may decide if they are read.
        odd = next(filter(None, map(table.memory.odd.get, (None, *names))), None)
        if odd:
            raise TableError(f"the {table.title} cannot be read: {odd}{_CSV}")
        self._kinds = kinds = self._kinds_of(self._synthetic.columns, self._loose)
        self._facts = None
        self._known.clear()
        schema = {name: stated.get(name) or kinds.get(name, Kind.TEXT) for name in table.columns}
        self._schema = {name: schema[name] for name in kinds}
        return schema

    def _kinds_of(self, columns: Mapping[str, Column], loose: Collection[str]) -> Schema:
        """Kinds of columns: of ``loose`` columns by their texts, of others by their types.

        Libraries and files store days as texts too.  So a column of the type text holds times if
        all its texts are times, as in a CSV; all other texts of such a column stay texts.
        """
        texts: dict[str, pa.Array] = {}
        typed: dict[str, pa.Array] = {}
        for name, column in columns.items():
            (texts if name in loose else typed)[name] = column.values  # noqa: PD011 - no pandas
        stored = self._sql.types_of(typed)
        kinds = {name: kind_of(stored[name]) for name in typed}
        written = {name: typed[name] for name in typed if str(typed[name].type) in TEXTS}
        times = {
            name: kind for name, kind in text_kinds(self._sql, written).items() if kind is Kind.TIME
        }
        return text_kinds(self._sql, texts, self._text_format or USUAL) | kinds | times

    def misfits(self, name: str, kind: Kind) -> Misfits | None:
        """Cells of a loaded column that do not fit ``kind``; None if the column has this kind."""
        if name not in self._kinds or self._kinds[name] is kind:
            return None
        return misfits(self._sql, self._synthetic.columns[name], kind, self._text_format)

    def text_style(self, name: str) -> TextStyle | None:
        """Style of a loaded column of texts that are numbers or days in all but their form."""
        column = self._synthetic.columns.get(name)
        if column is None:
            return None
        return text_style(self._sql, column, self._text_format, loose=name in self._loose)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the loaded columns."""
        return tuple(self._synthetic.columns)

    def loaded(self) -> "pd.DataFrame":
        """Frame of the loaded columns of the synthetic table, in the usual format of texts."""
        return self._sql.frame(arrow_table(self._usual(self._synthetic, self._schema)))

    def _usual(self, rows: Batch, kinds: Schema) -> Batch:
        """Same ``rows``, whose numbers are written as 1234.5 and whose days are times.

        A frame has no text format.  So a column that only the table's format reads as its kind
        would be one of texts in a frame, or of other numbers: 1.234 for 1234.
        """
        text_format = self._text_format or USUAL
        columns = dict(rows.columns)
        for name, column in rows.columns.items():
            kind, texts = kinds.get(name), column.values  # noqa: PD011 - no pandas
            if str(texts.type) not in TEXTS:
                continue
            if kind is Kind.NUMBER and text_format.reads_numbers:
                usual = self._sql.of_values(texts, text_format.number_sql("value"))
            elif kind is Kind.TIME and text_format.dates:
                usual = self._sql.of_values(texts, text_format.time_sql("value"))
            else:
                continue
            columns[name] = Column(column.codes, usual.combine_chunks())
        return Batch(rows.rows, columns)

    def multiplicities(self, names: Sequence[str]) -> "NDArray[np.int64]":
        """Number of rows with each combination of cells in the loaded columns ``names``."""
        combinations = self._synthetic.combinations(tuple(names))
        return occurrences(combinations.codes, combinations.size)

    def repeated_rows(self) -> RepeatedRows:
        """Rows of the loaded columns that are equal in every cell, or in all cells but one."""
        return repeated_rows(self._synthetic)

    def rows(self) -> int:
        """Number of rows of the loaded synthetic table."""
        return self._synthetic.rows

    def profile(
        self, schema: Schema, value: str, totalled: PrivacyUnit | None = None
    ) -> Lattice | None:
        """Lattice that holds ``value`` on all rows of the synthetic table; None without values.

        With ``totalled`` the lattice also holds the total of each person's rows.
        """
        person = self.person_column(totalled) if totalled else None
        return self._column_facts(schema).lattice(value, person)

    def person_column(self, unit: PrivacyUnit) -> str | None:
        """Unit's column in the synthetic table; None if the table lacks this column."""
        names = self._synthetic.columns
        return next((name for name in names if fold_case(name) == fold_case(unit.column)), None)

    def persons(self, unit: PrivacyUnit) -> "NDArray[np.int64] | None":
        """Number of each loaded row's person, in the order of first rows, from 0 on.

        None if the table lacks the unit's column.
        """
        person = self.person_column(unit)
        if person is None:
            return None
        return in_order(person_codes(self._synthetic.columns[person]).codes)

    def _column_facts(self, schema: Schema) -> ColumnFacts:
        """Facts of the loaded columns, with the kinds of ``schema``."""
        if self._facts is None or self._facts[0] != schema:
            own = {fold_case(name): name for name in self._synthetic.columns}
            stored = {name: own[fold_case(name)] for name in schema if fold_case(name) in own}
            sql = TypedSQL(self._sql, schema, self._known, self._text_format)
            self._facts = schema, ColumnFacts(sql, self._synthetic, stored)
        return self._facts[1]

    def groups(
        self, schema: Schema, columns: Sequence[str], resolved: BoundExpression, most: int
    ) -> list[tuple[Any, ...]]:
        """At most ``most`` distinct combinations of ``columns`` on synthetic rows that match.

        They ascend, NULL last.
        """
        return self._column_facts(schema).groups(columns, resolved, most)

    def distinct_values(self, schema: Schema, column: str, most: int) -> set[Any] | None:
        """Values of a synthetic column but NULL; None if there are more than ``most``."""
        return self._column_facts(schema).distinct_values(column, most)

    def codes(self, schema: Schema, partitions: Sequence[Partition]) -> "NDArray[np.int64]":
        """Cell of each loaded row in each of ``partitions``, in the rows' order.

        The shape is (rows, partitions).
        """
        return self._column_facts(schema).codes(partitions)

    def value_counts(self, schema: Schema, column: str) -> ValueCounts:
        """Distinct values of a column of the loaded synthetic table, and the rows with each."""
        return self._column_facts(schema).value_counts(column)

    def singles(self, schema: Schema, column: str, unit: PrivacyUnit | None) -> int:
        """Rows with a value that exactly one row has, or with a ``unit`` exactly one person."""
        person, most = (self.person_column(unit), unit.max_rows) if unit else (None, 1)
        return self._column_facts(schema).singles(column, person, most)

    def by_row(self, schema: Schema, workload: ScanPlan) -> ContingencyTable:
        """Atoms and lattice place of each row of the synthetic table, in its order."""
        return self._column_facts(schema).by_row(workload)

    def frame(self, table: Table) -> "pd.DataFrame":
        """Frame of all columns of the synthetic table, with the rows in their order.

        Texts of columns of numbers become numbers; codes such as 06680 stay texts.
        """
        rows = self._scanner(table).rows(table.columns)
        if not table.source.ordered:
            # Later results by row must have the order of these rows.
            self._synthetic = rows
            self._facts = None
        if not table.textual:
            return self._sql.frame(arrow_table(rows))
        self._text_format = table.text_format
        loose = table.source.loose(table.columns)
        kinds = {**self._kinds_of(rows.columns, loose), **self._schema}
        numbers = [name for name, kind in kinds.items() if kind is Kind.NUMBER]
        return numbered(self._sql.frame(arrow_table(self._usual(rows, kinds))), numbers)
