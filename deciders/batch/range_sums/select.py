"""Choice of the mechanism for a batch of range sums, judged on public data."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from deciders.batch.range_sums.mechanisms import (
    IdentityMechanism,
    RangeSumMechanism,
    SingleQueries,
    TruncationAware,
    TruncationIndependent,
    WorkloadMechanism,
)
from deciders.batch.range_sums.truncation import (
    NoTruncation,
    RecursiveTruncation,
    SparseVectorTruncation,
    Truncation,
)
from deciders.batch.range_sums.workload import Buckets, RangeSums
from deciders.exact import Number, as_float
from deciders.histogram import Histogram

# The paper's ratio, in hundredths, is the least between two rungs; more only where rungs were many.
_RATIO, _RUNGS = 120, 32

MECHANISMS: dict[str, type[RangeSumMechanism]] = {
    kind.id: kind
    for kind in (
        SingleQueries,
        IdentityMechanism,
        WorkloadMechanism,
        TruncationIndependent,
        TruncationAware,
    )
}


class RankingRow(NamedTuple):
    """Mechanism and its expected total squared error."""

    error: float
    mechanism: RangeSumMechanism


def proposals(buckets: Buckets, public: Histogram) -> tuple[Truncation, ...]:
    """Truncations whose parameters come from public data alone (ours), none among them.

    Rungs ascend from the median of the copy's positive values to the bound, in 32 steps at most,
    and a part 1/4, 1/8, ... of the rows is to be clamped, down to one row of the copy's.
    Recursive thresholds start at that median, or where a sixteenth of those values lies above.
    In other units all of them are the same, but for thresholds' rounding to whole units.
    """
    counts, ends = buckets.counts(public), np.array(buckets.ends)
    positive = np.where(ends > 0, counts, 0)
    running = np.cumsum(positive if positive.any() else ends > 0)

    def quantile(part: Fraction) -> int:
        return int(ends[np.searchsorted(running, max(1, math.ceil(part * int(running[-1]))))])

    start, high = quantile(Fraction(1, 2)), quantile(Fraction(15, 16))
    steps = as_float(Fraction(buckets.top, start)) ** (1 / _RUNGS)
    growth = Fraction(max(_RATIO, math.ceil(100 * steps)), 100)
    clamped = [Fraction(1, 2**k) for k in range(2, max(3, public.mass.bit_length()))]
    return (
        NoTruncation(),
        *(SparseVectorTruncation(start=start, growth=growth, kept=1 - part) for part in clamped),
        *(RecursiveTruncation(start=first) for first in sorted({start, high})),
    )


def ranking(
    workload: RangeSums,
    public: Histogram,
    epsilon: Number,
    truncations: Iterable[Truncation] | None = None,
) -> list[RankingRow]:
    """All mechanisms with all ``truncations``, least expected error on ``public`` first.

    ``public`` is a synthetic table's histogram: a choice made on the private one would have to be
    paid for.  By default the truncations are ``proposals``.
    """
    if truncations is None:
        truncations = proposals(workload.buckets, public)
    candidates, rows = tuple(truncations), []
    for kind in MECHANISMS.values():
        # Many truncations have thresholds in common, whose errors take long.
        known: dict[tuple[Fraction, int], float] = {}
        for truncation in candidates:
            mechanism, error = kind(workload=workload, truncation=truncation), 0.0
            for threshold, chance in mechanism.law(public, epsilon).items():
                key = mechanism.budgets(epsilon)[1], threshold
                if key not in known:
                    known[key] = float(mechanism.errors(public, threshold, epsilon).sum())
                error += chance * known[key]
            rows.append(RankingRow(error, mechanism))
    return sorted(rows, key=lambda ranked: ranked.error)


def best(workload: RangeSums, public: Histogram, epsilon: Number) -> RangeSumMechanism:
    """Mechanism and truncation with the least expected error on ``public``."""
    return ranking(workload, public, epsilon)[0].mechanism
