"""Share of audits with ``--sure`` whose verdicts are right, at the epsilon that each query needs.

    python -m benchmarks.sure_verdicts FOLDER [--runs 200]

FOLDER holds ``adult_private.parquet`` and two copies of Adult.  A third copy is one half of the
table, as the copy of the other half.

For each copy and each tolerance the script plans 43 queries with ``--sure 95%``: COUNT, DISTINCT,
SUM, AVG, MEDIAN, QUANTILE and a GROUP BY, over all rows and where a category has one value.  It
then runs the whole audit with seeded noise, whose epsilons are those of the plan: first on the copy
itself, whose gap is 0, then on the private table.  A verdict is right if its answer is that of the
private table, by exact counts.  It is wrong if it is the other answer with p <= alpha, and else
undecided.  Gaps between a half and twice the tolerance are told apart, since nothing is promised
there.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.deciders import SimulatedNoise, answer
from pqd.deciders.exact import exceeds
from pqd.deciders.histogram import HALF
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.tables import open_table
from pqd.parameters import Criteria
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundWorkload, QueryRequest
from pqd.planning.query_verdict import PlannedQueryVerdict
from pqd.planning.sure_verdict import sure_verdicts
from pqd.planning.table_separation import column_names, opened_tables
from pqd.sql.workload_files import as_queries

ALPHA = Fraction(1, 20)
COLUMNS = {
    "age": {"bounds": (17, 90)},
    "hours-per-week": {"bounds": (0, 100)},
    "education-num": {"bounds": (1, 16)},
}
CONDITIONS = (
    "",
    " WHERE sex = 'Female'",
    " WHERE education = 'Masters'",
    " WHERE race = 'Black'",
    " WHERE occupation = 'Sales'",
    " WHERE age > 60",
)
AGGREGATES = (
    "COUNT(*)",
    "COUNT(DISTINCT age)",
    'SUM("hours-per-week")',
    "AVG(age)",
    'AVG("hours-per-week")',
    "MEDIAN(age)",
    "QUANTILE(age, 0.9)",
)
QUERIES = (
    *(f"SELECT {each} FROM D{where}" for where in CONDITIONS for each in AGGREGATES),
    "SELECT workclass, COUNT(*) FROM D GROUP BY workclass",
)
GAPS = "0", "below tau/2", "between", "above 2 tau"


def answers(private: pd.DataFrame, bound: BoundWorkload) -> list[Any]:
    """Histogram of the private table for each query, and nothing released of it."""
    plan = ScanPlan(tuple(query.statistic for query in bound.queries), None)
    table = open_table(private, "private")
    return list(bound.tables.engine.histograms(table, bound.schema, plan))


def gap_of(verdict: PlannedQueryVerdict, counts: Any, aggregate: str) -> Fraction | None:  # noqa: ANN401
    """True gap in multiples of tau; None without an answer."""
    found = answer(aggregate, counts, verdict.query.p or HALF)
    centre = (verdict.interval.lower + verdict.interval.upper) / 2
    return None if found is None else abs(found - centre) / verdict.interval.tau


def group_of(gap: Fraction) -> str:
    """Group of a gap."""
    if not gap:
        return GAPS[0]
    if gap <= HALF:
        return GAPS[1]
    return GAPS[3] if gap >= 2 else GAPS[2]


def counted(
    private: pd.DataFrame, copy: pd.DataFrame, tau: str, runs: int, seed: int
) -> Iterator[tuple[str, str, str, int]]:
    """Yield the aggregate, the gap, the outcome and the number of runs, for each query."""
    criteria = Criteria.of(tau=tau, alpha=ALPHA, columns=COLUMNS)
    queries = as_queries(list(QUERIES))
    tables = opened_tables([copy])
    tables.read(column_names(queries), {})
    requests = [QueryRequest.of(query, criteria) for query in queries]
    plan = sure_verdicts(bind(tables, requests, criteria.columns))
    noise = SimulatedNoise(seed)
    for verdict, counts in zip(plan.verdicts, answers(private, plan.bound), strict=True):
        gap = gap_of(verdict, counts, verdict.query.aggregate)
        if gap is None or verdict.is_constant:
            continue
        truth, found = gap < 1, Counter[str]()
        for _ in range(runs):
            decision = verdict.rule.decision(verdict.measurement.run(counts, noise))
            known = decision.p_value is not None and not exceeds(decision.p_value, ALPHA)
            right = "right" if decision.outcome is truth else "wrong"
            found[right if known else "undecided"] += 1
        for outcome, number in found.items():
            yield verdict.query.aggregate, group_of(gap), outcome, number


def pairs(folder: Path) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Name of a copy, the private table and the copy; first each copy as its own private table."""
    private = pd.read_parquet(folder / "adult_private.parquet")
    half = private.sample(frac=0.5, random_state=1)
    copies = {
        "privbayes": pd.read_parquet(folder / "adult_privbayes_eps1.parquet"),
        "gcopula": pd.read_parquet(folder / "adult_gcopula.parquet"),
        "half": half,
    }
    for name, copy in copies.items():
        yield "the copy itself", copy, copy
        yield name, private.drop(half.index) if name == "half" else private, copy


def main() -> None:
    """Print the shares of right, wrong and undecided verdicts, by table and by true gap."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=200, help="of each query at its epsilon")
    add_csv_option(parser)
    options = parser.parse_args()
    rows = [
        (name, *row)
        for place, (name, private, copy) in enumerate(pairs(options.folder))
        for number, tau in enumerate(("2%", "5%", "10%"))
        for row in counted(private, copy, tau, options.runs, 3 * place + number)
    ]
    frame = pd.DataFrame(rows, columns=["table", "aggregate", "gap", "outcome", "runs"])
    with ResultTable("sure-verdicts", options.csv) as results:
        for (table, gap), part in frame.groupby(["table", "gap"]):
            results.add(table=table, gap=gap, aggregate="all", **shares(part, options.runs))
        near = frame[frame["gap"] == GAPS[0]]
        for aggregate, part in near.groupby("aggregate"):
            results.add(table="all", gap="0", aggregate=aggregate, **shares(part, options.runs))


def shares(part: pd.DataFrame, runs: int) -> dict[str, object]:
    """Shares of the outcomes in per cent; the standard error is over the runs."""
    total = int(part["runs"].sum())
    number = {each: int(part.loc[part["outcome"] == each, "runs"].sum()) for each in OUTCOMES}
    right = number["right"] / total
    return {
        "queries": total // runs,
        **{each: 100 * count / total for each, count in number.items()},
        "error": 100 * sqrt(right * (1 - right) / total),
    }


OUTCOMES = "right", "wrong", "undecided"

if __name__ == "__main__":
    main()
