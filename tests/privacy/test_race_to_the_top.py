"""Race-to-the-Top spends at most epsilon on every row: exact fractions, for every value."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from pqd.deciders import Lattice, for_lattice
from pqd.deciders.single.sum import TightRaceToTheTopSum

EPSILON = Fraction(1, 3)
# Every small GS, and around powers of two far above.
BOUNDS = [*range(1, 130), 377, 1000, 1023, 1024, 1025, 4095, 4096, 4097]
FAR = [2**20 - 1, 2**20, 2**20 + 1, 500_000, 2**40, 2**40 + 1]


def row_loss(race: Any, value: int) -> Fraction:
    """The privacy loss of one row: the sum of its moves over the rungs, each over its scale."""
    pairs = zip(race.rungs, race.scales(EPSILON), strict=True)
    return sum((value / scale for rung, scale in pairs if value <= rung), Fraction(0))


def worst_row(race: Any) -> Fraction:
    """The largest loss of any value: at a rung it is largest, up to 4,097 every value is tried."""
    values = (
        range(race.upper + 1) if race.upper <= 4097 else (0, 1, 3, *race.rungs[:-1], race.upper)
    )
    return max(row_loss(race, value) for value in values)


@pytest.mark.parametrize("name", ["r2t_sum", "r2t_sum_tight"])
def test_no_row_loses_more_than_epsilon(name: str) -> None:
    for upper in BOUNDS + FAR:
        race: Any = for_lattice(name, "SUM", Lattice(0, upper))
        assert worst_row(race) <= EPSILON, upper


def test_the_tight_scales_leave_nothing() -> None:
    for upper in BOUNDS[1:] + FAR:
        race: Any = for_lattice("r2t_sum_tight", "SUM", Lattice(0, upper))
        assert row_loss(race, 2) == EPSILON, upper


@dataclass(frozen=True, slots=True, kw_only=True)
class Quieter(TightRaceToTheTopSum):
    """A broken twin: noise 30 % too small.

    The exact check of verdicts misses it from GS = 4 on: a verdict shows only the maximum.
    """

    @property
    def parts(self) -> Fraction:
        part: Fraction = TightRaceToTheTopSum.parts.__get__(self)
        return part * Fraction(7, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undivided(TightRaceToTheTopSum):
    """A broken twin: each rung has the whole budget."""

    @property
    def parts(self) -> Fraction:
        return Fraction(1)


@pytest.mark.parametrize("broken", [Quieter, Undivided])
def test_a_broken_twin_is_caught(broken: type[TightRaceToTheTopSum]) -> None:
    for upper in BOUNDS + FAR:
        if upper >= 4:
            assert worst_row(broken(upper=upper)) > EPSILON, upper
