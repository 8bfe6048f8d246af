"""Common type of parts: what a cell says is the same whatever the types of other parts are."""

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pqd.engine.reading.common_types import as_type, common_type
from pqd.engine.reading.values import encoded

# Microseconds from 1970 to 3000.
Y3000 = 32_503_680_000 * 10**6
ONE = pa.array([1], pa.int64())
# Cells of two parts, and what they are together.
TOGETHER: dict[str, tuple[list[pa.Array], list[Any]]] = {
    "whole and floating": (
        [pa.array([2**53 + 1]), pa.array([0.5, 3.0, -0.0])],
        ["9007199254740992.0", "0.5", "3", "0"],
    ),
    "short and floating": (
        [pa.array([2**31 - 1], pa.int32()), pa.array([0.5])],
        [2.0**31 - 1, 0.5],
    ),
    "no number": (
        [ONE, pa.array([float("nan"), float("inf"), 1e22])],
        ["1", None, "inf", "1e+22"],
    ),
    "decimal and whole": ([pa.array([Decimal("5.00"), Decimal("-0.00")]), ONE], ["5", "0", "1"]),
    "decimals": (
        [pa.array([Decimal("5.5")]), pa.array([Decimal(700)])],
        [Decimal("5.5"), Decimal(700)],
    ),
    "wide decimals": (
        [
            pa.array([Decimal(10) ** 37], pa.decimal128(38)),
            pa.array([Decimal("0.5")], pa.decimal128(38, 9)),
        ],
        ["1e+37", "0.5"],
    ),
    "moments": (
        [
            pa.array([Y3000], pa.int64()).view(pa.timestamp("us")),
            pa.array([10**9], pa.timestamp("ns")),
        ],
        [Y3000, 10**6],
    ),
    "spans": (
        [pa.array([2**62], pa.duration("us")), pa.array([1000], pa.duration("ns"))],
        [2**62, 1],
    ),
    "day and moment": (
        [pa.array([date(2020, 1, 2)]), pa.array([0], pa.timestamp("us"))],
        ["2020-01-02", "1970-01-01 00:00:00"],
    ),
    "bytes and text": (
        [pa.array([b"J\xc3\xbcrgen", b"\xff"]), pa.array(["x"])],
        ["J\u00fcrgen", None, "x"],
    ),
    "large and floating": ([ONE, pa.array([2.0**53, 1e-7])], ["1", "9007199254740992.0", "1e-07"]),
    "truth and whole": ([pa.array([True, False]), ONE], ["true", "false", "1"]),
    "truth and floating": ([pa.array([True]), pa.array([0.5])], ["true", "0.5"]),
    "truth and text": ([pa.array([True, None]), pa.array(["x"])], ["true", None, "x"]),
    "nothing": ([pa.nulls(1), pa.nulls(1)], [None, None]),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_cells_of_two_types(name: str) -> None:
    parts, expected = TOGETHER[name]
    blocks = [encoded(part) for part in parts]
    kind = common_type(
        pa.null() if pa.types.is_null(part.type) else block.dictionary.type
        for part, block in zip(parts, blocks, strict=True)
    )
    cells = [as_type(block, kind).dictionary_decode() for block in blocks]

    assert {each.type for each in cells} == {kind}
    if pa.types.is_duration(kind) or pa.types.is_timestamp(kind):
        cells = [each.view(pa.int64()) for each in cells]
    assert [cell for each in cells for cell in each.to_pylist()] == expected
