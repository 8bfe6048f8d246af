"""Composition: never below the true worst case, by brute force and by closed forms; never dear.

The truth for pure queries: one row pays every query whose predicate it satisfies, so a run
costs the largest such sum over all rows that can be.  The truth for (epsilon, delta): the hockey
stick divergence of the composed randomized responses, which dominate every pure mechanism
(Kairouz, Oh and Viswanath 2015, Theorem 3.4), computed with 60 digits.
"""

import hashlib
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import duckdb
import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.accounting import disjoint_groups
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.composition import (
    NOTHING,
    OPTIMAL,
    PARALLEL,
    SEQUENTIAL,
    Charge,
    charge_of,
    optimal,
)
from pqd.accounting.disjoint_groups import Group, MeasurementCost, composition_groups
from pqd.commands.audit import run_audit
from pqd.deciders import SecureNoise
from pqd.parameters import Parameters
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.sql.overlaps import Overlaps
from pqd.sql.predicate import Atom
from pqd.sql.query import Query
from pqd.sql.regions import Region, region, separating
from pqd.sql.schema import Kind
from pqd.sql.value_sets import disjoint
from pqd.sql.workload_files import as_queries
from tests.support.drawing import predicates_of
from tests.support.likeness import like

SCHEMA = {"age": Kind.NUMBER, "name": Kind.TEXT, "flag": Kind.BOOLEAN, "born": Kind.TIME}
# Every row that the predicates below can tell apart.
DOMAIN: dict[str, list[str]] = {
    "age": ["NULL", "-1", "0", "0.5", "1", "1.5", "2", "'inf'::DOUBLE"],
    "name": ["NULL", "''", "'a'", "'A'", "'ab'", "'a%'"],
    "flag": ["NULL", "TRUE", "FALSE"],
    "born": ["NULL", "TIMESTAMP '2020-01-01'", "TIMESTAMP '2020-01-02 10:00:00'"],
}
ATOMS = [
    *("age = 0", "age = 1", "age = 1.0", "age <> 1", "age < 1", "age <= 1", "1 <= age", "age > 1"),
    *("age IN (0, 2)", "age NOT IN (0, 2)", "age BETWEEN 0 AND 1", "age NOT BETWEEN 0 AND 1"),
    *("age IS NULL", "age IS NOT NULL", "age IS DISTINCT FROM 1", "age IS NOT DISTINCT FROM NULL"),
    *("age + 1 = 2", "ABS(age) = 1", "COALESCE(age, 1) = 1"),
    *("name = 'a'", "name = 'A'", "name <> 'a'", "name IN ('a', 'ab')", "name LIKE 'a'"),
    *("name LIKE 'a%'", "name ILIKE 'a'", "name NOT LIKE 'a'", "LOWER(name) = 'a'", "name > 'a'"),
    *("name IS NULL", "name LIKE 'a!%' ESCAPE '!'", "name = ''", "name || 'b' = 'ab'"),
    *("flag", "NOT flag", "flag IS NULL", "flag IS NOT TRUE", "flag = FALSE", "flag <> TRUE"),
    *("born = '2020-01-01'", "born > '2020-01-01'", "DAY(born) = 1", "born IS NULL"),
    *("CASE WHEN flag THEN age = 0 ELSE age = 1 END", "NULL", "TRUE", "age = NULL"),
]


@cache
def domain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    rows = ", ".join(f"({', '.join(row)})" for row in product(*DOMAIN.values()))
    connection.execute(f"CREATE TABLE D AS SELECT * FROM (VALUES {rows}) AS t({', '.join(DOMAIN)})")
    return connection


@cache
def satisfying(predicate: str) -> frozenset[int]:
    """The rows of the domain that match, as plain DuckDB says."""
    sql = f"SELECT rowid FROM D WHERE {predicate}"
    return frozenset(int(row[0]) for row in domain().execute(sql).fetchall())


@cache
def region_of(predicate: str) -> Region:
    resolved = Query(f"SELECT COUNT(*) FROM D WHERE {predicate}").resolve(SCHEMA)
    return region(resolved.predicate)


def costs_of(workload: Sequence[tuple[str, Fraction]]) -> list[MeasurementCost]:
    return [
        MeasurementCost(f"q{number}", epsilon, region_of(predicate))
        for number, (predicate, epsilon) in enumerate(workload)
    ]


def truth(workload: Sequence[tuple[str, Fraction]]) -> Fraction:
    """The largest sum of epsilons that one row pays, in whole parts of their common unit."""
    unit = math.lcm(*(epsilon.denominator for _, epsilon in workload))
    paid: Counter[int] = Counter()
    for predicate, epsilon in workload:
        paid.update(dict.fromkeys(satisfying(predicate), int(epsilon * unit)))
    return Fraction(max(paid.values(), default=0), unit)


def check(workload: Sequence[tuple[str, Fraction]]) -> None:
    charge = charge_of(composition_groups(costs_of(workload)))
    assert truth(workload) <= charge.epsilon, workload
    assert charge.epsilon <= sum(epsilon for _, epsilon in workload)
    assert charge.delta == 0


predicates = predicates_of(ATOMS, leaves=4)
epsilons = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(5, 2)])


@settings(max_examples=250)
@given(st.lists(st.tuples(predicates, epsilons), min_size=1, max_size=8))
def test_a_run_is_never_charged_below_its_worst_row(workload: list[tuple[str, Fraction]]) -> None:
    check(workload)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(predicates, epsilons, st.frozensets(st.sampled_from("xyz"))),
        min_size=1,
        max_size=8,
    )
)
def test_blocks_are_an_order_and_no_proof(
    workload: list[tuple[str, Fraction, frozenset[str]]],
) -> None:
    """Whatever is said to be of one block, what overlaps adds up."""
    plain = [(predicate, epsilon) for predicate, epsilon, _ in workload]
    costs = [
        replace(cost, blocks=blocks)
        for cost, (_, _, blocks) in zip(costs_of(plain), workload, strict=True)
    ]
    groups = composition_groups(costs)
    assert truth(plain) <= charge_of(groups).epsilon <= sum(epsilon for _, epsilon in plain)
    assert sorted(name for group in groups for name in group.names) == [c.name for c in costs]


def pairs() -> Iterator[list[tuple[str, Fraction]]]:
    for two in combinations(ATOMS, 2):
        yield [(predicate, Fraction(1)) for predicate in two]


def test_no_two_conditions_are_charged_below_their_worst_row() -> None:
    for workload in pairs():
        check(workload)


def test_the_columns_of_a_group_tell_every_two_of_it_apart() -> None:
    """Also where a query that did not fit was tried before."""
    grid = [f"age = {a} AND name = '{n}'" for a in range(7) for n in "abcdefg"]
    atoms = [*grid[:34], "age = 1", "name = 'a' OR flag", *grid[34:], "age IS NULL", "age > 8"]
    groups = composition_groups(costs_of([(sql, Fraction(1)) for sql in atoms]))
    assert len(groups) == 3
    for group in groups:
        for one, other in combinations(group.costs, 2):
            columns = group.columns or (separating(one.region or {}, other.region or {}),)
            regions = one.region or {}, other.region or {}
            assert any(disjoint(*(r[c] for r in regions)) for c in columns if c), group.names


@settings(max_examples=100, deadline=None)
@given(st.lists(predicates, min_size=2, max_size=8))
def test_overlaps_are_those_of_every_pair(workload: list[str]) -> None:
    regions = [
        c.region or {} for c in costs_of([(predicate, Fraction(1)) for predicate in workload])
    ]
    overlaps = Overlaps(regions)
    for place, region_ in enumerate(regions):
        expected = [separating(earlier, region_) is None for earlier in regions[:place]]
        assert overlaps.before(place).tolist() == expected


def test_values_of_two_types_separate_nothing() -> None:
    number, text = (region(Atom(f'"age" = {value}')) for value in ("1.0e0", "'a'"))
    assert number["age"] != text["age"]
    assert separating(number, text) is None
    assert Overlaps([number, text]).before(1).tolist() == [True]
    # TRUE and 1 are one value to Python.
    flag = {"age": replace(region(Atom('"age" < 1.0e0'))["age"], cuts=((True, False),))}
    assert Overlaps([number, flag, number]).before(2).tolist() == [True, True]


# Wrong rules for whether two regions overlap, by their place and that of the later one.
TWINS: dict[str, Callable[[Region, Region, int], bool]] = {
    "other conditions": lambda a, b, _: a == b,
    "other columns": lambda a, b, _: bool(set(a) & set(b)) and separating(a, b) is None,
    "everything": lambda _a, _b, _place: False,
    "all but the first": lambda a, b, place: not place and separating(a, b) is None,
}


class Twin:
    """Overlaps by a wrong rule."""

    def __init__(self, rule: Callable[[Region, Region, int], bool], regions: list[Region]) -> None:
        self._rule, self._regions = rule, regions

    def before(self, place: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        mine, earlier = self._regions[place], self._regions[:place]
        found = [self._rule(region_, mine, number) for number, region_ in enumerate(earlier)]
        return np.array(found, np.bool_)


def check_pairs_and_a_triple() -> None:
    test_no_two_conditions_are_charged_below_their_worst_row()
    check([("age = 0", Fraction(1)), ("age > 1", Fraction(1)), ("age > 2", Fraction(1))])


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_that_groups_what_overlaps_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disjoint_groups, "Overlaps", partial(Twin, TWINS[name]))
    with pytest.raises(AssertionError):
        check_pairs_and_a_triple()


def test_a_twin_that_charges_the_first_and_not_the_dearest_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Group, "epsilon", property(lambda group: group.costs[0].epsilon))
    with pytest.raises(AssertionError):
        check([("age = 0", Fraction(1)), ("age = 1", Fraction(2))])


# Hand cases


def cost(name: str, epsilon: int, predicate: str) -> MeasurementCost:
    resolved = Query(f"SELECT COUNT(*) FROM D WHERE {predicate}").resolve(SCHEMA)
    return MeasurementCost(name, Fraction(epsilon), region(resolved.predicate))


def test_nothing_costs_nothing() -> None:
    assert composition_groups([]) == ()
    assert charge_of(()) == Charge(Fraction(0), Fraction(0), NOTHING)
    assert charge_of((), Fraction(1, 10)) == Charge(Fraction(0), Fraction(0), NOTHING)


def test_what_may_overlap_adds_up() -> None:
    groups = composition_groups(
        [cost("a", 1, "age = 0"), cost("b", 2, "name = 'a'"), cost("c", 4, "TRUE")]
    )
    assert [group.names for group in groups] == [("a",), ("b",), ("c",)]
    assert charge_of(groups) == Charge(Fraction(7), Fraction(0), SEQUENTIAL)


def test_a_partition_costs_its_dearest_part() -> None:
    parts = ["age = 0", "age = 1", "age > 1", "age IS NULL"]
    groups = composition_groups([cost(p, number, p) for number, p in enumerate(parts, start=1)])
    assert [group.names for group in groups] == [tuple(parts)]
    assert charge_of(groups) == Charge(Fraction(4), Fraction(0), PARALLEL)


def test_partitions_of_two_columns_are_two_groups() -> None:
    named = ["age = 0", "name = 'a'", "age = 1", "name = 'A'"]
    groups = composition_groups([cost(p, 1, p) for p in named])
    assert [group.names for group in groups] == [
        ("age = 0", "age = 1"),
        ("name = 'a'", "name = 'A'"),
    ]
    assert charge_of(groups).epsilon == 2


def test_the_dearest_go_together() -> None:
    """Two cheap ones beside two dear ones: 5 + 1, not 5 + 5."""
    costs = [cost("a", 1, "age < 1"), cost("b", 5, "age < 1"), cost("c", 5, "age >= 1")]
    groups = composition_groups([*costs, cost("d", 1, "age >= 1")])
    assert [group.names for group in groups] == [("a", "d"), ("b", "c")]
    assert charge_of(groups).epsilon == 6


def test_without_a_region_nothing_is_disjoint() -> None:
    costs = [MeasurementCost(name, Fraction(1), None) for name in "ab"]
    assert charge_of(composition_groups(costs)) == Charge(Fraction(2), Fraction(0), SEQUENTIAL)
    mixed = [costs[0], cost("c", 1, "age = NULL")]
    assert charge_of(composition_groups(mixed)).epsilon == 2


def test_a_chain_of_disjoint_pairs_is_no_disjoint_group() -> None:
    """a and b are disjoint, b and c are, a and c are not."""
    chain = [cost("a", 1, "age < 1"), cost("b", 1, "age >= 1"), cost("c", 1, "age < 0.5")]
    assert [group.names for group in composition_groups(chain)] == [("a",), ("b", "c")]


def test_the_proof_names_every_pair() -> None:
    (group,) = composition_groups(
        [cost(p, 1, p) for p in ("age = 0", "age > 0 AND flag", "age = 1 AND NOT flag")]
    )
    assert len(group.proof()) == 3
    (one,) = composition_groups([cost("a", 1, "TRUE")])
    assert one.proof() == ()


# Blocks: GROUP BY and bins


def block(name: str, *conditions: str) -> list[MeasurementCost]:
    """The groups of one GROUP BY, or its bins."""
    blocks = frozenset([name])
    return [replace(cost(f"{name} {c}", 1, c), blocks=blocks) for c in conditions]


BY_AGE = block("x", *(f"age = {n}" for n in range(6)), "age IS NULL")
BY_NAME = block("y", *(f"name = '{letter}'" for letter in "abcdef"))
BY_BOTH = block("z", *(f"age = {n} AND name = '{letter}'" for n in range(6) for letter in "abcdef"))
BINS = block("u", *(f"age >= {n} AND age < {n + 2}" for n in range(0, 8, 2)))
SHIFTED = block("v", *(f"age >= {n + 1} AND age < {n + 3}" for n in range(0, 8, 2)))


@pytest.mark.parametrize("seed", range(6))
def test_blocks_make_no_more_groups_than_there_are(seed: int) -> None:
    """GROUP BY a, GROUP BY b and GROUP BY a, b: three, in whatever order their groups come."""
    for blocks, least in (
        ([BY_AGE, BY_NAME, BY_BOTH], 3),
        ([BY_AGE, BINS, SHIFTED], 3),
        ([BINS, SHIFTED], 2),
        ([BY_AGE, BY_NAME, BY_BOTH, BINS, SHIFTED], 5),
    ):
        several = [one for each in blocks for one in each]
        order = np.random.default_rng(seed).permutation(len(several))
        assert len(composition_groups([several[place] for place in order])) == least


conditions = st.sampled_from(
    [
        *(f"age >= {n} AND age < {n + k}" for n in range(4) for k in (1, 2, 3)),
        *(f"age = {n} AND name = '{letter}'" for n in range(3) for letter in "ab"),
        *("name = 'a'", "name <> 'b'", "age IS NULL", "flag", "NOT flag AND age > 1"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([BY_AGE, BY_NAME, BY_BOTH, BINS, SHIFTED]), max_size=4, unique_by=id),
    st.lists(conditions, max_size=6, unique=True),
    st.randoms(use_true_random=False),
)
def test_groups_depend_on_no_order_and_no_name(
    blocks: list[list[MeasurementCost]], single: list[str], chance: random.Random
) -> None:
    several = [one for each in blocks for one in each] + [cost(c, 1, c) for c in single]
    first = composition_groups(several)
    assert len(first) <= len(blocks) + len(single)
    chance.shuffle(several)
    called = {one.name: f"{chance.random()}" for one in several}
    named = {name: f"{chance.random()}" for name in "xyzuv"}
    again = composition_groups(
        [
            replace(one, name=called[one.name], blocks=frozenset(named[b] for b in one.blocks))
            for one in several
        ]
    )
    names = {frozenset(called[name] for name in group.names) for group in first}
    assert {frozenset(group.names) for group in again} == names


def test_a_query_of_two_blocks_is_of_either() -> None:
    shared = BY_AGE[0].with_blocks_of(replace(BY_BOTH[0], name=BY_AGE[0].name))
    assert shared.blocks == {"x", "z"}
    assert len(composition_groups([shared, *BY_BOTH[1:], *BY_AGE[1:]])) == 2


def test_a_twin_that_groups_in_the_order_of_names_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def by_hash(costs: Sequence[MeasurementCost]) -> list[MeasurementCost]:
        return sorted(costs, key=lambda c: hashlib.sha256(c.name.encode()).hexdigest())

    monkeypatch.setattr(disjoint_groups, "_order", by_hash)
    with pytest.raises(AssertionError):
        test_blocks_make_no_more_groups_than_there_are(0)


# Optimal composition


def divergence(losses: Sequence[tuple[Fraction, int]], at: mp.mpf) -> mp.mpf:
    """The hockey stick of composed randomized responses: ``count`` of each ``epsilon``."""
    mp.mp.dps = 60
    held = {mp.mpf(0): mp.mpf(1)}
    for epsilon, count in losses:
        one = mp.mpf(epsilon.numerator) / epsilon.denominator
        up = mp.e**one / (1 + mp.e**one)
        binomial = [
            ((count - 2 * k) * one, mp.binomial(count, k) * up ** (count - k) * (1 - up) ** k)
            for k in range(count + 1)
        ]
        held = merged((loss + more, p * q) for loss, p in held.items() for more, q in binomial)
    return mp.fsum(p * (1 - mp.e ** (at - loss)) for loss, p in held.items() if loss > at)


def merged(pairs_: Iterator[tuple[mp.mpf, mp.mpf]]) -> dict[mp.mpf, mp.mpf]:
    found: dict[mp.mpf, mp.mpf] = {}
    for loss, p in pairs_:
        place = mp.nint(loss * 10**40) / 10**40
        found[place] = found.get(place, mp.mpf(0)) + p
    return found


def closed_form(k: int, epsilon: Fraction, i: int) -> tuple[mp.mpf, mp.mpf]:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3: the i-th vertex (epsilon', delta')."""
    mp.mp.dps = 60
    e = mp.mpf(epsilon.numerator) / epsilon.denominator
    gains = (
        mp.binomial(k, j) * (mp.e ** ((k - j) * e) - mp.e ** ((k - 2 * i + j) * e))
        for j in range(i)
    )
    return (k - 2 * i) * e, mp.fsum(gains) / (1 + mp.e**e) ** k


def as_mpf(number: Fraction) -> mp.mpf:
    return mp.mpf(number.numerator) / number.denominator


def as_fraction(number: mp.mpf) -> Fraction:
    return Fraction(mp.nstr(number, 40))


VERTICES = [
    (k, epsilon, i)
    for k, several in ((2, [0]), (5, [1, 2]), (30, [5, 10, 14]), (200, [60, 80, 95]))
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(7, 3))
    for i in several
    if i and as_fraction(closed_form(k, epsilon, i)[1]) > Fraction(1, 10**9)
]


@pytest.mark.parametrize(("k", "epsilon", "i"), VERTICES)
def test_equal_budgets_compose_to_at_least_the_closed_form(
    k: int, epsilon: Fraction, i: int
) -> None:
    exact, delta = closed_form(k, epsilon, i)
    assert abs(divergence([(epsilon, k)], exact) / delta - 1) < mp.mpf(10) ** -30
    # A hair below delta, so that this vertex is not reached and rounding cannot matter.
    found = optimal([epsilon] * k, as_fraction(delta) * Fraction(10**6 - 1, 10**6))
    assert as_mpf(found) >= exact


def test_equal_budgets_compose_within_two_hundredths_of_the_closed_form() -> None:
    for k, epsilon, i in VERTICES:
        exact, delta = closed_form(k, epsilon, i)
        found = optimal([epsilon] * k, as_fraction(delta) * Fraction(1001, 1000))
        assert as_mpf(found) <= exact * mp.mpf("1.02") or found >= k * epsilon, (k, epsilon, i)


def test_equal_budgets_compose_within_a_fiftieth_of_the_closed_form_at_small_delta() -> None:
    for k, epsilon, delta in ((20, Fraction(1, 2), 10**-6), (200, Fraction(1, 10), 10**-9)):
        found = optimal([epsilon] * k, Fraction(delta))
        assert divergence([(epsilon, k)], as_mpf(found) / mp.mpf("1.03")) > delta


MIXED = [
    ([(Fraction(1, 2), 1), (Fraction(1), 2)], Fraction(1, 100)),
    ([(Fraction(1, 10), 3), (Fraction(1, 3), 4), (Fraction(2), 1)], Fraction(1, 1000)),
    ([(Fraction(1, 7), 6), (Fraction(5, 2), 2)], Fraction(1, 10)),
    ([(Fraction(1, 100), 20), (Fraction(3, 10), 20)], Fraction(1, 10**6)),
    ([(Fraction(1, 1000), 5), (Fraction(4), 3)], Fraction(1, 10**4)),
    ([(Fraction(3, 100), 40), (Fraction(7, 100), 40)], Fraction(1, 10**8)),
]


@pytest.mark.parametrize("number", range(len(MIXED)))
def test_unequal_budgets_compose_to_at_least_the_brute_force(number: int) -> None:
    losses, delta = MIXED[number]
    every = [epsilon for epsilon, count in losses for _ in range(count)]
    found = min(optimal(every, delta), sum(every, Fraction(0)))
    assert divergence(losses, as_mpf(found)) <= as_mpf(delta)
    if found < sum(every, Fraction(0)):
        # Not much dearer than the truth either.
        assert divergence(losses, as_mpf(found) * mp.mpf("0.95")) > as_mpf(delta)


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from([Fraction(n, 20) for n in (1, 3, 7, 14, 40)]), min_size=2, max_size=6),
    st.sampled_from([Fraction(1, 10**n) for n in (1, 2, 4, 7)]),
)
def test_a_charge_is_never_below_the_brute_force(each: list[Fraction], delta: Fraction) -> None:
    groups = composition_groups(
        [MeasurementCost(str(n), epsilon, None) for n, epsilon in enumerate(each)]
    )
    charge = charge_of(groups, 2 * delta)
    losses = [(epsilon, each.count(epsilon)) for epsilon in sorted(set(each))]
    assert divergence(losses, as_mpf(charge.epsilon)) <= as_mpf(charge.delta)
    assert charge.epsilon <= sum(each)
    assert charge.delta in {0, delta}
    assert (charge.rule == OPTIMAL) == (charge.delta > 0)


def test_a_twin_that_forgets_a_mechanism_is_caught() -> None:
    losses, delta = MIXED[1]
    every = [epsilon for epsilon, count in losses for _ in range(count)]
    assert divergence(losses, as_mpf(optimal(every[:-1], delta))) > as_mpf(delta)


FOURIER = [
    ([(Fraction(1, 100), 1), (Fraction(3, 100), 500)], Fraction(1, 10**12)),
    ([(Fraction(1, 10), 1), (Fraction(9, 10), 500)], Fraction(1, 10**14)),
]


@pytest.mark.parametrize("number", range(len(FOURIER)))
def test_a_tiny_delta_is_kept_too(number: int) -> None:
    losses, delta = FOURIER[number]
    every = [epsilon for epsilon, count in losses for _ in range(count)]
    assert divergence(losses, as_mpf(optimal(every, delta))) <= as_mpf(delta)


def test_more_delta_never_costs_more_epsilon_and_more_queries_never_less() -> None:
    ten = [Fraction(1, 4)] * 10
    by_delta = [optimal(ten, Fraction(1, 10**n)) for n in range(1, 12)]
    assert by_delta == sorted(by_delta)
    by_number = [optimal([Fraction(1, 4)] * k, Fraction(1, 1000)) for k in range(1, 30)]
    assert by_number == sorted(by_number)
    by_epsilon = [optimal([Fraction(n, 20)] * 8, Fraction(1, 1000)) for n in range(1, 30)]
    assert by_epsilon == sorted(by_epsilon)


def test_epsilon_is_rounded_up_to_nine_decimals() -> None:
    found = optimal([Fraction(1, 3)] * 30, Fraction(1, 10**5))
    assert found * 10**9 == int(found * 10**9)
    assert found < 10


def test_no_delta_or_one_group_is_not_composed_optimally() -> None:
    many = composition_groups([MeasurementCost(str(n), Fraction(1, 10), None) for n in range(50)])
    assert charge_of(many, Fraction(0)) == Charge(Fraction(5), Fraction(0), SEQUENTIAL)
    assert charge_of(many, Fraction(-1)) == Charge(Fraction(5), Fraction(0), SEQUENTIAL)
    one = composition_groups([cost("a", 1, "age = 0"), cost("b", 1, "age = 1")])
    assert charge_of(one, Fraction(1, 10)) == Charge(Fraction(1), Fraction(0), PARALLEL)
    composed = charge_of(many, Fraction(1, 10**5))
    assert (composed.rule, composed.delta) == (OPTIMAL, Fraction(1, 2 * 10**5))
    assert composed.epsilon < 5


def test_a_delta_too_small_to_help_is_not_spent() -> None:
    many = composition_groups([MeasurementCost(str(n), Fraction(3), None) for n in range(3)])
    assert charge_of(many, Fraction(1, 10**30)) == Charge(Fraction(9), Fraction(0), SEQUENTIAL)


# The whole way: limit, ledger, report

TABLE = pd.DataFrame({"age": [float(n % 7) for n in range(40)], "name": list("abcd") * 10})
WORKLOAD = [f"SELECT COUNT(*) FROM D WHERE age + {n} > 3" for n in range(40)]


def terms() -> Parameters:
    return Parameters.parse(tau="5", epsilon="0.1", alpha="0.05")


def test_runs_share_the_delta_and_never_exceed_it(tmp_path: Path) -> None:
    limit, spent = Fraction(1, 10**4), []
    for number in range(3):
        accountant = Accountant(tmp_path / "ledger.sqlite", Budget(None, limit), fresh=True)
        queries = as_queries(WORKLOAD[: 40 - number])
        report = run_audit(
            like(TABLE), TABLE, queries, terms(), SecureNoise(), accountant=accountant
        )
        spent.append(report.cost.delta)
        assert report.cost.rule == OPTIMAL
        assert report.cost.total_delta == sum(spent) < limit
        full = terminal_text(report, extent=Extent.VERBOSE)
        assert "optimal composition" in " ".join(full.split())
    assert spent == [limit / 2, limit / 4, limit / 8]


def test_what_a_run_costs_is_what_it_is_called(tmp_path: Path) -> None:
    accountant = Accountant(tmp_path / "ledger.sqlite")
    queries = as_queries(WORKLOAD[:3])
    report = run_audit(like(TABLE), TABLE, queries, terms(), SecureNoise(), accountant=accountant)
    assert (report.cost.rule, report.spent) == (SEQUENTIAL, Fraction(3, 10))
    again = run_audit(like(TABLE), TABLE, queries, terms(), SecureNoise(), accountant=accountant)
    assert again.cost.rule == NOTHING
    assert again.spent == 0
    assert again.cost.total == Fraction(3, 10)
    grouped_by = as_queries("SELECT COUNT(*) FROM D GROUP BY name")
    parallel = run_audit(
        like(TABLE), TABLE, grouped_by, terms(), SecureNoise(), accountant=accountant
    )
    assert (parallel.cost.rule, parallel.spent) == (PARALLEL, Fraction(1, 10))
    assert parallel.cost.total == Fraction(4, 10)
