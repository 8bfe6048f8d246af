"""Buckets and range sums, against loops over rows and the matrix W written out."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.range_workloads import equal_buckets, prefix_sums
from pqd.deciders import Histogram, ParameterError
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from tests.deciders.batch.range_sums.dense import workload_matrix


@st.composite
def workloads(draw: st.DrawFn) -> RangeSums:
    ends = draw(st.sets(st.integers(0, 60), min_size=1, max_size=9).filter(lambda s: max(s) > 0))
    pairs = st.tuples(st.integers(0, len(ends)), st.integers(0, len(ends)))
    ranges = draw(st.lists(pairs.filter(lambda p: p[0] < p[1]), min_size=1, max_size=8))
    return RangeSums(Buckets(tuple(sorted(ends))), tuple(ranges))


ROWS = st.lists(st.integers(0, 90), max_size=20)


@settings(max_examples=50)
@given(workloads(), ROWS, st.integers(1, 70))
def test_sums_are_those_of_rows(workload: RangeSums, rows: list[int], threshold: int) -> None:
    ends = workload.buckets.ends
    raised = [min((e for e in ends if e >= v), default=ends[-1]) for v in rows]
    counts = workload.buckets.counts(Histogram.from_values(rows))
    assert counts.tolist() == [raised.count(e) for e in ends]
    expected = [
        sum(min(v, threshold) for v in raised if ends[start] <= v <= ends[stop - 1])
        for start, stop in workload.ranges
    ]
    assert workload.answers(counts, threshold).tolist() == expected
    each = np.full(len(workload.ranges), threshold)
    assert workload.answers(counts, each).tolist() == expected


@settings(max_examples=50)
@given(workloads(), st.integers(1, 70), st.data())
def test_structure_is_that_of_the_matrix(
    workload: RangeSums, threshold: int, data: st.DataObject
) -> None:
    written = workload_matrix(workload)
    assert workload.containing.tolist() == written.sum(axis=0).tolist()
    ends = np.array(workload.buckets.ends)
    weights = workload.weights(threshold)
    weighted = written @ np.diag(np.minimum(ends, threshold))
    assert np.array_equal(written @ np.diag(weights), weighted)
    values = np.array(
        data.draw(st.lists(st.integers(-9, 9), min_size=ends.size, max_size=ends.size))
    )
    assert workload.sums(values).tolist() == (written @ values).tolist()
    assert workload.tops.tolist() == [ends[stop - 1] for _, stop in workload.ranges]


@settings(max_examples=50)
@given(workloads(), st.integers(1, 70))
def test_cells_are_what_columns_tell_apart(workload: RangeSums, threshold: int) -> None:
    written, weights = workload_matrix(workload), workload.weights(threshold)
    for matrix, edges in (
        (written, workload.edges()),
        (written @ np.diag(weights), workload.edges(weights)),
    ):
        for cell in pairwise(edges):
            columns = matrix[:, slice(*cell)]
            assert (columns == columns[:, :1]).all()
    starts, stops = workload.over(workload.edges())
    assert np.array_equal(workload.edges()[starts], workload.starts)
    assert np.array_equal(workload.edges()[stops], workload.stops)


def test_sums_beyond_64_bits_are_exact() -> None:
    buckets = Buckets((1, 2**61))
    counts = np.array([3, 2**40])
    (found,) = prefix_sums(buckets, [2]).answers(counts)
    assert found == 3 + 2**101


def test_the_first_example_of_the_paper() -> None:
    """Figure 1; Example 1: the sums below 30k, 40k, 50k and 1M are 0, 35k, 124k and 1.474M."""
    incomes = Histogram.from_values([44_000, 35_000, 45_000, 350_000, 1_000_000])
    buckets = equal_buckets(1_000, 1_000)
    workload = prefix_sums(buckets, [30, 40, 50, 1000])
    counts = buckets.counts(incomes)
    assert workload.answers(counts).tolist() == [0, 35_000, 124_000, 1_474_000]
    assert workload.answers(counts, 40_000).tolist() == [0, 35_000, 115_000, 195_000]


@pytest.mark.parametrize("ends", [(), (0,), (-1, 4), (3, 3), (5, 2)])
def test_bad_ends_are_refused(ends: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="ascend"):
        Buckets(ends)


@pytest.mark.parametrize("ranges", [(), ((1, 1),), ((0, 4),), ((-1, 2),)])
def test_bad_ranges_are_refused(ranges: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ParameterError, match="ranges"):
        RangeSums(Buckets((1, 2, 3)), ranges)
