"""Which mechanism to use for a batch of range sums, judged on public data."""

from collections.abc import Iterable
from typing import NamedTuple

from deciders.batch.mechanisms import (
    BatchMechanism,
    IdentityMechanism,
    SingleQueries,
    TruncationAware,
    TruncationIndependent,
    WorkloadMechanism,
)
from deciders.batch.sums import RangeSums
from deciders.batch.truncation import (
    NoTruncation,
    RecursiveTruncation,
    SparseVectorTruncation,
    Truncation,
)
from deciders.exact import Number
from deciders.histogram import Histogram

TRUNCATIONS: tuple[Truncation, ...] = (
    NoTruncation(),
    SparseVectorTruncation(),
    RecursiveTruncation(),
)

MECHANISMS: dict[str, type[BatchMechanism]] = {
    kind.id: kind
    for kind in (
        SingleQueries,
        IdentityMechanism,
        WorkloadMechanism,
        TruncationIndependent,
        TruncationAware,
    )
}


class Ranked(NamedTuple):
    """A mechanism and its expected total squared error."""

    error: float
    mechanism: BatchMechanism


def ranking(
    workload: RangeSums,
    public: Histogram,
    epsilon: Number,
    truncations: Iterable[Truncation] = TRUNCATIONS,
) -> list[Ranked]:
    """Return all mechanisms with all ``truncations``, least expected error on ``public`` first.

    ``public`` is a synthetic table's histogram: a choice made on the private one would have to be
    paid for.
    """
    candidates = [
        kind(workload=workload, truncation=truncation)
        for kind in MECHANISMS.values()
        for truncation in truncations
    ]
    found = [Ranked(float(m.expected_errors(public, epsilon).sum()), m) for m in candidates]
    return sorted(found, key=lambda ranked: ranked.error)


def best(workload: RangeSums, public: Histogram, epsilon: Number) -> BatchMechanism:
    """Return the mechanism and truncation with the least expected error on ``public``."""
    return ranking(workload, public, epsilon)[0].mechanism
