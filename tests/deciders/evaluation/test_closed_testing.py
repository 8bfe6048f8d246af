"""Closed testing against all subsets at once, written down as its definition says."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import pytest

from pqd.deciders.evaluation.closed_testing import Discoveries

Values = Sequence[float]
Bound = Callable[[Values, float], int]


def subsets(places: Sequence[int]) -> list[tuple[int, ...]]:
    """Every set of places that is not empty."""
    return [some for size in range(1, len(places) + 1) for some in combinations(places, size)]


def refuted(values: Values, alpha: float) -> bool:
    """Simes' rule: whether "all of these claims are false" is refuted."""
    count = len(values)
    return any(p <= rank * alpha / count for rank, p in enumerate(sorted(values), start=1))


def unrefuted(values: Values, alpha: float) -> list[frozenset[int]]:
    """The sets that may consist of false claims: refuted neither themselves nor by a larger set."""
    every = [frozenset(some) for some in subsets(range(len(values)))]
    rejected = {some for some in every if refuted([values[k] for k in some], alpha)}
    return [some for some in every if not all(more in rejected for more in every if more >= some)]


def by_hand(places: Sequence[int], standing: Sequence[frozenset[int]]) -> int:
    """What closed testing says: all of a set but the largest part of it that may be false."""
    chosen = set(places)
    return len(chosen) - max((len(some) for some in standing if some <= chosen), default=0)


def drawn(rng: np.random.Generator) -> tuple[list[float], float]:
    """Some p-values, with small ones, equal ones, ones on a bar of the rule, 0 and 1 among them."""
    count, alpha = int(rng.integers(1, 9)), float(rng.choice([0.05, 0.2, 0.5]))
    kinds = [
        lambda: float(rng.random()),
        lambda: float(rng.random() * alpha),
        lambda: float(rng.integers(1, count + 1)) * alpha / float(rng.integers(1, count + 1)),
        lambda: float(rng.choice([0.0, 1.0])),
        lambda: float(rng.integers(0, 5)) / 50,
    ]
    mixed = rng.integers(0, 3)
    chosen = kinds if mixed == 0 else kinds[:2] if mixed == 1 else kinds[1:2]
    return [min(1.0, chosen[rng.integers(len(chosen))]()) for _ in range(count)], alpha


@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_those_of_testing_every_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = set()
    for _ in range(150):
        values, alpha = drawn(rng)
        found, standing = Discoveries(values, alpha), unrefuted(values, alpha)
        everything = range(len(values))
        assert found.among() == found.among(everything) == by_hand(everything, standing)
        seen.add(found.among() / len(values))
        for places in subsets(everything):
            assert found.among(places) == by_hand(places, standing), (values, places)
    # Else the cases would all be of one kind.
    assert {0.0, 1.0} < seen


def test_edges() -> None:
    assert Discoveries([], 0.05).among() == 0
    assert Discoveries([], 0.05).among([]) == 0
    assert Discoveries([0.0], 0.05).among([]) == 0
    assert Discoveries([0.0] * 7, 0.05).among() == 7
    assert Discoveries([0.0] * 7, 0.05).among([1, 3]) == 2
    assert Discoveries([1.0] * 7, 0.05).among() == 0
    assert Discoveries([0.0, 1.0, 0.0], 0.05).among() == 2
    assert Discoveries([0.05], 0.05).among() == 1
    assert Discoveries([0.0500001], 0.05).among() == 0
    # Two that are each worth half the level are worth all of it together.
    assert Discoveries([0.04, 0.05], 0.05).among() == 2
    assert Discoveries([0.04, 0.06], 0.05).among() == 0


def test_places_come_in_any_order_and_form() -> None:
    found = Discoveries([0.001, 0.9, 0.002, 0.5], 0.05)
    assert found.among([0, 2]) == found.among(iter((2, 0))) == 2
    assert found.among(np.array([1, 3])) == 0


def test_a_large_workload() -> None:
    values = np.concatenate([np.zeros(900), np.linspace(0.2, 1, 600)])
    found = Discoveries(values, 0.05)
    assert found.among() == 900
    assert found.among(range(900, 1500)) == 0


# How often the bound is beyond the truth ----------------------------------------------------------

LEVEL = 0.2
RUNS = 3000


def closed(values: Values, level: float) -> int:
    return Discoveries(values, level).among()


def counting(values: Values, level: float) -> int:
    """The wrong program: every claim at the whole level, none for the many."""
    return sum(p <= level for p in values)


def largest_run(values: Values, level: float) -> int:
    """The other wrong program: few false claims on average (Benjamini-Hochberg), not surely."""
    ordered, count = sorted(values), len(values)
    held = [k for k, p in enumerate(ordered, start=1) if p <= k * level / count]
    return max(held, default=0)


def excess(bound: Bound, true: int, false: int) -> float:
    """How often ``bound`` exceeds the number of true claims."""
    rng = np.random.default_rng(5)
    strong = rng.random((RUNS, true)) * 1e-3
    values = np.hstack([strong, rng.random((RUNS, false))])
    return sum(bound(row.tolist(), LEVEL) > true for row in values) / RUNS


@pytest.mark.parametrize(("true", "false"), [(0, 1), (0, 6), (0, 20), (4, 8), (12, 3)])
def test_more_than_the_truth_is_as_rare_as_the_level_says(true: int, false: int) -> None:
    often = partial(excess, true=true, false=false)
    slack = 4 * (LEVEL * (1 - LEVEL) / RUNS) ** 0.5
    assert often(closed) <= LEVEL + slack
    if true == 0:
        # Nor is it far below: Simes' rule is exact where all claims are false and independent.
        assert often(closed) >= LEVEL - slack
    if false > 2:
        assert often(counting) > LEVEL + slack
    if true and false > 2:
        assert often(largest_run) > LEVEL + slack


def test_the_bound_on_the_best_looking_ones_holds_too() -> None:
    rng = np.random.default_rng(8)
    beyond = 0
    for _ in range(RUNS):
        values = rng.random(10)
        found = Discoveries(values, LEVEL)
        # Chosen after the fact: whichever set looks best.
        best = np.argsort(values)
        beyond += any(found.among(best[:k].tolist()) > 0 for k in range(1, 11))
    assert beyond / RUNS <= LEVEL + 4 * (LEVEL * (1 - LEVEL) / RUNS) ** 0.5
