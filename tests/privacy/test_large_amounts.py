"""Amounts above 2^32 units: sums that pass 64 bits stay exact, so that one row moves them little.

A sum that wraps around at 2^63 is moved by 2^64 by the row that carries it across.  The tables here
lie on both sides of that border, and a twin that adds up in 64 bits is caught.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pqd.batches.workload_laplace import WorkloadPlan
from pqd.deciders import Lattice, ParameterError
from pqd.deciders.batch.linear import queries as queries_home
from pqd.deciders.batch.linear import universe as universe_home
from pqd.deciders.batch.linear.clipped_composition import ClippedComposition
from pqd.deciders.batch.linear.conditions import Intervals, Ranges
from pqd.deciders.batch.linear.dyadic import DyadicMechanism
from pqd.deciders.batch.linear.laplace import NoisyClasses
from pqd.deciders.batch.linear.mechanism import LinearMechanism
from pqd.deciders.batch.linear.normalization import Normalization
from pqd.deciders.batch.linear.numerical import Numerical, NumericalInTwoSteps
from pqd.deciders.batch.linear.queries import NumericalQueries
from pqd.deciders.batch.linear.universe import DigitUniverse, LevelUniverse, Rows, check_upper
from pqd.engine.contingency import ContingencyTable
from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
from tests.privacy.test_batch_linear import Recording
from tests.privacy.test_numerical import TOLERANCE, WEIGHTS, Pair, lost, spent

LINE = Ranges((Intervals.up_to(2, 2),))
BORDER = [2**32, 2**32 + 1, 999_999**2, 2**53]
BUILDS: dict[str, Callable[[NumericalQueries], LinearMechanism]] = {
    "identity": lambda queries: NoisyClasses(queries=queries),
    "dyadic": lambda queries: DyadicMechanism(queries=queries),
    "clipped_composition": lambda queries: ClippedComposition(queries=queries),
    "normalization": lambda queries: Normalization(queries=queries, weights=WEIGHTS),
    "numerical": lambda queries: Numerical(queries=queries, weights=WEIGHTS),
    "numerical_two": lambda queries: NumericalInTwoSteps(queries=queries, weights=WEIGHTS),
}


def across(upper: int) -> Pair:
    """Neighbours of which one more row at ``upper`` carries the sum over 2^63, if 1,024 rows do."""
    number = min(-(-(2**63) // upper) - 1, 1200)
    levels = np.full(number + 1, upper)
    classes = np.zeros(number + 1, np.int64)
    return Rows(classes[1:], levels[1:]), Rows(classes, levels)


def loss(name: str, queries: NumericalQueries, epsilon: str = "8") -> float:
    mechanism, pair = BUILDS[name](queries), across(queries.top)
    if name == "clipped_composition":
        return lost(mechanism, pair, epsilon, trials=3)
    return spent(mechanism, [pair], epsilon, trials=1)


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("upper", BORDER)
def test_no_mechanism_loses_more_than_epsilon(upper: int, name: str) -> None:
    assert loss(name, NumericalQueries(LINE, DigitUniverse(2, upper))) <= 8 + TOLERANCE


def test_whole_levels_may_be_as_large() -> None:
    weights = np.array([[0, 1, 2**53]])
    queries = NumericalQueries(LINE, LevelUniverse(2, weights))
    table = Rows(np.zeros(1200, np.int64), np.full(1200, 2))
    (exact, _, _) = queries.tails(queries.counts(table), np.array([2**53])).capped[:, 0]
    assert exact == 1200 * 2**53
    noise = Recording()
    NoisyClasses(queries=queries).release(table, 1, noise)
    assert noise.asked[0] == (1200 * 2**53, Fraction(2**53))


def in_64_bits(groups: Any, values: Any, counts: Any, size: int) -> Any:
    """Wrong: sums that wrap around."""
    totals = np.zeros(size, np.int64)
    np.add.at(totals, groups, values * counts)
    return totals


# The others rarely measure the sum that wraps around; they read the same tails.
@pytest.mark.parametrize("name", ["identity", "dyadic", "clipped_composition", "normalization"])
def test_a_twin_that_adds_up_in_64_bits_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.setattr(universe_home, "sums_by_group", in_64_bits)
    monkeypatch.setattr(queries_home, "fitting", lambda table, _largest: table)
    assert loss(name, NumericalQueries(LINE, DigitUniverse(2, 2**53))) > 8 + TOLERANCE
    record_property("mutant", f"{name}: sums in 64 bits")
    record_property("caught_by", "neighbours on the two sides of 2^63")


def test_every_lattice_fits_and_nothing_above() -> None:
    check_upper(2**53)
    for upper in (0, 2**53 + 1):
        with pytest.raises(ParameterError, match="between 1 and 2\\^53: choose a wider unit"):
            check_upper(upper)


@pytest.mark.parametrize("joint", [False, True])
def test_answers_query_by_query_are_exact(joint: bool) -> None:
    lattice = Lattice(0, 2**53 - 1)
    statistic = Statistic(None, Measure('"x"', lattice), frozenset("x"), collapsed=True)
    plan = WorkloadPlan.of(ScanPlan((statistic,)), Fraction(1), joint=joint)
    answers = []
    for rows in (1024, 1025):
        words = np.zeros((2, 0), np.uint64)
        places, counts = np.array([[2**53 - 1], [-1]]), np.array([rows, 3])
        answers.append(plan.read(ContingencyTable(words, places, counts)).tolist())
    assert answers == [[1024 * (2**53 - 1)], [1025 * (2**53 - 1)]]
    assert plan.top == 2**53 - 1
