"""Repeated rows: the same counts as by comparing every pair of rows."""

from itertools import combinations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.counting.batch import batch_of
from pqd.engine.counting.repeated_rows import RepeatedRows, repeated_rows
from tests.support.drawing import examples

rows_of = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.none() | st.integers(0, 2)] * width), max_size=12)
)


def by_pairs(rows: list[tuple[int | None, ...]]) -> RepeatedRows:
    pairs = sum(a == b for a, b in combinations(rows, 2))
    most = max(map(rows.count, rows), default=0)
    if not pairs:
        return RepeatedRows(0, most, 0, ())
    nearly = tuple(
        sum(a[:n] + a[n + 1 :] == b[:n] + b[n + 1 :] for a, b in combinations(rows, 2))
        for n in range(len(rows[0]))
    )
    return RepeatedRows(sum(rows.count(row) > 1 for row in rows), most, pairs, nearly)


@examples(60)
@given(rows_of)
def test_repeated_rows_are_those_of_all_pairs(rows: list[tuple[int | None, ...]]) -> None:
    width = len(rows[0]) if rows else 1
    names = [f"c{n}" for n in range(width)]
    columns = [pa.array([row[n] for row in rows], pa.int64()) for n in range(width)]
    table = pa.RecordBatch.from_arrays(columns, names=names)
    assert repeated_rows(batch_of([table], names)) == by_pairs(rows)
