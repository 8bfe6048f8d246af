"""Share of plans whose epsilon is enough on the real table.

    python benchmarks/needed_epsilon.py FOLDER [--seeds 3] [--queries 40]

FOLDER holds the tables of Adult, bank, CPS and taxi as ``NAME_private.parquet``, and two copies of
Adult.  Copies of the others are made here: independent marginals, a bootstrap, and one half of the
table against the other.  Per pair it draws queries (AVG, MEDIAN, QUANTILE of a number where a
category has a value, at 2, 5 and 10 %), plans each on the copy, and asks the same decider, at that
epsilon, about the real table: at a gap of 0 and of 2 tau, both ways, is an error at most alpha?
Chances are exact, so only the choice of queries and of copies is random.
"""

import argparse
import time
from collections.abc import Iterator
from fractions import Fraction
from math import isinf, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pqd.deciders import Decider, Histogram, Interval, Lattice, answer, applicable, needed_epsilon

ALPHA = Fraction(1, 20)
AGGREGATES = {
    "AVG": ("AVG", None),
    "MEDIAN": ("MEDIAN", None),
    "QUANTILE 0.25": ("QUANTILE", Fraction(1, 4)),
    "QUANTILE 0.9": ("QUANTILE", Fraction(9, 10)),
}
LEAST_ROWS = 30
CENTS = ["trip_distance", "fare_amount", "tip_amount", "total_amount"]


class BenchmarkQuery(NamedTuple):
    """One query: its aggregate and tolerance, and its tables in lattice units."""

    aggregate: str
    p: Fraction | None
    share: Fraction
    lattice: Lattice
    private: Histogram
    copy: Histogram


def pairs(folder: Path, seeds: int) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield real tables and their copies."""
    adult = pd.read_parquet(folder / "adult_private.parquet")
    for name in ("privbayes_eps1", "gcopula"):
        yield f"adult/{name}", adult, pd.read_parquet(folder / f"adult_{name}.parquet")
    for name in ("bank", "cps", "taxi"):
        table = pd.read_parquet(folder / f"{name}_private.parquet")
        for column in table.columns.intersection(CENTS):
            table[column] = (table[column] * 100).round().astype("int64")
        table = table.select_dtypes(exclude="float").dropna().head(60_000).reset_index(drop=True)
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            alone = {c: table[c].sample(frac=1, random_state=rng).to_numpy() for c in table}
            yield f"{name}/marginals", table, pd.DataFrame(alone)
            yield f"{name}/bootstrap", table, table.sample(frac=1, replace=True, random_state=rng)
            half = rng.permutation(len(table)) < len(table) // 2
            yield f"{name}/halves", table[half], table[~half]


def benchmark_queries(
    private: pd.DataFrame, copy: pd.DataFrame, number: int, rng: np.random.Generator
) -> Iterator[BenchmarkQuery]:
    """Queries that both tables answer, of every aggregate alike."""
    numeric = [str(c) for c in copy if copy[c].dtype.kind in "iu" and copy[c].nunique() > 12]
    classes = [str(c) for c in copy if copy[c].nunique() <= 20]
    made = 0
    for _ in range(50 * number):
        if made == number:
            return
        column, by = rng.choice(numeric), rng.choice(classes)
        value = rng.choice(copy[by].unique())
        found = [t.loc[t[by] == value, column].to_numpy(np.int64) for t in (private, copy)]
        aggregate, p = list(AGGREGATES.values())[made % len(AGGREGATES)]
        lattice = Lattice(int(copy[column].min()), int(copy[column].max()))
        histograms = [Histogram.from_values(values) for values in found]
        share = Fraction(int(rng.choice([2, 5, 10])), 100)
        if min(map(len, found)) < LEAST_ROWS:
            continue
        if all(answer(aggregate, h, p or Fraction(1, 2)) for h in histograms):
            made += 1
            yield BenchmarkQuery(aggregate, p, share, lattice, *histograms)


def planned(query: BenchmarkQuery) -> tuple[Decider, float]:
    """Decider that needs the least epsilon on the copy, and that epsilon."""
    parameters = {"p": query.p} if query.aggregate == "QUANTILE" else {}
    known = applicable(query.aggregate, query.lattice, **parameters)
    fitting = [decider for decider in known if decider.id.startswith("inv_")]
    centre = answer(query.aggregate, query.copy, query.p or Fraction(1, 2)) or Fraction(0)
    interval = Interval.around(centre, abs(centre) * query.share)
    needed = {d: needed_epsilon(d, query.copy, interval, ALPHA) for d in fitting}
    best = min(needed, key=lambda decider: needed[decider])
    return best, needed[best]


def holds(query: BenchmarkQuery, decider: Decider, epsilon: float) -> bool:
    """Whether the promise is kept on the real table."""
    lower, upper = query.lattice.lower, query.lattice.upper
    private = query.private
    if query.aggregate == "AVG":
        clamped = np.clip(private.values, int(lower), int(upper))
        private = Histogram.weighted(clamped, private.counts)
    centre = answer(query.aggregate, private, query.p or Fraction(1, 2)) or Fraction(0)
    public = answer(query.aggregate, query.copy, query.p or Fraction(1, 2)) or Fraction(0)
    tau = abs(public) * query.share
    if decider.accept(private, Interval.around(centre, tau), epsilon) < 1 - ALPHA:
        return False
    far = (Interval.around(centre + side * 2 * tau, tau) for side in (1, -1))
    return all(decider.accept(private, interval, epsilon) <= ALPHA for interval in far)


def main() -> None:
    """Print the share of promises kept, per kind of pair and of aggregate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=40, help="per pair of tables")
    options = parser.parse_args()
    rows = []
    for number, (name, private, copy) in enumerate(pairs(options.folder, options.seeds)):
        rng = np.random.default_rng(number)
        for query in benchmark_queries(private, copy, options.queries, rng):
            start = time.process_time()
            decider, epsilon = planned(query)
            seconds = time.process_time() - start
            if isinf(epsilon):
                continue
            kept = holds(query, decider, epsilon)
            least = next(
                (
                    f
                    for f in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
                    if holds(query, decider, f * epsilon)
                ),
                128,
            )
            rows.append((name, query.aggregate, kept, seconds, least))
    frame = pd.DataFrame(rows, columns=["pair", "aggregate", "kept", "seconds", "times"])
    for by in ("pair", "aggregate"):
        found = frame.groupby(by).agg(
            kept=("kept", "mean"),
            number=("kept", "size"),
            median_times=("times", "median"),
            most=("times", lambda t: t.quantile(0.95)),
        )
        print(found.round(3).to_string(), end="\n\n")
    share, n = frame["kept"].mean(), len(frame)
    error = sqrt(share * (1 - share) / n)
    print(f"kept: {share:.3f} +- {error:.3f} of {n}; {1000 * frame['seconds'].mean():.0f} ms each")
    print("beyond 4 times the promise:", f"{(frame['times'] > 4).mean():.3f}")


if __name__ == "__main__":
    main()
