"""The experiments of Qiu et al. (KDD 2022), section 6 and appendix A, with our mechanisms.

    python -m benchmarks.numerical_query_errors DATA --figure 1     # 1 .. 6, tpch, rounds, speed
    python -m benchmarks.numerical_query_errors DATA --figure tpch --lineitem lineitem.parquet

Printed are, per epsilon and mechanism, the maximum, the 75 %, 50 % and 25 % points of the errors of
all queries (the paper's box plots as numbers; means over the seeds with standard errors), the share
of queries answered by 0, and CPU seconds.  "all zeros" answers every query by 0 and looks at
nothing.  Then every ordering that the paper reads off its figure is judged, as in
``standard_errors.py``, on the scale of logarithms.  Noise is seeded: simulation.

The paper's figures do not print their epsilons; these are ours.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.standard_errors import NO, UNDECIDED, YES, Estimate
from deciders import SimulatedNoise
from deciders.batch.budget import PrivacyBudget
from deciders.batch.linear.clipped_composition import ClippedComposition
from deciders.batch.linear.conditions import Intervals, Ranges
from deciders.batch.linear.dyadic import DyadicMechanism
from deciders.batch.linear.mechanism import LinearMechanism
from deciders.batch.linear.multiplicative_weights import MultiplicativeWeights
from deciders.batch.linear.normalization import GlobalTruncation, Normalization
from deciders.batch.linear.numerical import Numerical, NumericalInTwoSteps
from deciders.batch.linear.queries import NumericalQueries, doubling
from deciders.batch.linear.signed import SignedMechanism
from deciders.batch.linear.unit_queries import ThresholdQueries
from deciders.batch.linear.universe import DigitUniverse, LevelUniverse, Rows

EPSILONS = ("0.25", "1", "4")
ZEROS = "all zeros"
Floats = NDArray[np.float64]


class Box(NamedTuple):
    """Errors of all queries, as a box plot shows them."""

    largest: float
    upper: float
    median: float
    lower: float
    zeros: float
    seconds: float


# For an epsilon and a mechanism: the box of each seed.
Boxes = dict[tuple[str, str], list[Box]]
# Positive where the claim is met.
Claim = tuple[str, Callable[[Callable[[str], Box]], float]]


@dataclass(frozen=True)
class Problem:
    """One private table, one batch of queries and the mechanisms that answer it.

    ``truth`` is in the unit of the answers times ``unit``.
    """

    title: str
    rows: Rows
    truth: Floats
    mechanisms: dict[str, LinearMechanism]
    unit: float = 1.0

    def boxes(self, epsilon: str, seeds: int) -> Iterator[tuple[str, list[Box]]]:
        """Run every mechanism with every seed."""
        yield ZEROS, [box(np.abs(self.truth), 1.0, 0.0)] * seeds
        for name, mechanism in self.mechanisms.items():
            runs = []
            for seed in range(seeds):
                start = time.process_time()
                output = mechanism.release(self.rows, epsilon, SimulatedNoise(seed))
                seconds = time.process_time() - start
                answers = np.array(output.answers)
                errors = np.abs(answers * self.unit - self.truth)
                runs.append(box(errors, float((answers == 0).mean()), seconds))
            yield name, runs


def box(errors: Floats, zeros: float, seconds: float) -> Box:
    """Box of one run."""
    upper, median, lower = np.percentile(errors, [75, 50, 25]).tolist()
    return Box(float(errors.max()), upper, median, lower, zeros, seconds)


def truth_of(queries: NumericalQueries, rows: Rows) -> Floats:
    """``w(D)``, exactly but for the last conversion."""
    thresholds = doubling(1, int(queries.limits.max()))
    return queries.table_tails(rows, thresholds)[1][:, -1].astype(np.float64)


def general(
    queries: NumericalQueries, weights: MultiplicativeWeights, base: int = 1
) -> dict[str, LinearMechanism]:
    """Mechanisms that every figure compares."""
    return {
        "clipped_composition": ClippedComposition(queries=queries, base=base),
        "normalization": Normalization(queries=queries, weights=weights),
        "global_truncation": GlobalTruncation(queries=queries, weights=weights, base=base),
        "numerical": Numerical(queries=queries, weights=weights, base=base),
        "numerical_two": NumericalInTwoSteps(queries=queries, weights=weights, base=base),
    }


def adult_table(data: Path, column: str, upper: int) -> tuple[NumericalQueries, Rows]:
    """Age ranges up to 11 years times one or two education levels."""
    table = pd.read_parquet(data / "adult_private.parquet")
    conditions = Ranges((Intervals.up_to(100, 11), Intervals.up_to(16, 2)))
    classes = ((table["age"] - 1) * 16 + table["education-num"] - 1).to_numpy()
    return NumericalQueries(conditions, DigitUniverse(1600, upper)), Rows(
        classes, table[column].to_numpy()
    )


def adult(data: Path, column: str, upper: int, weights: MultiplicativeWeights) -> Problem:
    """Figures 1 and 2."""
    queries, rows = adult_table(data, column, upper)
    cells = queries.counts(rows).size
    title = f"Adult, {column}, {queries.size:,} queries, universe {cells:,}"
    return Problem(title, rows, truth_of(queries, rows), general(queries, weights))


def bank(data: Path, weights: MultiplicativeWeights) -> Problem:
    """Figure 3: age ranges times housing times loan, balances of either sign."""
    table = pd.read_parquet(data / "bank_private.parquet")
    flag = Intervals.up_to(2, 1)
    conditions = Ranges((Intervals.up_to(100, 11), flag, flag))
    housing, loan = (table["housing"] == "yes").astype(int), (table["loan"] == "yes").astype(int)
    classes = ((table["age"] - 1) * 4 + housing * 2 + loan).to_numpy()
    balance = table["balance"].to_numpy()
    up, down = (NumericalQueries(conditions, DigitUniverse(400, 2**bits)) for bits in (17, 13))
    sides = general(up, weights), general(down, weights)
    signed: dict[str, LinearMechanism] = {
        name: SignedMechanism(positive=sides[0][name], negative=sides[1][name]) for name in sides[0]
    }
    truth = truth_of(up, Rows(classes, balance)) - truth_of(down, Rows(classes, -balance))
    title = f"Bank, {up.size:,} queries, universes {400 * 18:,} and {400 * 14:,}"
    return Problem(title, Rows(classes, balance), truth, signed)


def transfusion(data: Path, longest: int, weights: MultiplicativeWeights) -> Problem:
    """Figures 4 and 5: all frequency ranges, time / frequency, the whole universe."""
    table = pd.read_parquet(data / "blood_private.parquet")
    unit = 2**-20
    frequency, months = np.arange(1, 51)[:, None], np.arange(1, longest + 1)
    universe = LevelUniverse(50, (months * 2**20) // frequency)
    queries = NumericalQueries(Ranges((Intervals.up_to(50, 50),)), universe)
    rows = Rows(table["Frequency"].to_numpy() - 1, table["Time"].to_numpy() - 1)
    return Problem(
        f"Transfusion, {queries.size:,} queries, universe {50 * longest:,} (time up to {longest})",
        rows,
        truth_of(queries, rows) * unit,
        general(queries, weights, base=2**14),
        unit,
    )


def bank_ranges(data: Path, weights: MultiplicativeWeights) -> Problem:
    """Figure 6: age ranges only, positive balances only."""
    table = pd.read_parquet(data / "bank_private.parquet")
    table = table[table["balance"] > 0]
    queries = NumericalQueries(Ranges((Intervals.up_to(100, 11),)), DigitUniverse(100, 2**17))
    rows = Rows(table["age"].to_numpy() - 1, table["balance"].to_numpy())
    mechanisms = general(queries, weights) | {"ranges": DyadicMechanism(queries=queries)}
    title = f"Bank, positive balances, {queries.size:,} age ranges"
    return Problem(title, rows, truth_of(queries, rows), mechanisms)


def tpch(lineitem: Path, weights: MultiplicativeWeights) -> Problem:
    """Figure 7: months times discounts times quantities, revenue in whole dollars."""
    names = ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"]
    parquet = lineitem.suffix == ".parquet"
    table = (
        pd.read_parquet(lineitem, columns=names)
        if parquet
        else pd.read_csv(lineitem, usecols=names)
    )
    dates = pd.to_datetime(table["l_shipdate"])
    month = (dates.dt.year - 1992) * 12 + dates.dt.month - 1
    discount = np.rint(table["l_discount"].astype(float) * 100).astype(int)
    quantity = table["l_quantity"].astype(float).astype(int) - 1
    price = table["l_extendedprice"].astype(float)
    centres, tens = np.arange(2, 10), np.arange(10)
    axes = (
        Intervals.up_to(84, 12),
        Intervals(11, centres - 1, centres + 1),
        Intervals(50, tens, tens),
    )
    queries = NumericalQueries(Ranges(axes), DigitUniverse(84 * 11 * 50, 10_500))
    classes = ((month * 11 + discount) * 50 + quantity).to_numpy()
    rows = Rows(classes, np.floor(price * discount / 100).astype(np.int64).to_numpy())
    title = (
        f"TPC-H Q6, {len(table):,} rows, {queries.size:,} queries, universe {84 * 11 * 50 * 14:,}"
    )
    return Problem(title, rows, truth_of(queries, rows), general(queries, weights))


def below(less: float, more: float) -> float:
    """By how much one error lies below another, in logarithms; 0 counts as next to 0."""
    return math.log(max(more, 1e-9) / max(less, 1e-9))


PMW = ("normalization", "global_truncation", "numerical")
COMMON: tuple[Claim, ...] = (
    (
        "clipped_composition has the largest maximum error",
        lambda of: below(max(of(name).largest for name in PMW), of("clipped_composition").largest),
    ),
    (
        "numerical has a smaller median error than normalization and global truncation",
        lambda of: below(of("numerical").median, min(of(name).median for name in PMW[:2])),
    ),
)
SMALLEST: Claim = (
    "numerical has the smallest median error of all",
    lambda of: below(
        of("numerical").median, min(of(name).median for name in ("clipped_composition", *PMW[:2]))
    ),
)
ADULT: tuple[Claim, ...] = (
    *COMMON,
    (
        "clipped_composition has the largest median error",
        lambda of: below(max(of(name).median for name in PMW), of("clipped_composition").median),
    ),
    (
        "normalization has the narrower box (75 % over 25 %)",
        lambda of: (
            below(of("normalization").upper, of("numerical").upper)
            - below(of("normalization").lower, of("numerical").lower)
        ),
    ),
)
SLIGHTLY: Claim = (
    "numerical has a slightly larger maximum error than normalization (up to twice)",
    lambda of: min(
        below(of("normalization").largest, of("numerical").largest),
        below(of("numerical").largest, 2 * of("normalization").largest),
    ),
)
SKEWED: tuple[Claim, ...] = (
    *COMMON,
    (
        "clipped_composition has a much smaller median error than normalization (by half)",
        lambda of: below(of("clipped_composition").median, of("normalization").median / 2),
    ),
)
FREQUENT: tuple[Claim, ...] = (
    *COMMON,
    (
        "normalization has a smaller median error than global truncation",
        lambda of: below(of("normalization").median, of("global_truncation").median),
    ),
    (
        "but not a smaller maximum error",
        lambda of: below(of("global_truncation").largest, of("normalization").largest),
    ),
    SMALLEST,
)
STRUCTURED: tuple[Claim, ...] = (
    (
        "ranges has a smaller maximum error than numerical",
        lambda of: below(of("ranges").largest, of("numerical").largest),
    ),
    (
        "ranges and numerical have similar median errors (within a factor of 3)",
        lambda of: math.log(3) - abs(below(of("ranges").median, of("numerical").median)),
    ),
    (
        "ranges is much faster than numerical (by half)",
        lambda of: below(of("ranges").seconds, of("numerical").seconds / 2),
    ),
)
BENCHMARK: tuple[Claim, ...] = (
    *COMMON,
    (
        "clipped_composition has a smaller median error than normalization and global truncation",
        lambda of: below(
            of("clipped_composition").median, min(of(name).median for name in PMW[:2])
        ),
    ),
    SMALLEST,
)
BEYOND_ZEROS: Claim = (
    "(ours) numerical has a smaller median error than all zeros",
    lambda of: below(of("numerical").median, of(ZEROS).median),
)


def told(verdicts: dict[str, str]) -> str:
    """Verdicts of all epsilons in few words."""
    found = {
        verdict: [epsilon for epsilon, one in verdicts.items() if one == verdict]
        for verdict in (YES, UNDECIDED, NO)
    }
    if YES in verdicts.values() and len(set(verdicts.values())) == 1:
        return YES
    return "; ".join(f"{verdict} at epsilon {', '.join(at)}" for verdict, at in found.items() if at)


def show(problem: Problem, claims: Sequence[Claim], epsilons: Sequence[str], seeds: int) -> Boxes:
    """Print the table and the orderings of one problem."""
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
    """Print Figure 5: the same at epsilon 1 for three domains of time."""
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
    """Print what numerical's thresholds hang on: the rounds, the budget, or both."""
    queries, rows = adult_table(data, "capital-loss", 4396)
    print(f"\nAdult, capital-loss, {queries.size:,} queries: numerical\n")
    print("| rounds | epsilon | alpha | part of the thresholds that is 0 |")
    print("| --- | --- | --- | --- |")
    for rounds in (10, 50):
        weights = MultiplicativeWeights(rounds=rounds, replays=replays)
        mechanism = Numerical(queries=queries, weights=weights)
        # At the last there is no noise to speak of.
        for epsilon in ("1", "1000", "1000000"):
            runs = [mechanism.fit(rows, epsilon, SimulatedNoise(seed)) for seed in range(seeds)]
            alphas = Estimate.of(float(run.alpha or 0) for run in runs)
            zeros = Estimate.of(float((run.thresholds == 0).mean()) for run in runs)
            print(f"| {rounds} | {epsilon} | {alphas} | {zeros} |", flush=True)


def speed(data: Path) -> None:
    """Print the CPU seconds of one round on Adult: both families, selection and replays."""
    queries, rows = adult_table(data, "capital-loss", 4396)
    family = ThresholdQueries(queries, doubling(1, queries.peak))
    counts = queries.counts(rows)
    seconds = {}
    for rounds in (1, 11):
        weights = MultiplicativeWeights(rounds=rounds)
        start = time.process_time()
        weights.fit(family, counts, int(counts.sum()), PrivacyBudget.of(1), SimulatedNoise(0))
        seconds[rounds] = time.process_time() - start
    print(f"\n{family.size:,} linear queries on {counts.size:,} cells")
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
    """Read the arguments and print."""
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
