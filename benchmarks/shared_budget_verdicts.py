"""Verdicts on 100 range sums under one budget: each by itself at epsilon/100, or in a batch.

    python -m benchmarks.shared_budget_verdicts PRIVATE SYNTHETIC --epsilon 1 --trials 40

PRIVATE and SYNTHETIC are the Adult table and a copy of it.  The 100 queries ask whether
``|SUM on PRIVATE - SUM on SYNTHETIC| < tau``, and share one epsilon.  For each way to spend the
epsilon, the script prints these figures:
- expected: the share of wrong verdicts that public data predict for the worst gaps;
- wrong: the share of wrong outcomes in ``--trials`` runs, each with a seed of its own;
- misled: the share of wrong outcomes that a report would not call undecided;
- undecided: the share of undecided outcomes;
- seconds: CPU seconds of the planning.
The shares of runs have standard errors over the runs.  The noise is seeded, so this is a
simulation.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.result_tables import ResultTable, add_csv_option
from benchmarks.standard_errors import Estimate
from pqd.batches.batch_measurement import BatchMeasurement
from pqd.batches.batch_verdict import BatchRule
from pqd.batches.mechanisms import ALONE, TOGETHER, RunBudget
from pqd.batches.shared_budget import verdict_plans
from pqd.deciders import Decision, SimulatedNoise
from pqd.deciders.errors import PqdError
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Criteria, Detail
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundQuery, QueryRequest
from pqd.planning.budget_split import at_budget
from pqd.planning.query_verdict import PlannedQueryVerdict
from pqd.sql.query import Query

QUERIES = 100
DECIDERS = ("lm_sum", "r2t_sum", "svt_sum", "inv_sum")


@dataclass(frozen=True)
class Ranges:
    """Sums of one column over random ranges of another or the same column, in whole numbers."""

    measure: str
    column: str
    lowest: int
    highest: int

    def queries(self) -> Iterator[Query]:
        """Yield the queries, the same in every run."""
        rng = np.random.default_rng(7)
        for number in range(QUERIES):
            low, high = sorted(rng.integers(self.lowest, self.highest + 1, 2).tolist())
            where = f'"{self.column}" BETWEEN {low} AND {high}'
            yield Query(f'SELECT SUM("{self.measure}") FROM D WHERE {where}', f"r{number}")


WORKLOADS = (
    Ranges("hours-per-week", "age", 17, 90),
    Ranges("capital-loss", "age", 17, 90),
    Ranges("hours-per-week", "hours-per-week", 1, 99),
)


class Line(NamedTuple):
    """Results of one way to share the epsilon.

    ``public`` is the expected share of wrong verdicts.  The estimates are shares in per cent.
    """

    name: str
    public: float
    wrong: Estimate
    misled: Estimate
    undecided: Estimate
    seconds: float


def main() -> None:
    """Print a row for each workload, tolerance and way; shares are in per cent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("private")
    parser.add_argument("synthetic")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--trials", type=int, default=40)
    add_csv_option(parser)
    given = parser.parse_args()
    with ResultTable("batches", given.csv) as results:
        add_rows(results, given)


def add_rows(results: ResultTable, given: argparse.Namespace) -> None:
    """Add the results of all experiments."""
    for workload in WORKLOADS:
        for tau in ("5%", "20%"):
            experiment = Experiment(workload, tau, given.private, given.synthetic, given.trials)
            for line in experiment.lines(Fraction(given.epsilon)):
                estimates = {name: getattr(line, name) for name in ("wrong", "misled", "undecided")}
                shares = {
                    key: value
                    for name, each in estimates.items()
                    for key, value in ((name, each.mean), (f"{name}_se", each.error))
                }
                results.add(
                    measure=workload.measure, column=workload.column, tau=tau,
                    epsilon=given.epsilon, trials=given.trials,
                    within=100 * float(experiment.true.mean()), way=line.name,
                    expected=100 * line.public, **shares, seconds=round(line.seconds, 1),
                )  # fmt: skip


class Experiment:
    """One workload at one tolerance, with the true verdicts."""

    def __init__(
        self, workload: Ranges, tau: str, private: str, synthetic: str, trials: int
    ) -> None:
        """Read both tables, and find the true verdicts; no mechanism uses these."""
        self._trials = trials
        terms = Criteria.of(tau=tau, alpha=0.05)
        self._tables = SyntheticTables(
            [open_table(synthetic, "synthetic")], open_table(private, "private")
        )
        requests = [QueryRequest(query, terms) for query in workload.queries()]
        self._bound = bind(self._tables, requests, {})
        self._bound.check()
        queries, bound = self._bound.queries, self._bound
        plan = ScanPlan(tuple(query.statistic for query in queries))
        self._private = self._tables.engine.histograms(bound.private, bound.schema, plan)
        verdicts = [at_budget(query, Fraction(1), Detail.ERRORS) for query in queries]
        self.true = np.array(
            [
                verdict.interval.contains(int((h.values * h.counts).sum()))
                for verdict, h in zip(verdicts, self._private, strict=True)
            ]
        )

    def lines(self, epsilon: Fraction) -> Iterator[Line]:
        """Yield the results of each way, and at last those of the way that auto takes."""
        for name in DECIDERS:
            yield self._each(name, epsilon / QUERIES)
        for mode in (ALONE, *TOGETHER, "auto"):
            try:
                yield self._shared(mode, epsilon)
            except PqdError:
                continue

    def _each(self, name: str, epsilon: Fraction) -> Line:
        """Results if the decider ``name`` decides each query at ``epsilon``."""
        start = time.process_time()
        queries = [_by(query, name) for query in self._bound.queries]
        asked = [at_budget(query, epsilon, Detail.ERRORS) for query in queries]
        seconds = time.process_time() - start
        return self._line(f"{name} at epsilon/{QUERIES}", asked, self._alone(asked), seconds)

    def _shared(self, mode: str, epsilon: Fraction) -> Line:
        start = time.process_time()
        (plan,) = verdict_plans([self._bound], RunBudget(epsilon, mode))
        plan.bound.check()
        planned_verdicts = list(plan.verdicts)
        seconds = time.process_time() - start
        first = planned_verdicts[0]
        name = f"batch: {mode}"
        if mode == "auto":
            name = f"auto: {first.choice.taken.mechanism.id}"
        drawn = (self._together if isinstance(first.rule, BatchRule) else self._alone)(
            planned_verdicts
        )
        return self._line(name, planned_verdicts, drawn, seconds)

    def _alone(self, planned_verdicts: Sequence[PlannedQueryVerdict]) -> list[list[Decision]]:
        pairs = list(zip(planned_verdicts, self._private, strict=True))
        noises = [SimulatedNoise(trial) for trial in range(self._trials)]
        return [[q.measurement.run(table, noise) for q, table in pairs] for noise in noises]

    def _together(self, planned_verdicts: Sequence[PlannedQueryVerdict]) -> list[list[Decision]]:
        """Decisions of each trial on all queries; the private rows are read once."""
        batch, bound = planned_verdicts[0].measurement, self._bound
        if not isinstance(batch, BatchMeasurement):
            raise TypeError(batch)
        plan = ScanPlan(batch.joint_statistics)
        cells = self._tables.engine.contingency(bound.private, bound.schema, plan)
        release = partial(batch.plan.release, batch.plan.read(cells), batch.epsilon)
        found = []
        for trial in range(self._trials):
            output = release(SimulatedNoise(trial))
            found.append([planned.rule.decision(output) for planned in planned_verdicts])
        return found

    def _line(
        self,
        name: str,
        planned_verdicts: Sequence[PlannedQueryVerdict],
        drawn: list[list[Decision]],
        seconds: float,
    ) -> Line:
        wrong = np.array([[d.outcome for d in run] for run in drawn]) != self.true
        unsure = np.array(
            [
                [
                    decision.p_value is None or decision.p_value > planned.criteria.alpha
                    for planned, decision in zip(planned_verdicts, run, strict=True)
                ]
                for run in drawn
            ]
        )
        # The expected error of a verdict counts as at most one half, the error of a coin.
        public = float(np.mean([min(planned.taken.worst, 0.5) for planned in planned_verdicts]))
        wrongs, misled, undecided = (
            Estimate.of(100 * found.mean(axis=1)) for found in (wrong, wrong & ~unsure, unsure)
        )
        return Line(name, public, wrongs, misled, undecided, seconds)


def _by(query: BoundQuery, decider: str) -> BoundQuery:
    """Query with the criterion that the decider of this name decides it."""
    return query.with_criteria(replace(query.criteria, mechanism=decider))


if __name__ == "__main__":
    main()
