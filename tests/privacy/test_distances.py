"""Releases of distances are private on neighbouring tables, exactly and without sampling.

A recording noise keeps each statistic and scale that a release asks for, so the loss between two
tables is known as a fraction: for Laplace noise the sum of ``|shift| / scale``, for cube noise the
largest, for Gaussian noise the sum of ``shift^2 / (2 sigma^2)``.  Broken twins must be caught by
the same checks.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders.distances import vector
from pqd.deciders.distances.cells import release_cells
from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.distances.statistics import (
    Distance,
    EarthMovers,
    KolmogorovSmirnov,
    MeanDistance,
    TotalVariation,
    whole_rows,
)
from pqd.deciders.distances.vector import CubeVector, GaussianVector
from pqd.deciders.noise import Noise
from tests.support import tape
from tests.support.drawing import examples
from tests.support.neighbours import loss

# A row has a value of a column of three, the last of which the copy never has, and of one of two.
Row = tuple[int, int]
Rows = Sequence[Row]
ROWS: list[Row] = list(itertools.product(range(3), range(2)))
COPY = np.array([[4, 1], [2, 5], [0, 0]])
HALF = Fraction(1, 2)
EPSILON, RHO = Fraction(7, 10), Fraction(1, 5)
DECIDER = DistanceDecider()
FIRST, SECOND = TotalVariation(COPY.sum(axis=1)), TotalVariation(COPY.sum(axis=0))
BOTH = TotalVariation(COPY)


def counts(rows: Rows) -> Any:
    """Rows of each pair of values."""
    table = np.zeros((3, 2), dtype=np.int64)
    for row in rows:
        table[row] += 1
    return table


def distances(rows: Rows) -> list[Fraction]:
    """Every kind of distance, and the rows with a value that the copy never has."""
    table = counts(rows)
    first, second = table.sum(axis=1), table.sum(axis=0)
    mean = MeanDistance(((Fraction(1, 3), FIRST), (Fraction(2, 3), BOTH)))
    return [
        FIRST.rows(first),
        SECOND.rows(second),
        BOTH.rows(table),
        KolmogorovSmirnov(FIRST.copy).rows(first),
        EarthMovers(FIRST.copy).rows(first),
        mean.rows([first, table]),
        Fraction(int(first[-1])),
    ]


NUMBERS = len(distances([]))


def neighbours(rows: Rows) -> Iterator[list[Row]]:
    """Tables with one row more or less."""
    yield from ([*rows, row] for row in ROWS)
    for row in set(rows):
        rest = list(rows)
        rest.remove(row)
        yield rest


def small_tables(most: int) -> Iterator[Rows]:
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(ROWS, size)


SMALL = list(small_tables(3))
# Many rows at few places: shares that are no whole numbers of rows, and distances of all sizes.
LARGE: list[Rows] = [
    [row for row, times in zip(ROWS, sizes, strict=True) for _ in range(times)]
    for sizes in [(30, 9, 14, 41, 0, 1), (1, 50, 3, 0, 8, 8), (25, 6, 12, 31, 0, 0)]
]
TABLES = st.lists(st.sampled_from(ROWS), max_size=40)


class Recorder:
    """Keeps what it is asked for, and gives nothing of it back."""

    simulated = True

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[int, ...], Fraction]] = []

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.calls.append(("laplace", (statistic,), scale))
        return 0

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        self.calls.append(("gaussian", (statistic,), sigma))
        return 0

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        self.calls.append(("cube", tuple(statistics), scale))
        return (0,) * len(statistics)

    def choose(self, logit: float) -> bool:
        raise AssertionError(logit)

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        raise AssertionError(scores, scale)


Release = Callable[[Rows, Noise], Sequence[int]]


def lost(release: Release, rows: Rows, other: Rows) -> Fraction | float:
    """Privacy loss between two tables, in epsilon or rho; infinite if noise hides not all."""
    first, second = Recorder(), Recorder()
    if tuple(release(rows, first)) != tuple(release(other, second)):
        return math.inf
    total = Fraction(0)
    for (kind, a, scale), (same, b, equal) in zip(first.calls, second.calls, strict=True):
        assert (kind, scale) == (same, equal)
        shift = max(abs(x - y) for x, y in zip(a, b, strict=True))
        total += shift / scale if kind != "gaussian" else shift**2 / (2 * scale**2)
    return total


def worst(release: Release, tables: Iterable[Rows]) -> Fraction | float:
    return max(lost(release, rows, other) for rows in tables for other in neighbours(rows))


def cube(rows: Rows, noise: Noise) -> Sequence[int]:
    return CubeVector(NUMBERS).release(distances(rows), len(rows), EPSILON, noise)


def gaussian(rows: Rows, noise: Noise) -> Sequence[int]:
    return GaussianVector(NUMBERS).release(distances(rows), len(rows), RHO, noise)


def cells(rows: Rows, noise: Noise) -> Sequence[int]:
    return release_cells(counts(rows).ravel(), EPSILON, noise)


def confusion(rows: Rows, noise: Noise) -> Sequence[int]:
    """True class by predicted class, where the prediction is a function of the row alone."""
    matrix = np.zeros((2, 2), dtype=np.int64)
    for value, true in rows:
        matrix[true, int(value != 1)] += 1
    return release_cells(matrix.ravel(), EPSILON, noise)


RELEASES = {"cube": cube, "gaussian": gaussian, "cells": cells, "confusion": confusion}
PRICES = {"cube": EPSILON, "gaussian": RHO, "cells": EPSILON, "confusion": EPSILON}


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_costs_what_it_says_on_small_tables(name: str) -> None:
    assert worst(RELEASES[name], [*SMALL, *LARGE]) <= PRICES[name]


@pytest.mark.parametrize("name", RELEASES)
@given(rows=TABLES)
@examples(30)
def test_a_release_costs_what_it_says_on_drawn_tables(name: str, rows: Rows) -> None:
    assert worst(RELEASES[name], [rows]) <= PRICES[name]


@pytest.mark.parametrize("name", ["cube", "cells"])
def test_and_no_less_than_nearly_all_of_it(name: str) -> None:
    """A row of a value that the copy never has moves nearly every number by one."""
    assert worst(RELEASES[name], SMALL) >= PRICES[name] * Fraction(8, 10)


def test_half_rows_cost_no_more() -> None:
    assert worst(_way, SMALL) == EPSILON


@given(rows=TABLES, others=st.lists(st.sampled_from(ROWS), min_size=3, max_size=3))
@examples(60)
def test_a_person_of_three_rows_costs_as_many(rows: Rows, others: Rows) -> None:
    """Group privacy of the pure release; the Gaussian one is told of the rows."""

    def grouped(table: Rows, noise: Noise) -> Sequence[int]:
        return GaussianVector(NUMBERS, rows=3).release(distances(table), len(table), RHO, noise)

    assert lost(cube, rows, [*rows, *others]) <= 3 * EPSILON
    assert lost(grouped, rows, [*rows, *others]) <= RHO


Accept = Callable[[Rows, Fraction], float]


def accept_of(place: int) -> Accept:
    return lambda rows, tau: DECIDER.accept(distances(rows)[place], len(rows), tau, EPSILON)


def worst_verdict(accept: Accept, tables: Iterable[Rows]) -> float:
    return max(
        loss(accept(rows, tau), accept(other, tau))
        for tau in (Fraction(1, 20), Fraction(2, 5), Fraction(9, 10))
        for rows in tables
        for other in neighbours(rows)
    )


@pytest.mark.parametrize("place", range(NUMBERS - 1))
def test_a_verdict_costs_epsilon(place: int) -> None:
    assert worst_verdict(accept_of(place), [*SMALL[:40], *LARGE]) <= float(EPSILON) * (1 + 1e-6)


@given(rows=TABLES)
@examples(30)
def test_a_verdict_costs_epsilon_on_drawn_tables(rows: Rows) -> None:
    assert worst_verdict(accept_of(2), [rows]) <= float(EPSILON) * (1 + 1e-6)


def test_and_it_uses_all_of_it() -> None:
    assert worst_verdict(accept_of(2), LARGE) >= float(EPSILON) * 0.99


# Broken twins.


@dataclass(frozen=True)
class Mutant:
    """A broken twin of a release, and what it claims to cost."""

    name: str
    release: Release
    price: Fraction


def _vector(of: Callable[[Rows], list[Fraction]], n: Callable[[Rows], int] = len) -> Release:
    return lambda rows, noise: CubeVector(NUMBERS).release(of(rows), n(rows), EPSILON, noise)


def _sensitivity_half(rows: Rows, noise: Noise) -> Sequence[int]:
    """A total variation taken to move by half a row, as the sum of differences over two."""

    class Louder(Recorder):
        def laplace(self, statistic: int, scale: Fraction) -> int:
            return noise.laplace(statistic, scale)

        def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
            return noise.cube(statistics, scale / 2)

    return cube(rows, Louder())


def _radii_of_their_own(rows: Rows, noise: Noise) -> Sequence[int]:
    """Each distance at the budget of all."""
    of_rows, of_all = CubeVector(NUMBERS).shares(EPSILON)
    each = (noise.cube([whole_rows(distance)], 1 / of_all)[0] for distance in distances(rows))
    return noise.laplace(len(rows), 1 / of_rows), *each


def _rows_without_noise(rows: Rows, noise: Noise) -> Sequence[int]:
    return (len(rows), *cube(rows, noise)[1:])


def _private_edges(rows: Rows) -> list[Fraction]:
    """Two bins, cut at the private median of the first column in place of the copy's."""
    values = sorted(value for value, _ in rows)
    median = values[len(values) // 2] if values else 0
    private = [sum(value < median for value in values), sum(value >= median for value in values)]
    first = COPY.sum(axis=1)
    copy = [int(first[:median].sum()), int(first[median:].sum())]
    return [TotalVariation(np.array(copy)).rows(private) if any(copy) else Fraction(0)] * NUMBERS


def _way(rows: Rows, noise: Noise) -> Sequence[int]:
    """One earth mover's distance: from a copy that has the first value alone it is in half rows."""
    distance = EarthMovers(np.array([1, 0, 0])).rows(counts(rows).sum(axis=1))
    return CubeVector(1).release([distance], len(rows), EPSILON, noise)


def _bankers(rows: Rows, noise: Noise) -> Sequence[int]:
    """Halves rounded to the even number: 1/2 and 3/2 become 0 and 2."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector, "whole_rows", round)
        return _way(rows, noise)


def _grid(rows: Rows) -> list[Fraction]:
    """A distance in steps of its own grid, released as if a step were a row."""
    return [2 * BOTH.copy_rows * distance for distance in distances(rows)]


def _gaussian_of(numbers: int, rows_moved: int) -> Release:
    def release(rows: Rows, noise: Noise) -> Sequence[int]:
        of_rows, of_each = GaussianVector(numbers, rows_moved).sigmas(RHO)
        whole = (whole_rows(distance) for distance in distances(rows))
        return noise.gaussian(len(rows), of_rows), *(noise.gaussian(x, of_each) for x in whole)

    return release


def _doubled_cells(rows: Rows, noise: Noise) -> Sequence[int]:
    """A row counted in the cells of two columns, each at the whole epsilon."""
    table = counts(rows)
    return release_cells([*table.sum(axis=1), *table.sum(axis=0)], EPSILON, noise)


MUTANTS = [
    Mutant("distances with a sensitivity of 1/2", _sensitivity_half, EPSILON),
    Mutant("distances with a radius for each", _radii_of_their_own, EPSILON),
    Mutant("distances with n without noise", _rows_without_noise, EPSILON),
    Mutant("distances with private bin edges", _vector(_private_edges), EPSILON),
    Mutant("distances rounded to even numbers", _bankers, EPSILON),
    Mutant("distances in steps of their grid", _vector(_grid), EPSILON),
    Mutant("Gaussian distances without sqrt(K)", _gaussian_of(1, 1), RHO),
    Mutant("cells of two columns at one epsilon", _doubled_cells, EPSILON),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_release_is_caught(
    mutant: Mutant, record_property: Callable[[str, object], None]
) -> None:
    found = worst(mutant.release, [*SMALL, *LARGE])
    assert found > mutant.price, f"{mutant.name} passes"
    record_property("mutant", mutant.name)
    record_property("caught_by", f"exact neighbour check: loses {float(found / mutant.price):.2f}")


def test_a_person_of_two_rows_is_caught_where_they_are_forgotten() -> None:
    release, rows = _gaussian_of(NUMBERS, 1), [(0, 0)] * 3
    assert lost(release, rows, [*rows, (2, 1), (2, 1)]) > RHO


def _steep(rows: Rows, tau: Fraction) -> float:
    """A margin that is divided by 1 in place of 1 + tau."""
    s, a = math.ceil(tau * len(rows) - distances(rows)[2]), math.exp(-float(EPSILON))
    return 1 - a**s / (1 + a) if s >= 1 else a ** (1 - s) / (1 + a)


def _of_the_copys_size(rows: Rows, tau: Fraction) -> float:
    """A margin that takes a private share, with n without noise in it, for a public one."""
    share = distances(rows)[2] / max(len(rows), 1)
    s, a = math.ceil(50 * (tau - share)), math.exp(-float(EPSILON))
    return 1 - a**s / (1 + a) if s >= 1 else a ** (1 - s) / (1 + a)


@pytest.mark.parametrize("broken", [_steep, _of_the_copys_size])
def test_a_broken_margin_is_caught(
    broken: Accept, record_property: Callable[[str, object], None]
) -> None:
    found = worst_verdict(broken, [*SMALL[:40], *LARGE])
    assert found > float(EPSILON) * 1.01
    record_property("mutant", f"inv_distance with {broken.__name__.strip('_').replace('_', ' ')}")
    record_property("caught_by", f"exact neighbour check: loses {found / float(EPSILON):.2f}")


def test_conformers_of_distance() -> None:
    every: list[Distance] = [FIRST, KolmogorovSmirnov(FIRST.copy), EarthMovers(FIRST.copy)]
    every.append(MeanDistance(((HALF, FIRST), (HALF, BOTH))))
    assert len({distance.id for distance in every}) == 4


# Parts of a row


def rounded_before(cells: Sequence[int], epsilon: Fraction, noise: Any, parts: int) -> Any:
    """Broken twin: each cell is rounded to whole rows before noise is added."""
    rows = [whole_rows(Fraction(int(each), parts)) for each in cells]
    return tuple(noise.laplace(each, 1 / epsilon) for each in rows)


def worst_parts(release: Callable[..., Any], cells: int) -> Fraction:
    """Largest loss by a person who has one row in parts, in any cells, over small tables."""
    parts, worst = 4, Fraction(0)
    for table in itertools.product(range(5), repeat=cells):
        for own in itertools.product(range(parts + 1), repeat=cells):
            if sum(own) != parts:
                continue
            here, there = tape.Tape(), tape.Tape()
            release(table, EPSILON, here, parts)
            release([a + b for a, b in zip(table, own, strict=True)], EPSILON, there, parts)
            worst = max(worst, tape.loss(here.drawn, there.drawn).epsilon)
    return worst


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_cells_in_parts_of_a_row_cost_epsilon(cells: int) -> None:
    assert worst_parts(release_cells, cells) == EPSILON


def test_cells_that_are_rounded_before_the_noise_are_caught(
    record_property: Callable[[str, object], None],
) -> None:
    assert worst_parts(rounded_before, 3) > EPSILON
    record_property("mutant", "cells in parts of a row, rounded before the noise")
    record_property("caught_by", "a person in several cells: more than epsilon")
