"""Tables, batches and mechanisms of the figures of Qiu et al. (KDD 2022)."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.linear.clipped_composition import ClippedComposition
from pqd.deciders.batch.linear.conditions import Intervals, Ranges
from pqd.deciders.batch.linear.dyadic import DyadicMechanism
from pqd.deciders.batch.linear.mechanism import LinearMechanism
from pqd.deciders.batch.linear.multiplicative_weights import MultiplicativeWeights
from pqd.deciders.batch.linear.normalization import GlobalTruncation, Normalization
from pqd.deciders.batch.linear.numerical import Numerical, NumericalInTwoSteps
from pqd.deciders.batch.linear.queries import NumericalQueries, doubling
from pqd.deciders.batch.linear.signed import SignedMechanism
from pqd.deciders.batch.linear.universe import DigitUniverse, LevelUniverse, Rows

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


# Boxes of all seeds, by the epsilon and the mechanism.
Boxes = dict[tuple[str, str], list[Box]]


@dataclass(frozen=True)
class Problem:
    """One private table, one batch of queries and the mechanisms that answer it.

    ``truth`` has the true answers.  A released answer times ``unit`` is in the unit of ``truth``.
    """

    title: str
    rows: Rows
    truth: Floats
    mechanisms: dict[str, LinearMechanism]
    unit: float = 1.0

    def boxes(self, epsilon: str, seeds: int) -> Iterator[tuple[str, list[Box]]]:
        """Run every mechanism with every seed; yield the mechanism's name and its boxes."""
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
    """``w(D)``, the true answers; they are exact until they are converted to floats."""
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
    """Queries and rows of Adult: age ranges up to 11 years times one or two education levels."""
    table = pd.read_parquet(data / "adult_private.parquet")
    conditions = Ranges((Intervals.up_to(100, 11), Intervals.up_to(16, 2)))
    classes = ((table["age"] - 1) * 16 + table["education-num"] - 1).to_numpy()
    return NumericalQueries(conditions, DigitUniverse(1600, upper)), Rows(
        classes, table[column].to_numpy()
    )


def adult(data: Path, column: str, upper: int, weights: MultiplicativeWeights) -> Problem:
    """Problem of figures 1 and 2: sums of a column of Adult."""
    queries, rows = adult_table(data, column, upper)
    cells = queries.counts(rows).size
    title = f"Adult, {column}, {queries.size:,} queries, universe {cells:,}"
    return Problem(title, rows, truth_of(queries, rows), general(queries, weights))


def bank(data: Path, weights: MultiplicativeWeights) -> Problem:
    """Problem of figure 3: age ranges times housing times loan; balances may be negative."""
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
    """Problem of figures 4 and 5: all ranges of frequency, sums of time / frequency.

    The universe is whole: it has a cell for each frequency and time.
    """
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
    """Problem of figure 6: age ranges only, positive balances only."""
    table = pd.read_parquet(data / "bank_private.parquet")
    table = table[table["balance"] > 0]
    queries = NumericalQueries(Ranges((Intervals.up_to(100, 11),)), DigitUniverse(100, 2**17))
    rows = Rows(table["age"].to_numpy() - 1, table["balance"].to_numpy())
    mechanisms = general(queries, weights) | {"ranges": DyadicMechanism(queries=queries)}
    title = f"Bank, positive balances, {queries.size:,} age ranges"
    return Problem(title, rows, truth_of(queries, rows), mechanisms)


def tpch(lineitem: Path, weights: MultiplicativeWeights) -> Problem:
    """Problem of figure 7: months times discounts times quantities, revenue in whole dollars."""
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
