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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.isotonic import isotonic
from benchmarks.range_workloads import equal_buckets, expected_errors, prefix_sums
from benchmarks.standard_errors import Estimate
from deciders import Histogram, SimulatedNoise
from deciders.batch.range_sums.greedy_h import greedy_hierarchy, hierarchy_of_shares
from deciders.batch.range_sums.hierarchy import Crossings, Hierarchy, level_edges
from deciders.batch.range_sums.matrix_mechanism import TreeStrategy
from deciders.batch.range_sums.mechanisms import (
    RangeSumMechanism,
    SingleQueries,
    TruncationAware,
    TruncationIndependent,
)
from deciders.batch.range_sums.select import MECHANISMS, ranking
from deciders.batch.range_sums.truncation import (
    NoTruncation,
    RecursiveTruncation,
    SparseVectorTruncation,
)
from deciders.batch.range_sums.workload import running_sums
from deciders.distributions import Floats
from deciders.histogram import Integers

BUCKETS = equal_buckets(800, 1000)
STEPS = {"Q1": 1, "Q2": 10, "Q3": 100}
WORKLOADS = {
    name: prefix_sums(BUCKETS, range(step, len(BUCKETS.ends) + 1, step))
    for name, step in STEPS.items()
}
# The paper's parameters: for incomes in dollars.
TRUNCATIONS = (
    NoTruncation(),
    SparseVectorTruncation(start=50_000, growth="1.2", kept="0.998"),
    RecursiveTruncation(start=50_000),
)
LEAST = 100
IDS = tuple(MECHANISMS)
SHOWN = (*IDS, "sqm*", "timm*", "tamm*")
KEPT = ("none", "svt", "recursive")
RESTS = np.arange(100, 0, -1)[:, None] / 100


@dataclass(frozen=True)
class Runs:
    """Answers of one configuration, a row for each trial."""

    answers: Floats
    truth: Floats

    @property
    def smooth(self) -> "Runs":
        """Runs after isotonic regression."""
        return Runs(np.array([isotonic(row) for row in self.answers]), self.truth)

    @property
    def relative(self) -> Floats:
        """Relative errors, a row for each trial."""
        found: Floats = np.abs(self.answers - self.truth) / np.maximum(self.truth, LEAST)
        return found

    @property
    def mean(self) -> Floats:
        """Mean relative error of each query."""
        found: Floats = self.relative.mean(axis=0)
        return found

    @property
    def root_mean_square(self) -> float:
        """Root of the mean squared error over queries and trials."""
        return float(np.sqrt(((self.answers - self.truth) ** 2).mean()))


Key = tuple[str, str, str]
Row = tuple[str, str, str]


class Seed(NamedTuple):
    """Results of one seed: without and with isotonic regression."""

    raw: dict[Key, Runs]
    smooth: dict[Key, Runs]


Seeds = Sequence[Seed]


def published_greedy(starts: Integers, stops: Integers, coefficients: Floats) -> Hierarchy:
    """Choose weights as Li, Hay and Miklau 2014: every range at every node, fading with depth."""
    edges = level_edges(coefficients.size)
    lies = [Crossings(level, starts, stops) for level in edges]

    def squares(depth: int) -> Floats:
        whole: Floats = np.diff(running[edges[depth]]) ** 2
        return lies[depth].squares(running) + lies[depth].held() * whole

    shares, total = np.ones(coefficients.size), np.diff(edges[-1]).astype(np.float64)
    running = running_sums(coefficients)
    error = squares(len(edges) - 1)
    taken: list[Floats] = []
    for depth in range(len(edges) - 2, -1, -1):
        fading = 2 ** (-depth / 2)
        running = running_sums(coefficients * shares)
        total, error, below = (v[0::2] + v[1::2] for v in (total, error, squares(depth + 1)))
        gains = (below + (squares(depth) - below) * fading) * fading
        tried = (
            error - gains * (1 - RESTS) ** 2 / (RESTS**2 + total * fading * (1 - RESTS) ** 2)
        ) / (RESTS**2)
        parted = np.diff(edges[depth]) > 1
        rest = np.where(parted, RESTS[np.argmin(tried, axis=0), 0], 1.0)
        error = np.where(parted, tried.min(axis=0), error)
        shrunk = 1 / (rest**2 + total * (1 - rest) ** 2)
        total = total * shrunk
        shares = shares * np.repeat(shrunk, np.diff(edges[depth]))
        taken.insert(0, 1 - rest)
    return hierarchy_of_shares(taken, coefficients.size)


class PublishedIndependent(TruncationIndependent):
    """TIMM with the published GreedyH."""

    def strategy(self, weights: Integers) -> TreeStrategy:
        """Tree of the strategy."""
        return TreeStrategy.of_sums(self.workload, weights, published_greedy)


class PublishedAware(TruncationAware):
    """TAMM with the published GreedyH."""

    def strategy(self, weights: Integers) -> TreeStrategy:
        """Tree of the strategy."""
        return TreeStrategy.of_counts(self.workload, weights, published_greedy)


@cache
def configurations(epsilon: str) -> dict[Key, tuple[RangeSumMechanism, Fraction]]:
    """Every mechanism with its budget."""
    found: dict[Key, tuple[RangeSumMechanism, Fraction]] = {}
    for name, workload in WORKLOADS.items():
        for truncation in TRUNCATIONS:
            kinds: dict[str, type[RangeSumMechanism]] = {
                **MECHANISMS,
                "sqm*": SingleQueries,
                "timm*": PublishedIndependent,
                "tamm*": PublishedAware,
            }
            for label, kind in kinds.items():
                # What Algorithms 2 and 3 spend: epsilon for each query.
                times = len(workload.ranges) if label == "sqm*" else 1
                mechanism = kind(workload=workload, truncation=truncation)
                found[name, label, truncation.id] = mechanism, times * Fraction(epsilon)
    return found


def simulated(histogram: Histogram, epsilon: str, trials: int, seed: int) -> Seed:
    """Run every configuration on every workload."""
    counts, raw = BUCKETS.counts(histogram), {}
    for key, (mechanism, budget) in configurations(epsilon).items():
        noise = SimulatedNoise(seed)
        drawn = [mechanism.release(histogram, budget, noise).answers for _ in range(trials)]
        truth = mechanism.workload.answers(counts).astype(np.float64)
        raw[key] = Runs(np.array(drawn), truth)
    return Seed(raw, {key: runs.smooth for key, runs in raw.items()})


def expected(histogram: Histogram, epsilon: str) -> dict[Key, float]:
    """Root mean squared errors that theory expects, over the threshold's law."""
    return {
        key: float(np.sqrt(expected_errors(mechanism, histogram, budget).mean()))
        for key, (mechanism, budget) in configurations(epsilon).items()
    }


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


Numbers = Callable[[Seed], Sequence[float]]


def claim(text: str, seeds: Seeds, numbers: Numbers, margin: Callable[..., float]) -> Row:
    """Row of the table of claims: true where ``margin`` of the numbers is positive."""
    found = [numbers(seed) for seed in seeds]
    shown = ", ".join(str(Estimate.of(column)) for column in zip(*found, strict=True))
    verdict = Estimate.of(margin(*values) for values in found).positive
    return text, shown, verdict


def spread(runs: Runs) -> float:
    """Mean, over the queries, of the width between the 5 and 95 percentiles."""
    low, high = np.percentile(runs.answers, [5, 95], axis=0)
    return float((high - low).mean())


def relative(name: str, kinds: Iterable[str], truncations: Iterable[str], side: int = 1) -> Numbers:
    """Function that gives the mean relative errors of these configurations."""
    keys = [(name, kind, t) for kind in kinds for t in truncations]
    return lambda seed: [float(seed[side][key].mean.mean()) for key in keys]


def truncation_claims(seeds: Seeds, roots: dict[Key, float]) -> Iterator[Row]:
    """Judge what the paper says of truncation."""
    for name in STEPS:
        for kind in IDS:
            whole, *cut = (roots[name, kind, t] for t in KEPT)
            lower = ["yes" if root < whole else "**no**" for root in cut]
            yield (
                f"truncation lowers the expected error of {kind}, {name}: SVT, recursive",
                f"root mean square {whole:.3g}, {cut[0]:.3g}, {cut[1]:.3g}",
                lower[0] if lower[0] == lower[1] else ", ".join(lower),
            )
            for t in KEPT[1:]:
                text = f"{t} lowers the relative error of {kind}, {name}"
                pair = relative(name, (kind,), ("none", t))
                yield claim(text, seeds, pair, lambda none, ours: none - ours)

    def widths(seed: Seed) -> list[float]:
        return [spread(seed.smooth["Q1", "identity", t]) for t in KEPT]

    def off(seed: Seed) -> list[float]:
        runs = [seed.smooth["Q1", "identity", t] for t in KEPT]
        return [float(np.abs(r.answers.mean(axis=0) - r.truth).mean()) for r in runs]

    def beyond_both(none: float, *cut: float) -> float:
        return none - max(cut)

    text = "identity on Q1: truncation narrows the answers (5 to 95 %)"
    yield claim(text, seeds, widths, beyond_both)
    text = "identity on Q1: mean answers without truncation deviate most from the truth"
    yield claim(text, seeds, off, beyond_both)
    yield claim(
        "identity on Q1: SVT has a smaller error than the recursive mechanism",
        seeds,
        relative("Q1", ("identity",), KEPT[1:]),
        lambda svt, recursive: recursive - svt,
    )


def matrix_claims(seeds: Seeds, star: str) -> Iterator[Row]:
    """Judge what the paper says of the matrix mechanisms, on Q1 with SVT."""
    timm, tamm = f"timm{star}", f"tamm{star}"

    def wins(seed: Seed) -> list[float]:
        means = [seed.smooth["Q1", kind, "svt"].mean for kind in ("identity", timm, tamm)]
        return [float(v) for v in np.bincount(np.argmin(means, axis=0), minlength=3)]

    def ratio(seed: Seed) -> Floats:
        found: Floats = seed.smooth["Q1", timm, "svt"].mean / seed.smooth["Q1", tamm, "svt"].mean
        return found

    def spreads(kind: str) -> Numbers:
        return lambda seed: [spread(seed.smooth["Q1", k, "svt"]) for k in (kind, "identity")]

    for kind in (tamm, timm):
        text = f"{kind} varies less than identity"
        yield claim(text, seeds, spreads(kind), lambda ours, identity: identity - ours)
    yield claim(
        f"{tamm} is the best on most of the 1,000 queries (wins of identity, {timm}, {tamm})",
        seeds,
        wins,
        lambda *found: found[2] - 500,
    )
    yield claim(
        f"{timm} errs about ten times as much as {tamm} on very small queries "
        "(median of 50; queries 1, 10, 50, 100)",
        seeds,
        lambda s: [float(np.median(ratio(s)[:50])), *ratio(s)[[0, 9, 49, 99]].tolist()],
        lambda median, *_: min(median - 3, 30 - median),
    )
    yield claim(
        f"{timm} becomes competitive as queries grow (the last 250, within a quarter)",
        seeds,
        lambda s: [float(ratio(s)[750:].mean())],
        lambda found: 1.25 - found,
    )
    yield claim(
        f"{timm} errs less than {tamm} on very large queries (the last 10)",
        seeds,
        lambda s: [float(ratio(s)[-10:].mean())],
        lambda found: 1 - found,
    )


def baseline_claims(seeds: Seeds, star: str) -> Iterator[Row]:
    """Judge what the paper says of the baselines, on Q1 with SVT."""
    kinds = "identity", "workload", f"sqm{star}"
    yield claim(
        f"identity has a smaller error than {kinds[1]} and {kinds[2]}",
        seeds,
        relative("Q1", kinds, ("svt",)),
        lambda identity, *others: min(others) - identity,
    )


def isotonic_claims(seeds: Seeds, star: str) -> Iterator[Row]:
    """Judge what the paper says of isotonic regression, on Q2 with SVT."""
    sqm = f"sqm{star}"

    def gains(seed: Seed) -> list[float]:
        before, after = (relative("Q2", ("workload", sqm), ("svt",), side)(seed) for side in (0, 1))
        return [one / other for one, other in zip(before, after, strict=True)]

    def both(seed: Seed) -> list[Floats]:
        return [runs["Q2", sqm, "svt"].relative for runs in seed]

    def worse(seed: Seed) -> list[float]:
        before, after = both(seed)
        return [float((after.var(axis=0) > before.var(axis=0)).sum())]

    def low(seed: Seed) -> list[float]:
        before, after = (np.percentile(found, 5, axis=0) for found in both(seed))
        return [float((after > before).sum()), float(before.mean()), float(after.mean())]

    yield claim(
        f"isotonic regression lowers the mean error of workload more than that of {sqm} (factors)",
        seeds,
        gains,
        lambda workload, other: workload - other,
    )
    yield claim(
        f"it lowers the mean error of {sqm} only slightly (by less than a fifth)",
        seeds,
        lambda s: [1 / gains(s)[1]],
        lambda left: min(left - 0.8, 1 - left),
    )
    yield claim(
        f"it raises the variance of the errors of {sqm} for most of the 100 queries",
        seeds,
        worse,
        lambda found: found - 50,
    )
    yield claim(
        f"it raises the 5 percentile of the errors of {sqm} for most queries, and twofold in the "
        "mean",
        seeds,
        low,
        lambda most, before, after: min(most / 50 - 1, after / before / 2 - 1),
    )


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
