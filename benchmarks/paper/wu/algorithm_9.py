"""Algorithm 9 of Wu et al. 2019: one threshold and one noise vector for several mechanisms.

It compares mechanisms and protects nobody: four answers from the same noise tell the noise.  So it
lives in the experiments only.  SQM is not part of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.optimize import isotonic_regression

from benchmarks.paper.wu.mechanisms import (
    BATCHES,
    EPSILON,
    MECHANISMS,
    SQM,
    SQM_PRINTED,
    STEPS,
    TRUNCATIONS,
    WORKLOADS,
    Configuration,
)
from pqd.deciders import Histogram, SimulatedNoise
from pqd.deciders.batch.range_sums.mechanisms import Strategy
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers

# The paper gives the noise vector length n = 1,000, the number of buckets.  A tree over them has up
# to twice as many nodes, and every measurement needs noise of its own.
LENGTH = 2048
# Least denominator of a relative error: the paper's delta.
LEAST = 100
_STRATEGIES = 512


@dataclass(frozen=True, slots=True)
class Prepared:
    """Strategy at one threshold, its measured numbers without noise, and the scale of the noise."""

    strategy: Strategy
    statistics: Floats
    scale: float

    @classmethod
    def of(cls, strategy: Strategy, counts: Integers, budget: Fraction) -> "Prepared":
        """Strategy with what it measures on a table, for the budget of the noise."""
        statistics = np.array(strategy.statistics(counts), dtype=np.float64)
        return cls(strategy, statistics, float(strategy.norm / budget))

    def answers(self, noise: Floats) -> Floats:
        """Answers with the beginning of a vector of Laplace noise of scale 1."""
        return self.strategy.answers(self.statistics + self.scale * noise[: self.statistics.size])


@dataclass(frozen=True, eq=False)
class Table:
    """Vector form of a table: the number of rows in each bucket."""

    histogram: Histogram
    counts: Integers

    @classmethod
    def of(cls, incomes: Integers) -> "Table":
        """Table of incomes."""
        histogram = Histogram.from_values(incomes)
        return cls(histogram, WORKLOADS["Q1"].buckets.counts(histogram))

    def truth(self, workload: str) -> Floats:
        """Sums over buckets without truncation."""
        return WORKLOADS[workload].answers(self.counts).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Runs:
    """Answers of one configuration, a row for each trial, and the true answers."""

    answers: Floats
    truth: Floats

    @property
    def smooth(self) -> "Runs":
        """Runs after isotonic regression."""
        return Runs(np.array([isotonic_regression(row).x for row in self.answers]), self.truth)

    @property
    def relative(self) -> Floats:
        """Relative errors, a row for each trial."""
        errors: Floats = np.abs(self.answers - self.truth) / np.maximum(self.truth, LEAST)
        return errors

    @property
    def root_mean_square(self) -> float:
        """Root of the mean squared error over queries and trials."""
        return float(np.sqrt(((self.answers - self.truth) ** 2).mean()))

    @property
    def variance(self) -> float:
        """Mean over the queries of the variance of the answers."""
        return float(self.answers.var(axis=0, ddof=1).mean())

    @property
    def deviation(self) -> float:
        """Mean over the queries of the distance between mean answer and truth."""
        return float(np.abs(self.answers.mean(axis=0) - self.truth).mean())


def generator(seed: int, workload: str, truncation: str, *others: int) -> np.random.Generator:
    """Generator of one configuration, independent of all others."""
    place = list(STEPS).index(workload), list(TRUNCATIONS).index(truncation)
    return np.random.default_rng([seed, *place, *others])


def batches(
    table: Table,
    workload: str,
    truncation: str,
    seed: int,
    trials: int,
    mechanisms: Iterable[str] = tuple(BATCHES),
) -> dict[str, Runs]:
    """Trials of Algorithm 9: in each, all mechanisms have one threshold and one noise vector."""
    rng = generator(seed, workload, truncation)
    noise, buckets = SimulatedNoise(rng), WORKLOADS[workload].buckets
    built = {
        name: kind(workload=WORKLOADS[workload], truncation=TRUNCATIONS[truncation])
        for name, kind in BATCHES.items()
    }
    spent, rest = built["identity"].budgets(EPSILON)

    @lru_cache(_STRATEGIES)
    def prepared(name: str, threshold: int) -> Prepared:
        strategy = built[name].strategy(WORKLOADS[workload].weights(threshold))
        return Prepared.of(strategy, table.counts, rest)

    answers: dict[str, list[Floats]] = {name: [] for name in mechanisms}
    for _ in range(trials):
        threshold = TRUNCATIONS[truncation].threshold(
            table.counts, buckets, buckets.top, spent, noise
        )
        vector = rng.laplace(size=LENGTH)
        for name, rows in answers.items():
            rows.append(prepared(name, threshold).answers(vector))
    truth = table.truth(workload)
    return {name: Runs(np.array(rows), truth) for name, rows in answers.items()}


def single(table: Table, configuration: Configuration, seed: int, trials: int, place: int) -> Runs:
    """Trials of SQM: every query has its own threshold, drawn by its law, and its own noise."""
    mechanism, rng = (
        configuration.built,
        generator(seed, configuration.workload, configuration.truncation, place),
    )
    workload, rest = mechanism.workload, float(mechanism.budgets(configuration.budget)[1])
    law = mechanism.law(table.histogram, configuration.budget)
    chances = np.array(list(law.values()))
    shape = trials, len(workload.ranges)
    drawn = rng.choice(np.array(list(law)), size=shape, p=chances / chances.sum())
    # A rung at or above the largest weight of a query truncates nothing of it.
    thresholds = np.minimum(drawn, workload.tops)
    sums = [workload.answers(table.counts, row).astype(np.float64) for row in thresholds]
    noise = rng.laplace(size=shape) * thresholds / rest
    return Runs(np.array(sums) + noise, table.truth(configuration.workload))


def independent(
    table: Table, configuration: Configuration, seed: int, trials: int, place: int
) -> Runs:
    """Trials of pqd's own release, with its own threshold and noise."""
    noise = SimulatedNoise(generator(seed, configuration.workload, configuration.truncation, place))
    mechanism = configuration.built
    rows = [
        mechanism.release(table.histogram, configuration.budget, noise).answers
        for _ in range(trials)
    ]
    return Runs(np.array(rows), table.truth(configuration.workload))


def all_runs(
    table: Table,
    workload: str,
    truncation: str,
    seed: int,
    trials: int,
    mechanisms: Iterable[str] = MECHANISMS,
) -> dict[str, Runs]:
    """Runs of mechanisms on one workload with one truncation; a subset has the same answers."""
    names = tuple(mechanisms)
    shared = batches(table, workload, truncation, seed, trials, [n for n in names if n in BATCHES])
    alone = {
        name: single(table, Configuration(workload, name, truncation), seed, trials, place)
        for place, name in enumerate((SQM, SQM_PRINTED), start=1)
        if name in names
    }
    return {**alone, **shared}
