"""Simulated releases of relations against what is said of them: coverage and levels.

The same checks must reject an interval that forgets a part of the noise.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.deciders import SimulatedNoise
from pqd.deciders.distances import cube_law, relations
from pqd.deciders.distances.cube_law import CubeLaw, CubeNoise
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.deciders.distances.relations import (
    Relations,
    RelationsEstimates,
    critical,
    half_width,
    tail,
)
from pqd.engine.marginals import EveryRow
from pqd.marginals.measurements import RelationsMeasurement
from pqd.marginals.relations import copies_estimates
from pqd.reports.models.relations import RelationsFacts
from pqd.reports.models.standings import Standing

ALPHA, RUNS, LIMIT = 0.1, 400, 4.5
SCALE = Fraction(10)
# True T, T0 and M: much is kept, half, nothing, and less than nothing.
TRUE = [(130, 700, 60), (400, 700, 100), (640, 640, 20), (90, 60, 5), (95, 30, 20)]


def share(rows: tuple[int, int, int]) -> float:
    pairs, product, columns = rows
    return max(-1.0, 1 - (pairs - columns) / (product - columns))


def releases(rows: tuple[int, int, int], copies: int) -> list[RelationsEstimates]:
    noise, law = SimulatedNoise(np.random.default_rng(7)), CubeLaw(3 * copies, SCALE)
    drawn = [noise.cube([*rows] * copies, SCALE)[-3:] for _ in range(RUNS)]
    return [RelationsEstimates(tuple(each), law, ALPHA) for each in drawn]  # type: ignore[arg-type]


def most(rate: float) -> float:
    return rate + LIMIT * math.sqrt(rate * (1 - rate) / RUNS)


@pytest.mark.parametrize("rows", TRUE)
@pytest.mark.parametrize("copies", [1, 2])
def test_intervals_hold_the_share_that_is_kept(rows: tuple[int, int, int], copies: int) -> None:
    kept = [each.kept for each in releases(rows, copies)]
    misses = sum(not low <= share(rows) <= high for _, low, high in kept)
    assert misses <= most(ALPHA) * RUNS
    assert all(-1 <= low <= value <= high <= 1 for value, low, high in kept)


@pytest.mark.parametrize("rows", TRUE)
def test_intervals_hold_what_there_is_to_keep_and_what_is_lost(rows: tuple[int, int, int]) -> None:
    every = releases(rows, 1)
    for true, name in ((rows[1] - rows[2], "relations"), (rows[0] - rows[2], "lost")):
        ends = [getattr(each, name) for each in every]
        assert sum(not low <= true <= high for _, low, high in ends) <= most(ALPHA) * RUNS


@pytest.mark.parametrize("bar", ["0", "0.5", "0.8"])
def test_a_wrong_verdict_seldom_has_a_small_p_value(bar: str) -> None:
    """At the bar itself the truth is no."""
    sigma = Fraction(bar)
    for rows in [*TRUE, (int(60 + 640 * (1 - sigma)), 700, 60)]:
        true = 1 - Fraction(rows[0] - rows[2], rows[1] - rows[2]) > sigma
        verdicts = [each.verdict(sigma) for each in releases(rows, 1)]
        wrong = sum(each.outcome != true and each.p_value <= ALPHA for each in verdicts)
        assert wrong <= most(ALPHA) * RUNS


def test_an_interval_is_not_much_wider_than_it_must_be() -> None:
    kept = [each.kept for each in releases(TRUE[1], 1)]
    misses = sum(not low <= share(TRUE[1]) <= high for _, low, high in kept)
    assert misses >= ALPHA * RUNS / 3
    width = np.mean([high - low for _, low, high in kept])
    assert width == pytest.approx(2 * half_width(CubeLaw(3, SCALE), 600, 0.5, ALPHA), rel=0.25)


def test_an_interval_without_the_noise_of_two_numbers_is_caught(
    monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    def of_one(law: CubeLaw, weights: object, alpha: float) -> float:
        del weights
        reach: float = critical(law, (1.0,), alpha)
        return reach

    monkeypatch.setattr(relations, "critical", of_one)
    kept = [each.kept for each in releases(TRUE[0], 1)]
    misses = sum(not low <= share(TRUE[0]) <= high for _, low, high in kept)
    assert misses > most(ALPHA) * RUNS
    record_property("mutant", "relations with the noise of one number")
    record_property("caught_by", f"coverage {1 - misses / RUNS:.3f} where {1 - ALPHA} is said")


def test_nothing_may_be_there_to_keep() -> None:
    law = CubeLaw(3, SCALE)
    assert RelationsEstimates((50, 40, 60), law, ALPHA).kept == (0, -1, 1)
    assert RelationsEstimates((50, 40, 60), law, ALPHA).relations[:2] == (0, 0)


@pytest.mark.parametrize("weights", [(0.5, 1.0, 0.5), (0.9, 1.0, 0.1), (1.0, 1.0)])
def test_the_closed_form_of_few_coordinates_is_that_of_the_tables(
    weights: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are rounded to larger tails, by less than a per cent."""
    places, rows = np.linspace(0, 200, 41), LaplaceLaw(SCALE)
    noise = CubeNoise(CubeLaw(3, SCALE), tuple((weight, 1) for weight in weights))
    exact, reach = noise.at_least(places, 0.0, rows), noise.critical(0.0, rows, ALPHA)
    monkeypatch.setattr(cube_law, "_FEW", 0)
    tables = noise.at_least(places, 0.0, rows)
    assert (exact <= tables + 1e-12).all()
    assert np.abs(exact - tables).max() < 0.01
    assert reach <= noise.critical(0.0, rows, ALPHA) <= 1.01 * reach + 1


def test_tails_are_those_of_simulated_noise() -> None:
    noise, runs = SimulatedNoise(np.random.default_rng(11)), 20_000
    drawn = np.array([noise.cube([0, 0, 0], SCALE) for _ in range(runs)])
    for weights in ((0.5, 1.0, 0.5), (0.8, 1.0, 0.2)):
        sums = drawn @ np.array(weights)
        for rows in (10.0, 40.0, 70.0):
            rate, bound = (sums >= rows).mean(), tail(CubeLaw(3, SCALE), weights, rows)
            assert rate <= bound + LIMIT * (bound / runs) ** 0.5
            assert bound <= 1.25 * rate + 0.002


# Twelve copies: the truth of each, and what is said of all of them at once.
OF_COPIES = [(400, 7000, 100), (13000, 27000, 100), (4000, 7000, 100)] * 4
BAR = Fraction(1, 2)


def of_all(copies: Sequence[tuple[int, int, int]]) -> list[tuple[RelationsEstimates, ...]]:
    """Releases of all copies at once, as a comparison reads them."""
    maps, each = (EveryRow(()),), Relations((np.array([[1, 2], [3, 4]]),))
    measurement = RelationsMeasurement(
        kinds=(), unit=None, epsilon=1 / SCALE, name="", relations=((maps, each),) * len(copies)
    )
    noise = SimulatedNoise(np.random.default_rng(23))
    exact = [rows for copy in copies for rows in copy]
    drawn = [noise.cube(exact, SCALE) for _ in range(RUNS)]
    return [copies_estimates(each, measurement, Fraction(1, 10)) for each in drawn]


def missed(runs: Sequence[Sequence[RelationsEstimates]]) -> float:
    """Share of runs in which the interval of any copy misses its share."""
    every = ([(e.kept, share(t)) for e, t in zip(run, OF_COPIES, strict=True)] for run in runs)
    return float(np.mean([any(not k.low <= s <= k.high for k, s in run) for run in every]))


def test_intervals_of_all_copies_hold_at_once() -> None:
    assert missed(of_all(OF_COPIES)) <= most(ALPHA)


BROKEN: dict[str, dict[str, Any]] = {
    "each at alpha": {"alpha": ALPHA},
    "law of one copy": {"law": CubeLaw(3, SCALE)},
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_intervals_of_several_copies_are_caught(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    runs = of_all(OF_COPIES)
    found = missed([[replace(each, **BROKEN[name]) for each in run] for run in runs])
    assert found > most(ALPHA)
    record_property("mutant", f"relations of several copies, {name}")
    record_property("caught_by", f"coverage of all {1 - found:.3f} where {1 - ALPHA} is said")


def test_wrong_verdicts_on_any_copy_are_seldom_established() -> None:
    """Copies at the bar itself, where the truth is no."""
    copies = [(380, 700, 60)] * 4
    worst = [
        max((4 * v.verdict(BAR).p_value <= ALPHA) and v.verdict(BAR).outcome for v in run)
        for run in of_all(copies)
    ]
    assert np.mean(worst) <= most(ALPHA)


def small_table(seed: int) -> pd.DataFrame:
    """Table of 600 rows with relations in so many cells that a real sample keeps little of them."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 20, 600)
    return pd.DataFrame(
        {
            "first": first,
            "second": (first + rng.integers(0, 12, 600)) % 20,
            "third": (first + rng.integers(0, 14, 600)) % 16,
        }
    ).astype(str)


def shuffled(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return table.assign(**{str(name): rng.permutation(table[name].to_numpy()) for name in table})


def test_a_real_sample_is_hardly_ever_said_to_lose_relations_and_a_shuffled_copy_is() -> None:
    honest: list[RelationsFacts] = []
    lost: list[RelationsFacts] = []
    for seed in range(15):
        private, copy = small_table(2 * seed), small_table(2 * seed + 1)
        for copies, table in ((honest, copy), (lost, shuffled(copy, seed))):
            ask = pqd.simulate(pqd.profile, seed=seed)
            report = ask(private, table, total_epsilon=20, tau="30%", anyway=True)
            assert report.relations is not None
            copies.append(report.relations)
    assert all(each.is_out_of_reach for each in honest)
    assert sum(each.is_unjudged for each in honest) > 10
    assert not any(each.may_be_lost for each in honest)
    assert all(each.may_be_lost for each in lost)
    # A verdict by the bar alone, which such a sample does not reach either, calls them lost.
    assert sum(each.standing is Standing.BEYOND for each in honest) > 10
