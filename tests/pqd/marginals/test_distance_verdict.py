"""Decisions on single distances: what is bound, what they are worth, and how they are refused."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from pqd.deciders.distances.decider import DistanceDecider
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import ParameterError
from pqd.marginals.bound_distances import BoundDistance, DistanceRequest, bind_distances
from pqd.marginals.bound_profile import mean_weights
from pqd.marginals.distance_verdict import distance_verdict
from pqd.parameters import Criteria
from pqd.stated.column_facts import parse_columns

COPY = pd.DataFrame(
    {
        "age": [20, 30, 40, 50] * 30,
        "sex": ["f", "m", "m"] * 40,
        "job": ["cook", "smith", "cook", "nurse", "nurse"] * 24,
    }
)


def request(name: str, *columns: str, tau: Any = "5%", **stated: Any) -> DistanceRequest:
    given: dict[str, Any] = {"distance": "tv", "ways": 2} | stated
    criteria = Criteria.of(tau=tau, alpha="0.05")
    return DistanceRequest(
        id=name, text=name.upper(), columns=columns or None, criteria=criteria, **given
    )


class Opened:
    """Tables, counted each time that they are opened."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> SyntheticTables:
        self.times += 1
        return SyntheticTables([open_table(COPY, "synthetic")], open_table(COPY, "private"))


def bound(*requests: DistanceRequest, **facts: Any) -> tuple[BoundDistance, ...]:
    found = bind_distances(Opened(), requests, parse_columns(facts), None)
    assert not found.errors
    return found.distances


def test_marginals_take_one_reading_and_each_mean_one_more() -> None:
    opened = Opened()
    requests = [
        request("pair", "age", "sex"),
        request("mean"),
        request("columns", ways=1),
        request("ks", "age", distance="ks"),
    ]
    found = bind_distances(opened, requests, {}, None)
    assert [each.request.id for each in found.distances] == ["pair", "mean", "columns", "ks"]
    assert opened.times == 3
    names = [(each.aggregate, each.attribute) for each in found.distances]
    assert names == [
        ("TOTAL VARIATION", "age, sex"),
        ("MEAN DISTANCE", "3 columns"),
        ("MEAN DISTANCE", "3 columns"),
        ("KOLMOGOROV-SMIRNOV", "age"),
    ]


def test_a_marginal_is_one_whatever_the_order_of_its_columns() -> None:
    first, second = bound(request("one", "age", "sex"), request("other", "SEX", "age"))
    keys = [distance_verdict(each, Fraction(1)).measurement.cache_key for each in (first, second)]
    assert keys[0] == keys[1]
    assert first.attribute == second.attribute == "age, sex"


def test_one_that_is_wrong_leaves_the_others() -> None:
    requests = [
        request("good", "SEX"),
        request("none", "sx"),
        request("text", "sex", distance="ks"),
        request("two", "age", "sex", distance="emd"),
    ]
    found = bind_distances(Opened(), requests, {}, None)
    assert [each.request.id for each in found.distances] == ["good"]
    assert list(found.errors) == ["none", "text", "two"]
    assert 'the nearest is "sex"' in str(found.errors["none"])
    for name in ("text", "two"):
        assert "one column of numbers or times" in str(found.errors[name])


def test_stated_cells_are_those_of_the_marginal() -> None:
    plain, stated = (
        bound(request("age", "age"), **facts)[0] for facts in ({}, {"age": {"cells": [0, 25, 60]}})
    )
    assert isinstance(plain.row_maps, type(stated.row_maps))
    sizes = [each.row_maps.size for each in (plain, stated) if not isinstance(each.row_maps, tuple)]
    # NULL, the values or the bins, and what the copy lacks.
    assert sizes == [6, 4]


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_every_number_of_columns_weighs_the_same(ways: int) -> None:
    (mean,) = bound(request("mean", ways=ways))
    marginals = mean.profile.marginals
    weights = mean_weights(marginals)
    assert sum(weights) == 1
    for size in range(1, ways + 1):
        own = [w for w, each in zip(weights, marginals, strict=True) if each.ways == size]
        assert sum(own) == Fraction(1, ways)
        assert len(set(own)) == 1
        alone = mean_weights(marginals, size)
        assert [w > 0 for w in alone] == [each.ways == size for each in marginals]
        assert sum(alone) == 1


@pytest.mark.parametrize("tau", ["5%", "20%", "90%"])
@pytest.mark.parametrize("epsilon", ["0.01", "1"])
def test_what_a_verdict_is_worth_is_that_of_the_decider(tau: str, epsilon: str) -> None:
    (pair,) = bound(request("pair", "age", "sex", tau=tau))
    verdict, decider = distance_verdict(pair, Fraction(epsilon)), DistanceDecider()
    share, rows = pair.request.criteria.tolerance.share, len(COPY)
    rates = decider.error_rates(rows, share, epsilon)
    assert (verdict.taken.false_no, verdict.taken.false_yes) == (rates.false_no, rates.false_yes)
    assert verdict.taken.tau_min == decider.tau_min(rows, epsilon, "0.05").tau
    needed = verdict.taken.epsilon_needed
    assert needed is not None
    enough, short = (
        decider.decision_chance(rows, share, Fraction(needed) * Fraction(part, 100), 0.05)
        for part in (100, 98)
    )
    assert short < 0.9 <= enough <= 0.951
    assert verdict.taken.decision_chance == decider.decision_chance(rows, share, epsilon, 0.05)
    assert verdict.taken.decides == (float(epsilon) >= needed)
    assert verdict.facts()["tau"] == float(share)
    assert (verdict.interval.lower, verdict.interval.upper) == (-share, share)


def test_a_tolerance_of_everything_is_none() -> None:
    (pair,) = bound(request("pair", "age", "sex"))
    criteria = Criteria.of(tau=1, alpha="0.05")
    whole = replace(pair, request=replace(pair.request, criteria=criteria))
    with pytest.raises(ParameterError, match="write it in per cent"):
        distance_verdict(whole, Fraction(1))
