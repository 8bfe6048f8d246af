"""Claims of ``pqd compare`` without queries, compared with the truth on many rankings of Adult.

    python benchmarks/ranking_claims.py DATA [--epsilon 0.25] [--runs 200]

DATA holds adult_private.parquet, adult_privbayes_eps1.parquet and adult_gcopula.parquet.  The
script ranks five copies: these two, a bootstrap of the private table, the bootstrap with a tenth of
its rows from the Gaussian copula, and a table with independent columns.  Each run draws new seeded
noise, which protects nobody.  The script prints the mean error of each score, and how often a 95 %
interval held the truth.  It also prints how many of the ten pairs were told apart, and in how many
runs a pair was told apart falsely.
"""

import argparse
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.commands.rank import bind_ranking
from pqd.comparison.candidates import Candidates
from pqd.comparison.ranking import Ranking, RankingParameters, RankingPlan
from pqd.deciders import SimulatedNoise
from pqd.deciders.distances.statistics import whole_rows
from pqd.engine.marginals import MarginalPlan

SEED = 402
ALPHA = Fraction(1, 20)


def copies(folder: Path) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Private table, and five copies of it by their names."""
    private = pd.read_parquet(folder / "adult_private.parquet")
    copula = pd.read_parquet(folder / "adult_gcopula.parquet")
    rng = np.random.default_rng(SEED)
    fresh = private.sample(len(private), replace=True, random_state=rng)
    some = copula.sample(len(private) // 10, random_state=rng)
    found = {
        "privbayes": pd.read_parquet(folder / "adult_privbayes_eps1.parquet"),
        "copula": copula,
        "bootstrap": fresh,
        "mixed": pd.concat([fresh.iloc[len(some) :], some[list(private)]]),
        "independent": fresh.apply(lambda column: rng.permutation(column.to_numpy())),
    }
    return private, {name: copy.reset_index(drop=True) for name, copy in found.items()}


class Simulation:
    """One ranking that is planned once and released many times."""

    def __init__(self, plan: RankingPlan) -> None:
        """Read the private counts, and compute the true scores from them."""
        self.plan, bound, measured = plan, plan.profiles[0], plan.measurement
        marginals = MarginalPlan(measured.marginals)
        counts = bound.tables.engine.marginals(bound.private, bound.schema, marginals)
        self.n = int(counts[measured.marginals[0]].sum())
        self.rows = [
            distance.rows([counts[m] for m in of] if isinstance(of, tuple) else counts[of])
            for of, distance in measured.distances
        ]
        whole = np.array([float(rows / self.n) for rows in self.rows])
        weights = [np.array(plan.weights(copy), dtype=float) for copy in range(len(plan.names))]
        self.scores = [1 - float(own @ whole) for own in weights]

    def drawn(self, seed: int) -> Ranking:
        """Ranking from one release."""
        measured = self.plan.measurement
        noise = SimulatedNoise(seed)
        rows = [Fraction(whole_rows(each)) for each in self.rows]
        released = measured.mechanism.release(rows, self.n, measured.budget, noise)
        return Ranking(self.plan, released, ALPHA)


def figures(simulation: Simulation, runs: int) -> list[dict[str, object]]:
    """Figures on ``runs`` simulated rankings: of each copy, and of all of them."""
    plan, exact = simulation.plan, simulation.scores
    files = {name: name for name in plan.names}
    errors, held, told, false = np.zeros(len(exact)), 0, 0, 0
    for run in range(runs):
        ranking = simulation.drawn(SEED + run)
        for copy in ranking.copies(files):
            place = plan.names.index(copy.candidate)
            figure = copy.overall.estimate
            if figure is not None:
                errors[place] += abs(figure.value - exact[place]) / runs
                held += figure.low <= exact[place] <= figure.high
        told += len(ranking.better)
        false += any(exact[a] <= exact[b] for a, b in ranking.better)
    together: dict[str, object] = {
        "coverage": held / runs / len(exact),
        "told_apart": told / runs,
        "runs_with_a_false_pair": false,
    }
    every: list[dict[str, object]] = [
        {"copy": "all", "score": None, "error": float(errors.mean())} | together
    ]
    for name, score, error in zip(plan.names, exact, errors.tolist(), strict=True):
        every.append({"copy": name, "score": score, "error": error} | dict.fromkeys(together))
    return every


def main() -> None:
    """Print the figures of two kinds of rankings.

    The first kind measures one number for each copy, the second kind each distance of each copy.
    """
    parser = argparse.ArgumentParser(description="Claims of pqd compare without queries.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--epsilon", default="0.25")
    parser.add_argument("--runs", type=int, default=200)
    add_csv_option(parser)
    stated = parser.parse_args()
    private, found = copies(stated.data)
    keys = ("measured", "epsilon")
    with ResultTable("ranking", stated.csv, keys) as results:
        for kind, each in (("one mean distance per copy", False), ("each marginal", True)):
            parameters = RankingParameters.parse(total_epsilon=stated.epsilon, marginals=each)
            plan = bind_ranking(Candidates(private, found, None), parameters, None)
            simulation = Simulation(plan)
            run = {"runs": stated.runs, "numbers": len(simulation.rows)}
            for row in figures(simulation, stated.runs):
                results.add(measured=kind, epsilon=stated.epsilon, **run, **row)


if __name__ == "__main__":
    main()
