"""One stated bound of two: its side of a no is told by the margin, and needs no other bound."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.commands.audit import run_audit
from pqd.deciders import Histogram, Interval, SimulatedNoise
from pqd.deciders.exact import exceeds
from pqd.deciders.histogram import answer
from pqd.deciders.single.inverse_sensitivity import (
    End,
    InverseMean,
    InverseSum,
    StatedEnd,
    least_margin,
    most_rows_beyond,
    two_sided,
    verdict_of,
)
from pqd.deciders.single.margins import margin_with_stated_end
from pqd.engine.scan_plan import PrivacyUnit
from pqd.parameters import Parameters
from pqd.reports.models.audit import Condition, Verdict
from pqd.sql.workload_files import as_queries

ENDS: tuple[End, End] = "lower", "upper"
BOUNDS = [(0, 3), (-2, 2), (-3, 0), (1, 3)]
Kind = type[InverseSum | InverseMean]
KINDS: list[tuple[Kind, str]] = [(InverseSum, "SUM"), (InverseMean, "AVG")]
# A row of this value is NULL, although its cell holds something.
UNREADABLE = None
Row = int | None
Rule = Callable[..., float]


def decider_of(kind: Kind, bounds: tuple[int, int], end: End, most: int) -> StatedEnd:
    return kind(lower=bounds[0], upper=bounds[1], most_beyond=most, stated_end=end)


def histogram_of(decider: StatedEnd, rows: Sequence[Row]) -> Histogram:
    """Rows as the engine counts them: cut to both bounds, and counted beyond the one not stated."""
    low, high = decider.lower, decider.upper
    numbers = [row for row in rows if row is not None]
    beyond = [row > high if decider.stated_end == "lower" else row < low for row in numbers]
    counted = sum(beyond) + len(rows) - len(numbers)
    return Histogram.from_values([min(max(row, low), high) for row in numbers]).with_beyond(counted)


def far_row(decider: StatedEnd) -> int:
    """Value far beyond the bound that nobody stated."""
    return 10**6 if decider.stated_end == "lower" else -(10**6)


def tables(decider: StatedEnd, most: int = 4) -> Iterator[tuple[Row, ...]]:
    values = [*range(decider.lower, decider.upper + 1), far_row(decider), UNREADABLE]
    for size in range(most + 1):
        yield from combinations_with_replacement(values, size)


def intervals(decider: StatedEnd) -> Iterator[Interval]:
    for centre, tau in product((-2, 0, 3, 8), (Fraction(1, 2), Fraction(1), Fraction(5, 2))):
        interval = Interval.around(centre, tau)
        if decider.constant_verdict(interval) is None:
            yield interval


CASES = [
    pytest.param(decider_of(kind, bounds, end, most), aggregate, id=f"{aggregate} {bounds} {end}")
    for (kind, aggregate), bounds, end, most in product(KINDS, BOUNDS, ENDS, (0, 2))
]


def worst_step(decider: StatedEnd) -> float:
    """Largest change of the margin by one row, over every table and some intervals."""
    worst = 0.0
    for interval, rows in product(intervals(decider), tables(decider, 3)):
        margin = decider.margin(histogram_of(decider, rows), interval)
        for row in (*range(decider.lower, decider.upper + 1), far_row(decider), UNREADABLE):
            there = decider.margin(histogram_of(decider, (*rows, row)), interval)
            worst = max(worst, abs(there - margin))
    return worst


def false_claims(decider: StatedEnd, aggregate: str) -> int:
    """Tables whose margin says what is not so, of the values that only the stated bound cuts."""
    wrong, most = 0, decider.most_beyond or 0
    for interval, rows in product(intervals(decider), tables(decider)):
        histogram = histogram_of(decider, rows)
        margin, value = decider.margin(histogram, interval), answer(aggregate, histogram)
        inside = value is not None and interval.contains(value)
        wrong += (margin >= 1) is not (inside and histogram.rows_beyond <= most)
        if margin < -most:
            # What SQL answers where nobody cuts the values beyond the bound that is not stated.
            uncut = answer(aggregate, Histogram.from_values([r for r in rows if r is not None]))
            if decider.stated_end == "lower":
                wrong += uncut is not None and uncut < interval.upper
            else:
                wrong += uncut is not None and uncut > interval.lower
    return wrong


@pytest.mark.parametrize(("decider", "aggregate"), CASES)
def test_one_row_moves_the_margin_by_one_and_it_says_what_is_so(
    decider: StatedEnd, aggregate: str
) -> None:
    assert worst_step(decider) == 1
    assert not false_claims(decider, aggregate)


def without_floor(
    margin: float, histogram: Histogram, most_beyond: int, *, beyond_stated: bool
) -> float:
    """Broken twin: a no of any kind is far below."""
    del beyond_stated
    return min(margin, most_beyond + 1 - histogram.rows_beyond)


def jumping(margin: float, histogram: Histogram, most_beyond: int, *, beyond_stated: bool) -> float:
    """Broken twin: the floor ends where the stated side begins."""
    if beyond_stated:
        return margin - most_beyond - 1
    return margin_with_stated_end(margin, histogram, most_beyond, beyond_stated=False)


def wrong_side(
    margin: float, histogram: Histogram, most_beyond: int, *, beyond_stated: bool
) -> float:
    """Broken twin: the other side counts as the stated one."""
    return margin_with_stated_end(margin, histogram, most_beyond, beyond_stated=not beyond_stated)


@pytest.mark.parametrize("twin", [without_floor, jumping, wrong_side])
def test_broken_twins_are_caught(twin: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pqd.deciders.single.inverse_sensitivity.margin_with_stated_end", twin)
    caught = [
        worst_step(decider) > 1 or false_claims(decider, "SUM") > 0
        for decider in (decider_of(InverseSum, (0, 3), end, 1) for end in ENDS)
    ]
    assert all(caught)


def error_chance(margin: int, epsilon: Fraction, alpha: Fraction, most: int, truth: str) -> float:
    """Exact chance of a verdict that is wrong, with a p-value of at most alpha, at a margin."""
    decider = decider_of(InverseSum, (0, 3), "lower", most)
    decay, chance = math.exp(-epsilon), 0.0
    for noise in range(-400, 401):
        verdict = verdict_of(margin + noise, epsilon, decider.floor)
        claims = {"yes"} if verdict.outcome else {"not yes"}
        levels = {"yes": verdict.p_value, "not yes": verdict.p_value}
        levels["stated side"] = decider.side_p_value(margin + noise, epsilon)
        if not exceeds(levels["stated side"] or 0, alpha):
            claims.add("stated side")
        true = {"yes": {"yes"}, "stated side": {"not yes", "stated side"}, "other": {"not yes"}}
        wrong = [name for name in claims - true[truth] if not exceeds(levels[name] or 0, alpha)]
        if wrong:
            chance += (1 - decay) / (1 + decay) * decay ** abs(noise)
    return chance


LEVELS = [
    (Fraction(epsilon), level)
    for epsilon in ("0.25", "1", "3")
    # Levels that a whole margin just reaches, and others.
    for level in (
        Fraction(1, 20),
        Fraction(1, 5),
        *(
            Fraction(math.exp(-float(epsilon) * m) / (1 + math.exp(-float(epsilon))))
            for m in (1, 4)
        ),
    )
]


def worst_error(epsilon: Fraction, alpha: Fraction, most: int) -> float:
    """Largest error chance over the margins that tables of each verdict have."""
    margins = {"yes": (1, 5), "stated side": (-9, 0), "other": tuple(range(-most, 1))}
    return max(
        error_chance(margin, epsilon, alpha, most, truth)
        for truth, all_margins in margins.items()
        for margin in all_margins
    )


@pytest.mark.parametrize(("epsilon", "alpha"), LEVELS)
@pytest.mark.parametrize("most", [0, 1, 5])
def test_a_wrong_verdict_has_a_p_value_of_at_most_alpha_no_more_often(
    epsilon: Fraction, alpha: Fraction, most: int
) -> None:
    assert worst_error(epsilon, alpha, most) <= alpha * (1 + Fraction(1, 10**9))


def test_p_values_without_their_factor_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: as if only one of two wrong claims could be made on a table."""
    module = "pqd.deciders.single.inverse_sensitivity"
    monkeypatch.setattr(f"{module}.two_sided", lambda *_: Fraction(1))
    excess = [worst_error(epsilon, alpha, 1) - alpha for epsilon, alpha in LEVELS]
    assert max(excess) > Fraction(1, 100)


@pytest.mark.parametrize("epsilon", ["0.1", "0.25", "1", "3", "8"])
def test_without_rows_beyond_nine_runs_of_ten_prove_the_claim(epsilon: str) -> None:
    budget, alpha = Fraction(epsilon), Fraction(1, 20)
    most = most_rows_beyond(budget, alpha, one_stated=True)
    assert most >= most_rows_beyond(budget, alpha)
    decider = InverseSum(lower=0, upper=1, most_beyond=most, stated_end="lower")
    copy, interval = Histogram.from_values([1] * 10_000), Interval.around(10_000, 5_000)
    law = decider.acceptance(copy, interval)
    assert law.distance == most + 1
    assert law.proof_chance(budget, alpha) >= 0.9
    # A verdict of yes is proven where the p-value that is released says so.
    least = next(m for m in range(1, 10**4) if not exceeds(p_of_yes(m, budget, most), alpha))
    assert least == least_margin(budget, alpha / two_sided(most, budget))
    too_small = decider.acceptance(Histogram.from_values([1] * 1000), interval)
    assert too_small.distance == -most
    assert too_small.refutation_chance(budget, alpha) >= 0.9


def p_of_yes(margin: int, epsilon: Fraction, most: int) -> float:
    return verdict_of(margin, epsilon, most).p_value or 0.0


def frame(*values: object, g: int = 1) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(values, dtype=object), "g": [g] * len(values)})


COPY = frame(*range(100), *range(100), *range(100))
BELOW = frame(*(-value for value in range(300)))


def verdict(
    private: pd.DataFrame, sql: str, columns: Any = None, seed: int = 2, **more: Any
) -> Verdict:
    copy = more.pop("copy", COPY)
    terms = Parameters.parse(tau="20%", epsilon=1, alpha=0.05, columns=columns)
    report = run_audit(private, copy, as_queries(sql), terms, SimulatedNoise(seed), **more)
    return report.verdicts[0]


OPEN = {"x": {"bounds": (0, None)}}
UP_TO = {"x": {"bounds": ("", 99)}}
TOO_LARGE = frame(*range(100), *range(100), *range(100), *[99] * 200, *[5000] * 60)
TOO_SMALL = frame(*range(100), *[-5000] * 60)


@pytest.mark.parametrize("sql", ["SELECT SUM(x) FROM D", "SELECT AVG(x) FROM D"])
@pytest.mark.parametrize(
    ("private", "columns", "standing"),
    [
        (TOO_LARGE, OPEN, "not trusted"),
        (TOO_LARGE, UP_TO, "no or rows beyond"),
        (TOO_LARGE, None, "no or rows beyond"),
        (TOO_SMALL, UP_TO, "not trusted"),
        (TOO_SMALL, OPEN, "no or rows beyond"),
        (TOO_SMALL, None, "no or rows beyond"),
    ],
)
def test_a_no_needs_the_bound_of_its_side_alone(
    private: pd.DataFrame, columns: Any, standing: str, sql: str
) -> None:
    private = pd.concat([private, frame(*[0 if private is TOO_SMALL else 99] * 400)])
    found = verdict(private, sql, columns)
    assert found.standing == standing
    assert (found.condition is None) == (standing == "not trusted")
    assert found.evidence == "proof"
    # A margin that ends at its floor is no number of changes.
    assert (found.margin is None) == (found.condition is not None and columns is not None)


@pytest.mark.parametrize("sql", ["SELECT SUM(x) FROM D", "SELECT AVG(x) FROM D"])
@pytest.mark.parametrize(
    ("cells", "columns", "expected"),
    [
        ([5000] * 20, OPEN, "no or rows beyond"),
        (["many"] * 20, OPEN, "no or rows beyond"),
        ([float("nan")] * 20, OPEN, "yes within bounds"),
        ([-300] * 20, OPEN, "yes within bounds"),
        ([-300] * 20, UP_TO, "no or rows beyond"),
        ([5000] * 20, UP_TO, "yes within bounds"),
    ],
)
def test_rows_are_counted_beyond_the_other_bound_alone(
    cells: list[object], columns: Any, expected: str, sql: str
) -> None:
    found = verdict(pd.concat([COPY, frame(*cells)]), sql, columns)
    assert found.standing == expected
    low, high = (None, 99) if columns is OPEN else (0, None)
    assert found.condition == Condition(low, high, rows_beyond=3)


@pytest.mark.parametrize(
    ("sql", "copy", "condition", "text"),
    [
        ("AVG(x) FROM D WHERE x < 0", BELOW, (-330, None), "-330..0 step 1"),
        ("SUM(x) FROM D WHERE x < 0", BELOW, (-299, None), "-299..0 step 1"),
        ("SUM(x) FROM D WHERE x >= 20", COPY, (None, 99), "0..99 step 1"),
        ("SUM(x) FROM D WHERE x <= 60 AND g = 1", COPY, (0, None), "0..60 step 1"),
        ("SUM(x) FROM D WHERE x <= 60.5", COPY, (0, None), "0..61 step 1"),
        ("SUM(x) FROM D WHERE NOT x > 60", COPY, (0, None), "0..60 step 1"),
        # Ends beyond the copy's values do not widen what one row can add.
        ("SUM(x) FROM D WHERE x < 100000", COPY, (0, 99), "0..99 step 1"),
        ("SUM(x) FROM D WHERE x > -100000", COPY, (0, 99), "0..99 step 1"),
        ("SUM(x) FROM D WHERE x <> 60", COPY, (0, 99), "0..99 step 1"),
        ("SUM(x) FROM D WHERE x > 20 OR g = 1", COPY, (0, 99), "0..99 step 1"),
    ],
)
def test_an_end_in_the_query_is_stated(
    sql: str, copy: pd.DataFrame, condition: tuple[int | None, int | None], text: str
) -> None:
    private = pd.concat([copy, frame(*range(10), g=2)])
    terms = Parameters.parse(tau="40%", epsilon=1, alpha=0.05)
    report = run_audit(private, copy, as_queries(f"SELECT {sql}"), terms, SimulatedNoise(2))
    found = report.verdicts[0]
    low, high = condition
    assert found.condition == Condition(low, high, rows_beyond=3)
    (told,) = (str(note) for note in report.notes if str(note).startswith(("SUM", "AVG")))
    assert text in told
    side = "lower" if low is None else "upper"
    assert (f"the {side} bound from the WHERE" in told) == (None in condition)


def test_a_person_with_rows_of_both_signs_has_no_stated_side() -> None:
    """The bound of a total is none of its rows, unless all of them are 0 or more."""
    copy = pd.DataFrame({"who": [n // 3 for n in range(900)], "x": [n % 10 for n in range(900)]})
    unit = PrivacyUnit("who")
    conditions = []
    for bounds in ((0, None), (None, 27), (-27, None)):
        found = verdict(
            copy.assign(x=copy.x.where(copy.who % 50 > 0, 5)),
            "SELECT SUM(x) FROM D",
            {"x": {"bounds": bounds}},
            copy=copy,
            unit=unit,
        )
        conditions.append(found.condition and (found.condition.lower, found.condition.upper))
    assert conditions == [(None, 24), (0, None), (-27, 24)]


def test_an_order_statistic_takes_one_bound() -> None:
    """Values below the stated bound count as it; nothing bounds them above."""
    private = pd.concat([COPY, frame(*[-5000] * 100)])
    for bounds, leans in (((None, 200), "no"), ((50, None), "yes")):
        found = verdict(private, "SELECT MEDIAN(x) FROM D", {"x": {"bounds": bounds}})
        assert (found.leans, found.condition) == (leans, None)


def test_no_verdict_without_a_condition_is_false_more_often_than_alpha() -> None:
    """A row far beyond the bound that nobody stated, and a sum that is right only with it."""
    private = frame(*range(100), *range(100), *[100 * 99 // 2], *range(60))
    wrong = 0
    for seed in range(60):
        found = verdict(private, "SELECT SUM(x) FROM D", OPEN, seed)
        wrong += found.condition is None and found.evidence == "proof"
    assert wrong <= 6


def test_sums_between_ends_are_answered_together() -> None:
    """A lattice that is cut at the WHERE is that of a query alone; one batch takes the whole."""
    wheres = ("", " WHERE x <= 60", " WHERE x BETWEEN 20 AND 60", " WHERE x > 30")
    queries = [f"SELECT SUM(x) FROM D{where}" for where in wheres]
    report = pqd.release(TOO_LARGE, COPY, queries, total_epsilon=1)
    assert [batch.queries for batch in report.batches] == [4]
    conditions = [each.condition for each in report.queries]
    ends = [(each.lower, each.upper) if each else None for each in conditions]
    assert ends == [(0, 99), (0, None), None, (None, 99)]


def test_sums_between_ends_beyond_the_copy_have_batches_of_their_own() -> None:
    queries = ["SELECT SUM(x) FROM D", "SELECT SUM(x) FROM D WHERE x BETWEEN 0 AND 9999"]
    report = pqd.release(TOO_LARGE, COPY, [*queries, f"{queries[1]} AND g = 1"], total_epsilon=1)
    assert [batch.queries for batch in report.batches] == [1, 2]
    assert len({batch.name for batch in report.batches}) == 2
