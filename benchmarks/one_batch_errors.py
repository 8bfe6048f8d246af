"""Errors of one batch for several measures, against a batch for each measure at equal shares.

    python -m benchmarks.one_batch_errors --epsilon 1 --seeds 40

The tables are the census tables of ``samples/``; with persons, two rows in turn are a person.  Both
ways choose their mechanisms on the synthetic table and answer on the private table, at the same
total epsilon.  For each workload and measure a line has the mean absolute error of each way over
all seeds, with its standard error, and the ratio of the two.  The noise is seeded, so this is a
simulation.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.result_tables import ResultTable, add_csv_option
from benchmarks.standard_errors import Estimate
from pqd.batches.answers import PlannedBatch, ReleasePlan, select_batches
from pqd.batches.workload_laplace import exact_answers
from pqd.deciders import SimulatedNoise
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.sql.workload_files import as_queries

SAMPLES = Path(__file__).parents[1] / "samples"
COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "age": {"bounds": (0, 100)},
    "inctot": {"bounds": (0, 500_000)},
    "inctot * inctot": {"bounds": (0, 500_000**2)},
}
COUNT, AGE, INCOME, SQUARE = "COUNT(*)", "SUM(age)", "SUM(inctot)", "SUM(inctot * inctot)"


@dataclass(frozen=True)
class Workload:
    """Sums of some aggregates under some conditions, or over the groups of ``by``."""

    name: str
    aggregates: Sequence[str]
    conditions: Sequence[str] = ()
    by: str = ""
    persons: bool = False

    def sql(self) -> list[str]:
        """Queries of all aggregates."""
        ends = [f" WHERE {each}" for each in self.conditions] or [""]
        group = f" GROUP BY {self.by}" if self.by else ""
        return [f"SELECT {what} FROM D{end}{group}" for what in self.aggregates for end in ends]


AGES = [f"age >= {age}" for age in range(20, 85, 5)]
MIXED = [
    *("age < 30", "sex = 'Female'", "workly = 'Yes'", "race = 'Black'", "citizen <> 'Born in U.S'"),
    *("marst = 'Divorced'", "age BETWEEN 40 AND 60", "relate = 'Spouse'"),
]
WORKLOADS = (
    Workload("mean by marst", (COUNT, INCOME), by="marst"),
    Workload("mean by educ", (COUNT, INCOME), by="educ"),
    Workload("two means by sex, marst", (COUNT, AGE, INCOME), by="sex, marst"),
    Workload("mean and variance by sex", (COUNT, INCOME, SQUARE), by="sex"),
    Workload("mean over 13 nested ages", (COUNT, INCOME), AGES),
    Workload("two means under 8 conditions", (COUNT, AGE, INCOME), MIXED),
    Workload("sums alone, by marst", (AGE, INCOME), by="marst"),
    Workload("mean of all persons", (COUNT, INCOME), persons=True),
    Workload("two means of persons, 8 conditions", (COUNT, AGE, INCOME), MIXED, persons=True),
)


class Tables(NamedTuple):
    """Private and synthetic table, with a column of persons."""

    private: Table
    synthetic: Table

    @classmethod
    def read(cls) -> "Tables":
        """Census tables of the samples."""
        frames = [pd.read_parquet(SAMPLES / f"census_{kind}.parquet") for kind in cls._fields]
        held = [frame.assign(person=np.arange(len(frame)) // 2) for frame in frames]
        return cls(open_table(held[0], "private"), open_table(held[1], "synthetic"))


def planned(
    tables: Tables, workload: Workload, sql: Sequence[str], epsilon: Fraction
) -> ReleasePlan:
    """Plan of a release of ``sql``, as ``auto`` makes it."""
    used = {
        name: facts
        for name, facts in COLUMNS.items()
        if any(f"({name})" in each for each in sql) or (" " not in name and name in str(sql))
    }
    terms = Parameters.parse(tau=1, epsilon=epsilon, alpha="0.05", columns=used)
    requests = [QueryRequest(query, terms) for query in as_queries(list(sql))]
    both = SyntheticTables([tables.synthetic], tables.private)
    unit = PrivacyUnit("person") if workload.persons else None
    bound = bind(both, requests, terms.columns, unit)
    bound.check()
    return select_batches(bound, terms)


class Errors(NamedTuple):
    """Mean absolute error of each seed, and the mechanism, of one measure."""

    mechanism: str
    by_seed: tuple[float, ...]


def measured(plan: ReleasePlan, seeds: int) -> Iterator[tuple[str, Errors]]:
    """Errors of each measure of a plan, by the name of its queries."""
    bound = plan.bound
    for each in plan.batches:
        scan = ScanPlan(each.batch.statistics, bound.unit)
        count = bound.tables.engine.histograms if bound.unit else bound.tables.engine.contingency
        counts = count(bound.private, bound.schema, scan)
        truth, rows = exact_answers(scan, counts).astype(float), each.batch.plan.read(counts)
        drawn = [
            each.batch.plan.release(rows, each.batch.epsilon, SimulatedNoise(seed)).answers
            for seed in range(seeds)
        ]
        errors = np.abs(np.array(drawn) - truth)
        yield from _by_measure(each, errors)


def _by_measure(each: PlannedBatch, errors: Any) -> Iterator[tuple[str, Errors]]:  # noqa: ANN401
    for name, (measure, scale) in each.scales.items():
        by_seed = errors[:, each.places_of(measure)].mean(axis=1) * float(scale)
        yield name, Errors(each.batch.plan.id, tuple(by_seed.tolist()))


def rows(
    tables: Tables, workload: Workload, epsilon: Fraction, seeds: int
) -> Iterator[dict[str, object]]:
    """Rows of the table: one for each measure of a workload."""
    together = planned(tables, workload, workload.sql(), epsilon)
    one = dict(measured(together, seeds))
    number = len(together.bound.queries)
    for what in workload.aggregates:
        own = [sql for sql in workload.sql() if f"SELECT {what} " in sql]
        # Each aggregate has as many queries as any other.
        share = epsilon / len(workload.aggregates)
        ((name, alone),) = measured(planned(tables, workload, own, share), seeds)
        apart, batch = Estimate.of(alone.by_seed), Estimate.of(one[name].by_seed)
        yield {
            "workload": workload.name,
            "queries": number,
            "measure": name,
            "alone by": alone.mechanism,
            "alone": apart.mean,
            "alone_se": apart.error,
            "one batch by": one[name].mechanism,
            "one batch": batch.mean,
            "one batch_se": batch.error,
            "ratio": batch.mean / apart.mean,
        }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--seeds", type=int, default=40)
    add_csv_option(parser)
    options = parser.parse_args()
    tables = Tables.read()
    with ResultTable("one-batch", options.csv) as table:
        for workload in WORKLOADS:
            for row in rows(tables, workload, options.epsilon, options.seeds):
                table.add(**row)


if __name__ == "__main__":
    main()
