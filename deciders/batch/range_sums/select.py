"""Choice of the mechanism for a batch of range sums, by its errors on public data."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pqd.deciders.batch.range_sums.mechanisms import (
    IdentityMechanism,
    RangeSumMechanism,
    SingleQueries,
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
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from pqd.deciders.distributions import Floats
from pqd.deciders.exact import Number, as_float, exact
from pqd.deciders.histogram import Histogram

# Rungs grow at least by the ratio of the paper, here in hundredths, and faster if they are too
# many.
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


# Fields that are stated, by the id of the truncation; truncations that are not named do not fit.
Stated = Mapping[str, Mapping[str, Number]]
_NOTHING_STATED: Stated = {
    kind.id: {} for kind in (NoTruncation, SparseVectorTruncation, RecursiveTruncation)
}


def proposals(
    buckets: Buckets, public: Histogram, stated: Stated = _NOTHING_STATED
) -> tuple[Truncation, ...]:
    """Truncations with parameters from public data alone (ours); ``NoTruncation`` is the first.

    ``stated`` fields take the place of those from the public data.

    Rungs ascend in at most 32 steps from the median of the copy's positive values to the bound.
    The part of the rows to clamp is 1/4, 1/8, ..., down to one row of the copy.  Recursive
    thresholds start at this median, or at the value that a sixteenth of the positive values
    exceed.  A change of units has no effect, except that thresholds are rounded to whole units.
    """
    counts, ends = buckets.counts(public), np.array(buckets.ends)
    positive = np.where(ends > 0, counts, 0)
    running = np.cumsum(positive if positive.any() else ends > 0)

    def quantile(part: Fraction) -> int:
        return int(ends[np.searchsorted(running, max(1, math.ceil(part * int(running[-1]))))])

    start, high = quantile(Fraction(1, 2)), quantile(Fraction(15, 16))
    truncations: list[Truncation] = [NoTruncation()] if NoTruncation.id in stated else []
    if (own := stated.get(SparseVectorTruncation.id)) is not None:
        first = exact(own.get("start", start))
        steps = as_float(buckets.top / first) ** (1 / _RUNGS)
        growth = own.get("growth", Fraction(max(_RATIO, math.ceil(100 * steps)), 100))
        kept = [1 - Fraction(1, 2**k) for k in range(2, max(3, public.mass.bit_length()))]
        rest = {"share": own["share"]} if "share" in own else {}
        truncations += [
            SparseVectorTruncation(start=first, growth=growth, kept=part, **rest)
            for part in ([own["kept"]] if "kept" in own else kept)
        ]
    if (own := stated.get(RecursiveTruncation.id)) is not None:
        firsts = [own["start"]] if "start" in own else sorted({start, high})
        truncations += [RecursiveTruncation(**{**own, "start": first}) for first in firsts]
    return tuple(truncations)


class _ExpectedErrors:
    """Expected total squared errors on ``public``, from the bias by threshold and the noise."""

    def __init__(
        self,
        workload: RangeSums,
        public: Histogram,
        epsilon: Number,
        importance: Floats | None = None,
    ) -> None:
        self._workload, self._public, self._epsilon = workload, public, epsilon
        self._importance = np.ones(len(workload.ranges)) if importance is None else importance
        self._counts = workload.buckets.counts(public)
        self._exact = workload.answers(self._counts)
        # Cache the biases: truncations share thresholds, and all mechanisms share the same bias.
        self._biases: dict[int, Floats] = {}
        self._laws: dict[tuple[Truncation, Fraction], dict[int, float]] = {}
        self._known: dict[tuple[str, Fraction, int], float] = {}

    def of(self, mechanism: RangeSumMechanism, limit: float = math.inf) -> float:
        """Error of a mechanism; infinite if it exceeds ``limit``."""
        budgets = mechanism.budgets(self._epsilon)
        law = self._law(mechanism, budgets[0])
        if math.fsum(chance * self._total(self._bias(at)) for at, chance in law.items()) > limit:
            return math.inf
        error = 0.0
        for threshold, chance in law.items():
            key = mechanism.id, budgets[1], threshold
            if key not in self._known:
                noise = mechanism.variances(threshold, self._epsilon)
                self._known[key] = self._total(self._bias(threshold) + noise)
            error += chance * self._known[key]
            if error > limit:
                return math.inf
        return error

    def _total(self, squares: Floats) -> float:
        """Sum over the ranges, each times its importance."""
        return float((self._importance * squares).sum())

    def _law(self, mechanism: RangeSumMechanism, budget: Fraction) -> dict[int, float]:
        key = mechanism.truncation, budget
        if key not in self._laws:
            self._laws[key] = mechanism.law(self._public, self._epsilon)
        return self._laws[key]

    def _bias(self, threshold: int) -> Floats:
        """Squared bias of each answer."""
        if threshold not in self._biases:
            bias = self._exact - self._workload.answers(self._counts, threshold)
            self._biases[threshold] = bias.astype(np.float64) ** 2
        return self._biases[threshold]


def ranking(
    workload: RangeSums,
    public: Histogram,
    epsilon: Number,
    truncations: Iterable[Truncation] | None = None,
) -> list[RankingRow]:
    """All mechanisms with all ``truncations``, the least expected error on ``public`` first.

    ``public`` is the histogram of a synthetic table, because a choice on the private table would
    cost budget.  By default the truncations are ``proposals``.
    """
    errors = _ExpectedErrors(workload, public, epsilon)
    if truncations is None:
        truncations = proposals(workload.buckets, public)
    candidates = _mechanisms(workload, tuple(truncations))
    rows = [RankingRow(errors.of(mechanism), mechanism) for mechanism in candidates]
    return sorted(rows, key=lambda ranked: ranked.error)


def best(
    workload: RangeSums,
    public: Histogram,
    epsilon: Number,
    names: Collection[str] = tuple(MECHANISMS),
    stated: Stated = _NOTHING_STATED,
    importance: Floats | None = None,
) -> RangeSumMechanism:
    """Mechanism and truncation with the least expected error on ``public``: first of ``ranking``.

    The mechanism is one of ``names``, and its truncation has the ``stated`` fields.  With an
    ``importance`` of each range, its squared error counts so many times.  The computation of a
    mechanism stops when its error exceeds the least error so far.
    """
    errors = _ExpectedErrors(workload, public, epsilon, importance)
    truncations = proposals(workload.buckets, public, stated)
    candidates = [each for each in _mechanisms(workload, truncations) if each.id in names]
    least, totals = math.inf, dict[int, float]()
    # Begin without truncation, which is fast and is often nearly the best.
    places = sorted(range(len(candidates)), key=lambda n: bool(candidates[n].truncation.share))
    for place in places:
        totals[place] = errors.of(candidates[place], least)
        least = min(least, totals[place])
    return candidates[min(totals, key=lambda place: (totals[place], place))]


def _mechanisms(workload: RangeSums, truncations: Sequence[Truncation]) -> list[RangeSumMechanism]:
    """Every mechanism with every truncation."""
    return [
        kind(workload=workload, truncation=truncation)
        for kind in MECHANISMS.values()
        for truncation in truncations
    ]
