"""The corrected copy: weights that meet released answers, and the file that it is written to."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from pqd.batches.reweighting import AnswerSystem, drawn_rows, fitted_weights
from pqd.commands.release import run_release
from pqd.deciders import SimulatedNoise
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.sources.export import check_new, write_frame
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import ParameterError, RunError, UnwrittenTableError
from pqd.parameters import Parameters
from pqd.sql.query import Query

pytestmark = pytest.mark.usefixtures("noiseless")

QUERIES = (
    "SELECT COUNT(*) FROM D",
    "SELECT COUNT(*) FROM D WHERE job = 'cook' AND age > 40",
    "SELECT COUNT(*) FROM D WHERE age <= 30",
    "SELECT SUM(pay) FROM D WHERE job = 'smith'",
    "SELECT SUM(pay) FROM D",
)
# Beyond this budget noise rounds to nothing.
SILENT = 10**7


def people(rows: int, seed: int, cooks: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, pay = rng.integers(18, 80, rows), rng.integers(0, 50, rows)
    job = np.where(rng.random(rows) < cooks, "cook", "smith")
    return pd.DataFrame({"age": age, "job": job, "pay": pay, "note": [f"row {i}" for i in age]})


def answers(frame: pd.DataFrame) -> list[float]:
    cook, smith = frame.job == "cook", frame.job == "smith"
    return [
        len(frame),
        (cook & (frame.age > 40)).sum(),
        (frame.age <= 30).sum(),
        frame.pay[smith].sum(),
        frame.pay.sum(),
    ]


def released(private: object, synthetic: object, path: Path, **given: str) -> str:
    terms = Parameters.parse(
        tau=1, epsilon=SILENT, alpha=0.05, mechanism=given.get("m", "workload")
    )
    queries = tuple(Query(sql, f"q{n}") for n, sql in enumerate(QUERIES))
    report = run_release(private, synthetic, queries, terms, SimulatedNoise(1), table=path)
    return str(report.notes[-1])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("mechanism", ["workload", "identity"])
def test_it_answers_as_the_private_table(tmp_path: Path, suffix: str, mechanism: str) -> None:
    private, copy = people(3000, 1, cooks=0.7), people(2000, 2, cooks=0.2)
    path = tmp_path / f"out.{suffix}"
    note = released(private, copy, path, m=mechanism)
    found = pd.read_csv(path) if suffix == "csv" else pd.read_parquet(path)
    assert list(found.columns) == list(copy.columns)
    assert note.startswith(f"out.{suffix}: The table has 3,000 rows, drawn from ")
    # Every row is one of the copy's.
    assert set(map(tuple, found.to_numpy())) <= set(map(tuple, copy.to_numpy()))
    # Drawing whole rows moves a count by a few, and a sum by some of their pay.
    assert answers(found) == pytest.approx(answers(private), rel=0.01, abs=5)
    gap = np.abs(np.subtract(answers(copy), answers(private)))
    assert (np.abs(np.subtract(answers(found), answers(private))) < gap / 20).all()


def visits(number: int, seed: int, cooks: float) -> pd.DataFrame:
    """Rows of persons, of whom each has 1 to 4; one has no name."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(number), rng.integers(1, 5, number))
    names = np.array([*(f"p{n}" for n in range(1, number)), None], dtype=object)
    return people(who.size, seed, cooks).assign(who=names[who])


def answers_of_persons(frame: pd.DataFrame, bounds: tuple[int, int]) -> list[float]:
    cook, smith = frame.job == "cook", frame.job == "smith"
    rows = [frame.age >= 0, cook & (frame.age > 40), frame.age <= 30, smith, frame.age >= 0]
    some: list[float] = [frame.who[each].nunique(dropna=False) for each in rows[:3]]
    totals = [frame[each].groupby("who", dropna=False).pay.sum().clip(*bounds) for each in rows[3:]]
    return some + [float(each.sum()) for each in totals]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_with_a_unit_whole_persons_are_drawn(tmp_path: Path, suffix: str) -> None:
    private, copy = visits(1500, 1, cooks=0.6), visits(1000, 2, cooks=0.3)
    path, bounds = tmp_path / f"out.{suffix}", (0, 90)
    terms = Parameters.parse(tau=1, epsilon=SILENT, alpha=0.05, columns={"pay": {"bounds": bounds}})
    queries = tuple(Query(sql, f"q{n}") for n, sql in enumerate(QUERIES))
    noise, unit = SimulatedNoise(1), PrivacyUnit("WHO")
    report = run_release(private, copy, queries, terms, noise, table=path, unit=unit)
    found = pd.read_csv(path) if suffix == "csv" else pd.read_parquet(path)
    exact = answers_of_persons(private, bounds)
    assert [query.answer for query in report.queries] == exact
    assert answers_of_persons(found, bounds) == pytest.approx(exact, rel=0.02, abs=5)
    # Persons are those of the copy, with all of their rows, under numbers of their own.
    number = found.who.nunique()
    assert found.who.unique().tolist() == list(range(1, number + 1))
    told = str(report.notes[-1])
    assert f"has {len(found):,} rows of {number:,} persons, numbered anew, drawn from" in told
    own = ["age", "job", "pay", "note"]
    held = {
        tuple(map(tuple, each[own].to_numpy())) for _, each in copy.groupby("who", dropna=False)
    }
    for _, each in found.groupby("who"):
        assert tuple(map(tuple, each[own].to_numpy())) in held


def test_a_copy_without_the_units_column_has_a_person_in_each_row(tmp_path: Path) -> None:
    private, copy = visits(300, 1, cooks=0.6), people(500, 2, cooks=0.3)
    terms, path = Parameters.parse(tau=1, epsilon=SILENT, alpha=0.05), tmp_path / "new.parquet"
    queries, unit = (Query(QUERIES[2], "young"),), PrivacyUnit("who")
    noise = SimulatedNoise(1)
    report = run_release(private, copy, queries, terms, noise, table=path, unit=unit)
    found = pd.read_parquet(path)
    assert list(found.columns) == list(copy.columns)
    assert abs((found.age <= 30).sum() - report.queries[0].answer) <= 2


def test_the_same_release_makes_the_same_table(tmp_path: Path) -> None:
    private, copy = people(500, 3, cooks=0.5), people(400, 4, cooks=0.3)
    for name in ("a.csv", "b.csv"):
        released(private, copy, tmp_path / name)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_rows_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Weights are found by one scan and rows taken by another: both keep the order."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(0, 99, 400_000), "x": rng.random(400_000)})
    for name in ("t.parquet", "t.csv"):
        write_frame(frame, tmp_path / name)
        engine = SyntheticTable()
        table = open_table(tmp_path / name, "synthetic")
        engine.schema(table, {"age"}, {})
        assert engine.frame(table)["age"].tolist() == frame.age.tolist()
        assert engine.loaded()["age"].astype(int).tolist() == frame.age.tolist()


def test_text_of_a_csv_stays_text_and_numbers_become_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n1,x,\n2,2,0.5\n")
    engine = SyntheticTable()
    table = open_table(tmp_path / "t.csv", "synthetic")
    found = engine.frame(table)
    assert found["a"].tolist() == [1, 2]
    assert found["b"].tolist() == ["x", "2"]
    assert found["c"].isna().tolist() == [True, False]


def test_answers_that_contradict_each_other_give_way_by_their_noise() -> None:
    every = csr_array(np.ones((2, 3)))
    counts = np.full(3, 100.0)
    part = AnswerSystem(every, np.array([290.0, 320.0]), np.array([1.0, 3.0]))
    total = float((fitted_weights([part], counts) * counts).sum())
    # The mean of both, weighed by 1 / spread^2, is 293.
    assert total == pytest.approx(293, abs=0.5)


def test_an_answer_below_nothing_leaves_nothing() -> None:
    amounts = csr_array(np.array([[1.0, 0.0]]))
    part = AnswerSystem(amounts, np.array([-5.0]), np.array([1.0]))
    weights = fitted_weights([part], np.array([50.0, 50.0]))
    assert weights[0] * 50 < 1
    assert weights[1] == 1


def test_values_of_both_signs_and_none() -> None:
    worth = np.array([-3.0, 0.0, 2.0])
    part = AnswerSystem(csr_array(worth[None]), np.array([40.0]), np.array([1.0]))
    counts = np.array([10.0, 10.0, 10.0])
    numbers = fitted_weights([part], counts) * counts
    assert worth @ numbers == pytest.approx(40, abs=0.1)
    assert numbers[1] == 10
    nothing = AnswerSystem(csr_array((1, 3)), np.array([9.0]), np.array([1.0]))
    assert fitted_weights([nothing], counts).tolist() == [1, 1, 1]


def test_rows_are_drawn_as_often_as_their_weights_say() -> None:
    weights = np.random.default_rng(6).exponential(size=1000)
    drawn = drawn_rows(weights)
    assert drawn.size == round(weights.sum())
    times = np.bincount(drawn, minlength=1000)
    assert (np.abs(times - weights * drawn.size / weights.sum()) < 1).all()
    assert drawn_rows(np.full(3, 1e-9)).size == 1
    assert np.bincount(drawn_rows(np.full(3, 1e12))).tolist() == [10, 10, 10]


def test_where_a_table_may_be_written(tmp_path: Path) -> None:
    assert check_new(tmp_path / "new.PARQUET").name == "new.PARQUET"
    (tmp_path / "old.csv").write_text("a\n1\n")
    for name, word in (
        ("old.csv", "exists, and no table is overwritten"),
        ("new.json", "must end in .parquet or .csv"),
        ("no/folder.csv", "there is no such folder"),
        ("a\0b.csv", "there is no such folder"),
    ):
        with pytest.raises(ParameterError, match=word):
            check_new(tmp_path / name)


def test_a_table_that_cannot_be_written_is_told_after_the_answers(tmp_path: Path) -> None:
    private, copy = people(50, 7, cooks=0.5), people(50, 8, cooks=0.5)
    gone = tmp_path / "gone" / "t.parquet"
    with pytest.raises(RunError, match="was not written"):
        write_frame(copy, gone)
    with pytest.raises(UnwrittenTableError, match="was not written") as unwritten:
        released(private, copy, gone)
    assert unwritten.value.exit_code == 3
    report = unwritten.value.report
    assert len(report.queries) == len(QUERIES)
    assert "In a repeated run the answers cost nothing" in str(report.notes[-1])
