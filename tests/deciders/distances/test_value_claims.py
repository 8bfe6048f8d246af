"""Claims about values: sign, step and ends by brute force; broken twins are caught."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pqd.deciders import ParameterError
from pqd.deciders.distances.claims import Claim
from pqd.deciders.distances.statistics import FilledVariation, TotalVariation
from pqd.deciders.distances.value_claims import (
    AllHold,
    Chance,
    CountKept,
    FewLost,
    FilledBelow,
    normal_deviations,
    spare_rows,
)

Counts = tuple[int, ...]
Margin = Callable[[Counts], int]

COPY = np.array([2, 3, 1])
# Few deviations, so that small tables lie on either side of the ends.
CHANCE = Chance(Fraction(1, 2), 1)
KEPT = CountKept((1,), copy=4, copy_rows=10, tolerance=Fraction(1, 5), chance=CHANCE)
LOST = FewLost((2,), singles=1, copy_rows=10, share=Fraction(1, 10), chance=Chance(Fraction(0), 0))
TAUS = [Fraction(1, 20), Fraction(1, 3), Fraction(9, 10)]


def tables(most: int = 6) -> Iterator[Counts]:
    return itertools.product(range(most), repeat=3)


def moved(counts: Counts) -> Iterator[Counts]:
    """Tables with one row more or less."""
    for place, count in enumerate(counts):
        for change in (1, -1):
            if count + change >= 0:
                yield (*counts[:place], count + change, *counts[place + 1 :])


def step(margin: Margin) -> int:
    """Largest step of a margin between small tables and their neighbours."""
    return max(abs(margin(t) - margin(other)) for t in tables() for other in moved(t))


def of(claim: Any, rows: int = 10) -> Margin:
    return lambda counts: claim.margin(np.array(counts), rows)


@pytest.mark.parametrize("tau", TAUS)
def test_a_distance_among_filled_rows_has_the_sign_of_the_truth_and_a_step_of_one(
    tau: Fraction,
) -> None:
    claim = FilledBelow(FilledVariation(COPY), tau)
    shares = [Fraction(3, 4), Fraction(1, 4)]
    for counts in tables():
        filled = sum(counts[1:])
        gaps = [abs(h - filled * p) for h, p in zip(counts[1:], shares, strict=True)]
        distance = sum(gaps, Fraction(0)) / 2
        assert claim.distance.rows(np.array(counts)) == distance
        assert (of(claim)(counts) >= 1) == (filled > 0 and distance / filled < tau)
    assert step(of(claim)) == 1
    assert all(of(claim)((a, 2, 1)) == of(claim)((0, 2, 1)) for a in range(9))


def test_a_distance_among_filled_rows_moves_by_at_most_one() -> None:
    distance = FilledVariation(COPY)
    steps = (
        abs(distance.rows(np.array(t)) - distance.rows(np.array(other)))
        for t in tables()
        for other in moved(t)
    )
    assert max(steps) == Fraction(3, 4)


@pytest.mark.parametrize("copy", [0, 1, 4, 10])
@pytest.mark.parametrize("rows", [5, 10, 30])
def test_a_count_is_kept_exactly_within_its_ends(copy: int, rows: int) -> None:
    claim = replace(KEPT, copy=copy)
    f, e, z = Fraction(rows, 10), Fraction(rows * copy, 10), Fraction(1, 2)
    for count in range(3 * rows):
        middle = e + f * z**2 / 2
        # The ends are compared without a root: both sides of the inequality are squared.
        beyond = abs(count - middle) - e / 5 - 1
        below = count < middle
        within = beyond < 0 or beyond**2 < z**2 * (e * (1 + f) + f**2 * z**2 / 4)
        low, _ = claim.ends(rows)
        if below and low < 0:
            within = True
        assert (of(claim, rows)((7, count, 9)) >= 1) == within, count
    assert step(of(claim, rows)) == 1


def test_a_lower_end_below_zero_is_left_out_so_that_no_count_fails_it() -> None:
    claim = replace(KEPT, copy=1)
    assert claim.ends(10)[0] < 0
    assert of(claim)((3, 0, 0)) >= 1


@pytest.mark.parametrize("rows", [5, 10, 30])
def test_few_rows_are_lost_exactly_up_to_the_allowance(rows: int) -> None:
    claim = replace(LOST, singles=2, chance=Chance(Fraction(1, 2), 3))
    f, z = rows / 10, 0.5
    allowed = rows / 10 + 2 * f + z * math.sqrt(2 * f * (1 + f)) + z * z * f + 3
    assert claim.most(rows) == math.floor(allowed)
    for lost in range(2 * rows):
        assert (of(claim, rows)((5, 5, lost)) >= 1) == (lost <= allowed)
    assert step(of(claim, rows)) == 1


def test_all_claims_hold_exactly_if_their_least_margin_is_one_or_more() -> None:
    parts = (KEPT, LOST, FilledBelow(FilledVariation(COPY), Fraction(1, 3)))
    every = AllHold(parts)

    def margin(counts: Counts) -> int:
        return every.margin([np.array(counts)] * 3, 10)

    for counts in tables():
        margins = [of(part)(counts) for part in parts]
        assert (margin(counts) >= 1) == all(each >= 1 for each in margins)
    assert step(margin) == 1


def test_claims_that_allow_more_than_a_quarter_of_the_rows_are_not_judged() -> None:
    wide = Chance(normal_deviations(100), spare_rows("0.25"))
    rare = CountKept((1,), copy=1, copy_rows=60, tolerance=Fraction(1, 5), chance=wide)
    assert not rare.judged(60)
    assert rare.judged(60_000)
    continuous = FewLost((2,), singles=60, copy_rows=60, share=Fraction(0), chance=wide)
    assert not continuous.judged(60)
    assert replace(continuous, singles=1, copy_rows=10_000).judged(10_000)


def test_the_rows_that_noise_needs_and_the_deviations_of_many_statements() -> None:
    assert (spare_rows("0.25"), spare_rows(1)) == (23, 6)
    assert float(normal_deviations(1)) == pytest.approx(2.241403, abs=1e-5)
    assert float(normal_deviations(500)) == pytest.approx(4.055627, abs=1e-5)


def test_claims_need_rows_and_a_copy_that_has_filled_rows() -> None:
    with pytest.raises(ParameterError, match="both need a row"):
        of(KEPT, 0)((1, 1, 1))
    with pytest.raises(ParameterError, match="filled rows needs a copy that has some"):
        FilledVariation(np.array([5, 0, 0]))
    with pytest.raises(ParameterError, match="needs at least one"):
        AllHold(())


def test_claims_with_ends_in_rows_need_a_number_of_rows() -> None:
    filled = FilledBelow(FilledVariation(COPY), TAUS[0])
    assert KEPT.needs_rows
    assert LOST.needs_rows
    assert not filled.needs_rows
    assert AllHold((filled, LOST)).needs_rows
    assert not AllHold((filled,)).needs_rows


def test_facts_tell_claims_apart() -> None:
    facts: list[Claim] = [
        KEPT,
        replace(KEPT, cells=(2,)),
        replace(KEPT, copy=5),
        replace(KEPT, copy_rows=11),
        replace(KEPT, tolerance=Fraction(1, 4)),
        replace(KEPT, chance=Chance(Fraction(1, 2), 2)),
        LOST,
        replace(LOST, singles=2),
        replace(LOST, share=Fraction(1, 9)),
        FilledBelow(FilledVariation(COPY), TAUS[0]),
        FilledBelow(FilledVariation(COPY), TAUS[1]),
        FilledBelow(FilledVariation(np.array([2, 2, 2])), TAUS[1]),
        AllHold((KEPT, LOST)),
    ]
    assert len({str(each.facts()) for each in facts}) == len(facts)


# Broken twins: margins that a gate must not take the least of.


def share_of_own_rows(counts: Counts) -> int:
    """Ends of a rare value from the table's own number of rows, which a row moves."""
    return KEPT.margin(np.array(counts), 2 * max(1, sum(counts)))


def without_division(counts: Counts) -> int:
    """A distance among filled rows whose gap is not divided by 1 + tau."""
    claim = FilledBelow(FilledVariation(COPY), TAUS[2])
    return math.ceil(claim.tau * sum(counts[1:]) - claim.distance.rows(np.array(counts)))


def all_rows(counts: Counts) -> int:
    """A distance among filled rows that takes all rows for filled: its sign is wrong."""
    distance = FilledVariation(COPY)
    return math.ceil((TAUS[1] * sum(counts) - distance.rows(np.array(counts))) / (1 + TAUS[1]))


def summed(counts: Counts) -> int:
    """The sum of two margins in place of the least."""
    return of(KEPT)(counts) + of(FilledBelow(FilledVariation(COPY), TAUS[1]))(counts)


def rescaled(counts: Counts) -> int:
    """Shares of the filled rows, multiplied up to all rows: few filled rows move it without end."""
    filled, distance = sum(counts[1:]), TotalVariation(COPY[1:])
    if not filled:
        return 0
    share = distance.rows(np.array(counts[1:])) / filled
    return math.ceil(sum(counts) * (TAUS[1] - share))


@pytest.mark.parametrize("twin", [share_of_own_rows, without_division, summed, rescaled])
def test_a_broken_twin_moves_by_more_than_one(twin: Margin) -> None:
    assert step(twin) > 1


def test_a_twin_that_takes_all_rows_for_filled_says_yes_where_the_truth_is_no() -> None:
    empty = (5, 0, 1)
    assert all_rows(empty) >= 1
    assert of(FilledBelow(FilledVariation(COPY), TAUS[1]))(empty) <= 0
