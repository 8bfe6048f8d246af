"""``low`` and ``high`` of ``pqd release``: how often they hold the exact answer, and how wide."""

import io
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import pqd
from pqd.batches.answers import ReleasePlan, select_batches
from pqd.batches.batch_measurement import possible_answers
from pqd.batches.workload_laplace import exact_answers as answered
from pqd.commands import release as releaser
from pqd.commands.release import run_release
from pqd.deciders import SimulatedNoise
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.reports.models.release import ReleasedQuery, ReleaseReport
from pqd.reports.text.numbers import number_text
from pqd.reports.writers.terminal import TerminalReport
from pqd.sql.workload_files import as_queries
from tests.support.noises import LaplaceAlone, Scaled
from tests.support.private_tables import workers

pytestmark = pytest.mark.usefixtures("noiseless")

RUNS, LIMIT = 400, 5.0
QUERIES: dict[str, Callable[[pd.DataFrame], float]] = {
    "SELECT COUNT(*) FROM D WHERE age > 30": lambda d: (d.age > 30).sum(),
    "SELECT COUNT(*) FROM D WHERE age > 50 AND job = 'cook'": lambda d: (
        (d.age > 50) & (d.job == "cook")
    ).sum(),
    "SELECT COUNT(*) FROM D WHERE age > 500": lambda d: (d.age > 500).sum(),
    "SELECT SUM(pay) FROM D WHERE age > 30": lambda d: d.pay[d.age > 30].sum(),
    "SELECT SUM(debt) FROM D WHERE job = 'nurse'": lambda d: d.debt[d.job == "nurse"].sum(),
}
COLUMNS = {"age": {"bounds": (0, 100)}, "pay": {"bounds": (0, 8)}, "debt": {"bounds": (-50, 50)}}


COPY, SECRET = workers(1, 300), workers(2, 300)


def released(
    noise: Any,
    mechanism: str = "identity",
    alpha: object = "0.1",
    epsilon: object = 1,
    private: pd.DataFrame = SECRET,
) -> ReleaseReport:
    terms = Parameters.parse(
        tau=1, epsilon=str(epsilon), alpha=str(alpha), mechanism=mechanism, columns=COLUMNS
    )
    return run_release(private, COPY, as_queries(list(QUERIES)), terms, noise)


class Fixed(LaplaceAlone):
    """Noise that is one number everywhere."""

    simulated = False

    def __init__(self, value: int) -> None:
        self._value = value

    def laplace(self, statistic: int, scale: Fraction) -> int:
        del scale
        return statistic + self._value

    def choose(self, logit: float) -> bool:
        return logit > 0


def ends(query: ReleasedQuery) -> tuple[float, float]:
    assert query.low is not None
    assert query.high is not None
    return query.low, query.high


def batched(mechanism: str) -> ReleasePlan:
    """The batches of a release before anything is drawn, and the tables."""
    opened = open_table(COPY, "synthetic"), open_table(SECRET, "private")
    terms = Parameters.parse(tau=1, epsilon=1, alpha="0.1", mechanism=mechanism, columns=COLUMNS)
    requests = [QueryRequest(query, terms) for query in as_queries(list(QUERIES))]
    bound = bind(SyntheticTables([opened[0]], opened[1]), requests, terms.columns)
    return select_batches(bound, terms)


def most_missed(mechanism: str, alpha: str, factor: Fraction = Fraction(1)) -> tuple[float, float]:
    """Largest and smallest rate of missed exact answers, in standard errors off alpha.

    ``factor`` is what the noise is drawn at, as a multiple of its scale.
    """
    plan = batched(mechanism)
    bound = plan.bound
    level, noise = float(alpha), Scaled(3, factor)
    found: list[float] = []
    for one in plan.batches:
        scan = ScanPlan(one.batch.statistics)
        cells = bound.tables.engine.contingency(bound.private, bound.schema, scan)
        exact = answered(one.batch.workload, cells).tolist()
        rows = one.batch.plan.read(cells)
        drawn = [one.batch.plan.release(rows, one.batch.epsilon, noise) for _ in range(RUNS)]
        exact_answers = np.array([released.answers for released in drawn])
        for place, truth in enumerate(exact):
            reach = releaser._reaches(one, Fraction(alpha))[place]
            assert reach is not None
            # So far from 0 that neither end is cut off; at 0 one is, and no interval is a number.
            possible = possible_answers(scan.statistics[place].measure)
            assert releaser._ends(possible, 10**6, reach) == (10**6 - reach, 10**6 + reach)
            assert releaser._ends(possible, 0, reach) == (possible.cut(-reach), reach)
            assert reach >= 1
            missed = np.abs(exact_answers[:, place] - truth) > reach
            found.append((missed.mean() - level) / math.sqrt(level * (1 - level) / RUNS))
    assert len(found) == len(QUERIES)
    return max(found), min(found)


@pytest.mark.parametrize("mechanism", ["workload", "identity"])
@pytest.mark.parametrize("alpha", ["0.1", "0.5"])
def test_the_ends_hold_the_exact_answer_as_often_as_they_say(mechanism: str, alpha: str) -> None:
    most, _ = most_missed(mechanism, alpha)
    assert most < LIMIT


def test_noise_beyond_what_they_take_it_for_is_caught() -> None:
    assert most_missed("identity", "0.1", Fraction(8, 5))[0] > LIMIT
    # Nor are they much wider than they must be.
    assert most_missed("workload", "0.1")[0] > -LIMIT


def test_at_a_large_epsilon_they_are_next_to_the_exact_answer() -> None:
    report = pqd.release(
        SECRET, COPY, list(QUERIES), total_epsilon=10**7, mechanism="workload", columns=COLUMNS
    )
    for query, rule in zip(report.queries, QUERIES.values(), strict=True):
        low, high = ends(query)
        exact = float(rule(SECRET))
        assert low <= exact == query.answer <= high
        assert high - low <= 2


def test_they_widen_as_epsilon_and_alpha_fall() -> None:
    def widths(epsilon: str, alpha: str) -> np.ndarray:
        report = released(Fixed(5000), "identity", alpha, epsilon)
        return np.array([high - low for low, high in map(ends, report.queries)])

    by_epsilon = [widths(epsilon, "0.1") for epsilon in ("4", "1", "0.25")]
    by_alpha = [widths("1", alpha) for alpha in ("0.5", "0.1", "0.001")]
    for found in (by_epsilon, by_alpha):
        assert (found[0] < found[1]).all()
        assert (found[1] < found[2]).all()
    # Four times the noise: about four times the width.
    assert np.allclose(by_epsilon[2] / by_epsilon[1], 4, atol=0.5)


def test_no_count_and_no_sum_of_pay_is_below_zero() -> None:
    report = released(Fixed(-(10**6)), "workload")
    for query in report.queries:
        low, high = ends(query)
        # Both sides of debt have this noise, so it cancels out.
        assert (low, query.answer) == (0, 0) or query.attribute == "debt"
        assert high > low
    near = released(Fixed(0), "workload", private=SECRET.iloc[:0]).queries
    assert [ends(query)[0] for query in near[:4]] == [0] * 4
    low, high = ends(near[4])
    assert low == -high < 0


def test_answers_that_are_not_only_noisy_have_none() -> None:
    for mechanism in ("numerical", "normalization", "global_truncation", "clipped_composition"):
        report = released(SimulatedNoise(1), mechanism)
        assert all(query.low is None and query.high is None for query in report.queries)
    sums = [f"SELECT SUM(pay) FROM D WHERE pay {rule}" for rule in ("> 3", "<= 6")]
    terms = Parameters.parse(tau=1, epsilon=1, alpha=0.05, mechanism="ranges", columns=COLUMNS)
    report = run_release(SECRET, COPY, as_queries(sums), terms, SimulatedNoise(1))
    assert all(query.low is None and query.high is None for query in report.queries)


def test_units_are_those_of_the_column() -> None:
    columns = {"pay": {"bounds": (0, 8), "step": Fraction(1, 4)}}
    terms = Parameters.parse(tau=1, epsilon=1, alpha=0.1, mechanism="workload", columns=columns)
    asked = as_queries("SELECT SUM(pay) FROM D")
    (query,) = run_release(SECRET, COPY, asked, terms, Fixed(0)).queries
    low, high = ends(query)
    assert query.answer == SECRET.pay.sum()
    assert query.answer - low == high - query.answer
    # 32 quarters at epsilon 1: ln(10) scales to either side, in quarters, and half a per cent.
    assert math.log(10) * 32 / 4 - 0.25 <= high - query.answer <= math.log(10) * 32 / 4 * 1.02 + 0.5


def test_a_sum_whose_values_are_cut_off_tells_how_far_such_answers_err() -> None:
    """Cut at 0 the noise is 0, and so is the answer: nothing of it may look exact."""
    sums = [f"SELECT SUM(pay) FROM D WHERE pay > {least}" for least in range(4)]
    terms = Parameters.parse(
        tau=1, epsilon="0.01", alpha=0.05, mechanism="clipped_composition", columns=COLUMNS
    )
    report = run_release(SECRET, COPY, as_queries(sums), terms, SimulatedNoise(1))
    (batch,) = report.batches
    errors = [query.error for query in report.queries]
    assert math.fsum(error or 0 for error in errors) / len(sums) == pytest.approx(batch.error)
    cut = [query for query in report.queries if query.threshold == 0]
    assert cut
    text = report.to_markdown()
    assert "±0" not in text
    for query in cut:
        assert (query.answer, query.deviation) == (0, 0)
        assert query.error
        # About all of the copy's sum is lost, too.
        assert query.error == pytest.approx(query.q_synthetic, rel=0.1)
        assert f"errs {number_text(query.error, 3)}" in text
        console = Console(width=100, file=io.StringIO())
        console.print(TerminalReport(report, explained=query.id))
        words = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
        assert "every value counts as 0, so the answer tells nothing of the sum" in words
