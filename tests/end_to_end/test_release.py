"""``pqd release`` from end to end: what it says, what it costs, what it refuses, what it hides."""

import json
from collections.abc import Callable
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
from pqd.commands.release import run_release
from pqd.deciders import SimulatedNoise
from pqd.errors import BudgetError, ParameterError, PqdError, QueryError
from pqd.parameters import Parameters
from pqd.reports.models.audit import Condition
from pqd.reports.models.release import ReleaseReport
from pqd.reports.text.query import SIMULATED
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.sql.workload_files import as_queries
from tests.support.private_tables import WORKERS, workers
from tests.support.swap_rows import DEBT, RANGE_SUMS, RELEASED

pytestmark = pytest.mark.usefixtures("noiseless")

Ran = tuple[int, str, str]
Command = Callable[..., Ran]
SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PRIVATE, SYNTHETIC = (SAMPLES / f"census_{kind}.parquet" for kind in ("private", "synthetic"))


COPY, SECRET = WORKERS, workers(2)


def released(private: object = SECRET, queries: Any = RELEASED, **options: Any) -> ReleaseReport:
    given: dict[str, Any] = {"total_epsilon": 1, "columns": DEBT} | options
    return pqd.release(private, COPY, queries, **given)


def simulated(
    private: object, noise: Any, mechanism: str = "auto", **options: Any
) -> ReleaseReport:
    terms = Parameters.parse(tau=1, epsilon="0.5", alpha=0.05, mechanism=mechanism, columns=DEBT)
    return run_release(private, COPY, as_queries(RELEASED), terms, noise, **options)


def truth(frame: pd.DataFrame) -> list[float]:
    old = frame.age > 30
    jobs = [int((frame.job == job).sum()) for job in ("cook", "nurse", "smith")]
    counts = [int(old.sum()), *jobs, int((frame.job != "nurse").sum())]
    cooks = frame.pay[old & (frame.job == "cook")].sum()
    return [*counts, frame.pay.sum(), cooks, frame.debt[old].sum()]


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """Where the fixture of every test keeps the account."""
    return tmp_path / "ledger.sqlite"


def spent(path: Path) -> list[Fraction]:
    if not path.exists():
        return []
    with closing(Ledger(path)) as ledger:
        return [account.epsilon for account in ledger.accounts]


# What it says -------------------------------------------------------------------------------------


def test_a_sum_within_the_copys_bounds_says_so() -> None:
    """In its line, its details and the JSON; a stated bound is no condition."""
    queries = ["SELECT COUNT(*) FROM D", "SELECT SUM(pay) FROM D", "SELECT SUM(debt) FROM D"]
    report = released(queries=queries, columns={**DEBT})
    count, pay, debt = report.queries
    low, high = int(COPY.pay.min()), int(COPY.pay.max())
    assert (count.condition, debt.condition) == (None, None)
    assert pay.condition == Condition(low, high)
    text, within = terminal_text(report), f"within {low}..{high:,}"
    assert "Within: bounds from the copy" in text
    line = next(line for line in text.splitlines() if line.strip().startswith("q2 "))
    assert line.endswith(f"{low}..{high:,}")
    assert f"{within} (bounds from the copy)" in text_in_full(report)
    content = json.loads(report.to_json())["queries"]
    assert [each["condition"] and each["condition"]["upper"] for each in content] == [
        None,
        high,
        None,
    ]
    half = released(queries=queries[1], columns={"pay": {"bounds": (0, None)}}).queries[0]
    assert half.condition == Condition(None, high)
    accepted = released(queries=queries[1], columns={"pay": {"bounds": "copy"}})
    assert f"{within} (bounds of the copy, as stated)" in text_in_full(accepted)


def text_in_full(report: ReleaseReport) -> str:
    return " ".join(terminal_text(report, extent=Extent.VERBOSE).split())


@pytest.mark.parametrize("mechanism", ["auto", "workload", "identity", "clipped_composition"])
def test_answers_at_a_large_epsilon_are_the_truth(mechanism: str) -> None:
    report = released(total_epsilon=10**6, mechanism=mechanism)
    assert [query.answer for query in report.queries] == truth(SECRET)
    assert {batch.name: batch.queries for batch in report.batches} == {
        "COUNT": 5,
        "SUM(pay)": 2,
        "SUM(debt)": 1,
    }
    assert not report.simulated


def test_answers_with_a_unit_are_of_persons() -> None:
    """COUNT of persons, SUM of persons' totals; the persons here are the ages."""
    sqls = [
        "SELECT COUNT(*) FROM D WHERE job = 'cook'",
        "SELECT COUNT(*) FROM D",
        "SELECT SUM(pay) FROM D WHERE job = 'cook'",
    ]
    facts = {"pay": {"bounds": (0, 1000)}}
    report = released(queries=sqls, unit="age", total_epsilon=10**6, columns=facts)
    cooks = SECRET[SECRET.job == "cook"]
    exact = [cooks.age.nunique(), SECRET.age.nunique(), cooks.pay.sum()]
    assert [query.answer for query in report.queries] == exact
    assert (report.cost.unit, report.cost.max_rows) == ("age", 1)
    assert {batch.mechanism for batch in report.batches} <= {"workload", "joint"}
    text = " ".join(terminal_text(report).split())
    assert "COUNT(*) of persons where" in text
    assert "SUM(pay) of persons' totals where" in text
    again = released(queries=sqls, unit="age", total_epsilon=10**6, columns=facts)
    assert again.cost.epsilon == 0
    other = released(queries=sqls[:2], unit="AGE", total_epsilon=Fraction(2 * 10**6, 3))
    assert other.cost.epsilon == 0
    assert other.batches[0].replayed


@pytest.mark.parametrize("mechanism", ["numerical", "normalization", "global_truncation"])
def test_answers_of_multiplicative_weights_are_near_the_truth(mechanism: str) -> None:
    report = released(total_epsilon=10**6, mechanism=mechanism)
    for query, exact in zip(report.queries[:7], truth(SECRET), strict=False):
        assert abs(query.answer - exact) < 150, query.id
        assert query.deviation is None


@pytest.mark.parametrize("sql", ["SELECT COUNT(*) FROM D", "SELECT SUM(pay) FROM D"])
@pytest.mark.parametrize(
    "mechanism", ["auto", "numerical", "global_truncation", "clipped_composition"]
)
def test_a_query_without_a_condition(sql: str, mechanism: str) -> None:
    (query,) = released(queries=sql, total_epsilon=10**6, mechanism=mechanism).queries
    exact = len(SECRET) if "COUNT" in sql else SECRET.pay.sum()
    assert abs(query.answer - exact) <= 0.3 * exact
    assert run_release(
        SECRET.iloc[:0],
        COPY,
        as_queries(sql),
        Parameters.parse(tau=1, epsilon=1, alpha=0.05, mechanism=mechanism),
        SimulatedNoise(2),
    ).queries


def test_range_sums_have_their_own_mechanism() -> None:
    report = released(queries=RANGE_SUMS, total_epsilon=10**6, mechanism="ranges")
    pay = SECRET.pay
    assert [q.answer for q in report.queries] == [
        pay[pay > 3].sum(),
        pay[pay <= 6].sum(),
        pay.sum(),
    ]
    assert all(query.deviation is not None for query in report.queries)
    assert any(str(note).startswith("SUM(pay): ranges is ") for note in report.notes)
    assert "ranges" in {
        r.mechanism for r in released(queries=RANGE_SUMS).batches[0].simulated_errors
    }


def test_noise_is_as_large_as_the_report_says() -> None:
    errors, deviations = [], []
    for seed in range(40):
        report = simulated(SECRET, SimulatedNoise(seed), "workload")
        errors.append([q.answer - t for q, t in zip(report.queries, truth(SECRET), strict=True)])
        deviations.append([query.deviation for query in report.queries])
    ratio = np.std(np.array(errors), axis=0) / np.array(deviations[0], float)
    assert (ratio > 0.6).all()
    assert (ratio < 1.5).all()
    assert all(each == deviations[0] for each in deviations)


def test_the_report_in_all_its_forms() -> None:
    report = released()
    frame = report.to_frame()
    assert frame["id"].tolist() == [query.id for query in report.queries]
    assert frame["group"].dropna().tolist() == ["job = cook", "job = nurse", "job = smith"]
    found = json.loads(report.to_json())
    assert (found["kind"], found["spent_epsilon"]) == ("release", 1)
    assert len(found["queries"]) == 8
    for width in (20, 40, 80, 200):
        text = terminal_text(report, width)
        assert max(map(len, text.splitlines())) <= max(width, 26)
        flat = " ".join(text.split())
        assert all(query.id.split("[")[0] in flat for query in report.queries)
    assert "One row counts as one person." in terminal_text(report, extent=Extent.VERBOSE)
    assert "SIMULATED" not in str(report)


def test_simulated_answers_are_stamped() -> None:
    report = simulated(SECRET, SimulatedNoise(1))
    assert SIMULATED in " ".join(str(report).split())
    assert json.loads(report.to_json())["simulated"] is True
    assert report.to_frame()["simulated"].all()


def test_the_schema_document_names_every_field() -> None:
    words = (SAMPLES.parent / "docs" / "report-schema.md").read_text("utf-8")
    found = released().to_dict()
    for fields in (found, found["queries"][0], found["batches"][0]):
        for name in fields:
            assert name in words, name


# What it costs ------------------------------------------------------------------------------------


def test_the_cost_is_the_stated_epsilon_exactly(account: Path) -> None:
    report = released(total_epsilon="1/3", mechanism="numerical")
    assert report.cost.epsilon == Fraction(1, 3)
    assert [batch.epsilon for batch in report.batches] == [
        Fraction(1, 3) * n / 8 for n in (5, 2, 1)
    ]
    other = released(total_epsilon="1/3")
    assert sum(batch.epsilon for batch in other.batches) == Fraction(1, 3)
    assert spent(account) == [Fraction(2, 3)]


def test_repeated_it_costs_nothing_and_says_the_same(account: Path) -> None:
    first = released()
    renamed = [pqd.Query(sql, f"other{n}") for n, sql in enumerate(reversed(RELEASED))]
    for again in (released(), released(queries=renamed)):
        assert again.cost.epsilon == 0
        assert all(batch.replayed for batch in again.batches)
    answers = {query.sql: query.answer for query in first.queries}
    assert {query.sql: query.answer for query in again.queries} == answers
    assert [b.reason for b in released().batches] == [b.reason for b in first.batches]
    assert spent(account) == [1]


def test_another_query_is_paid_for(account: Path) -> None:
    released()
    assert released(fresh=True).cost.epsilon == 1
    assert released(total_epsilon="1/2").cost.epsilon == Fraction(1, 2)
    named = released(mechanism="numerical")
    assert named.cost.epsilon == 1
    assert spent(account) == [Fraction(7, 2)]


def test_auto_and_the_mechanism_that_it_takes_are_one_release() -> None:
    sql = RELEASED[:2]
    taken = released(queries=sql).batches[0].mechanism
    assert released(queries=sql, mechanism=taken).cost.epsilon == 0


def test_a_query_that_is_stated_twice_is_one() -> None:
    report = released(queries=[RELEASED[0], RELEASED[0]])
    assert report.batches[0].queries == 1
    assert report.queries[0].answer == report.queries[1].answer


def test_a_budget_that_does_not_reach_is_refused(account: Path) -> None:
    with closing(Ledger(account)) as ledger:
        ledger.set_limit(Budget(Fraction(1, 2)))
    with pytest.raises(BudgetError, match="this run needs epsilon 1"):
        released(dataset="debts")
    assert spent(account) == []


def test_what_protects_persons_does_not_add_up_with_a_release(account: Path) -> None:
    pqd.audit(SECRET, COPY, RELEASED[0], tau=5, epsilon=1, unit="job")
    with pytest.raises(BudgetError, match="do not add up"):
        released()
    assert spent(account) == [1]
    released(unit="job")
    assert spent(account) == [2]


def test_audit_and_release_share_an_account(account: Path) -> None:
    pqd.audit(SECRET, COPY, RELEASED[0], tau=5, epsilon=1)
    released()
    assert spent(account) == [2]


# What it refuses ----------------------------------------------------------------------------------


REFUSED: dict[str, tuple[dict[str, Any], type[PqdError], str]] = {
    "an average": ({"queries": "SELECT AVG(pay) FROM D"}, QueryError, "ask its SUM and COUNT"),
    "a distinct count": ({"queries": "SELECT COUNT(DISTINCT job) FROM D"}, QueryError, "pqd audit"),
    "a mechanism": (
        {"mechanism": "magic"},
        ParameterError,
        "auto, workload, joint, identity, numerical",
    ),
    "a column": ({"queries": "SELECT SUM(pai) FROM D"}, PqdError, "pay"),
    "rows without a unit": ({"max_rows": 2}, ParameterError, "no unit says whose rows"),
    "classes of rows, with a unit": (
        {"unit": "job", "mechanism": "identity"},
        ParameterError,
        "COUNT: identity counts rows by what they meet.* use auto, joint or workload",
    ),
    "a unit that is no column": ({"unit": "jib"}, PqdError, "job"),
    "no budget": ({"total_epsilon": 0}, ParameterError, "greater than 0"),
    "too small a budget": (
        {
            "total_epsilon": "1e-11",
            "mechanism": "identity",
            "columns": {**DEBT, "pay": {"bounds": (0, 10**6)}},
        },
        ParameterError,
        r"SUM\(pay\): the noise scale",
    ),
    "no query": ({"queries": []}, PqdError, "no quer"),
    "no range sums": ({"mechanism": "ranges"}, ParameterError, "COUNT: the mechanism ranges is"),
    "wide bounds": (
        {
            "total_epsilon": "0.001",
            "mechanism": "workload",
            "columns": {"debt": {"bounds": (0, 2**52)}},
        },
        PqdError,
        r"SUM\(debt\): the noise scale would be .* use a larger epsilon or narrower bounds",
    ),
}


@pytest.mark.parametrize("label", REFUSED)
def test_what_it_refuses_spends_nothing(label: str, account: Path) -> None:
    options, kind, message = REFUSED[label]
    with pytest.raises(kind, match=message):
        released(**options)
    assert spent(account) == []


# What it hides ------------------------------------------------------------------------------------


def test_a_category_that_the_copy_lacks_does_not_show() -> None:
    private = SECRET.assign(job=["spy-canary", *SECRET.job[1:]])
    report = released(private)
    told = str(report), report.to_json(), report.to_frame().to_csv(), report.to_markdown()
    assert "canary" not in "".join(told)
    assert len(report.queries) == 8


# The command --------------------------------------------------------------------------------------


def test_the_command_answers_and_writes_json(command: Command, tmp_path: Path) -> None:
    queries, target = tmp_path / "queries.sql", tmp_path / "report.json"
    queries.write_text(
        "-- id: women\nSELECT COUNT(*) FROM D WHERE sex = 'Female';\n"
        "-- id: income\nSELECT SUM(inctot) FROM D WHERE age > 40;\n",
        encoding="utf-8",
    )
    tables = [str(PRIVATE), str(SYNTHETIC), "--queries", str(queries), "--total-epsilon", "1"]
    code, out, err = command("release", *tables, "--json", str(target))
    assert (code, err) == (0, "")
    assert "epsilon 1 spent\n" in out
    assert "In all epsilon 1 spent on census_private.parquet" in " ".join(out.split())
    kept = json.loads(target.read_text("utf-8"))
    code, out, _ = command("release", *tables, "--json", "-")
    again = json.loads(out)
    assert [q["answer"] for q in again["queries"]] == [q["answer"] for q in kept["queries"]]
    assert (kept["spent_epsilon"], again["spent_epsilon"]) == (1, 0)
    assert kept["queries"][1]["id"] == "income"


def test_the_command_writes_a_page_and_a_summary(command: Command, tmp_path: Path) -> None:
    page, summary = tmp_path / "report.html", tmp_path / "report.md"
    options = ["-q", "SELECT COUNT(*) FROM D GROUP BY sex", "--total-epsilon", "1"]
    targets = ["--html", str(page), "--markdown", str(summary)]
    code, out, err = command("release", str(PRIVATE), str(SYNTHETIC), *options, *targets)
    assert (code, err) == (0, "")
    assert "In all epsilon 1 spent on census_private.parquet" in " ".join(out.split())
    text = page.read_text("utf-8")
    assert "<title>2 private answers for epsilon 1: pqd release</title>" in text
    assert "pqd release " in text.partition('id="again"')[2].replace(
        '</span> <span class="word">', " "
    )
    assert summary.read_text("utf-8").startswith(
        "## pqd release: 2 private answers for epsilon 1\n"
    )
    for kind, start in (("--html", "<!DOCTYPE html>"), ("--markdown", "## pqd release")):
        code, out, _ = command("release", str(PRIVATE), str(SYNTHETIC), *options, kind, "-")
        assert code == 0
        assert out.startswith(start)
        assert "All of this was paid for before." in out


def test_bins_make_many_queries(command: Command) -> None:
    options = ["-q", "SELECT COUNT(*) FROM D", "--bins", "age=0:100:10", "--total-epsilon", "1"]
    code, out, _ = command("release", str(PRIVATE), str(SYNTHETIC), *options, "--json", "-")
    assert code == 0
    assert json.loads(out)["batches"][0]["queries"] == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-q", "SELECT COUNT(*) FROM D"], "--total-epsilon is missing"),
        (
            ["-q", "SELECT COUNT(*) FROM D", "--total-epsilon", "1", "--max-rows", "2"],
            "no unit says whose rows",
        ),
        (["-q", "SELECT MEDIAN(age) FROM D", "--total-epsilon", "1"], "a release answers COUNT"),
        (
            [
                *("-q", "SELECT MEDIAN(age) FROM D", "-q", "SELECT COUNT(*) FROM D"),
                *("-q", "SELECT QUANTILE(age, 0.9) FROM D", "--total-epsilon", "1"),
            ],
            "queries q1 and q3: a release answers COUNT",
        ),
        (
            ["-q", "SELECT COUNT(*) FROM D", "--total-epsilon", "1", "--json", "x.csv"],
            "like a table",
        ),
        (
            ["-q", "SELECT COUNT(*) FROM D", "--total-epsilon", "1", "--html", "x.csv"],
            "like a table",
        ),
        (
            ["-q", "SELECT COUNT(*) FROM D", "--total-epsilon", "1", "--markdown", "no/x.md"],
            "no such",
        ),
        (
            ["-q", "SELECT COUNT(*) FROM D", "--total-epsilon", "1", "--html", "-", "--json", "-"],
            "same place",
        ),
    ],
)
def test_mistakes_at_the_command_line(
    command: Command, options: list[str], message: str, account: Path
) -> None:
    code, out, err = command("release", str(PRIVATE), str(SYNTHETIC), *options)
    assert (code, out) == (2, "")
    assert message in err
    assert spent(account) == []
