"""Experiments of Qiu et al. (KDD 2022), section 6 and appendix A, with the mechanisms of pqd.

    python -m benchmarks.numerical_query_errors DATA --figure 1     # 1 .. 6, tpch, rounds, speed
    python -m benchmarks.numerical_query_errors DATA --figure tpch --lineitem lineitem.parquet

For each epsilon and mechanism, the script prints the maximum and the 75 %, 50 % and 25 % points of
the errors of all queries.  These are the paper's box plots as numbers: means over the seeds, with
standard errors.  It also prints the share of queries answered by 0, and the CPU seconds.  The
mechanism "all zeros" answers every query by 0 and reads no data.  Then the script judges each claim
that the paper reads off its figure, as in ``standard_errors.py``, with logarithms of the errors.
The noise is seeded, so this is a simulation.

The paper's figures do not print their epsilons; the epsilons here are chosen for this script.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.numerical_query_claims import (
    ADULT,
    BENCHMARK,
    BEYOND_ZEROS,
    FREQUENT,
    PMW,
    SKEWED,
    SLIGHTLY,
    STRUCTURED,
    Claim,
    below,
)
from benchmarks.numerical_query_problems import (
    Boxes,
    Problem,
    adult,
    adult_table,
    bank,
    bank_ranges,
    tpch,
    transfusion,
)
from benchmarks.standard_errors import NO, UNDECIDED, YES, Estimate
from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.base import PrivacyBudget
from pqd.deciders.batch.linear.multiplicative_weights import MultiplicativeWeights
from pqd.deciders.batch.linear.numerical import Numerical
from pqd.deciders.batch.linear.queries import ThresholdQueries, doubling

EPSILONS = ("0.25", "1", "4")


def told(verdicts: dict[str, str]) -> str:
    """Verdicts on one claim at all epsilons, in a few words."""
    found = {
        verdict: [epsilon for epsilon, one in verdicts.items() if one == verdict]
        for verdict in (YES, UNDECIDED, NO)
    }
    if YES in verdicts.values() and len(set(verdicts.values())) == 1:
        return YES
    return "; ".join(f"{verdict} at epsilon {', '.join(at)}" for verdict, at in found.items() if at)


def show(problem: Problem, claims: Sequence[Claim], epsilons: Sequence[str], seeds: int) -> Boxes:
    """Print the table of errors and the judged claims of one problem."""
    print(f"\n### {problem.title}\n")
    print("| epsilon | mechanism | max | 75 % | median | 25 % | zeros | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    found: Boxes = {}
    for epsilon in epsilons:
        for name, runs in problem.boxes(epsilon, seeds):
            found[epsilon, name] = runs
            means = [Estimate.of(column) for column in zip(*runs, strict=True)]
            numbers = " | ".join(map(str, means[:4]))
            zeros, seconds = means[4].mean, means[5].mean
            print(f"| {epsilon} | {name} | {numbers} | {zeros:.0%} | {seconds:.2f} |", flush=True)
    print()
    for text, margin in (*claims, BEYOND_ZEROS):
        verdicts = {
            e: Estimate.of(
                margin(lambda name, e=e, seed=seed: found[e, name][seed])  # type: ignore[misc]
                for seed in range(seeds)
            ).positive
            for e in epsilons
        }
        print(f"- {text}: {told(verdicts)}")
    return found


def growth(data: Path, weights: MultiplicativeWeights, seeds: int) -> None:
    """Print Figure 5: the tables of Figure 4 at epsilon 1, for three domains of time."""
    found = [
        show(transfusion(data, longest, weights), FREQUENT, ("1",), seeds)
        for longest in (200, 400, 800)
    ]
    print("\n| median error, time up to | 200 | 400 | 800 | 800 / 200 |")
    print("| --- | --- | --- | --- | --- |")
    grown = {}
    for name in ("clipped_composition", *PMW):
        medians = [[one.median for one in boxes["1", name]] for boxes in found]
        grown[name] = [last / first for first, last in zip(medians[0], medians[2], strict=True)]
        shown = " | ".join(str(Estimate.of(values)) for values in (*medians, grown[name]))
        print(f"| {name} | {shown} |")
    own, *others = grown.pop("normalization"), *grown.values()
    margins = [below(max(rest), mine) for mine, *rest in zip(own, *others, strict=True)]
    verdict = Estimate.of(margins).positive
    print(f"\n- normalization is affected the most by the domain: {verdict}")


def by_rounds(data: Path, replays: int, seeds: int) -> None:
    """Print how the thresholds of numerical depend on the rounds and on the budget."""
    queries, rows = adult_table(data, "capital-loss", 4396)
    print(f"\nAdult, capital-loss, {queries.size:,} queries: numerical\n")
    print("| rounds | epsilon | alpha | part of the thresholds that is 0 |")
    print("| --- | --- | --- | --- |")
    for rounds in (10, 50):
        weights = MultiplicativeWeights(rounds=rounds, replays=replays)
        mechanism = Numerical(queries=queries, weights=weights)
        # At the largest epsilon there is almost no noise.
        for epsilon in ("1", "1000", "1000000"):
            runs = [mechanism.fit(rows, epsilon, SimulatedNoise(seed)) for seed in range(seeds)]
            alphas = Estimate.of(float(run.alpha or 0) for run in runs)
            zeros = Estimate.of(float((run.thresholds == 0).mean()) for run in runs)
            print(f"| {rounds} | {epsilon} | {alphas} | {zeros} |", flush=True)


def speed(data: Path) -> None:
    """Print the CPU seconds of the first round on Adult, and of each later round."""
    queries, rows = adult_table(data, "capital-loss", 4396)
    linear_queries = ThresholdQueries(queries, doubling(1, queries.peak))
    counts = queries.counts(rows)
    seconds = {}
    for rounds in (1, 11):
        weights = MultiplicativeWeights(rounds=rounds)
        start = time.process_time()
        tails, size = linear_queries.tails(counts), int(counts.sum())
        weights.fit(linear_queries, tails, size, PrivacyBudget.of(1), SimulatedNoise(0))
        seconds[rounds] = time.process_time() - start
    print(f"\n{linear_queries.size:,} linear queries on {counts.size:,} cells")
    print(
        f"\n- first round: {seconds[1]:.3f} s, each later one: "
        f"{(seconds[11] - seconds[1]) / 10:.3f} s"
    )


def run(figure: str, arguments: argparse.Namespace) -> None:
    """Print one figure."""
    data, seeds = arguments.data, arguments.seeds
    weights = MultiplicativeWeights(rounds=arguments.rounds, replays=arguments.replays)
    print(f"\n## {figure}" if figure in {"rounds", "speed"} else f"\n## Figure {figure}")
    if figure == "5":
        growth(data, weights, seeds)
        return
    if figure == "rounds":
        by_rounds(data, arguments.replays, seeds)
        return
    if figure == "speed":
        speed(data)
        return
    if figure == "tpch" and arguments.lineitem is None:
        print("\nno --lineitem given: left out")
        return
    problems: dict[str, Callable[[], tuple[Problem, tuple[Claim, ...]]]] = {
        "1": lambda: (adult(data, "capital-loss", 4396, weights), (*ADULT, SLIGHTLY)),
        "2": lambda: (adult(data, "capital-gain", 99_999, weights), ADULT),
        "3": lambda: (bank(data, weights), SKEWED),
        "4": lambda: (transfusion(data, 200, weights), FREQUENT),
        "6": lambda: (bank_ranges(data, weights), STRUCTURED),
        "tpch": lambda: (tpch(arguments.lineitem, weights), BENCHMARK),
    }
    problem, claims = problems[figure]()
    show(problem, claims, arguments.epsilons, seeds)


def main() -> None:
    """Read the arguments, and print the figures."""
    figures = ["1", "2", "3", "4", "5", "6", "tpch", "rounds", "speed"]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the private tables")
    parser.add_argument("--figure", choices=[*figures, "all"], default="all")
    parser.add_argument("--lineitem", type=Path, help="TPC-H lineitem, Parquet or CSV")
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--replays", type=int, default=10)
    arguments = parser.parse_args()
    for figure in figures if arguments.figure == "all" else [arguments.figure]:
        run(figure, arguments)


if __name__ == "__main__":
    main()
