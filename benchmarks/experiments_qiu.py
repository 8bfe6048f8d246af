"""The experiments of Qiu et al. (KDD 2022), section 6 and appendix A, with our mechanisms.

    python benchmarks/experiments_qiu.py ../shared/data --figure 1   # 1 .. 6, tpch, speed or all
    python benchmarks/experiments_qiu.py ../shared/data --figure tpch --lineitem lineitem.parquet

Printed are, per epsilon and mechanism, the maximum, the 75 %, 50 % and 25 % points of the errors of
all queries (the paper's box plots as numbers; each the median over the repetitions), the share of
queries answered by 0, and seconds.  "all zeros" answers every query by 0 and looks at nothing.
Then every ordering that the paper reads off its figure is checked.  Noise is seeded: simulation.

The paper's figures do not print their epsilons; these are ours.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deciders import SimulatedNoise
from deciders.batch.advanced_composition import Budget
from deciders.batch.conditions import Intervals, Ranges
from deciders.batch.huang import Composition
from deciders.batch.linear_queries import Thresholded
from deciders.batch.multiplicative_weights import MultiplicativeWeights
from deciders.batch.normalization import GlobalTruncation, Normalization
from deciders.batch.numerical import Numerical, NumericalInTwoSteps
from deciders.batch.numerical_queries import Decomposable, doubling
from deciders.batch.ranges import RangeMechanism
from deciders.batch.released import Mechanism
from deciders.batch.signed import Signed
from deciders.batch.universe import Bits, Rows, Whole

EPSILONS = ("0.25", "0.5", "1", "2", "4")
ZEROS = "all zeros"
Floats = NDArray[np.float64]


class Box(NamedTuple):
    """The errors of all queries, as a box plot shows them."""

    largest: float
    upper: float
    median: float
    lower: float
    zeros: float
    seconds: float


Boxes = dict[tuple[str, str], Box]
Claim = tuple[str, Callable[[Callable[[str], Box]], bool]]


@dataclass(frozen=True)
class Problem:
    """One private table, one batch of queries and the mechanisms that answer it.

    ``truth`` is in the unit of the answers times ``unit``.
    """

    title: str
    rows: Rows
    truth: Floats
    mechanisms: dict[str, Mechanism]
    unit: float = 1.0

    def boxes(self, epsilon: str, repeats: int) -> Iterator[tuple[str, Box]]:
        """Run every mechanism."""
        yield ZEROS, box(np.abs(self.truth), 1.0, 0.0)
        for name, mechanism in self.mechanisms.items():
            runs = []
            for seed in range(repeats):
                start = time.perf_counter()
                answers = mechanism.release(self.rows, epsilon, SimulatedNoise(seed)).answers
                seconds = time.perf_counter() - start
                errors = np.abs(answers * self.unit - self.truth)
                runs.append(box(errors, float((answers == 0).mean()), seconds))
            yield name, Box(*np.median(np.array(runs), axis=0).tolist())


def box(errors: Floats, zeros: float, seconds: float) -> Box:
    """Return the box of one run."""
    upper, median, lower = np.percentile(errors, [75, 50, 25]).tolist()
    return Box(float(errors.max()), upper, median, lower, zeros, seconds)


def truth_of(queries: Decomposable, rows: Rows) -> Floats:
    """Return ``w(D)``, exactly but for the last conversion."""
    thresholds = doubling(1, int(queries.limits.max()))
    return queries.table_tails(rows, thresholds)[1][:, -1].astype(np.float64)


def general(
    queries: Decomposable, weights: MultiplicativeWeights, base: int = 1
) -> dict[str, Mechanism]:
    """Return the mechanisms that every figure compares."""
    return {
        "composition": Composition(queries=queries, base=base),
        "normalization": Normalization(queries=queries, weights=weights),
        "global_truncation": GlobalTruncation(queries=queries, weights=weights, base=base),
        "numerical": Numerical(queries=queries, weights=weights, base=base),
        "numerical_two": NumericalInTwoSteps(queries=queries, weights=weights, base=base),
    }


def adult_table(data: Path, column: str, upper: int) -> tuple[Decomposable, Rows]:
    """Return age ranges up to 11 years times one or two education levels."""
    table = pd.read_parquet(data / "adult_private.parquet")
    conditions = Ranges((Intervals.up_to(100, 11), Intervals.up_to(16, 2)))
    classes = ((table["age"] - 1) * 16 + table["education-num"] - 1).to_numpy()
    return Decomposable(conditions, Bits(1600, upper)), Rows(classes, table[column].to_numpy())


def adult(data: Path, column: str, upper: int, weights: MultiplicativeWeights) -> Problem:
    """Return Figures 1 and 2."""
    queries, rows = adult_table(data, column, upper)
    cells = queries.counts(rows).size
    title = f"Adult, {column}, {queries.size:,} queries, universe {cells:,}"
    return Problem(title, rows, truth_of(queries, rows), general(queries, weights))


def bank(data: Path, weights: MultiplicativeWeights) -> Problem:
    """Return Figure 3: age ranges times housing times loan, balances of either sign."""
    table = pd.read_parquet(data / "bank_private.parquet")
    flag = Intervals.up_to(2, 1)
    conditions = Ranges((Intervals.up_to(100, 11), flag, flag))
    housing, loan = (table["housing"] == "yes").astype(int), (table["loan"] == "yes").astype(int)
    classes = ((table["age"] - 1) * 4 + housing * 2 + loan).to_numpy()
    balance = table["balance"].to_numpy()
    up, down = (Decomposable(conditions, Bits(400, 2**bits)) for bits in (17, 13))
    sides = general(up, weights), general(down, weights)
    signed: dict[str, Mechanism] = {
        name: Signed(positive=sides[0][name], negative=sides[1][name]) for name in sides[0]
    }
    truth = truth_of(up, Rows(classes, balance)) - truth_of(down, Rows(classes, -balance))
    title = f"Bank, {up.size:,} queries, universes {400 * 18:,} and {400 * 14:,}"
    return Problem(title, Rows(classes, balance), truth, signed)


def transfusion(data: Path, longest: int, weights: MultiplicativeWeights) -> Problem:
    """Return Figures 4 and 5: all frequency ranges, time / frequency, the whole universe."""
    table = pd.read_parquet(data / "blood_private.parquet")
    unit = 2**-20
    frequency, months = np.arange(1, 51)[:, None], np.arange(1, longest + 1)
    universe = Whole(50, (months * 2**20) // frequency)
    queries = Decomposable(Ranges((Intervals.up_to(50, 50),)), universe)
    rows = Rows(table["Frequency"].to_numpy() - 1, table["Time"].to_numpy() - 1)
    return Problem(
        f"Transfusion, {queries.size:,} queries, universe {50 * longest:,} (time up to {longest})",
        rows,
        truth_of(queries, rows) * unit,
        general(queries, weights, base=2**14),
        unit,
    )


def bank_ranges(data: Path, weights: MultiplicativeWeights) -> Problem:
    """Return Figure 6: age ranges only, positive balances only."""
    table = pd.read_parquet(data / "bank_private.parquet")
    table = table[table["balance"] > 0]
    queries = Decomposable(Ranges((Intervals.up_to(100, 11),)), Bits(100, 2**17))
    rows = Rows(table["age"].to_numpy() - 1, table["balance"].to_numpy())
    mechanisms = general(queries, weights) | {"ranges": RangeMechanism(queries=queries)}
    title = f"Bank, positive balances, {queries.size:,} age ranges"
    return Problem(title, rows, truth_of(queries, rows), mechanisms)


def tpch(lineitem: Path, weights: MultiplicativeWeights) -> Problem:
    """Return Figure 7: months times discounts times quantities, revenue in whole dollars."""
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
    queries = Decomposable(Ranges(axes), Bits(84 * 11 * 50, 10_500))
    classes = ((month * 11 + discount) * 50 + quantity).to_numpy()
    rows = Rows(classes, np.floor(price * discount / 100).astype(np.int64).to_numpy())
    title = (
        f"TPC-H Q6, {len(table):,} rows, {queries.size:,} queries, universe {84 * 11 * 50 * 14:,}"
    )
    return Problem(title, rows, truth_of(queries, rows), general(queries, weights))


PMW = ("normalization", "global_truncation", "numerical")
COMMON: tuple[Claim, ...] = (
    (
        "composition has the largest maximum error",
        lambda of: of("composition").largest >= max(of(name).largest for name in PMW),
    ),
    (
        "numerical has a smaller median error than normalization and global truncation",
        lambda of: of("numerical").median < min(of(name).median for name in PMW[:2]),
    ),
)
ADULT: tuple[Claim, ...] = (
    *COMMON,
    (
        "composition has the largest median error",
        lambda of: of("composition").median >= max(of(name).median for name in PMW),
    ),
    (
        "normalization has the narrower box (75 % over 25 %)",
        lambda of: (
            of("normalization").upper * max(of("numerical").lower, 1e-9)
            < of("numerical").upper * of("normalization").lower
        ),
    ),
)
SLIGHTLY: Claim = (
    "numerical has a slightly larger maximum error than normalization (up to twice)",
    lambda of: 1 <= of("numerical").largest / of("normalization").largest <= 2,
)
SKEWED: tuple[Claim, ...] = (
    *COMMON,
    (
        "composition has a much smaller median error than normalization (by half)",
        lambda of: of("composition").median < of("normalization").median / 2,
    ),
)
FREQUENT: tuple[Claim, ...] = (
    *COMMON,
    (
        "normalization has a smaller median error than global truncation",
        lambda of: of("normalization").median < of("global_truncation").median,
    ),
    (
        "but not a smaller maximum error",
        lambda of: of("normalization").largest >= of("global_truncation").largest,
    ),
    (
        "numerical has the smallest median error of all",
        lambda of: (
            of("numerical").median < min(of(name).median for name in ("composition", *PMW[:2]))
        ),
    ),
)
STRUCTURED: tuple[Claim, ...] = (
    (
        "ranges has a smaller maximum error than numerical",
        lambda of: of("ranges").largest < of("numerical").largest,
    ),
    (
        "ranges and numerical have similar median errors (within a factor of 3)",
        lambda of: 1 / 3 < of("ranges").median / of("numerical").median < 3,
    ),
    (
        "ranges is much faster than numerical (by half)",
        lambda of: of("ranges").seconds < of("numerical").seconds / 2,
    ),
)
BENCHMARK: tuple[Claim, ...] = (
    *COMMON,
    (
        "composition has a smaller median error than normalization and global truncation",
        lambda of: of("composition").median < min(of(name).median for name in PMW[:2]),
    ),
    (
        "numerical has the smallest median error of all",
        lambda of: (
            of("numerical").median < min(of(name).median for name in ("composition", *PMW[:2]))
        ),
    ),
)


def show(problem: Problem, claims: Sequence[Claim], epsilons: Sequence[str], repeats: int) -> Boxes:
    """Print the table and the orderings of one problem."""
    print(f"\n### {problem.title}\n")
    print("| epsilon | mechanism | max | 75 % | median | 25 % | zeros | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    found: Boxes = {}
    for epsilon in epsilons:
        for name, one in problem.boxes(epsilon, repeats):
            found[epsilon, name] = one
            numbers = " | ".join(f"{value:,.4g}" for value in one[:4])
            print(f"| {epsilon} | {name} | {numbers} | {one.zeros:.0%} | {one.seconds:.2f} |")
    print()
    for text, holds in claims:
        held = [e for e in epsilons if holds(lambda name, e=e: found[e, name])]  # type: ignore[misc]
        told = "holds" if len(held) == len(epsilons) else "does not hold"
        if 0 < len(held) < len(epsilons):
            told = f"holds at epsilon {', '.join(held)} only"
        print(f"- {text}: **{told}**")
    beaten = [e for e in epsilons if found[e, "numerical"].median < found[e, ZEROS].median]
    print(f"- (ours) numerical beats all zeros by median at epsilon: {', '.join(beaten) or 'none'}")
    return found


def growth(data: Path, weights: MultiplicativeWeights, repeats: int) -> None:
    """Print Figure 5: the same at epsilon 1 for three domains of time."""
    found = [
        show(transfusion(data, longest, weights), FREQUENT, ("1",), repeats)
        for longest in (200, 400, 800)
    ]
    print("\n| median error, time up to | 200 | 400 | 800 | 800 / 200 |")
    print("| --- | --- | --- | --- | --- |")
    grown = {}
    for name in ("composition", *PMW):
        medians = [boxes["1", name].median for boxes in found]
        grown[name] = medians[2] / medians[0]
        told = " | ".join(f"{value:,.4g}" for value in medians)
        print(f"| {name} | {told} | {grown[name]:.2f} |")
    worst = max(grown, key=lambda name: grown[name])
    told = "holds" if worst == "normalization" else f"does not hold ({worst} grows most)"
    print(f"\n- normalization is affected the most by the domain: **{told}**")


def speed(data: Path) -> None:
    """Print the seconds of one round on Adult: both families, selection and replays included."""
    queries, rows = adult_table(data, "capital-loss", 4396)
    family = Thresholded(queries, doubling(1, queries.peak))
    counts = queries.counts(rows)
    seconds = {}
    for rounds in (1, 11):
        weights = MultiplicativeWeights(rounds=rounds)
        start = time.perf_counter()
        weights.fit(family, counts, int(counts.sum()), Budget.of(1), SimulatedNoise(0))
        seconds[rounds] = time.perf_counter() - start
    print(f"\n{family.size:,} linear queries on {counts.size:,} cells")
    print(
        f"\n- first round: {seconds[1]:.3f} s, each later one: "
        f"{(seconds[11] - seconds[1]) / 10:.3f} s"
    )


def run(figure: str, arguments: argparse.Namespace) -> None:
    """Print one figure."""
    data, repeats = arguments.data, arguments.repeats
    weights = MultiplicativeWeights(rounds=arguments.rounds, replays=arguments.replays)
    print(f"\n## {figure}" if figure == "speed" else f"\n## Figure {figure}")
    if figure == "5":
        growth(data, weights, repeats)
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
    show(problem, claims, arguments.epsilons, repeats)


def main() -> None:
    """Read the arguments and print."""
    figures = ["1", "2", "3", "4", "5", "6", "tpch", "speed"]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the private tables")
    parser.add_argument("--figure", choices=[*figures, "all"], default="all")
    parser.add_argument("--lineitem", type=Path, help="TPC-H lineitem, Parquet or CSV")
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--replays", type=int, default=10)
    arguments = parser.parse_args()
    for figure in figures if arguments.figure == "all" else [arguments.figure]:
        run(figure, arguments)


if __name__ == "__main__":
    main()
