"""Partial scans add up to whole ones: whatever partitions and chunks a table is cut into.

What Spark does with partial counts, adding up those of one place, is done here by hand, so that no
Java is needed; tests/pqd/engine/spark/test_spark_tables.py has Spark do it.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pqd
from pqd.engine.contingency import ContingencyCounter
from pqd.engine.counting.arrow_sql import worker_sql
from pqd.engine.counting.batch import Batch
from pqd.engine.counting.facts import TypedSQL
from pqd.engine.counting.recognition import ContentCounter
from pqd.engine.counting.tally import Counts, JointCounter
from pqd.engine.histograms import HistogramCounter
from pqd.engine.marginals import Marginal, MarginalCounter, MarginalPlan
from pqd.engine.partitions import Bins, Categories, Points
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan
from pqd.engine.spark import workers
from pqd.engine.spark.partial_counts import SCHEMA as SUMS
from pqd.engine.spark.partial_counts import Counting, counts_in
from pqd.engine.spark.workers import (
    BROKEN,
    FAILED,
    OTHER_VERSION,
    Reading,
    count_mapper,
    person_mapper,
)
from pqd.engine.spark_scanner import PersonCells, SparkScan
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import Table, open_table
from pqd.sql.schema import Kind
from tests.support.odd_rows import KEY, QUERIES, SCHEMA, odd_rows, statistics

# Rows of each partition, and of a chunk.
CUT, CHUNK = (7, 0, 250, 143), 130


@pytest.fixture(scope="module", autouse=True)
def worker() -> Iterator[None]:
    """Close the database of a worker before Python ends."""
    yield
    worker_sql.cache_clear()


class Cut:
    """Table cut into partitions and chunks, and the same table whole."""

    def __init__(self, rows: pa.Table, lengths: Sequence[int], chunk: int) -> None:
        ends = np.cumsum([0, *lengths])
        self.rows, self.chunk = rows, chunk
        self.partitions = [rows.slice(a, b - a) for a, b in pairwise(ends)]
        self.engine = SyntheticTable()
        self.table: Table = open_table(rows, "private")

    def counted(self, work: Counting) -> Counts:
        """Counts as Spark adds them up."""
        if work.persons is None:
            partitions, names = self.partitions, tuple(work.columns)
            reading = Reading(names, pqd.__version__, self.chunk)
        else:
            partitions = self._by_person(work)
            reading = Reading(tuple(work.columns), pqd.__version__, self.chunk, persons=True)
        function = count_mapper(work, reading)
        outputs = [function(batches_of(each, reading.names)) for each in partitions]
        counts = added(batch for output in outputs for batch in output)
        return counts.multiplicities(work.distinct)

    def _by_person(self, work: Counting) -> list[pa.Table]:
        """Rows in two partitions, each in the order of its persons."""
        assert work.persons is not None
        every = tuple(work.columns)
        function = person_mapper(work.persons, Reading(every, pqd.__version__))
        told = [b for each in self.partitions for b in function(batches_of(each, every))]
        rows = pa.Table.from_batches(told)
        persons = np.array(rows["person"].to_pylist())
        return [rows.take(np.flatnonzero(persons % 2 == half)).sort_by("person") for half in (0, 1)]

    def scanned(
        self, counter_of: Callable[..., Any], plan: Any, unit: str | None = None
    ) -> tuple[Any, Any]:
        """What a counter gives of the parts, and of the whole."""
        names = {name: name for name in plan.columns}
        own = content_counter(("n", "s"))
        persons = PersonCells(unit, b"a key", worker_sql()) if unit else None
        both = JointCounter(counter_of(TypedSQL(worker_sql(), SCHEMA), plan), own)
        read = tuple(dict.fromkeys([*names, "n", "s", *([unit] if unit else [])]))
        work = SparkScan(both, read, names, plan.unit, persons)
        sent = pickle.loads(pickle.dumps(work))  # noqa: S301 - its own bytes, as Spark sends them
        part, content = both.whole(self.counted(sent))
        assert content == own.whole(self.counted(SparkScan(own, ("n", "s"))))
        whole = self.engine._scanned(self.table, SCHEMA, plan, counter_of)
        return part, whole


def batches_of(rows: pa.Table, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    columns = [name for name in (*names, "person") if name in rows.column_names]
    return iter(rows.select(columns).to_batches(max_chunksize=16))


def added(batches: Iterator[pa.RecordBatch]) -> Counts:
    sums = Counter[tuple[int, bytes]]()
    for batch in batches:
        for part, word, rows in zip(*(c.to_pylist() for c in batch.columns), strict=True):
            sums[part, word] += rows
    rows = [{"part": part, "word": word, "rows": n} for (part, word), n in sums.items()]
    block = pa.RecordBatch.from_pylist(rows, SUMS)
    return counts_in([block])


def content_counter(names: tuple[str, ...]) -> ContentCounter:
    return ContentCounter(names, KEY, worker_sql().texts)


def word(number: int) -> bytes:
    return number.to_bytes(8, "big")


@pytest.mark.parametrize(("unit", "most"), [(None, 1), ("p", 1), ("q", 3), ("n", 2)])
def test_histograms(unit: str | None, most: int) -> None:
    cut = Cut(odd_rows(), CUT, CHUNK)
    given = PrivacyUnit(unit, most) if unit else None
    plan = ScanPlan(statistics(QUERIES, total=unit is not None), given)
    parts, whole = cut.scanned(HistogramCounter, plan, unit)
    for sql, part, one in zip(QUERIES, parts, whole, strict=True):
        assert part.values.tolist() == one.values.tolist(), sql
        assert part.counts.tolist() == one.counts.tolist(), sql


@pytest.mark.parametrize("measured", [None, "SELECT SUM(n) FROM t WHERE n > 1"])
def test_contingency(measured: str | None) -> None:
    cut = Cut(odd_rows(), CUT, CHUNK)
    queries = [*QUERIES[:4], *([measured] if measured else [])]
    for several in (queries, ["SELECT COUNT(*) FROM t"]):
        part, whole = cut.scanned(ContingencyCounter, ScanPlan(statistics(several)))
        assert part.words.tolist() == whole.words.tolist()
        assert part.places.tolist() == whole.places.tolist()
        assert part.counts.tolist() == whole.counts.tolist()


@pytest.mark.parametrize("unit", [None, "p", "q"])
def test_marginals(unit: str | None) -> None:
    cut = Cut(odd_rows(), CUT, CHUNK)
    columns = (
        Points("n", Kind.NUMBER, (1.0, 2.0, 3.0)),
        Bins("x", Kind.NUMBER, (0.0, 1.0, 4.0)),
        Categories("s", Kind.TEXT, ("a", "A", "é")),
    )
    several = tuple(Marginal((one,)) for one in columns), Marginal(columns), Marginal(columns[:2])
    plan = MarginalPlan((*several[0], *several[1:]), PrivacyUnit(unit, 2) if unit else None)
    part, whole = cut.scanned(MarginalCounter, plan, unit)
    for marginal in plan.marginals:
        assert part[marginal].tolist() == whole[marginal].tolist()


def test_content_is_that_of_the_whole() -> None:
    cut = Cut(odd_rows(), CUT, CHUNK)
    counter = content_counter(tuple(SCHEMA))
    counts = cut.counted(SparkScan(counter, counter.columns))
    assert counter.whole(counts) == cut.engine.content(cut.table, KEY)


def test_content_of_no_rows() -> None:
    cut = Cut(odd_rows(0), [], 9)
    counter = content_counter(tuple(SCHEMA))
    counts = cut.counted(SparkScan(counter, counter.columns))
    assert counter.whole(counts) == cut.engine.content(cut.table, KEY)
    parts, whole = cut.scanned(HistogramCounter, ScanPlan(statistics(QUERIES)))
    assert [one.mass for one in parts] == [one.mass for one in whole] == [0] * len(QUERIES)


def test_a_lost_partition_shows() -> None:
    cut = Cut(odd_rows(), [200, 100, 100], 1 << 20)
    counter = content_counter(tuple(SCHEMA))
    work = SparkScan(counter, counter.columns)
    whole = counter.whole(cut.counted(work))
    del cut.partitions[1]
    assert counter.whole(cut.counted(work)) != whole


class Broken:
    """Work that fails on one cell, and says it in its message."""

    columns = ("s",)
    persons = None
    distinct: frozenset[int] = frozenset()

    def counts(self, batch: Batch) -> Counts:
        raise ValueError(batch.columns["s"].values.to_pylist())


def test_nothing_but_a_word_leaves_a_worker(capfd: pytest.CaptureFixture[str]) -> None:
    rows = pa.table({"s": ["secret"]})
    good, other = Reading(("s",), pqd.__version__), Reading(("s",), "0.0")
    for reading, reason in ((good, BROKEN), (other, OTHER_VERSION)):
        (batch,) = count_mapper(Broken(), reading)(batches_of(rows, ("s",)))
        assert batch.to_pylist() == [{"part": FAILED, "word": word(reason), "rows": 1}]
    assert capfd.readouterr() == ("", "")


def broken_batches() -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"s": ["secret"]})
    raise ValueError("secret")


@pytest.mark.parametrize("function", ["piece_mapper", "person_mapper"])
def test_an_error_of_a_worker_has_no_words_of_its_own(function: str) -> None:
    reading = Reading(("s",), pqd.__version__)
    mapper: Callable[..., Any] = getattr(workers, function)
    arguments = (reading,) if function == "piece_mapper" else (Persons(), reading)
    with pytest.raises(RuntimeError) as raised:
        list(mapper(*arguments)(broken_batches()))
    error = raised.value
    assert str(error) == "a worker of pqd failed"
    assert error.__context__ is None
    assert error.__cause__ is None


class Persons:
    """Persons that cannot be told."""

    def persons(self, batch: pa.RecordBatch) -> Any:
        raise ValueError(batch["s"].to_pylist())


def test_a_batch_without_rows_between_persons() -> None:
    rows = pa.record_batch({"c0": [1, 2], "person": [7, 7]})
    groups = workers._groups(
        iter([rows, rows.slice(0, 0), rows, rows.slice(0, 0)]), 1, persons=True
    )

    assert [[batch.num_rows for batch in group] for group in groups] == [[2, 2]]


@pytest.mark.parametrize("persons", [[[7, 3]], [[3, 7], [3]], [[3, 7], [], [3]]])
def test_rows_of_one_person_that_are_apart_fail_the_count(persons: list[list[int]]) -> None:
    kinds = pa.schema([("s", pa.string()), ("person", pa.int64())])
    batches = (pa.record_batch([["secret"] * len(each), each], schema=kinds) for each in persons)
    reading = Reading(("s",), pqd.__version__, 1, persons=True)
    *_, batch = count_mapper(Counted(), reading)(batches)
    assert batch.to_pylist() == [{"part": FAILED, "word": word(BROKEN), "rows": 1}]


def test_persons_in_order_may_be_any_numbers() -> None:
    numbers = [-(2**63), -1, 0, 2**63 - 1]
    rows = pa.record_batch({"s": ["a"] * 4, "person": numbers})
    reading = Reading(("s",), pqd.__version__, 1, persons=True)
    parts = list(count_mapper(Counted(), reading)(iter([rows.slice(0, 2), rows.slice(2)])))
    assert [part.num_rows for part in parts] == [0, 0]


class Counted(Broken):
    """Work that counts nothing."""

    def counts(self, batch: Batch) -> Counts:  # noqa: ARG002 - nothing is counted
        return Counts({})


def test_a_person_that_cannot_be_told_fails_the_count() -> None:
    reading = Reading(("s",), pqd.__version__)
    told = list(person_mapper(Persons(), reading)(batches_of(pa.table({"s": ["secret"]}), ("s",))))
    assert told[0].to_pylist() == [{"s": None, "person": None}]
    persons = reading._replace(persons=True)
    (batch,) = count_mapper(Broken(), persons)(iter(told))
    assert batch.to_pylist() == [{"part": FAILED, "word": word(BROKEN), "rows": 1}]
