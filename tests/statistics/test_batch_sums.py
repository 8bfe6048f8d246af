"""Simulated batches of sums against their expected errors, which must reject wrong noise."""

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.range_workloads import expected_errors
from pqd.deciders import Histogram, SimulatedNoise
from pqd.deciders.batch.range_sums.mechanisms import RangeSumMechanism
from pqd.deciders.batch.range_sums.select import MECHANISMS
from pqd.deciders.batch.range_sums.truncation import (
    NoTruncation,
    RecursiveTruncation,
    SparseVectorTruncation,
    Truncation,
)
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from tests.support.noises import Scaled

RUNS = 800
LIMIT = 4.5

WORKLOAD = RangeSums(
    Buckets((2, 4, 6, 9, 14, 20)), ((0, 1), (0, 3), (0, 6), (2, 5), (4, 6), (1, 4))
)
TABLE = Histogram.from_values([1] * 25 + [4] * 20 + [6] * 12 + [9] * 3 + [20] * 2)
TRUNCATIONS = (
    NoTruncation(),
    SparseVectorTruncation(start=4, growth=Fraction(3, 2), kept=Fraction(9, 10), share="0.3"),
    RecursiveTruncation(start=4, share="0.3"),
)


def off(mechanism: RangeSumMechanism, noise: SimulatedNoise) -> float:
    """How many standard errors the mean squared error lies from what is expected, at most."""
    workload = mechanism.workload
    truth = workload.answers(workload.buckets.counts(TABLE)).astype(np.float64)
    answers = [mechanism.release(TABLE, "0.8", noise).answers for _ in range(RUNS)]
    squares = (np.array(answers) - truth) ** 2
    expected = expected_errors(mechanism, TABLE, "0.8")
    spread = squares.std(axis=0) / np.sqrt(RUNS)
    return float((np.abs(squares.mean(axis=0) - expected) / spread).max())


@pytest.mark.parametrize("name", list(MECHANISMS))
@pytest.mark.parametrize("truncation", TRUNCATIONS, ids=lambda truncation: truncation.id)
def test_simulated_errors_are_those_expected(name: str, truncation: Truncation) -> None:
    found = off(MECHANISMS[name](workload=WORKLOAD, truncation=truncation), SimulatedNoise(7))
    assert found < LIMIT, f"{found:.1f} standard errors"


@pytest.mark.parametrize("name", list(MECHANISMS))
@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(13, 10)], ids=["less", "more"])
def test_wrong_noise_is_rejected(name: str, factor: Fraction) -> None:
    found = off(MECHANISMS[name](workload=WORKLOAD), Scaled(7, factor))
    assert found > LIMIT, f"{found:.1f} standard errors"


def test_deviations_are_those_of_the_answers() -> None:
    """Given its threshold, an answer is unbiased for the truncated sum."""
    counts = WORKLOAD.buckets.counts(TABLE)
    for name, kind in MECHANISMS.items():
        mechanism, noise = kind(workload=WORKLOAD, truncation=TRUNCATIONS[1]), SimulatedNoise(3)
        standard = []
        for _ in range(RUNS):
            released = mechanism.release(TABLE, "0.8", noise)
            sums = WORKLOAD.answers(counts, np.array(released.thresholds)).astype(np.float64)
            assert released.deviations is not None
            standard.append((released.answers - sums) / released.deviations)
        z = np.array(standard)
        assert np.abs(z.mean(axis=0)).max() < LIMIT / np.sqrt(RUNS), name
        assert np.abs(z.std(axis=0) - 1).max() < 0.15, name
