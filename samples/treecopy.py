"""A simple synthetic copy: a Bayesian network of degree 1 with noisy counts.

In the spirit of PrivBayes (Zhang et al. 2014), but with a fixed attribute tree: every attribute
is binned, the joint counts of each attribute and its parent get Laplace noise, negative counts
become zero, and the copy is drawn down the tree. Values are spread evenly inside their bin.

This is a stand-in for demonstrations, not a mechanism to release data with. The noise scale,
attributes / epsilon, is the one the textbook argument asks for when one row is added or removed,
but the noise comes from ordinary floating-point draws with a known seed, the row count is used
exactly, and nothing here has been proved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from draw import Floats, Ints, Table, pick


@dataclass(frozen=True)
class Attribute:
    """A column, its closed integer bins in ascending order, and its parent in the tree."""

    name: str
    bins: tuple[tuple[int, int], ...]
    parent: str | None = None
    labels: tuple[str, ...] = ()


def category(name: str, labels: Sequence[str], parent: str | None = None) -> Attribute:
    """Describe a text column, held as codes 0, 1, ... that stand for `labels`."""
    return Attribute(name, units(0, len(labels) - 1), parent, tuple(labels))


def units(low: int, high: int) -> tuple[tuple[int, int], ...]:
    """One bin for each integer of the closed range."""
    return tuple((value, value) for value in range(low, high + 1))


def steps(*edges: int) -> tuple[tuple[int, int], ...]:
    """Bins that start at each edge and stop just before the next; the last edge is left out."""
    return tuple((low, high - 1) for low, high in pairwise(edges))


def noisy_counts(
    child: Ints, parent: Ints, shape: tuple[int, int], scale: float, rng: np.random.Generator
) -> Floats:
    """Joint counts, parent by child, with Laplace noise and no negative cell."""
    cells = np.bincount(parent * shape[1] + child, minlength=shape[0] * shape[1])
    noisy = np.maximum(cells + rng.laplace(0.0, scale, cells.size), 0.0).reshape(shape)
    # A parent value whose cells were all wiped out falls back to the uniform distribution.
    noisy[noisy.sum(axis=1) == 0.0] = 1.0
    return noisy


def synthetic_copy(
    table: Table, tree: Sequence[Attribute], epsilon: float, rng: np.random.Generator
) -> Table:
    """Learn the tree's noisy histograms from `table` and draw as many rows from them.

    A parent must come before its children in `tree`.
    """
    rows = len(table[tree[0].name])
    learnt: Table = {}
    drawn: Table = {}
    values: Table = {}
    root = np.zeros(rows, dtype=np.int64)
    for attribute in tree:
        low, high = np.array(attribute.bins, dtype=np.int64).T
        seen = np.searchsorted(low, table[attribute.name], side="right") - 1
        above = learnt[attribute.parent] if attribute.parent else root
        size = next((len(a.bins) for a in tree if a.name == attribute.parent), 1)
        counts = noisy_counts(seen, above, (size, low.size), len(tree) / epsilon, rng)
        bins = pick(rng, counts, drawn[attribute.parent] if attribute.parent else root)
        learnt[attribute.name], drawn[attribute.name] = seen, bins
        values[attribute.name] = rng.integers(low[bins], high[bins], endpoint=True)
    return {name: values[name] for name in table}
