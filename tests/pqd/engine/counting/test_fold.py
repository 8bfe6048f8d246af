"""What only a fold promises: batches of any size in any order, and each row by itself."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders import Histogram, Lattice
from pqd.deciders.histogram import PackedHistogram
from pqd.engine.column_facts import ColumnFacts
from pqd.engine.contingency import ContingencyCounter
from pqd.engine.counting import facts
from pqd.engine.counting.arrow_sql import worker_sql
from pqd.engine.counting.batch import Batch, concatenated
from pqd.engine.counting.facts import TypedSQL
from pqd.engine.counting.misfits import misfits
from pqd.engine.counting.persons import person_batches
from pqd.engine.counting.recognition import ContentCounter
from pqd.engine.counting.tally import Counter, Counts, JointCounter, Tally, folded
from pqd.engine.histograms import HistogramCounter
from pqd.engine.marginals import Marginal, MarginalCounter, MarginalPlan, Unseen
from pqd.engine.partitions import Bins, Categories
from pqd.engine.scan_plan import Measure, PrivacyUnit, ScanPlan, Statistic
from pqd.sql.query import Query
from pqd.sql.schema import Kind
from tests.support.batches import batch_of
from tests.support.drawing import examples

SCHEMA = {"x": Kind.NUMBER, "s": Kind.TEXT, "p": Kind.TEXT}
Row = tuple[str | None, str | None, str | None]
ROWS = st.tuples(
    st.sampled_from([None, "0", "-0.0", "1", "2.5", "nan", "inf", "x", "9007199254740993"]),
    st.sampled_from([None, "", "a", "A", "it's", "x\0y"]),
    st.sampled_from([None, "p", "q", "r"]),
)
TABLES = st.lists(ROWS, max_size=14)
WHERES = ["", " WHERE x > 0", " WHERE NOT (s = 'a' AND x < 2)", " WHERE LENGTH(s) > x OR s IS NULL"]
VALUES = ["COUNT(*)", "SUM(x)", "COUNT(DISTINCT x)", "COUNT(DISTINCT s)", "SUM(x + LENGTH(s))"]
STEPS, TOTALS = Lattice(-2, 3, "0.5"), Lattice(-4, 6, "0.5")
ARROW = pa.schema([(name, pa.string()) for name in SCHEMA])


def statistics(values: Sequence[str], *, collapsed: bool) -> tuple[Statistic, ...]:
    every = []
    for value in values:
        for where in WHERES:
            bound = Query(f"SELECT {value} FROM D{where}").resolve(SCHEMA)
            lattices = (STEPS, TOTALS) if "SUM" in value else (None, None)
            measure = Measure(bound.value, *lattices) if bound.value else None
            together = collapsed and (measure is None or measure.lattice is not None)
            every.append(Statistic(bound.predicate, measure, bound.columns, together))
    return tuple(every)


BINS = Bins("x", Kind.NUMBER, (0.0, 1.0, 2.0))
TEXTS = Categories("s", Kind.TEXT, ("a", "A"))
MAPS = (Marginal((BINS,)), Marginal((TEXTS, BINS)), Unseen((TEXTS,)))
KEY = b"key"
COUNTERS: dict[str, Callable[[TypedSQL], Counter[Any]]] = {
    "histograms": lambda sql: HistogramCounter(
        sql, ScanPlan(statistics(VALUES, collapsed=False)), KEY
    ),
    "marginals": lambda sql: MarginalCounter(sql, MarginalPlan(MAPS)),
    "contingency": lambda sql: ContingencyCounter(
        sql, ScanPlan(statistics(["SUM(x)"], collapsed=True))
    ),
    "content": lambda sql: ContentCounter(tuple(SCHEMA), KEY, sql.sql.texts),
    "joint": lambda sql: JointCounter(
        *(COUNTERS[name](sql) for name in ("content", "histograms", "marginals"))
    ),
}
# Sums of hashes are taken modulo this; every other count of these tables is far below it.
PRIME = 2**31 - 1


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.table([[row[place] for row in rows] for place in range(len(SCHEMA))], schema=ARROW)


def held(counts: Counts) -> dict[int, dict[Any, int]]:
    """Entries of each tally that are not 0."""
    return {
        number: {
            key: n % PRIME
            for key, n in zip(tally.keys.tolist(), tally.counts.tolist(), strict=True)
            if n % PRIME
        }
        for number, tally in counts.tallies.items()
    }


def counted(name: str, *batches: Batch) -> dict[int, dict[Any, int]]:
    counter = COUNTERS[name](TypedSQL(worker_sql(), SCHEMA))
    return held(folded(map(counter.count, batches)))


def together(*counts: dict[int, dict[Any, int]]) -> dict[int, dict[Any, int]]:
    keys = {(number, key) for each in counts for number, own in each.items() for key in own}
    return {
        number: {
            key: sum(each[number].get(key, 0) for each in counts) % PRIME
            for n, key in keys
            if n == number
        }
        for number in counts[0]
    }


@st.composite
def divided(draw: st.DrawFn) -> tuple[list[Row], list[list[Row]]]:
    """Rows of a table, and the same rows in batches of any size, in any order."""
    rows = draw(TABLES)
    ends = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    mixed = draw(st.permutations(rows))
    pairs = zip([0, *ends], [*ends, len(rows)], strict=True)
    return rows, [mixed[first:last] for first, last in pairs]


@pytest.mark.parametrize("name", COUNTERS)
def test_batches_of_any_size_in_any_order_count_alike(name: str) -> None:
    @given(divided())
    @examples(12)
    def check(division: tuple[list[Row], list[list[Row]]]) -> None:
        rows, batches = division
        parts = [batch_of(table_of(each)) for each in batches]
        assert counted(name, *parts) == counted(name, batch_of(table_of(rows)))

    check()


@pytest.mark.parametrize("name", COUNTERS)
def test_a_row_moves_each_tally_by_its_own_count(name: str) -> None:
    @given(TABLES, ROWS, st.integers(0, 14))
    @examples(12)
    def check(rows: list[Row], row: Row, place: int) -> None:
        more = [*rows[:place], row, *rows[place:]]
        own, others = (
            counted(name, batch_of(table_of([row]))),
            counted(name, batch_of(table_of(rows))),
        )
        assert counted(name, batch_of(table_of(more))) == together(own, others)

    check()


@pytest.mark.parametrize("name", COUNTERS)
def test_to_forget_every_value_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("1", "a", "p"), (None, "A", "q"), ("nan", None, "p"), ("2.5", "x\0y", None)] * 3
    parts = [batch_of(table_of(rows[first : first + 5])) for first in (0, 5, 10)]
    remembered = counted(name, *parts)
    monkeypatch.setattr(facts, "MOST", -1)
    assert counted(name, *parts) == remembered


@pytest.mark.parametrize("most", [0, 1, 255, 256, 65_536, 2**32])
def test_a_packed_tally_holds_what_it_was_made_of(most: int) -> None:
    every = np.array([-3, 0, 5, 7, 2**60, 2**61, 2**62, 2**63 - 1])
    counts = np.array([most, 0, 1, 0, most, 0, 0, 2])
    packed, plain = Tally.among(every, counts), Tally.of(every[counts > 0], counts[counts > 0])
    assert packed.packed
    assert not plain.packed
    other = Tally.of(np.array([0, 5]), np.array([4, most + 1]))
    for one, same in (
        (packed, plain),
        (packed + other, plain + other),
        (packed + packed, plain + plain),
    ):
        assert one.keys.tolist() == same.keys.tolist()
        assert one.counts.tolist() == same.counts.tolist()
        assert one.counts.dtype == np.int64


def test_a_histogram_that_is_unpacked_each_time_is_the_same() -> None:
    made: list[Histogram] = []

    def unpacked() -> Histogram:
        made.append(Histogram.ascending(np.array([-2, 0, 7]), np.array([3, 1, 2])))
        return made[-1]

    packed = PackedHistogram(unpacked)
    assert made == []
    plain = unpacked()
    for name in ("values", "counts", "cumulative_counts", "cumulative_sums"):
        assert (
            np.asarray(getattr(packed, name)).tolist() == np.asarray(getattr(plain, name)).tolist()
        )
    assert (packed.mass, packed.total) == (plain.mass, plain.total) == (6, 8)
    assert len(made) > 4


def by_person(most: int, *batches: Sequence[Row]) -> dict[int, dict[Any, int]]:
    """Counts of persons."""
    plan = ScanPlan(statistics(VALUES, collapsed=True), PrivacyUnit("p", most))
    counter = HistogramCounter(TypedSQL(worker_sql(), SCHEMA), plan, KEY)
    every = [batch_of(table_of(rows)) for rows in batches]
    return held(folded(map(counter.count, person_batches(every, "p", most))))


@given(TABLES, st.integers(1, 3), st.sampled_from([None, "p", "q"]), st.integers(1, 9))
@examples(25)
def test_a_person_moves_each_tally_by_the_person_s_own_count(
    rows: list[Row], most: int, person: str | None, size: int
) -> None:
    own = [row for row in rows if row[2] == person]
    others = [row for row in rows if row[2] != person]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pqd.engine.counting.batch.JOINED", size)
        assert by_person(most, rows) == together(by_person(most, own), by_person(most, others))


@given(divided(), st.integers(1, 3), st.integers(1, 9))
@examples(25)
def test_persons_count_alike_whatever_batches_their_rows_are_in(
    division: tuple[list[Row], list[list[Row]]], most: int, size: int
) -> None:
    rows, batches = division
    whole = by_person(most, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pqd.engine.counting.batch.JOINED", size)
        assert by_person(most, *batches) == whole


def column_facts(*batches: Sequence[Row]) -> ColumnFacts:
    """Facts of a copy that was read in batches."""
    rows = concatenated([batch_of(table_of(each)) for each in batches])
    return ColumnFacts(TypedSQL(worker_sql(), SCHEMA), rows, {name: name for name in SCHEMA})


def public_facts(facts: ColumnFacts) -> tuple[Any, ...]:
    """All that a copy tells of its columns."""
    values = [facts.distinct_values(name, 99) for name in ("s", "p")]
    lattices = [
        facts.lattice(value, person) for value in ('"x"', '"x" * 2') for person in (None, "p")
    ]
    groups = facts.groups(
        ["s", "p"], Query("SELECT COUNT(*) FROM D WHERE x > 0").resolve(SCHEMA), 9
    )
    return values, lattices, groups, value_counts(facts)


def value_counts(facts: ColumnFacts) -> dict[tuple[str, Any], int]:
    """Rows with each value of each column, those without a value under None."""
    every: dict[tuple[str, Any], int] = {}
    for name in SCHEMA:
        counts = facts.value_counts(name)
        pairs = zip(counts.values.tolist(), counts.counts.tolist(), strict=True)
        every |= {(name, value): rows for value, rows in pairs}
        every[name, None] = counts.nulls
    return every


@pytest.mark.parametrize(
    ("value", "step"),
    [('"x"', "0.01"), ('"x" * 3', "0.01"), ('"x" + 0.1', "0.01"), ('"x" * "x" * "x"', "0.000001")],
)
def test_the_step_of_sums_and_products_of_cents_is_a_cent(value: str, step: str) -> None:
    """A double is a little off: 0.1 + 0.2 is no multiple of a cent, but for rounding."""
    rows: list[Row] = [(number, "s", "p") for number in ("0.29", "0.2", "1.15", "0.3")]
    lattice = column_facts(rows).lattice(value, None)
    assert lattice is not None
    assert lattice.step == Fraction(step)


@given(divided())
@examples(25)
def test_facts_of_a_copy_are_alike_whatever_batches_its_rows_are_in(
    division: tuple[list[Row], list[list[Row]]],
) -> None:
    rows, batches = division
    assert public_facts(column_facts(*batches)) == public_facts(column_facts(rows))


@given(TABLES, ROWS, st.integers(0, 14))
@examples(25)
def test_a_row_of_a_copy_has_its_own_values_and_cells(
    rows: list[Row], row: Row, place: int
) -> None:
    more, place = column_facts([*rows[:place], row, *rows[place:]]), min(place, len(rows))
    others, own = column_facts(rows), column_facts([row])
    counts = value_counts(more)
    parts = value_counts(others), value_counts(own)
    assert counts == {key: sum(each.get(key, 0) for each in parts) for key in counts}
    codes = more.codes([BINS, TEXTS]).tolist()
    assert codes.pop(place) == own.codes([BINS, TEXTS]).tolist()[0]
    assert codes == others.codes([BINS, TEXTS]).tolist()


@given(divided())
@examples(25)
def test_cells_that_do_not_fit_a_kind_are_counted_alike_in_any_batches(
    division: tuple[list[Row], list[list[Row]]],
) -> None:
    rows, batches = division
    whole, *parts = (
        misfits(worker_sql(), batch_of(table_of(each)).columns["x"], Kind.NUMBER)
        for each in (rows, *batches)
    )
    assert whole.cells == sum(each.cells for each in parts)
    assert whole.unfit == sum(each.unfit for each in parts)
