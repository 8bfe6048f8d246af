"""Every number of docs/errata.md about the batches of Wu 2019 and Qiu 2022, computed again."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from pqd.deciders.batch.linear.conditions import Intervals, Ranges
from pqd.deciders.batch.linear.numerical import Numerical, first_few
from pqd.deciders.batch.linear.queries import NumericalQueries, ThresholdQueries, doubling
from pqd.deciders.batch.linear.universe import DigitUniverse, Rows
from pqd.deciders.batch.range_sums.mechanisms import IdentityMechanism, SingleQueries, TreeStrategy
from pqd.deciders.batch.range_sums.truncation import SparseVectorTruncation
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from pqd.deciders.histogram import Histogram, Integers
from tests.support.errata import ROOT, section
from tests.support.skipped import NO_TABLES

# Figure 1 of Wu 2019, in thousands.
INCOMES = [44, 35, 45, 350, 1000]
# Section 4 of Wu 2019.
RATIO = Fraction(998, 1000)
PRINTED = SparseVectorTruncation(
    start=50_000, growth=Fraction(6, 5), kept=RATIO, share=Fraction(1, 10)
)
SHARED = ROOT.parent / "shared" / "data"
LOSSES = DigitUniverse(1, 4396)
QUERIES = NumericalQueries(Ranges((Intervals.up_to(1, 1),)), LOSSES)


def clamped(top: int, threshold: int) -> int:
    """TRUNC of section 3.1: the rows up to ``top``, clamped."""
    return sum(min(value, threshold) for value in INCOMES if value <= top)


def sums_of(incomes: list[int], tops: list[int], threshold: int) -> list[int]:
    """Sums of the clamped rows up to each top, by pqd."""
    buckets = Buckets(tuple(sorted({*incomes, *tops})))
    ranges = tuple((0, buckets.ends.index(top) + 1) for top in tops)
    counts = buckets.counts(Histogram.from_values(incomes))
    answers: list[int] = RangeSums(buckets, ranges).answers(counts, threshold).tolist()
    return answers


def prefixes(step: int) -> RangeSums:
    """Wu's workloads: 1,000 buckets, and a sum up to the end of each ``step``-th."""
    ends = tuple(800 * place for place in range(1, 1001))
    return RangeSums(Buckets(ends), tuple((0, stop) for stop in range(step, 1001, step)))


def test_the_example_of_truncation() -> None:
    answers = sums_of(INCOMES, [30, 50, 1000], 1)
    assert answers == [clamped(top, 1) for top in (30, 50, 1000)]
    assert f"they are {answers[0]}, {answers[1]} and {answers[2]}" in section("11.1")


def test_the_rate_of_the_recursive_mechanism() -> None:
    rho = Fraction(1, 10)
    scales = [float(2 * share / 5 / rho) for share in (1 - rho, rho)]
    assert f"scale {scales[0]}, the latter of {scales[1]}" in section("11.2")


def test_algorithms_2_and_3_count_all_rows_above() -> None:
    """``w_i(TRUNCATE(D, t))`` literally, and pqd's sum of clamped rows."""
    truncated = [min(value, 40) for value in INCOMES]
    printed = sum(value for value in truncated if value <= 50)
    (ours,) = sums_of(INCOMES, [50], 40)
    truth = sum(value for value in INCOMES if value <= 50)
    assert ours == clamped(50, 40)
    assert f"Algorithm 2 has {printed}k, TRUNC of section 3.1 has {ours}k" in section("11.3")
    assert f"the truth is {truth}k" in section("11.3")


def test_what_a_batch_spends() -> None:
    epsilon, rho, queries = Fraction(1, 100), Fraction(1, 10), len(prefixes(100).ranges)
    assert f"With the {queries} queries of Q3" in section("11.4")
    assert f"they spend {float(queries * epsilon)} in all" in section("11.4")
    literal = float(epsilon + (1 - rho) * epsilon)
    assert f"{literal} in place of {float(epsilon)}" in section("11.9")
    alone = SingleQueries(workload=prefixes(100), truncation=PRINTED)
    assert queries * sum(alone.budgets(epsilon)) == epsilon
    together = IdentityMechanism(workload=prefixes(100), truncation=PRINTED)
    assert together.budgets(epsilon) == (rho * epsilon, (1 - rho) * epsilon)


def test_a_threshold_that_a_row_moves() -> None:
    moved = RATIO * 1001 - RATIO * 1000
    assert f"one row moves it by r = {float(moved)}" in section("11.5")


def test_parameters_for_one_table() -> None:
    assert (PRINTED.rungs(50_000), PRINTED.rungs(50_001)) == ([], [50_000])
    assert "up to a bound of 50,000 units SVT never truncates" in section("11.7")


def test_slips_of_words() -> None:
    raised, lowered = (sum(cut(value, 40) for value in INCOMES) for cut in (max, min))
    assert f"is then {raised:,}k, not {lowered}k" in section("11.6")
    bins = [(800 * (place - 1) - 1, 800 * place) for place in range(1, 1001)]
    places = sum(low <= 800 <= high for low, high in bins)
    assert f"an income of 800 lies in {places} of them" in section("11.6")
    ours = Buckets(tuple(800 * place for place in range(1, 1001)))
    assert ours.counts(Histogram.from_values([800])).tolist() == [1] + [0] * 999


def test_columns_that_are_equal() -> None:
    workload = prefixes(100)
    cells = workload.edges().size - 1
    buckets = len(workload.buckets.ends)
    assert f"the {buckets:,} buckets of Q3 are {cells} cells" in section("11.8")


def test_the_lengths_of_the_noise() -> None:
    few, many = prefixes(100), prefixes(1)
    strategy = TreeStrategy.of_sums(many, many.weights(many.buckets.top))
    rows = len(strategy.statistics(np.zeros(1000, np.int64)))
    assert f"({len(few.ranges)} for Q3, not 1,000)" in section("11.10")
    assert f"({rows:,} for Q1 with our tree)" in section("11.10")


def test_shared_noise_gives_the_table_away() -> None:
    """Algorithms 5 and 6 on one noise vector, as in Algorithm 9; both answers give the counts."""
    counts, weights = np.array([0, 1, 2, 2]), np.diag([30e3, 40e3, 50e3, 50e3])
    weighted = np.tril(np.ones((4, 4))) @ weights
    norm = np.abs(weighted).sum(axis=0).max()
    noise = np.random.default_rng(1).laplace(scale=1 / (0.9 * 0.01), size=4)
    identity, workload = weighted @ (counts + noise), weighted @ counts + norm * noise
    seen = np.linalg.solve(norm * np.eye(4) - weighted, workload - identity)
    found = np.linalg.solve(weighted, workload - norm * seen)
    assert np.abs(noise).min() > 1
    assert np.abs(found - counts).max() < 1e-6
    assert f"follow the counts {', '.join(str(count) for count in counts)}, exactly" in (
        section("11.10")
    )


def test_sensitivity_needs_absolute_values() -> None:
    strategy = np.array([[1, 1], [1, -1], [-1, 1]])
    printed, true = strategy.sum(axis=0).max(), np.abs(strategy).sum(axis=0).max()
    text = section("11.11")
    assert f"the printed value is {printed} and the true one {true}" in text
    assert f"the loss would be {true} epsilon" in text
    workload = prefixes(100)
    tree = TreeStrategy.of_sums(workload, workload.weights(workload.buckets.top)).hierarchy
    assert min(level.min() for level in tree.weights) >= 0


def test_one_threshold_is_not_one_bias() -> None:
    whole, cut = (sums_of(INCOMES, [45, 50, 1000], threshold) for threshold in (1000, 50))
    lost = [before - after for before, after in zip(whole, cut, strict=True)]
    assert lost[:2] == [0, 0]
    assert f"the sum up to 1M loses {lost[2]:,}k" in section("11.12")


def test_noise_of_the_number_of_rows() -> None:
    share = Numerical(queries=QUERIES).size_share
    scale = LOSSES.group / share
    assert f"with noise of scale {scale} cells" in section("12.1")


def test_answers_of_zero() -> None:
    folder, text = ROOT / "docs" / "papers", section("12.2")
    shares = [
        frame.loc[frame["mechanism"] == "numerical", "zeros"]
        for frame in (pd.read_csv(folder / f"qiu-figure-{number}.csv") for number in (1, 2))
    ]
    low, high = 100 * min(map(min, shares)), 100 * max(map(max, shares))
    assert f"{low:.0f} to {high:.0f} % of the answers are 0" in text
    rounds = pd.read_csv(folder / "qiu-rounds.csv")
    most = rounds[(rounds["rounds"] == 200) & (rounds["epsilon"] == 10**6)]
    assert (
        f"with T = 200 and epsilon = 10^6, {100 * most['zeros'].mean():.0f} % are still 0" in text
    )


def test_the_largest_threshold() -> None:
    values, thresholds = [10] * 990 + [5000] * 10, doubling(1, 65_536)
    above = np.array([[sum(value > bound for value in values) for bound in thresholds.tolist()]])
    (smallest,) = thresholds[first_few(above, 20)].tolist()
    largest = thresholds[:-1][above[0, :-1] <= 20].max()
    assert f"the smallest is {smallest}, the largest {largest:,}" in section("12.3")
    assert largest == 65_536 / 2


def test_largest_worths_that_are_no_powers_of_two() -> None:
    powers = {Fraction(2**power) for power in range(8)}
    tops = [Fraction(200, first) for first in range(1, 51) for _ in range(first, 51)]
    among = sum(top in powers for top in tops)
    assert f"is one for {among} of the {len(tops):,} queries" in section("12.4")
    below, above = doubling(1, LOSSES.upper)[-2:]
    assert f"Delta is {LOSSES.upper}, between {below:,} and {above:,}" in section("12.4")


def test_tuples_of_worth_zero() -> None:
    levels, ages, text = 33, 128, section("12.5")
    assert DigitUniverse(ages, 2**32).weights.size == levels
    assert f"has {ages * (levels + 1):,} cells, not {ages * levels:,}" in text
    row = DigitUniverse(1, 8).counts(rows_of(5))
    assert f"it is {row.size - row.sum()} of {row.size} tuples" in text


def rows_of(*values: int) -> Rows:
    return Rows(np.zeros(len(values), np.int64), np.array(values, np.int64))


def test_the_sensitivity_of_alpha() -> None:
    """Alpha against the same released weights (none), with one row replaced by another."""
    linear = ThresholdQueries(QUERIES, doubling(1, QUERIES.peak))
    few, many = (
        np.abs(linear.answers(linear.tails(QUERIES.counts(rows)))).max()
        for rows in (rows_of(0), rows_of(4095))
    )
    assert f"a row of 4,095 moves alpha by {many - few:.0f}" in section("12.6")
    assert many - few == LOSSES.group == linear.sensitivity


def test_group_privacy_in_theorem_4_3() -> None:
    rounds, share, digits = 10, 0.1, LOSSES.weights.size
    told, lost = rounds * share / digits, rounds * share / digits * LOSSES.group
    assert f"it states {told:.3f}; a row of {LOSSES.group} tuples" in section("12.7")
    assert f"loses up to {lost:.3f}" in section("12.7")
    assert told < lost <= rounds * share


def test_the_order_of_example_1_2() -> None:
    incomes = [10, 20, 30]

    def worths(low: int, high: int) -> tuple[int, int, int]:
        """Largest incomes: of the table in the range, of the universe, of the table."""
        inside = [income for income in incomes if low <= income <= high]
        return max(inside, default=0), high, max(incomes)

    text = section("12.8")
    inside, universe, table = worths(25, 100)
    assert f"[25, 100] the three are {inside}, {universe} and {table}" in text
    ranges = [worths(low, high) for low in range(101) for high in range(low, 101)]
    ordered = sum(first < second < third for first, second, third in ranges)
    assert f"of the {len(ranges):,} ranges within 0..100 the order holds for {ordered}" in text
    assert all(first <= min(second, third) for first, second, third in ranges)
    assert f"so it is {inside**2}, not {inside}" in text


def column(table: str, name: str) -> Integers:
    if not SHARED.exists():
        pytest.skip(NO_TABLES)
    numbers: NDArray[np.int64] = pq.read_table(SHARED / table, columns=[name])[name].to_numpy()
    return numbers


def test_the_rows_of_bank() -> None:
    balances, text = column("bank_private.parquet", "balance"), section("12.9")
    assert f"UCI's file has {balances.size:,}" in text
    assert f"balances, {balances.min():,} to {balances.max():,}, are" in text
    assert -(2**13) <= balances.min() < -(2**12)
    assert 2**16 < balances.max() <= 2**17


def test_the_losses_of_adult() -> None:
    losses = column("adult_private.parquet", "capital-loss")
    assert f"UCI's Adult, of {losses.size:,} rows as in the paper, has {losses.max():,}" in (
        section("12.9")
    )
    tuples = LOSSES.weights.size * losses.size
    cells = int(LOSSES.counts(rows_of(*losses.tolist())).sum())
    assert f"on Adult's losses {tuples - cells:,} of {tuples:,}" in section("12.5")
