"""Cells of columns, from the copies and what is stated: numbers, times, texts, and odd columns."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders.distances.chance import independent_distance
from pqd.deciders.distances.statistics import TotalVariation
from pqd.engine.marginals import Marginal, ValueCounts
from pqd.engine.partitions import (
    Bins,
    Categories,
    Heaps,
    Ordered,
    Partition,
    Points,
    Steps,
    TextBins,
)
from pqd.errors import ParameterError
from pqd.marginals.partition_choice import (
    MOST_ORDERED,
    choose_partition,
    heaps_partition,
    lacking_partition,
    ordered_partition,
    quantiles,
    steps_partition,
)
from pqd.sql.schema import Kind
from pqd.stated.cells import check_cells, edges_of, parse_cells
from pqd.stated.column_facts import StatedCells, parse_columns, read_cells
from tests.support.drawing import examples

DAY = 86_400_000_000.0
MOST = sys.float_info.max


def summary(values: Sequence[Any], nulls: int = 0) -> ValueCounts:
    """Value counts of the rows of a copy."""
    known, counts = np.unique(np.array(values, dtype=object), return_counts=True)
    typed = known.astype(float) if len(known) and not isinstance(known[0], str) else known
    return ValueCounts(typed, counts.astype(np.int64), len(known), nulls, len(values) + nulls)


def single_rows(values: Sequence[Any]) -> int:
    """Rows whose value no other row has."""
    return sum(number == 1 for number in Counter(values).values())


def chosen(kind: Kind, copy: Sequence[Any], cells: object = None) -> tuple[Partition, str, int]:
    stated = None if cells is None else read_cells(cells, "x")
    partition, facts = choose_partition("x", kind, summary(copy), stated, singles=single_rows(copy))
    assert (facts.name, facts.kind, facts.cells) == ("x", str(kind), partition.size)
    return partition, facts.how, facts.merged


def test_few_numbers_have_a_cell_each() -> None:
    partition, how, _ = chosen(Kind.NUMBER, [3, 1, 2, 1, 7])
    assert isinstance(partition, Points)
    assert partition.facts()[-1] == [float.hex(value) for value in (1.0, 2.0, 3.0, 7.0)]
    assert partition.labels == ("NULL", "1", "2", "3", "7", "not in the copy")
    assert how == "values"


def test_many_numbers_are_binned_between_quantiles() -> None:
    partition, how, _ = chosen(Kind.NUMBER, list(range(101)))
    assert isinstance(partition, Bins)
    assert list(partition.edges) == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert partition.labels[:3] == ("NULL", "0 to < 10", "10 to < 20")
    assert partition.labels[-2:] == ("90 to 100", "not in the copy")
    assert (partition.unseen, how) == (11, "quantiles")


def test_values_that_a_tenth_of_the_rows_has_are_bins_of_their_own() -> None:
    zeros, _, _ = chosen(Kind.NUMBER, [0] * 900 + list(range(1, 101)))
    assert zeros.labels == ("NULL", "0", "above 0 to 100", "not in the copy")
    most, _, _ = chosen(Kind.NUMBER, [*range(30), *[12] * 20, *[999] * 50])
    assert most.labels == (
        *("NULL", "0 to < 9", "9 to < 12", "12", "above 12 to < 19", "19 to < 29", "29 to < 999"),
        *("999", "not in the copy"),
    )
    values = np.array([0, 11.9, 12, np.nextafter(12, 13), 999, 1000, -1, np.nan])
    assert most.codes(values).tolist() == [1, 2, 3, 4, 7, 8, 8, 0]
    tenth, _, _ = chosen(Kind.NUMBER, [*range(90), *[50] * 9])
    assert "50" in tenth.labels
    less, _, _ = chosen(Kind.NUMBER, [*range(92), *[50] * 8])
    assert "50" not in less.labels


def test_twenty_values_are_few_and_one_more_is_not() -> None:
    assert isinstance(chosen(Kind.NUMBER, range(20))[0], Points)
    assert isinstance(chosen(Kind.NUMBER, range(21))[0], Bins)
    assert isinstance(chosen(Kind.NUMBER, range(21), cells=21)[0], Points)
    five, how, _ = chosen(Kind.NUMBER, range(21), cells=5)
    assert isinstance(five, Bins)
    assert (five.edges, how) == ((0, 4, 8, 12, 16, 20), "quantiles")


def test_times_are_binned_as_numbers_and_read_as_days() -> None:
    partition, _, _ = chosen(Kind.TIME, [DAY * day for day in (0, 1, 366)])
    assert partition.labels == (
        *("NULL", "1970-01-01", "1970-01-02", "1971-01-02"),
        "not in the copy",
    )
    moments, _, _ = chosen(Kind.TIME, [0.0, 1_500_000.0, 8.64e20])
    assert moments.labels[1:4] == ("1970-01-01 00:00:00", "1970-01-01 00:00:01.500000", "infinite")


def test_more_than_fifty_texts_have_bins_in_their_order() -> None:
    texts = [f"t{number:03}" for number in range(60) for _ in range(1 + (number >= 40))]
    partition, how, merged = chosen(Kind.TEXT, texts)
    assert isinstance(partition, TextBins)
    assert partition.labels[:3] == ("NULL", "t000 to t001", "t002 to t003")
    # From t040 on each text has a fortieth of the rows, more than a fiftieth.
    assert partition.labels[-2:] == ("t058", "t059")
    assert (how, merged, partition.unseen) == ("quantiles", 0, None)
    # A text that the copy never has lies where it would stand.
    values = np.array([None, "", "t000", "t001", "t0011", "t002", "t058x", "t059", "zzz"], object)
    last = partition.size - 1
    assert partition.codes(values).tolist() == [0, 1, 1, 1, 2, 2, last, last, last]
    assert chosen(Kind.TEXT, texts[:40], cells=2)[0].labels == (
        "NULL",
        "t000 to t019",
        "t020 to t039",
    )


def test_a_text_with_two_fiftieths_of_the_rows_has_a_bin_of_its_own() -> None:
    few = [f"t{number:03}" for number in range(480)]
    alone, _, _ = chosen(Kind.TEXT, [*few, *["t100x"] * 20])
    assert "t100x" in alone.labels
    beside, _, _ = chosen(Kind.TEXT, [*few, *["t100x"] * 19])
    assert "t100x" not in beside.labels


def test_a_closed_list_of_texts_has_a_cell_for_new_ones() -> None:
    counts = np.full(60, 100)
    values = np.array([f"t{number:03}" for number in range(60)], object)
    whole = ValueCounts(values, counts, 60, 0, 6_000)
    closed, _ = choose_partition("x", Kind.TEXT, whole, singles=6)
    assert closed.unseen == closed.size - 1
    assert closed.labels[-1] == "not in the copy"
    codes = closed.codes(np.array(["t000", "t0000", "t059", None], object))
    assert codes.tolist() == [1, closed.unseen, closed.size - 2, 0]
    opened, _ = choose_partition("x", Kind.TEXT, whole, singles=7)
    assert opened.unseen is None


@pytest.mark.parametrize("bins", [(), (("b", "a"),), (("a", "c"), ("b", "d"))])
def test_bins_of_texts_ascend(bins: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(ValueError, match="ascend"):
        TextBins("x", Kind.TEXT, bins)


@pytest.mark.parametrize("texts", [51, 60, 100, 200, 1_500, 5_000])
def test_an_independent_sample_is_not_further_than_chance_says(texts: int) -> None:
    """Texts that are equally frequent: cells by rank would put it 3 to 20 points too far away."""
    rng, rows, pairs = np.random.default_rng(texts), 6_000, 40
    gaps = []
    for _ in range(pairs):
        copy, private = (
            np.array([f"t{number:05}" for number in rng.integers(0, texts, rows)], object)
            for _ in range(2)
        )
        values, counts = np.unique(copy, return_counts=True)
        single = int((counts == 1).sum())
        known = ValueCounts(values, counts, values.size, 0, rows)
        cells, _ = choose_partition("x", Kind.TEXT, known, singles=single)
        own, other = (
            np.bincount(cells.codes(each), minlength=cells.size) for each in (copy, private)
        )
        distance = np.abs(own - other).sum() / (2 * rows)
        gaps.append(distance - independent_distance(own, rows))
    # The mean of all is chance, within four of its errors.
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(pairs) + 0.001


def test_a_column_that_the_copy_lacks_has_one_cell_for_all_private_rows() -> None:
    partition, facts = lacking_partition("x", Kind.NUMBER)
    assert partition.codes(np.array([1.0, np.nan, 3.0])).tolist() == [0, 0, 0]
    assert (partition.size, facts.cells, facts.how, partition.unseen) == (2, 2, "missing", None)
    distance = TotalVariation(np.array([0, 9]))
    for rows in (0, 1, 7):
        assert distance.rows(np.array([rows, 0])) == rows


def test_labels_that_read_as_another_cell_are_quoted_and_long_ones_cut() -> None:
    texts = ["NULL", "not in the copy", "", "x" * 70, "a\nb\0"]
    labels = Categories("x", Kind.TEXT, tuple(texts)).labels
    assert labels[1:6] == (
        *('"NULL"', '"not in the copy"', "empty text", "x" * 57 + "..."),
        "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}",
    )
    close = Points("x", Kind.NUMBER, (0.1, 0.1000000001, math.inf)).labels
    assert close[1:4] == ("0.1", "0.1000000001", "infinite")


@pytest.mark.parametrize("kind", [Kind.NUMBER, Kind.TIME, Kind.TEXT, Kind.BOOLEAN])
def test_columns_of_nothing_but_null_have_two_cells(kind: Kind) -> None:
    partition, facts = choose_partition("x", kind, summary([], nulls=5), singles=0)
    assert (partition.labels, facts.constant) == (("NULL", "not in the copy"), True)
    assert ordered_partition("x", Kind.NUMBER, summary([], nulls=5)).size == 2
    assert steps_partition("x", Kind.NUMBER, summary([], nulls=5)).size == 2


def test_constant_columns_work() -> None:
    numbers, facts = choose_partition("x", Kind.NUMBER, summary([3, 3]), singles=0)
    assert (numbers.labels, facts.constant) == (("NULL", "3", "not in the copy"), True)
    stated, _ = choose_partition(
        "x", Kind.NUMBER, summary([3, 3]), StatedCells(number=1), singles=0
    )
    assert stated.labels == numbers.labels
    steps = steps_partition("x", Kind.NUMBER, summary([3, 3]))
    assert (steps.lower, steps.upper, steps.points) == (3, 4, 2)
    assert choose_partition("x", Kind.TEXT, summary(["a"]), singles=0)[1].constant
    assert not choose_partition("x", Kind.TEXT, summary(["a", "b"]), singles=0)[1].constant


def test_true_and_false_are_cells_where_the_copy_has_them() -> None:
    both, _, _ = chosen(Kind.BOOLEAN, ["true", "false", "true"])
    assert both.labels == ("NULL", "false", "true", "not in the copy")
    assert chosen(Kind.BOOLEAN, ["true"])[0].labels == ("NULL", "true", "not in the copy")
    with pytest.raises(ParameterError, match="state none"):
        chosen(Kind.BOOLEAN, ["true"], cells=2)


def test_stated_cells() -> None:
    bins, how, _ = chosen(Kind.NUMBER, range(300), cells=[0, 18, 65, 120])
    assert (bins.labels, bins.unseen, how) == (
        ("NULL", "0 to < 18", "18 to < 65", "65 to 120", "outside 0 to 120"),
        None,
        "stated",
    )
    texts, how, merged = chosen(Kind.TEXT, ["a", "b", "c"], cells=["c", "zebra"])
    assert texts.labels == (
        *("NULL", "c", "zebra", "other values of the copy"),
        "not in the copy",
    )
    assert (how, merged) == ("stated", 2)
    days, _, _ = chosen(Kind.TIME, [DAY * 400], cells=["1970-01-01", "1971-01-01"])
    assert days.labels[1] == "1970-01-01 to 1971-01-01"
    assert (
        edges_of(StatedCells(edges=("1970-01-01T01:00:00+01:00", "1971-01-01")), "x", Kind.TIME)[0]
        == 0
    )


@pytest.mark.parametrize(
    ("kind", "cells", "message"),
    [
        (Kind.NUMBER, ["a", "b"], "holds numbers, and the edge 'a' is none; write x=0,18,65,120"),
        (Kind.TIME, [0, 1], "holds times, and the edge '0' is none; write x=2020-01-01,2021"),
        (Kind.TEXT, [0, 1], "holds texts, which have no edges; state its values"),
        (Kind.NUMBER, ["5", "1"], 'the edges of "x" are 5, 1; state two or more, ascending'),
        (Kind.NUMBER, ["5"], 'the edges of "x" are 5; state two or more, ascending'),
        (Kind.NUMBER, [0, 1, Fraction(10) ** 30 + 1, Fraction(10) ** 30 + 2], "ascending"),
    ],
)
def test_cells_that_a_kind_cannot_have_are_refused(kind: Kind, cells: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        chosen(kind, ["a"] if kind is Kind.TEXT else [1.0], cells=cells)


@pytest.mark.parametrize(
    ("text", "name", "cells"),
    [
        ("age=20", "age", StatedCells(number=20)),
        ("age=0,18,65.5", "age", StatedCells(edges=("0", "18", "65.5"))),
        ("born = 2020-01-01, 2021-01-01", "born", StatedCells(edges=("2020-01-01", "2021-01-01"))),
        ("income=<=50K|>50K", "income", StatedCells(values=("<=50K", ">50K"))),
        ('"a=b"=3', "a=b", StatedCells(number=3)),
        ('"capital-gain"=3', "capital-gain", StatedCells(number=3)),
        ("job=cook|", "job", StatedCells(values=("cook",))),
    ],
)
def test_cells_of_a_text(text: str, name: str, cells: StatedCells) -> None:
    assert parse_cells(text) == (name, cells)


@pytest.mark.parametrize(
    "text", ["", "age", "age=", "=5", "age=x", "age=0", "age=1.5", "a=9999999"]
)
def test_texts_that_are_no_cells_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="cells"):
        parse_cells(text)


@pytest.mark.parametrize(
    "cells",
    [0, -1, 1.5, True, 1001, "20", None, [], [1], [2, 1], [1, 1], ["a", "a"], [""], ["a", 1]],
)
def test_facts_that_are_no_cells_are_refused(cells: object) -> None:
    if cells is None:
        assert parse_columns({"age": {"cells": None}})["age"].cells is None
        return
    with pytest.raises(ParameterError, match="cells of age"):
        parse_columns({"age": {"cells": cells}})


def test_facts_of_columns_hold_cells() -> None:
    assert parse_columns({"age": {"cells": 20}})["age"].cells == StatedCells(number=20)
    edges = parse_columns({"age": {"cells": [0, 1.5, Fraction(7, 2)]}})["age"].cells
    assert edges == StatedCells(edges=("0", "1.5", "7/2"))
    assert edges_of(edges, "age", Kind.NUMBER) == (0, 1.5, 3.5)


def test_marginals_of_too_many_cells_have_a_reason() -> None:
    def marginal(*sizes: int) -> Marginal:
        parts = (tuple(map(float, range(size - 2))) for size in sizes)
        return Marginal(tuple(Points("x", Kind.NUMBER, values) for values in parts))

    assert check_cells(marginal(10, 100), 5) is None
    assert check_cells(marginal(1000, 100), 200_000) is None
    assert "has 1,010 cells" in (check_cells(marginal(10, 101), 5) or "")
    assert "cells={" in (check_cells(marginal(10, 101), 1_009) or "")
    assert check_cells(marginal(10, 101), 1_010) is None
    assert "100,100 cells, more than 100,000" in (check_cells(marginal(1001, 100), 10**6) or "")


numbers = st.lists(st.integers(-50, 50), min_size=1, max_size=60)


@given(numbers, st.integers(2, 12))
@examples(60)
def test_quantiles_are_the_least_values_with_their_share_of_rows(
    rows: list[int], number: int
) -> None:
    known = summary(rows)
    found = quantiles(known.values, known.counts, number)
    ordered = sorted(rows)
    for place, value in enumerate(found):
        at_least = math.ceil(Fraction(place * len(rows), number - 1))
        assert value == ordered[max(at_least, 1) - 1]


@given(numbers, numbers)
@examples(60)
def test_the_largest_difference_is_at_the_end_of_a_cell(
    copy: list[int], private: list[int]
) -> None:
    """Kolmogorov-Smirnov over the ordered cells is that over all numbers."""
    ordered = ordered_partition("x", Kind.NUMBER, summary([2 * value for value in copy]))
    own = ordered.codes(np.array([2.0 * value for value in copy]))
    other = ordered.codes(np.array(private, dtype=float))
    counts = [np.bincount(codes, minlength=ordered.size).cumsum() for codes in (own, other)]
    found = max(
        abs(Fraction(int(a), len(copy)) - Fraction(int(b), len(private)))
        for a, b in zip(*counts, strict=True)
    )
    shares = [
        abs(
            Fraction(sum(2 * value <= end for value in copy), len(copy))
            - Fraction(sum(value <= end for value in private), len(private))
        )
        for end in {*(2 * value for value in copy), *private}
    ]
    assert found == max(shares)


def test_more_than_4000_values_are_compared_at_quantiles() -> None:
    few = ordered_partition("x", Kind.NUMBER, summary(range(MOST_ORDERED)))
    many = ordered_partition("x", Kind.NUMBER, summary(range(50_000)))
    assert isinstance(many, Ordered)
    assert few.size == 2 * MOST_ORDERED + 2
    assert many.size == few.size
    assert many.labels[1:5] == ("below 0", "0", "between 0 and 12", "12")


@pytest.mark.parametrize(
    ("values", "bounds", "steps"),
    [
        ([0, 3, 1000], None, (0, 1000, 1001)),
        ([0, 3, 1001], None, (0, 1001, 1001)),
        ([0, 0.5], None, (0, 0.5, 1001)),
        ([2, math.inf, 5], None, (2, 5, 4)),
        ([2, 5], (Fraction(0), Fraction(99, 2)), (0, 49.5, 1001)),
        ([2, 5], (Fraction(0), Fraction(60)), (0, 60, 61)),
    ],
)
def test_steps_of_the_earth_movers_distance(
    values: list[float],
    bounds: tuple[Fraction, Fraction] | None,
    steps: tuple[float, float, int],
) -> None:
    found = steps_partition("x", Kind.NUMBER, summary(values), bounds)
    assert isinstance(found, Steps)
    assert (found.lower, found.upper, found.points) == steps
    assert len(found.labels) == found.size


@pytest.mark.parametrize(
    "copy", [[0, 1.7e308], [-1.7e308, 1.7e308], [MOST], [-MOST], [5e-324], [0]]
)
def test_every_number_has_a_step(copy: list[float]) -> None:
    """Also one that the copy never has, and where the range is beyond every double."""
    found = steps_partition("x", Kind.NUMBER, summary(copy))
    values = np.array([-math.inf, -MOST, 0.0, 5e-324, MOST, math.inf, math.nan, *copy])
    codes = found.codes(values)
    assert codes.min() >= 0
    assert codes.max() < found.size
    assert (codes[0], codes[5], codes[6]) == (0, found.size - 1, 0)


def test_facts_tell_partitions_apart() -> None:
    partitions = [
        Points("x", Kind.NUMBER, (0.1, 0.2)),
        Points("x", Kind.NUMBER, (0.1, 0.2 + 1e-16)),
        Points("x", Kind.TIME, (0.1, 0.2)),
        Points("y", Kind.NUMBER, (0.1, 0.2)),
        Bins("x", Kind.NUMBER, (0.1, 0.2)),
        Bins("x", Kind.NUMBER, (0.1, 0.2), stated=True),
        Ordered("x", Kind.NUMBER, (0.1, 0.2)),
        Steps("x", Kind.NUMBER, 0.1, 0.2, 3),
        Steps("x", Kind.NUMBER, 0.1, 0.2, 4),
        Categories("x", Kind.TEXT, ("a", "b")),
        Categories("x", Kind.TEXT, ("b", "a")),
        Categories("x", Kind.TEXT, ("a",), ("b",)),
        Categories("x", Kind.TEXT, ("a",), ("b", "c")),
        TextBins("x", Kind.TEXT, (("a", "b"),)),
        TextBins("x", Kind.TEXT, (("a", "c"),)),
        TextBins("x", Kind.TEXT, (("a", "b"),), frozenset("ab")),
    ]
    facts = [str(partition.facts()) for partition in partitions]
    # Stated edges or not: the cell of a row is the same, only its name is another one.
    assert facts[4] == facts[5]
    assert len(set(facts)) == len(facts) - 1 - (0.2 + 1e-16 == 0.2)
    assert Points("X", Kind.NUMBER, (0.0,)).facts() == Points("x", Kind.NUMBER, (-0.0,)).facts()
    assert (
        Categories("x", Kind.TEXT, (), ("b", "a")).facts()
        == Categories("x", Kind.TEXT, (), ("a", "b")).facts()
    )


@pytest.mark.parametrize("decimals", range(7))
def test_heaps_are_those_of_exact_decimals(decimals: int) -> None:
    """A double that a decimal of so many places reads as is so many steps, also a huge one."""
    rng = np.random.default_rng(decimals)
    steps = np.concatenate([np.arange(-2_100, 2_100), rng.integers(-(2**49), 2**49, 3_000)])
    values = np.array([float(Fraction(int(step), 10**decimals)) for step in steps])
    cells = Heaps("x", Kind.NUMBER, decimals).codes(values)
    sizes = (1, 5, 10, 50, 100, 1_000)
    for step, cell in zip(steps.tolist(), cells.tolist(), strict=True):
        assert cell == 2 + max(i for i, size in enumerate(sizes) if step % size == 0)


def test_heaps_of_numbers_that_are_none_of_the_steps() -> None:
    heaps = Heaps("x", Kind.NUMBER, 2)
    values = np.array([np.nan, 0.001, 1 / 3, math.inf, -math.inf, MOST, 2.0**60, 0.0, -0.0, -2.5])
    assert heaps.codes(values).tolist() == [0, 1, 1, 1, 1, 1, 1, 7, 7, 5]
    assert heaps.labels[:4] == ("NULL", "finer than 0.01", "multiples of 0.01", "multiples of 0.05")
    assert heaps.size == 8
    assert heaps.unseen is None
    assert heaps.facts() != Heaps("x", Kind.NUMBER, 1).facts()


def test_the_step_of_heaps_is_the_least_decimal_place_of_the_copy() -> None:
    def decimals(copy: Sequence[float]) -> int | None:
        heaps = heaps_partition("x", Kind.NUMBER, summary(copy))
        return None if heaps is None else heaps.decimals

    whole = [float(n) for n in range(30)]
    assert decimals(whole) == 0
    assert decimals([n / 4 for n in whole]) == 2
    assert decimals([*whole, 0.1]) == 1
    # Nothing is known of so fine numbers but which of them are whole.
    assert decimals([n / 7 for n in whole]) == 0
    assert decimals(whole[:20]) is None
    assert heaps_partition("x", Kind.TIME, summary(whole)) is None
    assert heaps_partition("x", Kind.TEXT, summary([f"t{n}" for n in range(30)])) is None
