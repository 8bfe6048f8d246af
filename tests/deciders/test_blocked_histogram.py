"""Histograms by blocks against their slow twin, that of all rows: every answer is equal."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from numpy.random import Generator

from pqd.deciders import DECIDERS, Decider, Histogram, Interval, answer, error_rates, needed_epsilon
from pqd.deciders.blocked_histogram import Block, BlockedHistogram
from pqd.deciders.errors import ParameterError
from pqd.deciders.histogram import Integers

HALF = Fraction(1, 2)
LARGE = 2**40


@dataclass(frozen=True)
class Counted:
    """Blocks of rows whose values are counted one by one, also those that no row has."""

    values: Integers
    counts: Integers
    edges: list[int]

    def within(self, number: int) -> Block:
        own = slice(*self.edges[number : number + 2])
        return Block(self.counts[own], self.values[own])

    @cached_property
    def blocked(self) -> BlockedHistogram:
        starts = self.edges[:-1]
        rows = np.add.reduceat(self.counts, starts)
        return BlockedHistogram(self, rows, np.add.reduceat(self.values * self.counts, starts))

    def whole(self) -> Histogram:
        held = self.counts > 0
        return Histogram(self.values[held], self.counts[held])


def tables(seed: int, number: int) -> list[Counted]:
    """Random tables: negative values and large ones, empty blocks and single values, heavy ones."""
    random, found = np.random.default_rng(seed), []
    for _ in range(number):
        size = int(random.integers(1, 30))
        spread = int(random.choice([40, 1000, LARGE]))
        low = -spread if random.random() < 0.6 else 0
        values = np.unique(random.integers(low, spread, size))
        counts = random.integers(0, 4, values.size) * (random.random(values.size) < 0.6)
        counts[random.integers(values.size)] *= int(random.choice([0, 1, 50]))
        inner = random.integers(0, values.size, 4).tolist()
        found.append(Counted(values, counts, sorted({0, values.size, *inner})))
    return found


def bounds_of(table: Counted, random: Generator) -> list[Fraction]:
    """Values, what lies between them, and what is beyond all or 64 bits."""
    near = random.choice(table.values, 3).tolist()
    whole = [*near, *(value + 1 for value in near), -(2**70), 2**70]
    return [*map(Fraction, whole), *(value + HALF for value in near)]


@pytest.mark.parametrize("seed", range(4))
def test_every_look_up_is_that_of_all_rows(seed: int) -> None:
    random = np.random.default_rng(seed)
    for table in tables(seed, 40):
        blocked, whole = table.blocked, table.whole()
        assert (blocked.mass, blocked.total) == (whole.mass, whole.total)
        assert blocked.largest == whole.largest
        for name in ("values", "counts", "cumulative_counts"):
            assert np.array_equal(getattr(blocked, name), getattr(whole, name))
        for one, other in ((blocked, whole), (blocked.mirrored, whole.mirrored)):
            for bound in bounds_of(table, random):
                assert one.count_below(bound) == other.count_below(bound)
                assert one.count_at_most(bound) == other.count_at_most(bound)
                assert one.sum_at_most(bound) == other.sum_at_most(bound)
            for k in {0, 1, whole.mass // 2, whole.mass} & set(range(whole.mass + 1)):
                assert one.sum_of_smallest(k) == other.sum_of_smallest(k)
                part = k * Fraction(2, 3)
                assert one.sum_of_smallest(part) == other.sum_of_smallest(part)
        for k in range(1, whole.mass + 1):
            assert blocked.smallest(k) == whole.smallest(k)
        with pytest.raises(ParameterError):
            blocked.smallest(whole.mass + 1)


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_lower_a_sum_are_those_of_all_rows(seed: int) -> None:
    random = np.random.default_rng(seed)
    for table in tables(seed, 60):
        pairs = [(table.blocked, table.whole())]
        for one, other in [*pairs, (table.blocked.mirrored, table.whole().mirrored)]:
            for gap in (1, 7, 10**6):
                origin = int(random.choice(table.values)), int(random.integers(1, 4))
                lower = int(table.values[0]) - int(random.integers(0, 3))
                expected = other.rows_to_lower((gap, 3), origin, lower)
                found = one.rows_to_lower((gap, 3), origin, lower)
                assert (found and Fraction(*found)) == (expected and Fraction(*expected))


@pytest.mark.parametrize("seed", range(3))
def test_the_first_place_beyond_is_the_first_of_all(seed: int) -> None:
    """Of a table, its blocks and their mirror images, among all places or some of them."""
    random, within = np.random.default_rng(seed), 0
    for made in tables(seed, 40):
        for table in (made.whole(), made.blocked):
            for one in (table, table.mirrored):
                size, slope = one.size, int(random.integers(0, 3))

                def key(place: int, rows: int, held: int, slope: int = slope) -> int:
                    return slope * place + LARGE * rows + held

                keys = [key(p, one.rows_before(p), one.sum_before(p)) for p in range(size + 1)]
                low, high = sorted(random.integers(0, size + 2, 2).tolist())
                for bound in {keys[0] - 1, *keys}:
                    beyond = (p for p in range(low, high) if keys[p] > bound)
                    first = next(beyond, high)
                    assert one.first_beyond(key, bound, range(low, high)) == first
                    within += low < first < high
    assert within > 50


def decider(name: str, table: Counted) -> Decider:
    ends = {"lower": int(table.values[0]) - 1, "upper": int(table.values[-1]) + 1}
    shape = {"p": Fraction(3, 4)} if name == "inv_quantile" else {}
    return DECIDERS[name](**ends, **shape)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["inv_sum", "lm_sum", "inv_mean", "inv_median", "inv_quantile"])
def test_deciders_are_evaluated_as_on_all_rows(name: str) -> None:
    evaluated = 0
    for table in tables(11, 30):
        blocked, whole = table.blocked, table.whole()
        one = decider(name, table)
        centre = answer(one.aggregate, whole, getattr(one, "p", HALF))
        if centre is None or table.values[-1] > LARGE // 2**20:
            continue
        interval = Interval.around(centre, Fraction(5, 2))
        assert error_rates(one, blocked, interval, 1) == error_rates(one, whole, interval, 1)
        assert one.tau_min(blocked, 1, 0.05) == one.tau_min(whole, 1, 0.05)
        needed = [needed_epsilon(one, table, interval, 0.05) for table in (blocked, whole)]
        assert needed[0] == needed[1]
        evaluated += 1
    assert evaluated >= 10


def many_values(seed: int, rows: int) -> Counted:
    """Rows of more than 1,024 values, most of them in some of 20 blocks; a few values are heavy."""
    random = np.random.default_rng(seed)
    values = np.sort(random.choice(10**6, 4000, replace=False))
    counts = np.bincount((4000 * random.beta(2, 3, rows)).astype(int), minlength=4000)
    counts[random.integers(0, 4000, 5)] += rows // 20
    edges = np.sort(random.choice(np.arange(1, 4000), 19, replace=False)).tolist()
    return Counted(values, counts, [0, *edges, 4000])


@pytest.mark.parametrize("name", ["inv_median", "inv_quantile", "hist_median"])
@pytest.mark.parametrize("seed", range(3))
def test_of_many_values_a_quantile_needs_no_histogram_of_all(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = many_values(seed, 30_000)
    blocked, whole, one = table.blocked, table.whole(), decider(name, table)
    centre = whole.quantile(getattr(one, "p", HALF))
    expected = {}
    for tau in (200, 5000, 90_000):
        expected[tau] = needed_epsilon(one, whole, Interval.around(centre, tau), 0.05)
    monkeypatch.setattr(Counted, "whole", None)
    for tau, needed in expected.items():
        assert needed_epsilon(one, blocked, Interval.around(centre, tau), 0.05) == needed
    assert len(set(expected.values())) == 3


def test_what_surely_exceeds_a_number_of_values_does() -> None:
    sure = 0
    for table in [*tables(5, 40), *(many_values(seed, 3000) for seed in range(3))]:
        for values in (0, 1, 3, 10, 100, 1000, 2000):
            if table.blocked.surely_exceeds(values):
                assert table.whole().size > values
                sure += 1
    assert sure > 40
