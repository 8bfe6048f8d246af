"""What a plan promises of an epsilon, kept by 1,000 runs of each of four aggregates at exactly it.

The share of decided runs lies between 88 and 96 % on the stand-in that sets the epsilon, and is at
least 88 % on the copy itself.  The chance is 0.9 or little more; 1,000 runs have a standard error
of 0.95 %.
"""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.needed_epsilon import Named, named

COPY = pd.read_parquet(Path(__file__).parents[2] / "samples" / "census_synthetic.parquet")
COLUMNS = {"inctot": {"bounds": (0, 500_000)}}
RUNS = 1000
QUERIES = [
    ("SELECT COUNT(*) FROM D WHERE age > 60", "3%"),
    ("SELECT SUM(inctot) FROM D WHERE sex = 'Female'", "10%"),
    ("SELECT AVG(inctot) FROM D WHERE age > 40", "10%"),
    ("SELECT MEDIAN(age) FROM D WHERE sex = 'Female'", "5%"),
]


def shares(found: Named) -> tuple[float, float]:
    """Share of runs that decide rightly, on the stand-in that sets the epsilon and on the copy."""
    stand_in, around, yes = found.hardest
    hardest = found.decided(stand_in, around, RUNS, yes=yes, seed=1)
    on_copy = found.decided(found.copy, found.plan.interval, RUNS, yes=True, seed=2)
    return hardest / RUNS, on_copy / RUNS


@pytest.mark.parametrize(("query", "tau"), QUERIES)
def test_nine_runs_of_ten_decide_at_the_epsilon_that_a_plan_names(query: str, tau: str) -> None:
    hardest, on_copy = shares(named(COPY, query, tau, COLUMNS))
    assert 0.88 <= hardest <= 0.96
    assert on_copy >= 0.88


@pytest.mark.parametrize(("query", "tau"), QUERIES)
def test_an_epsilon_of_an_error_of_at_most_alpha_is_seen(
    query: str, tau: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the epsilon at which the decider errs with at most alpha too few runs decide."""
    from pqd.deciders.single import inverse_sensitivity  # noqa: PLC0415 - broken here only

    errs: Any = inverse_sensitivity.epsilon_at
    monkeypatch.setattr(inverse_sensitivity, "deciding_epsilon", errs)
    hardest, _ = shares(named(COPY, query, tau, COLUMNS))
    assert hardest < 0.75
