"""Rows of a person: the first by rank, however many rows are looked at at a time."""

import numpy as np
import pytest

from pqd.engine.kernel import persons
from pqd.engine.kernel.persons import PersonCodes


@pytest.mark.parametrize("batch", [1, 3, 50, 1000])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_first_rows_of_each_person_are_kept(
    monkeypatch: pytest.MonkeyPatch, batch: int, most: int
) -> None:
    monkeypatch.setattr("pqd.engine.reading.columns.BATCH", batch)
    rng = np.random.default_rng(0)
    codes, ranks = rng.integers(0, 20, 100), rng.permutation(100).astype(np.uint64)
    kept = persons._first(PersonCodes(codes, 20), ranks, most)
    for person in range(20):
        own = np.flatnonzero(codes == person)
        first = own[np.argsort(ranks[own])][:most]
        assert set(own[kept[own]]) == set(first)
