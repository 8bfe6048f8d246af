"""Batches that are cut into smaller ones."""

import numpy as np
import pyarrow as pa
import pytest

from tests.support.batches import batch_of


@pytest.mark.parametrize(("most", "sizes"), [(3, [3, 3, 2]), (4, [4, 4]), (8, [8]), (9, [8])])
def test_slices_hold_each_row_once_and_say_how_many(most: int, sizes: list[int]) -> None:
    batch = batch_of(pa.table({"x": list("abcdabcd")}))
    parts = list(batch.slices(most))
    assert [part.rows for part in parts] == sizes
    assert [len(part.columns["x"].codes) for part in parts] == sizes
    codes = np.concatenate([part.columns["x"].codes for part in parts])
    assert codes.tolist() == batch.columns["x"].codes.tolist()
