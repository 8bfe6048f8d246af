"""Relations kept beside overall quality: of halves, of shuffled halves, and of generators' copies.

    python -m benchmarks.relations_kept run DATA --out relations.jsonl [--seeds 5]
    python -m benchmarks.relations_kept show relations.jsonl [--csv docs/experiments]

Each seed draws a private table and a copy, of at most 24,421 rows each: two halves of one table
without a common row, the second of them with its columns shuffled one by one, or as many rows of
the private table and of a generator's copy.  The figures are those of `pqd profile`: exact ones,
and what one run at epsilon 1 prints.  The noise is seeded, which protects nobody.  So use public
tables only.
"""

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.damaged_tables import LARGEST_HALF, SEED, TABLES, halves, shuffled, table_of
from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.commands.profile import run_profile
from pqd.deciders import SimulatedNoise
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.reports.models.profile import ProfileReport

HALF, SHUFFLED = "other half", "other half, columns shuffled"
COPIES = {"PrivBayes, epsilon 1": "adult_privbayes_eps1", "Gaussian copula": "adult_gcopula"}
# Epsilon of exact figures: with a small one, relations of a small table are not judged.
PRECISE = 100
FIGURES = ("overall", "columns", "pairs", "kept")
Tables = tuple[pd.DataFrame, pd.DataFrame]


class NoNoise(SimulatedNoise):
    """Noise that adds nothing, so that figures are exact."""

    def laplace(self, statistic: int, scale: Fraction) -> int:
        """Statistic itself."""
        del scale
        return statistic

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        """Statistics themselves."""
        del scale
        return tuple(statistics)


def pairs(name: str, data: Path, seed: int) -> Iterator[tuple[str, Tables]]:
    """Names of copies of a table, each with private rows and rows of the copy."""
    rng = np.random.default_rng([SEED, seed])
    table = table_of(name, data)
    rows = min(LARGEST_HALF, len(table) // 2)
    private, copy = halves(table, rows, rows, rng)
    yield HALF, (private, copy)
    yield SHUFFLED, (private, shuffled(copy, list(map(str, copy)), rng))
    for label, file in COPIES.items():
        if file.startswith(name):
            whole = pd.read_parquet(data / f"{file}.parquet")
            yield label, (private, whole.sample(rows, random_state=seed).reset_index(drop=True))


def figures_of(report: ProfileReport) -> dict[str, float | None]:
    """Scores and relations kept; None where there are no relations to keep."""
    scores = {each.ways: each.score for each in report.scores}
    kept = report.relations.estimate if report.relations else None
    return {
        "overall": report.overall.score,
        "columns": scores.get(1),
        "pairs": scores.get(2),
        "kept": None if kept is None else kept.value,
    }


def run(options: argparse.Namespace) -> None:
    """Append one line of JSON per copy and seed to a file."""
    stated = ProfileParameters.parse(total_epsilon=1, anyway=True)
    precise = ProfileParameters.parse(total_epsilon=PRECISE)
    for seed in range(options.seeds):
        for name in options.tables:
            for copy, tables in pairs(name, options.data, seed):
                exact = run_profile(*tables, precise, NoNoise(seed))
                noisy = run_profile(*tables, stated, SimulatedNoise(seed))
                line = {"table": name, "copy": copy, "seed": seed, "rows": len(tables[0])}
                line |= {"exact": figures_of(exact), "released": figures_of(noisy)}
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(line, flush=True)


def grouped(results: Path) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Lines of the results, by table and copy."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in map(json.loads, results.read_text(encoding="utf-8").splitlines()):
        groups.setdefault((line["table"], line["copy"]), []).append(line)
    return groups


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, in per cent."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return 100 * statistics.fmean(values), 100 * error


def show(options: argparse.Namespace) -> None:
    """Print a row for each table and copy.

    ``released`` are relations kept at epsilon 1, and ``figures`` the seeds that gave such a figure.
    """
    with ResultTable("relations", options.csv) as results:
        for (name, copy), lines in grouped(options.results).items():
            row: dict[str, object] = {}
            for figure in FIGURES:
                known = [line["exact"][figure] for line in lines]
                row[figure], row[f"{figure}_se"] = mean_and_error(known)
            known = [x for line in lines if (x := line["released"]["kept"]) is not None]
            row["released"], row["released_se"] = mean_and_error(known) if known else (None, None)
            counts = {"rows": lines[0]["rows"], "copy": copy, "seeds": len(lines)}
            results.add(table=name, **counts, **row, figures=len(known))


def main() -> None:
    """Run profiles, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(required=True)
    running = actions.add_parser("run")
    running.add_argument("data", type=Path)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    running.add_argument("--seeds", type=int, default=5)
    running.set_defaults(action=run)
    showing = actions.add_parser("show")
    showing.add_argument("results", type=Path)
    add_csv_option(showing)
    showing.set_defaults(action=show)
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
