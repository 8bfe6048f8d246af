"""Weights of queries in a release: read, refused, shared exactly, part of the law and the key."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.batches.answers import ReleasePlan, select_batches
from pqd.batches.mechanisms import BatchTerms
from pqd.commands.release import run_release
from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.range_sums.select import best, ranking
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from pqd.deciders.histogram import Histogram
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import ParameterError, QueryError
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries, read_queries
from pqd.stated.queries import with_weights

COPY = pd.DataFrame(
    {
        "age": [20 + n % 60 for n in range(200)],
        "pay": [n % 8 for n in range(200)],
        "job": ["a", "b"] * 100,
    }
)
SECRET = COPY.iloc[:-3]
COLUMNS: dict[str, Any] = {"pay": {"bounds": (0, 8)}}
COUNTS = [f"SELECT COUNT(*) FROM D WHERE age < {age}" for age in (30, 50)]
SUMS = ["SELECT SUM(pay) FROM D WHERE age < 40"]


def planned(
    queries: list[str],
    weights: Mapping[str, Any] | None = None,
    mechanism: str = "workload",
    epsilon: str = "1/3",
) -> ReleasePlan:
    terms = Parameters.parse(
        tau=1, epsilon=epsilon, alpha=0.05, mechanism=mechanism, columns=COLUMNS
    )
    tables = SyntheticTables([open_table(COPY, "synthetic")])
    workload = with_weights(as_queries(queries), weights)
    requests = [QueryRequest(query, terms) for query in workload]
    return select_batches(bind(tables, requests, terms.columns), terms)


def shares(queries: list[str], weights: Mapping[str, Any] | None = None) -> list[Fraction]:
    return [each.batch.epsilon for each in planned(queries, weights, epsilon="1").batches]


def test_batches_share_by_weight_exactly() -> None:
    assert shares([*COUNTS, *SUMS]) == [Fraction(2, 3), Fraction(1, 3)]
    assert shares([*COUNTS, *SUMS], {"q3": 4}) == [Fraction(1, 3), Fraction(2, 3)]
    assert shares([*COUNTS, *SUMS], {"q1": "0.1", "q3": "1/7"}) == [
        Fraction(11, 10) / (Fraction(11, 10) + Fraction(1, 7)),
        Fraction(1, 7) / (Fraction(11, 10) + Fraction(1, 7)),
    ]
    # What is asked twice is answered once, and matters as much as the more important of both.
    assert shares([*COUNTS, *SUMS, COUNTS[0]], {"q1": 2}) == [Fraction(3, 4), Fraction(1, 4)]
    # Each group has the weight of its query.
    by_job = "SELECT COUNT(*) FROM D GROUP BY job"
    assert shares([by_job, *SUMS], {"q1": 3}) == [Fraction(6, 7), Fraction(1, 7)]


def test_a_key_has_the_weights_where_they_change_the_law() -> None:
    def key(mechanism: str, **weights: Any) -> str:
        (one,) = planned(COUNTS, weights, mechanism).batches
        return one.batch.cache_key

    assert key("numerical", q1=2) == key("numerical", q1=4, q2=2) != key("numerical")
    assert key("numerical", q1=2) != key("numerical", q2=2)
    assert key("numerical", q1=3, q2=3) == key("numerical")
    # Noise on each answer has one law, whatever matters: it was paid for.
    assert key("workload", q1=2) == key("workload")


def test_errors_are_weighed() -> None:
    (plain,), (one,) = (planned(COUNTS, w, "identity").batches for w in (None, {"q2": 9}))
    first, second = plain.choice.by_query
    assert first != second
    assert plain.choice.error == pytest.approx((first + second) / 2)
    assert one.choice.error == pytest.approx((first + 9 * second) / 10)
    assert BatchTerms(weights=(Fraction(2), Fraction(8))).importance == (
        Fraction(1, 4),
        Fraction(1),
    )


def test_ranges_are_chosen_for_what_matters() -> None:
    """Range sums whose best mechanism is another one if only the first of them matters."""
    buckets, ranges = Buckets(tuple(range(1, 65))), ((0, 1), *((0, n) for n in range(40, 65)))
    workload = RangeSums(buckets, ranges)
    public = Histogram.weighted(np.arange(1, 65), np.full(64, 5))
    importance = np.array([1.0] + [1e-6] * (len(ranges) - 1))
    alike, first = (best(workload, public, 1, importance=w) for w in (None, importance))
    top = ranking(workload, public, 1)[0].mechanism
    assert (alike.id, alike.truncation) == (top.id, top.truncation)
    assert (first.id, first.truncation) != (alike.id, alike.truncation)


FILE = """
-- id: old
-- weight: 2.5
SELECT COUNT(*) FROM D WHERE age > 60;
SELECT COUNT(*) FROM D;
"""


def test_a_file_states_them(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(FILE)
    old, every = read_queries(path)
    assert [old.exact_weight, every.exact_weight] == [Fraction(5, 2), Fraction(1)]
    listed = path.with_suffix(".csv")
    listed.write_text("id,sql,weight\nold,SELECT COUNT(*) FROM D,1/3\n")
    (query,) = read_queries(listed)
    assert query.exact_weight == Fraction(1, 3)
    # The caller's goes before the file's.
    assert with_weights((old, every), {"old": 7})[0].exact_weight == 7
    path.write_text(FILE.replace("2.5", "none"))
    with pytest.raises(QueryError, match="line 4, query old: the weight of a query is 'none'"):
        read_queries(path)
    path.write_text(FILE.replace("weight: 2.5", "weight 2.5"))
    with pytest.raises(QueryError, match="weight has no colon; write -- weight: 3"):
        read_queries(path)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"q9": 1}, "a weight is given for 'q9', but there is no such query"),
        ({"q1": 0}, "it must lie between 1e-6 and 1,000,000"),
        ({"q1": -1}, "it must lie between"),
        ({"q1": 10**7}, "it must lie between"),
        ({"q1": "heavy"}, "a finite number is needed"),
        ({"q1": True}, "a number is needed"),
    ],
)
def test_wrong_weights_are_refused(weights: Mapping[str, Any], words: str, tmp_path: Path) -> None:
    ledger = tmp_path / "l.sqlite"
    how: dict[str, Any] = {"total_epsilon": 1, "row_is_person": True, "ledger": ledger}
    with pytest.raises(ParameterError, match=words):
        pqd.release(SECRET, COPY, COUNTS, weights=weights, **how)
    assert not ledger.exists()
    with pytest.raises(ParameterError, match="it must lie between"):
        Query(COUNTS[0], weight=0)


def test_a_report_tells_them() -> None:
    terms = Parameters.parse(tau=1, epsilon=1, alpha=0.05, mechanism="workload", columns=COLUMNS)
    workload = with_weights(as_queries(COUNTS), {"q2": 3})
    report = run_release(SECRET, COPY, workload, terms, SimulatedNoise(1))
    assert [query.weight for query in report.queries] == [1, 3]
    page = report.to_html()
    assert "this one with weight 3" in page
    assert "How much the error of an answer matters" in page
