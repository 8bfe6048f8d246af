"""Queries per row: a COUNT as a share of all rows, and a SUM per row, are means over all rows.

A row moves such a margin by at most 1 although it moves the number of rows, too; but no two such
queries are disjoint.  Broken twins must be caught by the same checks.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pqd
from pqd.deciders import Histogram, Interval, Lattice, SimulatedNoise
from pqd.deciders.single.inverse_sensitivity import InverseMean
from pqd.engine import scan_plan
from pqd.engine.counting.persons import PARTS
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import DeciderError, ParameterError, UnanswerableError
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundWorkload, QueryRequest
from pqd.planning.gate import GateInput, GateTerms, plan_gate
from pqd.planning.query_verdict import PlannedQueryVerdict, select_deciders
from pqd.run.gate import GateMeasurement
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries
from pqd.stated.queries import scaled

Record = Callable[[str, object], None]
EPSILON, ALPHA = Fraction(1, 2), Fraction(1, 20)

# Shares ------------------------------------------------------------------------------------------

ENDS = [Fraction(n, 20) for n in (-6, -1, 0, 1, 3, 7, 10, 13, 17, 20, 21, 26)]
INTERVALS = [Interval(low, high) for low, high in product(ENDS, ENDS) if low < high]
# Numbers of rows, and of those that match.
SIZES = [(rows, matching) for rows in range(15) for matching in range(rows + 1)]
Margin = Callable[[int, int, Interval], float]


def share_margin(rows: int, matching: int, interval: Interval) -> float:
    """Margin of the decider that is used."""
    decider = InverseMean(lower=0, upper=1)
    if decider.constant_verdict(interval) is False:
        return -math.inf
    histogram = Histogram.from_values([0] * (rows - matching) + [1] * matching)
    return decider.margin(histogram, interval)


def linear_margin(rows: int, matching: int, interval: Interval) -> float:
    """``ceil(min(h - l n, r n - h))``, where an end that no share can pass is left out."""
    ends = []
    if interval.lower >= 0:
        ends.append(matching - interval.lower * rows)
    if interval.upper <= 1:
        ends.append(interval.upper * rows - matching)
    return min(map(math.ceil, ends), default=math.inf)


def with_both_ends(rows: int, matching: int, interval: Interval) -> float:
    """Broken twin: ends below 0 and above 1 are kept."""
    return math.ceil(min(matching - interval.lower * rows, interval.upper * rows - matching))


def neighbours(rows: int, matching: int) -> Iterator[tuple[int, int]]:
    """Tables with one row more."""
    yield rows + 1, matching
    yield rows + 1, matching + 1


def worst_share_step(margin: Margin) -> float:
    return max(
        abs(margin(*there, interval) - here)
        for interval in INTERVALS
        for size in SIZES
        if math.isfinite(here := margin(*size, interval))
        for there in neighbours(*size)
    )


def test_a_row_moves_the_margin_of_a_share_by_one() -> None:
    assert worst_share_step(share_margin) == 1


def test_the_margin_of_a_share_has_the_sign_of_the_answer() -> None:
    for (rows, matching), interval in product(SIZES, INTERVALS):
        inside = rows > 0 and interval.lower < Fraction(matching, max(rows, 1)) < interval.upper
        assert (share_margin(rows, matching, interval) >= 1) == inside


def test_the_margin_of_a_share_is_the_number_of_changes() -> None:
    """Breadth-first over all tables; the linear margin never exceeds it, and has its step."""
    assert worst_share_step(linear_margin) == 1
    for size, interval in product(SIZES, INTERVALS):
        rows, matching = size
        exact = share_margin(*size, interval)
        if exact >= 1 and rows:
            assert exact >= min(linear_margin(*size, interval), rows)
            assert exact == flips(rows, matching, interval)


def flips(rows: int, matching: int, interval: Interval) -> int:
    """Least number of rows to add or remove until the share is not inside."""
    reached, changes = {(rows, matching)}, 0
    while True:
        for n, h in reached:
            if not (n and interval.lower < Fraction(h, n) < interval.upper):
                return changes
        changes += 1
        more = {pair for pair in reached for pair in neighbours(*pair)}
        fewer = {(n - 1, h - k) for n, h in reached for k in (0, 1) if 0 <= h - k <= n - 1}
        reached |= more | fewer


def test_ends_that_are_kept_are_caught(record_property: Record) -> None:
    found = worst_share_step(with_both_ends)
    assert found == 2
    interval = Interval(Fraction(85, 100), Fraction(105, 100))
    assert [with_both_ends(n, n, interval) for n in (100, 101)] == [5, 6]
    assert [with_both_ends(100, 99 + k, interval) for k in (0, 1)] == [6, 5]
    record_property("mutant", "ends of a share beyond 0 and 1 kept")
    record_property("caught_by", "shares of small tables: a step of 2")


# Sums per row ------------------------------------------------------------------------------------

COPY = pd.DataFrame(
    {
        "pay": [12.0, 20.0, 35.0, None, 90.0, 44.0],
        "job": ["a", "b", "a", "a", "b", "c"],
        "pid": list("ppqrst"),
    }
)
FACTS: dict[str, dict[str, Any]] = {"pay": {"bounds": (10, 100)}}
SHARE = "SELECT COUNT(*) FROM D WHERE job = 'a'"
FILLED = "SELECT COUNT(pay) FROM D WHERE job <> 'b'"
SUM = "SELECT SUM(pay) FROM D WHERE job = 'a'"
WHOLE = "SELECT SUM(pay) FROM D"
TEXTS = (SHARE, FILLED, SUM, WHOLE)
Row = tuple[float | None, str | None, str]
PAYS = (None, 3.0, 15.0, 250.0)
VALUES: list[Row] = [(pay, job, "p") for pay, job in product(PAYS, ("a", "b"))]


def bound(
    *sqls: str,
    scale: str | None = "rows",
    tau: str = "20%",
    unit: PrivacyUnit | None = None,
    columns: Any = None,
    **options: Any,
) -> BoundWorkload:
    columns = FACTS if columns is None else columns
    parameters = Parameters.parse(
        tau=tau, epsilon=EPSILON, alpha="0.05", columns=columns, **options
    )
    requests = [QueryRequest(query, parameters) for query in scaled(as_queries(sqls), scale)]
    tables = SyntheticTables([open_table(COPY, "synthetic")], open_table(COPY[:5], "private"))
    workload = bind(tables, requests, parameters.columns, unit)
    workload.check()
    return workload


def counted(workload: BoundWorkload, rows: Sequence[Row], most: int = 1) -> list[Histogram]:
    """Histograms of a private table, as the engine counts them."""
    frame = pd.DataFrame(rows, columns=["pay", "job", "pid"], dtype=object)
    frame = frame.astype({"pay": "float64"})
    unit = workload.unit and PrivacyUnit(workload.unit.column, most)
    statistics = tuple(each.statistic for each in select_deciders(workload).verdicts)
    plan = ScanPlan(statistics, unit)
    return list(SyntheticTable().histograms(open_table(frame, "private"), workload.schema, plan))


def meant(text: str, rows: Sequence[Row]) -> Fraction:
    """Answer per row in plain Python; pay is cut to 0..100, for a row that counts as 0 is a 0."""
    total = Fraction(0)
    for pay, job, _ in rows:
        selected = {SHARE: job == "a", FILLED: job not in {"b", None} and pay is not None}
        if text in selected:
            total += 100 * selected[text]
        elif pay is not None and (text == WHOLE or job == "a"):
            total += Fraction(min(max(pay, 0), 100))
    return total / len(rows)


rows_of = st.tuples(
    st.sampled_from([None, 3.0, 15.0, 250.0, 0.4, -7.0, 60.0]),
    st.sampled_from(["a", "b", "c", None]),
    st.sampled_from("pqr"),
)


@settings(max_examples=25)
@given(rows=st.lists(rows_of, min_size=1, max_size=9))
def test_the_engine_counts_all_rows(rows: list[Row]) -> None:
    rows = [(None if pay is None else round(pay), job, pid) for pay, job, pid in rows]
    for text, histogram in zip(TEXTS, counted(bound(*TEXTS), rows), strict=True):
        assert histogram.mass == len(rows)
        scale = 100 if text in {SHARE, FILLED} else 1
        assert Fraction(histogram.total, histogram.mass) * scale == meant(text, rows)


def worst_step(text: str, margin: Callable[[Histogram, Interval], float]) -> float:
    """Largest step between neighbours: every table of up to three rows, and every row."""
    (plan,) = select_deciders(bound(text)).verdicts
    workload = bound(text)

    def of(rows: Sequence[Row]) -> float:
        return margin(counted(workload, rows)[0], plan.interval)

    small = [rows for size in range(3) for rows in combinations_with_replacement(VALUES, size)]
    return max(abs(of([*rows, row]) - of(rows)) for rows in small for row in VALUES[::2])


@pytest.mark.parametrize("text", [SHARE, SUM])
def test_a_row_moves_the_margin_by_one(text: str) -> None:
    (plan,) = select_deciders(bound(text)).verdicts
    decider = plan.choice.decider
    assert isinstance(decider, InverseMean)
    assert worst_step(text, decider.margin) <= 1


def test_bounds_without_0_are_caught(record_property: Record) -> None:
    """A row that does not match counts as 0, so a lower bound of 10 is not one."""
    decider, interval = InverseMean(lower=10, upper=100), Interval(Fraction(2), Fraction(9))
    margins = [
        decider.margin(Histogram.from_values([0] * rows + [40]), interval) for rows in range(40)
    ]
    steps = [abs(b - a) for a, b in pairwise(margins)]
    assert max(steps) > 1
    healthy = InverseMean(lower=0, upper=100)
    margins = [
        healthy.margin(Histogram.from_values([0] * rows + [40]), interval) for rows in range(40)
    ]
    assert max(abs(b - a) for a, b in pairwise(margins)) <= 1
    record_property("mutant", "lower bound of a SUM per row above 0")
    record_property("caught_by", "rows that count as 0: a step beyond 1")


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((10, 100), Lattice(0, 100)),
        ((-40, -10), Lattice(-40, 0)),
        ((-5, 5), Lattice(-5, 5)),
        (("0.5", "9.5"), Lattice(0, "9.5", "0.5")),
    ],
)
def test_the_lattice_of_a_sum_per_row_has_a_0(bounds: Any, expected: Lattice) -> None:
    (query,) = bound(WHOLE, columns={"pay": {"bounds": bounds}}).queries
    measure = query.statistic.measure
    assert measure is not None
    assert measure.lattice == expected
    assert query.statistic.zero == -expected.lower / expected.step


@pytest.mark.parametrize("text", [SUM, WHOLE, "SELECT SUM(pay) FROM D WHERE pay > 30"])
@pytest.mark.parametrize("tau", ["1%", "300%"])
@pytest.mark.parametrize("facts", [{}, {"bounds": (10, "")}, {"step": "0.7"}])
def test_bounds_that_nobody_stated_keep_the_0(text: str, tau: str, facts: Any) -> None:
    """Also where the lattice is widened to the tolerance, or cut to the ends of the WHERE."""
    for alone in select_deciders(bound(text, tau=tau, columns={"pay": facts})).verdicts:
        assert alone.statistic.per_row
        assert alone.statistic.zero >= 0


def test_a_lattice_without_0_is_refused() -> None:
    statistic = bound(SUM).queries[0].statistic
    measure = scan_plan.Measure("pay", Lattice(10, 100))
    wrong = scan_plan.Statistic(None, measure, statistic.columns, collapsed=False, per_row=True)
    with pytest.raises(ValueError, match="not on the lattice"):
        _ = wrong.zero


# Gates -------------------------------------------------------------------------------------------

OF_GATE = (SHARE, SUM, FILLED)
SMALL = [rows for size in range(3) for rows in combinations_with_replacement(VALUES, size)]


def gate_of(
    *texts: str, far: Sequence[str] = (), unit: PrivacyUnit | None = None
) -> GateMeasurement:
    """Gate over queries per row, those of ``far`` expected to differ."""
    workload = bound(*texts, mechanism="inv_mean", unit=unit, tau="60%")
    verdicts = select_deciders(workload).verdicts
    inputs = [
        GateInput(workload, each.facts()["id"], each.measurement, each.query.sql not in far)
        for each in verdicts
    ]
    plan = plan_gate(GateTerms(epsilon=EPSILON, names=None, alpha=ALPHA), workload, inputs)
    assert plan.measurement is not None
    assert len(plan.measurement.conditions) == len(texts)
    return plan.measurement


def counts_of(gate: GateMeasurement, rows: Sequence[Row]) -> dict[str, Histogram]:
    """Histograms of a private table by cache key, as a run counts them."""
    frame = pd.DataFrame(rows, columns=["pay", "job", "pid"], dtype=object)
    private = open_table(frame.astype({"pay": "float64"}), "private")
    measurements = [each.measurement for each in gate.conditions]
    statistics = tuple(each.statistic for each in measurements)  # type: ignore[attr-defined]
    plan = ScanPlan(statistics, gate.unit)
    histograms = SyntheticTable().histograms(private, gate.readings[0].schema, plan)
    return dict(zip((each.cache_key for each in measurements), histograms, strict=True))


def least_of(gate: GateMeasurement, rows: Sequence[Row]) -> int:
    margins = gate.margins(counts_of(gate, rows), 0)
    return min(each.margin(margins) for each in gate.requirements)


@pytest.mark.parametrize("far", [(), (SUM,)])
def test_the_margin_of_a_gate_per_row_has_the_sign_of_all_answers(far: Sequence[str]) -> None:
    gate = gate_of(*OF_GATE, far=far)
    plans = select_deciders(bound(*OF_GATE, mechanism="inv_mean", tau="60%")).verdicts
    signs = set()
    for rows in SMALL[1:]:
        all_hold = all(
            _inside(meant(text, rows), plan) == (text not in far)
            for text, plan in zip(OF_GATE, plans, strict=True)
        )
        assert (least_of(gate, rows) >= 1) == all_hold
        signs.add(all_hold)
    assert signs == {True, False}


def _inside(answer: Fraction, plan: PlannedQueryVerdict) -> bool:
    lower, upper = (plan.scale * end for end in (plan.interval.lower, plan.interval.upper))
    return bool(lower < answer < upper)


@pytest.mark.parametrize("far", [(), (SUM,), OF_GATE])
def test_a_row_moves_the_margin_of_a_gate_per_row_by_one(far: Sequence[str]) -> None:
    gate = gate_of(*OF_GATE, far=far)
    steps = [
        abs(least_of(gate, [*rows, row]) - least_of(gate, rows))
        for rows in SMALL
        for row in VALUES[::2]
    ]
    assert max(steps) == 1


def test_a_gate_over_shares_of_the_rows_of_the_copy_is_caught(record_property: Record) -> None:
    """Broken twin: the share times the copy's rows; in a small table a row is many of them."""
    gate = gate_of(SHARE)
    (plan,) = select_deciders(bound(SHARE, mechanism="inv_mean", tau="60%")).verdicts

    def broken(rows: Sequence[Row]) -> int:
        (histogram,) = counts_of(gate, rows).values()
        share = Fraction(histogram.total, max(histogram.mass, 1))
        ends = share - plan.interval.lower, plan.interval.upper - share
        return math.ceil(len(COPY) * min(ends))

    assert max(abs(broken([*rows, row]) - broken(rows)) for rows in SMALL for row in VALUES) > 1
    record_property("mutant", "margin of a share in rows of the copy")
    record_property("caught_by", "small tables of a gate: a step beyond 1")


def test_a_false_green_of_a_gate_per_row_has_probability_alpha() -> None:
    """Exactly, by the law of the noise, in all small tables where a condition does not hold."""
    gate, rate = gate_of(*OF_GATE), math.exp(-EPSILON)
    greens = [
        z
        for z in range(-60, 61)
        if (decision := gate.run(counts_of(gate, []), Shifted(z))).outcome
        and decision.p_value is not None
        and decision.p_value <= ALPHA
    ]
    empty, worst = least_of(gate, []), 0.0
    first = min(greens) + empty
    for rows in SMALL:
        if (least := least_of(gate, rows)) < 1:
            worst = max(worst, rate ** (first - least) / (1 + rate))
    assert 0 < worst <= ALPHA < worst / rate


class Shifted(SimulatedNoise):
    """Noise that adds a stated number of steps."""

    def __init__(self, steps: int) -> None:
        super().__init__(0)
        self._steps = steps

    def laplace(self, value: int, scale: Fraction) -> int:
        assert scale == 1 / EPSILON
        return value + self._steps


@pytest.mark.parametrize("most", [1, 2])
def test_a_person_moves_the_margin_of_a_gate_per_row_by_one(most: int) -> None:
    gate = gate_of(*OF_GATE, unit=PrivacyUnit("pid", most))
    rows: list[Row] = [((15.0, 40.0, None)[n % 3], "ab"[n % 2], "pqr"[n % 3]) for n in range(9)]
    for person in "pqr":
        rest = [row for row in rows if row[2] != person]
        assert abs(least_of(gate, rows) - least_of(gate, rest)) <= 1


# Composition -------------------------------------------------------------------------------------

GROUPED = "SELECT COUNT(*) FROM D GROUP BY job"


def cost(**how: Any) -> Fraction:
    measurements = [each.measurement for each in select_deciders(bound(GROUPED, **how)).verdicts]
    from pqd.accounting.accountant import quote_of  # noqa: PLC0415 - of this check alone

    return quote_of([measurements]).charge.epsilon


def test_groups_per_row_are_not_disjoint() -> None:
    """Every row counts in every share, so that groups cost their sum; plain groups cost one."""
    assert cost(scale=None) == EPSILON
    assert cost() == 3 * EPSILON


@pytest.mark.parametrize("most", [1, 2])
def test_a_person_moves_as_many_rows_as_count(most: int) -> None:
    rows: list[Row] = [(15.0, "ab"[n % 2], "pqr"[n % 3]) for n in range(12)]
    workload = bound(*TEXTS, unit=PrivacyUnit("pid", most))
    whole = counted(workload, rows, most)
    rest = counted(workload, [row for row in rows if row[2] != "q"], most)
    for here, there in zip(whole, rest, strict=True):
        assert here.mass - there.mass == PARTS * most
    for verdict in select_deciders(workload).verdicts:
        assert verdict.measurement.cost == most * EPSILON


def test_keys_differ_by_the_scale() -> None:
    def keys(*sqls: str, scale: str | None) -> list[str]:
        every = select_deciders(bound(*sqls, scale=scale)).verdicts
        return [verdict.measurement.cache_key for verdict in every]

    mean = "SELECT AVG(pay) FROM D WHERE job = 'a'"
    texts = (SHARE, SUM, mean)
    plain, per_row = keys(*texts, scale=None), keys(*texts, scale="rows")
    assert len({*plain, *per_row}) == 5
    assert plain[2] == per_row[2]


# What a caller states ----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["row", "", 1, "ROWS", True])
def test_an_unknown_scale_is_refused(scale: Any) -> None:
    with pytest.raises(ParameterError, match="scale"):
        scaled(as_queries(SHARE), scale)
    with pytest.raises(ParameterError, match="scale"):
        Query(SHARE, scale=scale)


def test_a_query_may_state_its_own_scale() -> None:
    (own,) = scaled([Query(SHARE, scale="rows")], None)
    assert own.per_row
    assert (own.aggregate, own.written, own.where) == ("AVG", "COUNT", "job = 'a'")
    (mean,) = scaled(as_queries("SELECT MEDIAN(pay) FROM D"), "rows")
    assert (mean.aggregate, mean.per_row) == ("MEDIAN", False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT COUNT(*) FROM D", "100 % of the rows"),
        ("SELECT COUNT(DISTINCT job) FROM D", "no meaning per row"),
    ],
)
def test_what_has_no_meaning_per_row_is_left_out(text: str, reason: str) -> None:
    with pytest.raises(UnanswerableError, match="query q1: ") as refused:
        bound(text)
    assert reason in str(refused.value)
    workload = bound(text, SHARE)
    assert [query.query.id for query in workload.queries] == ["q2"]


def test_a_decider_of_counts_is_refused() -> None:
    with pytest.raises(DeciderError, match="inv_count decides COUNT; per row"):
        select_deciders(bound(SHARE, mechanism="inv_count")).bound.check()


def test_a_good_copy_of_a_tenth_passes() -> None:
    rng = np.random.default_rng(7)

    def table(rows: int) -> pd.DataFrame:
        return pd.DataFrame(
            {"job": rng.choice(list("abc"), rows), "pay": rng.integers(0, 100, rows)}
        )

    private, copy = table(20_000), table(2_000)
    texts = [SHARE, "SELECT SUM(pay) FROM D WHERE job = 'b'"]
    facts = {"pay": {"bounds": (0, 100)}}
    plain, per_row = (
        pqd.audit(private, copy, texts, tau="20%", epsilon=1, columns=facts, scale=scale)
        for scale in (None, "rows")
    )
    assert [verdict.outcome for verdict in plain.verdicts] == ["no", "no"]
    assert [verdict.outcome for verdict in per_row.verdicts] == ["yes", "yes"]
    share = per_row.verdicts[0]
    assert (share.aggregate, share.scale) == ("SHARE OF ROWS", "rows")
    assert share.q_synthetic == 100 * (copy.job == "a").mean()
