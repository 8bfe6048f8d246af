"""Cells and neighbours: one row more moves every marginal in one cell, by one.

All that a distance is proven of rests on this: the cells are public, and the cell of a row depends
on that row alone, in every kind of input.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pqd.engine.counting.persons import PARTS
from pqd.engine.marginals import Marginal, RowMap, Unseen
from pqd.engine.partitions import Bins
from pqd.engine.scan_plan import PrivacyUnit
from pqd.sql.schema import Kind
from tests.support.cell_rows import (
    BINS,
    BIRTHS,
    EVERY,
    FLAGS,
    FORMATS,
    JOBS,
    POINTS,
    Row,
    arrow,
    counted,
    rows,
)
from tests.support.drawing import examples

MAPS: tuple[RowMap, ...] = (
    *(Marginal((one,)) for one in EVERY),
    *(Marginal(pair) for pair in combinations((JOBS, BINS, POINTS, FLAGS, BIRTHS), 2)),
    Marginal((BIRTHS, JOBS, FLAGS)),
    Unseen((JOBS, BINS, FLAGS, BIRTHS)),
)
Counts = list[NDArray[np.int64]]
Scan = Callable[[Sequence[Row]], Counts]


def check_one_cell_moves(scan: Scan, table: Sequence[Row], place: int) -> None:
    """Without the row at ``place`` each marginal is one less in one cell, and else the same."""
    with_row = scan(table)
    without = scan([row for number, row in enumerate(table) if number != place])
    for more, fewer in zip(with_row, without, strict=True):
        moved = more - fewer
        assert (moved.sum(), np.abs(moved).sum(), moved.max()) == (1, 1, 1)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_row_moves_one_cell_by_one(kind: str, tmp_path: Path) -> None:
    def scan(table: Sequence[Row]) -> Counts:
        counts = counted(FORMATS[kind](arrow(table), tmp_path), MAPS)
        return [counts[one] for one in MAPS]

    @given(st.lists(rows, min_size=1, max_size=6), st.integers(0, 5))
    @examples(8)
    def check(table: list[Row], place: int) -> None:
        held = [{**row, "job": (row["job"] or "").replace("\0", "")} for row in table]
        check_one_cell_moves(scan, held if kind == "csv" else table, place % len(table))

    check()


def test_bins_of_the_private_table_are_caught() -> None:
    """Bins between the private least and largest value: without that one all of them move."""

    def scan(table: Sequence[Row]) -> Counts:
        ages = [float(row["age"]) for row in table]
        own = Bins("age", Kind.NUMBER, tuple(np.linspace(min(ages), max(ages), 11).tolist()))
        marginal = Marginal((own,))
        return [counted(pd.DataFrame(list(table)), [marginal])[marginal]]

    table = [{"age": float(number**2), "job": "a"} for number in range(40)]
    with pytest.raises(AssertionError):
        check_one_cell_moves(scan, table, 39)


def test_looking_up_a_text_in_a_list_that_has_it_twice_is_caught() -> None:
    with pytest.raises(ValueError, match="two cells"):
        type(JOBS)("job", Kind.TEXT, ("a", "b"), ("a",))


people = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "eve", None]), rows), min_size=1, max_size=12
)


def frame_of(table: Sequence[tuple[str | None, Row]]) -> pd.DataFrame:
    frame: pd.DataFrame = arrow([row for _, row in table]).to_pandas()
    return frame.assign(who=pd.Series([who for who, _ in table], dtype=object))


@given(people, st.sampled_from([1, 2, 3]))
@examples(12)
def test_a_person_moves_the_weight_of_its_rows(
    table: list[tuple[str | None, Row]], most: int
) -> None:
    unit = PrivacyUnit("who", most)
    person = table[0][0]
    own = sum(who == person for who, _ in table)
    counts = counted(frame_of(table), MAPS, unit)
    others = counted(frame_of([each for each in table if each[0] != person]), MAPS, unit)
    for one in MAPS:
        moved = counts[one] - others[one]
        assert moved.min() >= 0
        # Other rows weigh what they did.
        assert moved.sum() == PARTS * min(own, most) // own * own <= PARTS * most


def test_rows_of_a_person_that_are_not_limited_are_caught() -> None:
    table = [("ann", {"age": 1.0, "job": "a", "flag": True, "born": None})] * 3
    with pytest.raises(AssertionError):
        assert counted(frame_of(table), MAPS)[MAPS[0]].sum() <= 2
    weights = counted(frame_of(table), MAPS, PrivacyUnit("who", 2))[MAPS[0]]
    assert weights.sum() == 2 * PARTS
