"""Runs of the mechanisms of Wu et al. 2019, section 4; three of them also as published."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from benchmarks.range_workloads import equal_buckets, expected_errors, prefix_sums
from pqd.deciders import Histogram, SimulatedNoise
from pqd.deciders.batch.range_sums.hierarchy import (
    Crossings,
    Hierarchy,
    hierarchy_of_shares,
    level_edges,
)
from pqd.deciders.batch.range_sums.mechanisms import (
    RangeSumMechanism,
    SingleQueries,
    TreeStrategy,
    TruncationAware,
    TruncationIndependent,
)
from pqd.deciders.batch.range_sums.select import MECHANISMS
from pqd.deciders.batch.range_sums.truncation import (
    NoTruncation,
    RecursiveTruncation,
    SparseVectorTruncation,
)
from pqd.deciders.batch.range_sums.workload import running_sums
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers

BUCKETS = equal_buckets(800, 1000)
STEPS = {"Q1": 1, "Q2": 10, "Q3": 100}
WORKLOADS = {
    name: prefix_sums(BUCKETS, range(step, len(BUCKETS.ends) + 1, step))
    for name, step in STEPS.items()
}
# Parameters of the paper, for incomes in dollars.
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
    """Answers of one configuration, one row for each trial."""

    answers: Floats
    truth: Floats

    @property
    def smooth(self) -> "Runs":
        """Runs after isotonic regression."""
        return Runs(np.array([isotonic_regression(row).x for row in self.answers]), self.truth)

    @property
    def relative(self) -> Floats:
        """Relative errors, one row for each trial."""
        errors: Floats = np.abs(self.answers - self.truth) / np.maximum(self.truth, LEAST)
        return errors

    @property
    def mean(self) -> Floats:
        """Mean relative error of each query."""
        mean: Floats = self.relative.mean(axis=0)
        return mean

    @property
    def root_mean_square(self) -> float:
        """Root of the mean squared error over queries and trials."""
        return float(np.sqrt(((self.answers - self.truth) ** 2).mean()))


Key = tuple[str, str, str]


class Seed(NamedTuple):
    """Results of one seed: without and with isotonic regression."""

    raw: dict[Key, Runs]
    smooth: dict[Key, Runs]


Seeds = Sequence[Seed]


def published_greedy(starts: Integers, stops: Integers, coefficients: Floats) -> Hierarchy:
    """Tree with the weights of Li, Hay and Miklau 2014.

    Each node counts every range, with a factor that becomes smaller with the depth of the node.
    """
    edges = level_edges(coefficients.size)
    lies = [Crossings(level, starts, stops) for level in edges]

    def squares(depth: int) -> Floats:
        whole: Floats = np.diff(running[edges[depth]]) ** 2
        return lies[depth].squares(running) + lies[depth].whole() * whole

    shares, total = np.ones(coefficients.size), np.diff(edges[-1]).astype(np.float64)
    running = running_sums(coefficients)
    error = squares(len(edges) - 1)
    node_shares: list[Floats] = []
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
        node_shares.insert(0, 1 - rest)
    return hierarchy_of_shares(node_shares, coefficients.size)


class PublishedIndependent(TruncationIndependent):
    """TIMM with the published GreedyH."""

    def strategy(self, weights: Integers) -> TreeStrategy:
        """Strategy whose tree has the published weights."""
        return TreeStrategy.of_sums(self.workload, weights, published_greedy)


class PublishedAware(TruncationAware):
    """TAMM with the published GreedyH."""

    def strategy(self, weights: Integers) -> TreeStrategy:
        """Strategy whose tree has the published weights."""
        return TreeStrategy.of_counts(self.workload, weights, published_greedy)


@cache
def configurations(epsilon: str) -> dict[Key, tuple[RangeSumMechanism, Fraction]]:
    """All configurations: each mechanism with its budget."""
    mechanisms: dict[Key, tuple[RangeSumMechanism, Fraction]] = {}
    for name, workload in WORKLOADS.items():
        for truncation in TRUNCATIONS:
            kinds: dict[str, type[RangeSumMechanism]] = {
                **MECHANISMS,
                "sqm*": SingleQueries,
                "timm*": PublishedIndependent,
                "tamm*": PublishedAware,
            }
            for label, kind in kinds.items():
                # Algorithms 2 and 3 as printed spend epsilon on each query.
                times = len(workload.ranges) if label == "sqm*" else 1
                mechanism = kind(workload=workload, truncation=truncation)
                mechanisms[name, label, truncation.id] = mechanism, times * Fraction(epsilon)
    return mechanisms


def simulated(histogram: Histogram, epsilon: str, trials: int, seed: int) -> Seed:
    """Run every configuration on every workload."""
    counts, raw = BUCKETS.counts(histogram), {}
    for key, (mechanism, budget) in configurations(epsilon).items():
        noise = SimulatedNoise(seed)
        answers = [mechanism.release(histogram, budget, noise).answers for _ in range(trials)]
        truth = mechanism.workload.answers(counts).astype(np.float64)
        raw[key] = Runs(np.array(answers), truth)
    return Seed(raw, {key: runs.smooth for key, runs in raw.items()})


def expected(histogram: Histogram, epsilon: str) -> dict[Key, float]:
    """Root mean squared errors by theory, averaged over the distribution of the threshold."""
    return {
        key: float(np.sqrt(expected_errors(mechanism, histogram, budget).mean()))
        for key, (mechanism, budget) in configurations(epsilon).items()
    }
