"""Comparison of `pqd profile` with SDMetrics' quality report and mostlyai-qa on the same tables.

    python benchmarks/other_reports.py PRIVATE NAME=FILE... --out other_reports.json
    python -m benchmarks.profile_quality PRIVATE NAME=FILE... --others other_reports.json

The first command needs an environment of its own; the first lines of its file name it.  The second
command prints the scores of all three tools, and Spearman's rank correlations of their scores of
columns and of pairs.  For pqd it uses the exact distances, and simulated releases too.  It also
prints the worst columns of each tool, and time and memory.  The noise is seeded, which protects
nobody.  So use public tables only.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.processes import measured
from benchmarks.profile_claims import SEED, Simulation, drawn, drawn_together
from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import bind_profile
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.profile_plan import plan_profile
from pqd.reports.models.profile import Score

RUNS = 200
WORST = 5
Columns = frozenset[str]
Values = Mapping[Columns, float]
# Names of a table and a copy; what each other tool found.
Names = Mapping[str, str]
Scores = Mapping[str, Any]


def simulation_of(private: Path, copy: Path, epsilon: str) -> Simulation:
    """Planned profile of one copy, with the true distances."""
    tables = SyntheticTables([open_table(copy, "synthetic")], open_table(private, "private"))
    parameters = ProfileParameters.parse(total_epsilon=epsilon)
    return Simulation(plan_profile(bind_profile(tables, parameters.request), parameters))


def distances(simulation: Simulation, kind: str, values: Sequence[float]) -> Values:
    """Distances of one kind, by the columns of their marginals."""
    terms = simulation.plan.terms
    return {
        frozenset(term.marginal.columns): value
        for term, value in zip(terms, values, strict=False)
        if term.distance == kind
    }


def released(simulation: Simulation, seed: int) -> tuple[int, ...]:
    """Numbers of one simulated release: the number of rows, then the distances."""
    rng, law = np.random.default_rng(seed), simulation.plan.law
    noise = drawn_together(law, simulation.rows.size, rng)
    return tuple(map(int, (simulation.n + drawn(law.rows, 1, rng)[0], *(simulation.rows + noise))))


def others(scores: Scores) -> dict[str, Values]:
    """Distances of each other tool, by the columns of a column or a pair.

    A distance is 1 minus the tool's score.
    """
    return {
        tool: {
            **{frozenset([name]): 1 - score for name, score in found["columns"].items()},
            **{frozenset(pair["columns"]): 1 - pair["score"] for pair in found["pairs"]},
        }
        for tool, found in scores.items()
    }


def correlation(first: Values, second: Values, columns: Iterable[Columns]) -> float:
    """Spearman's rank correlation of two tools over the marginals that both have."""
    both = [each for each in columns if each in first and each in second]
    return float(
        spearmanr([first[each] for each in both], [second[each] for each in both]).statistic
    )


def add_scores(
    results: ResultTable,
    names: Names,
    simulation: Simulation,
    scores: Scores,
) -> None:
    """Add each tool's scores of columns, of pairs and overall, and that of a fresh sample."""
    exact = distances(simulation, "tv", simulation.truth.tolist())
    mean = {
        ways: 1 - float(np.mean([d for of, d in exact.items() if len(of) == ways]))
        for ways in (1, 2)
    }
    sdmetrics, mostly = scores["sdmetrics"], scores["mostlyai-qa"]
    columns = float(np.nanmean(list(sdmetrics["columns"].values())))
    counted = [pair["score"] for pair in sdmetrics["pairs"] if pair["counts"]]
    figures = ProfileScores(simulation).overall
    rows = [
        ("pqd, exact", mean[1], mean[2], (mean[1] + mean[2]) / 2, figures.reference),
        ("SDMetrics, as it comes", columns, np.mean(counted), sdmetrics["overall"], None),
        ("SDMetrics, all pairs", columns, sdmetrics["pairs_mean"], None, None),
        ("mostlyai-qa", *mostly["ways"][:2], mostly["overall"], mostly["overall_max"]),
    ]
    for tool, *values in rows:
        figured = zip(("columns", "pairs", "overall", "fresh_sample"), values, strict=True)
        results.add(**names, tool=tool, **dict(figured))


class ProfileScores:
    """Scores of one simulated release, as a report shows them."""

    def __init__(self, simulation: Simulation) -> None:
        """Draw a release."""
        from pqd.marginals.figures import ProfileFigures  # noqa: PLC0415 - of this class alone

        plan = simulation.plan
        self._figures = ProfileFigures(plan, plan.estimates(released(simulation, SEED)))

    @property
    def overall(self) -> Score:
        """Overall quality."""
        return self._figures.overall


def add_order(
    results: ResultTable,
    names: Names,
    simulation: Simulation,
    scores: Scores,
) -> None:
    """Add rank correlations, and the worst columns of each tool."""
    exact = distances(simulation, "tv", simulation.truth.tolist())
    ks = distances(simulation, "ks", simulation.truth.tolist())
    noisy = [
        distances(simulation, "tv", released(simulation, SEED + run)[1:]) for run in range(RUNS)
    ]
    found = others(scores)
    columns = [each for each in exact if len(each) == 1]
    pairs = [each for each in exact if len(each) == 2]
    metric = {frozenset(pair["columns"]): pair["metric"] for pair in scores["sdmetrics"]["pairs"]}
    groups = {
        "columns": columns,
        "columns that are text": [each for each in columns if each not in ks],
        "pairs": pairs,
        "pairs of two texts": [
            each for each in pairs if not any(frozenset([name]) in ks for name in each)
        ],
        "pairs by ContingencySimilarity": [
            each for each in pairs if metric[each] == "ContingencySimilarity"
        ],
        "pairs by CorrelationSimilarity": [
            each for each in pairs if metric[each] == "CorrelationSimilarity"
        ],
    }
    for group, chosen in groups.items():
        if len(chosen) < 3:
            continue
        results.add(
            **names,
            marginals=group,
            sdmetrics=correlation(exact, found["sdmetrics"], chosen),
            mostly=correlation(exact, found["mostlyai-qa"], chosen),
            released=float(np.mean([correlation(exact, run, chosen) for run in noisy])),
        )
    numbers = list(ks)
    if numbers:
        mean = np.mean([abs(ks[each] - found["sdmetrics"][each]) for each in numbers])
        print(f"\nKolmogorov-Smirnov of {len(numbers)} numbers: mean difference {mean:.5f}")
    texts = [*groups["columns that are text"], *groups["pairs of two texts"]]
    if texts:
        mean = np.mean([abs(exact[each] - found["sdmetrics"][each]) for each in texts])
        print(
            f"Total variation of {len(texts)} texts and pairs of them: mean difference {mean:.5f}"
        )
    print("\n| worst columns | " + " | ".join(map(str, range(1, WORST + 1))) + " |")
    print("| --- " * (WORST + 1) + "|")
    for tool, values_of in {"pqd": exact, "pqd, released": noisy[0], **found}.items():
        worst = sorted(columns, key=lambda each: -values_of[each])[:WORST]
        print(f"| {tool} | " + " | ".join(", ".join(each) for each in worst) + " |")


def add_time(
    results: ResultTable,
    given: argparse.Namespace,
    names: Names,
    copy: Path,
    scores: Scores,
) -> None:
    """Add CPU seconds and memory: of pqd's whole process, and of other tools' scores alone."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = ["--ledger", f"{folder}/ledger.sqlite"]
        command = [sys.executable, "-m", "pqd", "profile", str(given.private), str(copy)]
        used = measured([*command, "--total-epsilon", given.epsilon, *ledger])
    rows = {"pqd profile, whole process": used._asdict()}
    rows |= {f"{tool}, scores alone": found for tool, found in scores.items()}
    for name, row in rows.items():
        results.add(
            **names, tool=name, cpu_seconds=row["cpu_seconds"], peak_mb=round(row["peak_mb"])
        )


def main() -> None:
    """Print the tables of all copies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("private", type=Path)
    parser.add_argument("copies", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--others", type=Path, required=True)
    parser.add_argument("--epsilon", default="1")
    add_csv_option(parser)
    options = parser.parse_args()
    found = json.loads(options.others.read_text(encoding="utf-8"))
    table = options.private.stem.removesuffix("_private")
    keys = ("table", "copy")
    names = ("profile-scores", "profile-order", "profile-time")
    with ExitStack() as stack:
        results = [stack.enter_context(ResultTable(name, options.csv, keys)) for name in names]
        for stated in options.copies:
            name, _, path = stated.partition("=")
            simulation = simulation_of(options.private, Path(path), options.epsilon)
            pair = {"table": table, "copy": name}
            add_scores(results[0], pair, simulation, found[name])
            add_order(results[1], pair, simulation, found[name])
            add_time(results[2], options, pair, Path(path), found[name])


if __name__ == "__main__":
    main()
