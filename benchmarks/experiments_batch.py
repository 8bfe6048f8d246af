"""Verdicts on a workload of 100 range sums under one budget: alone, at epsilon/N, or as a batch.

    python -m benchmarks.experiments_batch PRIVATE SYNTHETIC --epsilon 1 --trials 40

PRIVATE and SYNTHETIC are the Adult table and a copy of it.  For every way to spend one epsilon on
100 queries ``|SUM on PRIVATE - SUM on SYNTHETIC| < tau`` are printed: the wrong verdicts to be
expected at the worst gaps, on public data, and of ``--trials``
runs, each with a seed of its own, the wrong outcomes, those among them that a report would not
call undecided, and the undecided ones, with standard errors over the runs; then CPU seconds to
prepare.  Noise is seeded: simulation.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.seeds import Estimate
from deciders import Decision, SimulatedNoise
from deciders.batch.verdicts import decided
from deciders.errors import PqdError
from pqd.batches.batch import selection
from pqd.batches.mechanisms import ALONE, TOGETHER
from pqd.batches.shared_budget import SharedBudget, shared
from pqd.batches.verdicts import Together
from pqd.commands.audit import part_of
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Criteria
from pqd.planning.budget_split import Beside, Waiting, waits
from pqd.planning.decisions import QueryRequest, Question
from pqd.sql.query import Query

if TYPE_CHECKING:
    from pqd.execution import Part

QUERIES = 100
DECIDERS = ("lm_sum", "r2t_sum", "svt_sum", "inv_sum")


@dataclass(frozen=True)
class Ranges:
    """Sums of one column over random ranges of a column, both of whole numbers."""

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
    """What one way comes to; shares of the verdicts, in per cent."""

    name: str
    public: float
    wrong: Estimate
    misled: Estimate
    undecided: Estimate
    seconds: float


def main() -> None:
    """Print a table for each workload and tolerance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("private")
    parser.add_argument("synthetic")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--trials", type=int, default=40)
    given = parser.parse_args()
    for workload in WORKLOADS:
        for tau in ("5%", "20%"):
            experiment = Experiment(workload, tau, given.private, given.synthetic, given.trials)
            title = f'SUM("{workload.measure}") over {QUERIES} ranges of "{workload.column}"'
            print(f"\n#### {title}, tau {tau}, epsilon {given.epsilon} in all\n")
            print(f"Truly within tolerance: {experiment.true.mean():.0%} of the queries.\n")
            print("| way | expected | wrong | misled | undecided | seconds |")
            print("| --- | ---: | ---: | ---: | ---: | ---: |")
            for line in experiment.lines(Fraction(given.epsilon)):
                public = "" if np.isnan(line.public) else f"{100 * line.public:.1f} %"
                shares = " | ".join(f"{x.mean:.1f} +- {x.error:.1f} %" for x in line[2:5])
                row = f"| {line.name} | {public} | {shares} | {line.seconds:.1f} |"
                print(row, flush=True)


class Experiment:
    """One workload at one tolerance, and the truth."""

    def __init__(
        self, workload: Ranges, tau: str, private: str, synthetic: str, trials: int
    ) -> None:
        """Read both tables; the true answers are known here alone."""
        self._trials = trials
        terms = Criteria.of(tau=tau, alpha=0.05)
        self._tables = SyntheticTables(
            [open_table(synthetic, "synthetic")], open_table(private, "private")
        )
        asked = [QueryRequest(query, terms) for query in workload.queries()]
        self._part: Part[Question | Waiting] = part_of(self._tables, asked, {}, waits)
        waiting = [one for one in self._part.prepared.demand() if isinstance(one, Waiting)]
        self._waiting = waiting
        tasks = ScanPlan(tuple(one.task for one in waiting))
        part = self._part
        self._private = part.engine.histograms(part.private, part.prepared.schema, tasks)
        questions = [one.at(Fraction(1), brief=True) for one in waiting]
        self.true = np.array(
            [
                question.interval.contains(int((h.values * h.counts).sum()))
                for question, h in zip(questions, self._private, strict=True)
            ]
        )

    def lines(self, epsilon: Fraction) -> Iterator[Line]:
        """Yield what every way comes to, then what auto takes."""
        for name in DECIDERS:
            yield self._each(name, epsilon / QUERIES)
        for mode in (ALONE, *TOGETHER, "auto"):
            try:
                yield self._shared(mode, epsilon)
            except PqdError:
                continue

    def _each(self, name: str, epsilon: Fraction) -> Line:
        """Ask each query of the decider ``name`` at its part of the budget."""
        start = time.process_time()
        asked = [_by(one, name).at(epsilon, brief=True) for one in self._waiting]
        seconds = time.process_time() - start
        return self._line(f"{name} at epsilon/{QUERIES}", asked, self._alone(asked), seconds)

    def _shared(self, mode: str, epsilon: Fraction) -> Line:
        start = time.process_time()
        beside = Beside(self._part, self._tables.tables[0])
        (part,) = shared([beside], SharedBudget(epsilon, mode))
        questions = list(part.prepared.demand())
        seconds = time.process_time() - start
        first = questions[0]
        name = f"batch: {mode}"
        if mode == "auto":
            name = f"auto: {first.choice.taken.decider.id}"
        drawn = self._together(questions) if isinstance(first, Together) else self._alone(questions)
        return self._line(name, questions, drawn, seconds)

    def _alone(self, questions: Sequence[Question]) -> list[list[Decision]]:
        pairs = list(zip(questions, self._private, strict=True))
        noises = [SimulatedNoise(trial) for trial in range(self._trials)]
        return [[question.draw(table, noise) for question, table in pairs] for noise in noises]

    def _together(self, questions: Sequence[Question]) -> list[list[Decision]]:
        """Draw the batch; rows are read once."""
        asked = [question for question in questions if isinstance(question, Together)]
        batch, part = asked[0].batch, self._part
        cells = part.engine.cells(part.private, part.prepared.schema, ScanPlan(batch.joint))
        release = partial(batch.plan.release, batch.plan.read(cells), batch.epsilon)
        found = []
        for trial in range(self._trials):
            answers = release(SimulatedNoise(trial)).answers
            places = [batch.places[selection(one.task)] for one in asked]
            pairs = zip(asked, places, strict=True)
            found.append([decided(q.errors, round(answers[p]), q.interval) for q, p in pairs])
        return found

    def _line(
        self, name: str, questions: Sequence[Question], drawn: list[list[Decision]], seconds: float
    ) -> Line:
        wrong = np.array([[d.outcome for d in run] for run in drawn]) != self.true
        unsure = np.array(
            [
                [
                    decision.p_value is None or decision.p_value > question.terms.alpha
                    for question, decision in zip(questions, run, strict=True)
                ]
                for run in drawn
            ]
        )
        # None counts for more than a coin.
        public = float(np.mean([min(question.taken.worst, 0.5) for question in questions]))
        wrongs, misled, undecided = (
            Estimate.of(100 * found.mean(axis=1)) for found in (wrong, wrong & ~unsure, unsure)
        )
        return Line(name, public, wrongs, misled, undecided, seconds)


def _by(one: Waiting, decider: str) -> Waiting:
    """Return the query as asked of a decider by its name."""
    return replace(one, asked=QueryRequest(one.query, replace(one.asked.terms, decider=decider)))


if __name__ == "__main__":
    main()
