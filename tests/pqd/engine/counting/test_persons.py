"""Rows of a person: the first by rank are kept, and all are in one batch, whatever its size."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from pqd.engine.counting.persons import person_batches
from tests.support.batches import batch_of


@pytest.mark.parametrize("batch", [1, 3, 50, 1000])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_first_rows_of_each_person_are_kept(
    monkeypatch: pytest.MonkeyPatch, batch: int, most: int
) -> None:
    monkeypatch.setattr("pqd.engine.counting.batch.JOINED", batch)
    rng = np.random.default_rng(0)
    persons, ranks = rng.integers(0, 20, 100), rng.permutation(100)
    table = pa.table({"p": [f"p{n}" for n in persons], "row": ranks})
    held = batch_of(table, ranks.astype(np.uint64))
    kept: dict[str, list[int]] = defaultdict(list)
    met: set[str] = set()
    for each in person_batches([held], "p", most):
        own = [
            column.values.take(pa.array(column.codes)).to_pylist()
            for column in each.columns.values()
        ]
        here = {*own[0]}
        assert not met & here
        met |= here
        assert each.person is not None
        assert each.kept is not None
        assert len({*zip(own[0], each.person.tolist(), strict=True)}) == len(here)
        for person, row, is_kept in zip(*own, each.kept.tolist(), strict=True):
            if is_kept:
                kept[person].append(row)
    assert len(met) == len({*persons.tolist()})
    for person in met:
        every = sorted(ranks[persons == int(person[1:])].tolist())
        assert kept[person] == every[:most]
