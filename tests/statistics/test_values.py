"""Simulated releases of values against what is said of them: coverage, levels and power.

The same checks must reject intervals that forget a part of the noise.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pqd.deciders import SimulatedNoise
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import bind_profile
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.profile_plan import ProfilePlan, plan_profile
from pqd.marginals.value_figures import values_of_columns
from pqd.reports.models.profile import ValuesOfColumn
from pqd.reports.models.standings import Standing

ALPHA = 0.1
# Standard errors by which a rate may exceed what is promised, and must if a twin is broken.
LIMIT = 4.5


def allowed(level: float, runs: int) -> float:
    """Largest rate that is no surprise at this level."""
    return level + LIMIT * math.sqrt(level * (1 - level) / runs)


@dataclass(frozen=True)
class Table:
    """A private table and a copy that lacks one value and has another far too often."""

    plan: ProfilePlan
    counts: list[list[int]]
    rows: int


@pytest.fixture(scope="module")
def table() -> Table:
    copy = pd.DataFrame(
        {
            "kind": ["a"] * 5_000 + ["b"] * 3_000 + ["c"] * 2_000,
            "code": [1.0] * 9_000 + [2.0] * 400 + [np.nan] * 600,
        }
    )
    stated = ProfileParameters.parse(alpha=ALPHA, ways=1)
    tables = SyntheticTables([open_table(copy, "synthetic")])
    plan = plan_profile(bind_profile(tables, stated.request), stated)
    # kind: NULL, a, b, c, not in the copy; code: NULL, 1, 2, not in the copy.
    return Table(plan, [[0, 5_050, 2_950, 900, 1_100], [590, 9_010, 380, 20]], 10_000)


def figures(table: Table, runs: int = 60, seed: int = 5) -> list[tuple[ValuesOfColumn, ...]]:
    """Values of simulated releases."""
    plan, noise = table.plan, SimulatedNoise(seed)
    found = []
    for _ in range(runs):
        rows = noise.laplace(table.rows, Fraction(10))
        estimates = plan.estimates([rows, *[0] * len(plan.distances.distances)])
        noisy = [
            noise.laplace(cell, 1 / plan.histograms.each)
            for cells in table.counts
            for cell in cells
        ]
        found.append(values_of_columns(plan, estimates, noisy))
    return found


def test_lost_and_frequent_values_are_a_no_and_the_rest_is_none(table: Table) -> None:
    within = 0
    for kind, code in figures(table):
        assert kind.standing is Standing.BEYOND
        assert kind.lost is not None
        assert kind.lost.standing is Standing.BEYOND
        assert [each.name for each in kind.kept] == ["value c"]
        assert (kind.kept[0].copy_rows, kind.filled_copy) == (2_000, 1.0)
        assert code.standing in {Standing.WITHIN, Standing.UNDECIDED}
        assert code.filled_copy == 0.94
        within += code.filled.low <= 0.941 <= code.filled.high
    assert within >= 50


@pytest.mark.parametrize("extra", [0, 1])
def test_a_value_at_the_end_of_what_is_allowed_is_seldom_a_wrong_verdict(
    table: Table, extra: int
) -> None:
    """At the last number of lost rows that is allowed a NO is wrong, one row further a yes."""
    exact = table.plan.estimates([10_000, *[0] * len(table.plan.distances.distances)])
    (_, code) = values_of_columns(table.plan, exact, [0] * 9)
    assert code.lost is not None
    counts = [table.counts[0], [590, 9_000, 400, code.lost.high + extra]]
    wrong = Standing.WITHIN if extra else Standing.BEYOND
    runs = 200
    found = figures(replace(table, counts=counts), runs, seed=7)
    rate = sum(code.lost is not None and code.lost.standing is wrong for _, code in found) / runs
    assert rate <= allowed(ALPHA, runs)


def test_all_intervals_of_a_column_hold_at_once(table: Table) -> None:
    """The wrong program takes each cell at the whole level, as if there were no other cell."""
    runs, cells = 300, table.counts[0]
    scale = 1 / table.plan.histograms.each
    wide, narrow = (max(1, LaplaceLaw(scale).quantile(level / 2)) for level in (0.008, ALPHA))
    noise, missed = SimulatedNoise(9), {wide: 0, narrow: 0}
    for _ in range(runs):
        largest = max(abs(noise.laplace(cell, scale) - cell) for cell in cells)
        for reach in missed:
            missed[reach] += largest > reach
    assert missed[wide] / runs <= allowed(ALPHA, runs) < missed[narrow] / runs
    shown = [kind for kind, _ in figures(table, 100, seed=11)]
    assert all(own.rows.high - own.rows.value == wide for kind in shown for own in kind.counts)
    kept = [
        kind.lost is not None
        and kind.lost.rows.low <= 1_100 <= kind.lost.rows.high
        and kind.kept[0].rows.low <= 900 <= kind.kept[0].rows.high
        for kind in shown
    ]
    assert sum(kept) / len(kept) >= 1 - allowed(ALPHA, 100)


def test_an_empty_private_table_and_an_unknown_number_of_rows_are_no_error(table: Table) -> None:
    """A released number of rows may be 0 or less; a wrong yes is as seldom as ever."""
    for rows in (-40, 0, 3):
        estimates = table.plan.estimates([rows, *[0] * len(table.plan.distances.distances)])
        for each in values_of_columns(table.plan, estimates, [0] * 9):
            assert each.filled.low == 0
            assert each.standing is Standing.UNDECIDED
