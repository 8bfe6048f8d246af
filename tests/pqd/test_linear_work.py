"""Work of an audit grows with the number of queries, not with its square: counted, not timed."""

from functools import partial

import pandas as pd
import pytest

from pqd.accounting import disjoint_groups
from pqd.commands.audit import run_audit
from pqd.deciders import SimulatedNoise
from pqd.parameters import Parameters
from pqd.sql.regions import Region, separating
from pqd.sql.workload_files import as_queries
from tests.support.calls import calls_of

ROWS = 400
COPY = pd.DataFrame(
    {
        "age": [(7 * n) % 90 for n in range(ROWS)],
        "income": [(37 * n) % 1000 for n in range(ROWS)],
        "sex": [("f", "m")[n % 2] for n in range(ROWS)],
        "work": [f"w{n % 11}" for n in range(ROWS)],
    }
)
PRIVATE = COPY[:-1]
AGGREGATES = ("COUNT(*)", "SUM(income)", "MEDIAN(age)")
TERMS = Parameters.parse(tau=20, epsilon="0.5", alpha=0.05)


def workload(number: int) -> list[str]:
    """Queries that overlap, are disjoint, and repeat in parts, as those of a real workload."""
    return [
        f"SELECT {AGGREGATES[n % 3]} FROM D WHERE "
        + (f"work = 'w{n % 11}' AND age < {20 + n % 67}", f"sex = 'f' AND age >= {n % 61}")[n % 2]
        for n in range(number)
    ]


def audit(number: int) -> None:
    queries = as_queries(workload(number))
    report = run_audit(PRIVATE, COPY, queries, TERMS, SimulatedNoise(1))
    assert len(report.verdicts) == number
    assert report.to_json()
    assert str(report)


def test_the_work_of_each_query_does_not_grow_with_their_number() -> None:
    # What is read once for all runs is read before.
    audit(40)
    first, second, third = (calls_of(partial(audit, number)) for number in (100, 200, 400))
    # Twice as many more take twice as much more, here 2.2 times; by a square it would be 4 times.
    assert third - second < 3 * (second - first)


@pytest.mark.parametrize("number", [200, 400])
def test_few_pairs_of_queries_are_compared_one_by_one(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def noted(first: Region, second: Region) -> str | None:
        compared.append((first, second))
        return separating(first, second)

    monkeypatch.setattr(disjoint_groups, "separating", noted)
    audit(number)
    # A group whose proof is a line for each pair has 32 queries at most.
    assert 0 < len(compared) <= number * 31 / 2
