"""How many queries one row can meet: never below brute force over a domain, and not far above."""

from dataclasses import replace
from itertools import product

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.batches import workload_laplace as depth
from pqd.batches.workload_laplace import workload_sensitivity
from pqd.sql.predicate import Predicate
from pqd.sql.query import Query
from pqd.sql.regions import Region, region
from pqd.sql.schema import Kind
from tests.support.drawing import predicates_of

SCHEMA = {"a": Kind.NUMBER, "b": Kind.NUMBER, "name": Kind.TEXT, "flag": Kind.BOOLEAN}
DOMAIN: dict[str, list[str]] = {
    "a": ["NULL", "-1", "0", "0.5", "1", "2", "3", "'nan'::DOUBLE"],
    "b": ["NULL", "0", "1", "2", "9"],
    "name": ["NULL", "''", "'x'", "'X'", "'xy'"],
    "flag": ["NULL", "TRUE", "FALSE"],
}
ATOMS = [
    *("a = 1", "a <> 1", "a < 1", "a <= 1", "a > 0", "a IN (0, 1, 2)", "a NOT IN (0, 2)"),
    *("a BETWEEN 0 AND 1", "a BETWEEN 1 AND 3", "a IS NULL", "a IS NOT NULL", "a + 1 > 1"),
    *("b = 0", "b >= 1", "b IN (1, 2)", "b < a", "b BETWEEN 0 AND 2", "b IS NULL"),
    *("name = 'x'", "name = 'X'", "name ILIKE 'x'", "name LIKE 'x%'", "LOWER(name) = 'x'"),
    *("name <> 'x'", "name IN ('x', 'xy')", "name IS NULL", "flag", "NOT flag", "flag IS NULL"),
    *("1 = 1", "a = NULL"),
]
predicates = predicates_of(ATOMS, leaves=4)


@pytest.fixture(scope="module")
def domain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    rows = ", ".join(f"({', '.join(row)})" for row in product(*DOMAIN.values()))
    connection.execute(f"CREATE TABLE D AS SELECT * FROM (VALUES {rows}) AS t({', '.join(DOMAIN)})")
    return connection


def bound(conditions: list[str]) -> int:
    queries = [Query(f"SELECT COUNT(*) FROM D WHERE {condition}") for condition in conditions]
    return workload_sensitivity([query.resolve(SCHEMA).predicate for query in queries])


def truth(domain: duckdb.DuckDBPyConnection, conditions: list[str]) -> int:
    met = " + ".join(f"coalesce(({condition})::INT, 0)" for condition in conditions)
    (most,) = domain.execute(f"SELECT max({met}) FROM D").fetchall()[0]
    return int(most)


@settings(max_examples=100, deadline=None)
@given(conditions=st.lists(predicates, min_size=1, max_size=8))
def test_no_row_meets_more(domain: duckdb.DuckDBPyConnection, conditions: list[str]) -> None:
    assert max(1, truth(domain, conditions)) <= bound(conditions) <= len(conditions)


plain = st.lists(
    st.sampled_from(
        [atom for atom in ATOMS if not {"+", "LIKE", "LOWER"} & {*atom.split("(")[0].split()}]
    ),
    min_size=1,
    max_size=3,
    unique=True,
).map(" AND ".join)


@settings(max_examples=50, deadline=None)
@given(
    conditions=st.lists(
        plain.filter(lambda c: "b < a" not in c and "ILIKE" not in c and "NULL" not in c),
        min_size=1,
        max_size=8,
    )
)
def test_conjunctions_of_comparisons_are_exact(
    domain: duckdb.DuckDBPyConnection, conditions: list[str]
) -> None:
    assert bound(conditions) == max(1, truth(domain, conditions))


def test_a_search_that_is_cut_short_is_a_bound(
    domain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    boxes = [
        f"a BETWEEN {x} AND {x + 1} AND b BETWEEN {y} AND {y + 1} AND name {sign} 'x'"
        for (x, y), sign in zip(rng.integers(-1, 3, (25, 2)), ["=", "<>"] * 13, strict=False)
    ]
    exact = bound(boxes)
    assert exact == truth(domain, boxes)
    for looks in (0, 30, 100, 300):
        monkeypatch.setattr(depth, "_MOST_STEPS", looks)
        assert exact <= bound(boxes) <= 25


def test_disjoint_queries_and_nothing_at_all() -> None:
    assert bound([f"a = {n}" for n in range(300)]) == 1
    assert bound([f"a > {n}" for n in range(300)]) == 300
    assert bound(["a = 1 AND a = 2"]) == 1
    assert bound(["a = NULL"]) == 1
    assert bound([f"a = {n % 10} AND b = {n // 10}" for n in range(100)]) == 1
    assert bound([*(f"a = {n}" for n in range(9)), *(f"b = {n}" for n in range(9))]) == 2
    assert workload_sensitivity([None, None]) == 2


def test_a_twin_that_forgets_null_is_caught(
    domain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = ["a IS NULL", "a IS NULL AND b = 0"]
    assert truth(domain, queries) == bound(queries) == 2

    def present(predicate: Predicate | None) -> Region:
        return {name: replace(held, null=False) for name, held in region(predicate).items()}

    monkeypatch.setattr(depth, "region", present)
    assert truth(domain, queries) > bound(queries)
