"""Words of verdicts: how often each word is given, and how often it is false.

    python -m benchmarks.verdict_words bounds [--runs 200]
    python -m benchmarks.verdict_words clipped FOLDER [--runs 200]
    python -m benchmarks.verdict_words paper

``bounds``: sums whose stated bounds lie far above the values, the case that R2T and SVT were made
for, and a sum like the paper's q45.  The private table has the answer of the copy, a quarter more,
or a quarter less.  The script prints the words of every decider, and of ``auto`` and ``paper``.

``clipped``: copies that end where the private table goes on.  FOLDER holds the tables of Adult,
bank and CPS as ``NAME_private.parquet``.  Each copy is a bootstrap of its table whose numbers are
cut at their 98 % quantile.  The script prints how many verdicts on SUM and AVG were decided without
a condition, and how many of these were false: with bounds from the copy, with a stated lower bound,
and with both bounds stated.

``paper``: the deciders that ``auto`` and ``paper`` take for the paper's 60 queries on the sample
tables, with their errors on test tables made from the copy.

Noise is seeded and protects nobody, so use public tables only.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

import pqd
from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.batches.shared_budget import verdict_plans
from pqd.commands.verdicts import verdicts_of
from pqd.deciders import Histogram, Interval, Lattice, SimulatedNoise, applicable
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.table_separation import column_names, separate_tables
from pqd.progress import silent
from pqd.reports.models.audit import Verdict
from pqd.run.execution import measure
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries

ROOT = Path(__file__).resolve().parent.parent
ALPHA = Fraction(1, 20)
# Sums of whole numbers: name, rows, least and largest value, upper bound, tolerance, epsilon.
CASES = (
    ("bounds far above the values", 3_000, 10, 119, 100_000, "10%", "1"),
    ("like q45", 3_500, 20, 42, 377, "3.2%", "0.25"),
)
# Factors of the copy's values in the private table.
FACTORS = {"same answer": 1, "a quarter more": 1.25, "a quarter less": 0.75}
# Tables, their numbers, and categories that select rows.
CLIPPED = {
    "adult": (("capital-gain", "capital-loss", "hours-per-week"), "marital-status"),
    "bank": (("balance", "duration", "campaign"), "job"),
    "cps": (("income", "age"), "marital"),
}
CUT = 0.98


def verdicts(
    tables: tuple[pd.DataFrame, pd.DataFrame],
    queries: tuple[Query, ...],
    parameters: Parameters,
    runs: int,
) -> Iterator[tuple[Verdict, ...]]:
    """Verdicts of each run, whose seed is its number; all runs share one plan."""
    found = separate_tables(*tables, accountant=None, names=column_names(queries, None))
    requests = [QueryRequest.of(query, parameters) for query in queries]
    bound = bind(found, requests, parameters.columns, None)
    (plan,) = verdict_plans([bound], None)
    for seed in range(runs):
        noise = SimulatedNoise(seed)
        outputs = measure([plan.measurements], None, noise, silent, command="audit")
        yield tuple(verdicts_of(plan.verdicts, outputs, found.label, noise))


def word(verdict: Verdict) -> str:
    """Word of a verdict without the ends of its condition."""
    return verdict.standing.badge.text


def add_bounds(results: ResultTable, runs: int) -> None:
    """Add for each case and decider its error, and in how many runs it gives each word."""
    for name, rows, low, high, bound, tau, epsilon in CASES:
        rng = np.random.default_rng(45)
        copy = pd.DataFrame({"v": rng.integers(low, high, rows, endpoint=True)})
        # Equal tables are refused as one table.  So one value is exchanged for its neighbours.
        moved = copy.copy()
        moved.iloc[:2, 0] = copy.iloc[:2, 0].sum() // 2, -(-copy.iloc[:2, 0].sum() // 2)
        lattice = Lattice(0, bound)
        query = as_queries("SELECT SUM(v) FROM D")
        columns = {"v": {"bounds": (0, bound)}}
        deciders = [decider.id for decider in applicable("SUM", lattice)]
        for decider in ("auto", "paper", *deciders):
            for private_answer, factor in FACTORS.items():
                private = (moved * factor).round().astype("int64")
                parameters = Parameters.parse(
                    tau=tau, epsilon=epsilon, alpha=ALPHA, mechanism=decider, columns=columns
                )
                found = [v for (v,) in verdicts((private, copy), query, parameters, runs)]
                error = exact_error(found[0], private, copy, lattice)
                for said, times in Counter(word(v) for v in found).most_common():
                    results.add(
                        case=name, tau=tau, epsilon=epsilon, decider=decider,
                        private=private_answer, error=error, runs=runs, word=said, times=times,
                    )  # fmt: skip


def exact_error(
    verdict: Verdict, private: pd.DataFrame, copy: pd.DataFrame, lattice: Lattice
) -> float:
    """Exact probability that the decider of a verdict answers wrongly; its own for a condition."""
    if verdict.condition is not None:
        low, high = verdict.condition.lower, verdict.condition.upper
        # A bound that is stated is no condition.
        lattice = Lattice(
            lattice.lower if low is None else Fraction(low),
            lattice.upper if high is None else Fraction(high),
        )
    made = next(each for each in applicable("SUM", lattice) if each.id == verdict.decider)
    values = np.clip(private["v"].to_numpy(), int(lattice.lower), int(lattice.upper))
    histogram = Histogram.from_values(values)
    interval = Interval.around(int(copy["v"].sum()), verdict.tau)
    accept = float(made.accept(histogram, interval, Fraction(verdict.epsilon)))
    return 1 - accept if interval.contains(int(values.sum())) else accept


def clipped(table: pd.DataFrame, numbers: tuple[str, ...], seed: int) -> pd.DataFrame:
    """Bootstrap of a table whose numbers are cut at a quantile."""
    copy = table.sample(frac=1, replace=True, random_state=seed).reset_index(drop=True)
    for column in numbers:
        copy[column] = copy[column].clip(upper=int(table[column].quantile(CUT)))
    return copy


def workload(
    table: pd.DataFrame, numbers: tuple[str, ...], category: str
) -> dict[Query, Callable[[pd.DataFrame], float]]:
    """SUM and AVG of each number over the whole table and its three largest classes."""
    queries: dict[Query, Callable[[pd.DataFrame], float]] = {}
    for column in numbers:
        for value in (None, *table[category].value_counts().index[:3]):
            literal = f"'{value}'" if isinstance(value, str) else value
            where = "" if value is None else f' WHERE "{category}" = {literal}'
            for aggregate, of in (("SUM", pd.Series.sum), ("AVG", pd.Series.mean)):
                sql = f'SELECT {aggregate}("{column}") FROM D{where}'

                def answer(
                    frame: pd.DataFrame,
                    column: str = column,
                    value: object = value,
                    of: Callable[[Any], float] = of,
                ) -> float:
                    rows = frame if value is None else frame[frame[category] == value]
                    return float(of(rows[column]))

                queries[as_queries(sql)[0]] = answer
    return queries


def add_clipped(results: ResultTable, folder: Path, runs: int) -> None:
    """Add for each table, epsilon and kind of bounds the words, and how many were false.

    ``worst`` is the number of runs in which the worst query was false.
    """
    for name, (numbers, category) in CLIPPED.items():
        table = pd.read_parquet(folder / f"{name}_private.parquet")
        table = table[[*numbers, category]].dropna().head(60_000).reset_index(drop=True)
        table[list(numbers)] = table[list(numbers)].astype("int64")
        copy = clipped(table, numbers, seed=1)
        asked = workload(table, numbers, category)
        queries = tuple(Query(query.sql, id=f"q{place}") for place, query in enumerate(asked, 1))
        truth = {
            query.id: (answer(table), answer(copy))
            for query, answer in zip(queries, asked.values(), strict=True)
        }
        public: dict[str, Mapping[str, Any]] = {
            "of the copy": {},
            "lower one stated": {c: {"bounds": (int(table[c].min()), None)} for c in numbers},
            "both stated": {
                c: {"bounds": (int(table[c].min()), int(table[c].max()))} for c in numbers
            },
        }
        for epsilon in ("0.25", "1"):
            for whose, columns in public.items():
                parameters = Parameters.parse(
                    tau="3.2%", epsilon=epsilon, alpha=ALPHA, columns=columns
                )
                counts: Counter[str] = Counter()
                wrong: defaultdict[str, int] = defaultdict(int)
                for found in verdicts((table, copy), queries, parameters, runs):
                    for verdict in found:
                        private, public_answer = truth[verdict.id]
                        near = abs(private - public_answer) < float(verdict.tau)
                        if verdict.outcome == "undecided" or verdict.standing.is_open:
                            unsure = verdict.outcome == "undecided"
                            counts["open" if unsure else "condition"] += 1
                            continue
                        counts["decided"] += 1
                        wrong[verdict.id] += (verdict.outcome == "yes") is not near
                results.add(
                    table=name, epsilon=epsilon, bounds=whose, runs=runs,
                    verdicts=sum(counts.values()), decided=counts["decided"],
                    false=sum(wrong.values()), worst=max([0, *wrong.values()]),
                    conditional=counts["condition"], open=counts["open"],
                )  # fmt: skip


def add_paper(results: ResultTable) -> None:
    """Add which deciders are taken for the paper's 60 queries, and their mean errors."""
    for aggregate in ("COUNT", "SUM", "MEDIAN"):
        for tau in ("3.2%", "12.8%"):
            for epsilon in ("0.25", "1"):
                for decider in ("auto", "paper"):
                    taken: Counter[str] = Counter()
                    errors = []
                    for table, columns in (("census", {"inctot": (0, 500_000)}), ("taxi", {})):
                        every = pqd.read_queries(ROOT / "samples" / f"{table}.sql")
                        queries = [query for query in every if query.aggregate == aggregate]
                        plan = pqd.plan(
                            ROOT / "samples" / f"{table}_synthetic.parquet",
                            queries,
                            tau=tau,
                            epsilon=epsilon,
                            decider=decider,
                            columns={name: {"bounds": ends} for name, ends in columns.items()},
                        )
                        for query in plan.queries:
                            taken[query.decider] += 1
                            errors.append(query.chosen.worst)
                    results.add(
                        aggregate=aggregate, queries=len(errors), tau=tau, epsilon=epsilon,
                        asked=decider, error=fmean(errors),
                        taken=", ".join(f"{name} {n}" for name, n in taken.most_common()),
                    )  # fmt: skip


def main() -> None:
    """Make one of the three tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("bounds", "clipped", "paper"))
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=200)
    add_csv_option(parser)
    options = parser.parse_args()
    if options.part == "clipped" and options.folder is None:
        parser.error("clipped needs the folder of the tables")
    with ResultTable(f"words-{options.part}", options.csv) as results:
        if options.part == "bounds":
            add_bounds(results, options.runs)
        elif options.part == "paper":
            add_paper(results)
        else:
            add_clipped(results, options.folder, options.runs)


if __name__ == "__main__":
    main()
