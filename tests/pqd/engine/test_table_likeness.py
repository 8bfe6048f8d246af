"""Likeness of tables: the same rows, however their cells are written and looked at."""

from collections.abc import Mapping, Sequence

import pandas as pd
import pytest

from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.table_likeness import same_rows
from pqd.engine.tables import open_table

ROWS: dict[str, list[str | None]] = {
    "x": ["1", "2.0", "07", None],
    "y": ["a", "B", "2020-01-01", "a"],
}
ALIKE: list[Mapping[str, Sequence[object]]] = [
    ROWS,
    {"x": ["1.0", "2", "7", ""], "y": ["A", "b", "2020-01-01 00:00:00", "a"]},
    {"x": [1.0, 2.0, 7.0, None], "y": ROWS["y"]},
    {"Y": ["a", *ROWS["y"][:3]], "X": [None, 1, 2, 7]},
]
OTHERS: list[Mapping[str, Sequence[object]]] = [
    {"x": ["1", "2.0", "8", None], "y": ROWS["y"]},
    {"x": [1.0, 2.0, 7.0, 7.0], "y": ROWS["y"]},
    # Each column has the same cells, but not each row.
    {"x": ["1", "2.0", None, "07"], "y": ROWS["y"]},
    {"x": ROWS["x"][:3], "y": ROWS["y"][:3]},
    {"x": ROWS["x"], "z": ROWS["y"]},
]


@pytest.mark.parametrize("kept", [0, 1 << 20])
@pytest.mark.parametrize(
    ("other", "same"), [(rows, True) for rows in ALIKE] + [(rows, False) for rows in OTHERS]
)
def test_tables_are_alike_by_what_their_cells_say(
    other: Mapping[str, Sequence[object]],
    same: bool,
    kept: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pqd.engine.scan._KEPT", kept)
    private = open_table(pd.DataFrame(ROWS, dtype="string"), "private")
    public = open_table(pd.DataFrame(other), "synthetic")
    sql = ArrowSQL()
    assert same_rows(sql, private, public, ["x", "y"]) is same
    assert same_rows(sql, public, private, []) is same
