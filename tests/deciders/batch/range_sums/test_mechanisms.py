"""Mechanisms for batches of sums: exact values, and expected errors against dense algebra."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.range_workloads import equal_buckets, expected_errors, prefix_sums
from pqd.deciders import Histogram
from pqd.deciders.batch.range_sums.mechanisms import (
    MatrixMechanism,
    RangeSumMechanism,
    TreeStrategy,
)
from pqd.deciders.batch.range_sums.select import MECHANISMS, best, proposals, ranking
from pqd.deciders.batch.range_sums.truncation import (
    NoTruncation,
    RecursiveTruncation,
    SparseVectorTruncation,
    Truncation,
)
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from pqd.deciders.distributions import noise_variance
from tests.deciders.batch.range_sums.dense import (
    Matrix,
    cells_matrix,
    column_norm,
    tree_matrix,
    workload_matrix,
)
from tests.deciders.batch.range_sums.test_truncation import svt_from
from tests.deciders.batch.range_sums.test_workload import ROWS, workloads
from tests.support.noises import Silent

SMALL = (NoTruncation(), svt_from(3), RecursiveTruncation(start=3))
EPSILON = "0.5"
IDS = list(MECHANISMS)


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("truncation", SMALL, ids=lambda truncation: truncation.id)
def test_without_noise_answers_are_the_truncated_sums(name: str, truncation: Truncation) -> None:
    @settings(max_examples=25)
    @given(workloads(), ROWS)
    def check(workload: RangeSums, rows: list[int]) -> None:
        mechanism, noise = MECHANISMS[name](workload=workload, truncation=truncation), Silent()
        histogram = Histogram.from_values(rows)
        released = mechanism.release(histogram, EPSILON, noise)
        thresholds = np.array(released.thresholds)
        counts = workload.buckets.counts(histogram)
        expected = workload.answers(counts, thresholds).astype(np.float64)
        assert np.allclose(released.answers, expected)
        assert thresholds.size == (len(workload.ranges) if name == "sqm" else 1)
        assert max(noise.scales) <= mechanism.largest_scale(EPSILON)

    check()


def dense_error(
    mechanism: MatrixMechanism, histogram: Histogram, threshold: int, noise_budget: Fraction
) -> list[float]:
    """Table 1 and appendices A.3 and A.4, written out with pseudoinverses."""
    workload = mechanism.workload
    written, ends = workload_matrix(workload), np.array(workload.buckets.ends)
    counts = workload.buckets.counts(histogram)
    # Weights that no range looks at are 0: WT is the same, and ||AT|| may be less.
    truncated = np.diag(np.where(written.any(axis=0), np.minimum(ends, threshold), 0))
    strategy = mechanism.strategy(workload.weights(threshold))
    rebuilt: Matrix
    if mechanism.id == "identity":
        norm, rebuilt = 1.0, written @ truncated
    elif mechanism.id == "workload":
        norm, rebuilt = column_norm(written @ truncated), np.eye(len(written))
    else:
        assert isinstance(strategy, TreeStrategy)
        chosen = tree_matrix(strategy.hierarchy) @ cells_matrix(strategy.edges)
        aware = mechanism.id == "tamm"
        norm = column_norm(chosen if aware else chosen @ truncated)
        rebuilt = (written @ truncated if aware else written) @ np.linalg.pinv(chosen)
    a = math.exp(-float(noise_budget) / norm)
    bias = written @ (np.diag(ends) - truncated) @ counts
    found: list[float] = (bias**2 + 2 * a / (1 - a) ** 2 * (rebuilt**2).sum(axis=1)).tolist()
    return found


@pytest.mark.parametrize("name", [name for name in IDS if name != "sqm"])
def test_expected_errors_are_those_of_the_appendix(name: str) -> None:
    @settings(max_examples=40)
    @given(workloads(), ROWS, st.integers(1, 70))
    def check(workload: RangeSums, rows: list[int], threshold: int) -> None:
        truncation = svt_from(3, share="0.2")
        mechanism = MECHANISMS[name](workload=workload, truncation=truncation)
        assert isinstance(mechanism, MatrixMechanism)
        assume(workload.weights(threshold).any())
        histogram = Histogram.from_values(rows)
        expected = dense_error(mechanism, histogram, threshold, Fraction(4, 10))
        found = mechanism.errors(histogram, threshold, EPSILON)
        assert found.tolist() == pytest.approx(expected, rel=1e-6)

    check()


def test_expected_errors_of_single_queries_by_hand() -> None:
    """Two ranges share epsilon 1, a fifth of it for thresholds: scales min(t, top) / 0.4."""
    workload = RangeSums(Buckets((2, 5, 9)), ((0, 2), (1, 3)))
    mechanism = MECHANISMS["sqm"](workload=workload, truncation=svt_from(3, share="0.2"))
    histogram = Histogram.from_values([1, 5, 5, 9])
    assert mechanism.budgets("1") == (Fraction(1, 10), Fraction(4, 10))
    found = mechanism.errors(histogram, 7, "1").tolist()
    variances = [2 * a / (1 - a) ** 2 for a in (math.exp(-0.4 / 5), math.exp(-0.4 / 7))]
    assert found == pytest.approx([variances[0], variances[1] + (9 - 7) ** 2])


def test_identity_by_hand() -> None:
    """Prefixes of buckets 2, 5, 9 clamped to 7, epsilon 1: variances 4, 29, 78 times the noise."""
    workload = prefix_sums(Buckets((2, 5, 9)))
    identity = MECHANISMS["identity"](workload=workload)
    found = identity.variances(7, "1") / noise_variance(Fraction(1))
    assert found.tolist() == pytest.approx([4, 29, 78])
    assert MECHANISMS["workload"](workload=workload).untruncated_scale("0.5") == 2 * max(6, 10, 9)


@pytest.mark.parametrize("scale", [Fraction(1, 900), Fraction(1, 3), Fraction(1), Fraction(40)])
def test_laplace_variance_is_a_sum(scale: Fraction) -> None:
    reach = np.arange(-3_000, 3_001)
    chances = np.exp(-np.abs(reach) / float(scale))
    expected = float((chances / chances.sum()) @ reach.astype(float) ** 2)
    assert noise_variance(scale) == pytest.approx(expected)


@pytest.mark.parametrize("name", IDS)
def test_deviations_are_those_of_the_thresholds(name: str) -> None:
    workload = prefix_sums(equal_buckets(5, 8))
    histogram = Histogram.from_values([3, 8, 8, 21, 40])
    for truncation in SMALL:
        mechanism = MECHANISMS[name](workload=workload, truncation=truncation)
        released = mechanism.release(histogram, EPSILON, Silent())
        expected = [
            mechanism.variances(threshold, EPSILON)[place if name == "sqm" else slice(None)]
            for place, threshold in enumerate(released.thresholds or ())
        ]
        assert released.deviations is not None
        assert np.allclose(np.square(released.deviations), np.ravel(expected))


def mixture(mechanism: RangeSumMechanism, histogram: Histogram) -> float:
    """The total expected error, term by term."""
    buckets = mechanism.workload.buckets
    spent = mechanism.budgets(EPSILON)[0]
    law = mechanism.truncation.law(buckets.counts(histogram), buckets, spent)
    return sum(p * float(mechanism.errors(histogram, t, EPSILON).sum()) for t, p in law)


def test_ranking_is_by_the_expected_error() -> None:
    workload = prefix_sums(equal_buckets(5, 16))
    public = Histogram.from_values([3] * 50 + [8] * 90 + [21] * 20 + [66])
    ranked = ranking(workload, public, EPSILON, SMALL)
    assert len(ranked) == 15
    errors = [mixture(mechanism, public) for _, mechanism in ranked]
    assert [error for error, _ in ranked] == pytest.approx(errors)
    assert errors == sorted(errors)
    assert {m.truncation for _, m in ranked} == set(SMALL)


@pytest.mark.parametrize(("top", "epsilon"), [(10, "3"), (400, "0.1"), (900_000, "0.1")])
def test_the_best_is_the_first_of_the_ranking(top: int, epsilon: str) -> None:
    workload = prefix_sums(equal_buckets(max(1, top // 40), 40))
    public = Histogram.from_values(np.append(np.minimum(PAY[:300], top), [top] * 2))
    first, chosen = ranking(workload, public, epsilon)[0].mechanism, best(workload, public, epsilon)
    assert (chosen.id, chosen.truncation) == (first.id, first.truncation)


PAY = np.append(np.random.default_rng(2).gamma(2.0, 15_000, 20_000).astype(int), [900_000] * 5)


@pytest.mark.parametrize("unit", [1, 1000], ids=["units", "thousands"])
def test_the_best_for_a_wide_range_truncates(unit: int) -> None:
    """One row in four thousand is large: bounds far too wide cost more than a clamp."""
    workload = prefix_sums(equal_buckets(50_000 // unit, 100))
    public = Histogram.from_values(PAY // unit)
    mechanism = best(workload, public, "0.1")
    assert mechanism.id in {"timm", "tamm"}
    whole = replace(mechanism, truncation=NoTruncation())
    least, other = (expected_errors(m, public, "0.1").sum() for m in (mechanism, whole))
    assert least < other / 25


@pytest.mark.parametrize("top", [1_000, 40_000])
def test_truncation_acts_below_bounds_of_any_size(top: int) -> None:
    """It began at 50,000 units: beyond these bounds, so that no threshold ever acted."""
    workload = prefix_sums(equal_buckets(top // 100, 100))
    public = Histogram.from_values(np.append(PAY[PAY < 900_000] * top // 900_000, [top] * 5))
    chosen = min(ranking(workload, public, "0.1"))
    fixed = SparseVectorTruncation(start=50_000, growth="1.2", kept="0.998"), NoTruncation()
    assert chosen.error < min(ranking(workload, public, "0.1", fixed)).error / 5


def test_proposals_are_the_same_in_dollars_and_in_cents() -> None:
    """Thresholds, but for rounding to whole units, errors, and what is chosen."""
    dollars, cents = (
        (prefix_sums(equal_buckets(500 * k, 100)), Histogram.from_values(PAY // 20 * k))
        for k in (1, 100)
    )
    for here, there in zip(*(proposals(w.buckets, h) for w, h in (dollars, cents)), strict=True):
        laws = (
            truncation.law(workload.buckets.counts(public), workload.buckets, Fraction(1, 100))
            for truncation, (workload, public) in ((here, dollars), (there, cents))
        )
        for (fewer, one), (more, other) in zip(*laws, strict=True):
            assert abs(100 * fewer - more) <= 100
            assert one == pytest.approx(other, abs=1e-9)
    first, second = (ranking(*of, "0.1") for of in (dollars, cents))
    assert first[0].mechanism.id == second[0].mechanism.id
    assert first[0].error * 10**4 == pytest.approx(second[0].error, rel=0.01)
    one, other = first[0].mechanism.truncation, second[0].mechanism.truncation
    assert isinstance(one, SparseVectorTruncation)
    assert replace(one, start=100 * Fraction(one.start)) == other


@pytest.mark.parametrize("rows", [[], [0, 0, 0], [7], [10] * 90])
def test_there_are_proposals_for_every_copy(rows: list[int]) -> None:
    buckets = Buckets((0, 4, 10))
    found = proposals(buckets, Histogram.from_values(rows))
    assert {truncation.id for truncation in found} == {"none", "svt", "recursive"}
    for truncation in found:
        threshold = truncation.threshold(np.array([3, 1, 2]), buckets, 10, Fraction(1), Silent())
        assert 1 <= threshold <= 10
