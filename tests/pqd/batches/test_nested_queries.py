"""Nested queries: found from their conditions alone, and made non-decreasing."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.batches import nested_queries
from pqd.batches.answers import select_batches
from pqd.batches.nested_queries import NestedQueries
from pqd.batches.row_classes import pack
from pqd.commands.release import run_release
from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.base import BatchOutput
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import ParameterError
from pqd.parameters import Parameters, privacy_unit
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundWorkload, QueryRequest
from pqd.reports.models.release import ReleaseReport
from pqd.sql.workload_files import as_queries

COPY = pd.DataFrame(
    {
        "a": [float(n % 7) for n in range(60)],
        "b": [float(n % 5) for n in range(60)],
        "t": ["ab", "ba", "c"] * 20,
        "who": [n // 2 for n in range(60)],
    }
)
SECRET = COPY.iloc[:-5]
COLUMNS: dict[str, Any] = {"a": {"bounds": (0, 8)}, "b": {"bounds": (-4, 4)}}


def bound_queries(queries: Sequence[str], unit: str | None = None) -> BoundWorkload:
    parameters = Parameters.parse(
        tau=1, epsilon=1, alpha=0.05, mechanism="workload", columns=COLUMNS
    )
    tables = SyntheticTables([open_table(COPY, "synthetic")])
    requests = [QueryRequest(query, parameters) for query in as_queries(list(queries))]
    return bind(tables, requests, parameters.columns, privacy_unit(unit) if unit else None)


def chains_of(queries: Sequence[str], unit: str | None = None) -> list[list[str]]:
    """Chains of all batches, by the SQL of their queries."""
    bound = bound_queries(queries, unit)
    terms = bound.queries[0].parameters
    batches = [each.batch for each in select_batches(bound, terms).batches]
    return [
        [batch.sql[place] for place in chain]
        for batch in batches
        for chain in NestedQueries.of(batch).chains
    ]


def count(where: str = "") -> str:
    return f"SELECT COUNT(*) FROM D{f' WHERE {where}' if where else ''}"


def total(column: str, where: str = "") -> str:
    return f"SELECT SUM({column}) FROM D{f' WHERE {where}' if where else ''}"


ATOMS = (
    *("a < 2", "a < 4", "a <= 4", "a >= 1", "NOT a < 4", "a IS NULL", "a IN (1, 3)", "b > 0"),
    *("b BETWEEN -1 AND 2", "a < b", "a <= b", "t = 'ab'", "t LIKE 'a%'", "NOT t LIKE 'a%'"),
)


def condition(rng: np.random.Generator, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.3:
        return str(rng.choice(ATOMS))
    parts = [condition(rng, depth - 1) for _ in range(2)]
    return f"({' AND '.join(parts)})" if rng.random() < 0.5 else f"({' OR '.join(parts)})"


ROWS = pd.DataFrame(
    [
        (a, b, t)
        for a in (None, -3.0, 0.0, 1.0, 2.0, 3.0, 3.5, 4.0, 9.0)
        for b in (None, -2.0, -1.0, 0.0, 2.0, 4.0, 1e9)
        for t in (None, "ab", "ax", "", "b")
    ],
    columns=["a", "b", "t"],
)


def violated() -> tuple[int, int]:
    """Chains of random conditions, and how many of them some row contradicts."""
    rng, found, wrong = np.random.default_rng(5), 0, 0
    for _ in range(7):
        wheres = list(dict.fromkeys(condition(rng) for _ in range(8)))
        bound = bound_queries([count(where) for where in wheres])
        for chain in nested_queries._chains([query.statistic for query in bound.queries]):
            found += 1
            selected = ", ".join(f"coalesce({wheres[place]}, FALSE)" for place in chain)
            rows = duckdb.query_df(ROWS, "rows", f"SELECT {selected} FROM rows").fetchnumpy()
            masks = list(rows.values())
            wrong += any((small & ~large).any() for small, large in pairwise(masks))
    return found, wrong


def test_a_later_query_selects_each_row_of_an_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that the copy lacks included; truths of no row, or of the copy alone, are caught."""
    found, wrong = violated()
    assert found > 8
    assert wrong == 0

    def nothing_is_true(conditions: Sequence[Any]) -> Any:
        return pack(np.zeros((1, len(conditions)), np.bool_))

    monkeypatch.setattr(nested_queries, "_every_truth", nothing_is_true)
    assert violated()[1] > 0


def test_chains_are_long_and_disjoint() -> None:
    ages = [count(f"a < {end}") for end in (1, 3, 5)]
    ordered = chains_of([ages[2], count(), ages[0], count("t = 'c'"), ages[1]])
    assert ordered == [[*ages, count()]]
    sums = [total("a", "a < 3"), total("a")]
    assert sorted(chains_of([*sums, *ages])) == sorted([sums, ages])
    assert chains_of([count("1 = 1 OR a < 2"), count("a < 2")]) == []


def test_only_answers_that_cannot_fall_are_ordered() -> None:
    negative = [total("b", "a < 2"), total("b")]
    assert chains_of(negative) == []
    assert chains_of([total("a", "b < 2"), total("a")], unit="who") == []
    assert len(chains_of([count("a < 2"), count()], unit="who")) == 1


@pytest.mark.parametrize("seed", range(4))
def test_the_adjusted_answers_are_the_nearest(seed: int) -> None:
    """The formula of Barlow et al. 1972 with weights: of means, the largest of the least."""
    rng = np.random.default_rng(seed)
    answers, deviations = rng.normal(0, 5, 9), rng.uniform(1, 4, 9)
    chain = tuple(rng.permutation(9)[:7].tolist())
    weights = 1 / deviations**2
    nested = NestedQueries((chain,))
    output = BatchOutput.of(answers, deviations=deviations)
    found, line = nested.adjusted(output), answers[list(chain)]
    for place in range(7):
        own = weights[list(chain)]
        means = [
            min(
                np.average(line[low : high + 1], weights=own[low : high + 1])
                for high in range(place, 7)
            )
            for low in range(place + 1)
        ]
        assert found[chain[place]] == pytest.approx(max(means))
    others = [place for place in range(9) if place not in chain]
    assert np.array_equal(found[others], answers[others])
    # Without deviations, or with one that is 0, all answers weigh the same.
    same = nested.adjusted(replace(output, deviations=None))
    assert np.array_equal(same, nested.adjusted(replace(output, deviations=(0.0,) * 9)))
    assert not np.allclose(same, found)


QUERIES = [*(count(f"a < {end}") for end in range(1, 7)), count("t = 'c'")]


def released(*, isotonic: bool, seed: int = 3, queries: Sequence[str] = QUERIES) -> ReleaseReport:
    terms = Parameters.parse(
        tau=1, epsilon="0.2", alpha=0.05, mechanism="workload", columns=COLUMNS
    )
    noise = SimulatedNoise(seed)
    return run_release(SECRET, COPY, as_queries(list(queries)), terms, noise, isotonic=isotonic)


def test_intervals_and_noise_stay_those_of_what_was_released() -> None:
    plain, ordered = released(isotonic=False), released(isotonic=True)
    for before, after in zip(plain.queries, ordered.queries, strict=True):
        assert (after.low, after.high, after.deviation) == (
            before.low,
            before.high,
            before.deviation,
        )
        changed = before.id != "q7"
        assert after.unadjusted == (before.answer if changed else None)
        assert before.unadjusted is None
    answers = [query.answer for query in ordered.queries]
    assert answers[:6] == sorted(answers[:6]) != [query.answer for query in plain.queries[:6]]
    assert answers[6] == plain.queries[6].answer
    assert min(answers) >= 0
    (note,) = [str(note) for note in ordered.notes if "isotonic" in str(note)]
    assert note.startswith("COUNT: the answers to 6 queries in 1 chain")
    truth = [int((SECRET.a < end).sum()) for end in range(1, 7)]
    errors = [
        sum(
            abs(query.answer - exact)
            for seed in range(8)
            for query, exact in zip(
                released(isotonic=ordering, seed=seed).queries, truth, strict=False
            )
        )
        for ordering in (False, True)
    ]
    assert errors[1] < errors[0]


def test_it_costs_nothing_and_replays(tmp_path: Path) -> None:
    how: dict[str, Any] = {"total_epsilon": 1, "columns": COLUMNS, "unit": "who"}
    how["ledger"] = tmp_path / "l.sqlite"
    first = pqd.release(SECRET, COPY, QUERIES, **how)
    second = pqd.release(SECRET, COPY, QUERIES, **how, isotonic=True)
    assert [first.cost.epsilon, second.cost.epsilon] == [1, 0]
    assert [q.unadjusted for q in second.queries[:6]] == [q.answer for q in first.queries[:6]]


@pytest.mark.parametrize(
    "queries",
    [[count("a < 2"), count("a > 3")], [total("b", "a < 2"), total("b")], [count()]],
)  # fmt: skip
def test_without_an_order_nothing_is_spent(queries: list[str], tmp_path: Path) -> None:
    ledger = tmp_path / "l.sqlite"
    how: dict[str, Any] = {"total_epsilon": 1, "columns": COLUMNS, "unit": "who"}
    with pytest.raises(ParameterError, match="no two queries are ordered"):
        pqd.release(SECRET, COPY, queries, **how, isotonic=True, ledger=ledger)
    assert not ledger.exists()
