"""Claims of ``pqd compare``, compared with the truth in many simulated runs on real tables.

    python benchmarks/comparison_claims.py PRIVATE NAME=FILE... --queries FILE --tau 5% --epsilon 1

Each run draws new seeded noise, which protects nobody.  So use public tables only.  The script
prints the true share of each candidate.  It prints how often a decided verdict was false, on the
worst query and candidate.  It prints how often a band, a pair ("a is better than b") or the
interval of an answer missed the truth.  It also prints which pairs were told apart, and how often.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.comparison.comparison_results import outcome_of
from pqd.comparison.leaderboard import leaderboard
from pqd.deciders import Histogram, SimulatedNoise, answer
from pqd.deciders.histogram import HALF
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.planned_comparison import ComparisonPlan, PlannedComparison, select_estimators
from pqd.reports.models.audit import Cost
from pqd.reports.models.compare import CandidateKind, ComparedQuery, CompareReport
from pqd.run.execution import Outputs, quote_sets
from pqd.sql.workload_files import read_queries


class Simulation:
    """One comparison that is planned once and released many times."""

    def __init__(self, plan: ComparisonPlan, names: Sequence[str], alpha: Fraction) -> None:
        """Read the private histograms and the truth."""
        self.comparisons, self.names, self._alpha = plan.comparisons, names, alpha
        scan = ScanPlan(tuple(comparison.measurement.statistic for comparison in self.comparisons))
        bound = plan.bound
        self._histograms = bound.tables.engine.histograms(bound.private, bound.schema, scan)
        self._quote = quote_sets([plan.measurements], None)
        pairs = zip(self.comparisons, self._histograms, strict=True)
        self.answers = [_answer(comparison, histogram) for comparison, histogram in pairs]
        self.truth = np.array(
            [
                [i is not None and true is not None and i.contains(true) for i in c.intervals]
                for c, true in zip(self.comparisons, self.answers, strict=True)
            ]
        )
        self.shares = dict(zip(names, self.truth.mean(0), strict=True))

    def run(self, noise: SimulatedNoise) -> CompareReport:
        """Draw all releases once, and make the report."""
        drawn = {
            comparison.measurement.cache_key: comparison.measurement.run(histogram, noise)
            for comparison, histogram in zip(self.comparisons, self._histograms, strict=True)
        }
        answers = Outputs(drawn, self._quote)
        outcomes = [
            outcome_of(comparison, answers, self.names, Fraction(1), noise)
            for comparison in self.comparisons
        ]
        queries = tuple(query for query, _ in outcomes)
        kinds: dict[str, CandidateKind] = dict.fromkeys(self.names, "candidate")
        board, pairs = leaderboard(queries, [e for _, e in outcomes], kinds, self._alpha)
        return CompareReport(
            queries=queries,
            leaderboard=board,
            better=pairs,
            candidates=dict.fromkeys(self.names, ""),
            private="",
            tolerance="",
            alpha=self._alpha,
            cost=Cost(),
        )

    def false_verdicts(self, report: CompareReport) -> Iterator[list[bool]]:
        """Yield for each query which candidates got a decided but false verdict."""
        for query, truth in zip(report.queries, self.truth, strict=True):
            yield [
                cell.standing != "undecided" and (cell.standing == "trusted") != true
                for cell, true in zip(query.cells, truth, strict=True)
            ]

    def missed(self, report: CompareReport) -> Iterator[bool]:
        """Yield for each query with an interval whether the interval misses the private answer."""
        for query, comparison, true in zip(
            report.queries, self.comparisons, self.answers, strict=True
        ):
            if query.estimate is not None and true is not None:
                yield not _holds(query, true * comparison.scale)


def _answer(comparison: PlannedComparison, histogram: Histogram) -> Fraction | None:
    return answer(comparison.query.aggregate, histogram, comparison.query.p or HALF)


def _holds(query: ComparedQuery, value: Fraction) -> bool:
    # The ends in a report are doubles, so allow for rounding.
    hair = Fraction(1, 10**9) * max(Fraction(1), abs(value))
    low, high = query.low, query.high
    return (low is None or low <= value + hair) and (high is None or value - hair <= high)


def main() -> None:
    """Run the simulation for each epsilon, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("private")
    parser.add_argument("candidates", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--queries", required=True, type=Path)
    parser.add_argument("--tau", default="5%")
    parser.add_argument("--epsilon", nargs="+", default=["1"])
    parser.add_argument("--alpha", default="0.05")
    parser.add_argument("--runs", type=int, default=500)
    add_csv_option(parser)
    given = parser.parse_args()
    files = dict(text.split("=", 1) for text in given.candidates)
    simulations = {epsilon: simulation_of(given, epsilon, files) for epsilon in given.epsilon}
    with ResultTable("compare-copies", given.csv) as results:
        shares = simulations[given.epsilon[0]].shares
        for name in sorted(shares, key=lambda each: -float(shares[each])):
            results.add(copy=name, within=float(shares[name]))
    with ResultTable("compare", given.csv) as results:
        for epsilon, simulation in simulations.items():
            results.add(epsilon=epsilon, runs=given.runs, **_figures(simulation, given.runs))


def simulation_of(given: argparse.Namespace, epsilon: str, files: Mapping[str, str]) -> Simulation:
    """Comparison at one epsilon."""
    terms = Parameters.parse(tau=given.tau, epsilon=epsilon, alpha=given.alpha)
    rules = ComparisonParameters.parse(terms)
    tables = SyntheticTables(
        [open_table(path, "synthetic") for path in files.values()],
        open_table(given.private, "private"),
    )
    requests = [rules.request(query) for query in read_queries(given.queries)]
    plan = select_estimators(bind(tables, requests, terms.columns))
    plan.bound.check()
    return Simulation(plan, list(files), terms.alpha)


def _figures(simulation: Simulation, runs: int) -> dict[str, object]:
    """Figures of all runs; the pairs that were told apart are printed."""
    noise = SimulatedNoise(2022)
    false = np.zeros(simulation.truth.shape)
    missed: list[bool] = []
    bands = wrong = 0
    pairs: Counter[tuple[str, str]] = Counter()
    shares = simulation.shares
    for _ in range(runs):
        report = simulation.run(noise)
        false += np.array(list(simulation.false_verdicts(report)))
        missed += list(simulation.missed(report))
        bands += any(
            not standing.low - 1e-9 <= shares[standing.candidate] <= standing.high + 1e-9
            for standing in report.leaderboard
        )
        wrong += any(shares[a] <= shares[b] for a, b in report.better)
        pairs.update(report.better)
    for (a, b), count in pairs.most_common():
        over = f"{a} ({shares[a]:.1%}) over {b} ({shares[b]:.1%})"
        print(f"told apart in {count / runs:6.1%} of runs: {over}")
    return {
        "pairs_told_apart": pairs.total() / runs,
        "runs_with_a_wrong_pair": wrong,
        "runs_with_a_wrong_band": bands,
        "false": 100 * float(false.mean()) / runs,
        "worst_false": 100 * float(false.max()) / runs,
        "missed": 100 * sum(missed) / max(1, len(missed)),
    }


if __name__ == "__main__":
    main()
