"""Relations kept: scores, margin and release are private on neighbouring tables, exactly.

The scores are held to a plain computation with fractions.  Every table of up to two rows is
compared with every neighbour.  Broken twins must be caught by the same checks.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders import ParameterError
from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.distances.decider import RelationsDecider
from pqd.deciders.distances.relations import Relations, RelationsKept, release_relations
from pqd.deciders.distances.statistics import whole_rows
from pqd.engine.marginals import EveryRow, MarginalCounts, RowMap
from pqd.marginals.measurements import RelationsMeasurement
from tests.support.drawing import examples

# Three columns of 3, 2 and 2 values, so three pairs; the copy never has the last first value.
Row = tuple[int, int, int]
Rows = Sequence[Row]
SIZES = (3, 2, 2)
ROWS: list[Row] = list(itertools.product(range(3), range(2), range(2)))
PAIRS = [(0, 1), (0, 2), (1, 2)]
COPY: list[Row] = [(0, 0, 0)] * 4 + [(0, 1, 1)] * 1 + [(1, 1, 0)] * 2 + [(1, 0, 1)] * 3
SIGMAS = [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)]
EPSILON = Fraction(7, 10)


def tables(rows: Rows) -> list[Any]:
    """Rows in the cells of each pair."""
    counts = [np.zeros((SIZES[a], SIZES[b]), dtype=np.int64) for a, b in PAIRS]
    for row in rows:
        for count, (a, b) in zip(counts, PAIRS, strict=True):
            count[row[a], row[b]] += 1
    return counts


RELATIONS = Relations(tuple(tables(COPY)))


def share(rows: Rows, columns: Sequence[int], values: Sequence[int]) -> Fraction:
    number = sum(all(row[c] == v for c, v in zip(columns, values, strict=True)) for row in rows)
    return Fraction(number, len(rows)) if rows else Fraction(0)


def variation(rows: Rows, columns: Sequence[int], of: Callable[..., Fraction]) -> Fraction:
    """Total variation in rows from shares that are a function of the values."""
    cells = itertools.product(*(range(SIZES[column]) for column in columns))
    n = len(rows)
    return sum((abs(n * share(rows, columns, v) - n * of(*v)) for v in cells), Fraction(0)) / 2


def plain(rows: Rows) -> list[Fraction]:
    """T, T0 and M by their definitions."""
    scores = [Fraction(0)] * 3
    for a, b in PAIRS:
        scores[0] += variation(rows, (a, b), lambda x, y, a=a, b=b: share(COPY, (a, b), (x, y)))
        scores[1] += variation(
            rows, (a, b), lambda x, y, a=a, b=b: share(COPY, (a,), (x,)) * share(COPY, (b,), (y,))
        )
        scores[2] += max(
            variation(rows, (c,), lambda x, c=c: share(COPY, (c,), (x,))) for c in (a, b)
        )
    return [score / len(PAIRS) for score in scores]


def scores(rows: Rows) -> list[Fraction]:
    return list(RELATIONS.rows(tables(rows)))


def margins(rows: Rows) -> list[Fraction]:
    counts = tables(rows)
    return [Fraction(RelationsKept(RELATIONS, sigma).margin(counts)) for sigma in SIGMAS[::2]]


def neighbours(rows: Rows) -> Iterator[list[Row]]:
    yield from ([*rows, row] for row in ROWS)


SMALL = [rows for size in range(3) for rows in itertools.combinations_with_replacement(ROWS, size)]
# Tables at which the steps are large, since every cell has too many rows or too few.
LARGE: list[Rows] = [
    [(0, 0, 0)] * 30 + [(1, 1, 0)] * 9,
    [(2, 1, 1)] * 8,
    COPY * 3,
    [(0, 1, 0)] * 20 + [(1, 0, 1)] * 20,
    [(0, 0, 1)] * 11 + [(1, 1, 1)] * 13 + [(2, 0, 0)],
]
TABLES = st.lists(st.sampled_from(ROWS), max_size=40)


def step(numbers: Callable[[Rows], list[Fraction]], rows: Rows) -> Fraction:
    """Largest change of any number when a row is added."""
    here = numbers(rows)
    return max(
        abs(a - b) for other in neighbours(rows) for a, b in zip(here, numbers(other), strict=True)
    )


@given(rows=TABLES)
@examples(30)
def test_scores_are_what_they_are_defined_as(rows: Rows) -> None:
    assert scores(rows) == plain(rows)


@pytest.mark.parametrize("numbers", [scores, margins])
def test_one_row_moves_each_number_by_at_most_one(
    numbers: Callable[[Rows], list[Fraction]],
) -> None:
    assert max(step(numbers, rows) for rows in [*SMALL, *LARGE]) <= 1


@given(rows=TABLES)
@examples(20)
def test_one_row_moves_drawn_tables_by_at_most_one(rows: Rows) -> None:
    assert max(step(scores, rows), step(margins, rows)) <= 1


@given(rows=TABLES)
@examples(100)
def test_the_margin_has_the_sign_of_the_claim(rows: Rows) -> None:
    pairs, product, columns = plain(rows)
    assert columns <= min(pairs, product)
    for sigma, margin in zip(SIGMAS[::2], margins(rows), strict=True):
        there = product > columns
        kept = 1 - (pairs - columns) / (product - columns) if there else Fraction(-1)
        assert (margin >= 1) == (there and kept > sigma)


def test_exact_pairs_keep_all_and_shuffled_columns_nothing() -> None:
    exact = RELATIONS.rows(tables(COPY * 5))
    assert exact.pairs == exact.columns == 0 < exact.product
    alone = [[row[c] for row in COPY] for c in range(3)]
    shuffled = [(x, y, z) for x in alone[0] for y in alone[1] for z in alone[2]]
    copy = Relations(tuple(tables(shuffled)))
    for rows in (COPY, *LARGE):
        row = copy.rows(tables(rows))
        assert row.pairs == row.product


def test_the_planned_margin_is_that_of_an_exact_copy_and_of_shuffled_columns() -> None:
    claim, rows = RelationsKept(RELATIONS, Fraction(1, 2)), COPY * 30
    there, decider = RELATIONS.rows(tables(rows)).product, RelationsDecider()
    exact = decider.margin(Fraction(0), there, Fraction(1, 2))
    assert exact == claim.margin(tables(rows))
    for epsilon in (1, Fraction(1, 10)):
        least = decider.tau_min(400, epsilon, 0.05).tau
        assert 0 < least < 1
        for tau, enough in ((Fraction(least), True), (Fraction(0.99 * least), False)):
            rates = decider.error_rates(400, tau, epsilon)
            assert (max(rates) <= 0.05) == enough
    assert decider.tau_min(10, Fraction(1, 10), 0.05).tau == math.inf


# Several copies, each with cells of its own: the second does not tell the last two first values
# apart and has other rows, and the third has the last pair alone.
OTHER: list[Row] = [(0, 1, 0)] * 3 + [(1, 0, 0)] * 3 + [(1, 1, 1)] * 2 + [(0, 0, 1)]


def coarse(rows: Rows) -> list[Any]:
    """Rows in the cells of the second copy."""
    return [np.vstack([each[0], each[1:].sum(0)]) if len(each) == 3 else each
            for each in tables(rows)]  # fmt: skip


COPIES: list[tuple[Relations, Callable[[Rows], list[Any]]]] = [
    (RELATIONS, tables),
    (Relations(tuple(coarse(OTHER))), coarse),
    (Relations((tables(OTHER)[2],)), lambda rows: [tables(rows)[2]]),
]
MAPS = [tuple(EveryRow(()) for _ in each.copies) for each, _ in COPIES]
MEASUREMENT = RelationsMeasurement(
    kinds=(),
    unit=None,
    epsilon=EPSILON,
    name="relations of 3 copies",
    relations=tuple((maps, each) for maps, (each, _) in zip(MAPS, COPIES, strict=True)),
)


class Recorder:
    """Keeps the statistics and the scale of each draw, and gives nothing of them back."""

    simulated = True

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[int, ...], Fraction]] = []

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        self.calls.append((tuple(statistics), scale))
        return (0,) * len(statistics)


Release = Callable[[Rows, Any], object]


def released(rows: Rows, noise: Any) -> object:
    """Release of the measurement of all copies."""
    every = zip(MAPS, COPIES, strict=True)
    counts: dict[RowMap, Any] = {
        one: n for maps, (_, own) in every for one, n in zip(maps, own(rows), strict=True)
    }
    return MEASUREMENT.run(MarginalCounts(counts), noise)


def lost(release: Release, rows: Rows, other: Rows) -> Fraction:
    """Privacy loss between two tables: of each cube the largest shift over its scale."""
    first, second = Recorder(), Recorder()
    release(rows, first), release(other, second)
    shifts = [
        max(abs(a - b) for a, b in zip(one, two, strict=True)) / scale
        for (one, scale), (two, _) in zip(first.calls, second.calls, strict=True)
    ]
    return sum(shifts, Fraction(0))


def most_lost(release: Release) -> Fraction:
    every = [*SMALL[::7], *LARGE]
    return max(lost(release, rows, other) for rows in every for other in neighbours(rows))


def test_a_release_of_several_copies_costs_epsilon() -> None:
    """One cube of all their scores, which are those that each copy has alone."""
    assert most_lost(released) <= EPSILON == MEASUREMENT.cost
    recorder = Recorder()
    released(LARGE[0], recorder)
    ((scores, scale),) = recorder.calls
    assert scale == 1 / EPSILON
    assert scores == tuple(
        whole_rows(score) for each, own in COPIES for score in each.rows(own(LARGE[0]))
    )
    assert MEASUREMENT.law == CubeLaw(9, 1 / EPSILON)


def _cube_of_each_copy(rows: Rows, noise: Any) -> object:
    """Each copy's scores with a cube of their own, at the epsilon of all."""
    return [release_relations([each.rows(own(rows))], EPSILON, noise) for each, own in COPIES]


def _scale_for_each_copy(rows: Rows, noise: Any) -> object:
    """One cube, whose scale is divided by the number of copies."""
    scores = [each.rows(own(rows)) for each, own in COPIES]
    return release_relations(scores, EPSILON * len(COPIES), noise)


def _sums_over_copies(rows: Rows, noise: Any) -> object:
    """The sums of the copies' scores in place of the scores."""
    every = np.array([each.rows(own(rows)) for each, own in COPIES]).sum(0)
    return noise.cube([whole_rows(score) for score in every], 1 / EPSILON)


@pytest.mark.parametrize("broken", [_cube_of_each_copy, _scale_for_each_copy, _sums_over_copies])
def test_a_broken_release_of_several_copies_is_caught(
    broken: Release, record_property: Callable[[str, object], None]
) -> None:
    found = most_lost(broken) / EPSILON
    assert found > 1
    record_property("mutant", f"relations with {broken.__name__.strip('_').replace('_', ' ')}")
    record_property("caught_by", f"exact neighbour check: loses {float(found):.2f}")


# Broken twins.


def _private_columns(rows: Rows) -> list[Fraction]:
    """Pairs against the product of the *private* columns, which moves with every row."""
    return [
        variation(
            rows, (a, b), lambda x, y, a=a, b=b: share(rows, (a,), (x,)) * share(rows, (b,), (y,))
        )
        for a, b in PAIRS
    ]


def _sum_of_columns(rows: Rows) -> list[Fraction]:
    """The sum of a pair's columns in place of the larger one."""
    return [
        sum(
            (variation(rows, (c,), lambda x, c=c: share(COPY, (c,), (x,))) for c in pair),
            Fraction(),
        )
        for pair in PAIRS
    ]


def _sum_over_pairs(rows: Rows) -> list[Fraction]:
    """The sum over the pairs in place of their mean."""
    return [len(PAIRS) * score for score in scores(rows)]


def _share(rows: Rows) -> list[Fraction]:
    """The share kept in thousandths, as if a row moved it by one of them."""
    pairs, product, columns = scores(rows)
    there = product > columns
    return [1000 * (1 - (pairs - columns) / (product - columns)) if there else Fraction(0)]


MUTANTS = [_private_columns, _sum_of_columns, _sum_over_pairs, _share]


@pytest.mark.parametrize("broken", MUTANTS)
def test_a_broken_score_is_caught(
    broken: Callable[[Rows], list[Fraction]], record_property: Callable[[str, object], None]
) -> None:
    found = max(step(broken, rows) for rows in [*SMALL[:60], *LARGE])
    assert found > 1
    record_property("mutant", f"relations with {broken.__name__.strip('_').replace('_', ' ')}")
    record_property("caught_by", f"exact neighbour check: a row moves it by {float(found):.2f}")


def test_a_margin_that_is_not_divided_by_two_is_caught(
    record_property: Callable[[str, object], None],
) -> None:
    """All counts lie between the copy's pairs and the product of its columns."""
    relations = Relations((np.array([[1, 98], [0, 1]]),))
    here, there = np.array([[199, 19601], [1, 199]]), np.array([[200, 19601], [1, 199]])
    before, after = (relations.rows([each]).excess(Fraction(0)) for each in (here, there))
    assert 1 < after - before <= 2
    claim = RelationsKept(relations, Fraction(0))
    assert claim.margin([there]) - claim.margin([here]) == 1
    record_property("mutant", "relations with a margin that is not divided by two")
    moved = math.ceil(after) - math.ceil(before)
    assert moved > 1
    record_property("caught_by", f"exact neighbour check: a row moves it by {moved}")


def test_facts_tell_copies_and_bars_apart() -> None:
    other = Relations(tuple(tables([*COPY, (2, 1, 1)])))
    claims = [RelationsKept(each, sigma) for each in (RELATIONS, other) for sigma in SIGMAS]
    assert len({str(claim.facts()) for claim in claims}) == len(claims)
    flat = Relations((np.array([[1, 2, 3]]),)), Relations((np.array([[1], [2], [3]]),))
    assert flat[0].facts() != flat[1].facts()


@pytest.mark.parametrize("sigma", [1, "1.5", -0.1])
def test_a_bar_that_is_no_share_is_refused(sigma: Any) -> None:
    with pytest.raises(ParameterError, match="of at least 0 and below 1"):
        RelationsKept(RELATIONS, sigma)


@pytest.mark.parametrize("copies", [(), (np.array([1, 2]),)])
def test_relations_need_pairs(copies: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError, match="pairs of columns"):
        Relations(copies)
