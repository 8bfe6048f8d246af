"""Bounds that a note tells are those that the measurement uses, whatever is asked of the column."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.deciders import DECIDERS
from pqd.engine.scan_plan import Measure
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundWorkload, QueryRequest
from pqd.planning.lattices import Bounds
from pqd.planning.planned_comparison import select_estimators
from pqd.planning.query_verdict import select_deciders
from pqd.sql.workload_files import as_queries
from pqd.stated.column_facts import parse_columns, span

COPY = pd.DataFrame({"x": [0, 1, 2, 3] * 100, "g": ["a"] * 200 + ["b"] * 200})
OTHER = pd.DataFrame({"x": [1, 2, 3, 3] * 100, "g": ["a"] * 400})
PRIVATE = pd.DataFrame({"x": [9] * 300, "g": ["b"] * 300})
STATED = {"x": {"bounds": (0, 4), "step": 1}}
TOLD = re.compile(r"(-?[\d,.]+\.\.-?[\d,.]+ step [\d.]+)")

Columns = Mapping[str, Mapping[str, Any]] | None


def bound(
    sql: str | Sequence[str], copies: Sequence[object], mechanism: str, columns: Columns
) -> BoundWorkload:
    parameters = Parameters.parse(
        tau="80%", epsilon=1, alpha="0.05", mechanism=mechanism, columns=columns
    )
    tables = SyntheticTables(
        [open_table(copy, "synthetic") for copy in copies], open_table(PRIVATE, "private")
    )
    requests = [QueryRequest.of(query, parameters) for query in as_queries(sql)]
    return bind(tables, requests, parse_columns(columns))


def told(workload: BoundWorkload) -> set[str]:
    return set(TOLD.findall(" ".join(map(str, workload.notes))))


def used(measures: Sequence[Measure | None]) -> set[str]:
    return {span(each.lattice) for each in measures if each and each.lattice}


MECHANISMS = [("SUM", name) for name, made in DECIDERS.items() if made.aggregate == "SUM"] + [
    ("AVG", "inv_mean"),
    ("AVG", "auto"),
    ("SUM", "auto"),
]


@pytest.mark.parametrize("columns", [None, STATED], ids=["of the copy", "stated"])
@pytest.mark.parametrize(("aggregate", "decider"), MECHANISMS)
def test_an_audit_tells_the_bounds_it_uses(aggregate: str, decider: str, columns: Columns) -> None:
    workload = bound(f"SELECT {aggregate}(x) FROM D", [COPY], decider, columns)
    plan = select_deciders(workload)
    (verdict,) = plan.verdicts
    measure = verdict.statistic.measure
    assert told(workload) == used([measure])
    assert measure
    assert measure.lattice
    mechanism: Any = verdict.choice.decider
    assert mechanism.bounds == (
        measure.lattice.lower_units,
        measure.lattice.upper_units,
        measure.lattice.step_units,
    )


@pytest.mark.parametrize("columns", [None, STATED], ids=["of the copy", "stated"])
@pytest.mark.parametrize(
    ("aggregate", "estimator"),
    [
        ("SUM", "laplace"),
        ("SUM", "race_to_the_top"),
        ("SUM", "split"),
        ("AVG", "sum_and_count"),
        ("AVG", "split"),
    ],
)
def test_a_comparison_tells_the_bounds_it_uses(
    aggregate: str, estimator: str, columns: Columns
) -> None:
    workload = bound(f"SELECT {aggregate}(x) FROM D", [COPY, OTHER], estimator, columns)
    plan = select_estimators(workload)
    (comparison,) = plan.comparisons
    assert comparison.taken == estimator
    assert told(workload) == used([comparison.measurement.statistic.measure])


def test_queries_with_bounds_of_their_own_are_told_all_of_them() -> None:
    queries = ["SELECT AVG(x) FROM D", "SELECT AVG(x) FROM D WHERE x > 1", "SELECT SUM(x) FROM D"]
    workload = bound(queries, [COPY], "auto", None)
    verdicts = select_deciders(workload).verdicts
    found = used([verdict.statistic.measure for verdict in verdicts])
    assert len(found) == 3
    assert told(workload) == found


def test_of_many_bounds_the_first_are_told() -> None:
    copy = pd.DataFrame({"x": range(600), "g": [f"g{row % 40}" for row in range(600)]})
    workload = bound("SELECT AVG(x) FROM D GROUP BY g", [copy], "auto", None)
    measures = [verdict.statistic.measure for verdict in select_deciders(workload).verdicts]
    assert len(used(measures)) == 40
    (note,) = (str(note) for note in workload.notes if note.code == "bounds-widened")
    assert set(TOLD.findall(note)) < used(measures)
    assert " or 37 more that follow from a query's own tolerance: " in note
    assert len(note) < 500


def test_whoever_tells_the_copys_bounds_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As once was done: the lattice is widened after the note is written."""

    def not_yet(*terms: Any) -> Any:
        bounds, _, statistic, _ = terms
        bounds._copy_spans["x"] = {span(statistic.measure.lattice): None}
        return statistic

    monkeypatch.setattr(Bounds, "for_tolerance", not_yet)
    workload = bound("SELECT AVG(x) FROM D", [COPY], "auto", None)
    measures = [each.statistic.measure for each in select_deciders(workload).verdicts]
    assert told(workload) == {"0..3 step 1"} != used(measures)


def test_a_release_tells_the_bounds_it_uses() -> None:
    """A private row of 9 counts as 3, the end that is told."""
    report = pqd.release(PRIVATE, COPY, "SELECT SUM(x) FROM D", total_epsilon=100)
    assert "of x within 0..3 step 1, which are the bounds" in " ".join(map(str, report.notes))
    assert report.queries[0].answer == 900


def test_a_mean_beyond_the_copys_values_is_still_refuted() -> None:
    """Why a mean has room: within the copy's own bounds all means would be within."""
    report = pqd.audit(PRIVATE, COPY, "SELECT AVG(x) FROM D", tau=2, epsilon=1)
    (verdict,) = report.verdicts
    assert (verdict.outcome, verdict.conclusive) == ("no", True)
