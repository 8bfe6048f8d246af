"""Tables, batches and mechanisms of the experiments of Qiu et al. (KDD 2022).

Each function makes one ``Problem``: a private table, a batch of queries, their true answers and
the mechanisms that answer them.  ``quick`` settings take far fewer queries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.paper.record import Setting
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
from pqd.deciders.histogram import Integers

ADULT, BANK, BLOOD = "adult_private.parquet", "bank_private.parquet", "blood_private.parquet"
LINEITEM = "lineitem.parquet"
# The paper's public bounds on the sums of Adult.
LOSS, GAIN = 4396, 99_999
# Units of a donor's interval in one month, and the lowest threshold b in these units.
MONTH, LOWEST = 2**20, 2**14
# TPC-H: 84 months, discounts of 0 to 10 %, quantities of 1 to 50, revenues of at most 10,500.
MONTHS, DISCOUNTS, QUANTITIES, REVENUE = 84, 11, 50, 10_500
# Largest income of the generated census.
INCOME = 500_000
_CENSUS = Path(__file__).resolve().parents[3] / "samples" / "census_private.parquet"

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Mechanisms = Mapping[str, LinearMechanism]


@dataclass(frozen=True, eq=False)
class Problem:
    """One private table and one batch of queries.

    ``truth`` has the true answers, of shape (queries,).  A released answer times ``unit`` is in
    the unit of ``truth``.  ``small`` marks the queries that the paper expects to gain the most.
    """

    queries: NumericalQueries
    rows: Rows
    truth: Floats
    mechanisms: Mechanisms
    small: Booleans
    unit: float = 1.0


def truth_of(queries: NumericalQueries, rows: Rows) -> Floats:
    """``w(D)``, the true answers; they are exact until they are converted to floats."""
    thresholds = doubling(1, int(queries.limits.max()))
    return queries.table_tails(rows, thresholds)[1][:, -1].astype(np.float64)


def general(
    queries: NumericalQueries, base: int = 1, rounds: int = 10
) -> dict[str, LinearMechanism]:
    """Mechanisms that every figure compares, with the paper's T = 10."""
    weights = MultiplicativeWeights(rounds=rounds)
    return {
        "clipped_composition": ClippedComposition(queries=queries, base=base),
        "normalization": Normalization(queries=queries, weights=weights),
        "global_truncation": GlobalTruncation(queries=queries, weights=weights, base=base),
        "numerical": Numerical(queries=queries, weights=weights, base=base),
        "numerical_two": NumericalInTwoSteps(queries=queries, weights=weights, base=base),
    }


def selected(queries: NumericalQueries) -> Integers:
    """Number of classes that each query selects."""
    numbers: Integers = queries.conditions.sums(np.ones((queries.conditions.classes, 1), np.int64))[
        :, 0
    ]
    return numbers


def narrow(queries: NumericalQueries) -> Booleans:
    """Queries that select at most the median number of classes: the smaller ranges."""
    classes = selected(queries)
    smaller: Booleans = classes <= np.median(classes)
    return smaller


def ages(setting: Setting, widest: int = 11) -> Intervals:
    """Age ranges of at most ``widest`` of 100 years."""
    return Intervals.up_to(100, min(widest, 2) if setting.quick else widest)


def adult_queries(setting: Setting, upper: int = LOSS) -> NumericalQueries:
    """Queries of section 6.1: age ranges up to 11 years times one or two education levels."""
    conditions = Ranges((ages(setting), Intervals.up_to(16, 2)))
    return NumericalQueries(conditions, DigitUniverse(1600, upper))


def adult_rows(setting: Setting, column: str) -> Rows:
    """Rows of Adult with their age and education, and ``column`` as the summed number."""
    table = setting.table(ADULT)
    classes = ((table["age"] - 1) * 16 + table["education-num"] - 1).to_numpy()
    return Rows(classes, table[column].to_numpy())


def adult(setting: Setting, column: str, upper: int) -> Problem:
    """Problem of figures 1 and 2: sums of a column of Adult."""
    queries, rows = adult_queries(setting, upper), adult_rows(setting, column)
    return Problem(queries, rows, truth_of(queries, rows), general(queries), narrow(queries))


def census(setting: Setting, upper: int = INCOME, widest: int = 11, educations: int = 2) -> Problem:
    """Problem like figure 1 on the generated census: age ranges times one or two educations.

    Two educations are neighbours in the alphabet.
    """
    table = pd.read_parquet(_CENSUS)
    levels = np.unique(table["educ"])
    conditions = Ranges((ages(setting, widest), Intervals.up_to(levels.size, educations)))
    queries = NumericalQueries(conditions, DigitUniverse(100 * levels.size, upper))
    classes = table["age"].to_numpy() * levels.size + np.searchsorted(levels, table["educ"])
    rows = Rows(classes, table["inctot"].to_numpy())
    return Problem(queries, rows, truth_of(queries, rows), general(queries), narrow(queries))


def census_incomes() -> Integers:
    """Incomes of the generated census, shape (rows,)."""
    return pd.read_parquet(_CENSUS, columns=["inctot"])["inctot"].to_numpy()


def bank_conditions(setting: Setting) -> Ranges:
    """Conditions of section 6.2: age ranges times both answers to housing and to loan."""
    flag = Intervals.up_to(2, 1)
    return Ranges((ages(setting), flag, flag))


def bank_rows(setting: Setting) -> Rows:
    """Rows of Bank with their age, housing and loan, and the balance as the summed number."""
    table = setting.table(BANK)
    housing, loan = ((table[name] == "yes").astype(int) for name in ("housing", "loan"))
    classes = ((table["age"] - 1) * 4 + housing * 2 + loan).to_numpy()
    return Rows(classes, table["balance"].to_numpy())


def bank(setting: Setting) -> Problem:
    """Problem of figure 3: sums of balances of either sign, one mechanism for each sign."""
    conditions, rows = bank_conditions(setting), bank_rows(setting)
    up, down = (NumericalQueries(conditions, DigitUniverse(400, 2**bits)) for bits in (17, 13))
    plus, minus = general(up), general(down)
    signed = {name: SignedMechanism(positive=plus[name], negative=minus[name]) for name in plus}
    below = Rows(rows.classes, -rows.levels)
    truth = truth_of(up, rows) - truth_of(down, below)
    return Problem(up, rows, truth, signed, narrow(up))


def bank_ranges(setting: Setting, widest: int = 11) -> Problem:
    """Problem of figure 6: age ranges only, positive balances only."""
    rows = bank_rows(setting)
    positive = rows.levels > 0
    rows = Rows(rows.classes[positive] // 4, rows.levels[positive])
    queries = NumericalQueries(Ranges((ages(setting, widest),)), DigitUniverse(100, 2**17))
    mechanisms = general(queries) | {"dyadic": DyadicMechanism(queries=queries)}
    return Problem(queries, rows, truth_of(queries, rows), mechanisms, narrow(queries))


def transfusion(
    setting: Setting, longest: int, base: int = LOWEST, *, reduced: bool = False
) -> Problem:
    """Problem of figures 4 and 5: all ranges of frequency, sums of time / frequency.

    ``longest`` is the largest time in months.  The universe is whole, with a cell for each
    frequency and time, or ``reduced`` as in section 4.1.  Queries whose donors gave more than ten
    times are marked as small, since their ``Delta_w`` is at most ``longest / 11``.
    """
    table = setting.table(BLOOD)
    frequency, months = np.arange(1, 51)[:, None], np.arange(1, longest + 1)
    levels = LevelUniverse(50, (months * MONTH) // frequency)
    ranges = Intervals.up_to(50, 10 if setting.quick else 50)
    rows = Rows(table["Frequency"].to_numpy() - 1, table["Time"].to_numpy() - 1)
    queries = NumericalQueries(Ranges((ranges,)), levels)
    truth = truth_of(queries, rows) / MONTH
    if reduced:
        rows = Rows(rows.classes, levels.values(rows))
        queries = NumericalQueries(queries.conditions, DigitUniverse(50, longest * MONTH))
    return Problem(queries, rows, truth, general(queries, base), ranges.first >= 10, 1 / MONTH)


def tpch_lines(path: Path) -> dict[str, Integers]:
    """Month, discount in per cent, quantity, price in cents and revenue of each row of lineitem.

    Price times discount is exact in hundredths of a cent.  The revenue is in whole dollars,
    rounded down.
    """
    sql = """
        SELECT (year(l_shipdate) - 1992) * 12 + month(l_shipdate) - 1 AS month,
            CAST(l_discount * 100 AS BIGINT) AS discount,
            CAST(l_quantity AS BIGINT) AS quantity,
            CAST(l_extendedprice * 100 AS BIGINT) AS price,
            price * discount // 10000 AS revenue
        FROM read_parquet($path)
    """
    with duckdb.connect() as connection:
        columns = connection.execute(sql, {"path": str(path)}).fetchnumpy()
    return {name: np.asarray(column, np.int64) for name, column in columns.items()}


def tpch_queries(setting: Setting) -> NumericalQueries:
    """Queries of appendix A: up to 12 months, discounts around 2 to 9 %, quantities 1 to 10."""
    centres, tens = np.arange(2, 10), np.arange(10)
    axes = (
        Intervals.up_to(MONTHS, 2 if setting.quick else 12),
        Intervals(DISCOUNTS, centres - 1, centres + 1),
        Intervals(QUANTITIES, tens, tens),
    )
    classes = MONTHS * DISCOUNTS * QUANTITIES
    return NumericalQueries(Ranges(axes), DigitUniverse(classes, REVENUE))


def tpch(setting: Setting) -> Problem:
    """Problem of figure 7: sums of extended price times discount, in whole dollars."""
    table = tpch_lines(setting.path(LINEITEM))
    place = (table["month"] * DISCOUNTS + table["discount"]) * QUANTITIES + table["quantity"] - 1
    queries, rows = tpch_queries(setting), Rows(place, table["revenue"])
    return Problem(queries, rows, truth_of(queries, rows), general(queries), narrow(queries))


def largest_values(queries: NumericalQueries, rows: Rows) -> Integers:
    """``Delta_w(D)``: the largest contribution of a row to each query, shape (queries,)."""
    tops = np.zeros(queries.universe.classes, np.int64)
    np.maximum.at(tops, rows.classes, queries.universe.values(rows))
    return queries.conditions.largest(tops)
