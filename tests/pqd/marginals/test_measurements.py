"""Measurements of a profile on neighbouring tables: what one person moves, and what is charged."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.accounting.accountant import quote_of
from pqd.accounting.accounts import decode, encode
from pqd.accounting.cache_keys import digest
from pqd.accounting.composition import charge_of
from pqd.accounting.disjoint_groups import composition_groups
from pqd.deciders import ParameterError
from pqd.deciders.distances.claims import DistanceBelow
from pqd.engine.marginals import MarginalCounts, MarginalPlan
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import BoundProfile, bind_profile
from pqd.marginals.chance import CopyChance
from pqd.marginals.measurements import (
    CellsMeasurement,
    ClaimMeasurement,
    DistancesMeasurement,
    UnchosenCells,
)
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.profile_plan import ProfilePlan, plan_profile
from tests.support.noises import Absent

COPY = pd.DataFrame(
    {
        "age": [20, 30, 30, 40, 50, None] * 8,
        "sex": ["f", "m", None] * 16,
        "pay": [float(n % 31) / 4 for n in range(48)],
    }
)


def private_tables(rows: int, tables: int) -> Iterator[pd.DataFrame]:
    """Tables whose persons have up to four rows each, of values that the copy has or has not."""
    rng = np.random.default_rng(5)
    for _ in range(tables):
        yield pd.DataFrame(
            {
                "age": rng.choice([20.0, 30.0, 50.0, 77.0, np.nan], rows),
                "sex": rng.choice(np.array(["f", "m", "x", None], dtype=object), rows),
                "pay": rng.integers(-3, 40, rows) / 4,
                "who": [f"p{n}" for n in rng.integers(0, rows // 3, rows)],
            }
        )


def planned(private: pd.DataFrame, unit: PrivacyUnit | None = None, **options: Any) -> ProfilePlan:
    given: dict[str, Any] = {"distances": ["ks", "emd"], "zoom": 2} | options
    stated = ProfileParameters.parse(**given)
    tables = SyntheticTables([open_table(COPY, "synthetic")], open_table(private, "private"))
    return plan_profile(bind_profile(tables, stated.request, unit), stated)


def counts_of(
    bound: BoundProfile, *measurements: Any, private: pd.DataFrame | None = None
) -> MarginalCounts:
    """Counts on the private table, or on another one in its place."""
    maps = tuple(dict.fromkeys(one for each in measurements for one in each.marginals))
    plan, engine = MarginalPlan(maps, bound.unit), bound.tables.engine
    table = bound.private
    if private is not None:
        table = open_table(private.reset_index(drop=True), "private")
    return engine.marginals(table, bound.schema, plan)


def moved(
    private: pd.DataFrame, people: pd.Series, unit: PrivacyUnit | None
) -> Iterator[tuple[int, list[int]]]:
    """Rows that a person has, and what each number of the vector moves by without them."""
    plan = planned(private, unit)

    def numbers(table: pd.DataFrame) -> tuple[int, ...]:
        counts = counts_of(plan.bound, plan.distances, private=table)
        return plan.distances.run(counts, Absent()).numbers

    whole = numbers(private)
    for person in people.unique():
        rest = numbers(private[people != person])
        steps = [abs(a - b) for a, b in zip(whole, rest, strict=True)]
        yield int((people == person).sum()), steps


@pytest.mark.parametrize("unit", [None, PrivacyUnit("who"), PrivacyUnit("who", 2)])
def test_a_person_moves_each_number_by_the_rows_that_count(unit: PrivacyUnit | None) -> None:
    most = unit.max_rows if unit else 1
    largest = 0
    for private in private_tables(12, 2):
        people = private["who"] if unit else pd.Series(range(len(private)))
        for rows, steps in moved(private, people, unit):
            assert max(steps) <= min(rows, most)
            largest = max(largest, *steps)
    # The bound is met: one that is smaller would be wrong.
    assert largest == most


def test_a_person_of_many_rows_moves_more_where_rows_are_people() -> None:
    """The wrong program: a unit that is passed over."""
    (private,) = private_tables(12, 1)
    people = pd.Series(["p1"] * 6 + ["p2"] * 6)
    assert max(max(steps) for _, steps in moved(private, people, None)) > 2


def test_one_row_is_in_one_cell_of_each_marginal() -> None:
    (private,) = private_tables(12, 1)
    plan = planned(private)
    cells = plan.cells([0] * (1 + len(plan.distances.distances)))
    tables = private, private.iloc[1:]
    whole, fewer = (
        [each.run(counts_of(plan.bound, each, private=one), Absent()).numbers for each in cells]
        for one in tables
    )
    for before, after in zip(whole, fewer, strict=True):
        assert sum(abs(a - b) for a, b in zip(before, after, strict=True)) == 1


def test_one_row_moves_one_cell_of_each_histogram_at_a_share_of_the_budget() -> None:
    """The loss is the sum over all histograms: exactly the whole budget where a row is removed."""
    (private,) = private_tables(12, 1)
    histograms = planned(private).histograms
    assert histograms.each == histograms.epsilon / 3
    bound = planned(private).bound
    whole, fewer = (
        histograms.run(counts_of(bound, histograms, private=one), Absent()).numbers
        for one in (private, private.iloc[1:])
    )
    moved = sum(abs(a - b) for a, b in zip(whole, fewer, strict=True))
    assert moved * histograms.each == histograms.epsilon
    # The wrong program: each histogram at the whole budget.
    assert moved * histograms.epsilon > histograms.epsilon
    parts = histograms.of_each(whole)
    assert [len(each) for each in parts] == [each.size for each in histograms.row_maps]
    assert {sum(each) for each in parts} == {12}


def test_the_charge_is_that_of_a_person() -> None:
    (private,) = private_tables(12, 1)
    for unit in (None, PrivacyUnit("who"), PrivacyUnit("who", 3)):
        for delta in (None, "1e-6"):
            plan = planned(private, unit, delta=delta)
            costs = [each.composition_cost for each in (*plan.first, *plan.unchosen_cells)]
            charge = charge_of(composition_groups(costs))
            assert charge.epsilon == 1
            assert charge.delta == (Fraction(delta) if delta else 0)
            parts = [Fraction(14, 25), Fraction(2, 25), Fraction(4, 25)]
            assert [each.cost for each in plan.first] == parts
            laws = plan.law.rows.deviation, plan.law.distance.deviation
            alone = planned(private, None, delta=delta).law
            rows = unit.max_rows if unit else 1
            assert laws[0] == pytest.approx(rows * alone.rows.deviation, rel=0.05)
            assert laws[1] == pytest.approx(rows * alone.distance.deviation, rel=0.05)


def test_cells_that_are_not_chosen_are_priced_and_never_drawn() -> None:
    (private,) = private_tables(12, 1)
    plan = planned(private)
    chosen, unchosen = plan.cells([0] * 99), plan.unchosen_cells
    assert quote_of([chosen]).charge == quote_of([unchosen]).charge
    keys = {each.cache_key for each in (*chosen, *unchosen)}
    assert len(keys) == 4
    with pytest.raises(TypeError):
        unchosen[0].run(counts_of(plan.bound, chosen[0]), Absent())
    assert isinstance(unchosen[0], UnchosenCells)


def test_worst_marginals_are_worse_than_the_columns_in_them_and_than_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = [0.0] * 6
    monkeypatch.setattr(CopyChance, "references", chance)
    (private,) = private_tables(12, 1)
    plan = planned(private, zoom=3)
    names = [each.columns for each in plan.bound.marginals]
    assert names == [("age",), ("sex",), ("pay",), ("age", "sex"), ("age", "pay"), ("sex", "pay")]
    released = [100, 50, 3, 8, 52, 55, 30, *[99] * 5]
    assert [each.columns for each in plan.worst(released)] == [
        ("age",),
        ("sex", "pay"),
        ("pay",),
    ]
    # What an independent real sample would have as well counts for nothing.
    chance[0], chance[5] = 0.45, 0.25
    assert [each.columns for each in plan.worst(released)] == [
        ("age", "sex"),
        ("age", "pay"),
        ("pay",),
    ]


def test_a_distance_against_a_tolerance_is_decided_by_its_margin() -> None:
    (private,) = private_tables(12, 1)
    plan = planned(private)
    for of, distance in plan.distances.distances[:3]:
        one = ClaimMeasurement(
            kinds=plan.bound.kinds_of(of.columns),  # type: ignore[union-attr]
            unit=None,
            epsilon=Fraction(1),
            name="a distance",
            row_maps=of,
            claim=DistanceBelow(distance, Fraction(1, 10)),
        )
        counts = counts_of(plan.bound, one)
        rows = distance.rows(counts[of])  # type: ignore[index]
        decision = one.run(counts, Absent())
        gap = Fraction(1, 10) * len(private) - rows
        assert decision.outcome == (gap > 0)
        assert decision.margin == -(-gap // Fraction(11, 10))
        assert decode(encode(decision)) == decision


def test_what_was_released_is_stored_whole() -> None:
    (private,) = private_tables(12, 1)
    plan = planned(private)
    output = plan.distances.run(counts_of(plan.bound, plan.distances), Absent())
    assert len(output.numbers) == 1 + len(plan.terms) + 1
    assert output.numbers[0] == len(private)
    assert decode(encode(output)) == output


def test_kinds_of_measurements_have_keys_of_their_own() -> None:
    (private,) = private_tables(12, 1)
    plan = planned(private)
    assert isinstance(plan.distances, DistancesMeasurement)
    confusable = CellsMeasurement(
        kinds=plan.bound.kinds, unit=None, epsilon=plan.distances.epsilon, name="x",
        marginal=plan.bound.unseen,
    )  # fmt: skip
    assert confusable.cache_key != plan.distances.cache_key
    assert digest(plan.distances.parameters()) != digest(confusable.parameters())
    assert "repr" not in str(plan.distances.ledger_facts())
    assert plan.distances.ledger_facts()["decider"] == "cube_vector"


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (10**6, {}),
        (10**5, {"zoom": 3}),
        (10**9, {"delta": "1e-300"}),
    ],
)
def test_what_no_noise_can_be_drawn_at_is_refused_before_it_is_paid_for(
    rows: int, options: dict[str, Any]
) -> None:
    (private,) = private_tables(12, 1)
    with pytest.raises(ParameterError):
        _ = planned(
            private, PrivacyUnit("who", rows), total_epsilon="1e-12", **options
        ).unchosen_cells
