"""Dyadic intervals: sums, clipping, the bound on the noise."""

from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders import ParameterError
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.linear.conditions import Intervals, Ranges, Subsets
from pqd.deciders.batch.linear.dyadic import DyadicMechanism, noise_bound
from pqd.deciders.batch.linear.queries import NumericalQueries
from pqd.deciders.batch.linear.universe import DigitUniverse, Rows
from pqd.deciders.noise import Noise
from tests.support.linear_mechanisms import Silent, truth


def test_ranges_without_noise_are_the_truth_where_nothing_is_cut() -> None:
    """The dyadic sums are those of the level sets, whatever the length of the attribute."""
    rng = np.random.default_rng(11)
    for length in (1, 5, 6, 16):
        axis = Intervals.up_to(length, length)
        queries = NumericalQueries(Ranges((axis,)), DigitUniverse(length, 4096))
        rows = Rows(rng.integers(0, length, 900), rng.integers(0, 4097, 900))
        released = DyadicMechanism(queries=queries).release(rows, 10**9, Silent())
        assert released.answers == pytest.approx(truth(queries, rows))


def test_ranges_clip_where_few_rows_lie_above() -> None:
    axis = Intervals(4, np.array([0]), np.array([3]))
    queries = NumericalQueries(Ranges((axis,)), DigitUniverse(4, 2**20))
    rows = Rows(np.zeros(5001, np.int64), np.array([3] * 5000 + [2**20]))
    released = DyadicMechanism(queries=queries).release(rows, 1, Silent())
    assert released == BatchOutput((15_000 + 4,), (4,))


@pytest.mark.parametrize("length", [1, 4, 5])
def test_the_largest_scale_is_that_of_the_highest_level_set(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more, since a run is refused whose scale is larger than noise can have."""
    scales: list[Fraction] = []

    def recorded(total: int, scale: Fraction, _: Noise) -> Fraction:
        scales.append(scale)
        return Fraction(total)

    monkeypatch.setattr("pqd.deciders.batch.linear.dyadic.noisy_value", recorded)
    ranges = Ranges((Intervals.up_to(length, length),))
    mechanism = DyadicMechanism(queries=NumericalQueries(ranges, DigitUniverse(length, 4096)))
    mechanism.release(Rows(np.zeros(3, np.int64), np.array([1, 7, 4096])), 2, Silent())
    assert max(scales) == mechanism.largest_scale(2)


def test_ranges_need_one_attribute() -> None:
    flag = Intervals.up_to(2, 1)
    for conditions in (Ranges((flag, flag)), Subsets(np.ones((1, 4), bool))):
        with pytest.raises(ParameterError, match="intervals of one attribute"):
            DyadicMechanism(queries=NumericalQueries(conditions, DigitUniverse(4, 8)))


def test_noise_bound_holds_and_is_not_loose() -> None:
    rng = np.random.default_rng(2)
    for terms in (1, 7, 60):
        sums = np.abs(rng.laplace(0, 1, (20_000, terms)).sum(axis=1))
        bound = noise_bound(np.array([terms]), 0.01)[0]
        assert (sums > bound).mean() < 0.01
        assert bound < 2.2 * np.quantile(sums, 0.99)
