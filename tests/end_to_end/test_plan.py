"""``pqd plan``: from the command line and Python, public data only."""

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import pqd
from pqd.cli import command_line
from pqd.commands.audit import run_audit
from pqd.deciders import SimulatedNoise
from pqd.parameters import Parameters
from pqd.reports.models.standings import Standing
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.sql.workload_files import as_queries
from tests.support.likeness import like
from tests.support.skipped import NO_TABLES

ROOT = Path(__file__).parents[2]
CENSUS = str(ROOT / "samples" / "census_synthetic.parquet")
SHARED = ROOT.parent / "shared" / "data"


def shown(*arguments: str, columns: int = 80) -> str:
    result = CliRunner().invoke(command_line(), ["plan", *arguments], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result.output


def test_low_and_ok_are_seen_at_a_glance() -> None:
    query = "SELECT COUNT(*) FROM D WHERE sex LIKE 'Male'"
    low = shown(CENSUS, "-q", query, "--tau", "3", "--epsilon", "0.25")
    assert re.search(r"^  LOW +q1 .* 1\.39 ", low, re.MULTILINE)
    assert "Next: --epsilon 1.39 would decide it" in low
    assert "The query cannot be decided at epsilon 0.25." in low
    enough = shown(CENSUS, "-q", query, "--tau", "20", "--epsilon", "0.25")
    assert re.search(r"^  OK +q1 ", enough, re.MULTILINE)
    assert "Next:" not in enough
    assert "nothing was spent" in " ".join(enough.split())


def test_what_is_asked_twice_is_priced_once_as_it_is_charged() -> None:
    twice = ["SELECT SUM(age) FROM D WHERE sex='Male'", "SELECT SUM(age) FROM D WHERE sex = 'Male'"]
    plan = pqd.plan(CENSUS, twice, tau="5%", epsilon=0.5)
    parameters = Parameters.parse(tau="5%", epsilon=0.5, alpha="0.05")
    private = CENSUS.replace("synthetic", "private")
    report = run_audit(private, CENSUS, as_queries(twice), parameters, SimulatedNoise(1))
    assert float(plan.price or 0) == report.spent == 0.5


@pytest.mark.parametrize("columns", [44, 80, 140])
def test_a_plan_is_complete_at_any_width(columns: int) -> None:
    text = shown(CENSUS, "--queries", str(ROOT / "samples" / "demo.sql"), "--tau", "5%", "-v",
                 "--epsilon", "0.1", columns=columns)  # fmt: skip
    words = "".join(text.split())
    for name in (
        "inv_count",
        "em_count_naive",
        "svt_sum_plain",
        "hist_median",
        "income-of-graduates",
    ):
        assert name in words
    assert "\x1b" not in text


def test_without_epsilon_only_the_needed_budget_is_shown() -> None:
    options = "-q", "SELECT MEDIAN(age) FROM D", "--tau", "3"
    assert "would decide it." in shown(CENSUS, *options)
    text = shown(CENSUS, *options, "--verbose")
    assert "epsilon needed" in text
    assert "false no" not in text.split("Planned on")[0]


def test_json_of_a_plan() -> None:
    plan = json.loads(shown(CENSUS, "-q", "SELECT SUM(inctot) FROM D", "--tau", "1%", "--epsilon",
                            "0.5", "--json", "-"))  # fmt: skip
    assert (plan["kind"], plan["schema_version"], plan["epsilon"]) == ("plan", 2, 0.5)
    (entry,) = plan["queries"]
    assert {c["decider"] for c in entry["candidates"]} >= {"inv_sum", "lm_sum", "svt_sum"}
    chosen = next(c for c in entry["candidates"] if c["decider"] == entry["decider"])
    assert len(chosen["curve"]) == 21
    assert "private" not in plan


def test_a_frame_has_one_row_per_query_and_candidate() -> None:
    plan = pqd.plan(CENSUS, ["SELECT COUNT(*) FROM D", "SELECT AVG(age) FROM D"], tau=5, epsilon=1)
    frame = plan.to_frame()
    assert list(frame["decider"]) == [
        "inv_count",
        "noisy_count",
        "lm_count",
        "em_count",
        "em_count_naive",
        "inv_mean",
    ]
    assert list(frame["chosen"]) == [False, True, False, False, False, True]


def test_the_plans_budget_makes_an_audit_conclusive_most_of_the_time() -> None:
    """At the epsilon that the plan gives, nine runs of ten prove a true yes."""
    entry = pqd.plan(CENSUS, "SELECT MEDIAN(age) FROM D", tau=2).queries[0]
    needed = entry.chosen.epsilon_needed
    assert needed is not None
    private, queries = like(pd.read_parquet(CENSUS)), as_queries("SELECT MEDIAN(age) FROM D")
    stated = Parameters.parse(tau=2, epsilon=needed, alpha="0.05")
    noise = SimulatedNoise(7)
    standings = [
        run_audit(private, CENSUS, queries, stated, noise).verdicts[0].standing for _ in range(40)
    ]
    # 40 draws that decide with probability 0.9: fewer than 25 would have probability 10^-6.
    assert standings.count(Standing.TRUSTED) >= 25


def test_a_named_decider_without_a_p_value_is_planned_as_it_would_answer() -> None:
    """Where it errs seldom on all public tables it is likely right, and never said to decide."""
    query, options = "SELECT COUNT(*) FROM D WHERE age > 40", ("--tau", "10%", "--decider")
    text = shown(CENSUS, "-q", query, *options, "em_count", "--epsilon", "1")
    assert text.startswith("No epsilon decides the query; at 1 the answer would be likely right")
    assert re.search(r"^  LIKELY +q1 .* em_count", text, re.MULTILINE)
    assert "LOW" not in text
    poor = shown(CENSUS, "-q", query, *options, "em_count_naive", "--epsilon", "1")
    assert re.search(r"^  LOW +q1 .* em_count_naive", poor, re.MULTILINE)
    assert "likely right at best" in " ".join(poor.split())


def test_a_biased_decider_is_never_decidable() -> None:
    plan = pqd.plan(CENSUS, "SELECT SUM(inctot) FROM D", tau="5%", epsilon=1, detailed=True)
    svt = next(c for c in plan.queries[0].candidates if c.decider == "svt_sum")
    assert svt.epsilon_needed == math.inf
    assert "none" in terminal_text(plan, extent=Extent.VERBOSE)


def test_adult_plan() -> None:
    if not SHARED.exists():
        pytest.skip(NO_TABLES)
    table, queries = SHARED / "adult_privbayes_eps1.parquet", SHARED / "adult_queries.csv"
    options = ["--queries", str(queries), "--tau", "200", "--epsilon", "0.25"]
    assert "of 22 queries can be decided at epsilon 0.25" in shown(str(table), *options)


OFFICE = "--queries", str(ROOT / "samples" / "office.sql"), "--tau", "5%"


def test_the_first_line_answers_which_epsilon_is_needed() -> None:
    first = shown(CENSUS, *OFFICE).splitlines()[0]
    assert first.startswith("Epsilon 0.505 per query decides all 12 queries")
    low = shown(CENSUS, *OFFICE, "--epsilon", "0.1").splitlines()[0]
    assert low == "Epsilon 0.505 per query decides all 12 queries; the planned 0.1 decides 10"


def test_a_shared_budget_is_planned_as_an_audit_shares_it() -> None:
    options = "--total-epsilon", "1", "--sharing", "alone"
    text = shown(CENSUS, *OFFICE, *options)
    assert text.startswith("Epsilon 1 in all decides 10 of 12 queries; about 5.6 would decide all")
    assert "Next: --total-epsilon 5.6 would decide all of them" in text
    enough = shown(CENSUS, *OFFICE, "--total-epsilon", "5.6", "--sharing", "alone")
    assert enough.startswith("Epsilon 5.6 in all decides all 12 queries")


def test_a_planned_batch_is_that_of_the_audit() -> None:
    sql = [f"SELECT COUNT(*) FROM D WHERE age > {age}" for age in (20, 40, 60)]
    plan = pqd.plan(CENSUS, sql, tau="5%", total_epsilon="0.5")
    parameters = Parameters.parse(tau="5%", epsilon="0.5", alpha="0.05")
    private = CENSUS.replace("synthetic", "private")
    report = run_audit(
        private, CENSUS, as_queries(sql), parameters, SimulatedNoise(1), sharing="auto"
    )
    assert [query.decider for query in plan.queries] == [v.decider for v in report.verdicts]
    assert (plan.price, plan.total_epsilon, plan.epsilon) == (
        report.cost.epsilon,
        Fraction(1, 2),
        None,
    )
    assert json.loads(plan.to_json())["total_epsilon"] == 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "1", "--total-epsilon", "1"], "are both given"),
        (["--sharing", "alone"], "is missing"),
        (["--epsilon", "1", "--sharing", "alone"], "nothing is shared"),
        (["--total-epsilon", "1", "--sharing", "nohow"], "nohow"),
    ],
)
def test_budgets_of_a_plan_that_contradict_each_other(options: list[str], words: str) -> None:
    result = CliRunner().invoke(command_line(), ["plan", CENSUS, *OFFICE, *options])
    assert result.exit_code
    assert words in str(result.exception)


def test_a_profile_is_planned_with_its_marginals() -> None:
    text = shown(CENSUS, "--columns", "age, sex", "--ways", "1", "--json", "-")
    marginals = {tuple(each["columns"]) for each in json.loads(text)["marginals"]}
    assert marginals == {("age",), ("sex",)}
    for option in (("--columns", "age"), ("--ways", "1"), ("--cells", "age=3")):
        result = CliRunner().invoke(command_line(), ["plan", CENSUS, *OFFICE, *option])
        assert f"{option[0]} is of a profile" in str(result.exception)
