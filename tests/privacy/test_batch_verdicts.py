"""Verdicts from a batch: a function of the release alone, and no row costs a run more than epsilon.

The loss of a whole audit is computed exactly: noise that only keeps what it was asked tells how far
one row moves each statistic, in scales.  Wrong programs are run through the same checks.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.accounting.accountant import Accountant, Quote
from pqd.accounting.accounts import decode, encode
from pqd.accounting.composition import Charge
from pqd.accounting.ledger import Ledger
from pqd.batches.batch_measurement import BatchMeasurement
from pqd.batches.batch_verdict import BatchRule
from pqd.batches.mechanisms import RunBudget
from pqd.batches.shared_budget import verdict_plans
from pqd.batches.workload_laplace import WorkloadPlan
from pqd.commands.audit import run_audit
from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.linear.laplace import NoisyAnswers, NoisyClasses
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.query_verdict import QueryVerdictPlan
from pqd.run.execution import Outputs, measure
from pqd.sql.workload_files import as_queries
from tests.privacy.test_batch_linear import Recording

EPSILON = Fraction(2, 3)
COLUMNS = {"pay": {"bounds": (0, 8)}, "debt": {"bounds": (-5, 9)}}
QUERIES = [
    "SELECT COUNT(*) FROM D WHERE age > 20",
    "SELECT COUNT(*) FROM D WHERE age > 40 AND job = 'cook'",
    "SELECT COUNT(*) FROM D WHERE job <> 'nurse' OR age IS NULL",
    "SELECT SUM(pay) FROM D WHERE age > 30",
    "SELECT SUM(pay) FROM D",
    "SELECT SUM(debt) FROM D WHERE job = 'cook'",
    "SELECT SUM(debt) FROM D WHERE age > 30",
]


def table(seed: int, rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 80, rows),
            "pay": rng.integers(0, 9, rows),
            "debt": rng.integers(-5, 10, rows),
            "job": rng.choice(["cook", "smith", "nurse"], rows),
        }
    )


COPY, SECRET = table(1), table(2)
# Rows that may be added, some as no other row is.
EXTRAS: list[dict[str, Any]] = [
    {"age": 50, "pay": 8, "debt": 9, "job": "cook"},
    {"age": 70, "pay": 8, "debt": -5, "job": "smith"},
    {"age": None, "pay": None, "debt": 3, "job": None},
    {"age": 1e300, "pay": 1e300, "debt": -1e300, "job": "spy"},
]


def terms(tau: object = 40) -> Parameters:
    return Parameters.parse(tau=str(tau), epsilon=EPSILON, alpha=0.05, columns=COLUMNS)


def made(mode: str, private: pd.DataFrame = SECRET, tau: object = 40) -> QueryVerdictPlan:
    opened = open_table(COPY, "synthetic"), open_table(private, "private")
    criteria = terms(tau).criteria
    requests = [QueryRequest(query, criteria) for query in as_queries(QUERIES)]
    bound = bind(SyntheticTables([opened[0]], opened[1]), requests, criteria.columns)
    (plan,) = verdict_plans([bound], RunBudget(EPSILON, mode))
    return plan


# What a run costs ---------------------------------------------------------------------------------


def asked(private: pd.DataFrame, mode: str) -> list[tuple[int, Fraction]]:
    noise = Recording()
    run_audit(private, COPY, as_queries(QUERIES), terms(), noise, sharing=mode)
    return noise.asked


def worst_loss(mode: str) -> Fraction:
    """Largest privacy loss of a whole audit over some rows that may be added."""
    here = asked(SECRET, mode)
    losses = []
    for extra in EXTRAS:
        there = asked(pd.concat([SECRET, pd.DataFrame([extra])], ignore_index=True), mode)
        # The scales are public: the same on both.
        assert [scale for _, scale in here] == [scale for _, scale in there]
        both = zip(here, there, strict=True)
        losses.append(sum((abs(a - b) / scale for (a, scale), (b, _) in both), Fraction(0)))
    return max(losses)


@pytest.mark.parametrize("mode", ["alone", "workload", "identity"])
def test_no_row_costs_an_audit_more_than_epsilon(mode: str) -> None:
    loss = worst_loss(mode)
    assert EPSILON / 4 < loss <= EPSILON


def test_half_a_norm_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    norm: Callable[[Any], int] = vars(NoisyClasses)["norm"].fget
    monkeypatch.setattr(NoisyClasses, "norm", property(lambda self: max(1, norm(self) // 2)))
    assert worst_loss("identity") > EPSILON


def test_half_of_what_a_row_can_meet_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = NoisyAnswers.scale
    monkeypatch.setattr(NoisyAnswers, "scale", lambda self, epsilon: scale(self, epsilon) / 2)
    assert worst_loss("workload") > EPSILON


def test_a_whole_budget_for_each_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong: each batch is charged at its share and drawn at the budget of all."""
    release = WorkloadPlan.release

    def whole(self: WorkloadPlan, rows: Any, epsilon: Fraction, noise: Any) -> BatchOutput:
        del epsilon
        return release(self, rows, EPSILON, noise)

    monkeypatch.setattr(WorkloadPlan, "release", whole)
    assert worst_loss("workload") > EPSILON


# What verdicts are a function of ------------------------------------------------------------------


def verdicts(part: QueryVerdictPlan, drawn: Outputs) -> list[tuple[bool, float | None]]:
    found = [verdict.decision(drawn) for verdict in part.verdicts]
    return [(decision.outcome, decision.p_value) for decision in found]


def answers(part: QueryVerdictPlan, released: dict[str, BatchOutput]) -> Outputs:
    """Outputs as if these had been drawn."""
    del part
    return Outputs(released, Quote({}, (), Charge(), {}))


def batches(part: QueryVerdictPlan) -> list[BatchMeasurement]:
    found = {draw.cache_key: draw for draw in part.measurements.measurements}
    assert all(isinstance(draw, BatchMeasurement) for draw in found.values())
    return [draw for draw in found.values() if isinstance(draw, BatchMeasurement)]


@pytest.mark.parametrize("mode", ["workload", "identity", "numerical"])
def test_verdicts_are_a_function_of_the_release(mode: str) -> None:
    """Two private tables, one release: the queries of either read the same from it."""
    part = made(mode)
    drawn = measure([part.measurements], None, SimulatedNoise(4), command="audit")
    stored = {batch.cache_key: decode(encode(drawn[batch])) for batch in batches(part)}
    assert all(isinstance(one, BatchOutput) for one in stored.values())
    own = verdicts(part, drawn)
    for other in (part, made(mode, SECRET.iloc[:0]), made(mode, table(9, 900).assign(job="spy"))):
        assert [batch.cache_key for batch in batches(other)] == list(stored)
        assert verdicts(other, Outputs(stored, drawn.quote)) == own


def test_verdicts_read_from_the_ledger_are_those_that_were_drawn(tmp_path: Path) -> None:
    path = tmp_path / "own.sqlite"
    queries = as_queries(QUERIES)
    first = run_audit(
        SECRET,
        COPY,
        queries,
        terms(),
        SimulatedNoise(8),
        accountant=Accountant(path),
        sharing="identity",
    )
    part = made("identity")
    with closing(Ledger(path)) as ledger:
        (account,) = ledger.accounts
        stored = {key: a for key, a in account.answers.items() if isinstance(a, BatchOutput)}
    assert len(stored) == 3
    found = [(v.leans == "yes", v.p_value) for v in first.verdicts]
    assert verdicts(part, answers(part, stored)) == found
    # Noise is not asked again.
    again = run_audit(
        SECRET, COPY, queries, terms(), Recording(), accountant=Accountant(path), sharing="identity"
    )
    assert [(v.leans == "yes", v.p_value) for v in again.verdicts] == found
    assert again.spent == 0


RULES: Sequence[Callable[[pd.DataFrame], float]] = (
    lambda d: (d.age > 20).sum(),
    lambda d: ((d.age > 40) & (d.job == "cook")).sum(),
    lambda d: (d.job != "nurse").sum(),
    lambda d: d.pay[d.age > 30].sum(),
    lambda d: d.pay.sum(),
    lambda d: d.debt[d.job == "cook"].sum(),
    lambda d: d.debt[d.age > 30].sum(),
)


def mistaken(part: QueryVerdictPlan, tau: int) -> list[str]:
    """Queries whose verdict from exact answers is not the truth by pandas."""
    drawn = measure([part.measurements], None, Recording(), command="audit")
    wrong = []
    for verdict, rule in zip(part.verdicts, RULES, strict=True):
        truth = abs(float(rule(SECRET)) - float(rule(COPY))) < tau
        if verdict.decision(drawn).outcome != truth:
            wrong.append(verdict.query.sql)
    return wrong


@pytest.mark.parametrize("mode", ["workload", "identity"])
@pytest.mark.parametrize("tau", [3, 12, 40, 150])
def test_every_query_reads_its_own_answer(mode: str, tau: int) -> None:
    assert mistaken(made(mode, tau=tau), tau) == []


def test_permuted_places_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong: the answer of another query of the batch."""
    right: Callable[[BatchMeasurement], dict[str, int]] = vars(BatchMeasurement)["places"].func

    def permuted(self: BatchMeasurement) -> dict[str, int]:
        found = right(self)
        return {name: (place + 1) % len(found) for name, place in found.items()}

    monkeypatch.setattr(BatchMeasurement, "places", property(permuted))
    part = made("identity", tau=12)
    assert all(isinstance(verdict.rule, BatchRule) for verdict in part.verdicts)
    assert mistaken(part, 12)
