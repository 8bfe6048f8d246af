"""Qiu et al. 2022: true answers as plain pandas and SQL have them, and verdicts from CSV files."""

import io
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from benchmarks.paper.qiu import problems
from benchmarks.paper.qiu.claims_figures_4_to_7 import speed
from benchmarks.paper.qiu.judging import BELOW, Bar, Runs, compared, interval
from benchmarks.paper.qiu.orderings import largest_of_composition
from benchmarks.paper.qiu.paper import QIU
from benchmarks.paper.qiu.pictures import errors
from benchmarks.paper.qiu.runs import box, boxes
from benchmarks.paper.record import Setting

RNG = np.random.default_rng(5)
SIZE = 400


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    """Folder of small tables with the columns of the real ones."""
    folder = tmp_path_factory.mktemp("tables")
    age = RNG.integers(17, 25, SIZE)
    adult = {"age": age, "education-num": RNG.integers(1, 17, SIZE)}
    pd.DataFrame(adult | {"capital-loss": RNG.integers(0, 4000, SIZE)}).to_parquet(
        folder / problems.ADULT
    )
    answers = {name: RNG.choice(["yes", "no"], SIZE) for name in ("housing", "loan")}
    pd.DataFrame({"age": age, "balance": RNG.integers(-8000, 9000, SIZE)} | answers).to_parquet(
        folder / problems.BANK
    )
    donors = {"Frequency": RNG.integers(1, 51, SIZE), "Time": RNG.integers(1, 99, SIZE)}
    pd.DataFrame(donors).to_parquet(folder / problems.BLOOD)
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (
                SELECT DATE '1992-01-02' + CAST(hash(range) % 2500 AS INTEGER) AS l_shipdate,
                    CAST((range % 11) / 100 AS DECIMAL(15, 2)) AS l_discount,
                    CAST(1 + hash(range + 1) % 12 AS DECIMAL(15, 2)) AS l_quantity,
                    CAST((90000 + hash(range + 2) % 10000000) / 100 AS DECIMAL(15, 2))
                        AS l_extendedprice
                FROM range(30000)
            ) TO '{folder / problems.LINEITEM}' (FORMAT parquet)"""
        )
    return Setting(folder, quick=True)


def test_sums_of_adult_are_those_of_pandas(tables: Setting) -> None:
    problem = problems.adult(tables, "capital-loss", problems.LOSS)
    table = tables.table(problems.ADULT)
    # Age ranges are 1-1, 1-2, 2-2, ...; educations 1-1, 1-2, 2-2, ..., of which there are 31.
    age, education = 2 * (20 - 1) + 1, 2 * (9 - 1)
    rows = table["age"].between(20, 21) & (table["education-num"] == 9)
    assert problem.truth[31 * age + education] == table.loc[rows, "capital-loss"].sum() > 0
    rows = (table["age"] == 20) & table["education-num"].between(9, 10)
    place = 31 * (age - 1) + education + 1
    assert problem.truth[place] == table.loc[rows, "capital-loss"].sum() > 0
    largest = problems.largest_values(problem.queries, problem.rows)
    assert largest[place] == table.loc[rows, "capital-loss"].max()


def test_sums_of_balances_have_both_signs(tables: Setting) -> None:
    problem = problems.bank(tables)
    table = tables.table(problems.BANK)
    rows = table["age"].between(20, 21) & (table["housing"] == "yes") & (table["loan"] == "no")
    place = (2 * (20 - 1) + 1) * 4 + 2
    assert problem.truth[place] == table.loc[rows, "balance"].sum() != 0
    ranges = problems.bank_ranges(tables)
    rows = table["age"].between(20, 21) & (table["balance"] > 0)
    assert ranges.truth[2 * (20 - 1) + 1] == table.loc[rows, "balance"].sum() > 0


def test_sums_of_intervals_are_those_of_pandas_in_both_universes(tables: Setting) -> None:
    whole, reduced = (problems.transfusion(tables, 200, reduced=each) for each in (False, True))
    table = tables.table(problems.BLOOD)
    rows = table["Frequency"].between(3, 7)
    # Ranges of at most 10 frequencies that begin at 1 and 2 come before those that begin at 3.
    place = 2 * 10 + 4
    expected = (table["Time"] / table["Frequency"])[rows].sum()
    assert whole.truth[place] == pytest.approx(expected, abs=SIZE / problems.MONTH)
    assert reduced.truth[place] == whole.truth[place]
    answers = problems.truth_of(reduced.queries, reduced.rows) * reduced.unit
    assert answers == pytest.approx(reduced.truth)
    assert whole.queries.limits[10 * 10] * whole.unit == pytest.approx(200 / 11)
    assert whole.small[10 * 10]
    assert not whole.small[10 * 10 - 1]


def test_revenues_are_those_of_sql(tables: Setting) -> None:
    problem = problems.tpch(tables)
    path = tables.path(problems.LINEITEM)
    sql = """
        SELECT sum(floor(l_extendedprice * l_discount)) FROM read_parquet($path)
        WHERE l_shipdate >= $first AND l_shipdate < $last
            AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity = 4
    """
    dates = {"first": "1994-03-01", "last": "1994-05-01"}
    with duckdb.connect() as connection:
        expected = connection.execute(sql, {"path": str(path), **dates}).fetchall()[0][0]
    # Months 26 and 27; the discount around 6 % is the fifth, the quantity 4 the fourth.
    place = ((2 * 26 + 1) * 8 + 4) * 10 + 3
    assert problem.truth[place] == expected > 0


def test_zeros_err_by_the_answers(tables: Setting) -> None:
    problem = problems.transfusion(tables, 200)
    frame = pd.DataFrame(boxes(problem, ("1",), range(1))).set_index("mechanism")
    zeros = frame.loc["all_zeros"]
    assert zeros["max"] == problem.truth.max()
    assert zeros["median"] == np.median(problem.truth)
    assert zeros["zeros"] == 1
    assert set(frame.index) == {*problem.mechanisms, "all_zeros"}
    assert box(np.array([4.0, 1.0, 2.0, 3.0, 0.0])) == {
        "max": 4, "upper": 3, "median": 2, "lower": 1,
    }  # fmt: skip
    drawn = errors(frame.reset_index())
    assert drawn.axes[0].get_yscale() == "log"


def runs_of(*maxima: tuple[float, list[float]]) -> Runs:
    """Runs read from a CSV file, in which composition has these maxima and the others have 10."""
    lines = ["epsilon,seed,mechanism,max"]
    for epsilon, values in maxima:
        for seed, value in enumerate(values):
            lines.append(f"{epsilon},{seed},clipped_composition,{value}")
            lines += [
                f"{epsilon},{seed},{name},10"
                for name in ("normalization", "global_truncation", "numerical")
            ]
    return Runs(pd.read_csv(io.StringIO("\n".join(lines))))


@pytest.mark.parametrize(
    ("maxima", "verdict", "told"),
    [
        ([(1, [20, 22, 25]), (4, [90, 80, 85])], "reproduces", ""),
        ([(1, [2, 2.2, 2.5]), (4, [9, 8, 8.5])], "does not", "at epsilon each of them"),
        ([(1, [2, 22, 200]), (4, [10, 10, 10])], "undecided", "the intervals contain the bar"),
        (
            [(0.25, [20, 22, 25]), (1, [2, 22, 200]), (4, [9, 8, 8.5])],
            "in part",
            "holds at epsilon 0.25; undecided at epsilon 1; fails at epsilon 4",
        ),
    ],
)
def test_a_claim_is_judged_at_every_epsilon_from_a_csv_file(
    maxima: list[tuple[float, list[float]]], verdict: str, told: str
) -> None:
    claim = largest_of_composition(runs_of(*maxima), "6.1", "the largest error")
    assert claim.verdict == verdict
    assert told in claim.why


def test_a_bar_has_two_ends_and_an_interval_is_students() -> None:
    claim = compared("", "", "ratio", {"1": [1.5, 1.5]}, Bar(1.0, 2.0))
    assert claim.ours == "ratio: 1.5 at epsilon 1"
    assert claim.verdict == "reproduces"
    assert compared("", "", "", {"1": [2.5, 2.5]}, Bar(1.0, 2.0)).verdict == "does not"
    assert compared("", "", "", {"1": [0.5, 0.5]}, Bar(1.0, 2.0)).verdict == "does not"
    assert compared("", "", "", {"1": [1.0, 1.0]}, BELOW).verdict == "undecided"
    # Logarithms 0, 1 and 2: mean 1, standard error 3^-1/2, Student's t 4.30.
    assert interval(np.exp([0, 1, 2]).tolist()) == "2.72 [0.227 to 32.5]"
    assert interval([1e-9, 1e-9]) == "below 0.001"


@pytest.mark.parametrize(("seconds", "verdict"), [(0.01, "reproduces"), (0.2, "in part")])
def test_the_speed_is_judged_by_recorded_seconds(seconds: float, verdict: str) -> None:
    work = pd.DataFrame(
        {"mechanism": ["numerical", "dyadic"], "evaluations": [10**8, 10**4], "draws": [9, 99]}
    )
    spent = pd.DataFrame({"mechanism": ["numerical", "dyadic"], "seconds": [0.03, seconds]})
    assert speed("6.4", work, spent).verdict == verdict


def test_every_figure_is_drawn_and_one_needs_no_real_table() -> None:
    drawn = {item.place for item in QIU.items if item.draw is not None}
    assert {"Table 1", *(f"Figure {number}" for number in range(1, 8))} <= drawn
    free = {each.name for each in QIU.experiments if not each.needs}
    assert any(item.draw is not None and free >= set(item.tables) for item in QIU.items)


def test_missing_tables_are_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"lineitem\.parquet is needed"):
        problems.tpch(Setting())


def test_the_census_needs_no_folder() -> None:
    problem = problems.census(Setting(quick=True))
    table = pd.read_parquet(Path(__file__).parents[2] / "samples" / "census_private.parquet")
    levels = sorted(set(table["educ"]))
    rows = table["age"].between(40, 41) & table["educ"].isin(levels[9:11])
    place = (2 * 40 + 1) * 33 + 2 * 9 + 1
    assert problem.truth[place] == table.loc[rows, "inctot"].sum() > 0
