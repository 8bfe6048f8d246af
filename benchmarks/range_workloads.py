"""Workloads of range sums as in Wu et al. 2019, and the expected errors of a mechanism."""

from collections.abc import Iterable

import numpy as np

from pqd.deciders.batch.range_sums.mechanisms import RangeSumMechanism
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from pqd.deciders.distributions import Floats
from pqd.deciders.exact import Number
from pqd.deciders.histogram import Histogram


def equal_buckets(width: int, number: int) -> Buckets:
    """Buckets that end at ``width``, ``2 width``, ..., ``number * width``."""
    return Buckets(tuple(width * i for i in range(1, number + 1)))


def prefix_sums(buckets: Buckets, stops: Iterable[int] | None = None) -> RangeSums:
    """Sums over the first ``stop`` buckets, for each of ``stops``; by default for every bucket."""
    ends = range(1, len(buckets.ends) + 1) if stops is None else stops
    return RangeSums(buckets, tuple((0, stop) for stop in ends))


def expected_errors(mechanism: RangeSumMechanism, histogram: Histogram, epsilon: Number) -> Floats:
    """Expected squared error of each answer (Wu 2019, A.3, A.4).

    It is the mean over the distribution of the threshold.
    """
    total = np.zeros(len(mechanism.workload.ranges))
    for threshold, chance in mechanism.law(histogram, epsilon).items():
        total += chance * mechanism.errors(histogram, threshold, epsilon)
    return total
