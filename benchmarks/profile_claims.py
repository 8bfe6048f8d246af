"""Claims of ``pqd profile``, compared with the truth in many simulated runs on real tables.

    python benchmarks/profile_claims.py PRIVATE NAME=FILE... [--epsilon 1] [--tau 5%] [--runs 200]

Each run draws new seeded noise, which protects nobody.  So use public tables only.  Two copies need
no file: ``independent=`` is the private table with each column shuffled by itself, and
``bootstrap=`` has rows of the private table drawn with replacement.  The script prints the mean
errors of the distances and of the overall score, and how often a 95 % interval missed the truth.
It also prints how many verdicts were decided, and how many of these were false.  All figures have
standard errors over the runs.
"""

import argparse
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.deciders import SimulatedNoise
from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.distances.estimates import bonferroni
from pqd.deciders.distances.noise_laws import LaplaceLaw, NoiseLaw
from pqd.deciders.distances.statistics import whole_rows
from pqd.deciders.distances.vector import VectorLaw
from pqd.engine.marginals import MarginalPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import bind_profile
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.profile_plan import ProfilePlan, plan_profile

SEED = 401
Whole = NDArray[np.int64]


class Run(NamedTuple):
    """Errors of one simulated run, as means over its distances."""

    error: float
    overall_error: float
    missed: float
    rows_missed: float
    overall_missed: float
    decided: float
    false: float
    false_at_once: float


class Simulation:
    """One profile that is planned once and released many times."""

    def __init__(self, plan: ProfilePlan) -> None:
        """Read the private counts, and compute the true distances from them."""
        self.plan, bound = plan, plan.bound
        counted = plan.distances.marginals
        counts = bound.tables.engine.marginals(bound.private, bound.schema, MarginalPlan(counted))
        self.n = int(counts[counted[0]].sum())
        exact = [
            distance.rows(counts[of]) for of, distance in plan.distances.distances if of in counted
        ]
        self.rows = np.array([whole_rows(rows) for rows in exact], dtype=np.int64)
        self.truth = np.array([float(rows / self.n) for rows in exact])
        ways = np.array([each.marginal.ways if each.distance == "tv" else 0 for each in plan.terms])
        # The number of unseen rows follows the terms, and has no weight.
        self._ways = np.append(ways, 0)
        self._weights = [self._weight(int(each)) for each in self._ways]
        self.overall = float(np.array(self._weights, dtype=float) @ self.truth)
        self.within = [rows < plan.parameters.tau * self.n for rows in exact]

    def _weight(self, ways: int) -> Fraction:
        """Weight of a distance in the overall score."""
        kinds = {each for each in self._ways.tolist() if each}
        same = int((self._ways == ways).sum())
        return Fraction(1, len(kinds) * same) if ways else Fraction(0)

    @property
    def marginals(self) -> int:
        """Number of marginals whose total variation is measured."""
        return int((self._ways > 0).sum())

    def run(self, rng: np.random.Generator) -> tuple[Run, NDArray[np.bool_]]:
        """Errors of one release, and which verdicts were false."""
        law, parameters = self.plan.law, self.plan.parameters
        n = self.n + drawn(law.rows, 1, rng)[0]
        distances = self.rows + drawn_together(law, self.rows.size, rng)
        estimates = self.plan.estimates((int(n), *map(int, distances)))
        value, low, high = estimates.distances.T
        yes, p_values = estimates.verdicts(parameters.tau)
        wrong = yes != np.array(self.within)
        false = wrong & (p_values <= float(parameters.alpha))
        at_once = wrong & (bonferroni(p_values) <= float(parameters.alpha))
        mean = estimates.mean(self._weights)
        rows = estimates.rows
        scored = self._ways > 0
        return Run(
            error=float(np.abs(value - self.truth)[scored].mean()),
            overall_error=abs(mean[0] - self.overall),
            missed=float(((self.truth < low) | (self.truth > high)).mean()),
            rows_missed=float(not rows[1] <= self.n <= rows[2]),
            overall_missed=float(not mean[1] <= self.overall <= mean[2]),
            decided=float((p_values <= float(parameters.alpha)).mean()),
            false=float(false.mean()),
            false_at_once=float(at_once.any()),
        ), false


def drawn_together(law: VectorLaw, size: int, rng: np.random.Generator) -> Whole:
    """Noise of all distances of one release."""
    if isinstance(law.distance, CubeLaw):
        return np.array(SimulatedNoise(rng).cube([0] * size, law.distance.scale))
    return drawn(law.distance, size, rng)


def drawn(law: NoiseLaw, size: int, rng: np.random.Generator) -> Whole:
    """Draws of ``law``: differences of two geometric draws, or rounded normal draws."""
    if isinstance(law, LaplaceLaw):
        chance = -np.expm1(-1 / float(law.scale))
        return rng.geometric(chance, size) - rng.geometric(chance, size)
    return np.rint(rng.normal(0, law.deviation, size)).astype(np.int64)


def copy_of(stated: str, private: Path) -> tuple[str, object]:
    """Name of a copy, and its file; for ``independent=`` and ``bootstrap=``, a frame."""
    name, _, path = stated.partition("=")
    if path:
        return name, Path(path)
    frame, rng = pd.read_parquet(private), np.random.default_rng(SEED)
    if name == "bootstrap":
        return name, frame.iloc[rng.integers(0, len(frame), len(frame))].reset_index(drop=True)
    columns = {column: rng.permutation(frame[column].to_numpy()) for column in frame}
    return "independent", pd.DataFrame(columns)


def main() -> None:
    """Print one row per copy and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("private", type=Path)
    parser.add_argument("copies", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--epsilon", nargs="+", default=["1"])
    parser.add_argument("--tau", default="5%")
    parser.add_argument("--delta")
    parser.add_argument("--runs", type=int, default=200)
    add_csv_option(parser)
    options = parser.parse_args()
    table = options.private.stem.removesuffix("_private")
    keys = ("table", "copy", "epsilon", "delta")
    with ResultTable("profile-claims", options.csv, keys) as results:
        for place, stated in enumerate(options.copies):
            name, copy = copy_of(stated, options.private)
            tables = [open_table(copy, "synthetic")]
            for epsilon in options.epsilon:
                parameters = ProfileParameters.parse(
                    total_epsilon=epsilon, tau=options.tau, delta=options.delta
                )
                both = SyntheticTables(tables, open_table(options.private, "private"))
                simulation = Simulation(
                    plan_profile(bind_profile(both, parameters.request), parameters)
                )
                rng = np.random.default_rng([SEED, place])
                runs = [simulation.run(rng) for _ in range(options.runs)]
                names = dict(zip(keys, (table, name, epsilon, options.delta), strict=True))
                results.add(**names, **summary(simulation, runs))


def summary(
    simulation: Simulation, runs: Sequence[tuple[Run, NDArray[np.bool_]]]
) -> dict[str, object]:
    """Means over the runs with their standard errors; ``worst`` is of the worst distance."""
    figures = np.array([errors for errors, _ in runs])
    errors = figures.std(0, ddof=1) / len(runs) ** 0.5
    found: dict[str, object] = {
        "runs": len(runs),
        "marginals": simulation.marginals,
        "overall": 1 - simulation.overall,
    }
    for name, mean, error in zip(Run._fields, figures.mean(0), errors, strict=True):
        found |= {name: float(mean), f"{name}_se": float(error)}
    return found | {"worst": float(np.mean([false for _, false in runs], axis=0).max())}


if __name__ == "__main__":
    main()
