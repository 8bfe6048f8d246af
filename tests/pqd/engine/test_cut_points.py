"""Order statistics hold for values as they are: no bound or step of the copy decides a verdict."""

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import inf, nextafter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import pqd
from pqd.deciders import Histogram, Interval, Lattice, UnanswerableError
from pqd.deciders.histogram import answer
from pqd.deciders.single.margins import quantile_margin
from pqd.engine.cut_points import CutPoints, fineness, reaching

pytestmark = pytest.mark.usefixtures("noiseless")

Ran = tuple[int, str, str]
HALF = Fraction(1, 2)
NUMBERS = st.one_of(
    st.integers(-40, 40).map(float),
    st.integers(-400, 400).map(lambda tenths: tenths / 10),
    st.floats(-50, 50),
    st.sampled_from([inf, -inf, -0.0, 1e300, 5e-324]),
)
ENDS = st.integers(-300, 300).map(lambda tenths: Fraction(tenths, 10))


def marks(cut_points: CutPoints, values: list[float]) -> NDArray[np.int64]:
    """Counts of values by mark."""
    passed = cut_points.passed(np.array(values, np.float64))
    return np.bincount(passed, minlength=len(cut_points.marks))


# The map of rows ----------------------------------------------------------------------------------


@given(st.lists(NUMBERS, max_size=30), st.lists(ENDS, min_size=2, max_size=6, unique=True))
@settings(max_examples=100, deadline=None)
def test_a_value_has_passed_an_end_exactly_if_it_lies_beyond(
    values: list[float], ends: list[Fraction]
) -> None:
    intervals = [Interval(low, high) for low, high in pairwise(sorted(ends))]
    # In tenths, and twice as fine, every end has a cut of its own.
    tenths = [Interval(i.lower * 20, i.upper * 20) for i in intervals]
    cut_points = CutPoints.of(tenths, Fraction(1, 20), None)
    counts = marks(cut_points, values)
    table = Histogram.weighted(np.array(cut_points.marks, np.int64), counts)
    assert table.mass == len(values)
    for interval, fine in zip(intervals, tenths, strict=True):
        low, high = float(interval.lower), float(interval.upper)
        assert table.count_at_most(fine.lower) == sum(v <= low for v in values)
        assert table.mass - table.count_below(fine.upper) == sum(v >= high for v in values)


@given(st.lists(NUMBERS, max_size=10), NUMBERS)
@settings(max_examples=60, deadline=None)
def test_one_row_changes_one_mark_by_one(values: list[float], more: float) -> None:
    cut_points = CutPoints.of([Interval("-3.7", "2.5")], Fraction(1), (Fraction(-9), Fraction(9)))
    before, after = (marks(cut_points, held) for held in (values, [*values, more]))
    assert sorted(after - before) == [0, 0, 1]


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=25))
@settings(max_examples=100, deadline=None)
def test_a_margin_is_at_least_1_exactly_if_the_true_median_is_inside(values: list[float]) -> None:
    interval = Interval("6.7", "7.3")
    cut_points = CutPoints.of([interval], Fraction(1), None)
    counts = marks(cut_points, values)
    table = Histogram.weighted(np.array(cut_points.marks, np.int64), counts)
    median = sorted(values)[(len(values) + 1) // 2 - 1]
    assert (quantile_margin(table, interval, HALF) >= 1) == (6.7 < median < 7.3)


def test_a_value_on_an_end_is_outside_and_its_neighbour_is_not() -> None:
    cut_points = CutPoints.of([Interval(1, 3)], Fraction(1, 10), None)
    found = marks(cut_points, [0.1, nextafter(0.1, 1), nextafter(0.3, 0), 0.3])
    assert found.tolist() == [1, 2, 1]


def test_an_interval_without_a_number_inside_is_refused() -> None:
    with pytest.raises(UnanswerableError, match="no number lies within"):
        CutPoints.of([Interval.around(10**6, Fraction(1, 10**30))], Fraction(1), None)


def test_two_ends_need_two_marks() -> None:
    with pytest.raises(ValueError, match="two ends"):
        CutPoints.of([Interval("7.2", 9), Interval("7.4", 9)], Fraction(1), None)


@pytest.mark.parametrize("lattice", [Lattice(0, 10), Lattice("0.5", "3.5"), Lattice(-3, 9, 3)])
def test_room_is_made_by_whole_steps_and_keeps_the_unit(lattice: Lattice) -> None:
    interval = Interval.around(5, "7.3")
    wide = reaching(lattice, [interval])
    assert wide.unit == lattice.unit
    assert (wide.lower - lattice.lower) % lattice.step == 0
    assert wide.lower <= (5 - 3 * interval.tau) * lattice.unit
    assert wide.upper >= (5 + 3 * interval.tau) * lattice.unit
    assert reaching(wide, [interval]) == wide


def test_finer_units_make_every_end_even() -> None:
    intervals = [Interval("7.25", 9), Interval("7.4", "8.5")]
    times = fineness(Lattice(0, 10), intervals)
    assert times == 40
    with pytest.raises(UnanswerableError, match="fewer digits"):
        fineness(Lattice(0, 10), [Interval(0, Fraction(1, 10**19))])


# Verdicts -----------------------------------------------------------------------------------------

COPY = pd.DataFrame({"x": [*range(10), *[10] * 10] * 20, "who": range(400)})
BEYOND = pd.DataFrame({"x": [50] * 400, "who": range(400)})
SEVENS = pd.DataFrame({"x": [7] * 400, "who": range(400)})
HALVES = pd.DataFrame({"x": [7.5] * 400, "who": range(400)})
AGGREGATES = ["MEDIAN(x)", "QUANTILE(x, 0.3)", "QUANTILE(x, 0.9)", "AVG(x)"]
COUNTED = ["inv_median", "hist_median"]


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("unit", [None, "who"])
def test_an_answer_beyond_the_copy_is_not_close_to_it(aggregate: str, unit: str | None) -> None:
    """Clamped to the copy's 0..10 all of D would be at 10, which is within 3 of the answer."""
    report = pqd.audit(BEYOND, COPY, f"SELECT {aggregate} FROM D", tau=3, epsilon=1, unit=unit)
    (verdict,) = report.verdicts
    assert verdict.outcome == "no"
    assert verdict.p_value is not None
    assert verdict.p_value < 1e-9


@pytest.mark.parametrize("decider", COUNTED)
def test_no_decider_that_compares_is_bound_by_the_copy(decider: str) -> None:
    report = pqd.audit(BEYOND, COPY, "SELECT MEDIAN(x) FROM D", tau=3, epsilon=1, decider=decider)
    assert report.verdicts[0].outcome == "no"


def test_what_chooses_among_the_points_of_the_copy_decides_nothing() -> None:
    """All rows are tied at the top of the lattice, so ``em_median`` takes any point of it."""
    sql = "SELECT MEDIAN(x) FROM D"
    report = pqd.audit(BEYOND, COPY, sql, tau=3, epsilon=1, decider="em_median")
    assert not report.verdicts[0].conclusive


@pytest.mark.parametrize("decider", COUNTED)
@pytest.mark.parametrize(("tau", "outcome"), [("0.3", "no"), ("0.5", "no"), ("0.6", "yes")])
def test_a_step_of_the_copy_moves_no_private_value(decider: str, tau: str, outcome: str) -> None:
    """The copy has whole numbers: to the nearest of them 7.5 would be 8."""
    sql = "SELECT MEDIAN(x) FROM D"
    report = pqd.audit(HALVES, SEVENS, sql, tau=tau, epsilon=1, decider=decider)
    assert report.verdicts[0].outcome == outcome


@pytest.mark.parametrize("estimator", ["rank_counts", "split", "exponential"])
def test_a_comparison_is_not_bound_by_its_candidates(estimator: str) -> None:
    sql = "SELECT MEDIAN(x) FROM D"
    report = pqd.compare(
        BEYOND, {"a": COPY, "b": SEVENS}, sql, tau=3, epsilon=1, estimator=estimator
    )
    assert [cell.outcome for cell in report.queries[0].cells] == ["no", "no"]


@pytest.mark.parametrize("estimator", ["rank_counts", "split"])
def test_ends_between_two_values_of_the_candidates_are_told_apart(estimator: str) -> None:
    """7.45 lies in (6.7, 7.5) around 7.1, not in (6.6, 7.4) around 7."""
    private = pd.DataFrame({"x": [7.45] * 400})
    copies = {"a": pd.DataFrame({"x": [7.0] * 400}), "b": pd.DataFrame({"x": [7.1] * 400})}
    sql = "SELECT MEDIAN(x) FROM D"
    report = pqd.compare(private, copies, sql, tau="0.4", epsilon=1, estimator=estimator)
    assert [cell.outcome for cell in report.queries[0].cells] == ["no", "yes"]
    assert all((cell.p_value or 0) < 1e-9 for cell in report.queries[0].cells)


@pytest.mark.parametrize(
    ("value", "tau", "bounds", "expected"),
    [
        # Between the cut just beyond 7, in the copy's units 7.25, and 7 itself.
        (7.1, "0.5", None, (7, 7.5)),
        (7.4, "0.5", None, (7, 7.5)),
        (6.9, "0.5", None, (6.5, 7)),
        # Beyond all that the copies hold: nothing bounds it there but what is stated.
        (50.0, "0.5", None, (8, None)),
        (-50.0, "0.5", None, (None, 6.5)),
        (50.0, "0.5", (-10, 60), (8, 60)),
        (-50.0, "0.5", (-10, 60), (-10, 6.5)),
    ],
)
def test_the_ends_of_an_order_statistic_hold_it_as_it_is(
    value: float, tau: str, bounds: tuple[int, int] | None, expected: tuple[float, float]
) -> None:
    """The intervals are (6.5, 7.5) and (7, 8) on whole numbers; D is off them all."""
    private = pd.DataFrame({"x": [value] * 4000})
    copies = {"a": pd.DataFrame({"x": [6, 7, 8] * 99}), "b": pd.DataFrame({"x": [7.5] * 99})}
    facts = {"x": {"bounds": bounds, "step": "0.5"}} if bounds else {"x": {"step": "0.5"}}
    sql = "SELECT MEDIAN(x) FROM D"
    report = pqd.compare(private, copies, sql, tau=tau, epsilon=1, columns=facts)
    (query,) = report.queries
    assert query.estimator == "rank_counts"
    assert (query.low, query.high) == expected
    centre = query.cells[0].q_synthetic
    assert centre is not None
    assert (query.cells[0].gap_low, query.cells[0].gap_high) == tuple(
        None if end is None else end - centre for end in expected
    )


def test_a_check_is_not_bound_by_the_copy(tmp_path: Path, command: Callable[..., Ran]) -> None:
    BEYOND.to_parquet(tmp_path / "private.parquet")
    COPY.to_parquet(tmp_path / "copy.parquet")
    spec = tmp_path / "audit.toml"
    spec.write_text(
        '[private]\npath = "private.parquet"\n[synthetic.copy]\npath = "copy.parquet"\n'
        '[[check]]\nid = "m"\nsql = "SELECT MEDIAN(x) FROM D"\ntau = 3\nepsilon = 1\n',
        encoding="utf-8",
    )
    code, out, _ = command("check", str(spec), "--output", "json=-")
    assert code == 1
    assert json.loads(out)["checks"][0]["verdicts"][0]["outcome"] == "no"


@given(
    st.lists(st.floats(-30, 30), min_size=1, max_size=40), st.sampled_from([HALF, Fraction(1, 5)])
)
@settings(max_examples=15, deadline=None)
def test_the_scan_counts_what_plain_comparisons_count(values: list[float], p: Fraction) -> None:
    """At a large epsilon the margin's sign is the truth about the values as they are."""
    private = pd.DataFrame({"x": values})
    sql = f"SELECT QUANTILE(x, {float(p)}) FROM D"
    report = pqd.audit(private, COPY[["x"]], sql, tau="2.3", epsilon=1000)
    centre = float(answer("QUANTILE", Histogram.from_values(COPY["x"].to_numpy()), p) or 0)
    truth = sorted(values)[int(-(-p * len(values) // 1)) - 1]
    inside = centre - 2.3 < truth < centre + 2.3
    assert report.verdicts[0].outcome == ("yes" if inside else "no")


# What is said -------------------------------------------------------------------------------------


def notes_of(sql: str, **columns: Any) -> str:
    return " ".join(map(str, pqd.audit(BEYOND, COPY, sql, tau=3, epsilon=1, columns=columns).notes))


@pytest.mark.parametrize("aggregate", ["SUM(x)", "AVG(x)"])
def test_sums_say_whose_bounds_they_have(aggregate: str) -> None:
    said = notes_of(f"SELECT {aggregate} FROM D")
    if aggregate == "SUM(x)":
        assert "of x within 0..10 step 1, which are the bounds of the synthetic table" in said
    else:
        # A tolerance of 3 around the copy's mean of 7.25, and twice as much beyond.
        assert "AVG is of x within -2..17 step 1: the bounds of the synthetic table, widen" in said
    assert "values outside count as the nearest one inside" in said
    stated = notes_of(f"SELECT {aggregate} FROM D", x={"bounds": (0, 10)})
    assert "as stated, count as the nearest end, and between two steps as the nearer one." in stated


@pytest.mark.parametrize("aggregate", ["MEDIAN(x)", "QUANTILE(x, 0.9)", "COUNT(DISTINCT x)"])
def test_order_statistics_speak_of_no_bounds(aggregate: str) -> None:
    said = notes_of(f"SELECT {aggregate} FROM D")
    assert "bounds" not in said
    assert "steps" not in said


def test_stated_bounds_stand_and_a_tolerance_beyond_them_is_warned_of() -> None:
    facts = {"x": {"bounds": (0, 10)}}
    report = pqd.audit(BEYOND, COPY, "SELECT MEDIAN(x) FROM D", tau=3, epsilon=1, columns=facts)
    assert report.verdicts[0].outcome == "yes"
    said = " ".join(map(str, report.notes))
    assert "Values of x outside 0..10 step 1, as stated, count as the nearest end." in said
    assert "q1: the tolerance reaches beyond the stated bounds of x" in said
    inner = pqd.audit(BEYOND, COPY, "SELECT MEDIAN(x) FROM D", tau="0.5", epsilon=1, columns=facts)
    assert "reaches beyond" not in " ".join(map(str, inner.notes))


def test_a_copy_of_nothing_but_zeros_settles_no_sum() -> None:
    """Its bounds are 0..0, between which every table adds up to 0."""
    copy = COPY.assign(x=0)
    with pytest.raises(UnanswerableError, match="x is 0 throughout in the synthetic table"):
        pqd.audit(BEYOND, copy, "SELECT SUM(x) FROM D", tau=3, epsilon=1)
    stated = {"x": {"bounds": (0, 0)}}
    report = pqd.audit(BEYOND, copy, "SELECT SUM(x) FROM D", tau=3, epsilon=1, columns=stated)
    assert report.spent == 0
