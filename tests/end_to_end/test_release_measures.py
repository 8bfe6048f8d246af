"""``pqd release`` of several measures: one batch where it errs less, and what a report says."""

import json
import math
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.batches.answers import select_batches
from pqd.batches.workload_laplace import exact_answers
from pqd.commands import release as releaser
from pqd.commands.release import run_release
from pqd.deciders import SimulatedNoise
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import PqdError
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.reports.models.release import ReleaseReport
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.sql.workload_files import as_queries
from tests.support.noises import LaplaceAlone

COLUMNS: dict[str, Any] = {
    "income": {"bounds": (0, 999_999)},
    "debt": {"bounds": (-500, 900)},
}
SQUARES = COLUMNS | {"income * income": {"bounds": (0, 999_999**2)}}
CONDITIONS = ("age < 40", "age < 60", "job = 'cook' AND age > 30")
MEANS = [
    f"SELECT {what} FROM D WHERE {condition}"
    for condition in CONDITIONS
    for what in ("COUNT(*)", "SUM(income)", "SUM(debt)")
]
MOMENTS = [f"SELECT {what} FROM D" for what in ("COUNT(*)", "SUM(income)", "SUM(income * income)")]


class Silent(LaplaceAlone):
    """No noise."""

    simulated = True

    def laplace(self, statistic: int, scale: Fraction) -> int:
        del scale
        return statistic

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        del scale
        return tuple(statistics)

    def choose(self, logit: float) -> bool:
        return logit > 0


def people(seed: int, rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = np.minimum(rng.lognormal(10, 1, rows).astype(int), 999_999).astype(float)
    income[::17] = np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "job": rng.choice(["cook", "smith"], rows),
            "income": income,
            "debt": rng.integers(-500, 900, rows),
            "who": rng.integers(0, rows // 2, rows),
        }
    )


COPY, SECRET = people(1), people(2)


def ran(
    queries: Sequence[str], noise: Any, mechanism: str = "auto", **options: Any
) -> ReleaseReport:
    terms = Parameters.parse(
        tau=1, epsilon=1, alpha="0.1", mechanism=mechanism, columns=options.pop("columns", COLUMNS)
    )
    return run_release(SECRET, COPY, as_queries(list(queries)), terms, noise, **options)


def exact() -> list[float]:
    masks = [SECRET.age < 40, SECRET.age < 60, (SECRET.job == "cook") & (SECRET.age > 30)]
    return [
        value
        for rows in masks
        for value in (rows.sum(), SECRET.income[rows].sum(), SECRET.debt[rows].sum())
    ]


def told(report: ReleaseReport) -> str:
    return " ".join(terminal_text(report, extent=Extent.VERBOSE).split())


@pytest.mark.parametrize(
    "mechanism",
    [pytest.param("auto", marks=pytest.mark.thorough), "workload", "joint", "identity"],
)
def test_one_batch_answers_counts_and_sums(mechanism: str) -> None:
    report = ran(MEANS, Silent(), mechanism)
    (batch,) = report.batches
    assert (batch.name, batch.queries) == ("COUNT, SUM(debt), SUM(income)", 9)
    assert batch.epsilon == 1
    assert batch.relative
    assert batch.error < 1
    if mechanism != "auto":
        assert batch.mechanism == mechanism
    assert [query.answer for query in report.queries] == exact()
    for query in report.queries:
        assert query.low is not None
        assert query.high is not None
        assert query.low <= query.answer <= query.high
        assert query.batch == batch.name
        assert query.error is not None
        assert query.deviation is not None
    text = told(report)
    assert "one noise for its measures has" in text
    assert "of the simulated error of a batch for each (COUNT " in text
    assert "Of a batch of several measures it is per cent of the error" in text


@pytest.mark.parametrize("mechanism", ["workload", "joint", "identity"])
def test_the_ends_hold_the_exact_answer_as_often_as_they_say(mechanism: str) -> None:
    tables = open_table(COPY, "synthetic"), open_table(SECRET, "private")
    terms = Parameters.parse(tau=1, epsilon=1, alpha="0.1", mechanism=mechanism, columns=COLUMNS)
    requests = [QueryRequest(query, terms) for query in as_queries(MEANS)]
    bound = bind(SyntheticTables([tables[0]], tables[1]), requests, terms.columns)
    (planned,) = select_batches(bound, terms).batches
    plan, scan = planned.batch.plan, ScanPlan(planned.batch.statistics)
    cells = bound.tables.engine.contingency(bound.private, bound.schema, scan)
    truth, rows, noise = (
        exact_answers(scan, cells).astype(float),
        plan.read(cells),
        SimulatedNoise(3),
    )
    outputs = [plan.release(rows, Fraction(1), noise) for _ in range(400)]
    errors = np.abs(np.round([output.answers for output in outputs]) - truth)
    assert np.allclose(np.sqrt((errors**2).mean(axis=0)), outputs[0].deviations or (), rtol=0.25)
    assert np.allclose(errors.mean(axis=0), planned.choice.by_query, rtol=0.5)
    missed = (errors > np.array(releaser._reaches(planned, Fraction(1, 10)))).mean(axis=0)
    # Five standard errors off a tenth.
    assert (np.abs(missed - 0.1) < 5 * math.sqrt(0.09 / 400)).all()


def test_one_batch_is_one_charge_and_is_replayed_in_any_order(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "total_epsilon": "1/3",
        "columns": COLUMNS,
        "mechanism": "joint",
        "ledger": tmp_path / "ledger.sqlite",
    }
    first = pqd.release(SECRET, COPY, MEANS, **options)
    assert [batch.epsilon for batch in first.batches] == [Fraction(1, 3)]
    again = pqd.release(SECRET, COPY, MEANS[::-1], **options)
    assert first.cost.epsilon == Fraction(1, 3)
    assert again.cost.epsilon == 0
    assert again.batches[0].replayed
    answers = {query.sql: query.answer for query in first.queries}
    assert {query.sql: query.answer for query in again.queries} == answers
    # The bounds of any measure are part of what is asked.
    wider = COLUMNS | {"debt": {"bounds": (-500, 901)}}
    other = pqd.release(SECRET, COPY, MEANS, **options | {"columns": wider})
    assert other.cost.epsilon == Fraction(1, 3)
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        assert [account.epsilon for account in ledger.accounts] == [Fraction(2, 3)]
    content = json.loads(first.to_json())["batches"][0]
    assert content["relative"] is True
    assert content["simulated_errors"][0].keys() == {"mechanism", "error"}


def test_bounds_far_above_the_values_keep_the_measures_apart() -> None:
    """A mechanism that cuts values off errs less by itself, and the report says by how much."""
    columns = COLUMNS | {"debt": {"bounds": (0, 10**9)}}
    queries = ["SELECT COUNT(*) FROM D", "SELECT SUM(debt) FROM D WHERE age > 20"]
    report = ran(queries, Silent(), columns=columns)
    assert [batch.name for batch in report.batches] == ["COUNT", "SUM(debt)"]
    assert not any(batch.relative for batch in report.batches)
    assert "Each measure has a batch of its own: one batch of all, by " in told(report)


def test_a_measure_that_errs_more_in_the_batch_is_left_out() -> None:
    columns = {"debt": {"bounds": (0, 10**9)}, "age": {"bounds": (0, 100)}}
    queries = [
        "SELECT SUM(debt) FROM D WHERE age > 20",
        "SELECT COUNT(*) FROM D",
        "SELECT SUM(age) FROM D",
    ]
    report = ran(queries, Silent(), columns=columns)
    assert [batch.name for batch in report.batches] == ["COUNT, SUM(age)", "SUM(debt)"]
    assert [batch.epsilon for batch in report.batches] == [Fraction(2, 3), Fraction(1, 3)]
    assert [batch.relative for batch in report.batches] == [True, False]
    assert [query.answer for query in report.queries][1:] == [
        len(SECRET),
        SECRET.age.sum(),
    ]
    again = ran(queries[::-1], Silent(), columns=columns)
    assert [batch.reason for batch in again.batches] == [batch.reason for batch in report.batches]


@pytest.mark.parametrize("mechanism", ["numerical", "clipped_composition", "dyadic"])
def test_a_named_mechanism_is_honoured(mechanism: str) -> None:
    report = ran(MEANS[:2], Silent(), mechanism)
    assert [batch.mechanism for batch in report.batches] == [mechanism] * 2


@pytest.mark.parametrize("mechanism", ["auto", "workload", "joint"])
def test_one_batch_of_persons(mechanism: str) -> None:
    queries = [
        "SELECT COUNT(*) FROM D",
        "SELECT SUM(income) FROM D",
        "SELECT SUM(debt) FROM D WHERE age < 60",
        "SELECT COUNT(*) FROM D WHERE age < 60",
    ]
    report = ran(queries, Silent(), mechanism, unit=PrivacyUnit("who"))
    (batch,) = report.batches
    assert batch.epsilon == 1
    assert batch.relative
    young = SECRET[SECRET.age < 60]
    incomes = SECRET.groupby("who").income.sum(min_count=1).dropna()
    totals = young.groupby("who").debt.sum().clip(-500, 900)
    assert [query.answer for query in report.queries] == [
        SECRET.who.nunique(),
        incomes.clip(0, 999_999).sum(),
        totals.sum(),
        young.who.nunique(),
    ]


@pytest.mark.parametrize("unit", [None, PrivacyUnit("who")])
def test_a_corrected_copy_agrees_with_all_measures(
    tmp_path: Path, unit: PrivacyUnit | None
) -> None:
    path = tmp_path / "new.parquet"
    queries = [sql for sql in MEANS if "debt" not in sql]
    report = ran(queries, Silent(), table=path, unit=unit)
    assert len(report.batches) == 1
    found = pd.read_parquet(path)
    rows = found.age < 60
    if unit is None:
        count, total = report.queries[2].answer, report.queries[3].answer
        assert rows.sum() == pytest.approx(count, rel=0.02)
        assert found.income[rows].sum() == pytest.approx(total, rel=0.02)
    else:
        assert found[rows].who.nunique() == pytest.approx(report.queries[2].answer, rel=0.02)
    # The distance of each measure, in its own unit.
    text = str(report.notes[-1])
    assert "COUNT" in text
    assert "SUM(income)" in text


@pytest.mark.parametrize("mechanism", ["auto", "identity", "workload", "joint", "numerical"])
def test_squares_of_amounts_are_released(mechanism: str) -> None:
    """Example 1.1(3) of Qiu 2022: up to 10^12 units, far above 2^32."""
    report = ran(MOMENTS, Silent(), mechanism, columns=SQUARES)
    if mechanism == "numerical":
        assert len(report.batches) == 3
        return
    count, total, squares = (query.answer for query in report.queries)
    assert count == len(SECRET)
    assert total == SECRET.income.sum()
    # By itself the sum of squares may be cut off.
    if "income * income" in report.batches[0].name:
        assert squares == (SECRET.income**2).sum()
    else:
        assert mechanism == "auto"
        assert 0 < squares < 2 * (SECRET.income**2).sum()


def test_squares_of_amounts_are_audited_in_a_batch() -> None:
    sums = [f"SELECT SUM(income * income) FROM D WHERE age {rule}" for rule in ("< 60", ">= 60")]
    report = pqd.audit(
        SECRET, COPY, sums, tau="60%", total_epsilon=2, sharing="workload", columns=SQUARES
    )
    assert {verdict.decider for verdict in report.verdicts} == {"workload_batch"}


def test_what_a_mechanism_cannot_draw_is_refused_with_the_next_step() -> None:
    columns = SQUARES | {"income": {"bounds": (0, 2**52)}}
    terms = Parameters.parse(
        tau=1, epsilon="1/1000", alpha="0.1", mechanism="joint", columns=columns
    )
    with pytest.raises(PqdError, match="use a larger epsilon or narrower bounds"):
        run_release(SECRET, COPY, as_queries(MOMENTS[1:]), terms, Silent())


@pytest.mark.thorough
def test_auto_takes_a_mechanism_that_can_be_drawn() -> None:
    columns = SQUARES | {"income": {"bounds": (0, 2**52)}}
    terms = Parameters.parse(tau=1, epsilon="1/1000", alpha="0.1", columns=columns)
    assert run_release(SECRET, COPY, as_queries(MOMENTS[1:]), terms, Silent()).queries
