"""Worst cells: what noise alone does to the worst of many is not shown as a difference."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pqd.reports.documents.cells import (
    different_cells,
    differs,
    noise_bound,
    noise_sentence,
)
from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import BudgetPart, CellFacts, ZoomedMarginal
from tests.support.profile_reports import ADULT_PROFILE, PLAIN, ZOOMED

ROWS = Figure(20_000.0, 20_000.0, 20_000.0)


def marginal(differences: list[float]) -> ZoomedMarginal:
    """Marginal of a single column whose cells are off by so many shares of the rows."""
    cells = tuple(
        CellFacts(
            labels=(str(place),),
            copy=0.1,
            private=Figure(0.1 + apart, 0.0, 1.0),
            difference=Figure(apart, apart - 1e-6, apart + 1e-6),
        )
        for place, apart in enumerate(differences)
    )
    return ZoomedMarginal(
        columns=("a",), axes=(tuple(cell.labels[0] for cell in cells),), cells=cells,
        epsilon=Fraction(1, 10),
    )  # fmt: skip


def measured(epsilon: float) -> BudgetPart:
    """Part of a budget that pays for cells, with the deviation of discrete Laplace noise."""
    p = math.exp(-epsilon)
    scale = math.sqrt(2 * p) / (1 - p)
    return BudgetPart(part="cells", epsilon=Fraction(epsilon), numbers=1, scale=scale)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("number", [1, 12, 6_384])
def test_noise_of_all_cells_stays_below_the_bound(epsilon: float, number: int) -> None:
    report = replace(PLAIN, budget=(measured(epsilon),), rows=ROWS)
    bound = noise_bound(report, marginal([0.0] * number)) * ROWS.low
    p = math.exp(-epsilon)
    beyond = math.floor(bound + 1e-9) + 1
    missed = 2 * p**beyond / (1 + p)
    assert -math.expm1(number * math.log1p(-missed)) <= float(report.alpha)
    # And it is no wider than whole rows make it: a row less would not do.
    if missed > 1e-12 and bound > 2:
        less = 2 * p ** (beyond - 2) / (1 + p)
        assert number * less > float(report.alpha) * 0.99


def test_a_bound_for_one_cell_alone_would_show_noise() -> None:
    """Simulated cells without any difference: a list by each cell's own interval shows some."""
    generator = np.random.default_rng(7)
    p, number, runs = math.exp(-0.1), 2_000, 200
    draws = generator.geometric(1 - p, (runs, number)) - generator.geometric(1 - p, (runs, number))
    report = replace(PLAIN, budget=(measured(0.1),), rows=ROWS)
    bound = noise_bound(report, marginal([0.0] * number)) * ROWS.low
    alone = noise_bound(report, marginal([0.0])) * ROWS.low
    worst = np.abs(draws).max(axis=1)
    assert (worst > bound).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert (worst > alone).mean() > 0.95


def test_cells_count_as_different_beyond_the_bound_alone() -> None:
    report = replace(PLAIN, budget=(measured(0.1),), rows=ROWS)
    zoom = marginal([0.02, -0.02, 0.001, 0.0])
    assert 0.001 < noise_bound(report, zoom) < 0.02
    assert [cell.labels for cell in different_cells(report, zoom)] == [("0",), ("1",)]
    assert noise_sentence(report, zoom).startswith("2 of 4 cells differ by more than 0.22 points")
    none = marginal([0.0, 0.001])
    assert noise_sentence(report, none).startswith("None of 2 cells differs by more than ")
    assert noise_sentence(report, marginal([0.02, 0.03])).startswith("All of 2 cells differ ")
    # An interval that holds no difference rules one out, however small the bound is.
    wide = replace(zoom.cells[0], difference=Figure(0.02, -0.01, 0.05))
    assert not differs(wide, 0.0)


def test_without_measured_cells_there_is_no_bound() -> None:
    assert noise_bound(PLAIN, ZOOMED[0]) == 0.0
    assert noise_bound(ADULT_PROFILE, ZOOMED[0]) > 0.0
