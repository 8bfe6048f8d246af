"""Privacy units: one person more or less moves the engine's histogram by what is charged for it.

All rows with one value of a column are one person.  COUNT counts people and SUM adds one clamped
total per person, so a person is one entry.  Of COUNT DISTINCT at most k values of a person count;
everywhere else the rows of a person share the weight of at most k rows.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pqd.accounting.composition import SEQUENTIAL
from pqd.commands.audit import run_audit
from pqd.deciders import Histogram, Lattice, SecureNoise
from pqd.engine import histograms as histograms_home
from pqd.engine.counting import persons as persons_home
from pqd.engine.counting.persons import PARTS
from pqd.engine.counting.tally import Tally
from pqd.engine.scan_plan import Measure, PrivacyUnit, ScanPlan
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import ParameterError
from pqd.parameters import Parameters, privacy_unit
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.query_verdict import PlannedQueryVerdict, QueryVerdictPlan, select_deciders
from pqd.sql.workload_files import as_queries
from tests.support.likeness import like

Row = tuple[Any, ...]
NAMES = ("pid", "age", "pay", "job")

# Bounds are narrower than what the private tables hold, and pay is off its lattice there.
FACTS: dict[str, dict[str, Any]] = {
    "age": {"bounds": (0, 7)},
    "pay": {"bounds": (-2, 5), "step": "0.5"},
}
SYNTHETIC = pd.DataFrame(
    {
        "pid": ["p", "p", "q", "r"],
        "age": [1.0, 2.0, 3.0, 6.0],
        "pay": [0.5, -1.0, 2.0, 4.5],
        "job": ["a", "b", "a", "c"],
    }
)

ONCE = [
    "SELECT COUNT(*) FROM D",
    "SELECT COUNT(pay) FROM D WHERE age > 1",
    "SELECT COUNT(*) FROM D WHERE job <> 'a' OR job IS NULL",
    "SELECT SUM(pay) FROM D",
    "SELECT SUM(pay) FROM D WHERE job IN ('a', 'b')",
    "SELECT SUM(age) FROM D WHERE age <> 2",
]
BY_ROWS = [
    "SELECT AVG(pay) FROM D",
    "SELECT MEDIAN(age) FROM D WHERE job <> 'b'",
    "SELECT QUANTILE(pay, 0.25) FROM D WHERE age < 5",
    "SELECT COUNT(DISTINCT job) FROM D",
    "SELECT COUNT(DISTINCT age) FROM D WHERE pay > 0",
]


def terms() -> Parameters:
    return Parameters.parse(tau="1.5", epsilon="0.5", alpha="0.05", columns=FACTS)


def planned(
    tables: SyntheticTables,
    requests: Sequence[QueryRequest],
    stated: Parameters,
    unit: PrivacyUnit | None,
) -> QueryVerdictPlan:
    plan = select_deciders(bind(tables, requests, stated.columns, unit))
    plan.bound.check()
    return plan


@cache
def planned_verdicts(
    sqls: tuple[str, ...], most: int
) -> tuple[tuple[PlannedQueryVerdict, ...], Any]:
    """Verdicts that the product plans, with the schema that their queries are bound to."""
    requests = [QueryRequest(query, terms()) for query in as_queries(sqls)]
    unit = PrivacyUnit("pid", most)
    tables = open_table(SYNTHETIC, "private"), open_table(SYNTHETIC, "synthetic")
    bound = bind(SyntheticTables(tables[1:], tables[0]), requests, terms().columns, unit)
    plan = select_deciders(bound)
    plan.bound.check()
    return plan.verdicts, plan.bound.schema


def frame_of(rows: Sequence[Row]) -> pd.DataFrame:
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(NAMES)
    frame = pd.DataFrame(dict(zip(NAMES, columns, strict=True)), dtype=object)
    return frame.astype({"age": "float64", "pay": "float64"})


def histograms(
    private: object, most: int, sqls: Sequence[str] = (*ONCE, *BY_ROWS)
) -> list[Histogram]:
    verdicts, schema = planned_verdicts(tuple(sqls), most)
    engine = SyntheticTable()
    table = open_table(private, "private")
    unit = PrivacyUnit("pid", most)
    workload = ScanPlan(tuple(verdict.statistic for verdict in verdicts), unit)
    return list(engine.histograms(table, schema, workload))


def entries(histogram: Histogram) -> Counter[int]:
    values, counts = histogram.values.tolist(), histogram.counts.tolist()  # noqa: PD011 - no pandas
    return Counter(dict(zip(values, counts, strict=True)))


def moved(sql: str, here: Histogram, there: Histogram) -> int:
    """How many rows, or parts of rows, must change to make one histogram of the other."""
    if "DISTINCT" not in sql:
        one, other = entries(here), entries(there)
        return ((one - other) + (other - one)).total()
    # Multiplicities: the two sorted lists, paired largest with largest.
    held = [sorted(entries(h).elements(), reverse=True) for h in (here, there)]
    width = max(map(len, held))
    padded = ([*each, *[0] * (width - len(each))] for each in held)
    return sum(abs(a - b) for a, b in zip(*padded, strict=True))


def written(rows: Sequence[Row], path: Path) -> Path:
    frame_of(rows).to_csv(path, index=False)
    return path


def check_neighbours(
    rows: Sequence[Row], most: int, made: Callable[[Sequence[Row]], object]
) -> None:
    """Without any one person, every histogram moves by at most what that person is charged."""
    sqls = [*ONCE, *BY_ROWS]
    verdicts, _ = planned_verdicts(tuple(sqls), most)
    whole = histograms(made(rows), most)
    for person in dict.fromkeys(row[0] for row in rows):
        rest = histograms(made([row for row in rows if row[0] != person]), most)
        for sql, verdict, here, there in zip(sqls, verdicts, whole, rest, strict=True):
            allowed = 1 if sql in ONCE else most
            parts = 1 if sql in ONCE or "DISTINCT" in sql else PARTS
            assert {here.row_parts, there.row_parts} <= {1, parts}, sql
            assert moved(sql, here, there) <= allowed * parts, (sql, person)
            if not verdict.is_constant:
                # What is charged is that many times epsilon, exactly.
                assert verdict.measurement.cost == allowed * Fraction(1, 2), sql
            assert here.mass >= there.mass, (sql, person)


persons = st.sampled_from(["p", "q", "r", None])
ages = st.sampled_from([0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 9.0, -4.0, 1e18, np.nan, np.inf])
pays = st.sampled_from(
    [0.0, 0.5, 1.0, -1.0, 0.26, -0.74, 5.0, 9.0, -9.0, 1e300, -1e300, np.nan, np.inf]
)
jobs = st.sampled_from(["a", "b", "c", "spy", None])
tables = st.lists(st.tuples(persons, ages, pays, jobs), min_size=1, max_size=10)
# Rows that repeat to the letter.
repeated = tables.map(lambda rows: [*rows, *rows[:4]])


@settings(max_examples=24)
@given(rows=repeated, most=st.integers(1, 3))
def test_a_person_moves_a_frame_by_what_is_charged(rows: list[Row], most: int) -> None:
    check_neighbours(rows, most, frame_of)


@settings(max_examples=15)
@given(rows=repeated, most=st.integers(1, 3))
def test_a_person_moves_a_file_by_what_is_charged(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], most: int
) -> None:
    path = tmp_path_factory.mktemp("private") / "private.csv"
    check_neighbours(rows, most, lambda kept: written(kept, path))


ADVERSARIAL: dict[str, list[Row]] = {
    "one person with everything": [("p", n % 9 - 1.0, n / 3, "abc"[n % 3]) for n in range(30)],
    "many rows of two": [("pq"[n % 2], n % 7, n % 5, "abc"[n % 3]) for n in range(40)],
    "nobody has a name": [(None, n % 7, n % 5 - 2.0, "abc"[n % 3]) for n in range(20)],
    "the same row always": [("p", 3.0, 2.0, "a")] * 20 + [("q", 3.0, 2.0, "a")] * 20,
    "a person each": [(f"p{n}", n % 7, n % 5, "abc"[n % 3]) for n in range(20)],
}


@pytest.mark.parametrize("name", ADVERSARIAL)
@pytest.mark.parametrize("most", [1, 4])
def test_people_with_many_rows_move_no_more(name: str, most: int) -> None:
    check_neighbours(ADVERSARIAL[name], most, frame_of)


# Broken twins


def by_all_rows(person: NDArray[Any], most: int) -> NDArray[Any]:
    """Weights by the number of all rows: how many rows others have moves each weight."""
    rows = max(1, person.size)
    return np.full(person.size, PARTS * min(rows, most) // rows)


def whole_rows(person: NDArray[Any], most: int) -> NDArray[Any]:
    """Each row counts as a whole row, however many the person has."""
    del most
    return np.full(person.size, PARTS)


def every_value(measured: Any, statistic: Any, rows: NDArray[Any]) -> Tally:
    """All distinct values of a person count."""
    batch = replace(measured.batch, max_rows=99)
    everyone = histograms_home._Measured(batch, measured._facts)
    return FEW(everyone, statistic, rows)


def rows_for_people(measured: Any, measure: Measure | None, rows: NDArray[Any]) -> Tally:
    if measure is None:
        return Tally.of(np.zeros(rows.size, np.int64))
    return PERSONS(measured, measure, rows)


def rows_for_totals(measured: Any, measure: Measure | None, rows: NDArray[Any]) -> Tally:
    if measure is None:
        return PERSONS(measured, measure, rows)
    found: Tally = measured.of(measure).tally(rows)
    return found


PERSONS, FEW = histograms_home._persons, histograms_home._few_values
TWINS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "weights by everybody's rows": (histograms_home, "row_weights", by_all_rows),
    "rows without weights": (histograms_home, "row_weights", whole_rows),
    "all values of a person": (histograms_home, "_few_values", every_value),
    "COUNT of rows": (histograms_home, "_persons", rows_for_people),
    "SUM of rows": (histograms_home, "_persons", rows_for_totals),
}


def check_all() -> None:
    for rows in ADVERSARIAL.values():
        check_neighbours(rows, 2, frame_of)


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_twin_is_caught(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr(*TWINS[name])
    with pytest.raises(AssertionError):
        check_all()
    record_property("mutant", name)
    record_property("caught_by", "without a person: more entries move than are charged")


# Totals


def total_of(values: Sequence[float], lattice: Lattice) -> Fraction:
    """A person's total in plain Python: rows to whole steps within the largest total, clamped."""
    most = max(abs(lattice.lower), abs(lattice.upper))
    least = Fraction(0) if lattice.lower >= 0 else -most
    whole = Fraction(0)
    for value in values:
        if value in {np.inf, -np.inf}:
            whole += most if value > 0 else least
            continue
        steps = (Fraction(value) - least) / lattice.step + Fraction(1, 2)
        snapped = least + (steps.numerator // steps.denominator) * lattice.step
        whole += min(max(snapped, least), most)
    return min(max(whole, lattice.lower), lattice.upper)


def people(rows: Sequence[Row]) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return found


def check_totals(rows: Sequence[Row]) -> None:
    """COUNT and SUM against plain Python."""
    counts = {
        ONCE[0]: lambda row: True,  # noqa: ARG005 - a rule of every row
        ONCE[1]: lambda row: not np.isnan(row[2]) and row[1] > 1,
        ONCE[2]: lambda row: row[3] != "a",
    }
    sums: dict[str, tuple[int, Lattice, Callable[[Row], bool]]] = {
        ONCE[3]: (2, Lattice(-2, 5, "0.5"), lambda row: True),  # noqa: ARG005 - the same
        ONCE[4]: (2, Lattice(-2, 5, "0.5"), lambda row: row[3] in {"a", "b"}),
        ONCE[5]: (1, Lattice(0, 7), lambda row: row[1] != 2),
    }
    found = dict(zip(ONCE, histograms(frame_of(rows), 1, ONCE), strict=True))
    for sql, rule in counts.items():
        held = sum(any(map(rule, theirs)) for theirs in people(rows).values())
        assert entries(found[sql]) == (Counter({0: held}) if held else Counter()), sql
    for sql, (place, lattice, rule) in sums.items():
        expected: Counter[Fraction] = Counter()
        for theirs in people(rows).values():
            values = [row[place] for row in theirs if rule(row) and not np.isnan(row[place])]
            if values:
                expected[total_of(values, lattice)] += 1
        shown = {value * lattice.unit: count for value, count in entries(found[sql]).items()}
        assert shown == dict(expected), sql


@settings(max_examples=40)
@given(rows=repeated)
def test_counts_and_totals_equal_plain_python(rows: list[Row]) -> None:
    check_totals(rows)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_counts_and_totals_of_many_rows_equal_plain_python(name: str) -> None:
    check_totals(ADVERSARIAL[name])


def open_totals(steps: NDArray[Any], lattice: Lattice) -> NDArray[Any]:
    """The wrong totals: rows are clamped, and their sum is not."""
    places: NDArray[Any] = steps - round(lattice.lower / lattice.step)
    return places


def test_a_twin_that_clamps_rows_but_not_totals_is_caught(
    monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.setattr(histograms_home, "_clamped", open_totals)
    with pytest.raises(AssertionError):
        check_totals(ADVERSARIAL["one person with everything"])
    record_property("mutant", "SUM with clamped rows and open totals")
    record_property("caught_by", "totals in plain Python: beyond the lattice of totals")


def test_totals_beyond_doubles_are_exact() -> None:
    """One row short of an end of the lattice, among rows that together leave 2^53 far behind."""
    most = 2**50
    facts = {"v": {"bounds": (-most, most), "step": 1}}
    stated = Parameters.parse(tau=1, epsilon=1, alpha="0.05", columns=facts)
    synthetic = pd.DataFrame({"pid": ["p"], "v": [1.0]})
    rows = [
        *[("up", float(most))] * 5_000,
        *[("down", -float(most))] * 5_000,
        *[("zero", float(most))] * 5_000,
        *[("zero", -float(most))] * 5_000,
        ("zero", 3.0),
        *[("odd", float(most - 1))] * 1_001,
        *[("odd", -float(most - 1))] * 1_000,
    ]
    private = pd.DataFrame(rows, columns=["pid", "v"]).sample(frac=1.0, random_state=3)
    unit = PrivacyUnit("pid")
    tables = open_table(private, "private"), open_table(synthetic, "synthetic")
    plan = planned(
        SyntheticTables(tables[1:], tables[0]),
        [QueryRequest(as_queries("SELECT SUM(v) FROM D")[0], stated)],
        stated,
        unit,
    )
    scan = ScanPlan((plan.verdicts[0].statistic,), unit)
    bound = plan.bound
    (found,) = bound.tables.engine.histograms(bound.private, bound.schema, scan)
    assert entries(found) == Counter({-most: 1, 3: 1, most - 1: 1, most: 1})


# Weights


OF_ROWS = ["SELECT AVG(row) FROM D", "SELECT AVG(row) FROM D WHERE job <> 'b'"]


def weights(private: Any, most: int, *, beside: Sequence[str] = ()) -> dict[int, int]:
    """The weight of each row, by number, in parts of a row."""
    facts = {"row": {"bounds": (0, 999)}}
    stated = Parameters.parse(tau=1, epsilon=1, alpha="0.05", columns=facts)
    synthetic = pd.DataFrame({"pid": ["p"], "row": [1.0], "job": ["a"]})
    unit = PrivacyUnit("PID", most)
    requests = [QueryRequest(query, stated) for query in as_queries([*OF_ROWS[:1], *beside])]
    tables = open_table(private, "private"), open_table(synthetic, "synthetic")
    plan = planned(SyntheticTables(tables[1:], tables[0]), requests, stated, unit)
    statistics = tuple(verdict.statistic for verdict in plan.verdicts)
    bound = plan.bound
    scan = ScanPlan(statistics, unit)
    found = bound.tables.engine.histograms(bound.private, bound.schema, scan)
    held = dict(entries(found[0]))
    if beside:
        # A row weighs as much in every query.
        job = dict(zip(private["row"], private["job"], strict=True))
        matching = {row: weight for row, weight in held.items() if job[row] in {"a", "c"}}
        assert dict(entries(found[1])) == matching
    return held


def numbered(seed: int, size: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "pid": [["p", "q", "r", "s", None][n] for n in rng.integers(0, 5, size)],
            "row": np.arange(size),
            "job": [["a", "b", "c", None][n] for n in rng.integers(0, 4, size)],
            "more": rng.normal(size=size),
        }
    )


@pytest.mark.parametrize("most", [1, 3, 100])
def test_the_rows_of_a_person_share_its_weight(most: int) -> None:
    private = numbered(1)
    person = private["pid"].fillna("nobody")
    rows = person.map(person.value_counts())
    whole = weights(private, most)
    own = [PARTS * min(number, most) // number for number in rows]
    assert whole == dict(zip(private["row"], own, strict=True))
    assert weights(private.sample(frac=1.0, random_state=1), most) == whole
    assert weights(private.sort_values("more"), most) == whole
    assert weights(private, most, beside=OF_ROWS[1:]) == whole
    for name in person.unique():
        theirs = set(private["row"][person == name])
        mine = {row: weight for row, weight in whole.items() if row in theirs}
        others = {row: weight for row, weight in whole.items() if row not in theirs}
        assert sum(mine.values()) <= PARTS * min(most, len(theirs))
        assert sum(mine.values()) > PARTS * min(most, len(theirs)) - len(theirs)
        assert weights(private[person == name], most) == mine
        assert weights(private[person != name], most) == others


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 12, 16])
def test_up_to_sixteen_rows_weigh_a_whole_row_together(rows: int) -> None:
    person = np.repeat([0, 1, 2], [rows, 1, rows])
    parts = persons_home.row_weights(person, 1)
    assert parts.tolist() == [*[PARTS // rows] * rows, PARTS, *[PARTS // rows] * rows]
    assert parts[:rows].sum() == PARTS


# Numbers that pandas rounds where one is missing, and other types that one cell changes.
CHANGED: dict[str, tuple[list[Any], Any]] = {
    "whole numbers": ([*range(60)], None),
    "truths": ([n % 3 == 0 for n in range(60)], None),
    "64 bits": ([1_750_000_000_000_000_000 + 7 * n for n in range(60)], None),
    "64 bits beside a text": ([1_750_000_000_000_000_000 + 7 * n for n in range(60)], "x"),
    "singles": ([*np.arange(60, dtype="float32") / 10], None),
    "tenths beside a text": ([n / 10 for n in range(60)], "x"),
    "truths beside a text": ([n % 3 == 0 for n in range(60)], "x"),
    "moments beside a text": ([pd.Timestamp(2020, 1, 1 + n % 28, n % 24) for n in range(60)], "x"),
    "another unit": (
        [pd.Timestamp(2020, 1, 1 + n % 28, n % 24) for n in range(60)],
        pd.Timestamp("2020-01-01 00:00:00.000000001"),
    ),
}


@pytest.mark.parametrize("how", ["frame", "category", "csv"])
@pytest.mark.parametrize("name", CHANGED)
def test_a_cell_that_changes_a_column_s_type_moves_no_row_of_others(
    name: str, how: str, tmp_path: Path
) -> None:
    cells, odd = CHANGED[name]
    private = numbered(1).assign(more=cells)
    another = pd.DataFrame({"pid": ["t"], "row": [999], "job": ["a"], "more": [odd]})
    tables: list[Any] = [private, pd.concat([private, another], ignore_index=True)]
    for number, table in enumerate(tables):
        if how == "category":
            tables[number] = table.assign(more=table["more"].astype("category"))
        if how == "csv":
            tables[number] = tmp_path / f"{number}.csv"
            table.to_csv(tables[number], index=False)
    before, after = (weights(table, 1) for table in tables)
    assert after == {**before, 999: PARTS}


@pytest.mark.parametrize("odd", [None, "x", 2.5])
def test_a_cell_that_changes_the_unit_s_type_makes_no_two_persons_one(odd: Any) -> None:
    """Of numbers that are one double from the start, and of others."""
    ids = [1_750_000_000_000_000_000 + 60 * n for n in range(60)]
    private = numbered(1).assign(pid=ids)
    another = pd.DataFrame({"pid": [odd], "row": [999], "job": ["a"]})
    before = weights(private, 1)
    after = weights(pd.concat([private, another], ignore_index=True), 1)
    assert after == {**before, 999: PARTS}
    assert len({*before.values()}) > 1


def values_of(rows: Sequence[Row], most: int) -> Counter[int]:
    """How many of the distinct values of age count once, twice, and so on."""
    (found,) = histograms(frame_of(rows), most, ["SELECT COUNT(DISTINCT age) FROM D"])
    return entries(found)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_few_distinct_values_of_a_person_count(most: int) -> None:
    rows = [(f"p{n % 5}", float(n % 9), n / 4 - 3, "abcd"[n % 4]) for n in range(60)]
    by_person = {name: {row[1] for row in theirs} for name, theirs in people(rows).items()}
    chosen = {}
    for name, held in by_person.items():
        alone = values_of([row for row in rows if row[0] == name], most)
        assert alone == Counter({1: min(most, len(held))}), name
        chosen[name] = min(most, len(held))
    found = values_of(rows, most)
    assert sum(value * count for value, count in found.items()) == sum(chosen.values())
    # Repeated rows of a person, and their order, change nothing.
    assert values_of([*reversed(rows), *rows[:7]], most) == found
    everything = Counter(Counter(age for held in by_person.values() for age in held).values())
    assert values_of(rows, 99) == everything


def test_persons_of_many_values_do_not_all_take_the_same() -> None:
    """The order of the values is the person's own: one value each makes many distinct values."""
    rng = np.random.default_rng(5)
    rows = [
        (f"p{n}", float(age), 0.0, "a")
        for n in range(200)
        for age in rng.choice(20, size=6, replace=False)
    ]
    assert sum(values_of(rows, 1).values()) > 15


def test_weights_of_matching_rows_are_what_is_counted() -> None:
    """A mean of the rows that match, in plain Python."""
    rows = [(f"p{n % 7 % 5}", float(n % 9), n / 4 - 3, "abcd"[n % 4]) for n in range(60)]
    number = Counter(row[0] for row in rows)
    sql = "SELECT AVG(age) FROM D WHERE job <> 'b'"
    (found,) = histograms(frame_of(rows), 3, [sql])
    expected: Counter[int] = Counter()
    for person, age, _, job in rows:
        if job != "b":
            value = int(min(max(age, 0), 7))
            expected[value] += PARTS * min(3, number[person]) // number[person]
    assert entries(found) == expected


# What is charged


GROUPED = "SELECT {} FROM D GROUP BY job"


@pytest.mark.parametrize(
    ("operand", "rows"),
    [
        ("COUNT(*)", 1),
        ("SUM(age)", 1),
        ("COUNT(age)", 1),
        ("MEDIAN(age)", 7),
        ("AVG(age)", 7),
        ("COUNT(DISTINCT age)", 7),
    ],
)
def test_people_may_be_in_every_group_so_groups_add_up(operand: str, rows: int) -> None:
    unit, queries = PrivacyUnit("pid", 7), as_queries(GROUPED.format(operand))
    report = run_audit(like(SYNTHETIC), SYNTHETIC, queries, only_age(), SecureNoise(), unit=unit)
    assert (report.cost.rule, report.spent) == (SEQUENTIAL, rows * 3 * Fraction(1, 2))
    assert (report.cost.unit, report.cost.max_rows) == ("pid", 7)


def test_margins_of_one_person_in_two_groups_both_move() -> None:
    """Why groups of weights add up too: a half of a row in each of two groups moves both margins.

    A margin is one of whole rows, so half a row may move it by 1.
    """
    sqls = tuple(f"SELECT MEDIAN(age) FROM D WHERE job = '{job}'" for job in "ab")
    verdicts, _ = planned_verdicts(sqls, 1)
    rows = [(f"p{n}", 3.0, 0.0, "ab"[n % 2]) for n in range(8)]
    torn = [("q", 3.0, 0.0, "a"), ("q", 3.0, 0.0, "b")]
    margins = [
        [
            verdict.measurement.margin(own, 0)  # type: ignore[attr-defined]
            for verdict, own in zip(verdicts, histograms(frame_of(table), 1, sqls), strict=True)
        ]
        for table in (rows, [*rows, *torn])
    ]
    assert [after - before for before, after in zip(*margins, strict=True)] == [1, 1]
    assert {v.measurement.composition_cost.region for v in verdicts} == {None}


def only_age() -> Parameters:
    facts = {"age": FACTS["age"]}
    return Parameters.parse(tau="1.5", epsilon="0.5", alpha="0.05", columns=facts)


def test_disjoint_counts_of_one_person_really_overlap() -> None:
    """Why groups of people add up: without one person every group's count is one less."""
    rows = [("p", float(age), 0.0, "a") for age in range(5)]
    sqls = [f"SELECT COUNT(*) FROM D WHERE age = {age}" for age in (1, 2, 3)]
    assert [h.mass for h in histograms(frame_of(rows), 1, sqls)] == [1, 1, 1]
    assert [h.mass for h in histograms(frame_of([]), 1, sqls)] == [0, 0, 0]
    verdicts, _ = planned_verdicts(tuple(sqls), 1)
    assert {v.measurement.composition_cost.region for v in verdicts} == {None}


# Queries that differ must not be taken for one another


def key_of(
    sql: str,
    *,
    synthetic: pd.DataFrame = SYNTHETIC,
    unit: PrivacyUnit | None = None,
    **changed: Any,
) -> str:
    facts = {"tau": "1.5", "epsilon": "0.5", "alpha": "0.05", "columns": FACTS, **changed}
    stated = Parameters.parse(**facts)
    (query,) = as_queries(sql)
    tables = open_table(SYNTHETIC, "private"), open_table(synthetic, "synthetic")
    plan = planned(
        SyntheticTables(tables[1:], tables[0]),
        [QueryRequest(query, stated)],
        stated,
        unit,
    )
    return plan.verdicts[0].measurement.cache_key


def bounds(low: int, high: int, step: str | int = 1) -> dict[str, Any]:
    return {"columns": {"age": {"bounds": (low, high), "step": step}}}


DIFFERENT: list[list[dict[str, Any]]] = [
    [
        {"sql": f"SELECT {operand} FROM D"}
        for operand in (
            *("COUNT(*)", "COUNT(age)", "COUNT(pay)", "COUNT(DISTINCT age)", "COUNT(DISTINCT pay)"),
            *("SUM(age)", "AVG(age)", "MEDIAN(age)", "QUANTILE(age, 0.5)", "QUANTILE(age, 0.25)"),
            *("SUM(age + 0)", "COUNT(DISTINCT job)", "COUNT(DISTINCT age * 2)"),
        )
    ],
    [
        {"sql": f"SELECT COUNT(*) FROM D WHERE {where}"}
        for where in (
            *(
                "job = 'a'",
                "job = 'A'",
                "job = 'a '",
                "job LIKE 'a'",
                "job ILIKE 'a'",
                "job <> 'a'",
            ),
            *("job = 'a' AND age = 1", "job = 'a' OR age = 1", "job = 'a'' and ''b'"),
            *("job = 'a' AND job = 'b'", "job = 'a and job = b'", "age = 1", "age = 2", "pay = 1"),
            *("age > 1 AND (pay > 1 OR job = 'a')", "(age > 1 AND pay > 1) OR job = 'a'"),
            *("age IS NULL", "age = 0.1", "age = 0.10000000000000002"),
        )
    ],
    [
        {"sql": "SELECT SUM(age) FROM D", "tau": 3, **changed}
        for changed in (
            *({}, {"tau": 4}, {"epsilon": "0.25"}, bounds(0, 8), bounds(-1, 7)),
            *(bounds(0, 7, "0.5"), {"mechanism": "lm_sum"}, {"mechanism": "r2t_sum"}),
            *({"unit": PrivacyUnit("pid")}, {"unit": PrivacyUnit("job")}),
        )
    ],
    [
        {"sql": "SELECT MEDIAN(age) FROM D", "unit": unit}
        for unit in (None, PrivacyUnit("pid"), PrivacyUnit("pid", 2), PrivacyUnit("job", 2))
    ],
    [
        {
            "sql": "SELECT COUNT(DISTINCT age) FROM D WHERE job = 'a' OR age IS NULL",
            "columns": facts,
        }
        for facts in ({}, {"age": {"type": "text"}})
    ],
]


@pytest.mark.parametrize("number", range(len(DIFFERENT)))
def test_different_queries_have_different_keys(number: int) -> None:
    keys = {key_of(**asked): asked for asked in DIFFERENT[number]}
    assert len(keys) == len(DIFFERENT[number])


SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        # Of few rows it hangs on alpha which decider auto takes.
        {"sql": "SELECT COUNT(*) FROM D", "mechanism": "inv_count"},
        {"sql": "select count(*) from d", "mechanism": "inv_count", "alpha": "0.01"},
    ),
    (
        {"sql": "SELECT COUNT(*) FROM D WHERE age = 1 AND job = 'a'"},
        {"sql": "SELECT COUNT(*) FROM D WHERE JOB = 'a' AND (AGE = 1.0)"},
    ),
    (
        {"sql": "SELECT COUNT(*) FROM D", "unit": PrivacyUnit("pid", 2)},
        {"sql": "SELECT COUNT(*) FROM D", "unit": PrivacyUnit("PID", 5)},
    ),
    (
        {"sql": "SELECT COUNT(*) FROM D WHERE age >= 0"},
        {"sql": "SELECT COUNT(*) FROM D WHERE age >= 0", "synthetic": SYNTHETIC.iloc[[3, 0, 2, 1]]},
    ),
]


@pytest.mark.parametrize("number", range(len(SAME)))
def test_one_query_has_one_key(number: int) -> None:
    first, second = SAME[number]
    assert key_of(**first) == key_of(**second)


def test_another_kind_of_the_same_column_is_another_query() -> None:
    text = SYNTHETIC.assign(age=["1", "2", "3", "x"])
    sql = "SELECT COUNT(DISTINCT age) FROM D"
    no_facts: dict[str, Any] = {"columns": {}}
    assert key_of(sql, **no_facts) != key_of(sql, synthetic=text, **no_facts)


# Tables without the column


def test_a_private_table_without_the_column_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "private.csv"
    path.write_text("age,pay,job\n1,2,zebra-canary\n", encoding="utf-8")
    scanned: list[object] = []

    class Watched(SyntheticTable):
        def histograms(self, *arguments: Any, **named: Any) -> tuple[Histogram, ...]:
            scanned.append(arguments[0])
            return super().histograms(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pqd.engine.synthetic_tables.SyntheticTable", Watched)
        queries = as_queries("SELECT COUNT(*) FROM D")
        with pytest.raises(ParameterError, match='"pid"') as caught:
            run_audit(path, SYNTHETIC, queries, only_age(), SecureNoise(), unit=PrivacyUnit("pid"))
    assert not scanned
    assert "zebra" not in str(caught.value)


def test_a_synthetic_table_without_the_column_has_a_person_per_row() -> None:
    synthetic = SYNTHETIC.drop(columns="pid")
    queries = as_queries(
        ["SELECT COUNT(*) FROM D", "SELECT SUM(age) FROM D", "SELECT AVG(age) FROM D"]
    )
    unit = PrivacyUnit("pid", 2)
    report = run_audit(SYNTHETIC, synthetic, queries, only_age(), SecureNoise(), unit=unit)
    assert [verdict.q_synthetic for verdict in report.verdicts] == [4, 12, 3]
    assert any("each of its rows counts as one person" in str(note) for note in report.notes)
    assert report.spent == 4 * Fraction(1, 2)
    with_column = run_audit(
        like(SYNTHETIC), SYNTHETIC, queries, only_age(), SecureNoise(), unit=unit
    )
    assert [verdict.q_synthetic for verdict in with_column.verdicts] == [3, 12, 3]


def test_a_unit_in_no_table_is_refused() -> None:
    queries = as_queries("SELECT COUNT(*) FROM D")
    with pytest.raises(ParameterError):
        run_audit(
            like(SYNTHETIC),
            SYNTHETIC,
            queries,
            only_age(),
            SecureNoise(),
            unit=PrivacyUnit("nobody"),
        )


@pytest.mark.parametrize("rows", [0, -1, "1.5", 10**7, "many"])
def test_rows_of_a_person_are_a_whole_number(rows: Any) -> None:
    with pytest.raises(ParameterError):
        privacy_unit("pid", rows)
    # Rows of nobody: whoever states them believes that persons are protected.
    with pytest.raises(ParameterError, match="max_rows" if rows == "many" else "no unit says"):
        privacy_unit(None, rows)
    assert privacy_unit(None, 1) is None


def test_a_frame_in_reverse_is_read() -> None:
    queries = as_queries("SELECT SUM(age) FROM D")
    report = run_audit(like(SYNTHETIC).iloc[::-1], SYNTHETIC, queries, only_age(), SecureNoise())
    assert len(report.verdicts) == 1


# No private cell may end a run


ODD: list[Any] = [[1], {"a": 2}, b"\xff", object]
EXTREME: dict[str, Callable[[], object]] = {
    "seconds": lambda: SYNTHETIC.assign(seen=np.array([0, 1, 2, 2**55], "datetime64[s]")),
    "milliseconds": lambda: SYNTHETIC.assign(seen=np.array([0, 1, 2, 2**62], "datetime64[ms]")),
    "microseconds": lambda: SYNTHETIC.assign(seen=np.array([0, 1, 2, 2**62], "datetime64[us]")),
    "nanoseconds": lambda: SYNTHETIC.assign(seen=np.array([0, 1, 2, 2**62], "datetime64[ns]")),
    "numbers": lambda: SYNTHETIC.assign(seen=[0.0, np.nan, np.inf, -1e308]),
    "objects": lambda: SYNTHETIC.assign(seen=pd.Series(ODD, dtype=object)),
    "categories": lambda: SYNTHETIC.assign(seen=pd.Categorical(["a", None, "b", "a"])),
    "time of day": lambda: pa.table(
        {**SYNTHETIC.to_dict("list"), "seen": pa.array([2**62, 1, 2, None], pa.time64("us"))}
    ),
    "span": lambda: pa.table(
        {**SYNTHETIC.to_dict("list"), "seen": pa.array([2**62, 1, 2, None], pa.duration("s"))}
    ),
    "zone": lambda: pa.table(
        {
            **SYNTHETIC.to_dict("list"),
            "seen": pa.array([2**62, 1, 2, None], pa.timestamp("s", "UTC")),
        }
    ),
    "bytes": lambda: pa.table({**SYNTHETIC.to_dict("list"), "seen": [b"\xff", b"", None, b"a"]}),
    "lists": lambda: pa.table({**SYNTHETIC.to_dict("list"), "seen": [[1], [], None, [None]]}),
}


@pytest.mark.parametrize(
    "name",
    EXTREME,
)
@pytest.mark.parametrize("unit", ["pid", "seen"])
def test_no_cell_of_any_column_ends_a_run(name: str, unit: str) -> None:
    queries = as_queries(["SELECT COUNT(*) FROM D WHERE age > 1", "SELECT MEDIAN(age) FROM D"])
    report = run_audit(
        EXTREME[name](), SYNTHETIC, queries, only_age(), SecureNoise(), unit=PrivacyUnit(unit)
    )
    assert len(report.verdicts) == 2
