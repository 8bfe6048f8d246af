"""The experiments of Wu et al. 2019, section 4, on a table of incomes.

    python benchmarks/experiments_wu.py ../shared/data/cps_private.parquet --trials 100

Prefix sums of incomes below 800, 1600, ..., 800000 (Q1; every 10th: Q2; every 100th: Q3), five
mechanisms with three truncations each, epsilon 0.01, of which a tenth finds the threshold.  The
error of an answer is ``|noisy - true| / max(true, 100)``; true is the sum over buckets, as in the
paper's analysis.  Noise is seeded, which protects nobody: for tables that are public anyway.

Two things are run a second time as published: SQM with the whole epsilon for each query (Algorithms
2 and 3 as printed), and TIMM and TAMM with the GreedyH of Li, Hay and Miklau.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

from deciders import Histogram, SimulatedNoise
from deciders.batch.hierarchy import Crossings, Hierarchy, level_edges
from deciders.batch.isotonic import isotonic
from deciders.batch.matrix import TreeStrategy
from deciders.batch.mechanisms import (
    BatchMechanism,
    SingleQueries,
    TruncationAware,
    TruncationIndependent,
)
from deciders.batch.ranking import MECHANISMS, TRUNCATIONS
from deciders.batch.strategies import quantised
from deciders.batch.sums import Buckets, RangeSums, running_sums
from deciders.histogram import Integers
from deciders.laplace import Floats

BUCKETS = Buckets.equal(800, 1000)
STEPS = {"Q1": 1, "Q2": 10, "Q3": 100}
LEAST = 100
IDS = tuple(MECHANISMS)
SHOWN = (*IDS, "sqm*", "timm*", "tamm*")
KEPT = ("none", "svt", "recursive")
RESTS = np.arange(200, 0, -1)[:, None] / 200


@dataclass(frozen=True)
class Runs:
    """Answers of one configuration, a row for each trial, and the errors that theory expects."""

    answers: Floats
    truth: Floats
    expected: Floats

    @property
    def smooth(self) -> "Runs":
        """The same after isotonic regression."""
        regressed = np.array([isotonic(row) for row in self.answers])
        return Runs(regressed, self.truth, self.expected)

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


Results = dict[tuple[str, str, str], Runs]
Row = tuple[str, str, str]


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
        tried = (error - gains * (1 - RESTS) ** 2 / (RESTS**2 + total * (1 - RESTS) ** 2)) / (
            RESTS**2
        )
        parted = np.diff(edges[depth]) > 1
        rest = np.where(parted, RESTS[np.argmin(tried, axis=0), 0], 1.0)
        error = np.where(parted, tried.min(axis=0), error)
        shrunk = 1 / (rest**2 + total * (1 - rest) ** 2)
        total = total * shrunk
        shares = shares * np.repeat(shrunk, np.diff(edges[depth]))
        taken.insert(0, 1 - rest)
    return quantised(taken, coefficients.size)


class PublishedIndependent(TruncationIndependent):
    """TIMM with the published GreedyH."""

    def strategy(self, weights: Integers) -> TreeStrategy:
        """Return its tree."""
        return TreeStrategy.of_sums(self.workload, weights, published_greedy)


class PublishedAware(TruncationAware):
    """TAMM with the published GreedyH."""

    def strategy(self, weights: Integers) -> TreeStrategy:
        """Return its tree."""
        return TreeStrategy.of_counts(self.workload, weights, published_greedy)


def simulated(histogram: Histogram, epsilon: str, trials: int, seed: int) -> Results:
    """Run every configuration on every workload."""
    found: Results = {}

    def run(name: str, label: str, mechanism: BatchMechanism, budget: Fraction) -> None:
        noise = SimulatedNoise(seed)
        drawn = [mechanism.release(histogram, budget, noise).answers for _ in range(trials)]
        workload = mechanism.workload
        found[name, label, mechanism.truncation.id] = Runs(
            np.array(drawn),
            workload.answers(BUCKETS.counts(histogram)).astype(np.float64),
            mechanism.expected_errors(histogram, budget),
        )

    for name, step in STEPS.items():
        workload = RangeSums.prefixes(BUCKETS, range(step, len(BUCKETS.ends) + 1, step))
        for truncation in TRUNCATIONS:
            for kind in MECHANISMS.values():
                mechanism = kind(workload=workload, truncation=truncation)
                run(name, kind.id, mechanism, Fraction(epsilon))
            # What Algorithms 2 and 3 spend: epsilon for each query.
            whole = Fraction(epsilon) * len(workload.ranges)
            run(name, "sqm*", SingleQueries(workload=workload, truncation=truncation), whole)
            for label, kind in (("timm*", PublishedIndependent), ("tamm*", PublishedAware)):
                run(name, label, kind(workload=workload, truncation=truncation), Fraction(epsilon))
    return found


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def errors(results: Results, smooth: Results) -> None:
    """Print the errors of all configurations, with and without isotonic regression."""
    print("## Mean relative error over all queries: without -> with isotonic regression\n")
    for name in STEPS:
        table(
            (name, "no truncation", "SVT", "recursive"),
            (
                (
                    kind,
                    *(
                        f"{results[name, kind, t].mean.mean():.3g} -> "
                        f"{smooth[name, kind, t].mean.mean():.3g}"
                        for t in KEPT
                    ),
                )
                for kind in SHOWN
            ),
        )
    print("## Root mean squared error: simulated / expected (closed form) -> with isotonic\n")
    for name in STEPS:
        table(
            (name, "no truncation", "SVT", "recursive"),
            (
                (
                    kind,
                    *(
                        f"{results[name, kind, t].root_mean_square:.3g} / "
                        f"{np.sqrt(results[name, kind, t].expected.mean()):.3g} -> "
                        f"{smooth[name, kind, t].root_mean_square:.3g}"
                        for t in KEPT
                    ),
                )
                for kind in SHOWN
            ),
        )


def listed(values: Sequence[float]) -> str:
    """Return numbers with three digits; of three, those of KEPT."""
    return ", ".join(f"{value:.3g}" for value in values)


def spread(runs: Runs) -> float:
    """Return the mean, over the queries, of the width between the 5 and 95 percentiles."""
    low, high = np.percentile(runs.answers, [5, 95], axis=0)
    return float((high - low).mean())


def claim(text: str, evidence: str, *, holds: bool) -> Row:
    """Return a row of the table of claims."""
    return text, evidence, "yes" if holds else "**no**"


def truncation_claims(results: Results, smooth: Results) -> Iterator[Row]:
    """Judge what the paper says of truncation."""
    for name in STEPS:
        for kind in IDS:
            means = [float(smooth[name, kind, t].mean.mean()) for t in KEPT]
            squares = [float(np.sqrt(results[name, kind, t].expected.mean())) for t in KEPT]
            lower = sum(v < found[0] for found in (means, squares) for v in found[1:])
            yield (
                f"truncation lowers the error of {kind}, {name}",
                f"relative {listed(means)}; expected root mean square {listed(squares)}",
                {4: "yes", 0: "**no**"}.get(lower, f"in {lower} of 4 comparisons"),
            )
    runs = [smooth["Q1", "identity", t] for t in KEPT]
    spreads = [spread(r) for r in runs]
    yield claim(
        "identity on Q1: truncation narrows the answers (5 to 95 %)",
        listed(spreads),
        holds=max(spreads[1:]) < spreads[0],
    )
    off = [float(np.abs(r.answers.mean(axis=0) - r.truth).mean()) for r in runs]
    yield claim(
        "identity on Q1: mean answers without truncation deviate most from the truth",
        listed(off),
        holds=off[0] > max(off[1:]),
    )
    ours = [float(r.mean.mean()) for r in runs]
    yield claim(
        "identity on Q1: SVT has a smaller error than the recursive mechanism",
        f"relative error {listed(ours)}",
        holds=ours[1] < ours[2],
    )


def matrix_claims(smooth: Results, star: str) -> Iterator[Row]:
    """Judge what the paper says of the matrix mechanisms, on Q1 with SVT."""
    timm, tamm = f"timm{star}", f"tamm{star}"
    runs = {kind: smooth["Q1", kind, "svt"] for kind in ("identity", timm, tamm)}
    mean = {kind: run.mean for kind, run in runs.items()}
    for kind in (tamm, timm):
        widths = spread(runs[kind]), spread(runs["identity"])
        yield claim(
            f"{kind} varies less than identity", listed(widths), holds=widths[0] < widths[1]
        )
    best = np.array(list(mean.values())).argmin(axis=0)
    wins = {kind: int((best == i).sum()) for i, kind in enumerate(mean)}
    yield claim(
        f"{tamm} is the best on most queries",
        ", ".join(f"{kind} {number}" for kind, number in wins.items()) + " of 1000",
        holds=wins[tamm] > 500,
    )
    ratio = mean[timm] / mean[tamm]
    places = [1, 10, 25, 50, 100, 250, 500, 1000]
    yield claim(
        f"{timm} errs about ten times as much as {tamm} on very small queries (the first 50)",
        "; ".join(f"{ratio[i - 1]:.3g} times at q_{800 * i}" for i in places),
        holds=3 < float(np.median(ratio[:50])) < 30,
    )
    ends = float(ratio[750:].mean()), float(ratio[-10:].mean())
    yield claim(
        f"{timm} becomes competitive as queries grow (the last 250, within a quarter)",
        f"{ends[0]:.3g} times",
        holds=ends[0] < 1.25,
    )
    yield claim(
        f"{timm} errs less than {tamm} on very large queries (the last 10)",
        f"{ends[1]:.3g} times",
        holds=ends[1] < 1,
    )


def baseline_claims(smooth: Results, star: str) -> Iterator[Row]:
    """Judge what the paper says of the baselines, on Q1 with SVT."""
    kinds = "identity", "workload", f"sqm{star}"
    means = {kind: float(smooth["Q1", kind, "svt"].mean.mean()) for kind in kinds}
    yield claim(
        f"identity is the best of the baselines ({kinds[-1]} among them)",
        ", ".join(f"{kind} {mean:.3g}" for kind, mean in means.items()),
        holds=min(means, key=lambda kind: means[kind]) == "identity",
    )


def isotonic_claims(results: Results, smooth: Results, star: str) -> Iterator[Row]:
    """Judge what the paper says of isotonic regression, on Q2 with SVT."""
    sqm = f"sqm{star}"
    before, after = ({k: r["Q2", k, "svt"] for k in ("workload", sqm)} for r in (results, smooth))
    gain = {k: float(before[k].mean.mean() / after[k].mean.mean()) for k in before}
    yield claim(
        f"isotonic regression lowers the mean error of workload more than that of {sqm}",
        ", ".join(f"{k} by a factor of {v:.3g}" for k, v in gain.items()),
        holds=gain["workload"] > gain[sqm],
    )
    means = [float(runs[sqm].mean.mean()) for runs in (before, after)]
    yield claim(
        f"it lowers the mean error of {sqm} only slightly (by less than a fifth)",
        listed(means),
        holds=0.8 < means[1] / means[0] < 1,
    )
    worse = int((after[sqm].relative.var(axis=0) > before[sqm].relative.var(axis=0)).sum())
    yield claim(
        f"it raises the variance of the errors of {sqm} for most queries",
        f"for {worse} of 100",
        holds=worse > 50,
    )
    low = [np.percentile(runs[sqm].relative, 5, axis=0) for runs in (before, after)]
    raised = int((low[1] > low[0]).sum())
    yield claim(
        f"it raises the 5 percentile of the errors of {sqm} (more than twofold, for most)",
        f"for {raised} of 100; in the mean {listed([float(v.mean()) for v in low])}",
        holds=raised > 50 and float(low[1].mean()) > 2 * float(low[0].mean()),
    )


def main() -> None:
    """Read the table, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("table", help="a Parquet file")
    parser.add_argument("--column", default="income")
    parser.add_argument("--epsilon", default="0.01")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    values = pd.read_parquet(given.table)[given.column].to_numpy()
    histogram = Histogram.from_values(values)
    results = simulated(histogram, given.epsilon, given.trials, given.seed)
    smooth = {key: runs.smooth for key, runs in results.items()}
    truth = results["Q1", "identity", "none"].truth
    raw = np.array([histogram.sum_at_most(end) for end in BUCKETS.ends])
    print(
        f"{histogram.mass} rows, largest value {histogram.largest}, epsilon {given.epsilon}, "
        f"{given.trials} trials, seed {given.seed}.  Sums over buckets exceed the rows' own by "
        f"{100 * float((truth / raw - 1)[-1]):.2g} % in the last query.\n"
    )
    print("sqm*: epsilon for each query.  timm*, tamm*: the published GreedyH.\n")
    errors(results, smooth)
    print("## Claims of the paper\n")
    rows = [*truncation_claims(results, smooth)]
    for star in ("", "*"):
        rows += matrix_claims(smooth, star)
        rows += baseline_claims(smooth, star)
        rows += isotonic_claims(results, smooth, star)
    table(("claim (with isotonic regression)", "here", "reproduces"), iter(rows))


if __name__ == "__main__":
    main()
