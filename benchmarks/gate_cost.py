"""Epsilon of a gate, against that of a verdict on each of the same queries.

    python -m benchmarks.gate_cost [--tau 3.2% 12.8%]

The queries are those of the paper on the census and taxi tables of ``samples/``, of which those
are taken that hold on the private table.  A gate and a verdict need the epsilon that decides their
margin in nine runs of ten, with a p-value of at most 0.05 (exact, from the private margins, which
only a benchmark may know).  Equal shares give each query what the tightest of them needs.  Ideal
shares give each query what it needs, which no one may know.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from pqd.commands.audit import run_audit
from pqd.deciders import SimulatedNoise
from pqd.deciders.single.inverse_sensitivity import deciding_epsilon
from pqd.parameters import Parameters
from pqd.planning.gate import INVERSE
from pqd.sql.workload_files import read_queries

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
ALPHA = Fraction(1, 20)


class NoNoise(SimulatedNoise):
    """Noise that adds nothing, so that margins are exact."""

    def laplace(self, statistic: int, scale: Fraction) -> int:
        """Statistic itself."""
        del scale
        return statistic


class GateCost(NamedTuple):
    """Number of queries that hold, their least margin, and three epsilons."""

    queries: int
    least: int
    gate: float
    equal: float
    ideal: float


def margins(table: str, tau: str) -> Iterator[int]:
    """Exact margins of the queries on a sample that hold within ``tau``."""
    private, copy = (str(SAMPLES / f"{table}_{kind}.parquet") for kind in ("private", "synthetic"))
    for query in read_queries(SAMPLES / f"{table}.sql"):
        criteria = Parameters.parse(tau=tau, epsilon=1, alpha=ALPHA)
        stated = replace(criteria, mechanism=INVERSE[query.aggregate])
        (verdict,) = run_audit(private, copy, (query,), stated, NoNoise()).verdicts
        if verdict.margin is not None and verdict.margin >= 1:
            yield verdict.margin


def cost_of(least: Sequence[int]) -> GateCost:
    """Cost of a gate over queries with these margins."""
    needed = [deciding_epsilon(margin, ALPHA) for margin in least]
    return GateCost(len(least), min(least), max(needed), len(least) * max(needed), sum(needed))


def main() -> None:
    """Print a table in Markdown: a row for each sample and tolerance."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tau", nargs="+", default=["3.2%", "12.8%", "51.2%"])
    options = parser.parse_args()
    print("| queries | tau | hold | least margin | gate | equal shares | ideal shares |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for table in ("census", "taxi"):
        for tau in options.tau:
            cost = cost_of(list(margins(table, tau)))
            figures = f"{cost.gate:.3g} | {cost.equal:.3g} | {cost.ideal:.3g}"
            print(f"| {table} | {tau} | {cost.queries} | {cost.least} | {figures} |")


if __name__ == "__main__":
    main()
