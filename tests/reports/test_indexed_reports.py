"""Reports as collections: counted, iterated over, found by name, and neither true nor false."""

from pathlib import Path

import pytest

import pqd
from pqd.deciders.options import for_shell
from tests.support.audit_reports import AUDIT
from tests.support.compare_reports import SMALL as COMPARE

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
COPY = SAMPLES / "census_synthetic.parquet"
WORKLOAD = SAMPLES / "census.sql"


@pytest.fixture(scope="module")
def plan() -> pqd.PlanReport:
    queries = [query for query in pqd.read_queries(WORKLOAD) if query.aggregate == "COUNT"]
    return pqd.plan(COPY, queries, tau="5%", epsilon=1)


def test_a_report_is_a_collection_of_its_results(plan: pqd.PlanReport) -> None:
    assert len(plan) == len(plan.queries) == 12
    assert list(plan) == list(plan.queries)
    assert plan["q3"] is plan[2] is plan.queries[2]
    assert plan[-1].id == "q12"


def test_a_name_that_is_not_there_gets_the_nearest(plan: pqd.PlanReport) -> None:
    with pytest.raises(KeyError, match=r"the report has no 'q33'; it has q3"):
        plan["q33"]
    with pytest.raises(IndexError):
        plan[12]


def test_no_report_is_true_or_false(plan: pqd.PlanReport) -> None:
    with pytest.raises(TypeError, match=r"neither true nor false; .* report\[0\]\.decidable"):
        bool(plan)


def test_a_check_has_no_attribute_that_is_true_where_it_passed() -> None:
    with pytest.raises(AttributeError, match=r"has no 'passed'; ask report\.exit_code == 0$"):
        _ = pqd.check(SAMPLES / "audit.toml", dry_run=True).passed  # type: ignore[attr-defined]


def test_findings_and_marginals_go_by_their_columns(tmp_path: Path) -> None:
    secret = SAMPLES / "census_private.parquet"
    profile = pqd.profile(secret, COPY, columns=["age", "sex"], ledger=tmp_path / "ledger.sqlite")
    assert profile["age"].columns == ("age",)
    assert profile["age, sex"] is profile.of_columns("age", "sex")
    assert len(profile) == len(profile.marginals) > 2
    found = pqd.lint(COPY, columns={"age": {"bounds": (0, 40)}})
    assert found["age"].fault
    assert len(found) == len(found.findings)


def test_a_report_in_python_names_what_python_calls() -> None:
    with for_shell(stated=False):
        assert "Next: report.open() shows" in str(AUDIT)
        assert "--explain" not in str(AUDIT) + str(COMPARE)
        with pytest.raises(pqd.PqdError, match=r"SELECT a query, and several as a list of texts"):
            pqd.plan(COPY, "SELECT COUNT(*) FROM D; SELECT COUNT(*) FROM D", tau="5%", epsilon=1)
    assert "Next: pqd audit ... --explain" in str(AUDIT)
    name = COMPARE.queries[1].id
    with pytest.raises(KeyError, match=r"read by their names; report\.queries\[1\] is this"):
        COMPARE[name]
