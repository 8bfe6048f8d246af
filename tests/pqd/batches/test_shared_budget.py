"""One budget for a whole workload: what the shares cost together, and which way is taken."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.accounting.accountant import Quote, quote_of
from pqd.accounting.composition import charge_of
from pqd.batches import row_classes as classes_module
from pqd.batches.batch_measurement import BatchMeasurement
from pqd.batches.batch_verdict import BatchRule
from pqd.batches.mechanisms import (
    ALONE,
    BY_QUERY,
    LINEAR,
    NOISE_KNOWN,
    RANGES,
    SHARINGS,
    TOGETHER,
    RunBudget,
)
from pqd.batches.shared_budget import verdict_plans
from pqd.deciders import Decision, operating_characteristic
from pqd.deciders.batch.decision_rule import accept
from pqd.deciders.distributions import NoiseSum
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import DeciderError, ParameterError
from pqd.parameters import Criteria, Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundQuery, BoundWorkload, QueryRequest
from pqd.planning.query_verdict import PlannedQueryVerdict, QueryVerdictPlan, select_deciders
from pqd.spec import json_schema
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries
from tests.support.skipped import NO_TABLES

EPSILON = Fraction(7, 10)
PERSONS, THREE_ROWS = PrivacyUnit("id"), PrivacyUnit("id", 3)


def table(seed: int, rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": np.arange(rows) // 3,
            "age": rng.integers(0, 80, rows),
            "pay": rng.integers(0, 9, rows),
            "debt": rng.integers(-50, 51, rows),
            "job": rng.choice(["cook", "smith", "nurse"], rows),
            "k": rng.integers(0, 8, rows),
        }
    )


SECRET, COPIES = table(2), (table(1), table(3))
COLUMNS = {"pay": {"bounds": (0, 8)}, "debt": {"bounds": (-50, 50)}, "age": {"bounds": (0, 80)}}


@dataclass(frozen=True)
class Own:
    """A query that does not share: it has a budget of its own."""

    sql: str
    epsilon: Fraction


def made(
    *queries: str | Own,
    mode: str = "auto",
    tau: Any = 20,
    copies: int = 1,
    people: PrivacyUnit | None = None,
    decider: str = "auto",
    columns: Any = COLUMNS,
    epsilon: Fraction = EPSILON,
) -> list[QueryVerdictPlan]:
    """Share ``epsilon`` among the queries, against each of the copies."""
    workloads = bound_workloads(
        *queries, tau=tau, copies=copies, people=people, decider=decider, columns=columns
    )
    return verdict_plans(workloads, RunBudget(epsilon, mode))


def bound_workloads(
    *queries: str | Own,
    tau: Any = 20,
    copies: int = 1,
    people: PrivacyUnit | None = None,
    decider: str = "auto",
    columns: Any = COLUMNS,
) -> list[BoundWorkload]:
    """The same, before anything is shared."""
    taus = tau if isinstance(tau, list) else [tau] * len(queries)
    requests = []
    for place, (one, each) in enumerate(zip(queries, taus, strict=True)):
        own = one.epsilon if isinstance(one, Own) else None
        terms = Criteria.of(tau=each, alpha=0.05, mechanism=decider, columns=columns)
        terms = terms if own is None else terms.at(own)
        requests.append(
            QueryRequest(Query(one.sql if isinstance(one, Own) else one, f"q{place}"), terms)
        )
    parts = []
    for copy in COPIES[:copies]:
        opened = open_table(copy, "synthetic"), open_table(SECRET, "private")
        tables = SyntheticTables([opened[0]], opened[1])
        facts = Criteria.of(tau=1, alpha=0.05, columns=columns).columns
        parts.append(bind(tables, requests, facts, people))
    return parts


# True gaps in tolerances, as many inside as beyond.
GRID = [Fraction(quarters, 4) for quarters in (0, 2, 3, 5, 6, 8)]


def expected_wrong(workloads: Sequence[BoundWorkload], sharing: RunBudget) -> float:
    """How many verdicts are wrong on average where each gap is as likely, exactly, in public."""
    found = 0.0
    for before, after in zip(workloads, verdict_plans(workloads, sharing), strict=True):
        for one, verdict in zip(before.queries, verdicts_of([after]), strict=True):
            chances = accepted(one, verdict)
            wrong = [p if gap > 1 else 1 - p for gap, p in zip(GRID, chances, strict=True)]
            # Where an answer cannot be so far off, the other gaps of that side stand for it.
            found += float(np.nanmean(wrong[:3]) + np.nanmean(wrong[3:])) / 2
    return found


def accepted(one: BoundQuery, verdict: PlannedQueryVerdict) -> Sequence[float]:
    """The chances of a yes, on the worse side, at each gap of the grid."""
    interval, epsilon = verdict.interval, verdict.measurement.epsilon
    if not isinstance(verdict.rule, BatchRule):
        decider = verdict.choice.decider
        return operating_characteristic(decider, one.synthetic[0], interval, epsilon, GRID)
    found = []
    for gap in GRID:
        off = math.ceil(gap * interval.tau)
        sides = [accept(verdict.rule.errors, side * off, interval.tau) for side in (1, -1)]
        found.append(min(sides) if gap < 1 else max(sides))
    return found


def verdicts_of(parts: Sequence[QueryVerdictPlan]) -> list[PlannedQueryVerdict]:
    for part in parts:
        part.bound.check()
    return [verdict for part in parts for verdict in part.verdicts]


def notes(parts: Sequence[QueryVerdictPlan]) -> str:
    return "\n".join(str(note) for part in parts for note in part.bound.notes)


def total(parts: Sequence[QueryVerdictPlan]) -> Fraction:
    """What a run would charge for all of them."""
    return quote_of([part.measurements.measurements for part in parts]).charge.epsilon


def count(condition: str) -> str:
    return f"SELECT COUNT(*) FROM D WHERE {condition}"


def among(*numbers: int) -> str:
    return count(f"k IN ({', '.join(map(str, numbers))})")


AGES = [count(f"age >= {low} AND age < {low + 20}") for low in range(0, 80, 20)]
NESTED = [count(f"age > {low}") for low in range(10, 70, 10)]
MEANS = ["SELECT AVG(pay) FROM D", "SELECT MEDIAN(age) FROM D WHERE job = 'cook'"]
SUMS = [
    "SELECT SUM(pay) FROM D",
    "SELECT SUM(pay) FROM D WHERE age > 30",
    "SELECT SUM(debt) FROM D",
]
WORKLOADS: dict[str, dict[str, Any]] = {
    "one": {"queries": NESTED[:1]},
    "nested": {"queries": NESTED},
    "disjoint": {"queries": AGES},
    "groups": {"queries": ["SELECT COUNT(*) FROM D GROUP BY job"]},
    "duplicates": {"queries": [*NESTED[:2], *NESTED[:2], NESTED[0]]},
    "sums and counts": {"queries": [*SUMS, *NESTED[:2]]},
    "means among counts": {"queries": [*MEANS, *NESTED[:3], *AGES]},
    "means alone": {"queries": MEANS},
    "two tolerances": {"queries": [NESTED[0], NESTED[0], NESTED[1]], "tau": [20, 35, 20]},
    "two copies": {"queries": [*NESTED[:2], MEANS[0]], "copies": 2},
    "persons": {"queries": [*NESTED[:2], *AGES, *SUMS[:1]], "people": PERSONS},
    "rows of persons": {"queries": [*NESTED[:2], *MEANS], "people": THREE_ROWS},
    "settled": {
        "queries": [SUMS[0], *NESTED[:2]],
        "columns": {**COLUMNS, "pay": {"bounds": (0, 0)}},
    },
    "nothing but settled": {
        "queries": SUMS[:2],
        "columns": {**COLUMNS, "pay": {"bounds": (0, 0)}},
    },
}
MAIN = ("auto", ALONE, "identity")
# ``auto`` takes longest.
# There is nothing for a batch in these, so to name one is a mistake.
PEOPLE = ("persons", "rows of persons")
BOTH = [(name, ALONE) for name in WORKLOADS]
BOTH += [(name, "joint") for name in PEOPLE]
BOTH += [(name, "identity") for name in WORKLOADS if name not in {"means alone", *PEOPLE}]
BOTH += [(name, "auto") for name in ("duplicates", "two copies")]


def workload(name: str, mode: str) -> list[QueryVerdictPlan]:
    given = dict(WORKLOADS[name])
    return made(*given.pop("queries"), mode=mode, **given)


# What they cost -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "mode"), BOTH)
def test_the_whole_costs_what_is_shared(name: str, mode: str) -> None:
    parts = workload(name, mode)
    verdicts = verdicts_of(parts)
    free = all(verdict.is_constant for verdict in verdicts)
    assert free == (name == "nothing but settled")
    # One release may serve several copies, or tolerances; no less is spent in any other case.
    spent = total(parts)
    assert spent <= EPSILON
    serves = name in {"two copies", "two tolerances"}
    assert spent == (0 if free else EPSILON) or serves


@pytest.mark.parametrize(
    "mode", ["numerical", "normalization", "global_truncation", "clipped_composition"]
)
def test_every_mechanism_costs_its_share(mode: str) -> None:
    parts = made(*NESTED[:2], MEANS[0], mode=mode)
    assert [q.choice.taken.mechanism.id for q in verdicts_of(parts)] == [
        f"{mode}_batch",
        f"{mode}_batch",
        "inv_mean",
    ]
    assert [q.measurement.cost for q in verdicts_of(parts)] == [EPSILON * Fraction(2, 3)] * 2 + [
        EPSILON / 3
    ]
    assert total(parts) == EPSILON


@pytest.mark.parametrize("seed", range(6))
def test_no_workload_costs_more_than_is_shared(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = [*NESTED, *AGES, *MEANS, *SUMS, *(among(*pair) for pair in ((1, 2), (2, 3), (4, 5)))]
    pool += [f"SELECT AVG(debt) FROM D WHERE k = {k}" for k in range(4)]
    queries = rng.choice(np.array(pool), rng.integers(2, 14)).tolist()
    mode = (ALONE, ALONE, "identity")[seed % 3]
    people: dict[str, Any] = {"people": PrivacyUnit("id", 2)} if seed in {0, 4} else {}
    parts = made(*queries, mode=mode, copies=1 + seed % 2, **people)
    assert len(verdicts_of(parts)) == len(queries) * (1 + seed % 2)
    assert 0 < total(parts) <= EPSILON


def test_disjoint_queries_alone_have_the_whole_each() -> None:
    parts = made(*AGES, mode=ALONE)
    assert [q.measurement.epsilon for q in verdicts_of(parts)] == [EPSILON] * 4
    mixed = made(*AGES, NESTED[0], mode=ALONE)
    assert [q.measurement.epsilon for q in verdicts_of(mixed)] == [EPSILON / 2] * 5


BLOCKS = [f"SELECT COUNT(*) FROM D GROUP BY {keys}" for keys in ("k", "job", "k, job")]


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), EPSILON, Fraction(3)])
def test_every_group_by_costs_one_share(epsilon: Fraction) -> None:
    """Whatever epsilon is, and in whatever order they come."""
    for order in permutations(BLOCKS):
        found = verdicts_of(parts := made(*order, mode=ALONE, epsilon=epsilon))
        assert {q.measurement.epsilon for q in found} == {epsilon / 3}
        assert total(parts) == epsilon


def test_what_shares_costs_no_more_than_that_whatever_is_replayed() -> None:
    parts = made(*BLOCKS, *AGES, *NESTED[:2], mode=ALONE)
    verdicts = verdicts_of(parts)
    spent = []
    for number in range(8):
        rng = np.random.default_rng(number)
        known = {
            q.measurement.cache_key: Decision(True) for q in verdicts if rng.random() < number / 8
        }
        spent.append(
            Quote.of(
                [part.measurements.measurements for part in parts],
                known,
                lambda groups, _: charge_of(groups),
            ).charge.epsilon
        )
    assert max(spent) == spent[0] == EPSILON


def test_a_query_that_is_stated_twice_takes_one_share() -> None:
    for mode in (ALONE, "workload"):
        parts = made(NESTED[0], MEANS[0], NESTED[0].replace("COUNT", "count"), mode=mode)
        assert [q.measurement.cost for q in verdicts_of(parts)] == [EPSILON / 2] * 3


def test_what_is_settled_takes_no_share() -> None:
    parts = workload("settled", ALONE)
    assert [q.measurement.cost for q in verdicts_of(parts)] == [0, EPSILON / 2, EPSILON / 2]


def test_rows_of_persons_cost_as_many_times() -> None:
    parts = made(*MEANS, mode=ALONE, people=THREE_ROWS)
    assert [q.measurement.epsilon for q in verdicts_of(parts)] == [EPSILON / 6] * 2
    assert [q.measurement.cost for q in verdicts_of(parts)] == [EPSILON / 2] * 2


def test_copies_share_by_how_much_is_asked_of_each() -> None:
    parts = made(*NESTED[:2], mode="identity", copies=2)
    batches = {q.measurement.cache_key: q.measurement.cost for q in verdicts_of(parts)}
    # The same queries of the private table: one release would serve both, at half of the budget.
    assert list(batches.values()) == [EPSILON / 2]
    assert total(parts) == EPSILON / 2


def test_two_tolerances_are_answered_by_one_release() -> None:
    parts = made(NESTED[0], NESTED[0], tau=[20, 35], mode="workload")
    first, second = verdicts_of(parts)
    assert isinstance(first.rule, BatchRule)
    assert isinstance(second.rule, BatchRule)
    batch = first.measurement
    assert batch is second.measurement
    assert isinstance(batch, BatchMeasurement)
    assert len(batch.statistics) == 1
    assert first.identity != second.identity
    assert total(parts) == EPSILON


def test_every_answer_is_judged_by_its_own_noise() -> None:
    """Six nested conditions part the rows in seven: the first query adds up six of them."""
    for mode, draws in (("identity", [6, 5, 4, 3, 2, 1]), ("workload", [1] * 6)):
        found = verdicts_of(made(*NESTED, mode=mode))
        scale = (6 if mode == "workload" else 1) / EPSILON
        rules = [verdict.rule for verdict in found]
        assert [rule.errors for rule in rules if isinstance(rule, BatchRule)] == [
            NoiseSum(count, scale) for count in draws
        ]


@pytest.mark.parametrize("mode", ["auto", "workload", "identity"])
def test_a_query_that_no_row_can_match_is_answered_with_the_others(mode: str) -> None:
    parts = made(NESTED[0], count("age > 50 AND age < 20"), NESTED[1], mode=mode)
    assert len(verdicts_of(parts)) == 3
    assert 0 < total(parts) <= EPSILON


SPELLED = ["pay", "PAY", '"pay"', "(pay)"]


@pytest.mark.parametrize("mode", ["auto", "workload", "identity"])
@pytest.mark.parametrize("other", SPELLED[1:])
def test_a_sum_that_is_spelled_otherwise_is_no_other_sum(other: str, mode: str) -> None:
    """Else what is asked in both spellings is paid for in two batches, at one share."""
    queries = [f"SELECT SUM(pay) FROM D WHERE k < {k}" for k in (2, 5)]
    spelled = [f"SELECT SUM({other}) FROM D WHERE k < {k}" for k in (2, 7)]
    assert total(made(*queries, *spelled, mode=mode)) == EPSILON


# Beside queries with budgets of their own ---------------------------------------------------------


@pytest.mark.parametrize("mode", MAIN)
def test_a_query_with_its_own_budget_is_paid_beside(mode: str) -> None:
    own = Own(NESTED[3], Fraction(1, 3))
    parts = made(own, *NESTED[:2], MEANS[0], mode=mode)
    first, *others = verdicts_of(parts)
    assert first.measurement.epsilon == first.measurement.cost == Fraction(1, 3)
    assert first.choice.taken.mechanism.id in {"noisy_count", "inv_count"}
    assert total(parts) == EPSILON + Fraction(1, 3)
    assert [q.measurement.cache_key for q in others] == [
        q.measurement.cache_key for q in verdicts_of(made(*NESTED[:2], MEANS[0], mode=mode))
    ]


def test_a_disjoint_query_with_its_own_budget_costs_no_more_than_that() -> None:
    parts = made(Own(AGES[0], EPSILON), *AGES[1:], mode=ALONE)
    assert EPSILON <= total(parts) <= 2 * EPSILON


# Each overlaps those with which it has a number in common, and is disjoint from the others.
CHAIN = [among(4), among(1), among(3, 4), among(1, 2), among(2, 3)]


def test_a_query_of_its_own_budget_does_not_make_the_others_dearer() -> None:
    """Gathered first, it takes one of them into its group; the others must not need more groups."""
    own = Own(among(1, 2, 3), Fraction(5))
    assert total(made(*CHAIN, mode=ALONE)) == EPSILON
    assert total(made(own, *CHAIN, mode=ALONE)) <= 5 + EPSILON


def test_a_batch_for_which_there_is_no_query_is_refused() -> None:
    with pytest.raises(ParameterError, match="No query of this run is such a one: use alone"):
        workload("means alone", "identity")


# What is the same query ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mode"),
    [("nested", "auto"), ("means among counts", ALONE), ("sums and counts", "identity")],
)
def test_the_order_of_queries_does_not_matter(name: str, mode: str) -> None:
    queries = list(WORKLOADS[name]["queries"])
    keys = set()
    for order in (queries, [*queries[2:], *queries[1::-1]]):
        found = verdicts_of(made(*order, mode=mode))
        keys.add(frozenset((q.query.sql, q.identity) for q in found))
    assert len(keys) == 1


def test_other_queries_make_another_measurement_of_a_batch() -> None:
    def drawn(*queries: str, **options: Any) -> set[str]:
        parts = made(*queries, mode="identity", **options)
        return {q.measurement.cache_key for q in verdicts_of(parts)}

    whole = drawn(*NESTED)
    assert len(whole) == 1
    for other in (
        drawn(*NESTED[:-1]),
        drawn(*NESTED, epsilon=Fraction(1, 2)),
        drawn(*NESTED[:-1], NESTED[-1].replace(">", ">=")),
    ):
        assert not whole & other
    # The tolerance is no part of it: the release serves any.
    assert drawn(*NESTED, tau="7%") == whole


# Which way is taken -------------------------------------------------------------------------------

CHOICES: dict[str, dict[str, Any]] = {
    "nested": {"queries": NESTED, "tau": 40},
    "disjoint": {"queries": AGES, "tau": 10},
    "few classes": {"queries": [among(*range(k)) for k in range(1, 8)], "tau": 60},
    "signed sums": {
        "queries": [f"SELECT SUM(debt) FROM D WHERE age > {age}" for age in (10, 50)],
        "tau": 2000,
    },
}


@pytest.mark.parametrize("name", CHOICES)
def test_auto_takes_what_errs_least(name: str) -> None:
    given = dict(CHOICES[name])
    queries = given.pop("queries")
    workloads = bound_workloads(*queries, **given)
    scores = {
        mode: expected_wrong(workloads, RunBudget(EPSILON, mode))
        for mode in (ALONE, "workload", "joint", "identity")
    }
    parts = verdict_plans(workloads, RunBudget(EPSILON, "auto"))
    best = min(scores, key=scores.__getitem__)
    taken = {q.choice.taken.mechanism.id for q in verdicts_of(parts)}
    alone = {"inv_count", "noisy_count"}
    assert taken <= alone if best == ALONE else taken == {f"{best}_batch"}
    assert expected_wrong(workloads, RunBudget(EPSILON, "auto")) == pytest.approx(
        scores[best], abs=1e-9
    )
    assert "with true gaps from 0 to 2 tau, " in notes(parts)
    # What a reader is shown of the others is what they are worth.
    for verdict in verdicts_of(parts):
        shown = {c.mechanism.id for c in verdict.choice.candidates}
        assert verdict.choice.taken.mechanism.id in shown
        assert any(way.startswith(("inv_", "noisy_")) for way in shown)
        assert any(way.endswith("_batch") for way in shown)


BUDGETS = [Fraction(1, 4), *(Fraction(n, 10) for n in (4, 6, 9, 14, 20, 40, 90))]
GROWING: dict[str, dict[str, Any]] = {
    **CHOICES,
    "overlapping and not": {"queries": [*NESTED, *AGES], "tau": 30},
    "three families": {"queries": [*SUMS, *NESTED[:2]], "tau": [300, 300, 500, 30, 30]},
    "means among counts": {"queries": [*MEANS, *NESTED[:2], *AGES], "tau": [1, 3, *[30] * 6]},
    "blocks": {"queries": [BLOCKS[0], BLOCKS[1], MEANS[0]], "tau": [10, 10, 1]},
}


@pytest.mark.parametrize("name", GROWING)
def test_more_budget_never_means_more_wrong_verdicts(name: str) -> None:
    given = dict(GROWING[name])
    workloads = bound_workloads(*given.pop("queries"), **given)
    found = [expected_wrong(workloads, RunBudget(epsilon, "auto")) for epsilon in BUDGETS]
    for less, more in pairwise(found):
        assert more <= less + 1e-9
    assert found[-1] < found[0] / 20


SAMPLES = Path(__file__).parents[3] / "samples"
SHARED = Path(__file__).parents[4] / "shared" / "data"
REAL: dict[str, tuple[Path, str, int | str, list[str]]] = {
    "census": (
        SAMPLES,
        "census_{}.parquet private synthetic",
        600,
        [
            *(count(f"age >= {age}") for age in (25, 35, 45, 55)),
            *(count(f"age >= {age} AND sex LIKE 'Female'") for age in (25, 45)),
            "SELECT COUNT(*) FROM D GROUP BY marst",
        ],
    ),
    "adult": (
        SHARED,
        "adult_{}.parquet private privbayes_eps1",
        "2%",
        [
            count("relationship = 'Unmarried' AND sex = 'Male'"),
            count("age BETWEEN 30 AND 39 AND sex = 'Female'"),
            count("\"native-country\" <> 'United-States'"),
            count('"marital-status" = \'Never-married\' AND "hours-per-week" > 40'),
            "SELECT COUNT(*) FROM D GROUP BY sex",
            "SELECT COUNT(*) FROM D GROUP BY race",
        ],
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_more_budget_never_means_more_wrong_verdicts_on_real_tables(name: str) -> None:
    folder, names, tau, queries = REAL[name]
    file, private, synthetic = names.split()
    paths = [folder / file.format(role) for role in (synthetic, private)]
    if not all(path.exists() for path in paths):
        pytest.skip(NO_TABLES)
    copy, secret = open_table(paths[0], "synthetic"), open_table(paths[1], "private")
    terms = Criteria.of(tau=tau, alpha=0.05)
    requests = [QueryRequest(query, terms) for query in as_queries(queries)]
    bound = bind(SyntheticTables([copy], secret), requests, terms.columns)
    found = [expected_wrong([bound], RunBudget(epsilon / 4, "auto")) for epsilon in BUDGETS[:6]]
    assert sorted(found, reverse=True) == found
    assert found[-1] < found[0] / 2


def test_a_family_is_weighed_with_what_else_shares_the_pool() -> None:
    """By itself a family of blocks would have nearly all; beside a mean, half of the budget."""
    workloads = bound_workloads(*BLOCKS[:2], *MEANS, *NESTED[:1], tau=[20, 20, 1, 3, 20])
    for epsilon in BUDGETS[::3]:
        scores = [expected_wrong(workloads, RunBudget(epsilon, m)) for m in ("alone", "identity")]
        assert expected_wrong(workloads, RunBudget(epsilon, "auto")) <= min(scores) + 1e-9


def test_of_ways_that_err_alike_that_of_the_least_thresholds_is_taken() -> None:
    """At a budget that decides everything either way."""
    workloads, epsilon = bound_workloads(*CHOICES["few classes"]["queries"], tau=60), Fraction(11)
    for mode in (ALONE, "identity", "joint", "workload"):
        assert expected_wrong(workloads, RunBudget(epsilon, mode)) < 1e-10
    found = verdicts_of(verdict_plans(workloads, RunBudget(epsilon, "auto")))
    assert {q.choice.taken.mechanism.id for q in found} == {"joint_batch"}


def test_either_way_is_taken_somewhere() -> None:
    ways = set()
    for name in ("disjoint", "few classes"):
        given = dict(CHOICES[name])
        parts = made(*given.pop("queries"), **given)
        ways |= {q.choice.taken.mechanism.id for q in verdicts_of(parts)}
    assert ways - {"inv_count"} == {"noisy_count", "identity_batch"}


def test_the_choice_is_the_same_every_time() -> None:
    def told() -> list[Any]:
        given = dict(CHOICES["few classes"])
        parts = made(*given.pop("queries"), **given)
        facts = [(q.identity, q.taken, q.candidates) for q in verdicts_of(parts)]
        return [notes(parts), facts]

    assert told() == told()


def test_one_query_is_asked_by_itself_unless_a_batch_is_named() -> None:
    for query, alone in ((NESTED[0], "noisy_count"), (SUMS[0], "inv_sum")):
        (verdict,) = verdicts_of(parts := made(query))
        assert verdict.choice.taken.mechanism.id == alone
        assert "true gaps" not in notes(parts)
        (verdict,) = verdicts_of(made(query, mode="workload"))
        assert verdict.choice.taken.mechanism.id == "workload_batch"


def test_means_are_asked_by_themselves_whatever_is_named() -> None:
    found = verdicts_of(made(*MEANS, *NESTED[:2], mode="identity"))
    assert [isinstance(q.rule, BatchRule) for q in found] == [False, False, True, True]


def test_persons_are_counted_query_by_query() -> None:
    """Alone, or in one batch that pays for all queries that a person may match."""
    alone = verdicts_of(made(*NESTED[:3], SUMS[0], mode=ALONE, people=PERSONS))
    assert [q.measurement.cost for q in alone] == [EPSILON / 4] * 4
    for mode in BY_QUERY:
        found = verdicts_of(parts := made(*NESTED[:3], SUMS[0], mode=mode, people=PERSONS))
        assert total(parts) == EPSILON
        assert {q.measurement.unit for q in found} == {PERSONS}
        assert {q.measurement.epsilon for q in found} == {EPSILON * 3 / 4, EPSILON / 4}
    auto = verdicts_of(made(*NESTED[:3], SUMS[0], people=PERSONS))
    assert [isinstance(q.rule, BatchRule) for q in auto] == [True, True, True, False]
    for mode in ("identity", "numerical", RANGES):
        with pytest.raises(
            ParameterError, match=r"counts rows by what they meet.* use auto, joint"
        ):
            made(*NESTED[:3], SUMS[0], mode=mode, people=PERSONS)


# What is refused ----------------------------------------------------------------------------------

LIKE = [count("job LIKE '%oo%'"), count("job LIKE '%oo%' AND age > 30")]


@pytest.mark.parametrize("mode", list(LINEAR))
def test_patterns_alone_are_refused_by_a_batch_that_is_named(mode: str) -> None:
    with pytest.raises(ParameterError, match=rf"COUNT: {mode} does not take .*LIKE '%oo%', only "):
        made(*LIKE, mode=mode)


@pytest.mark.parametrize("mode", [*BY_QUERY, "auto"])
def test_patterns_are_counted_query_by_query(mode: str) -> None:
    parts = made(*LIKE, mode=mode, tau=50)
    assert {q.choice.taken.mechanism.id for q in verdicts_of(parts)} <= {
        "workload_batch",
        "joint_batch",
        "noisy_count",
    }
    assert mode == "auto" or all(isinstance(q.rule, BatchRule) for q in verdicts_of(parts))
    assert total(parts) == EPSILON


@pytest.mark.parametrize("mode", ["identity", "auto"])
def test_a_pattern_among_others_is_set_aside(mode: str) -> None:
    parts = made(LIKE[0], *NESTED, LIKE[1], mode=mode, tau=40)
    first, *others, last = verdicts_of(parts)
    assert {q.choice.taken.mechanism.id for q in others} == {"identity_batch"}
    assert not {first.choice.taken.mechanism.id, last.choice.taken.mechanism.id} & {
        "identity_batch"
    }
    assert "COUNT (other conditions): 2 queries" in notes(parts)
    assert total(parts) == EPSILON


def test_too_many_classes_leave_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes_module, "MOST_COMBINATIONS", 4)
    with pytest.raises(ParameterError, match=r"COUNT: identity must know .* or use workload"):
        made(*NESTED, mode="identity")
    for mode in (*BY_QUERY, "auto"):
        parts = made(*[among(n, n + 1) for n in range(4)], *NESTED, mode=mode, tau=60)
        ways = {q.choice.taken.mechanism.id for q in verdicts_of(parts)}
        assert ways <= {"workload_batch", "joint_batch", "noisy_count"}
    assert "COUNT: counted query by query only, as the conditions of these 10" in notes(parts)


def test_a_pattern_in_one_family_leaves_the_others_together() -> None:
    sums = ["SELECT SUM(pay) FROM D WHERE k < 3", "SELECT SUM(pay) FROM D WHERE k < 5"]
    found = verdicts_of(made(*LIKE, *sums, mode="identity"))
    assert [isinstance(q.rule, BatchRule) for q in found] == [False, False, True, True]


@pytest.mark.parametrize(
    ("query", "mode", "message"),
    [
        (NESTED[0], RANGES, "COUNT: the mechanism ranges is"),
        (SUMS[1], RANGES, r"SUM\(pay\): the mechanism ranges is"),
        ("SELECT SUM(debt) FROM D WHERE debt > 3", RANGES, r"SUM\(debt\): the mechanism ranges"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(query: str, mode: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        made(query, mode=mode)


def test_range_sums_are_answered_by_ranges() -> None:
    queries = [f"SELECT SUM(pay) FROM D WHERE pay {rule}" for rule in ("> 3", "<= 6", "< 8")]
    found = verdicts_of(parts := made(*queries, mode=RANGES))
    assert {q.choice.taken.mechanism.id for q in found} == {"ranges_batch"}
    assert total(parts) == EPSILON


def test_auto_never_takes_a_batch_without_p_values() -> None:
    """However little it errs on the copy, it is for those who name it."""
    sums = [f"SELECT SUM(pay) FROM D WHERE pay {rule}" for rule in ("> 3", "<= 6", "< 8")]
    given: dict[str, Any] = {
        "tau": 300,
        "epsilon": Fraction(1),
        "columns": {"pay": {"bounds": (0, 800)}},
    }
    named = verdicts_of(made(*sums, mode="global_truncation", **given))
    taken = verdicts_of(made(*sums, **given))
    assert sum(min(q.taken.worst, 0.5) for q in named) < 0.3
    for verdict in taken:
        shown = {candidate.mechanism.id for candidate in verdict.choice.candidates}
        assert not shown & {f"{name}_batch" for name in TOGETHER if name not in NOISE_KNOWN}


def test_too_small_a_budget_for_a_mechanism_is_refused_and_passed_over_by_auto() -> None:
    least = Fraction(1, 10**11)
    with pytest.raises(ParameterError, match="COUNT: global_truncation compares numbers in"):
        made(*NESTED[:2], mode="global_truncation", epsilon=least)
    parts = made(*NESTED[:2], epsilon=least)
    assert "global_truncation" not in notes(parts)
    assert total(parts) == least
    with pytest.raises(ParameterError, match="must lie between 1e-12 and 1e12"):
        verdicts_of(made(*NESTED[:2], mode=ALONE, epsilon=Fraction(1, 10**18)))


def test_a_decider_of_others_is_refused_in_a_batch_too() -> None:
    for mode in (ALONE, "workload"):
        with pytest.raises(DeciderError, match="lm_sum decides SUM, not COUNT"):
            verdicts_of(made(*NESTED[:2], mode=mode, decider="lm_sum"))


def test_what_cannot_be_asked_takes_no_share() -> None:
    parts = made(NESTED[0], "SELECT MEDIAN(age) FROM D WHERE age > 500", MEANS[0], mode=ALONE)
    (part,) = parts
    assert [query.sql for query, _ in part.bound.refusals] == [
        "SELECT MEDIAN(age) FROM D WHERE age > 500"
    ]
    assert [q.measurement.cost for q in part.verdicts] == [EPSILON / 2] * 2


# Names --------------------------------------------------------------------------------------------


def test_the_names_of_the_ways_are_the_same_everywhere() -> None:
    found = json_schema()["properties"]["shared_budget"]["properties"]["sharing"]
    assert tuple(found["enum"]) == SHARINGS == ("auto", ALONE, *TOGETHER)
    assert ("workload", "joint", *LINEAR, RANGES) == TOGETHER
    for mode in SHARINGS:
        assert RunBudget(EPSILON, mode).sharing == mode
    for wrong in ("", "Auto", "batch", "inv_count"):
        with pytest.raises(ParameterError, match=r"sharing is .*; use one of auto, alone, "):
            RunBudget(EPSILON, wrong)


def test_without_a_sharing_nothing_changes() -> None:
    opened = open_table(COPIES[0], "synthetic"), open_table(SECRET, "private")
    terms = Parameters.parse(tau=20, epsilon=EPSILON, alpha=0.05, columns=COLUMNS)
    requests = [QueryRequest(query, terms) for query in as_queries(NESTED)]
    bound = bind(SyntheticTables([opened[0]], opened[1]), requests, terms.columns)
    (same,) = verdict_plans([bound], None)
    assert same.verdicts == select_deciders(bound).verdicts
    assert same.bound == bound
