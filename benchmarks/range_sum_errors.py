"""Experiments of Wu et al. 2019, section 4, on a table of incomes.

    python -m benchmarks.range_sum_errors ../shared/data/cps_private.parquet --seeds 8 --trials 25

The queries are prefix sums of incomes below 800, 1600, ..., 800000 (workload Q1).  Workload Q2 has
every 10th of them, Q3 every 100th.  Five mechanisms with three truncations each answer them at
epsilon 0.01; a tenth of this budget finds the threshold.  The error of an answer is
``|noisy - true| / max(true, 100)``, where ``true`` is the sum over buckets, as in the paper's
analysis.  The noise is seeded, which protects nobody.  So use public tables only.

Numbers are means over the seeds, with standard errors.  Claims are judged as in
``standard_errors.py``.

Three mechanisms are run a second time as they were published: SQM with the whole epsilon for each
query (Algorithms 2 and 3 as printed), and TIMM and TAMM with the GreedyH of Li, Hay and Miklau.  At
last the script prints the expected errors of pqd's truncations on the same table; their parameters
come from public data.
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
    """Compare pqd's GreedyH with the published one by the expected error of all prefix sums."""
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
    """Compare the paper's parameters with parameters from public data, by expected error."""
    for name, workload in WORKLOADS.items():
        paper = min((roots[name, kind, t], f"{kind}, {t}") for kind in IDS for t in KEPT)
        error, mechanism = ranking(workload, histogram, epsilon)[0]
        ours = math.sqrt(error / len(workload.ranges))
        told = f"{mechanism.id}, {mechanism.truncation.id}"
        yield name, f"{paper[0]:.3g} ({paper[1]})", f"{ours:.3g} ({told})"


def main() -> None:
    """Read the table, run the experiments, and print the results."""
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
