"""Relations kept in ``pqd compare`` without queries, compared with the truth on parts of Adult.

    python -m benchmarks.ranking_relations DATA [--epsilon 1 0.25] [--parts 6] [--runs 100]

DATA holds adult_private.parquet, adult_privbayes_eps1.parquet and adult_gcopula.parquet.  Half of
the rows is the private table, parted anew for each seed.  The copies are the other half, that half
with its columns shuffled one by one, and the two files.  Each run draws new seeded noise, which
protects nobody.  The script prints what each copy keeps, how far the estimates are off, how often
the verdicts are established, and how often all intervals hold the truth at once.
"""

import argparse
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.commands.rank import bind_ranking
from pqd.comparison.candidates import Candidates
from pqd.comparison.ranking import RankingParameters
from pqd.deciders import SimulatedNoise
from pqd.deciders.distances.relations import release_relations
from pqd.engine.marginals import MarginalPlan
from pqd.marginals.relations import copies_estimates

ALPHA, BAR = Fraction(1, 20), Fraction(1, 2)
COLUMNS = ["kept", "error", "width", "yes", "no", "wrong"]


def tables(folder: Path, seed: int) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Private half of Adult, and four copies by their names."""
    rng = np.random.default_rng(seed)
    real = pd.read_parquet(folder / "adult_private.parquet").sample(frac=1, random_state=rng)
    private, half = real.iloc[: len(real) // 2], real.iloc[len(real) // 2 :]
    return private, {
        "half": half,
        "privbayes": pd.read_parquet(folder / "adult_privbayes_eps1.parquet"),
        "copula": pd.read_parquet(folder / "adult_gcopula.parquet"),
        "shuffled": half.apply(lambda column: rng.permutation(column.to_numpy())),
    }


def main() -> None:
    """Print a row for each epsilon and copy; ``all_held`` is of all copies of an epsilon."""
    parser = argparse.ArgumentParser(description="Relations kept in pqd compare.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--epsilon", nargs="+", default=["1", "0.25"])
    parser.add_argument("--parts", type=int, default=6)
    parser.add_argument("--runs", type=int, default=100)
    add_csv_option(parser)
    stated = parser.parse_args()
    rows: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    together: dict[str, list[bool]] = defaultdict(list)
    for seed in range(stated.parts):
        private, copies = tables(stated.data, seed)
        for epsilon in stated.epsilon:
            parameters = RankingParameters.parse(total_epsilon=epsilon)
            plan = bind_ranking(Candidates(private, copies, None), parameters, None)
            measurement, bound = plan.relations, plan.profiles[0]
            if measurement is None:
                raise TypeError("Adult has pairs")
            scan = MarginalPlan(measurement.marginals)
            counts = bound.tables.engine.marginals(bound.private, bound.schema, scan)
            exact = [own.rows([counts[one] for one in maps]) for maps, own in measurement.relations]
            true = [
                float(1 - (each.pairs - each.columns) / (each.product - each.columns))
                for each in exact
            ]
            for run in range(stated.runs):
                noise = SimulatedNoise(1_000 * seed + run)
                released = release_relations(exact, measurement.epsilon, noise)
                every = copies_estimates(released, measurement, ALPHA)
                held = []
                for name, each, kept in zip(copies, every, true, strict=True):
                    value, low, high = each.kept
                    outcome, alone = each.verdict(BAR)
                    sure = len(copies) * alone <= ALPHA
                    held.append(low <= kept <= high)
                    yes, no = sure and outcome, sure and not outcome
                    wrong = no if kept > BAR else yes
                    rows[epsilon, name].append(
                        [kept, abs(value - kept), high - low, yes, no, wrong]
                    )
                together[epsilon].append(all(held))
    with ResultTable("ranking-relations", stated.csv) as results:
        for (epsilon, name), found in rows.items():
            means = dict(zip(COLUMNS, np.mean(found, axis=0).tolist(), strict=True))
            at_once = float(np.mean(together[epsilon]))
            results.add(epsilon=epsilon, copy=name, runs=len(found), **means, all_held=at_once)


if __name__ == "__main__":
    main()
