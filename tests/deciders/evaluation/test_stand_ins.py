"""Stand-ins: where they lie, and that their look-ups are those of the table that they stand for."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders import Histogram, answer
from pqd.deciders.evaluation.shapes import shapes
from pqd.deciders.evaluation.stand_in_tables import Extended, Moved, Part, Raised, Reweighted
from pqd.deciders.evaluation.stand_ins import Shape, stand_ins_at
from tests.support.drawing import fractions

HELD = st.lists(st.integers(-20, 20), min_size=1, max_size=15)
GAP = fractions("1/10", 200, 10)
AGES = Histogram.from_values(np.random.default_rng(5).integers(0, 86, 3000))
HALVES = [Fraction(-7, 2), Fraction(0), Fraction(3, 2), Fraction(8)]
AGGREGATES = ["COUNT", "SUM", "AVG", "MEDIAN", "QUANTILE", "COUNT DISTINCT"]


def stand_ins(histogram: Histogram, gap: Fraction, shape: Shape) -> list[Any]:
    return list(stand_ins_at(histogram, gap, shape))


@pytest.mark.parametrize("gap", [1, 7, 1000, Fraction(7, 2)])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_stand_ins_lie_at_least_the_gap_away(aggregate: str, gap: Fraction) -> None:
    centre = answer(aggregate, AGES)
    assert centre is not None
    found = [
        answer(aggregate, table)
        for table in stand_ins(AGES, Fraction(gap), Shape(aggregate, 0, 85))
    ]
    assert all(reached is not None and abs(reached - centre) >= gap for reached in found)
    if aggregate in {"AVG", "MEDIAN", "QUANTILE"} and gap == 1000:
        assert found == []
    else:
        assert {reached > centre for reached in found if reached is not None} == {True, False}


@given(st.lists(st.integers(0, 20), min_size=1), st.integers(-20, 10), st.integers(1, 3), GAP)
def test_a_mean_is_moved_no_farther_than_needed(
    places: list[int], lower: int, step: int, gap: Fraction
) -> None:
    upper = lower + 20 * step
    histogram = Histogram.from_values([lower + step * place for place in places])
    centre = Fraction(histogram.total, histogram.mass)
    sides = set()
    for table in stand_ins(histogram, gap, Shape("AVG", lower, upper, step)):
        moved = Fraction(table.total, table.mass) - centre
        sides.add(moved > 0)
        assert gap <= abs(moved) < gap + Fraction(step, histogram.mass)
        assert table.mass == histogram.mass
        assert table.count_below(lower) == 0
        assert table.count_at_most(upper) == table.mass
        assert sum(
            table.count_at_most(value) - table.count_below(value)
            for value in range(lower, upper + 1, step)
        ) == (table.mass)
    assert (True in sides) == (upper - centre >= gap)
    assert (False in sides) == (centre - lower >= gap)


@given(st.lists(st.integers(0, 20)), st.integers(-20, 10), st.integers(1, 3), GAP)
def test_a_sum_is_reached_where_the_bounds_allow_it(
    places: list[int], lower: int, step: int, gap: Fraction
) -> None:
    upper = lower + 20 * step
    histogram = Histogram.from_values([lower + step * place for place in places])
    shape = Shape("SUM", lower, upper, step)
    sides = set()
    for table in stand_ins(histogram, gap, shape):
        assert gap <= abs(table.total - histogram.total) < gap + max(step, 1) + abs(lower)
        assert table.mass >= 0
        assert table.count_below(lower) == 0
        assert table.count_at_most(upper) == table.mass
        sides.add(table.total > histogram.total)
    assert (True in sides) == (upper > 0 or histogram.total + gap <= 0)
    assert (False in sides) == (lower < 0 or histogram.total - gap >= 0)


def test_stand_ins_of_a_sum_of_nothing() -> None:
    (above,) = stand_ins(Histogram.from_values([]), Fraction(10), Shape("SUM", 0, 3))
    assert above.total >= 10
    signed = stand_ins(Histogram.from_values([]), Fraction(10), Shape("SUM", -3, 3))
    assert sorted(table.total > 0 for table in signed) == [False, True]
    # One row of the least value that is enough, where a row of the bound would be too many.
    (row,) = stand_ins(Histogram.from_values([]), Fraction(5), Shape("SUM", 0, 30, 3))
    assert (row.mass, row.total) == (1, 6)


@given(HELD, st.integers(1, 4), st.integers(-25, 25))
def test_reweighted_rows_are_counted_so_often(held: list[int], factor: int, bound: int) -> None:
    base = Histogram.from_values(held)
    built = Histogram(base.values, base.counts * factor)
    assert_alike(Reweighted(base, Fraction(factor)), built, bound, HALVES)
    k = Fraction(built.mass, 2)
    assert Reweighted(base, Fraction(factor)).sum_of_smallest(k) == built.sum_of_smallest(k)


@given(HELD, st.integers(1, 5), st.integers(0, 9), st.booleans(), st.integers(-25, 25))
def test_extended_tables_hold_the_rows_too(
    held: list[int], rows: int, beyond: int, above: bool, bound: int
) -> None:
    base = Histogram.from_values(held)
    value = max(1, *held) + beyond if above else min(-1, *held) - beyond
    built = Histogram.merged([base, Histogram.from_values([value] * rows)])
    assert_alike(Extended(base, Fraction(rows), value), built, bound, [Fraction(0)])


@given(HELD, st.integers(0, 15), st.integers(0, 15), st.integers(0, 9), st.integers(-25, 25))
def test_raised_rows_are_moved_in_parts(
    held: list[int], at_upper: int, more: int, by: int, bound: int
) -> None:
    rows = sorted(held, reverse=True)
    first, second = min(at_upper, len(rows)), min(at_upper + more, len(rows))
    upper = max(rows) + by + 1
    moved = [upper] * first + [v + by + 1 for v in rows[first:second]]
    built = Histogram.from_values(moved + [v + by for v in rows[second:]])
    parts = Part(0, first, to=upper), Part(first, second, by + 1), Part(second, len(rows), by)
    assert_alike(Raised(Histogram.from_values(held), parts, built.total), built, bound, HALVES)


@given(HELD, st.integers(-30, 30), st.integers(-35, 35))
def test_moved_values_stay_within_the_bounds(held: list[int], by: int, bound: int) -> None:
    built = Histogram.from_values([min(max(v + by, -20), 20) for v in held])
    table = Moved(Histogram.from_values(held), by, -20, 20)
    assert table.mass == built.mass
    assert table.count_below(bound) == built.count_below(bound)
    assert table.count_at_most(bound) == built.count_at_most(bound)
    assert table.quantile(Fraction(1, 3)) == built.quantile(Fraction(1, 3))
    assert table.values.tolist() == built.values.tolist()
    assert table.counts.tolist() == built.counts.tolist()
    assert table.cumulative_counts.tolist() == built.cumulative_counts.tolist()


def assert_alike(table: Any, built: Histogram, bound: int, origins: list[Fraction]) -> None:
    """The look-ups of a table are those of the built one, and so are those of its mirror image."""
    mirrored = Histogram(-built.values[::-1], built.counts[::-1])
    pairs = [(table, built, bound), (table.mirrored, mirrored, -bound)]
    for one, other, cut in [*pairs, (built, built, bound), (built.mirrored, mirrored, -bound)]:
        assert (one.mass, one.total) == (other.mass, other.total)
        assert one.count_below(cut) == other.count_below(cut)
        assert one.count_at_most(cut) == other.count_at_most(cut)
        assert one.sum_at_most(cut) == other.sum_at_most(cut)
        values: list[int] = np.repeat(other.values, other.counts).tolist()
        for origin in origins:
            for lower in (-20, -1):
                for gap in (Fraction(1, 7), Fraction(9), Fraction(500)):
                    ratios = gap.as_integer_ratio(), origin.as_integer_ratio()
                    found = one.rows_to_lower(*ratios, lower)
                    expected = fewest_changes(values, gap, origin, lower)
                    assert (found and Fraction(*found)) == expected


def fewest_changes(
    values: list[int], gap: Fraction, origin: Fraction, lower: int
) -> Fraction | None:
    """Rows removed, the largest first, and rows of ``lower`` added; the last in part."""
    addition, changes = origin - lower, Fraction(0)
    for value in sorted(values, reverse=True):
        if value - origin > max(addition, Fraction(0)) and gap:
            share = min(Fraction(1), gap / (value - origin))
            changes, gap = changes + share, gap - share * (value - origin)
    if gap and addition <= 0:
        return None
    return changes + gap / addition if gap else changes


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_half_of_the_rows_are_half_but_at_least_one(rows: int) -> None:
    half = next(shapes(Histogram.from_values([4] * rows), "MEDIAN"))
    assert half.mass == max(1, rows // 2)
