"""Trees of counts against their matrices written out, and GreedyH against plainer strategies."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders.batch.range_sums.hierarchy import (
    NORM,
    Hierarchy,
    greedy_hierarchy,
    hierarchy_of_shares,
    level_edges,
)
from pqd.deciders.distributions import Floats
from pqd.deciders.histogram import Integers
from tests.deciders.batch.range_sums.dense import column_norm, tree_matrix


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """Any weights: also trees that are not chosen well, whose columns differ."""
    leaves = draw(st.integers(1, 11))
    edges = level_edges(leaves)
    inner = [
        np.array(draw(st.lists(st.integers(0, 5), min_size=e.size - 1, max_size=e.size - 1)))
        for e in edges[:-1]
    ]
    last = np.array(draw(st.lists(st.integers(1, 5), min_size=leaves, max_size=leaves)))
    bottom = np.zeros(edges[-1].size - 1, np.int64)
    bottom[np.diff(edges[-1]) > 0] = last
    return Hierarchy((*inner, bottom), leaves)


@settings(max_examples=40)
@given(trees(), st.data())
def test_a_tree_is_its_matrix(tree: Hierarchy, data: st.DataObject) -> None:
    written = tree_matrix(tree)
    assert tree.norm == column_norm(written)
    cells = np.array(
        data.draw(st.lists(st.integers(0, 2**70), min_size=tree.leaves, max_size=tree.leaves)),
        dtype=object,
    )
    assert tree.measure(cells) == (written.astype(int).astype(object) @ cells).tolist()
    measured = np.random.default_rng(tree.leaves).normal(size=len(written))
    assert np.allclose(tree.estimate(measured), np.linalg.pinv(written) @ measured)


def ranges_of(leaves: int, number: int, seed: int) -> tuple[Integers, Integers]:
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, leaves, number)
    return starts, starts + 1 + (rng.random(number) * (leaves - starts)).astype(np.int64)


def rows_of(starts: Iterable[int], stops: Iterable[int], coefficients: Floats) -> Floats:
    places = np.arange(coefficients.size)
    held = [(low <= places) & (places < high) for low, high in zip(starts, stops, strict=True)]
    return np.array(held) * coefficients


@settings(max_examples=40)
@given(trees(), st.integers(0, 99))
def test_variances_are_those_of_the_pseudoinverse(tree: Hierarchy, seed: int) -> None:
    starts, stops = ranges_of(tree.leaves, 7, seed)
    coefficients = np.random.default_rng(seed).uniform(-1, 3, tree.leaves)
    rows = rows_of(starts, stops, coefficients)
    expected = ((rows @ np.linalg.pinv(tree_matrix(tree))) ** 2).sum(axis=1)
    assert np.allclose(tree.variances(starts, stops, coefficients), expected)


@pytest.mark.parametrize("leaves", [1, 2, 3, 5, 13, 64])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_greedy_weights_are_whole_and_share_one_norm(leaves: int, seed: int | None) -> None:
    starts, stops = prefixes(leaves) if seed is None else ranges_of(leaves, 2 * leaves, seed)
    coefficients = np.minimum(np.arange(1.0, leaves + 1), 20)
    written = tree_matrix(greedy_hierarchy(starts, stops, coefficients))
    assert (written.sum(axis=0) == NORM).all()
    assert (written == np.rint(written)).all()
    assert np.linalg.matrix_rank(written) == leaves


def prefixes(leaves: int) -> tuple[Integers, Integers]:
    return np.zeros(leaves, np.int64), np.arange(1, leaves + 1)


def error(tree: Hierarchy, starts: Integers, stops: Integers, coefficients: Floats) -> float:
    """Total variance at epsilon 1, but for the factor 2."""
    return tree.norm**2 * float(tree.variances(starts, stops, coefficients).sum())


def identity(leaves: int) -> Hierarchy:
    return hierarchy_of_shares([np.zeros(e.size - 1) for e in level_edges(leaves)[:-1]], leaves)


def plain(leaves: int) -> Hierarchy:
    """The same weight for every level (Hay et al. 2010)."""
    levels = len(level_edges(leaves))
    shares = [np.full(2**depth, 1 / (levels - depth)) for depth in range(levels - 1)]
    return hierarchy_of_shares(shares, leaves)


@pytest.mark.parametrize("leaves", [64, 100, 256, 1000, 1024])
@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("few", [False, True])
def test_greedy_beats_identity_and_a_plain_tree(leaves: int, clamped: bool, few: bool) -> None:
    """On prefixes, for equal coefficients (TIMM's) and for clamped weights (TAMM's)."""
    step = leaves // 10 if few else 1
    starts, stops = (bounds[step - 1 :: step] for bounds in prefixes(leaves))
    weights = np.minimum(np.arange(1, leaves + 1), leaves // 3).astype(np.float64)
    coefficients = weights if clamped else np.ones(leaves)
    case = starts, stops, coefficients
    greedy = error(greedy_hierarchy(*case), *case)
    assert greedy < 0.95 * error(identity(leaves), *case)
    assert greedy < 0.75 * error(plain(leaves), *case)


def test_greedy_on_1024_prefixes() -> None:
    """The ratio said in docs: about half of a plain tree's error."""
    case = (*prefixes(1024), np.ones(1024))
    assert error(greedy_hierarchy(*case), *case) / error(plain(1024), *case) == pytest.approx(
        0.533, abs=0.005
    )


@pytest.mark.parametrize("leaves", [4, 8])
def test_greedy_is_near_the_best_tree(leaves: int) -> None:
    """Against 3,000 random trees of the same shape, no better one by a tenth."""
    rng = np.random.default_rng(3)
    case = (*prefixes(leaves), np.arange(1.0, leaves + 1))
    greedy = error(greedy_hierarchy(*case), *case)
    depths = level_edges(leaves)[:-1]
    for _ in range(1_500):
        shares = [rng.random(e.size - 1) * rng.integers(0, 2, e.size - 1) for e in depths]
        assert greedy < 1.1 * error(hierarchy_of_shares(shares, leaves), *case)
