"""Batches of sums are epsilon-DP on generated neighbours, exactly and without sampling.

A recording noise keeps every statistic and scale that a release really uses, and every comparison
of two noisy numbers.  Broken twins must be caught by the same checks.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.range_workloads import prefix_sums
from pqd.deciders import Histogram
from pqd.deciders.batch.range_sums.mechanisms import (
    AnswersStrategy,
    IdentityMechanism,
    RangeSumMechanism,
    SingleQueries,
    Strategy,
    TreeStrategy,
    TruncationAware,
    TruncationIndependent,
    WorkloadMechanism,
)
from pqd.deciders.batch.range_sums.select import MECHANISMS, proposals
from pqd.deciders.batch.range_sums.truncation import (
    NoTruncation,
    RecursiveTruncation,
    SparseVectorTruncation,
    Truncation,
)
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise
from tests.support.neighbours import neighbours
from tests.support.noises import LaplaceAlone

# What doubles may add to a log-probability of the sparse vector technique; all else is exact.
TOLERANCE = 1e-8
EPSILON = "2"


class Draw(int):
    """A noisy number that logs what it is compared with; the comparison comes out as scripted."""

    log: "Log"
    statistic: int
    scale: Fraction

    def __ge__(self, other: object) -> bool:
        assert isinstance(other, Draw)
        self.log.comparisons.append((self, other))
        return len(self.log.comparisons) == self.log.yes_at


class Log(LaplaceAlone):
    """Records draws and comparisons; of the comparisons only the ``yes_at``-th is true."""

    simulated = True

    def __init__(self, yes_at: int = 0) -> None:
        self.yes_at = yes_at
        self.calls: list[tuple[int, Fraction]] = []
        self.comparisons: list[tuple[Draw, Draw]] = []

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.calls.append((statistic, scale))
        drawn = Draw(statistic)
        drawn.log, drawn.statistic, drawn.scale = self, statistic, scale
        return drawn

    def choose(self, logit: float) -> bool:
        return logit > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Forced(SparseVectorTruncation):
    """The threshold given, at the cost of a real one."""

    start: Number = 1
    growth: Number = 2
    kept: Number = Fraction(1, 2)
    at: int
    share: Number

    def threshold(
        self,
        counts: Integers,  # noqa: ARG002 - the signature of every truncation
        buckets: Buckets,  # noqa: ARG002
        top: int,
        budget: Fraction,  # noqa: ARG002
        noise: Noise,  # noqa: ARG002
    ) -> int:
        return min(self.at, top)

    def __post_init__(self) -> None:
        """Allow a share of 0."""


def log_chances(comparisons: list[tuple[Draw, Draw]]) -> list[float]:
    """Log-probability that comparison 1, 2, ... is the first true one, and that none is.

    Comparisons with the same draw on the right are judged together, by a sum over its values.
    """
    found: list[float] = []
    farthest = max(abs(left.statistic) for left, _ in comparisons)
    before, reached, last = 0.0, np.zeros(1), None
    for left, right in comparisons:
        reach = farthest + math.ceil(60 * right.scale)
        values = right.statistic + np.arange(-reach, reach + 1)
        if right is not last:
            before, last = before + float(np.logaddexp.reduce(reached)), right
            reached = -np.abs(values - right.statistic) / float(right.scale)
            reached -= np.logaddexp.reduce(reached)
        short = left.statistic - values
        # The rarer of the two outcomes, so that no chance is lost to rounding.
        rate = 1 / float(left.scale)
        rarer = -rate * np.where(short >= 0, short + 1, -short) - math.log1p(math.exp(-rate))
        other = np.log1p(-np.exp(rarer))
        passed, failed = (np.where(yes, other, rarer) for yes in (short >= 0, short < 0))
        found.append(before + float(np.logaddexp.reduce(reached + passed)))
        reached = reached + failed
    return [*found, before + float(np.logaddexp.reduce(reached))]


class Fixed(Log):
    """One outcome, whatever the statistic."""

    def laplace(self, statistic: int, scale: Fraction) -> int:  # noqa: ARG002 - a Noise
        return 3


Tables = tuple[Integers, Integers]


def threshold_losses(
    truncation: Truncation, tables: Tables, buckets: Buckets, top: int, budget: Fraction
) -> dict[int, float]:
    """What each threshold that may be released gives away."""
    logs = Log(), Log()
    for counts, log in zip(tables, logs, strict=True):
        truncation.threshold(counts, buckets, top, budget, log)
    first, second = logs
    if first.comparisons:
        chances = zip(*(log_chances(log.comparisons) for log in logs), strict=True)
        found: dict[int, float] = {}
        for place, (here, there) in enumerate(chances, start=1):
            reached, other = (
                truncation.threshold(counts, buckets, top, budget, Log(place)) for counts in tables
            )
            found[reached] = abs(here - there) if reached == other else math.inf
        return found
    reached, other = (
        truncation.threshold(counts, buckets, top, budget, Fixed()) for counts in tables
    )
    if reached != other:
        return {reached: math.inf}
    if not first.calls:
        return {truncation.threshold(tables[0], buckets, top, budget, Log()): 0.0}
    # One noisy number, from which any threshold may follow.
    return dict.fromkeys(range(1, top + 1), float(loss_of_calls(first.calls, second.calls)))


def loss_of_calls(
    here: list[tuple[int, Fraction]], there: list[tuple[int, Fraction]]
) -> Fraction | float:
    """Log-ratio of independent discrete Laplace numbers: distances in scales, added up."""
    if [scale for _, scale in here] != [scale for _, scale in there]:
        return math.inf
    pairs = zip(here, there, strict=True)
    return sum((Fraction(abs(x - y)) / scale for (x, scale), (y, _) in pairs), Fraction(0))


def loss(mechanism: RangeSumMechanism, here: Histogram, there: Histogram, epsilon: str) -> float:
    """The most that thresholds and answers together give away."""
    workload, truncation = mechanism.workload, mechanism.truncation
    buckets = workload.buckets
    tables = buckets.counts(here), buckets.counts(there)
    spent, _ = mechanism.budgets(epsilon)
    single = isinstance(mechanism, SingleQueries)
    tops = [max(1, top) for top in workload.tops.tolist()] if single else [buckets.top]
    by_top = [threshold_losses(truncation, tables, buckets, top, spent) for top in tops]
    found = [0.0] * len(tops)
    for threshold in {threshold for losses in by_top for threshold in losses}:
        forced = replace(mechanism, truncation=Forced(at=threshold, share=truncation.share))
        logs = Log(), Log()
        for histogram, log in zip((here, there), logs, strict=True):
            forced.release(histogram, epsilon, log)
        for place, losses in enumerate(by_top):
            if threshold in losses:
                calls = [log.calls[place : place + 1] if single else log.calls for log in logs]
                lost = losses[threshold] + float(loss_of_calls(*calls))
                found[place] = max(found[place], lost)
    return sum(found)


def worst(mechanism: RangeSumMechanism, rows: list[int], epsilon: str = EPSILON) -> float:
    """The largest loss between a table and all its neighbours."""
    here = Histogram.from_values(rows)
    lattice = range(mechanism.workload.buckets.top + 2)
    return max(loss(mechanism, here, there, epsilon) for there in neighbours(rows, lattice))


WORKLOADS = (
    prefix_sums(Buckets((1, 2, 3, 5, 8))),
    RangeSums(Buckets((2, 3, 7)), ((0, 1), (1, 3), (0, 3), (1, 2))),
    RangeSums(Buckets((0, 4)), ((0, 2),)),
    RangeSums(Buckets((1, 2, 3, 4, 5, 6)), ((1, 4), (0, 2), (2, 5))),
)
THIRD = Fraction(1, 3)
TRUNCATIONS: tuple[Truncation, ...] = (
    NoTruncation(),
    SparseVectorTruncation(start=1, growth=Fraction(3, 2), kept=Fraction(3, 4), share=THIRD),
    SparseVectorTruncation(start=2, growth=Fraction(3, 2), kept=Fraction(1, 3), share=THIRD),
    RecursiveTruncation(start=1, share=THIRD),
)


@pytest.mark.parametrize("name", list(MECHANISMS))
@pytest.mark.parametrize("truncation", TRUNCATIONS, ids=lambda truncation: truncation.id)
def test_a_batch_loses_at_most_epsilon(name: str, truncation: Truncation) -> None:
    @settings(max_examples=4)
    @given(st.sampled_from(WORKLOADS), st.lists(st.integers(0, 9), max_size=8))
    def check(workload: RangeSums, rows: list[int]) -> None:
        mechanism = MECHANISMS[name](workload=workload, truncation=truncation)
        assert worst(mechanism, rows) <= float(budget_of(EPSILON)) + TOLERANCE

    check()


def tables_of(rows: list[int], buckets: Buckets) -> Iterator[Tables]:
    here = buckets.counts(Histogram.from_values(rows))
    for there in neighbours(rows, range(buckets.top + 1)):
        yield here, buckets.counts(there)


def worst_threshold(
    truncation: Truncation, rows: list[int], buckets: Buckets, budget: Fraction
) -> float:
    """The largest loss of a threshold alone."""
    return max(
        max(threshold_losses(truncation, tables, buckets, buckets.top, budget).values())
        for tables in tables_of(rows, buckets)
    )


WIDE = Buckets(tuple(range(1, 13)))


@pytest.mark.parametrize("kept", [Fraction(1, 2), Fraction(1, 5), Fraction(9, 10)])
@pytest.mark.parametrize("budget", [Fraction(1, 2), Fraction(3)])
def test_a_sparse_vector_loses_at_most_its_budget(kept: Fraction, budget: Fraction) -> None:
    @settings(max_examples=12)
    @given(st.lists(st.sampled_from([1, 2, 5, 6, 12]), max_size=30))
    def check(rows: list[int]) -> None:
        svt = SparseVectorTruncation(start=1, growth=Fraction(5, 4), kept=kept)
        assert worst_threshold(svt, rows, WIDE, budget) <= float(budget) + TOLERANCE

    check()


@pytest.mark.parametrize("copy", [[1] * 30 + [7] * 9, [5, 12], []], ids=["long", "short", "none"])
def test_proposals_lose_at_most_their_budget(copy: list[int]) -> None:
    tables: list[list[int]] = [[12] * 20, [1] * 20 + [12] * 20, [1] * 3 + [11] + [12] * 20, []]
    for truncation in proposals(WIDE, Histogram.from_values(copy)):
        for rows in tables:
            assert worst_threshold(truncation, rows, WIDE, Fraction(1)) <= 1 + TOLERANCE


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_the_whole_budget_is_used(name: str) -> None:
    """Without a threshold, but for what single queries waste on rows below their tops."""
    mechanism = MECHANISMS[name](workload=WORKLOADS[2])
    assert worst(mechanism, [4]) == pytest.approx(2)
    recursive = RecursiveTruncation(start=1)
    assert worst_threshold(recursive, [12] * 9, WIDE, Fraction(1, 2)) == pytest.approx(0.5)


class RowNorm(AnswersStrategy):
    """The largest row of WT in place of the largest column."""

    @property
    def norm(self) -> int:
        return max(1, int(self.weights.max()))


class WorkloadByRows(WorkloadMechanism):
    """Noise for the range with the largest sensitivity, not for all of them."""

    def strategy(self, weights: Integers) -> Strategy:
        return RowNorm(self.workload, weights)


class NormOfA(TreeStrategy):
    """``||A||`` in place of ``||AT||``."""

    @property
    def norm(self) -> int:
        return self.hierarchy.norm


class UnweightedNorm(TruncationIndependent):
    """TIMM with the norm of its strategy matrix."""

    def strategy(self, weights: Integers) -> Strategy:
        tree = TreeStrategy.of_sums(self.workload, weights)
        return NormOfA(self.workload, tree.edges, tree.scaled, tree.coefficients, tree.hierarchy)


class LeafNorm(TreeStrategy):
    """The weight of the lightest leaf in place of that of a path."""

    @property
    def norm(self) -> int:
        return int(self.hierarchy.weights[-1].min())


class OnlyLeaves(TruncationAware):
    """TAMM whose inner nodes are not paid for."""

    def strategy(self, weights: Integers) -> Strategy:
        tree = TreeStrategy.of_counts(self.workload, weights)
        return LeafNorm(self.workload, tree.edges, tree.scaled, tree.coefficients, tree.hierarchy)


class ThresholdForNothing(IdentityMechanism):
    """The whole budget for the answers, after a threshold."""

    def budgets(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        return IdentityMechanism.budgets(self, epsilon)[0], budget_of(epsilon)


class AsPrinted(SingleQueries):
    """Algorithms 2 and 3 as printed: the whole budget for each range."""

    def budgets(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        return RangeSumMechanism.budgets(self, epsilon)


class FreshThreshold(SparseVectorTruncation):
    """New noise on the threshold for every rung."""

    def threshold(
        self, counts: Integers, buckets: Buckets, top: int, budget: Fraction, noise: Noise
    ) -> int:
        rungs = self.rungs(top)
        once, each = self._scales(budget)
        for rung, surplus in zip(rungs, self._surpluses(counts, buckets, rungs), strict=True):
            if noise.laplace(surplus, each) >= noise.laplace(0, once):
                return rung
        return top


class TooQuiet(SparseVectorTruncation):
    """Half of the noise on every rung."""

    def _scales(self, budget: Fraction) -> tuple[Fraction, Fraction]:
        once, each = SparseVectorTruncation._scales(self, budget)
        return once, each / 2


class SureOfTheThreshold(SparseVectorTruncation):
    """No noise to speak of on the threshold ``r n``, which is private."""

    def _scales(self, budget: Fraction) -> tuple[Fraction, Fraction]:
        once, each = SparseVectorTruncation._scales(self, budget)
        return once / 8, each


def middle(counts: Integers, buckets: Buckets) -> int:
    """The private median, which no parameter may come from."""
    running = np.cumsum(counts)
    return buckets.ends[int(np.searchsorted(running, (running[-1] + 1) // 2))]


class OwnRungs(SparseVectorTruncation):
    """Rungs that are counted from the private median."""

    def threshold(
        self, counts: Integers, buckets: Buckets, top: int, budget: Fraction, noise: Noise
    ) -> int:
        found = SparseVectorTruncation.threshold(self, counts, buckets, top, budget, noise)
        return min(top, found + middle(counts, buckets))


class OwnBase(RecursiveTruncation):
    """A first threshold at the private median."""

    def threshold(
        self, counts: Integers, buckets: Buckets, top: int, budget: Fraction, noise: Noise
    ) -> int:
        own = RecursiveTruncation(start=middle(counts, buckets))
        return RecursiveTruncation.threshold(own, counts, buckets, top, budget, noise)


class RowsAbove(RecursiveTruncation):
    """An index of slope 2: the least even i."""

    def index(self, counts: Integers, buckets: Buckets, budget: Fraction) -> int:
        return 2 * RecursiveTruncation.index(self, counts, buckets, budget)


MANY = RangeSums(Buckets((1, 2, 3, 4)), tuple((0, 4) for _ in range(4)))
EVEN = prefix_sums(Buckets(tuple(range(1, 65))))
TWINS: list[tuple[str, RangeSumMechanism, RangeSumMechanism]] = [
    ("WORKLOAD with its row norm", WorkloadByRows(workload=MANY), WorkloadMechanism(workload=MANY)),
    (
        "TIMM with the norm of A",
        UnweightedNorm(workload=WORKLOADS[0]),
        TruncationIndependent(workload=WORKLOADS[0]),
    ),
    ("TAMM with the norm of its leaves", OnlyLeaves(workload=EVEN), TruncationAware(workload=EVEN)),
    (
        "IDENTITY that does not account for its threshold",
        ThresholdForNothing(workload=WORKLOADS[0], truncation=TRUNCATIONS[3]),
        IdentityMechanism(workload=WORKLOADS[0], truncation=TRUNCATIONS[3]),
    ),
    (
        "SQM with epsilon for each range, as printed",
        AsPrinted(workload=WORKLOADS[0], truncation=TRUNCATIONS[3]),
        SingleQueries(workload=WORKLOADS[0], truncation=TRUNCATIONS[3]),
    ),
]


@pytest.mark.parametrize(("name", "broken", "healthy"), TWINS, ids=[name for name, _, _ in TWINS])
def test_a_broken_twin_is_caught(
    name: str,
    broken: RangeSumMechanism,
    healthy: RangeSumMechanism,
    record_property: Callable[[str, object], None],
) -> None:
    rows = [1, 3, 8, 8]
    lost = worst(broken, rows)
    assert lost > 2 * 1.01, f"{name} passes: loss {lost:.3f} at epsilon 2"
    assert worst(healthy, rows) <= 2 + TOLERANCE
    record_property("mutant", name)
    record_property("caught_by", f"exact neighbour check: loses {lost / 2:.2f} epsilon")


HALF, MOST = Fraction(1, 2), Fraction(9, 10)
SLOW = Fraction(11, 10)
SPARSE: list[tuple[str, Truncation, Truncation]] = [
    (
        "a threshold with fresh noise per rung",
        FreshThreshold(kept=HALF, start=1, growth=SLOW),
        SparseVectorTruncation(kept=HALF, start=1, growth=SLOW),
    ),
    (
        "a threshold whose rungs have half the noise",
        TooQuiet(kept=HALF, start=1, growth=SLOW),
        SparseVectorTruncation(kept=HALF, start=1, growth=SLOW),
    ),
    (
        "a threshold that takes the number of rows for known",
        SureOfTheThreshold(kept=MOST, start=1, growth=SLOW),
        SparseVectorTruncation(kept=MOST, start=1, growth=SLOW),
    ),
    ("a recursive index of slope 2", RowsAbove(start=1), RecursiveTruncation(start=1)),
    (
        "rungs from the private table",
        OwnRungs(kept=HALF, start=1, growth=SLOW),
        SparseVectorTruncation(kept=HALF, start=1, growth=SLOW),
    ),
    ("a first threshold from the private table", OwnBase(start=1), RecursiveTruncation(start=1)),
]


@pytest.mark.parametrize(("name", "broken", "healthy"), SPARSE, ids=[name for name, _, _ in SPARSE])
def test_a_broken_threshold_is_caught(
    name: str,
    broken: Truncation,
    healthy: Truncation,
    record_property: Callable[[str, object], None],
) -> None:
    tables = [[12] * 20, [1] * 20 + [12] * 20, [1] * 3 + [11] + [12] * 20, [1] * 300]
    lost = max(worst_threshold(broken, rows, WIDE, Fraction(1)) for rows in tables)
    assert lost > 1.01, f"{name} passes: loss {lost:.3f} at budget 1"
    for rows in tables:
        assert worst_threshold(healthy, rows, WIDE, Fraction(1)) <= 1 + TOLERANCE
    record_property("mutant", name)
    record_property("caught_by", f"exact neighbour check: loses {lost:.2f} of its budget")
