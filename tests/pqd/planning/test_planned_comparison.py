"""Which release answers for all candidates, and what becomes of one that cannot be within."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.commands.compare import run_compare
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.deciders import PqdError
from pqd.deciders.estimators import (
    ExponentialQuantile,
    LaplaceEstimate,
    RankCounts,
    SumAndCount,
)
from pqd.deciders.note import note
from pqd.deciders.single.split_margins import SplitMargins
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import DeciderError, UnanswerableError
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.choose_estimator import ESTIMATORS
from pqd.planning.planned_comparison import PlannedComparison, select_estimators
from pqd.reports.models.compare import CompareReport
from pqd.sql.workload_files import as_queries
from tests.support.likeness import like
from tests.support.noises import Silent

Columns = Mapping[str, Mapping[str, Any]]


def table(seed: int, shift: int = 0, rows: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = np.clip(rng.normal(50 + shift, 20, rows).round(), 0, 100).astype(int)
    y = np.clip((x / 10 + rng.normal(0, 1, rows)).round(), 0, 10).astype(int)
    return pd.DataFrame({"x": x, "y": y, "g": np.where(x % 2, "odd", "even")})


FRAMES = [table(1), table(2, 3), table(3, 6)]


def rules_of(
    tau: str = "5%", epsilon: str = "1", estimator: str = "auto", columns: Columns | None = None
) -> ComparisonParameters:
    terms = Parameters.parse(
        tau=tau, epsilon=epsilon, alpha="0.05", mechanism=estimator, columns=columns
    )
    return ComparisonParameters.parse(terms)


def comparisons(
    sql: str | Sequence[str], frames: Sequence[object] = FRAMES, **options: Any
) -> tuple[PlannedComparison, ...]:
    rules = rules_of(**options)
    tables = SyntheticTables(
        [open_table(frame, "synthetic") for frame in frames], open_table(frames[0], "private")
    )
    requests = [rules.request(query) for query in as_queries(sql)]
    plan = select_estimators(bind(tables, requests, rules.parameters.columns))
    plan.bound.check()
    return plan.comparisons


def comparison(sql: str, frames: Sequence[object] = FRAMES, **options: Any) -> PlannedComparison:
    (found,) = comparisons(sql, frames, **options)
    return found


def compared(
    sql: str | Sequence[str],
    frames: Sequence[pd.DataFrame],
    private: pd.DataFrame | None = None,
    **options: Any,
) -> CompareReport:
    named = {f"c{number}": frame for number, frame in enumerate(frames)}
    secret = like(frames[0] if private is None else private)
    return run_compare(secret, named, as_queries(sql), rules_of(**options), Silent())


def answers(found: PlannedComparison) -> tuple[float | None, ...]:
    return tuple(None if answer is None else float(answer) for answer in found.answers)


# Which one is taken -------------------------------------------------------------------------------

TAKEN = {
    "COUNT(*)": ("laplace", LaplaceEstimate),
    "COUNT(DISTINCT x)": ("laplace", LaplaceEstimate),
    "SUM(x)": ("laplace", LaplaceEstimate),
    "AVG(x)": ("sum_and_count", SumAndCount),
    "MEDIAN(x)": ("rank_counts", RankCounts),
    "QUANTILE(x, 0.9)": ("rank_counts", RankCounts),
}
FITTING = {
    "COUNT(*)": {"laplace", "split"},
    "COUNT(DISTINCT x)": {"laplace", "split"},
    "SUM(x)": {"laplace", "race_to_the_top", "split"},
    "AVG(x)": {"sum_and_count", "split"},
    "MEDIAN(x)": {"rank_counts", "exponential", "split"},
    "QUANTILE(x, 0.9)": {"rank_counts", "exponential", "split"},
}


@pytest.mark.parametrize("operand", TAKEN)
def test_what_decides_all_and_bounds_gaps_is_taken(operand: str) -> None:
    found = comparison(f"SELECT {operand} FROM D WHERE y > 3", tau="10%", epsilon="2")
    name, kind = TAKEN[operand]
    assert found.taken == name
    assert isinstance(found.measurement.estimator, kind)
    assert found.reason == note("one-for-all")
    assert {facts.estimator for facts in found.facts} == FITTING[operand]
    assert max(found.errors) == next(f.error for f in found.facts if f.estimator == name) <= 0.005
    assert found.measurement.cost == 2
    assert found.tau_min is not None
    assert found.tau_min < min(found.taus)


@pytest.mark.parametrize("operand", TAKEN)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_named_estimator_is_taken_where_it_fits(operand: str, estimator: str) -> None:
    found = comparison(f"SELECT {operand} FROM D", estimator=estimator, tau="10%", epsilon="2")
    if estimator in FITTING[operand]:
        assert (found.taken, found.reason) == (estimator, note("named"))
    else:
        assert found.taken == TAKEN[operand][0]
        assert found.reason != note("named")


def test_a_named_release_leaves_the_other_queries_to_auto() -> None:
    queries = ["SELECT MEDIAN(x) FROM D", "SELECT COUNT(*) FROM D", "SELECT SUM(x) FROM D"]
    found = comparisons(queries, estimator="exponential", tau="10%", epsilon="2")
    assert [c.taken for c in found] == ["exponential", "laplace", "laplace"]


def test_queries_that_a_named_estimator_does_not_fit_are_warned_of() -> None:
    queries = ["SELECT MEDIAN(x) FROM D", "SELECT COUNT(*) FROM D", "SELECT SUM(x) FROM D"]
    report = compared(queries, FRAMES, estimator="exponential", tau="10%", epsilon="2")
    assert (
        "Warning: estimator exponential does not fit q2, q3, which do with the one that auto takes."
        in map(str, report.notes)
    )
    for named, fitting in (("exponential", queries[:1]), ("auto", queries), ("split", queries)):
        told = [*map(str, compared(fitting, FRAMES, estimator=named, tau="10%", epsilon="2").notes)]
        assert not [note for note in told if "does not fit" in note]


def test_an_estimator_that_fits_no_query_is_refused() -> None:
    with pytest.raises(
        DeciderError,
        match=r"^estimator exponential fits no query; use auto or laplace, split, race_to_the_top$",
    ):
        compared(
            ["SELECT COUNT(*) FROM D", "SELECT SUM(x) FROM D"], FRAMES, estimator="exponential"
        )


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(
        DeciderError, match="no estimator 'inv_count'; use auto or laplace, race_to"
    ):
        comparison("SELECT COUNT(*) FROM D", estimator="inv_count")


# Tolerances from where nothing decides to where all do.
SWEPT = {
    "COUNT(*)": ("1", np.arange(1, 13)),
    "SUM(x)": ("1", np.arange(100, 1300, 100)),
    "MEDIAN(x)": ("0.04", np.arange(1, 16, 2)),
}


@pytest.mark.parametrize("operand", SWEPT)
def test_candidates_by_themselves_are_taken_where_they_err_less(operand: str) -> None:
    """For one candidate the whole budget goes to its own margin."""
    seen = set()
    epsilon, swept = SWEPT[operand]
    for tau in swept:
        options = {"tau": str(tau), "epsilon": epsilon}
        found = comparison(f"SELECT {operand} FROM D WHERE y > 3", FRAMES[:1], **options)
        error = {facts.estimator: facts.error for facts in found.facts}
        joint = min(error[f.estimator] for f in found.facts if f.exact and f.estimator != "split")
        if joint <= 0.005:
            assert found.taken != "split"
        elif min(joint, error["split"]) <= 0.05:
            assert (found.taken == "split") == (error["split"] < joint)
        seen.add(found.taken)
        if found.taken == "split" and error["split"] <= 0.05:
            assert found.reason == note("split-most-right")
            assert isinstance(found.measurement.estimator, SplitMargins)
    assert len(seen) == 2


def test_where_nothing_decides_one_release_is_for_all() -> None:
    found = comparison("SELECT COUNT(*) FROM D", tau="2", epsilon="0.1")
    error = {facts.estimator: facts.error for facts in found.facts}
    assert error["split"] < error["laplace"]
    assert found.taken == "laplace"
    assert found.reason == note("one-for-all-undecided")
    alone = comparison("SELECT COUNT(*) FROM D", FRAMES[:1], tau="2", epsilon="0.1")
    assert (alone.taken, alone.reason) == (
        "split",
        note("none-decides"),
    )


def test_without_p_values_is_taken_where_it_is_named_alone() -> None:
    """Many cuts make noisy counts noisier; an exponential mechanism knows of no cuts."""
    looked_better = False
    for epsilon in ("0.015", "0.02", "0.026", "0.03", "0.05"):
        found = comparison("SELECT MEDIAN(x) FROM D", tau="10%", epsilon=epsilon)
        exact = min(facts.error for facts in found.facts if facts.exact)
        other = min(facts.error for facts in found.facts if not facts.exact)
        looked_better |= other <= 0.05 < exact
        assert found.taken in {facts.estimator for facts in found.facts if facts.exact}
    assert looked_better
    named = comparison("SELECT MEDIAN(x) FROM D", tau="10%", epsilon=1, estimator="exponential")
    assert isinstance(named.measurement.estimator, ExponentialQuantile)


@pytest.mark.parametrize("sql", [f"SELECT {operand} FROM D" for operand in TAKEN])
def test_the_choice_does_not_depend_on_the_order_of_candidates(sql: str) -> None:
    costs, taken = set(), set()
    for order in permutations(FRAMES):
        found = comparison(sql, order, tau="2%")
        taken.add((found.taken, tuple(sorted(found.errors))))
        costs.add(found.measurement.cost)
    assert len(taken) == len(costs) == 1


# Each by itself -----------------------------------------------------------------------------------


def test_identical_intervals_are_asked_once() -> None:
    frames = [FRAMES[0], FRAMES[1], FRAMES[0], FRAMES[0]]
    found = comparison("SELECT COUNT(*) FROM D WHERE y > 3", frames, estimator="split")
    estimator = found.measurement.estimator
    assert isinstance(estimator, SplitMargins)
    assert len(estimator.intervals) == 2
    assert estimator.share(1) == Fraction(1, 2)
    assert found.measurement.cost == 1
    report = compared("SELECT COUNT(*) FROM D WHERE y > 3", frames, estimator="split")
    (query,) = report.queries
    assert len({(c.outcome, c.p_value, c.margin) for c in query.cells}) == 2
    assert query.cells[0].margin == query.cells[2].margin == query.cells[3].margin


def test_the_reason_tells_the_share_of_each_interval() -> None:
    """Three equal candidates are asked once, with the whole budget and not a third of it."""
    sure = None
    for tau in range(2, 8):
        found = comparison("SELECT COUNT(*) FROM D", FRAMES[:1] * 3, tau=str(tau))
        if found.taken == "split" and max(found.errors) <= 0.05:
            sure = found
    assert sure is not None
    assert isinstance(sure.measurement.estimator, SplitMargins)
    assert sure.measurement.estimator.share(1) == 1
    assert "1/3 of epsilon" not in str(sure.reason)


ZERO: Columns = {"x": {"bounds": (0, 0)}}


@pytest.mark.parametrize("frames", [1, 3])
def test_settled_intervals_cost_nothing(frames: int) -> None:
    """Within these bounds every sum is 0, whatever the table."""
    options: dict[str, Any] = {"tau": "1", "columns": ZERO, "estimator": "split"}
    found = comparison("SELECT SUM(x) FROM D", FRAMES[:frames], **options)
    assert found.measurement.is_constant
    assert found.measurement.cost == 0
    report = compared("SELECT SUM(x) FROM D", FRAMES[:frames], **options)
    assert report.cost.epsilon == 0
    assert report.queries[0].epsilon == 0
    for cell in report.queries[0].cells:
        assert (cell.outcome, cell.p_value, cell.standing) == ("yes", 0, "trusted")
    (standing, *_) = report.leaderboard
    assert (standing.share, standing.low, standing.high) == (1, 1, 1)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "10", "100"])
def test_what_is_settled_is_never_paid_for(epsilon: str) -> None:
    found = comparison("SELECT SUM(x) FROM D", tau="1", columns=ZERO, epsilon=epsilon)
    assert found.measurement.cost == 0


# Candidates that cannot be within -----------------------------------------------------------------

LOW = FRAMES[0].assign(x=FRAMES[0]["x"] // 2)


@pytest.mark.parametrize("operand", ["MEDIAN(x)", "AVG(x)", "QUANTILE(x, 0.25)"])
@pytest.mark.parametrize(("estimator", "tau"), [("auto", "5%"), ("auto", "2"), ("split", "5%")])
def test_a_candidate_without_an_answer_is_a_no(operand: str, estimator: str, tau: str) -> None:
    sql = f"SELECT {operand} FROM D WHERE x > 60"
    options = {"tau": tau, "estimator": estimator}
    for frames in ([FRAMES[0], LOW], [LOW, FRAMES[0], LOW]):
        found = comparison(sql, frames, **options)
        lack = [frame is LOW for frame in frames]
        assert [interval is None for interval in found.intervals] == lack
        assert [answer is None for answer in found.answers] == lack
        (query,) = compared(sql, frames, FRAMES[0], **options).queries
        for cell, none in zip(query.cells, lack, strict=True):
            assert cell.outcome == ("no" if none else "yes")
            yes = "trusted" if cell.condition is None else "yes within bounds"
            no = "not trusted" if cell.condition is None else "no within bounds"
            assert cell.standing == (no if none else yes)
            if none:
                assert (cell.p_value, cell.error) == (0, 0)
                assert (cell.q_synthetic, cell.lower, cell.upper) == (None, None, None)
                assert (cell.gap, cell.gap_low, cell.gap_high, cell.margin) == (None,) * 4
                assert cell.candidate not in query.closest
        alone = comparison(sql, [FRAMES[0]], **options)
        assert found.measurement.cost == alone.measurement.cost == 1
        if estimator == "split":
            assert isinstance(found.measurement.estimator, SplitMargins)
            assert len(found.measurement.estimator.intervals) == 1


@pytest.mark.parametrize("operand", ["COUNT(*)", "SUM(x)", "COUNT(DISTINCT x)"])
@pytest.mark.parametrize("estimator", ["auto", "split"])
def test_a_share_of_0_is_the_very_answer(operand: str, estimator: str) -> None:
    sql, frames = f"SELECT {operand} FROM D WHERE x > 60", [LOW, FRAMES[0]]
    found = comparison(sql, frames, estimator=estimator)
    assert found.answers[0] == 0
    assert found.taus[0] == found.scale
    assert found.measurement.cost == 1
    for private in (FRAMES[0], LOW):
        (query,) = compared(sql, frames, private, estimator=estimator).queries
        cell, other = query.cells
        assert cell.outcome == ("no" if private is FRAMES[0] else "yes")
        assert (cell.q_synthetic, cell.tau, cell.lower, cell.upper) == (0, 1, -1, 1)
        assert other.outcome == ("yes" if private is FRAMES[0] else "no")
    # An amount as tolerance is one around 0, too.
    (query,) = compared(sql, frames, LOW, estimator=estimator, tau="40").queries
    assert query.cells[0].outcome == "yes"
    assert query.cells[0].tau == 40


REFUSED = {
    "no rows for a median": ("SELECT MEDIAN(x) FROM D WHERE x > 100", "5%"),
    "no rows for a mean": ("SELECT AVG(x) FROM D WHERE x > 100", "2"),
    "no rows for a quantile": ("SELECT QUANTILE(x, 0.1) FROM D WHERE x > 100", "2"),
}


@pytest.mark.parametrize("label", REFUSED)
@pytest.mark.parametrize("estimator", ["auto", "split"])
def test_where_no_candidate_can_be_within_it_is_refused_as_in_an_audit(
    label: str, estimator: str
) -> None:
    sql, tau = REFUSED[label]
    with pytest.raises(PqdError) as audited:
        pqd.audit(like(FRAMES[0]), FRAMES[0], sql, tau=tau, epsilon=1)
    with pytest.raises(PqdError) as found:
        compared(sql, FRAMES, tau=tau, estimator=estimator)
    assert str(found.value) == str(audited.value)
    assert type(found.value) is type(audited.value)
    assert isinstance(found.value, UnanswerableError)


# What all candidates have in common ---------------------------------------------------------------


def test_the_key_of_a_count_does_not_depend_on_candidates() -> None:
    sql = "SELECT COUNT(*) FROM D WHERE y > 3"
    options = {"estimator": "laplace"}
    keys = {
        comparison(sql, frames, **options).measurement.cache_key
        for frames in (FRAMES, FRAMES[:1], FRAMES[::-1], [LOW])
    }
    assert len(keys) == 1
    # Nor on the tolerance, which is applied after.
    assert comparison(sql, tau="9", **options).measurement.cache_key in keys
    for other in (
        comparison(sql, epsilon="2", **options),
        comparison("SELECT COUNT(*) FROM D WHERE y > 4", **options),
        comparison(sql, estimator="split"),
    ):
        assert other.measurement.cache_key not in keys


def test_keys_of_what_depends_on_candidates_differ() -> None:
    for sql in ("SELECT MEDIAN(x) FROM D", "SELECT SUM(x) FROM D"):
        keys = {
            comparison(sql, frames).measurement.cache_key for frames in (FRAMES, [*FRAMES, LOW * 3])
        }
        assert len(keys) == 2


def test_bounds_are_those_of_all_candidates_together() -> None:
    low, high = pd.DataFrame({"v": [2.0, 4.0]}), pd.DataFrame({"v": [5.0, 9.5]})
    found = comparison("SELECT SUM(v) FROM D", [low, high])
    estimator = found.measurement.estimator
    assert isinstance(estimator, LaplaceEstimate)
    assert (estimator.bounds, found.scale) == ((20, 95, 1), Fraction(1, 10))
    assert answers(found) == (6, 14.5)
    report = compared("SELECT SUM(v) FROM D", [low, high])
    assert "of v within 2..9.5 step 0.1, which are the bounds of the" in " ".join(
        map(str, report.notes)
    )
    # Stated, they are what is stated, and values beyond count as the ends.
    stated = comparison("SELECT SUM(v) FROM D", [low, high], columns={"v": {"bounds": (0, 8)}})
    assert answers(stated) == (6, 13)


def test_kinds_are_those_of_the_first_candidate() -> None:
    # Before pandas 3 texts are objects, which may be numbers, unless they are said to be texts.
    texts = pd.DataFrame({"code": ["1", "10", "2", "20"]}, dtype="string")
    numbers = pd.DataFrame({"code": [1, 10, 3, 30]})
    sql = "SELECT COUNT(*) FROM D WHERE code LIKE '1%'"
    assert answers(comparison(sql, [texts, numbers])) == (2, 2)
    with pytest.raises(PqdError, match="LIKE"):
        comparison(sql, [numbers, texts])
    sql = "SELECT COUNT(*) FROM D WHERE code > 9"
    assert answers(comparison(sql, [numbers, texts])) == (2, 2)
    assert answers(comparison(sql, [texts, numbers], columns={"code": {"type": "number"}})) == (
        2,
        2,
    )


def test_groups_are_those_of_all_candidates() -> None:
    first, second = pd.DataFrame({"g": list("aab")}), pd.DataFrame({"g": list("bcc")})
    found = comparisons("SELECT COUNT(*) FROM D GROUP BY g", [first, second], tau="1")
    assert {c.query.group: answers(c) for c in found} == {
        "g = a": (2, 0),
        "g = b": (1, 1),
        "g = c": (0, 2),
    }
    report = compared("SELECT COUNT(*) FROM D GROUP BY g", [first, second], tau="1", epsilon="3")
    assert report.cost.epsilon == 3
    assert [query.block for query in report.queries] == ["q1"] * 3
    # With a share of each answer, one that lacks a group is within where the group is empty.
    shares = compared("SELECT COUNT(*) FROM D GROUP BY g", [first, second], first)
    cells = {query.group: query.cells for query in shares.queries}
    assert [c.outcome for c in cells["g = c"]] == ["yes", "no"]
    assert [c.outcome for c in cells["g = a"]] == ["yes", "no"]
