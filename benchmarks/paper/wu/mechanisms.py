"""The mechanisms of Wu et al. 2019, section 4: pqd's, and three as they were published."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.range_workloads import equal_buckets, expected_errors, prefix_sums
from pqd.deciders import Histogram
from pqd.deciders.batch.range_sums.hierarchy import (
    Crossings,
    Hierarchy,
    hierarchy_of_shares,
    level_edges,
)
from pqd.deciders.batch.range_sums.mechanisms import (
    IdentityMechanism,
    MatrixMechanism,
    RangeSumMechanism,
    SingleQueries,
    TreeStrategy,
    TruncationAware,
    TruncationIndependent,
    WorkloadMechanism,
)
from pqd.deciders.batch.range_sums.truncation import (
    NoTruncation,
    RecursiveTruncation,
    SparseVectorTruncation,
    Truncation,
)
from pqd.deciders.batch.range_sums.workload import running_sums
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers

EPSILON = Fraction(1, 100)
BUCKETS = equal_buckets(800, 1000)
STEPS = {"Q1": 1, "Q2": 10, "Q3": 100}
WORKLOADS = {
    name: prefix_sums(BUCKETS, range(step, len(BUCKETS.ends) + 1, step))
    for name, step in STEPS.items()
}
# Parameters of the paper, for incomes in dollars.
NONE, SVT, RECURSIVE = (
    NoTruncation(),
    SparseVectorTruncation(start=50_000, growth="1.2", kept="0.998"),
    RecursiveTruncation(start=50_000),
)
TRUNCATIONS: dict[str, Truncation] = {each.id: each for each in (NONE, SVT, RECURSIVE)}
# Parts of a node's norm that its children keep, as the authors of GreedyH try them.
_RESTS = np.arange(100, 0, -1)[:, None] / 100


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
            error - gains * (1 - _RESTS) ** 2 / (_RESTS**2 + total * fading * (1 - _RESTS) ** 2)
        ) / (_RESTS**2)
        parted = np.diff(edges[depth]) > 1
        rest = np.where(parted, _RESTS[np.argmin(tried, axis=0), 0], 1.0)
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


# Mechanisms of Algorithm 9, with the published GreedyH and with pqd's.
TIMM, TAMM, TIMM_OURS, TAMM_OURS = "timm", "tamm", "timm (pqd)", "tamm (pqd)"
BATCHES: dict[str, type[MatrixMechanism]] = {
    "identity": IdentityMechanism,
    "workload": WorkloadMechanism,
    TIMM: PublishedIndependent,
    TAMM: PublishedAware,
    TIMM_OURS: TruncationIndependent,
    TAMM_OURS: TruncationAware,
}
# SQM splits epsilon (Table 1, Algorithm 1), or spends it on each query (Algorithms 2 and 3).
SQM, SQM_PRINTED = "sqm", "sqm (epsilon each)"
MECHANISMS: tuple[str, ...] = (SQM, SQM_PRINTED, *BATCHES)


def label(mechanism: str) -> str:
    """Name of a mechanism as the paper writes it, such as ``TIMM (pqd)``."""
    name, space, variant = mechanism.partition(" ")
    return f"{name.upper()}{space}{variant}"


@dataclass(frozen=True, slots=True)
class Configuration:
    """One mechanism on one workload with one truncation, all by their names."""

    workload: str
    mechanism: str
    truncation: str

    @property
    def budget(self) -> Fraction:
        """Epsilon of the batch."""
        queries = len(WORKLOADS[self.workload].ranges)
        return EPSILON * (queries if self.mechanism == SQM_PRINTED else 1)

    @property
    def built(self) -> RangeSumMechanism:
        """Mechanism with its workload and truncation."""
        kind: type[RangeSumMechanism] = BATCHES.get(self.mechanism, SingleQueries)
        return kind(workload=WORKLOADS[self.workload], truncation=TRUNCATIONS[self.truncation])

    @property
    def measured(self) -> int:
        """Number of noisy numbers that a release without truncation draws."""
        mechanism = self.built
        if not isinstance(mechanism, MatrixMechanism):
            return len(mechanism.workload.ranges)
        strategy = mechanism.strategy(mechanism.workload.weights(BUCKETS.top))
        return len(strategy.statistics(np.zeros(len(BUCKETS.ends), np.int64)))

    def expected(self, histogram: Histogram) -> Floats:
        """Expected squared error of each answer, over the distribution of the threshold."""
        return expected_errors(self.built, histogram, self.budget)
