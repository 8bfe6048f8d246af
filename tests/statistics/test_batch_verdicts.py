"""P-values of a batch's verdicts in simulated runs, at answers where a verdict is just wrong.

A wrong claim with a p-value up to alpha may come no more often than alpha; a twin that takes the
noise for smaller than it is must be convicted.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pqd.accounting.accountant import Quote
from pqd.accounting.composition import Charge
from pqd.batches.batch_measurement import BatchMeasurement, selection
from pqd.batches.batch_verdict import BatchRule
from pqd.batches.mechanisms import RunBudget
from pqd.batches.shared_budget import verdict_plans
from pqd.batches.workload_laplace import exact_answers as answered
from pqd.deciders import Interval, SimulatedNoise
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.distributions import NoiseSum
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Criteria
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.query_verdict import QueryVerdictPlan
from pqd.run.execution import Outputs
from pqd.sql.workload_files import as_queries

RUNS, LIMIT = 1000, 5.0
ALPHAS = (0.01, 0.05, 0.2)
COUNTS = [
    "SELECT COUNT(*) FROM D WHERE age > 20",
    "SELECT COUNT(*) FROM D WHERE age > 60",
    "SELECT COUNT(*) FROM D WHERE job <> 'cook' AND age BETWEEN 10 AND 50",
]
SUMS = [
    "SELECT SUM(debt) FROM D WHERE job = 'cook'",
    "SELECT SUM(debt) FROM D WHERE age > 30 AND age < 70",
]


def table(seed: int, rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 80, rows),
            "debt": rng.integers(-5, 10, rows),
            "job": rng.choice(["cook", "smith", "nurse"], rows),
        }
    )


def made(queries: list[str], mode: str) -> QueryVerdictPlan:
    opened = open_table(table(1), "synthetic"), open_table(table(2), "private")
    columns = {"debt": {"bounds": (-5, 9)}}
    terms = Criteria.of(tau=30, alpha=0.05, columns=columns)
    requests = [QueryRequest(query, terms) for query in as_queries(queries)]
    bound = bind(SyntheticTables([opened[0]], opened[1]), requests, terms.columns)
    (plan,) = verdict_plans([bound], RunBudget(Fraction(4, 5), mode))
    return plan


def wrong_shares(queries: list[str], mode: str, factor: Fraction = Fraction(1)) -> dict[str, float]:
    """Share of wrong claims above alpha, in standard errors, by kind of claim and alpha.

    The intervals are such that the exact answer is the last one inside, or the first one outside.
    ``factor`` is what p-values take the noise for, as a multiple of its scale.
    """
    plan = made(queries, mode)
    bound = plan.bound
    (batch,) = {m.cache_key: m for m in plan.measurements.measurements}.values()
    assert isinstance(batch, BatchMeasurement)
    engine = bound.tables.engine
    cells = engine.contingency(bound.private, bound.schema, ScanPlan(batch.statistics))
    exact = answered(batch.workload, cells)
    rows, noise = batch.plan.read(cells), SimulatedNoise(6)
    drawn = [batch.plan.release(rows, batch.epsilon, noise) for _ in range(RUNS)]
    found: dict[str, float] = {}
    for verdict in plan.verdicts:
        rule = verdict.rule
        assert isinstance(rule, BatchRule)
        assert isinstance(rule.errors, NoiseSum)
        errors = NoiseSum(rule.errors.count, rule.errors.scale * factor)
        assert rule.place == batch.places[selection(verdict.statistic)]
        truth = int(exact[rule.place])
        wide = math.ceil(12 * errors.scale * math.sqrt(errors.count))
        claims = {
            "yes from above": Interval(truth - 2 * wide, truth),
            "yes from below": Interval(truth, truth + 2 * wide),
            "no at an end": Interval(truth - 1, truth + 2 * wide),
            "no in a narrow one": Interval(truth - 1, truth + 1),
        }
        for claim, interval in claims.items():
            one = replace(verdict, rule=replace(rule, interval=interval, errors=errors))
            false = claim.startswith("yes")
            assert interval.contains(truth) != false
            decided = [one.decision(exact_answers(batch, each)) for each in drawn]
            p_values = [d.p_value if d.outcome == false else 1.0 for d in decided]
            for alpha in ALPHAS:
                often = sum((p or 0.0) <= alpha for p in p_values) / RUNS
                error = math.sqrt(alpha * (1 - alpha) / RUNS)
                name = f"{claim} {alpha}"
                found[name] = max(found.get(name, -math.inf), (often - alpha) / error)
    return found


def exact_answers(batch: BatchMeasurement, released: BatchOutput) -> Outputs:
    return Outputs({batch.cache_key: released}, Quote({}, (), Charge(), {}))


@pytest.mark.parametrize("mode", ["workload", "identity"])
@pytest.mark.parametrize("queries", [COUNTS, SUMS], ids=["counts", "sums"])
def test_wrong_verdicts_are_as_rare_as_their_p_values_say(queries: list[str], mode: str) -> None:
    found = wrong_shares(queries, mode)
    assert max(found.values()) < LIMIT, found
    # A yes at an end of a wide interval is as often wrong as it may be.
    nearest = [found[f"yes from {side} {a}"] for side in ("above", "below") for a in ALPHAS]
    assert max(nearest) > -LIMIT


@pytest.mark.parametrize("mode", ["workload", "identity"])
def test_noise_taken_for_smaller_is_rejected(mode: str) -> None:
    found = wrong_shares(COUNTS, mode, Fraction(7, 10))
    assert max(found.values()) > LIMIT
