"""Distances in rows: their values by definition, and that one row moves them by at most 1."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, wasserstein_distance

from pqd.deciders import ParameterError
from pqd.deciders.distances.statistics import (
    Distance,
    EarthMovers,
    KolmogorovSmirnov,
    MeanDistance,
    TotalVariation,
    whole_rows,
)
from tests.support.drawing import examples

KINDS = [TotalVariation, KolmogorovSmirnov, EarthMovers]
HALF = Fraction(1, 2)


def counted(*counts: int) -> Any:
    return np.array(counts, dtype=np.int64)


def by_definition(kind: type[Distance], private: list[int], copy: list[int]) -> Fraction:
    """The distance in rows, written down from the page."""
    n, copy_rows = sum(private), sum(copy)
    gaps = [h - Fraction(n * s, copy_rows) for h, s in zip(private, copy, strict=True)]
    if kind is TotalVariation:
        return sum(map(abs, gaps), Fraction(0)) / 2
    ends = [abs(total) for total in itertools.accumulate(gaps)]
    if kind is KolmogorovSmirnov:
        return max(ends)
    return sum(ends[:-1], Fraction(0)) / (len(copy) - 1) if len(copy) > 1 else Fraction(0)


PAIRS = st.integers(1, 6).flatmap(
    lambda cells: st.tuples(
        st.lists(st.integers(0, 30), min_size=cells, max_size=cells),
        st.lists(st.integers(0, 30), min_size=cells, max_size=cells).filter(any),
    )
)


@pytest.mark.parametrize("kind", KINDS)
@given(pair=PAIRS)
@examples(60)
def test_each_is_what_its_definition_says(kind: Any, pair: tuple[list[int], list[int]]) -> None:
    private, copy = pair
    assert kind(counted(*copy)).rows(counted(*private)) == by_definition(kind, private, copy)


def test_they_agree_with_scipy() -> None:
    rng = np.random.default_rng(3)
    private, copy = rng.integers(0, 40, 500), rng.binomial(39, 0.4, 300)
    h, s = np.bincount(private, minlength=40), np.bincount(copy, minlength=40)
    supremum = ks_2samp(private, copy).statistic
    assert float(KolmogorovSmirnov(s).rows(h) / 500) == pytest.approx(supremum, abs=1e-12)
    way = wasserstein_distance(private, copy) / 39
    assert float(EarthMovers(s).rows(h) / 500) == pytest.approx(way, abs=1e-12)
    assert float(TotalVariation(s).rows(h) / 500) == pytest.approx(
        np.abs(h / 500 - s / 300).sum() / 2, abs=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_counts_beyond_64_bits_are_exact(kind: Any) -> None:
    private, copy = [2**40 + 1, 3, 2**41, 0], [2**42, 5, 1, 2**39 + 7]
    assert kind(counted(*copy)).rows(counted(*private)) == by_definition(kind, private, copy)


@pytest.mark.parametrize("kind", KINDS)
def test_the_ends(kind: Any) -> None:
    """Nothing between a table and a multiple of it; all of it where no cell is common."""
    copy = counted(1, 0, 2, 5)
    assert kind(copy).rows(7 * copy) == 0
    assert kind(copy).rows(0 * copy) == 0
    assert kind(counted(0, 0, 3)).rows(counted(8, 0, 0)) == 8


def small_tables(cells: int, most: int) -> Iterator[tuple[int, ...]]:
    return (
        counts for counts in itertools.product(range(most + 1), repeat=cells) if sum(counts) <= most
    )


@pytest.mark.parametrize("kind", KINDS)
def test_one_row_moves_a_small_table_by_at_most_one(kind: Any) -> None:
    """Every table of up to four rows in up to three cells, every copy, every cell; 1 is reached."""
    largest = Fraction(0)
    for cells in (1, 2, 3):
        for copy in small_tables(cells, 3):
            if not any(copy):
                continue
            distance = kind(counted(*copy))
            for table in small_tables(cells, 4):
                before = distance.rows(counted(*table))
                for place in range(cells):
                    after = distance.rows(counted(*table) + np.eye(cells, dtype=int)[place])
                    bound = 1 - Fraction(copy[place], sum(copy)) if kind is TotalVariation else 1
                    assert abs(after - before) <= bound
                    largest = max(largest, abs(after - before))
    assert largest == 1


@pytest.mark.parametrize("kind", KINDS)
@given(pair=PAIRS, data=st.data())
@examples(60)
def test_one_row_moves_a_drawn_table_by_at_most_one(
    kind: Any, pair: tuple[list[int], list[int]], data: st.DataObject
) -> None:
    private, copy = pair
    place = data.draw(st.integers(0, len(copy) - 1))
    distance, more = kind(counted(*copy)), list(private)
    more[place] += 1
    change = abs(distance.rows(counted(*more)) - distance.rows(counted(*private)))
    share = Fraction(copy[place], sum(copy))
    assert change <= (1 - share if kind is TotalVariation else 1)


def test_the_bound_of_the_total_variation_is_reached() -> None:
    """A row more in a cell that already has too many, while all others have too few."""
    distance = TotalVariation(counted(1, 1, 2))
    before, after = distance.rows(counted(10, 1, 0)), distance.rows(counted(11, 1, 0))
    assert after - before == Fraction(3, 4)


def test_a_mean_is_weighed_and_moves_by_at_most_one() -> None:
    first, second = TotalVariation(counted(1, 3)), KolmogorovSmirnov(counted(1, 1, 0))
    mean = MeanDistance(((Fraction(1, 4), first), (Fraction(3, 4), second)))
    tables = [counted(4, 2), counted(1, 2, 3)]
    own = first.rows(tables[0]), second.rows(tables[1])
    assert mean.rows(tables) == Fraction(1, 4) * own[0] + Fraction(3, 4) * own[1]
    for a, b in itertools.product(range(2), range(3)):
        moved = [tables[0] + np.eye(2, dtype=int)[a], tables[1] + np.eye(3, dtype=int)[b]]
        assert abs(mean.rows(moved) - mean.rows(tables)) <= 1


@pytest.mark.parametrize("weights", [(HALF, HALF, HALF), (2 * HALF, HALF, -HALF), (HALF,)])
def test_weights_that_are_no_mean_are_refused(weights: tuple[Fraction, ...]) -> None:
    """They would have another sensitivity."""
    with pytest.raises(ParameterError, match="sum must be 1"):
        MeanDistance(tuple((weight, TotalVariation(counted(1))) for weight in weights))


def test_facts_tell_copies_and_distances_apart() -> None:
    copies = [counted(1, 2), counted(2, 1), counted(1, 2, 0)]
    kinds: list[Any] = KINDS
    every: list[Distance] = [kind(copy) for kind in kinds for copy in copies]
    one = TotalVariation(copies[0])
    every += [MeanDistance(((HALF, one), (HALF, other))) for other in every[:2]]
    assert len({str(distance.facts()) for distance in every}) == len(every)
    assert TotalVariation(counted(1, 2)).facts() == one.facts()


def test_a_copy_is_kept_as_it_was() -> None:
    copy = counted(1, 2)
    distance = TotalVariation(copy)
    copy[0] = 50
    assert distance.rows(counted(1, 2)) == 0


@pytest.mark.parametrize("copy", [[], [0, 0], [3, -1]])
def test_a_copy_without_rows_is_refused(copy: list[int]) -> None:
    with pytest.raises(ParameterError, match="copy that has rows"):
        TotalVariation(counted(*copy))


def test_counts_of_other_cells_are_refused() -> None:
    with pytest.raises(ParameterError, match="2 counts for 3 cells"):
        TotalVariation(counted(1, 2, 3)).rows(counted(1, 2))


@given(
    rows=st.fractions(min_value=-50, max_value=50, max_denominator=60),
    change=st.fractions(min_value=-3, max_value=3, max_denominator=60),
)
@examples(200)
def test_rounding_keeps_what_rows_move(rows: Fraction, change: Fraction) -> None:
    assert abs(whole_rows(rows) - rows) <= HALF
    moved = abs(whole_rows(rows + change) - whole_rows(rows))
    assert moved <= -(-abs(change).numerator // abs(change).denominator)


def test_rounding_of_halves_goes_up() -> None:
    """To the even number instead, 1/2 and 3/2 would become 0 and 2."""
    assert [whole_rows(Fraction(k, 2)) for k in range(-3, 4)] == [-1, -1, 0, 0, 1, 1, 2]
