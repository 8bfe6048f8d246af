"""Scanner of a private table in Spark; Spark's workers count its rows.

The first job hashes the content of the table under a key of the run.  Each later scan hashes the
content again, and refuses a table that changed in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from pqd.engine.counting.batch import batch_of
from pqd.engine.counting.persons import person_batches
from pqd.engine.counting.recognition import Content, ContentCounter, hashed
from pqd.engine.counting.tally import Counter, Counts, JointCounter, folded
from pqd.engine.reading.values import plain_values
from pqd.engine.scan import CHANGED, LocalScanner, unreadable
from pqd.engine.sources.source import UnreadableError
from pqd.engine.spark.table import open_spark
from pqd.engine.table import Table
from pqd.engine.table_likeness import loose_content, loose_texts
from pqd.errors import RunError
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from pqd.engine.counting.arrow_sql import ArrowSQL
    from pqd.engine.counting.batch import Batch
    from pqd.engine.scan_plan import PrivacyUnit, TablePlan
    from pqd.engine.sources.source import Role
    from pqd.engine.spark.partial_counts import Counting
    from pqd.engine.spark.table import SparkTable

Whole = TypeVar("Whole")
_RECOGNISED = "recognised"
_PERSON = 8


class _ContentKey(NamedTuple):
    """Content to hash: its columns and key; ``loose`` takes equal values of any type as equal."""

    columns: tuple[str, ...]
    key: bytes
    loose: bool = False

    def counter(self, sql: ArrowSQL) -> ContentCounter:
        """Counter that hashes this content."""
        texts = partial(loose_texts, sql, None) if self.loose else sql.texts
        return ContentCounter(self.columns, self.key, texts)

    def __repr__(self) -> str:
        """Name of the type alone, since the object holds a key."""
        return "_ContentKey(...)"


def open_spark_table(given: object, role: Role) -> Table:
    """Table of Spark; the rows of a private table stay in Spark.

    Raises
    ------
    TableError, ParameterError
        As ``open_spark``.
    """
    source = open_spark(given, role)
    table = Table(role, source.label, source.columns, source, given, scanner=LocalScanner)
    if role == "synthetic":
        return table
    scanner = partial(SparkScanner, source)
    return Table(role, source.label, source.columns, source, given, scanner=scanner)


class SparkScanner:
    """Scanner of a private ``table`` whose rows are in Spark."""

    def __init__(self, source: SparkTable, table: Table, sql: ArrowSQL) -> None:
        """Nothing is counted yet."""
        self._source, self._table, self._sql = source, table, sql

    def read(
        self,
        names: Sequence[str],
        content_keys: Collection[bytes],
        *,
        ahead: bool = False,  # noqa: ARG002 - no row comes here
    ) -> None:
        """Hash the content under each key, and under the run's own key, in one job."""
        own = self._own_content(names)
        self._contents([*(_ContentKey(self._table.columns, key) for key in content_keys), own])
        self._source.known.setdefault(_RECOGNISED, own)

    def content(self, key: bytes) -> Content:
        """Keyed hash of the whole content of the table."""
        (content,) = self._contents([_ContentKey(self._table.columns, key)])
        return content

    def same_rows(self, public: Table, names: Collection[str]) -> bool:
        """Whether ``public`` holds the same rows.

        Hashes of the columns ``names`` are compared first, then hashes of all columns, under a key
        that is never stored.
        """
        columns = self._table.columns
        if set(map(fold_case, columns)) != set(map(fold_case, public.columns)):
            return False
        compared = set(map(fold_case, names))
        own = self._own_content([name for name in columns if fold_case(name) in compared])
        if not self._alike(public, own):
            return False
        try:
            return self._alike(public, _ContentKey(columns, self._source.key, loose=True))
        except Exception:  # noqa: BLE001 - whatever breaks is not told
            return False

    def _alike(self, public: Table, own: _ContentKey) -> bool:
        """Whether ``public`` has the same content."""
        (content,) = self._contents([own])
        return content == loose_content(self._sql, public, own.columns, own.key)

    def scan(self, counter: Counter[Whole], plan: TablePlan) -> Whole:
        """Result of ``counter`` on all rows, from one job.

        Raises
        ------
        RunError
            If a worker fails, or the table has changed since it was recognised.
        """
        names, person = self._table.stored_names(plan)
        own = self._source.known.get(_RECOGNISED) or self._own_content([*names.values()])
        cells = PersonCells(person, self._source.key, self._sql) if person else None
        both = JointCounter(counter, own.counter(self._sql))
        read = [*names.values(), *own.columns, *([person] if person else [])]
        work = SparkScan(both, tuple(dict.fromkeys(read)), names, plan.unit, cells)
        whole, content = both.whole(self._counted(work))
        if self._source.known.setdefault(own, content) != content:
            raise RunError(CHANGED)
        result: Whole = whole
        return result

    def rows(self, names: Sequence[str]) -> NoReturn:
        """Raise ValueError: no row of a private table leaves Spark."""
        raise ValueError(f"{len(names)} columns of a private table of Spark")

    def _own_content(self, names: Sequence[str]) -> _ContentKey:
        """Content of the columns ``names`` (of the first column for none), under the run's key."""
        columns = tuple(dict.fromkeys(names)) or self._table.columns[:1]
        return _ContentKey(columns, self._source.key, loose=True)

    def _contents(self, each: Sequence[_ContentKey]) -> list[Content]:
        """Hashes of contents; one job computes all hashes that are not cached."""
        with self._source.lock:
            known = self._source.known
            new = [one for one in dict.fromkeys(each) if one not in known]
            if new:
                counter = JointCounter(*(one.counter(self._sql) for one in new))
                columns = tuple(dict.fromkeys(name for one in new for name in one.columns))
                counts = self._counted(SparkScan(counter, columns))
                known.update(zip(new, counter.whole(counts), strict=True))
            return [known[one] for one in each]

    def _counted(self, work: Counting) -> Counts:
        try:
            return self._source.counted(work)
        except UnreadableError as error:
            advice = error.advice
        raise unreadable(self._table, advice)


@dataclass(frozen=True, eq=False, repr=False)
class SparkScan:
    """Scan for Spark's workers: ``counter`` counts batches of the stored ``columns``.

    ``names`` maps the public names of columns to their stored names.  With a ``unit`` the rows of a
    person count together.  ``persons`` tells the person of each row; None if each row is a person.
    """

    counter: Counter[Any]
    columns: tuple[str, ...]
    names: Mapping[str, str] | None = None
    unit: PrivacyUnit | None = None
    persons: PersonCells | None = None

    @property
    def distinct(self) -> frozenset[int]:
        """Statistics for which the scan counts how many keys occur 1, 2, ... times."""
        return self.counter.distinct

    def counts(self, batch: Batch) -> Counts:
        """Counts of the rows of ``batch``."""
        batches = iter([batch])
        if self.unit:
            person = self.persons.column if self.persons else None
            batches = person_batches(batches, person, self.unit.max_rows)
        return folded(self.counter.count(each.named(self.names or {})) for each in batches)

    def __repr__(self) -> str:
        """Name of the type alone, since the object holds a key."""
        return "SparkScan(...)"


@dataclass(frozen=True)
class PersonCells:
    """Person of each row, by the stored ``column``."""

    column: str
    key: bytes
    sql: ArrowSQL

    def persons(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """Number of the person of each row; ``batch`` has the ``column``.

        All rows of a person have the same number.  The numbers are keyed hashes, so their order
        says nothing.
        """
        column = batch_of([batch], [self.column]).columns[self.column]
        texts = self.sql.texts(plain_values(column.values))
        hashes = [hashed(text, self.key, _PERSON) for text in texts]
        persons: NDArray[np.int64] = np.frombuffer(b"".join(hashes), np.int64)[column.codes]
        return persons

    def __repr__(self) -> str:
        """Name of the type alone, since the object holds a key."""
        return "PersonCells(...)"
