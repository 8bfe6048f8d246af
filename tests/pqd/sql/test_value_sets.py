"""Sets of values: what no value is in both of, against the sweep over all cuts."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.sql.value_sets import (
    ANYTHING,
    NOTHING,
    NULL,
    PRESENT,
    Value,
    ValueSet,
    combination,
    disjoint,
)

OF_A_TYPE: tuple[tuple[Value, ...], ...] = (
    (-1.0, 0.0, 1.0, 2.0),
    ("", "a", "b"),
    (False, True),
    (datetime(2000, 1, 1), datetime(2001, 1, 1)),  # noqa: DTZ001 - as the engine's are
)
cuts = st.sampled_from(OF_A_TYPE).flatmap(
    lambda values: st.sets(st.tuples(st.sampled_from(values), st.booleans()))
)
sets = st.builds(
    ValueSet,
    null=st.booleans(),
    start=st.booleans(),
    cuts=cuts.map(lambda all_: tuple(sorted(all_))),
)


@given(sets, sets)
def test_sets_are_disjoint_if_the_sweep_leaves_nothing(first: ValueSet, second: ValueSet) -> None:
    assert disjoint(first, second) == (combination("and", (first, second)) == NOTHING)


@pytest.mark.parametrize("one", [ANYTHING, NOTHING, NULL, PRESENT])
def test_nothing_is_disjoint_from_all_and_anything_from_nothing_alone(one: ValueSet) -> None:
    assert disjoint(one, NOTHING)
    assert disjoint(NOTHING, one)
    assert disjoint(one, ANYTHING) == (one == NOTHING)
