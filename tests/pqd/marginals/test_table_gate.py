"""Gate of a whole table: its conditions, their budgets, and what is not judged."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest

from pqd.deciders.distances.claims import AnyHolds, DistanceBelow
from pqd.deciders.distances.relations import Relations, RelationsKept, RelationsNear
from pqd.deciders.distances.value_claims import spare_rows
from pqd.deciders.errors import UnanswerableError
from pqd.engine.marginals import EveryRow
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals import table_gate
from pqd.marginals.bound_profile import BoundProfile, bind_profile
from pqd.marginals.chance import CopyChance
from pqd.marginals.measurements import ClaimMeasurement
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.table_gate import (
    ALARM,
    DEVIATIONS,
    KEPT,
    LEAST_JUDGED,
    LEAST_ROWS,
    MISSES,
    MOST_NEAR,
    NEAR,
    OTHERS,
    RELATIONS,
    THRICE,
    WITHIN,
    TableGate,
    _seldom_exceeded,
    rows_measurement,
)
from pqd.planning.gate import GateInput

ROWS, EPSILON, TAU = 20_000, Fraction(1), Fraction(1, 20)


@cache
def bound(columns: int, *, kept: bool = True, values: int = 3, unit: bool = False) -> BoundProfile:
    """Copy of some columns of a few values; each repeats the first in half of the rows."""
    rng = np.random.default_rng(7)
    first, share = rng.integers(0, values, ROWS), 0.5 if kept else 0.0
    table = {
        f"C{place}": np.where(rng.random(ROWS) < share, first, rng.integers(0, values, ROWS))
        for place in range(columns)
    }
    frame = pd.DataFrame(table).map("abcdefghijklmnop".__getitem__)
    if unit:
        frame["person"] = np.arange(ROWS).astype(str)
    tables = SyntheticTables([open_table(frame, "synthetic")])
    person = PrivacyUnit("person", 4) if unit else None
    return bind_profile(tables, ProfileParameters.parse().request, person)


def gate(profile: BoundProfile, **changes: object) -> TableGate:
    own = TableGate(bound=profile, rows=ROWS, tau=TAU, epsilon=EPSILON, alpha=Fraction(1, 20))
    return replace(own, **changes)  # type: ignore[arg-type]


def claim(each: GateInput) -> object:
    assert isinstance(each.measurement, ClaimMeasurement)
    return each.measurement.claim


def named(own: TableGate) -> dict[str, GateInput]:
    """Conditions but those of the distances, by name."""
    return {each.name: each for each in own.inputs if each.requirement == OTHERS}


def test_every_condition_has_its_requirement_and_only_the_alarm_must_not_hold() -> None:
    own = gate(bound(3, values=12))
    claims = own.claims
    assert own.judged == 1
    assert not own.left_out
    requirements = [each.requirement for each in own.inputs]
    assert requirements.count(WITHIN) == len(claims.within) == 6
    assert requirements.count(THRICE) == len(claims.thrice) == 6
    others = [each.name for each in own.inputs if each.requirement == OTHERS]
    pairs = [f"{one}: relation" for one in ("C0 by C1", "C0 by C2", "C1 by C2")]
    assert others == [*(each.name for each in claims.columns), *pairs, RELATIONS, ALARM]
    assert {each.name for each in own.inputs if not each.expected} == {ALARM}
    assert [claim(each) for each in own.inputs[:6]] == [each.claim for each in claims.within]
    assert all(each.bound is own.bound for each in own.inputs)


@pytest.mark.parametrize("unit", [False, True])
def test_the_budget_of_a_margin_is_that_of_a_person_shared_by_her_rows(unit: bool) -> None:
    """A person with four rows moves a margin by 4, so a row has a quarter of epsilon."""
    own, part = gate(bound(3, unit=unit)), Fraction(1, 4) if unit else Fraction(1)
    for each in own.inputs:
        assert isinstance(each.measurement, ClaimMeasurement)
        assert each.measurement.epsilon == EPSILON * part
        assert each.measurement.rows * each.measurement.epsilon == EPSILON
        assert each.measurement.stated_rows == ROWS
        assert each.measurement.kinds == own.bound.kinds
        assert each.measurement.unit == own.bound.unit
    rows = rows_measurement(own.bound, EPSILON)
    assert rows.rows * rows.epsilon == EPSILON / 20
    assert isinstance(rows.marginal, EveryRow)
    near = claim(named(own)[RELATIONS])
    assert isinstance(near, AnyHolds)
    assert isinstance(near.claims[1], RelationsNear)
    assert near.claims[1].tau >= NEAR + Fraction(2 * spare_rows(EPSILON * part), ROWS)


@pytest.mark.parametrize(("marginals", "misses"), [(19, 0), (20, 1), (39, 1), (40, 2)])
def test_one_distance_in_twenty_may_be_beyond_its_tolerance(marginals: int, misses: int) -> None:
    own = gate(bound(3))
    (first, *_) = own.claims.within
    own.__dict__["claims"] = replace(own.claims, within=(first,) * marginals)
    assert own.misses == {WITHIN: misses}


@pytest.mark.parametrize(("judged", "is_enough"), [(3, True), (2, False)])
def test_a_gate_has_no_condition_if_it_judges_less_than_half(judged: int, is_enough: bool) -> None:
    own = gate(bound(3))
    own.__dict__["claims"] = replace(own.claims, within=own.claims.within[:judged])
    assert own.judged == Fraction(judged, 6)
    assert bool(own.inputs) == is_enough


def excesses(profile: BoundProfile) -> list[np.ndarray]:
    """Excess of each pair over the farther one of its columns, of simulated samples."""
    chance = CopyChance(profile, ROWS).independent
    distances = (chance.means + chance.deviations).T
    by_name = {e.columns: distances[place] for place, e in enumerate(profile.marginals)}
    pairs = [each for each in by_name if len(each) == 2]
    return [by_name[a, b] - np.maximum(by_name[a,], by_name[b,]) for a, b in pairs]


def seldom(excess: np.ndarray) -> Fraction:
    mark = max(0.0, float(excess.mean() + DEVIATIONS * excess.std()))
    return Fraction(math.ceil(mark * 10_000), 10_000)


def test_relations_are_kept_by_half_or_lost_by_no_more_than_chance() -> None:
    profile = bound(3)
    own, spare = gate(profile), Fraction(2 * spare_rows(EPSILON), ROWS)
    every = excesses(profile)
    relations = claim(named(own)[RELATIONS])
    assert isinstance(relations, AnyHolds)
    kept, near = relations.claims
    assert isinstance(kept, RelationsKept)
    assert isinstance(near, RelationsNear)
    assert kept.sigma == KEPT
    assert near.tau == seldom(np.mean(every, axis=0)) + NEAR + spare
    assert len(kept.relations.copies) == 3
    for pair, excess in zip(("C0 by C1", "C0 by C2", "C1 by C2"), every, strict=True):
        both = claim(named(own)[f"{pair}: relation"])
        assert isinstance(both, AnyHolds)
        kept, near = both.claims
        assert isinstance(kept, RelationsKept)
        assert isinstance(near, RelationsNear)
        assert (kept.sigma, near.tau) == (KEPT, TAU + seldom(excess) + spare)
        assert len(kept.relations.copies) == 1


@pytest.mark.parametrize(("above", "is_judged"), [(0, True), (Fraction(1, 1_000), False)])
def test_relations_that_chance_and_noise_explain_are_not_judged(
    above: Fraction, is_judged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = bound(3)
    chance = seldom(np.mean(excesses(profile), axis=0))
    own = gate(profile)
    monkeypatch.setattr(TableGate, "_spare", MOST_NEAR - NEAR - chance + above)
    assert (RELATIONS in named(own)) is is_judged
    reasons = {each.name: each.reason for each in own.left_out}
    assert (RELATIONS not in reasons) is is_judged
    assert set(reasons.values()) == {"chance and noise alone would explain it"}


def test_a_pair_that_chance_explains_or_of_a_small_copy_is_not_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profile = bound(3)
    chance = sorted(map(seldom, excesses(profile)))
    assert chance[0] < chance[1] < chance[2]
    own = gate(profile)
    monkeypatch.setattr(TableGate, "_spare", MOST_NEAR - chance[1])
    assert sum(name.endswith(": relation") for name in named(own)) == 2
    for rows, judged in ((LEAST_ROWS - 1, 0), (LEAST_ROWS, 2)):
        other = gate(replace(profile, copy_rows=rows))
        # The chance is that of the whole copy.
        other.__dict__["_chance"] = own._chance
        assert len(list(other._kept_pairs)) == judged


def test_half_of_the_relations_must_be_kept() -> None:
    assert (Fraction(1, 2), Fraction(1, 20), Fraction(1, 2)) == (KEPT, MISSES, LEAST_JUDGED)


def test_a_table_without_pairs_has_no_relations() -> None:
    own = gate(bound(1))
    names = [each.name for each in own.inputs] + [each.name for each in own.left_out]
    assert RELATIONS not in names
    assert not own.keeps_relations


@pytest.mark.parametrize("kept", [True, False])
def test_a_copy_with_relations_is_one_that_a_sample_keeps(kept: bool) -> None:
    own = gate(bound(3, kept=kept))
    assert own.keeps_relations is kept
    assert RELATIONS in named(own)


def test_a_sample_keeps_relations_by_more_than_chance_and_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profile = bound(3)
    copies = tuple(
        each.copy.reshape(each.marginal.shape) for each in profile.marginals if each.ways == 2
    )
    product = Relations(copies).rows(copies).product / ROWS
    own = gate(profile)
    columns = Fraction(float(own._by_chance[1].mean()))
    spare = (1 - KEPT) * (product - columns) - seldom(np.mean(excesses(profile), axis=0))
    for more in (Fraction(0), Fraction(1, 10**9)):
        monkeypatch.setattr(TableGate, "_spare_of", lambda *_, least=spare + more: least)
        assert own.keeps_relations is not bool(more)


def test_an_alarm_is_a_distance_below_the_mark_of_drawn_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is a condition if independent samples are farther by the rows that noise needs."""
    profile = bound(3, values=12)
    own, chance = gate(profile), CopyChance(profile, ROWS)
    alarm = claim(named(own)[ALARM])
    assert isinstance(alarm, DistanceBelow)
    mark = chance.nearest_drawn(Fraction(1, 20))
    assert mark
    assert alarm.tau == mark
    private = gate(profile, is_private_copy=True)
    assert ALARM not in named(private)
    assert ALARM not in {each.name for each in private.left_out}
    distances = (chance.independent.means + chance.independent.deviations) @ np.full(6, 1 / 6)
    least = float(distances.mean() - DEVIATIONS * distances.std())
    most = math.floor((least - float(mark)) * ROWS / (1 + float(mark)))
    assert most + 1 <= (least - float(mark)) * ROWS
    for spare in (most, most + 1):
        monkeypatch.setattr(table_gate, "spare_rows", {EPSILON: spare}.__getitem__)
        own = gate(profile)
        # The chance is that of any noise.
        own.__dict__["_chance"] = chance
        assert (own._alarm is not None) == (spare == most)


@pytest.mark.parametrize("unit", [False, True])
def test_noise_is_that_of_a_margin_of_rows(*, unit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    own = gate(bound(3, unit=unit))
    asked = []

    def spare(epsilon: Fraction) -> int:
        asked.append(epsilon)
        return spare_rows(epsilon)

    monkeypatch.setattr(table_gate, "spare_rows", spare)
    assert named(own)
    assert set(asked) == {EPSILON / 4 if unit else EPSILON}


def test_an_excess_below_zero_adds_nothing_to_a_tolerance() -> None:
    assert _seldom_exceeded(np.full(5, -0.25)) == 0


def test_conditions_of_one_column_are_those_of_the_gate() -> None:
    own = gate(bound(3))
    column, inputs, left_out = own.of_column("c1")
    assert (column, left_out) == ("C1", ())
    keys = {each.measurement.cache_key for each in named(own).values()}
    assert sorted(each.name for each in inputs) == [
        f"C1: {each}" for each in ("empty rows", "lost values", "value a", "value b", "value c")
    ]
    assert {each.measurement.cache_key for each in inputs} <= keys
    with pytest.raises(UnanswerableError, match="the copy has no such column"):
        own.of_column("none")


def test_a_column_that_is_not_judged_says_why() -> None:
    own = gate(bound(3), rows=40, epsilon=Fraction(1, 4))
    with pytest.raises(UnanswerableError, match=r"chance and noise alone may explain \d+ %"):
        own.of_column("C1")
