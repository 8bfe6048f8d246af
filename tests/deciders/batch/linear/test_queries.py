"""Structured batches against one dense matrix, and the identities of section 4."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pqd.deciders import ParameterError
from pqd.deciders.batch.linear.conditions import Conditions, Intervals, Ranges, Subsets
from pqd.deciders.batch.linear.dyadic import dyadic_cover, dyadic_sums
from pqd.deciders.batch.linear.queries import (
    CappedQueries,
    NumericalQueries,
    ThresholdQueries,
    doubling,
)
from pqd.deciders.batch.linear.universe import (
    DigitUniverse,
    LevelUniverse,
    Rows,
    Universe,
    level_sets,
)
from tests.support.linear_mechanisms import dense_queries, dense_unit_queries

RNG = np.random.default_rng(7)


def conditions() -> Iterator[tuple[str, Conditions]]:
    line = Intervals.up_to(12, 5)
    yield "line", Ranges((line,))
    yield "plane", Ranges((Intervals.up_to(4, 2), Intervals.up_to(3, 3)))
    points = np.array([0, 1])
    few = Intervals(2, points, points)
    yield "box", Ranges((Intervals(3, np.array([1]), np.array([2])), few, Intervals.up_to(2, 2)))
    yield "subsets", Subsets(RNG.random((9, 12)) < 0.4)


def universes() -> Iterator[tuple[str, Universe]]:
    yield "whole", LevelUniverse.up_to(12, 21)
    yield "own weights", LevelUniverse(12, np.sort(RNG.integers(0, 50, (12, 7)), axis=1))
    yield "bits", DigitUniverse(12, 21)
    yield "truncated", DigitUniverse(12, 21).truncated(9)
    yield "truncated whole", LevelUniverse.up_to(12, 21).truncated(6)


def batches() -> Iterator[tuple[str, NumericalQueries]]:
    for first, conditions_ in conditions():
        for second, universe in universes():
            yield f"{first}, {second}", NumericalQueries(conditions_, universe)


BATCHES = dict(batches())
TABLE = Rows(RNG.integers(-1, 13, 400), RNG.integers(-2, 25, 400))


@pytest.mark.parametrize("queries", BATCHES.values(), ids=BATCHES.keys())
def test_a_batch_is_its_dense_matrix(queries: NumericalQueries) -> None:
    dense = dense_queries(queries)
    counts = queries.counts(TABLE)
    weights = RNG.random(counts.size)
    thresholds = doubling(1, int(queries.limits.max()))
    above, capped = queries.tails(counts, thresholds)
    smooth, smooth_capped = queries.tails(weights, thresholds)
    assert above.dtype == capped.dtype == np.int64
    for place, bound in enumerate(thresholds.tolist()):
        over, under = dense > bound, np.minimum(dense, bound)
        assert above[:, place].tolist() == (over @ counts).tolist()
        assert capped[:, place].tolist() == (under @ counts).tolist()
        assert smooth[:, place] == pytest.approx(over @ weights)
        assert smooth_capped[:, place] == pytest.approx(under @ weights)
    assert dense.max() <= queries.peak <= thresholds[-1]
    assert np.all(dense.max(axis=1) <= queries.limits)


@pytest.mark.parametrize("queries", BATCHES.values(), ids=BATCHES.keys())
def test_the_rows_themselves_are_worth_as_much(queries: NumericalQueries) -> None:
    """``w^(D^) = w(D)``: also in a universe of digits, where a row is many cells."""
    thresholds = doubling(1, int(queries.limits.max()))
    above, capped = queries.table_tails(TABLE, thresholds)
    dense = dense_queries(queries)
    assert capped[:, -1].tolist() == (dense @ queries.counts(TABLE)).tolist()
    if queries.group == 1:
        on_cells = queries.tails(queries.counts(TABLE), thresholds)
        assert above.tolist() == on_cells[0].tolist()
        assert capped.tolist() == on_cells[1].tolist()


@pytest.mark.parametrize("queries", BATCHES.values(), ids=BATCHES.keys())
def test_what_a_row_may_contribute(queries: NumericalQueries) -> None:
    """Limits, group and maxima, against tables of one row."""
    limits, group = np.zeros(queries.size, np.int64), 0
    for where in range(12):
        for level in range(22):
            one = Rows(np.array([where]), np.array([level]))
            thresholds = doubling(1, int(queries.limits.max()))
            worth = queries.table_tails(one, thresholds)[1][:, -1]
            assert queries.maxima(one).tolist() == [worth.max()]
            limits = np.maximum(limits, worth)
            group = max(group, int(queries.counts(one).sum()))
    assert limits.tolist() == queries.limits.tolist()
    assert group == queries.group


@pytest.mark.parametrize("queries", BATCHES.values(), ids=BATCHES.keys())
def test_linear_families_are_their_rows(queries: NumericalQueries) -> None:
    thresholds = doubling(2, queries.peak)
    limits = np.maximum(queries.limits, 1)
    uneven = np.arange(queries.size) % 7 + 1
    counts = queries.counts(TABLE)
    weights = RNG.random(counts.size)
    for family in (
        ThresholdQueries(queries, thresholds),
        ThresholdQueries(queries, thresholds, linear=False),
        CappedQueries(queries, limits),
        CappedQueries(queries, uneven),
    ):
        tails, dense = family.tails(counts), dense_unit_queries(family)
        exact, smooth = family.answers(tails), family.answers(family.tails(weights))
        assert exact.size == smooth.size == family.size
        assert 0 <= dense.min() <= dense.max() <= 1
        assert exact == pytest.approx(dense @ counts)
        assert smooth == pytest.approx(dense @ weights)
        assert [float(family.query(place).exact(tails)) for place in range(family.size)] == [*exact]


@pytest.mark.parametrize("queries", BATCHES.values(), ids=BATCHES.keys())
def test_sensitivity_is_what_one_row_does(queries: NumericalQueries) -> None:
    thresholds = doubling(1, queries.peak)
    families: tuple[Any, ...] = (
        ThresholdQueries(queries, thresholds),
        CappedQueries(queries, np.maximum(queries.limits, 1)),
        CappedQueries(queries, np.full(queries.size, 2)),
    )
    for family in families:
        moved = 0.0
        for where in range(12):
            for level in range(22):
                one = queries.counts(Rows(np.array([where]), np.array([level])))
                moved = max(moved, float(family.answers(family.tails(one)).max()))
        assert moved <= family.sensitivity + 1e-9
    assert families[1].sensitivity == 1


def test_most_ones_of_the_numbers_up_to_a_bound() -> None:
    most = 0
    for upper in range(1, 600):
        most = max(most, upper.bit_count())
        assert DigitUniverse(1, upper).group == most <= 1 + math.log2(upper)


def test_numbers_of_the_paper() -> None:
    """Section 6 and appendix A: queries and universes of each experiment."""
    age, flag = Intervals.up_to(100, 11), Intervals.up_to(2, 1)
    assert age.first.size == 1045
    assert Ranges((age, Intervals.up_to(16, 2))).size == 32_395
    assert Ranges((age, flag, flag)).size == 4180
    assert Ranges((Intervals.up_to(50, 50),)).size == 1275
    assert Intervals.up_to(84, 12).first.size == 942
    nobody = Rows(np.empty(0, np.int64), np.empty(0, np.int64))
    assert DigitUniverse(1600, 4396).counts(nobody).size == 20_800
    thresholds = doubling(1, 4096)
    adult = NumericalQueries(Ranges((age, Intervals.up_to(16, 2))), DigitUniverse(1600, 4396))
    queries = ThresholdQueries(adult, thresholds)
    assert queries.answers(queries.tails(adult.counts(nobody))).size == 2 * 13 * 32_395
    assert DigitUniverse(128, 2**32).weights.size == 33


def test_level_sets_partition_the_rows() -> None:
    universe = LevelUniverse.up_to(12, 21)
    thresholds = doubling(1, 21)
    counts, totals = level_sets(TABLE, universe, thresholds)
    values = universe.values(TABLE)
    edges = [-1, *thresholds.tolist()]
    for place, (low, high) in enumerate(pairwise(edges)):
        held = (values > low) & (values <= high)
        assert counts[:, place].sum() == held.sum()
        assert totals[:, place].sum() == values[held].sum()


def test_dyadic_intervals_make_up_every_interval() -> None:
    for length in (1, 2, 5, 13, 16):
        leaves = RNG.integers(0, 99, (length, 2))
        layers = dyadic_sums(leaves)
        assert len(layers) == max(1, math.ceil(math.log2(length)) + 1)
        for first in range(length):
            for last in range(first, length):
                nodes = dyadic_cover(first, last)
                assert len(nodes) <= max(1, 2 * math.log2(length + 1))
                total = sum(layers[node.layer][node.place] for node in nodes)
                assert total.tolist() == leaves[first : last + 1].sum(axis=0).tolist()


@pytest.mark.parametrize("summands", [1, 7, 10**6])
def test_sums_over_runs_are_those_of_the_matrix(
    summands: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of conditions that select nothing too, and however many numbers are added up at a time."""
    monkeypatch.setattr("pqd.deciders.batch.linear.conditions._MOST_SUMMANDS", summands)
    matrix, columns = RNG.random((8, 30)) < 0.5, RNG.integers(-9, 2**40, (30, 5))
    matrix[[0, 4, 7]], matrix[2] = False, True
    assert (Subsets(matrix).sums(columns) == matrix.astype(np.int64) @ columns).all()
    assert not Subsets(matrix[:1]).sums(columns).any()


def test_a_universe_that_does_not_fit_is_refused_by_its_size() -> None:
    with pytest.raises(ParameterError, match=r"160,000,000 cells \(1,600 classes x 100,000 levels"):
        LevelUniverse.up_to(1600, 99_999)
    wide = NumericalQueries(Subsets(np.ones((1, 2**23), bool)), DigitUniverse(2**23, 2**32))
    with pytest.raises(ParameterError, match=r"276,824,064 cells"):
        wide.counts(TABLE)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: DigitUniverse(3, 0),
        lambda: DigitUniverse(3, 2**53 + 1),
        lambda: LevelUniverse(2, np.array([[3, 2]])),
        lambda: LevelUniverse(2, np.array([[-1, 2]])),
        lambda: LevelUniverse(3, np.ones((2, 2), np.int64)),
        lambda: Intervals(3, np.array([0]), np.array([3])),
        lambda: Intervals(3, np.array([2]), np.array([1])),
        lambda: NumericalQueries(Subsets(np.ones((1, 2), bool)), DigitUniverse(3, 4)),
        lambda: doubling(0, 4),
    ],
)
def test_what_makes_no_sense_is_refused(refused: Any) -> None:
    with pytest.raises(ParameterError):
        refused()
