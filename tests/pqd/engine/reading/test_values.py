"""A time that the engine cannot hold is NULL: no moment of one row may end a run."""

import pyarrow as pa
import pytest

from pqd.engine.reading.values import encoded
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table

# Second of the engine's first moment.
FIRST = -9_223_372_022_400


def content(ticks: list[int | None], kind: pa.DataType) -> str:
    cells = pa.array(ticks, pa.int64()).view(kind)
    table = open_table(pa.table({"at": cells}), "private")
    return SyntheticTable().content(table, b"a key of 32 bytes for the tests.").text


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize(("unit", "per"), [("s", 1), ("ms", 10**3), ("us", 10**6)])
def test_a_moment_before_the_engines_first_is_null(unit: str, per: int, zone: str | None) -> None:
    first, kind = FIRST * per, pa.timestamp(unit, zone)
    null = content([0, first, None], kind)
    assert content([0, first, first - 1], kind) == null
    assert content([0, first, -(1 << 63)], kind) == null
    assert content([0, first, first], kind) != null


def test_infinite_moments_are_not_null() -> None:
    most, kind = (1 << 63) - 1, pa.timestamp("us")
    known = {content([0, last], kind) for last in (None, most, -most)}
    assert len(known) == 3


@pytest.mark.parametrize(
    "odd",
    [
        pa.array([0, -(1 << 62)], pa.int64()).view(pa.timestamp("s")),
        pa.array([0, 1 << 62], pa.int64()).view(pa.date64()),
        pa.array([0, 1 << 62], pa.int64()).view(pa.duration("s")),
        pa.array([b"a", b"\xff"]).view(pa.string()),
    ],
    ids=lambda odd: str(odd.type),
)
def test_a_list_or_struct_with_a_part_that_python_lacks_is_null(odd: pa.Array) -> None:
    lists = encoded(pa.ListArray.from_arrays([0, 1, 2], odd)).to_pylist()
    structs = encoded(pa.StructArray.from_arrays([odd], ["part"])).to_pylist()
    assert [cell is None for cell in lists] == [False, True]
    assert [cell is None for cell in structs] == [False, True]
