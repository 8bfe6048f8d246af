"""Share of runs that are decided at the epsilon that a plan names.

    python -m benchmarks.needed_epsilon FOLDER [--seeds 3] [--queries 40] [--runs 1000]

FOLDER holds the tables of Adult, bank, CPS and taxi as ``NAME_private.parquet``, and two copies of
Adult.

First, the script plans four queries on the PrivBayes copy of Adult.  It runs each query at exactly
the epsilon that its plan names, on two tables: the copy itself, and the hardest stand-in.  The
hardest stand-in has the least chance of a decision, and so it sets the named epsilon.  A run is
decided if its verdict is right and its p-value is at most alpha.

Then the script makes copies of the other tables: independent marginals, a bootstrap, and one half
of the table as the copy of the other half.  For each pair it draws queries: AVG, MEDIAN or QUANTILE
of a number, over the rows where a category has one value, with tau of 2, 5 or 10 %.  It plans each
query on the copy.  It then asks the same decider, at the named epsilon, about the real table.  Do
nine runs of ten decide at gaps of 0, 2 tau and -2 tau?  These chances are exact, so only the choice
of queries and of copies is random.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isinf, sqrt
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from benchmarks.drawn_queries import LEAST_ROWS, pairs, selections
from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.commands.plan import plan
from pqd.deciders import (
    Decider,
    Histogram,
    Interval,
    Lattice,
    SimulatedNoise,
    answer,
    applicable,
    needed_epsilon,
)
from pqd.deciders.decided import DECIDED
from pqd.deciders.evaluation.effectiveness import shape_of
from pqd.deciders.evaluation.needed_budget import trials_of
from pqd.deciders.evaluation.trials import ProvingLaw, Trial
from pqd.parameters import Criteria
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.query_verdict import DeciderPlan, decider_plan
from pqd.planning.table_separation import column_names, public_tables
from pqd.sql.workload_files import as_queries

ALPHA = Fraction(1, 20)
AGGREGATES = {
    "AVG": ("AVG", None),
    "MEDIAN": ("MEDIAN", None),
    "QUANTILE 0.25": ("QUANTILE", Fraction(1, 4)),
    "QUANTILE 0.9": ("QUANTILE", Fraction(9, 10)),
}


class BenchmarkQuery(NamedTuple):
    """One query: its aggregate, its tolerance as a share, and the values of its rows."""

    aggregate: str
    p: Fraction | None
    share: Fraction
    lattice: Lattice
    private: Histogram
    copy: Histogram


def benchmark_queries(
    private: pd.DataFrame, copy: pd.DataFrame, number: int, rng: np.random.Generator
) -> Iterator[BenchmarkQuery]:
    """Queries that both tables can answer; the aggregates take turns."""
    made = 0
    for selection in selections(copy, number, rng):
        if made == number:
            return
        found = [selection.of(table) for table in (private, copy)]
        aggregate, p = list(AGGREGATES.values())[made % len(AGGREGATES)]
        column = copy[selection.column]
        lattice = Lattice(int(column.min()), int(column.max()))
        histograms = [Histogram.from_values(values) for values in found]
        share = Fraction(int(rng.choice([2, 5, 10])), 100)
        if min(map(len, found)) < LEAST_ROWS:
            continue
        if all(answer(aggregate, h, p or Fraction(1, 2)) for h in histograms):
            made += 1
            yield BenchmarkQuery(aggregate, p, share, lattice, *histograms)


def planned(query: BenchmarkQuery) -> tuple[Decider, float, float]:
    """Decider that needs the least epsilon, this epsilon, and the epsilon for the copy alone.

    The first epsilon suffices on all public shapes that the private table might have, the second
    one on the shape of the copy.
    """
    parameters = {"p": query.p} if query.aggregate == "QUANTILE" else {}
    known = applicable(query.aggregate, query.lattice, **parameters)
    fitting = [decider for decider in known if decider.id.startswith("inv_")]
    centre = answer(query.aggregate, query.copy, query.p or Fraction(1, 2)) or Fraction(0)
    interval = Interval.around(centre, abs(centre) * query.share)
    needed = {d: needed_epsilon(d, query.copy, interval, ALPHA) for d in fitting}
    best = min(needed, key=lambda decider: needed[decider])
    alone = best.least_epsilon([Trial(query.copy, interval, shape_of(best))], ALPHA)
    return best, needed[best], float(alone)


def holds(query: BenchmarkQuery, decider: Decider, epsilon: float) -> bool:
    """Whether nine runs of ten are decided on the real table, at gaps of 0, 2 tau and -2 tau."""
    lower, upper = query.lattice.lower, query.lattice.upper
    private = query.private
    if query.aggregate == "AVG":
        clamped = np.clip(private.values, int(lower), int(upper))
        private = Histogram.weighted(clamped, private.counts)
    centre = answer(query.aggregate, private, query.p or Fraction(1, 2)) or Fraction(0)
    public = answer(query.aggregate, query.copy, query.p or Fraction(1, 2)) or Fraction(0)
    tau, terms = abs(public) * query.share, (Fraction(epsilon), ALPHA)

    def law(gap: Fraction) -> ProvingLaw:
        law = decider.acceptance(private, Interval.around(centre + gap, tau))
        return cast("ProvingLaw", law)

    if law(Fraction(0)).proof_chance(*terms) < DECIDED:
        return False
    return all(law(gap).refutation_chance(*terms) >= DECIDED for gap in (2 * tau, -2 * tau))


class Named(NamedTuple):
    """Plan of one query at the epsilon that an earlier plan without a budget named."""

    plan: DeciderPlan
    epsilon: Fraction
    copy: Histogram

    @property
    def hardest(self) -> tuple[Any, Interval, bool]:
        """Hardest stand-in, its interval, and whether its true verdict is yes."""
        decider, choices = self.plan.choice.decider, []
        for trial in trials_of(self.copy, shape_of(decider), self.plan.interval.tau):
            near, *far = (trial.law(decider, table) for table in (trial.table, *trial.far))
            terms = self.epsilon, ALPHA
            yes = cast("ProvingLaw", near).proof_chance(*terms)
            choices.append((yes, trial.table, trial.interval, True))
            for law, table in zip(far, trial.far, strict=True):
                no = cast("ProvingLaw", law).refutation_chance(*terms)
                choices.append((no, table, trial.interval, False))
        return min(choices, key=lambda choice: choice[0])[1:]

    def decided(self, table: Any, interval: Interval, runs: int, *, yes: bool, seed: int) -> int:  # noqa: ANN401 - or a stand-in
        """Number of runs whose verdict is right and whose p-value is at most alpha."""
        decider, noise = self.plan.choice.decider, SimulatedNoise(seed)
        decisions = (decider.decide(table, interval, self.epsilon, noise) for _ in range(runs))
        return sum(
            each.outcome is yes and each.p_value is not None and each.p_value <= ALPHA
            for each in decisions
        )


def named(copy: object, query: str, tau: str, columns: Mapping[str, Mapping[str, Any]]) -> Named:
    """Plan of one query at exactly the epsilon that a plan without a budget names."""
    (entry,) = plan(copy, query, tau=tau, columns=columns).queries
    epsilon = Fraction(str(entry.chosen.epsilon_needed))
    criteria = Criteria.of(tau=tau, alpha=ALPHA, columns=columns).at(epsilon)
    queries = as_queries(query)
    tables = public_tables(copy, names=column_names(queries, None))
    (bound,) = bind(tables, [QueryRequest.of(queries[0], criteria)], criteria.columns, None).queries
    return Named(decider_plan(bound), epsilon, bound.synthetic[0])


QUERIES = (
    ("SELECT COUNT(*) FROM D WHERE age < 21", "5%"),
    ("SELECT SUM(\"hours-per-week\") FROM D WHERE sex = 'Female'", "2%"),
    ("SELECT AVG(\"hours-per-week\") FROM D WHERE education = 'Masters'", "5%"),
    ("SELECT MEDIAN(age) FROM D WHERE sex = 'Female'", "5%"),
)
COLUMNS = {"hours-per-week": {"bounds": (0, 100)}}


def count_runs(results: ResultTable, copy: Path, runs: int) -> None:
    """Add for each query the share of runs that are decided at exactly the named epsilon."""
    table = pd.read_parquet(copy)
    for seed, (query, tau) in enumerate(QUERIES):
        found = named(table, query, tau, COLUMNS)
        stand_in, around, yes = found.hardest
        on_copy = found.decided(found.copy, found.plan.interval, runs, yes=True, seed=seed)
        on_hardest = found.decided(stand_in, around, runs, yes=yes, seed=seed + 100)
        results.add(
            query=query,
            tau=tau,
            decider=found.plan.choice.decider.id,
            epsilon=float(found.epsilon),
            runs=runs,
            on_hardest=on_hardest,
            on_copy=on_copy,
        )


def promises(folder: Path, seeds: int, number: int) -> pd.DataFrame:
    """Each query, and whether the plan on the copy keeps its promise on the real table.

    ``kept`` is for the epsilon that a plan names, ``alone`` for the epsilon of the copy's shape
    alone.  ``times`` is the least factor of the named epsilon that would have done.
    """
    rows = []
    for place, (name, private, copy) in enumerate(pairs(folder, seeds)):
        rng = np.random.default_rng(place)
        for query in benchmark_queries(private, copy, number, rng):
            start = time.process_time()
            decider, epsilon, alone = planned(query)
            seconds = time.process_time() - start
            if isinf(epsilon):
                continue
            kept, kept_alone = (holds(query, decider, each) for each in (epsilon, alone))
            factors = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
            least = next((f for f in factors if holds(query, decider, f * epsilon)), 128)
            rows.append((name, query.aggregate, kept, kept_alone, seconds, least))
    columns = ["copy", "aggregate", "kept", "alone", "seconds", "times"]
    return pd.DataFrame(rows, columns=columns)


def shares(rows: pd.DataFrame) -> dict[str, object]:
    """Shares of queries that keep the promise, in per cent, with their standard errors."""
    found: dict[str, object] = {"queries": len(rows)}
    for column in ("alone", "kept"):
        share = float(rows[column].mean())
        found[column] = 100 * share
        found[f"{column}_error"] = 100 * sqrt(share * (1 - share) / len(rows))
    found["median_times"] = float(rows["times"].median())
    found["beyond_4_times"] = 100 * float((rows["times"] > 4).mean())
    return found | {"ms": 1000 * float(rows["seconds"].mean())}


def main() -> None:
    """Print the share of decided runs, then the shares of queries that keep the promise.

    A query keeps the promise of its plan if nine runs of ten are decided on the real table.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=40, help="per pair of tables")
    parser.add_argument("--runs", type=int, default=1000, help="of each query at its epsilon")
    add_csv_option(parser)
    options = parser.parse_args()
    with ResultTable("needed-epsilon-runs", options.csv) as results:
        count_runs(results, options.folder / "adult_privbayes_eps1.parquet", options.runs)
    rows = promises(options.folder, options.seeds, options.queries)
    with ResultTable("needed-epsilon", options.csv) as results:
        results.add(group="all", **shares(rows))
        for by in ("copy", "aggregate"):
            for name, group in rows.groupby(by):
                results.add(group=name, **shares(group))


if __name__ == "__main__":
    main()
