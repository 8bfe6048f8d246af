"""Chance of persons: marks against many pairs of samples of persons, and intervals by persons.

Exact figures are those of ``benchmarks.persons``, which weighs rows by min(1, k/j) on its own.
"""

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import pytest

from benchmarks.persons import LEVEL, Exact, compared, people, profiled
from pqd.deciders import SimulatedNoise
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import BoundProfile, bind_profile, mean_weights
from pqd.marginals.chance import CopyChance, Spread
from pqd.marginals.profile_parameters import ProfileParameters

PERSONS, PAIRS, LIMIT = 200, 25, 4.5
SETTINGS = [("skewed", "alike", 1), ("skewed", "alike", 10), ("even", "independent", 1)]


class Pairs:
    """Pairs of independent samples of persons: distances, and chance by the copy of each."""

    def __init__(self, numbers: str, rows: str, most: int) -> None:
        self._most = most
        self._exact = []
        for run in range(PAIRS):
            rng = np.random.default_rng([17, run])
            first, second = (people(PERSONS, numbers, rows, rng) for _ in "ab")
            self._exact.append(Exact(first, second, most))

    @cached_property
    def bound(self) -> list[BoundProfile]:
        """Profiles of the copies."""
        stated = ProfileParameters.parse(columns=["area", "job", "level", "flag"], anyway=True)
        unit = PrivacyUnit("pid", self._most)
        return [
            bind_profile(SyntheticTables([open_table(e.copy, "synthetic")]), stated.request, unit)
            for e in self._exact
        ]

    @cached_property
    def chances(self) -> list[CopyChance]:
        """Chance for a private table as large as the first sample."""
        rows = [round(each.own.weights.sum()) for each in self._exact]
        return [CopyChance(*pair) for pair in zip(self.bound, rows, strict=True)]

    @cached_property
    def distances(self) -> np.ndarray:
        """Exact distance of each pair in each marginal, (pairs, marginals)."""
        names = [frozenset(each.columns) for each in self.bound[0].marginals]
        return np.array([[each.distances[name] for name in names] for each in self._exact])

    def references(self) -> np.ndarray:
        """Mean distance by chance that each copy gives, (pairs, marginals)."""
        return np.array([each.references for each in self.chances])


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def pairs(request: pytest.FixtureRequest) -> Pairs:
    return Pairs(*request.param)


def test_references_are_the_mean_distances_of_samples_of_persons(pairs: Pairs) -> None:
    found, true = pairs.references().mean(axis=0), pairs.distances.mean(axis=0)
    assert found == pytest.approx(true, rel=0.25)
    assert found.mean() == pytest.approx(true.mean(), rel=0.1)


def test_samples_of_persons_are_seldom_beyond_chance_or_too_near(pairs: Pairs) -> None:
    beyond = near = 0
    for bound, chance, own in zip(pairs.bound, pairs.chances, pairs.distances, strict=True):
        weights = np.array([*map(float, mean_weights(bound.marginals))])
        overall = own @ weights
        beyond += overall > chance.independent.at_once(LEVEL / 2, weights[:, None])[0]
        near += overall < chance.drawn.quantile(LEVEL, [*weights])
    assert beyond <= most(LEVEL / 2)
    assert near <= most(LEVEL)


def most(level: float) -> float:
    """Largest number of pairs that is no surprise at this level."""
    return PAIRS * level + LIMIT * math.sqrt(PAIRS * level * (1 - level))


@pytest.mark.parametrize("setting", [SETTINGS[1], SETTINGS[2]], ids=str)
def test_references_as_if_rows_were_persons_are_caught(
    setting: tuple[str, str, int],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """Rows that are alike and weigh ten rows move a share by more, many small rows by less."""
    own = Pairs(*setting)
    spreads = (Spread(1.0, 1.0),) * len(own.bound[0].marginals)
    monkeypatch.setattr(CopyChance, "spreads", spreads)
    found, true = own.references().mean(), own.distances.mean()
    assert abs(found / true - 1) > 0.3
    record_property("mutant", f"chance of single rows: {setting}")
    record_property("caught_by", f"mean distance {found:.3f}, in truth {true:.3f}")


@pytest.mark.parametrize(("numbers", "most_rows"), [("even", 3), ("skewed", 1)])
def test_intervals_hold_the_figures_of_weighed_persons(numbers: str, most_rows: int) -> None:
    rng = np.random.default_rng([18, most_rows])
    private, copy = (people(150, numbers, "alike", rng) for _ in "ab")
    exact = Exact(private, copy, most_rows)
    unit = PrivacyUnit("pid", most_rows)
    for figures in (profiled, compared):
        held = [held for _, held in figures(exact, unit, SimulatedNoise(rng))]
        missed = held.count(False)
        assert missed <= len(held) * LEVEL + LIMIT * math.sqrt(len(held) * LEVEL * (1 - LEVEL))
