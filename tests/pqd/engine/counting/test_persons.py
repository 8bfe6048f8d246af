"""Rows of a person: all are in one batch, whatever its size, and share the person's weight."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from pqd.engine.counting.persons import PARTS, person_batches, row_weights
from tests.support.batches import batch_of


@pytest.mark.parametrize("batch", [1, 3, 50, 1000])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_all_rows_of_a_person_are_in_one_batch(
    monkeypatch: pytest.MonkeyPatch, batch: int, most: int
) -> None:
    monkeypatch.setattr("pqd.engine.counting.batch.JOINED", batch)
    rng = np.random.default_rng(0)
    persons = rng.integers(0, 20, 100)
    table = pa.table({"p": [f"p{n}" for n in persons], "row": range(100)})
    weights: dict[str, dict[int, int]] = defaultdict(dict)
    met: set[str] = set()
    for each in person_batches([batch_of(table)], "p", most):
        own = [
            column.values.take(pa.array(column.codes)).to_pylist()
            for column in each.columns.values()
        ]
        here = {*own[0]}
        assert not met & here
        met |= here
        assert each.person is not None
        assert each.max_rows == most
        assert len({*zip(own[0], each.person.tolist(), strict=True)}) == len(here)
        found = row_weights(each.person, most).tolist()
        for person, row, weight in zip(*own, found, strict=True):
            weights[person][row] = weight
    assert len(met) == len({*persons.tolist()})
    for person in met:
        rows = np.flatnonzero(persons == int(person[1:])).tolist()
        weight = PARTS * min(len(rows), most) // len(rows)
        assert weights[person] == dict.fromkeys(rows, weight)
