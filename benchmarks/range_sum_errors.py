"""The experiments of Wu et al. 2019, section 4, on a table of incomes.

    python -m benchmarks.range_sum_errors ../shared/data/cps_private.parquet --seeds 8 --trials 25

Prefix sums of incomes below 800, 1600, ..., 800000 (Q1; every 10th: Q2; every 100th: Q3), five
mechanisms with three truncations each, epsilon 0.01, of which a tenth finds the threshold.  The
error of an answer is ``|noisy - true| / max(true, 100)``; true is the sum over buckets, as in the
paper's analysis.  Noise is seeded, which protects nobody: for tables that are public anyway.

Numbers are means over the seeds with standard errors; claims are judged as in
``standard_errors.py``.

Two things are run a second time as published: SQM with the whole epsilon for each query (Algorithms
2 and 3 as printed), and TIMM and TAMM with the GreedyH of Li, Hay and Miklau.  Last comes what our
own truncations, with parameters from public data, expect on the same table.
"""

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from benchmarks.range_sum_claims import (
    baseline_claims,
    isotonic_claims,
    matrix_claims,
    truncation_claims,
)
from benchmarks.range_sum_runs import (
    BUCKETS,
    IDS,
    KEPT,
    SHOWN,
    STEPS,
    WORKLOADS,
    Key,
    Seeds,
    expected,
    published_greedy,
    simulated,
)
from benchmarks.standard_errors import Estimate
from pqd.deciders import Histogram
from pqd.deciders.batch.range_sums.hierarchy import greedy_hierarchy
from pqd.deciders.batch.range_sums.select import ranking


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def errors(seeds: Seeds, roots: dict[Key, float]) -> None:
    """Print the errors of all configurations, with and without isotonic regression."""

    def means(key: Key) -> str:
        raw, smooth = (
            Estimate.of(float(s[side][key].mean.mean()) for s in seeds) for side in (0, 1)
        )
        return f"{raw} -> {smooth}"

    def squares(key: Key) -> str:
        raw, smooth = (Estimate.of(s[side][key].root_mean_square for s in seeds) for side in (0, 1))
        return f"{raw} / {roots[key]:.3g} -> {smooth}"

    for title, shown in (
        ("Mean relative error over all queries: without -> with isotonic regression", means),
        ("Root mean squared error: simulated / expected (closed form) -> with isotonic", squares),
    ):
        print(f"## {title}\n")
        for name in STEPS:
            rows = ((kind, *(shown((name, kind, t)) for t in KEPT)) for kind in SHOWN)
            table((name, "no truncation", "SVT", "recursive"), rows)


def greedy(epsilon: str) -> Iterator[Sequence[str]]:
    """Compare ours with the published GreedyH: total expected error of all prefixes of cells."""
    for cells in (100, 1000, 1024):
        starts, stops = np.zeros(cells, np.int64), np.arange(1, cells + 1)
        ones = np.ones(cells)
        squares = [
            float((tree.variances(starts, stops, ones) * tree.norm**2.0).sum())
            for tree in (f(starts, stops, ones) for f in (greedy_hierarchy, published_greedy))
        ]
        scale = 2 / float(epsilon) ** 2 / cells
        roots = [math.sqrt(scale * square) for square in squares]
        yield f"{cells:,}", f"{roots[0]:.3g}", f"{roots[1]:.3g}", f"{squares[1] / squares[0]:.3g}"


def proposed(
    histogram: Histogram, epsilon: str, roots: dict[Key, float]
) -> Iterator[Sequence[str]]:
    """Compare the paper's parameters with those from public data, by expected error."""
    for name, workload in WORKLOADS.items():
        paper = min((roots[name, kind, t], f"{kind}, {t}") for kind in IDS for t in KEPT)
        error, mechanism = ranking(workload, histogram, epsilon)[0]
        ours = math.sqrt(error / len(workload.ranges))
        told = f"{mechanism.id}, {mechanism.truncation.id}"
        yield name, f"{paper[0]:.3g} ({paper[1]})", f"{ours:.3g} ({told})"


def main() -> None:
    """Read the table, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("table", help="a Parquet file")
    parser.add_argument("--column", default="income")
    parser.add_argument("--epsilon", default="0.01")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--trials", type=int, default=25, help="for each seed")
    given = parser.parse_args()
    histogram = Histogram.from_values(pd.read_parquet(given.table)[given.column].to_numpy())
    seeds = [
        simulated(histogram, given.epsilon, given.trials, seed)
        for seed in range(1, given.seeds + 1)
    ]
    roots = expected(histogram, given.epsilon)
    truth = seeds[0].raw["Q1", "identity", "none"].truth
    raw = np.array([histogram.sum_at_most(end) for end in BUCKETS.ends])
    print(
        f"{histogram.mass} rows, largest value {histogram.largest}, epsilon {given.epsilon}, "
        f"{given.seeds} seeds of {given.trials} trials; se is the standard error over the seeds.  "
        f"Sums over buckets exceed the rows' own by {100 * float((truth / raw - 1)[-1]):.2g} % in "
        "the last query.\n"
    )
    print("sqm*: epsilon for each query.  timm*, tamm*: the published GreedyH.\n")
    errors(seeds, roots)
    print("## Claims of the paper\n")
    rows = [*truncation_claims(seeds, roots)]
    for star in ("", "*"):
        rows += matrix_claims(seeds, star)
        rows += baseline_claims(seeds, star)
        rows += isotonic_claims(seeds, star)
    table(("claim (with isotonic regression)", "here", "reproduces"), rows)
    print("## GreedyH: root mean squared error over all prefixes of cells, without weights\n")
    table(("cells", "ours", "published", "published / ours, squared"), greedy(given.epsilon))
    print("## Truncations with parameters from public data (here: the table itself)\n")
    head = "workload", "least of the paper's fifteen", "least of ours"
    table(head, proposed(histogram, given.epsilon, roots))


if __name__ == "__main__":
    main()
