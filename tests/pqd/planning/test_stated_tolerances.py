"""Tolerances of single queries: what comes first, and what is refused."""

from pathlib import Path

import pandas as pd
import pytest

import pqd
from pqd.errors import ParameterError
from pqd.reports.text.numbers import EACH_ITS_OWN
from pqd.sql.tolerance import Tolerance
from pqd.sql.workload_files import as_queries
from pqd.stated.queries import stated_for, with_tolerances

SQL = "SELECT COUNT(*) FROM D"
OWN = pqd.Query(SQL, "own", tau="2%")
COPY = pd.DataFrame({"age": range(1000), "sex": ["f", "m"] * 500})


def test_an_option_for_a_query_comes_before_its_own_and_that_before_the_runs() -> None:
    queries = as_queries([SQL, OWN, pqd.Query(SQL, "both", tau="2%")])
    asked, tau = with_tolerances(queries, "5%", {"both": "3%"})
    assert [query.tau for query in asked] == [None, "2%", "3%"]
    assert tau == "5%"
    report = pqd.plan(COPY, queries, tau="5%", tolerances={"both": "3%"})
    assert [(each.tau, each.tolerance) for each in report.queries] == [
        (50, "5%"),
        (20, "2%"),
        (30, "3%"),
    ]
    assert report.tolerance == EACH_ITS_OWN


def test_groups_and_bins_have_the_tolerance_of_their_query() -> None:
    queries = [
        pqd.Query(f"{SQL} GROUP BY sex", "groups"),
        pqd.Query(SQL, "bins", bins="age=0:1000:500"),
    ]
    report = pqd.plan(COPY, queries, tolerances={"groups": 7, "bins": 9})
    assert [each.tau for each in report.queries] == [7, 7, 9, 9]


def test_tau_is_needed_for_queries_that_have_none() -> None:
    report = pqd.plan(COPY, [OWN])
    assert (report.tolerance, report.queries[0].tau) == ("2%", 20)
    with pytest.raises(ParameterError, match="tau is missing; give it"):
        pqd.plan(COPY, SQL)
    many: list[str | pqd.Query] = [OWN, *[SQL] * 5]
    with pytest.raises(ParameterError, match=r"is missing for q1, q2, q3 and 2 more; give it"):
        pqd.plan(COPY, many)


def test_a_tolerance_of_no_query_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"'owm', but there is no such query; did you mean"):
        with_tolerances([OWN], "5%", {"owm": 3})
    with pytest.raises(ParameterError, match="tau"):
        with_tolerances([OWN], "5%", {"own": "much"})
    with pytest.raises(ParameterError, match="tau"):
        with_tolerances([OWN], "much")


def test_a_report_states_one_tolerance_or_that_there_are_several() -> None:
    run = Tolerance.parse("2%")
    assert stated_for([OWN, *as_queries(SQL)], run) == "2%"
    assert stated_for([OWN], Tolerance.parse(5)) == "2%"
    assert stated_for([OWN, *as_queries(SQL)], Tolerance.parse(5)) is None
    assert stated_for([], run) == "2%"


def test_an_audit_decides_each_query_at_its_own_tolerance(tmp_path: Path) -> None:
    private = COPY.iloc[:970]
    queries = [pqd.Query(SQL, "wide", tau="10%"), pqd.Query(SQL, "narrow", tau=5)]
    report = pqd.audit(private, COPY, queries, epsilon=20, ledger=tmp_path / "ledger.sqlite")
    assert {v.id: v.outcome for v in report.verdicts} == {"wide": "yes", "narrow": "no"}
    assert "within the tolerance stated for each query" in report.to_markdown()
