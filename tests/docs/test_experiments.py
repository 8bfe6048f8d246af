"""What the experiments compute: the published GreedyH as its authors define it, and verdicts."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import block_diag

from benchmarks.paper.wu.mechanisms import published_greedy
from benchmarks.standard_errors import NO, UNDECIDED, YES, Estimate
from pqd.deciders.batch.range_sums.hierarchy import greedy_hierarchy, hierarchy_of_shares

Matrix = NDArray[np.float64]


def by_definition(queries: Matrix, depth: int = 0) -> tuple[float, Matrix, list[list[float]]]:
    """Error, ``(A'A)^-1`` and each level's shares (Li, Hay and Miklau 2014), with dense matrices.

    What a node takes of its columns' norm fades with its depth, in both places where it stands.
    """
    cells = queries.shape[1]
    if cells == 1:
        return float((queries**2).sum()), np.ones((1, 1)), []
    halves = [by_definition(part, depth + 1) for part in np.hsplit(queries, 2)]
    covariance = block_diag(*(half[1] for half in halves))
    with_count = covariance.sum(axis=0)
    variance = with_count.sum()
    pairs = zip(np.hsplit(queries, 2), np.split(with_count, 2), strict=True)
    below = sum(float(((part @ vector) ** 2).sum()) for part, vector in pairs)
    here = float(((queries @ with_count) ** 2).sum())
    fading, errors = 2 ** (-depth / 2), sum(half[0] for half in halves)
    tried = [
        (errors - ((here - below) * fading + below) * taken / (rest**2 + taken * variance))
        / rest**2
        for rest in (step / 100 for step in range(100, 0, -1))
        for taken in (fading * (1 - rest) ** 2,)
    ]
    rest = (100 - int(np.argmin(tried))) / 100
    factor = (1 - rest) ** 2 / (rest**2 + variance * (1 - rest) ** 2)
    covariance = (covariance - factor * np.outer(with_count, with_count)) / rest**2
    levels = [one + other for one, other in zip(halves[0][2], halves[1][2], strict=True)]
    return min(tried), covariance, [[1 - rest], *levels]


@pytest.mark.parametrize("seed", range(4))
def test_the_published_greedy_is_that_of_its_authors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts, stops = np.sort(rng.permuted(np.tile(np.arange(17), (40, 1)), axis=1)[:, :2]).T
    weights = rng.integers(1, 9, 16).astype(np.float64)
    cells = np.arange(16)
    inside = (starts[:, None] <= cells) & (cells < stops[:, None])
    _, _, shares = by_definition(np.where(inside, weights, 0.0))
    expected = hierarchy_of_shares([np.array(level) for level in shares], 16).weights
    found = published_greedy(starts, stops, weights).weights
    assert [level.tolist() for level in found] == [level.tolist() for level in expected]


def test_ours_has_a_lower_error_on_all_prefixes() -> None:
    """By 1.3 times, not twice as with the fading in one of its places only."""
    cells = 1024
    starts, stops = np.zeros(cells, np.int64), np.arange(1, cells + 1)
    ones = np.ones(cells)
    trees = [greedy(starts, stops, ones) for greedy in (greedy_hierarchy, published_greedy)]
    ours, theirs = (
        float((tree.variances(starts, stops, ones) * tree.norm**2).sum()) for tree in trees
    )
    assert theirs / ours == pytest.approx(1.30, abs=0.02)


def test_a_claim_is_met_or_not_only_beyond_what_seeds_scatter() -> None:
    assert Estimate.of([1.0, 2.0, 3.0, 2.0]).positive == YES
    assert Estimate.of([-1.0, -2.0, -3.0, -2.0]).positive == NO
    assert Estimate.of([1.0, -2.0, 3.0, 2.0]).positive == UNDECIDED
    assert Estimate.of([0.0] * 8).positive == UNDECIDED
    # One seed shows nothing; two need to be very near each other.
    assert Estimate.of([5.0]).positive == UNDECIDED
    assert Estimate.of([1.0, 2.0]).positive == UNDECIDED
    found = Estimate.of([1.0, 2.0, 3.0])
    assert found.error == pytest.approx(1 / math.sqrt(3))
    assert str(found) == "2 (se 29 %)"
    assert str(Estimate.of([4.0, 4.0])) == "4"
