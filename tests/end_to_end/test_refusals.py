"""A query that the synthetic table gives nothing to hold against is refused alone, and named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.deciders.errors import UnanswerableError
from pqd.errors import PqdError, QueryError
from pqd.reports.writers.html import html_text
from pqd.reports.writers.notebook import notebook_html

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

NONE = "SELECT COUNT(*) FROM D WHERE age > 99"
ALL = "SELECT COUNT(*) FROM D WHERE age > 40"
MEAN = "SELECT AVG(pay) FROM D WHERE age > 99"
EMPTY = "SELECT SUM(void) FROM D"
BY_JOB = "SELECT SUM(pay) FROM D GROUP BY job"
QUERIES = f"""
-- id: none
{NONE};
-- id: all
{ALL};
-- id: mean
{MEAN};
-- id: empty
{EMPTY};
-- id: by-job
{BY_JOB};
"""
LEFT_OUT = ["none", "mean", "empty", "by-job[job = cook]"]
ASKED = ["all", "by-job[job = smith]"]
TERMS = ("--tau", "5%", "--epsilon", "1")
CHECK = """
[[check]]
id = "{id}"
sql = "{sql}"
tau = "5%"
epsilon = 1
severity = "warn"
on_undecided = "pass"
expect = "{expect}"
"""


def table(seed: int) -> pd.DataFrame:
    """Nobody is older than 79, cooks are not paid, and one column is NULL throughout."""
    jobs = ["cook", "smith"] * 100
    ages = [(seed + 7 * n) % 80 for n in range(200)]
    pay = [0 if job == "cook" else 3 + n % 5 for n, job in enumerate(jobs)]
    return pd.DataFrame({"age": ages, "job": jobs, "pay": pay, "void": [float("nan")] * 200})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table(1).to_parquet("private.parquet")
    table(2).to_parquet("copy.parquet")
    Path("queries.sql").write_text(QUERIES, encoding="utf-8")
    return tmp_path


OPTIONS = ("private.parquet", "copy.parquet", "--queries", "queries.sql", "--tau", "5%")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("more", [(), ("--sharing", "workload")])
@pytest.mark.parametrize("start", [("audit", *OPTIONS), ("plan", *OPTIONS[1:])])
def test_a_shared_budget_is_not_spent_by_the_others(
    start: tuple[str, ...], more: tuple[str, ...], command: Command
) -> None:
    code, out, err = command(*start, "--total-epsilon", "1", *more)
    assert (code, out) == (2, "")
    for words in (
        "query none: tau is 5% of the synthetic answer, which is 0",
        "query mean: no synthetic row matches",
        "query empty: void has no value",
        "mend these, or leave them out. Nothing was spent",
    ):
        assert words in err
    # Another group of the same query is answered.
    assert "by-job" not in err
    assert not Path("ledger.sqlite").exists()


def test_a_group_alone_is_left_out_of_a_shared_budget() -> None:
    report = pqd.audit(table(1), table(2), [ALL, BY_JOB], tau="5%", total_epsilon=1)
    assert [each.id for each in report.refused] == ["q2[job = cook]"]
    assert report.cost.epsilon == 1


def test_other_capitals_than_those_of_the_copy_do_not_spend_a_shared_budget() -> None:
    wrong = "SELECT COUNT(*) FROM D WHERE job = 'Cook'"
    with pytest.raises(QueryError, match="query q2: it has 'Cook'; the copy has 'cook'") as told:
        pqd.audit(table(1), table(2), [ALL, wrong], tau=10, total_epsilon=1)
    assert "leave them out" in str(told.value)
    private, copy = (each.assign(town=each["job"].str.upper()) for each in (table(1), table(2)))
    right = "SELECT COUNT(*) FROM D WHERE town = 'COOK' AND job <> 'smith'"
    other = "SELECT COUNT(*) FROM D WHERE town <> 'SMITH' AND job = 'COOK'"
    with pytest.raises(QueryError, match="q2: it has 'COOK'; the copy has 'cook'") as told:
        pqd.audit(private, copy, [right, other], tau=10, total_epsilon=1)
    assert "q1" not in str(told.value)
    for sql in (wrong, wrong.replace("'Cook'", "'nurse'")):
        budget = "epsilon" if "Cook" in sql else "total_epsilon"
        stated: dict[str, Any] = {budget: 1}
        report = pqd.audit(table(1), table(2), [ALL, sql], tau=10, **stated)
        assert any('"job" is never' in str(note) for note in report.notes)
        assert len(report) == 2


def test_an_audit_answers_the_others(folder: Path, command: Command) -> None:
    code, out, err = command(
        "audit", *OPTIONS, "--epsilon", "1", "--json", "report.json", "--markdown", "report.md"
    )
    assert (code, err) == (0, "")
    found = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert [verdict["id"] for verdict in found["verdicts"]] == ASKED
    assert sorted(each["id"] for each in found["refused"]) == sorted(LEFT_OUT)
    told = " ".join(out.split())
    assert "4 queries were not asked and cost nothing: " in told
    for words in (
        "none, by-job: tau is 5% of the synthetic answer, which is 0",
        "mean: no synthetic row matches, so there is no mean",
        "empty: void has no value in the synthetic table; state its bounds",
    ):
        assert words in told
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "4 queries were not asked and cost nothing." in text
    assert "- mean: no synthetic row matches" in text


@pytest.mark.usefixtures("folder")
def test_what_is_left_out_costs_nothing(command: Command) -> None:
    asked = (
        "audit",
        "private.parquet",
        "copy.parquet",
        "--queries",
        "queries.sql",
        *TERMS,
        "--json",
        "-",
    )
    cost = json.loads(command(*asked)[1])["cost"]
    assert sorted(name for group in cost["groups"] for name in group["ids"]) == sorted(ASKED)
    assert cost["epsilon"] == 2


def test_every_rendering_names_them() -> None:
    report = pqd.audit(table(1), table(2), [NONE, ALL], tau="5%", epsilon=1)
    (left_out,) = report.refused
    assert (left_out.id, left_out.sql) == ("q1", NONE)
    for text in (html_text(report), notebook_html(report), report.to_markdown(), str(report)):
        assert "1 query was not asked and cost nothing" in " ".join(text.split())
        assert "which is 0" in " ".join(text.split())
    frame = report.to_frame()
    assert frame["id"].tolist() == ["q2", "q1"]
    assert frame["outcome"].isna().tolist() == [False, True]
    assert "which is 0" in frame["reason"][1]


def test_a_report_without_any_says_nothing_of_them() -> None:
    report = pqd.audit(table(1), table(2), [ALL], tau="5%", epsilon=1)
    assert report.refused == ()
    for text in (html_text(report), notebook_html(report), report.to_markdown(), str(report)):
        assert "not asked" not in text.lower()


@pytest.mark.parametrize("epsilon", [None, 1])
def test_a_plan_plans_the_others(epsilon: int | None) -> None:
    plan = pqd.plan(table(2), [NONE, ALL, MEAN], tau="5%", epsilon=epsilon)
    assert [entry.id for entry in plan.queries] == ["q2"]
    assert [each.id for each in plan.refused] == ["q1", "q3"]
    assert plan.to_dict()["refused"][1]["id"] == "q3"
    assert plan.to_frame()["reason"].notna().sum() == 2
    for text in (html_text(plan), notebook_html(plan), plan.to_markdown(), str(plan)):
        assert "q3: no synthetic row matches" in " ".join(text.split())


@pytest.mark.parametrize("references", [None, 1])
def test_a_comparison_compares_the_others(references: int | None) -> None:
    """A share of 0 is one unit there; the mean of no row is left out, also for a reference."""
    frames = {"a": table(2).drop(columns="void"), "b": table(3).drop(columns="void")}
    private = table(1).drop(columns="void")
    report = pqd.compare(
        private,
        frames,
        [NONE, ALL, MEAN],
        tau="5%",
        epsilon=1,
        weights={"q3": 2},
        references=references,
    )
    assert [query.id for query in report.queries] == ["q1", "q2"]
    assert [each.id for each in report.refused] == ["q3"]
    assert report.cost.epsilon == 2 + (references or 0)
    assert report.to_dict()["refused"][0]["id"] == "q3"
    assert report.to_frame()["id"].tolist()[-1] == "q3"
    for text in (html_text(report), notebook_html(report), report.to_markdown(), str(report)):
        assert "q3: no synthetic row matches" in " ".join(text.split())


def test_a_release_answers_the_others() -> None:
    report = pqd.release(table(1), table(2), [NONE, EMPTY, ALL], total_epsilon=1)
    assert [query.id for query in report.queries] == ["q1", "q3"]
    assert [each.id for each in report.refused] == ["q2"]
    assert report.to_dict()["refused"][0]["id"] == "q2"
    assert report.to_frame()["answer"].isna().tolist() == [False, False, True]
    for text in (html_text(report), notebook_html(report), report.to_markdown(), str(report)):
        assert "q2: void has no value" in " ".join(text.split())


def test_a_noise_that_is_too_wide_for_one_query_leaves_it_out() -> None:
    """In a unit as fine as this the noise of the sum does not fit the sampler; a count does."""
    wide = {"pay": {"bounds": (0, 9), "step": "0.000000001"}}
    queries = ["SELECT SUM(pay) FROM D", ALL]
    report = pqd.audit(
        table(1), table(2), queries, tau=5, epsilon="1e-9", columns=wide, decider="auto"
    )
    assert [verdict.id for verdict in report.verdicts] == ["q2"]
    assert "beyond 2^56" in report.refused[0].reason


STOPPING = {
    "a typo beside it": ([NONE, "SELECT COUNT(*) FROM D WHERE agee > 4"], QueryError),
    "a typo after one that is answered": ([ALL, "SELECT AVG(job) FROM D"], QueryError),
    "nothing else": ([NONE, MEAN], UnanswerableError),
}


@pytest.mark.parametrize("label", STOPPING)
@pytest.mark.parametrize("budget", ["epsilon", "total_epsilon"])
def test_what_is_wrong_with_a_query_stops_the_run(label: str, budget: str, tmp_path: Path) -> None:
    queries, kind = STOPPING[label]
    stated: dict[str, Any] = {budget: 1}
    with pytest.raises(kind, match="query q") as found:
        pqd.audit(table(1), table(2), queries, tau="5%", **stated)
    assert isinstance(found.value, PqdError)
    assert found.value.exit_code == 2
    assert not (tmp_path / "ledger.sqlite").exists()


@pytest.mark.parametrize("expect", ["close", "far"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_check_that_cannot_be_answered_never_passes(
    expect: str,
    shared: bool,
    folder: Path,
    command: Command,
) -> None:
    """Nor does it for one group: a check is about all of them, and pays for none of the others."""
    checks = "".join(
        CHECK.format(id=name, sql=sql, expect=expect)
        for name, sql in {"none": NONE, "all": ALL, "mean": MEAN, "by-job": BY_JOB}.items()
    )
    tables = '[private]\npath = "private.parquet"\n[synthetic.copy]\npath = "copy.parquet"\n'
    budget = '[shared_budget]\ntotal_epsilon = 2\nsharing = "alone"\n' if shared else ""
    text = f"{tables}{budget}{checks}"
    spec = folder / "audit.toml"
    spec.write_text(text.replace("epsilon = 1\n", "") if shared else text, encoding="utf-8")
    for dry in (["--dry-run"], []):
        code, out, _ = command("check", str(spec), "--output", "json=-", *dry)
        assert code == 2
        found = json.loads(out)
        gates = {entry["id"]: entry["gate"] for entry in found["checks"]}
        assert [name for name, gate in gates.items() if gate == "error"] == [
            "none",
            "mean",
            "by-job",
        ]
        messages = {entry["id"]: entry["message"] for entry in found["checks"]}
        assert messages["by-job"].startswith("job = cook: tau is 5% of the synthetic answer")
        assert found["cost"]["epsilon"] == (2 if shared else 1)
        assert [i for g in found["cost"]["groups"] for i in g["ids"]] == ["all"]
