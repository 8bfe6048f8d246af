"""Claims about a whole table: an honest sample passes them all, each damage fails one by name."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pqd.deciders.distances.value_claims import CountKept
from pqd.deciders.single.inverse_sensitivity import least_margin
from pqd.engine.marginals import MarginalPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import BoundProfile, bind_profile
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.table_claims import NamedClaim, TableClaims, column_claims, table_claims
from pqd.marginals.tolerances import chance_mark, tolerances_with_chance, with_chance

ROWS = 6_000
TAU, EPSILON = Fraction(1, 20), Fraction(1, 4)
Damage = Callable[[pd.DataFrame], None]


def people(rows: int, seed: int) -> pd.DataFrame:
    """Rows of one source: rare fraud, money in round sums, and amounts that few rows have."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows).astype(float)
    fraud = rng.random(rows) < 0.04
    money = np.where(rng.random(rows) < 0.6, 50.0 * rng.integers(1, 80, rows), 0)
    cents = rng.integers(5_000, 400_000, rows) / 100
    regions, shares = ["north", "south", "east", "isle"], [0.5, 0.3, 0.17, 0.03]
    return pd.DataFrame(
        {
            "age": age,
            "fraud": np.where(fraud, "yes", "no"),
            "amount": np.where(fraud, rng.integers(1, 9, rows) * 1_000.0, np.nan),
            "money": np.where(money > 0, money, cents),
            "region": rng.choice(regions, rows, p=shares),
        }
    )


def bound_to(copy: pd.DataFrame) -> BoundProfile:
    tables = SyntheticTables([open_table(copy, "synthetic")])
    return bind_profile(tables, ProfileParameters.parse().request)


def margins(claims: list[NamedClaim], bound: BoundProfile, private: pd.DataFrame) -> dict[str, int]:
    """Margin of each claim, by its name."""
    tables = SyntheticTables([open_table(private, "synthetic")])
    tables.schema(list(private.columns), {})
    plan = MarginalPlan(tuple(dict.fromkeys(each.row_map for each in claims)))
    counts = tables.engine.marginals(tables.tables[0], bound.schema, plan)
    return {each.name: each.claim.margin(counts[each.row_map], ROWS) for each in claims}


def every(claims: TableClaims) -> list[NamedClaim]:
    return [*claims.within, *claims.columns]


@pytest.fixture(scope="module")
def private() -> pd.DataFrame:
    return people(ROWS, 1)


@pytest.mark.parametrize("rows", [ROWS, ROWS // 10])
def test_an_independent_sample_passes_every_claim(private: pd.DataFrame, rows: int) -> None:
    bound = bound_to(people(rows, 2))
    claims = table_claims(bound, ROWS, TAU, EPSILON)
    assert not claims.left_out or rows < ROWS
    found = margins([*claims.thrice, *every(claims)], bound, private)
    assert min(found.values()) >= least_margin(EPSILON, Fraction(1, 20)), found


def gone(copy: pd.DataFrame) -> None:
    copy["fraud"] = "no"


def larger(copy: pd.DataFrame) -> None:
    copy["amount"] *= 1_000


def emptied(copy: pd.DataFrame) -> None:
    copy["amount"] = np.nan


def filled(copy: pd.DataFrame) -> None:
    copy["amount"] = copy["amount"].fillna(1_000.0)


def lost(copy: pd.DataFrame) -> None:
    copy.loc[copy["region"] == "isle", "region"] = "north"


def often(copy: pd.DataFrame) -> None:
    copy.loc[copy.index[:400], "region"] = "isle"


def jittered(copy: pd.DataFrame) -> None:
    copy["money"] = (copy["money"] + np.linspace(0.01, 0.49, len(copy))).round(2)


def beyond(copy: pd.DataFrame) -> None:
    copy.loc[copy.index[:150], "money"] *= 1_000


def without_an_age(copy: pd.DataFrame) -> None:
    copy.loc[copy["age"] == 40, "age"] = 41


@pytest.mark.parametrize(
    ("damage", "names"),
    [
        (gone, {"fraud: lost values"}),
        (larger, {"amount: lost values", "amount: among filled rows"}),
        (emptied, {"amount: lost values"}),
        (filled, {"amount: empty rows"}),
        (lost, {"region: lost values"}),
        (often, {"region: value isle"}),
        (jittered, {"money: heaping"}),
        (without_an_age, {"age: lost values"}),
        (beyond, {"money: 100 highest values"}),
    ],
)
def test_each_damage_fails_a_claim_by_name(
    private: pd.DataFrame, damage: Damage, names: set[str]
) -> None:
    copy = people(ROWS, 2)
    damage(copy)
    bound = bound_to(copy)
    found = margins(list(table_claims(bound, ROWS, TAU, Fraction(1)).columns), bound, private)
    failed = {name for name, margin in found.items() if margin <= 0}
    assert names <= failed
    column = next(iter(names)).partition(":")[0]
    assert all(name.startswith(f"{column}:") for name in failed)


def test_finer_cells_of_a_column_are_there_without_their_distance(private: pd.DataFrame) -> None:
    copy = people(ROWS, 2)
    larger(copy)
    tables = SyntheticTables([open_table(copy, "synthetic")])
    bound = bind_profile(tables, ProfileParameters.parse(distances=("tv",)).request)
    assert not bound.ordered
    claims = column_claims(bound, "amount", ROWS, TAU, EPSILON)
    assert margins(list(claims.columns), bound, private)["amount: lost values"] <= 0


def test_the_claims_of_one_column_are_its_own() -> None:
    bound = bound_to(people(ROWS, 2))
    whole = table_claims(bound, ROWS, TAU, EPSILON)
    claims = column_claims(bound, "region", ROWS, TAU, EPSILON)
    assert [each.name for each in claims.columns] == [
        each.name for each in whole.columns if each.columns == ("region",)
    ]
    assert claims.within == claims.thrice == ()


def test_what_chance_alone_explains_is_left_out_with_the_reason() -> None:
    bound = bound_to(people(60, 2))
    claims = table_claims(bound, 60, TAU, EPSILON)
    left_out = {each.name: each.reason for each in claims.left_out}
    assert "age by region" in left_out
    assert left_out["region: lost values"].startswith("chance and noise alone may explain")
    assert left_out["region: lost values"].endswith("% of 60 rows")
    assert not {each.name for each in every(claims)} & left_out.keys()


def test_tolerances_have_chance_and_the_rows_of_noise() -> None:
    bound = bound_to(people(ROWS, 2))
    small, large = (tolerances_with_chance(bound, n, TAU, EPSILON) for n in (ROWS, 100 * ROWS))
    assert all(TAU < more < less < Fraction(1, 4) for less, more in zip(small, large, strict=True))
    assert with_chance(TAU, 0.0, 2_300, EPSILON) == TAU + Fraction(1, 100)
    # Two cells: the mark is that of a normal law, but for the discreteness of so many rows.
    deviation = 0.5 * (2 / 1_000_000) ** 0.5
    mark = chance_mark([500_000, 500_000], 1_000_000, 1)
    assert mark == pytest.approx(deviation * (0.7979 + 1.96 * 0.6028), rel=0.01)


def test_a_number_of_rows_that_may_be_off_widens_counts_by_their_share() -> None:
    bound = bound_to(people(ROWS, 2))
    stated = table_claims(bound, ROWS, TAU, EPSILON)
    released = table_claims(bound, ROWS, TAU, EPSILON, off=100)
    known = {each.name: each.claim for each in stated.columns if isinstance(each.claim, CountKept)}
    wider = {e.name: e.claim for e in released.columns if isinstance(e.claim, CountKept)}
    assert wider
    for name in known.keys() & wider.keys():
        one, other = known[name], wider[name]
        assert isinstance(one, CountKept)
        assert isinstance(other, CountKept)
        more = math.ceil(100 * Fraction(one.copy, one.copy_rows))
        assert other.allowed(ROWS) - one.allowed(ROWS) == more
