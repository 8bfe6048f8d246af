"""Rows beyond bounds that nobody stated: counted in the same draw, of sensitivity 1, and told."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.commands.audit import run_audit
from pqd.deciders import Histogram, Interval, SimulatedNoise
from pqd.deciders.exact import exceeds
from pqd.deciders.histogram import answer
from pqd.deciders.single.inverse_sensitivity import (
    InverseMean,
    InverseSum,
    least_margin,
    most_rows_beyond,
)
from pqd.deciders.single.margins import margin_within
from pqd.engine.scan_plan import PrivacyUnit
from pqd.parameters import Parameters
from pqd.reports.models.audit import Verdict
from pqd.sql.workload_files import as_queries

LOWER, UPPER, MOST = 0, 3, 1
# Values of a row: within the bounds, beyond them (which count as an end), and unreadable.
VALUES = [0, 1, 2, 3, 4, -1, None]
TABLES = [list(rows) for size in range(5) for rows in combinations_with_replacement(range(7), size)]


def histogram_of(rows: Sequence[int]) -> Histogram:
    values = [VALUES[row] for row in rows]
    kept = [min(max(value, LOWER), UPPER) for value in values if value is not None]
    beyond = sum(value is None or not LOWER <= value <= UPPER for value in values)
    return Histogram.from_values(kept).with_beyond(beyond)


def rows_alone(margin: float, histogram: Histogram, most_beyond: int) -> float:
    """Broken twin: a row beyond flips the claim at once, however far the margin is."""
    return margin if histogram.rows_beyond <= most_beyond else min(margin, 0)


def summed(margin: float, histogram: Histogram, most_beyond: int) -> float:
    """Broken twin: one row may move both parts of a sum."""
    return margin + most_beyond - histogram.rows_beyond


def worst_step(kind: type, rule: Callable[[float, Histogram, int], float]) -> float:
    """Largest change of the margin by one row, over every table and some intervals."""
    plain = kind(lower=LOWER, upper=UPPER)
    worst = 0.0
    for centre, tau in product((1, 2, 4), (Fraction(1, 2), Fraction(3, 2), Fraction(3))):
        interval = Interval.around(centre, tau)
        for rows in TABLES:
            here = histogram_of(rows)
            margin = rule(plain.margin(here, interval), here, MOST)
            for row in range(len(VALUES)):
                there = histogram_of([*rows, row])
                step = rule(plain.margin(there, interval), there, MOST) - margin
                worst = max(worst, abs(step))
    return worst


@pytest.mark.parametrize("kind", [InverseSum, InverseMean])
def test_one_row_moves_the_margin_by_one(kind: type) -> None:
    assert worst_step(kind, margin_within) == 1


@pytest.mark.parametrize("twin", [rows_alone, summed])
def test_broken_twins_are_caught(twin: Callable[[float, Histogram, int], float]) -> None:
    assert worst_step(InverseSum, twin) > 1


@pytest.mark.parametrize(("kind", "aggregate"), [(InverseSum, "SUM"), (InverseMean, "AVG")])
def test_a_margin_of_one_says_both_claims(kind: type, aggregate: str) -> None:
    """Inside the interval, and at most so many rows beyond: exactly then the margin is positive."""
    decider = kind(lower=LOWER, upper=UPPER, most_beyond=MOST)
    for centre, tau in product((1, 2, 4), (Fraction(1, 2), Fraction(2))):
        interval = Interval.around(centre, tau)
        for rows in TABLES:
            histogram = histogram_of(rows)
            value = answer(aggregate, histogram)
            within = value is not None and interval.contains(value)
            both = within and histogram.rows_beyond <= MOST
            assert (decider.margin(histogram, interval) >= 1) is both


@pytest.mark.parametrize("epsilon", ["0.1", "0.25", "1", "3"])
def test_without_rows_beyond_nine_runs_of_ten_prove_the_claim(epsilon: str) -> None:
    budget, alpha = Fraction(epsilon), Fraction(1, 20)
    most = most_rows_beyond(budget, alpha)
    assert most + 1 == least_margin(budget, alpha) + least_margin(budget, Fraction(1, 10)) - 1
    decider = InverseSum(lower=0, upper=1, most_beyond=most)
    copy = Histogram.from_values([1] * 10_000)
    law = decider.acceptance(copy, Interval.around(10_000, 5_000))
    assert law.distance == most + 1
    assert law.proof_chance(budget, alpha) >= 0.9


def frame(*values: object) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(values, dtype=object), "g": [1] * len(values)})


def verdict_of(
    private: pd.DataFrame, copy: pd.DataFrame, sql: str, tau: str, **more: Any
) -> Verdict:
    """Verdict at epsilon 1 with recorded noise: any other draw decides nine times of ten."""
    columns = more.pop("columns", None)
    terms = Parameters.parse(tau=tau, epsilon=1, alpha=0.05, columns=columns)
    report = run_audit(private, copy, as_queries(sql), terms, SimulatedNoise(SEED), **more)
    return report.verdicts[0]


SEED = 2
COPY = frame(*range(100), *range(100), *range(100))
SQL = ["SELECT SUM(x) FROM D", "SELECT AVG(x) FROM D"]


@pytest.mark.parametrize("cell", [5000, -300, 17.5, "many"])
@pytest.mark.parametrize("sql", SQL)
def test_rows_that_the_copy_cannot_have_keep_a_yes_away(sql: str, cell: object) -> None:
    """Above, below, between two steps, or not a number: each counts, and 30 are too many."""
    private = frame(*range(100), *range(100), *range(1, 100), *[cell] * 31)
    verdict = verdict_of(private, COPY, sql, "40%")
    assert verdict.standing == "no or rows beyond"
    assert verdict.condition is not None
    assert verdict.condition.rows_beyond == 3
    assert not exceeds(verdict.p_value or 1, verdict.alpha)


@pytest.mark.parametrize("cell", [None, float("nan"), "", "N/A", "null"])
@pytest.mark.parametrize("sql", SQL)
def test_a_missing_value_is_no_row_beyond(sql: str, cell: object) -> None:
    private = frame(*range(100), *range(100), *range(1, 100), *[cell] * 31)
    verdict = verdict_of(private, COPY, sql, "40%")
    assert verdict.standing == "yes within bounds"
    assert (verdict.outcome, verdict.leans, verdict.evidence) == ("yes", "yes", "proof")


@pytest.mark.parametrize("sql", SQL)
def test_rows_that_are_not_selected_do_not_count(sql: str) -> None:
    private = frame(*range(100), *range(100), *range(1, 100), *[5000] * 31)
    private.loc[private.x == 5000, "g"] = 2
    verdict = verdict_of(private, COPY, f"{sql} WHERE g = 1", "40%")
    assert verdict.standing == "yes within bounds"


@pytest.mark.parametrize("sql", SQL)
def test_stated_bounds_need_no_condition(sql: str) -> None:
    private = frame(*range(100), *range(100), *range(1, 100), *[5000] * 31)
    stated = {"x": {"bounds": (0, 99)}}
    verdict = verdict_of(private, COPY, sql, "70%", columns=stated)
    assert verdict.condition is None
    assert verdict.standing == "trusted"


@pytest.mark.parametrize(
    ("where", "standing"),
    [
        ("x BETWEEN 20 AND 60", "trusted"),
        ("x > 19.5 AND x < 60.5 AND g = 1", "trusted"),
        ("x IN (20, 30, 40)", "trusted"),
        ("(x = 20 OR x = 60)", "trusted"),
        ("x >= 20", "no or rows beyond"),
        ("x <= 60", "yes within bounds"),
        ("NOT x BETWEEN 20 AND 60", "no or rows beyond"),
        ("g = 1", "no or rows beyond"),
    ],
)
def test_bounds_that_stand_in_the_query_are_stated(where: str, standing: str) -> None:
    """Private values beyond the copy's are not selected by a WHERE that has both ends."""
    private = frame(*range(100), *range(100), *range(1, 100), *[5000] * 31)
    verdict = verdict_of(private, COPY, f"SELECT SUM(x) FROM D WHERE {where}", "80%")
    assert verdict.standing == standing
    assert (verdict.condition is None) == (standing == "trusted")


def test_what_counts_as_beyond_is_part_of_the_question(tmp_path: Path) -> None:
    """With a stated step, values between two steps do not count: another number is released."""
    private, ledger = frame(*range(100), *range(100), *range(1, 100)), tmp_path / "l.sqlite"
    replayed = []
    for columns in (None, {"x": {"step": 1}}, None):
        terms: dict[str, Any] = {"tau": "40%", "epsilon": 1, "ledger": ledger, "columns": columns}
        replayed.append(pqd.audit(private, COPY, SQL[0], **terms).verdicts[0].replayed)
    assert replayed == [False, False, True]


def test_a_person_counts_once_however_many_rows_lie_beyond() -> None:
    """Six persons with all of their rows beyond are six, which is more than three."""
    copy = pd.DataFrame({"who": [n // 3 for n in range(900)], "x": [n % 10 for n in range(900)]})
    private = copy.copy()
    found = {}
    for persons in (1, 60):
        private.loc[private.who < persons, "x"] = 500
        verdict = verdict_of(private, copy, SQL[0], "60%", unit=PrivacyUnit("who"))
        found[persons] = verdict.standing
    assert found == {1: "yes within bounds", 60: "no or rows beyond"}


def test_a_clipped_copy_is_never_trusted() -> None:
    """The copy ends at 99; private values reach far beyond.  No run of many certifies the sum."""
    private = frame(*range(100), *range(100), *range(1, 100), *[9000] * 25)
    terms = Parameters.parse(tau="10%", epsilon=1, alpha=0.05)
    for seed in range(20):
        report = run_audit(private, COPY, as_queries(SQL), terms, SimulatedNoise(seed))
        assert not {"trusted", "yes within bounds"} & {each.standing for each in report.verdicts}
