"""Chance where a person has several rows: that of persons, who are independent."""

from typing import Literal

import numpy as np
import pandas as pd
import pytest

from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import bind_profile
from pqd.marginals.chance import CopyChance
from pqd.marginals.profile_parameters import ProfileRequest

PERSONS = 400
Mode = Literal["alike", "own"]


def table(rng: np.random.Generator, rows: int, mode: Mode) -> pd.DataFrame:
    """Two columns; the rows of a person are all alike, or independent of each other."""
    number = PERSONS if mode == "alike" else PERSONS * rows
    times = rows if mode == "alike" else 1
    columns = {
        "x": np.repeat(rng.choice(list("abcd"), number, p=[0.4, 0.3, 0.2, 0.1]), times),
        "y": np.repeat(rng.choice(list("pqr"), number), times),
    }
    return pd.DataFrame({"who": np.repeat(np.arange(PERSONS), rows), **columns})


def chance(frame: pd.DataFrame, rows: int, unit: PrivacyUnit | None = None) -> CopyChance:
    tables = SyntheticTables([open_table(frame, "synthetic")])
    request = ProfileRequest(facts={}, columns=("x", "y"))
    return CopyChance(bind_profile(tables, request, unit), rows)


@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("most", [1, 2])
def test_persons_of_equal_rows_are_as_many_rows(rows: int, most: int) -> None:
    frame = table(np.random.default_rng(1), rows, "alike")
    single = frame.drop_duplicates("who").drop(columns="who")
    counted = min(most, rows)
    found = chance(frame, counted * PERSONS, PrivacyUnit("who", most))
    for spread in found.spreads:
        assert (spread.size, spread.evenness) == pytest.approx((counted, 1), rel=0.01)
    assert found.references == pytest.approx(chance(single, PERSONS).references, rel=0.01)


def variation(one: pd.DataFrame, other: pd.DataFrame, columns: list[str]) -> float:
    """Total variation of the weighted rows, all of which weigh the same."""
    rows = [each.groupby(columns).size() for each in (one, other)]
    shares = [each / each.sum() for each in rows]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


@pytest.mark.parametrize("mode", ["alike", "own"])
def test_means_are_those_of_two_samples_of_persons(mode: Mode) -> None:
    """30 pairs of independent samples of persons with four rows each, 2 standard errors around."""
    rng = np.random.default_rng(7)
    found, told = [], []
    for number in range(30):
        one, other = table(rng, 4, mode), table(rng, 4, mode)
        found.append([variation(one, other, each) for each in (["x"], ["y"], ["x", "y"])])
        if number < 3:
            told.append(chance(one, PERSONS, PrivacyUnit("who")).references)
    errors = np.std(found, axis=0) / np.sqrt(30)
    apart = np.abs(np.mean(found, axis=0) - np.mean(told, axis=0))
    assert (apart < 2.5 * errors).all()


def test_rows_that_are_persons_have_no_spread_of_their_own() -> None:
    frame = table(np.random.default_rng(2), 1, "own")
    for unit in (None, PrivacyUnit("who")):
        found = chance(frame, PERSONS, unit)
        assert {tuple(spread) for spread in found.spreads} == {(1.0, 1.0)}
