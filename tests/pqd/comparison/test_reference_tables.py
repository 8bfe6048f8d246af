"""Reference candidates: what they are made of, and that nothing is spent on one that fails."""

from collections.abc import Callable, Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.comparison.references import (
    MARGINALS,
    Column,
    columns_of,
    marginals,
    resampled,
    select_group_counts,
)
from pqd.deciders import ParameterError
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, open_table
from pqd.errors import BudgetError, PqdError
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.reports.models.compare import CompareReport
from pqd.run.execution import measure
from tests.support.likeness import like
from tests.support.noises import Silent

Ran = tuple[int, str, str]
Rows = set[tuple[str, ...]]


class Buried(Silent):
    """Nothing but noise: all counts are far below 0."""

    def laplace(self, statistic: int, scale: Fraction) -> int:
        del scale
        return statistic - 10**9


def table(seed: int, rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    day = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 5, rows), unit="D")
    return pd.DataFrame(
        {
            "age": rng.integers(10 * seed, 90, rows),
            "pay": rng.integers(0, 400, rows) / 4,
            "job": rng.choice(["cook", "smith", "nurse"][seed - 1 :], rows),
            "works": rng.random(rows) < 0.7,
            "day": day.astype("datetime64[us]"),
        }
    )


FIRST, SECOND = table(1), table(2, 500)
PRIVATE = pd.concat([FIRST, SECOND], ignore_index=True)
NAMES = list(FIRST.columns)
SQL = "SELECT COUNT(*) FROM D WHERE age > 40 AND job <> 'cook'"


def opened(*frames: object) -> list[Table]:
    return [open_table(frame, "synthetic") for frame in frames]


def columns(*frames: pd.DataFrame, names: list[str] | None = None) -> dict[str, Column]:
    made, first = columns_of(SyntheticTables(opened(*frames)), names or NAMES, {})
    assert len(first) == len(pd.DataFrame(frames[0]))
    return {column.name: column for column in made}


# Columns, bins and keys ---------------------------------------------------------------------------


def test_every_column_is_cut_into_groups() -> None:
    found = columns(FIRST, SECOND)
    assert list(found) == sorted(NAMES)
    for column in found.values():
        assert len(column.groups) == len(column.queries) <= 100
        assert all(column.groups)
        assert len({query.id for query in column.queries}) == len(column.queries)
        for query in column.queries:
            assert query.aggregate == "COUNT"
            assert query.mentioned == {column.name}


def test_keys_are_those_of_all_candidates() -> None:
    found = columns(FIRST, SECOND)
    assert {value for group in found["job"].groups for value in group} == {"cook", "smith", "nurse"}
    assert {value for group in found["works"].groups for value in group} == {True, False}
    assert len(found["day"].groups) == 5
    assert {value for group in columns(SECOND)["job"].groups for value in group} == {
        "smith",
        "nurse",
    }


def test_few_numbers_are_keys_and_many_are_cut_into_bins() -> None:
    found = columns(FIRST, SECOND)
    ages = {value for group in found["age"].groups for value in group}
    assert ages == set(FIRST["age"]) | set(SECOND["age"])
    # Many numbers: a bin for NULL, and bins whose values are those of the first candidate.
    assert found["pay"].groups[0] == (None,)
    pays = [value for group in found["pay"].groups[1:] for value in group]
    assert sorted(pays) == sorted(FIRST["pay"])
    assert 20 < len(found["pay"].groups) < 70


MANY = list(range(400))
CUT = {
    "few": ([7], 1),
    "keys": (list(range(100)), 100),
    "many": (MANY, 33),
    "far apart": ([*MANY, 10**6], 33),
    "below 0": ([-n for n in MANY], 33),
    "one that is frequent": ([*MANY, *[5] * 100], 34),
    "nothing but frequent ones and few others": ([*[n for n in range(3) for _ in MANY], *MANY], 36),
}


@pytest.mark.parametrize("label", CUT)
def test_bins_hold_every_row_once(label: str) -> None:
    values, most = CUT[label]
    frame = pd.DataFrame({"v": values})
    (column,) = columns(frame, names=["v"]).values()
    assert len(column.groups) <= most
    counts = released([column], frame)
    assert sum(counts) == len(values)
    for group, count in zip(column.groups, counts, strict=True):
        assert count == sum(value in set(group) for value in values)


def test_bins_hold_what_no_candidate_has() -> None:
    """A private value beyond the candidates' counts in the bin at the end."""
    (column,) = columns(pd.DataFrame({"v": MANY}), names=["v"]).values()
    private = pd.DataFrame({"v": [-1e9, 0.5, 1e9, None]})
    tables = SyntheticTables(opened(pd.DataFrame({"v": MANY})), open_table(private, "private"))
    plan = select_group_counts(bind(tables, requests([column]), {}))
    outputs = measure([plan.measurements], None, Silent(), command="compare")
    counts = [outputs[marginal].numbers[0] for marginal in plan.marginals]
    assert sum(counts) == 4
    assert (counts[0], counts[1], counts[-1]) == (1, 2, 1)


def test_missing_values_are_a_key_or_have_a_bin() -> None:
    frame = pd.DataFrame({"v": [1.0, None, 3.0], "w": ["a", None, "b"]})
    found = columns(frame, names=["v", "w"])
    assert {value for group in found["v"].groups for value in group} == {1, 3, None}
    assert {value for group in found["w"].groups for value in group} == {"a", "b", None}
    assert released(list(found.values()), frame) == [1] * 6
    many = pd.DataFrame({"v": [*MANY, None, None]})
    (column,) = columns(many, names=["v"]).values()
    assert released([column], many)[0] == 2


def test_too_many_values_are_refused() -> None:
    frame = FIRST.assign(name=[f"n{number}" for number in range(len(FIRST))])
    many = pd.concat([frame, frame.assign(name=frame["name"] + "x")], ignore_index=True)
    with pytest.raises(ParameterError, match='cannot hold "name": it has more than 1,000 values'):
        columns(many, names=["age", "name"])
    assert list(columns(frame, names=["age", "name"])) == ["age", "name"]


def test_names_are_those_of_the_table_whatever_a_query_writes() -> None:
    assert list(columns(FIRST, names=["AGE", "Age", "job", "absent"])) == ["age", "job"]


# Drawing ------------------------------------------------------------------------------------------


def released(made: list[Column], private: object) -> list[int]:
    """The counts of all groups, without noise."""
    tables = SyntheticTables(opened(private), open_table(private, "private"))
    plan = select_group_counts(bind(tables, requests(made), {}))
    outputs = measure([plan.measurements], None, Silent(), command="compare")
    return [outputs[marginal].numbers[0] for marginal in plan.marginals]


def requests(made: list[Column]) -> list[QueryRequest]:
    terms = Parameters.parse(tau=1, epsilon=1, alpha=0.05)
    return [QueryRequest(query, terms) for column in made for query in column.queries]


def drawn_table(noise: Any, rows: int = 4000) -> pd.DataFrame:
    made = list(columns(FIRST, SECOND).values())
    tables = SyntheticTables(opened(FIRST, SECOND), open_table(PRIVATE, "private"))
    plan = select_group_counts(bind(tables, requests(made), {}))
    return marginals(made, plan, measure([plan.measurements], None, noise, command="compare"), rows)


def test_a_drawn_table_has_the_columns_kinds_and_values_of_the_candidates() -> None:
    found = drawn_table(Silent())
    assert sorted(found.columns) == sorted(NAMES)
    assert len(found) == 4000
    is_number = pd.api.types.is_numeric_dtype
    assert [is_number(found[name]) for name in NAMES] == [is_number(FIRST[n]) for n in NAMES]
    assert found["day"].dtype.kind == "M"
    assert set(found["age"]) <= set(FIRST["age"]) | set(SECOND["age"])
    assert set(found["pay"]) <= set(FIRST["pay"])
    assert set(found["job"]) == {"cook", "smith", "nurse"}
    assert set(found["day"]) == set(FIRST["day"])
    # No column knows of another one.
    assert abs(found["age"].corr(found["works"].astype(float))) < 0.06


def test_a_drawn_column_is_distributed_as_released() -> None:
    found = drawn_table(Silent())
    for name in ("job", "works", "day"):
        shares = found[name].value_counts(normalize=True)
        true = PRIVATE[name].value_counts(normalize=True)
        assert shares.sub(true).abs().max() < 0.035
    assert found["age"].mean() == pytest.approx(PRIVATE["age"].mean(), abs=1.5)
    assert found["pay"].median() == pytest.approx(PRIVATE["pay"].median(), abs=4)


def test_a_drawn_table_is_the_same_for_the_same_releases() -> None:
    assert drawn_table(Silent()).equals(drawn_table(Silent()))
    assert drawn_table(Silent(), rows=17).shape == (17, len(NAMES))


def test_counts_below_0_leave_every_value_possible() -> None:
    found = drawn_table(Buried())
    assert found["job"].value_counts(normalize=True).min() > 0.28
    assert len(set(found["age"])) == 80


# Resampled ----------------------------------------------------------------------------------------


def as_csv(folder: Path) -> object:
    FIRST.to_csv(folder / "first.csv", index=False)
    return folder / "first.csv"


def as_parquet(folder: Path) -> object:
    FIRST.to_parquet(folder / "first.parquet")
    return folder / "first.parquet"


def as_frame(_folder: Path) -> object:
    return FIRST


SOURCES: Mapping[str, Callable[[Path], object]] = {
    "CSV": as_csv,
    "Parquet": as_parquet,
    "frame": as_frame,
}


def rows_of(frame: pd.DataFrame) -> Rows:
    return set(frame.astype(str).itertuples(index=False, name=None))


@pytest.mark.parametrize("kind", SOURCES)
def test_resampled_rows_are_rows_of_the_original(kind: str, tmp_path: Path) -> None:
    original = SOURCES[kind](tmp_path)
    _, first = columns_of(SyntheticTables(opened(original)), NAMES, {})
    found = resampled(first)
    assert list(found.columns) == NAMES
    assert len(found) == len(FIRST)
    source = pd.read_csv(tmp_path / "first.csv", dtype=str) if kind == "CSV" else FIRST
    assert rows_of(found) <= rows_of(source)
    # With replacement: about 63 % of the rows.
    assert 0.58 < len(rows_of(found)) / len(rows_of(source)) < 0.68
    assert resampled(first).equals(found)


def test_resampled_tables_are_read_as_the_original(tmp_path: Path) -> None:
    queries = [
        SQL,
        "SELECT SUM(pay) FROM D WHERE works",
        "SELECT MEDIAN(age) FROM D WHERE day > '2020-01-02'",
    ]
    answers = []
    for kind, source in SOURCES.items():
        report = compared({"a": source(tmp_path)}, queries, tmp_path / f"{kind}.sqlite")
        cells = [query.cell("a resampled").q_synthetic for query in report.queries]
        assert None not in cells
        answers.append(cells)
        assert report.candidates["a resampled"] == "a resampled"
    assert answers[0] == answers[1] == answers[2]


def test_texts_stay_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "first.csv"
    path.write_text('code,n\n007,1\n" 7",2\n,3\n"a,b",4\n"",5\n', encoding="utf-8")
    _, first = columns_of(SyntheticTables(opened(path)), ["code", "n"], {})
    codes = resampled(first)["code"]
    assert set(codes.dropna()) <= {"007", " 7", "a,b"}


# In a comparison ----------------------------------------------------------------------------------


def compared(
    synthetics: Mapping[str, object],
    queries: str | list[str] = SQL,
    ledger: Path | None = None,
    **options: Any,
) -> CompareReport:
    asked_for: dict[str, Any] = {"tau": "10%", "epsilon": 1, "references": 2} | options
    return pqd.compare(PRIVATE, synthetics, queries, ledger=ledger, **asked_for)


def spent(path: Path) -> list[Fraction]:
    if not path.exists():
        return []
    with closing(Ledger(path)) as ledger:
        return [account.epsilon for account in ledger.accounts]


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """Where the fixture of every test keeps the account."""
    return tmp_path / "ledger.sqlite"


def test_two_more_candidates_and_what_they_cost(account: Path) -> None:
    report = compared({"a": FIRST, "b": SECOND})
    assert report.cost.epsilon == 3
    assert spent(account) == [3]
    kinds = {standing.candidate: standing.kind for standing in report.leaderboard}
    assert kinds == {
        "a": "candidate",
        "b": "candidate",
        MARGINALS: "marginals",
        "a resampled": "bootstrap",
    }
    cells = [cell.candidate for cell in report.queries[0].cells]
    assert sorted(cells) == ["a", "a resampled", "b", MARGINALS]
    (note,) = [note for note in map(str, report.notes) if MARGINALS in note]
    assert "released at epsilon 2 in all" in note
    assert "rows of a drawn anew" in note


def test_the_budget_is_for_all_columns_together() -> None:
    queries = ["SELECT COUNT(*) FROM D WHERE age > 40 AND job <> 'cook' AND pay > 3 AND works"]
    report = compared({"a": FIRST}, queries, references="1/3")
    assert report.cost.epsilon == Fraction(4, 3)
    marginal = [group for group in report.cost.groups if "marginal of" in group.ids[0]]
    # A column each, whose groups are disjoint.
    assert sorted({id_.split("[")[0] for group in marginal for id_ in group.ids}) == [
        f"marginal of {name}" for name in ("age", "job", "pay", "works")
    ]
    assert [group.epsilon for group in marginal] == [Fraction(1, 12)] * 4


def test_references_are_replayed(account: Path) -> None:
    first = compared({"a": FIRST, "b": SECOND})
    second = compared({"a": FIRST, "b": SECOND})
    assert second.cost.epsilon == 0
    assert second.leaderboard == first.leaderboard
    assert [q.cells for q in second.queries] == [q.cells for q in first.queries]
    assert spent(account) == [3]


def test_the_marginals_do_not_know_the_private_rows() -> None:
    """What they answer is far from what columns that go together would."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 2000)
    frame = pd.DataFrame({"x": x, "y": x})
    report = pqd.compare(
        like(frame),
        {"a": frame},
        "SELECT COUNT(*) FROM D WHERE x = 1 AND y = 0",
        tau=200,
        epsilon=1,
        references=10,
    )
    (query,) = report.queries
    assert query.cell("a").outcome == "yes"
    assert query.cell(MARGINALS).q_synthetic == pytest.approx(500, abs=120)
    assert query.cell(MARGINALS).outcome == "no"


# Refused, and nothing spent -----------------------------------------------------------------------


@pytest.mark.parametrize("names", [("a", MARGINALS), ("a", "a resampled"), ("a resampled", "a")])
def test_names_of_references_are_taken(names: tuple[str, str], account: Path) -> None:
    frames = dict(zip(names, (FIRST, SECOND), strict=True))
    if names[0] == "a":
        with pytest.raises(ParameterError, match="cannot be called"):
            compared(frames)
        assert spent(account) == []
    else:
        assert compared(frames).cost.epsilon == 3


def test_the_privacy_unit_is_refused(account: Path) -> None:
    frame = PRIVATE.assign(person=np.arange(len(PRIVATE)) // 3)
    with pytest.raises(ParameterError, match="compare without references"):
        pqd.compare(frame, {"a": FIRST}, SQL, tau=5, epsilon=1, unit="person", references=1)
    assert spent(account) == []


@pytest.mark.parametrize("limit", ["1", "2", "2.9"])
def test_both_stages_are_refused_together(limit: str, account: Path) -> None:
    with closing(Ledger(account)) as ledger:
        ledger.set_limit(Budget(Fraction(limit)))
    with pytest.raises(BudgetError, match="Nothing was spent"):
        compared({"a": FIRST}, dataset="people")
    assert spent(account) == []
    enough = compared({"a": FIRST}, references=None, epsilon=limit, dataset="people")
    assert enough.cost.epsilon == Fraction(limit)


def test_what_is_enough_for_both_stages_is_enough(account: Path) -> None:
    with closing(Ledger(account)) as ledger:
        ledger.set_limit(Budget(Fraction(3)))
    assert compared({"a": FIRST}, dataset="people").cost.epsilon == 3


def wide() -> dict[str, pd.DataFrame]:
    """Tables of a text column that has more values than the marginals take."""
    name = [f"n{number % 1200}" for number in range(3000)]
    frame = pd.concat([FIRST] * 5, ignore_index=True).assign(name=name)
    return {"private": frame, "a": frame}


# What can be known to go wrong is known before the marginals are paid for.
UNFIT: Mapping[str, tuple[Callable[[], dict[str, pd.DataFrame]], str, dict[str, Any]]] = {
    "a column that is left out": (
        wide,
        "SELECT COUNT(*) FROM D WHERE name LIKE 'n1%' AND age > 20",
        {},
    ),
    "keys that no candidate has": (
        lambda: {
            "private": (frame := pd.DataFrame({"k": np.arange(3000) % 600 * 7})),
            "a": frame,
        },
        "SELECT COUNT(*) FROM D GROUP BY k",
        {"tau": 2},
    ),
    "mixed cells beside what is asked": (
        lambda: {
            "private": FIRST,
            "a": pd.concat([FIRST] * 9, ignore_index=True).assign(
                odd=pd.Series([1] * 5399 + ["x"], dtype=object)
            ),
        },
        SQL,
        {"tau": "99%"},
    ),
}


@pytest.mark.parametrize("label", UNFIT)
def test_a_reference_that_does_not_fit_is_not_paid_for(label: str, account: Path) -> None:
    """Either it is left out, or the run is refused before it begins; never an error that costs."""
    make, sql, options = UNFIT[label]
    frames = make()
    private = frames.pop("private")
    asked_for: dict[str, Any] = {"tau": "10%", "epsilon": 1, "references": 1} | options
    try:
        report = pqd.compare(private, frames, sql, **asked_for)
    except PqdError:
        assert spent(account) == []
    else:
        assert report.cost.epsilon <= 2


def test_queries_without_a_column_have_no_references(account: Path) -> None:
    with pytest.raises(ParameterError, match="columns that queries name: none does"):
        compared({"a": FIRST}, "SELECT COUNT(*) FROM D")
    assert spent(account) == []


def test_facts_about_an_expression_go_with_references() -> None:
    facts = {"age * 2": {"bounds": (0, 200)}}
    sql = "SELECT SUM(age * 2) FROM D"
    assert compared({"a": FIRST}, sql, columns=facts, references=None).cost.epsilon == 1
    # The sum is replayed.
    assert compared({"a": FIRST}, sql, columns=facts).cost.epsilon == 2


def test_the_command_tells_the_same(command: Callable[..., Ran], tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.csv" for name in ("private", "a", "b")]
    for path, frame in zip(files, (PRIVATE, FIRST, SECOND), strict=True):
        frame.to_csv(path, index=False)
    tables = [str(files[0]), f"a={files[1]}", f"b={files[2]}"]
    terms = ["-q", SQL, "--tau", "10%", "--epsilon", "1", "--with-references"]
    code, out, err = command("compare", *tables, *terms, "--reference-epsilon", "1/2")
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    assert "epsilon 1.5 spent" in words
    assert "released at epsilon 0.5 in all; resampled: rows of a drawn anew." in words
    assert "a resampled" in words
