"""Types of PostgreSQL: how the server writes a column, and the Arrow column that is made of it.

No cell may raise, in the server or here, whatever it is.  So the server renders no more than it
must, by functions that are total; days and times come as the bytes that it stores, since the driver
takes no notice of infinity; numbers of any precision come as text.  What has no type of a table
(JSON, arrays, ranges, intervals) becomes the server's own text.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from pqd.engine.reading.buffers import numpy_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# 2000-01-01, from which the server counts, after 1970-01-01.
_DAYS, _MICROSECONDS = 10_957, 946_684_800_000_000
_MOST_DAYS, _MOST = (1 << 31) - 1, (1 << 63) - 1


def _as_it_is(cells: pa.Array) -> pa.Array:
    return cells


class ColumnType(NamedTuple):
    """Rendering of a type: SQL with ``{0}`` for the column, and what is made of its cells.

    A ``loose`` column comes as text that is a number in all likelihood.
    """

    sql: str
    made: Callable[[pa.Array], pa.Array] = _as_it_is
    loose: bool = False


def _days(cells: pa.Array) -> pa.Array:
    """Days of the server; infinity is the engine's."""
    stored, valid = _stored(cells, 4)
    infinite = np.abs(stored) >= _MOST_DAYS
    days = np.where(infinite, np.sign(stored) * _MOST_DAYS, stored + _DAYS)
    return _arrow_of(days.astype(np.int32), valid, pa.date32())


def _moments(cells: pa.Array, zone: str | None = None) -> pa.Array:
    """Times of the server, those beyond the engine's range as NULL; infinity is the engine's."""
    stored, valid = _stored(cells, 8)
    infinite = (stored == _MOST) | (stored <= -_MOST)
    beyond = ~infinite & (stored >= _MOST - _MICROSECONDS)
    moments = stored + np.where(infinite | beyond, 0, _MICROSECONDS)
    moments = np.where(stored <= -_MOST, -_MOST, moments)
    return _arrow_of(moments, valid & ~beyond, pa.timestamp("us", zone))


def _stored(cells: pa.Array, width: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Whole numbers of cells of ``width`` bytes each, 0 for NULL, and whether each is one."""
    valid = numpy_of(cells.is_valid())
    numbers = np.zeros(len(cells), np.int64)
    _, places, held = cells.buffers()
    if not valid.any():
        return numbers, valid
    first, last = np.frombuffer(places, np.int32)[[cells.offset, cells.offset + len(cells)]]
    numbers[valid] = np.frombuffer(held or b"", np.uint8)[first:last].view(f">i{width}")
    return numbers, valid


def _arrow_of(numbers: NDArray[Any], valid: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Numbers as values of a type, NULL where they are not valid."""
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, numbers.size, [bits, pa.py_buffer(numbers)])


_PLAIN = ColumnType("{0}")
_TEXT = ColumnType("{0}::pg_catalog.text")
# By the numbers that types of the server itself have for good; every other one becomes text.
_TYPES = {
    **dict.fromkeys((16, 17, 20, 21, 23, 25, 700, 701, 1043, 1083), _PLAIN),
    26: ColumnType("{0}::pg_catalog.int8"),
    790: ColumnType("{0}::pg_catalog.numeric::pg_catalog.text", loose=True),
    1082: ColumnType("pg_catalog.date_send({0})", _days),
    1114: ColumnType("pg_catalog.timestamp_send({0})", _moments),
    1184: ColumnType("pg_catalog.timestamptz_send({0})", partial(_moments, zone="UTC")),
    1700: ColumnType("{0}::pg_catalog.text", loose=True),
}


def column_type(oid: int) -> ColumnType:
    """Rendering of the type with a number."""
    return _TYPES.get(oid, _TEXT)
