"""Cells of any Arrow type as codes, with values that the engine can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pqd.engine.reading.buffers import no_value, numpy_of, true_in, whole
from pqd.engine.reading.object_texts import moment_text, number_text, span_text, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# Most seconds, milliseconds and microseconds that fit into microseconds of 64 bits; the last number
# means infinity.
_MOST = {"s": (1 << 63) // 10**6 - 1, "ms": (1 << 63) // 10**3 - 1, "us": (1 << 63) - 1}
# Second of the engine's first moment, in the year 290,309 BC; an earlier moment breaks the engine.
_FIRST_SECOND = -9_223_372_022_400


def at_least_one(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, wanted: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Columns ``wanted`` of each batch; if there is no batch, one batch without rows."""
    none = True
    for batch in batches:
        none = False
        yield batch.select(list(wanted))
    if none:
        kinds = [pa.nulls(0, schema.field(name).type) for name in wanted]
        yield pa.RecordBatch.from_arrays(kinds, names=list(wanted))


def value_types(schema: pa.Schema, wanted: Sequence[str]) -> dict[str, pa.DataType]:
    """Types of the encoded values of columns ``wanted``; a column of type null stays null."""
    return {
        name: pa.null() if pt.is_null(kind) else encoded(pa.nulls(0, kind)).type.value_type
        for name, kind in ((name, schema.field(name).type) for name in wanted)
    }


def encoded(*chunks: pa.Array) -> pa.DictionaryArray:
    """Cells of chunks of one type, encoded by their distinct values in a type of the engine.

    A value that this type cannot hold is NULL: text that is not UTF-8, or a time beyond its range.
    Values of a type that Arrow cannot encode, such as lists, become text.  Cells with a dictionary
    must come in a single chunk.
    """
    if isinstance(chunks[0], pa.ExtensionArray):
        text = "uuid" in str(chunks[0].type)
        chunks = tuple(texts_of(each) if text else each.storage for each in chunks)
    if pt.is_dictionary(chunks[0].type):
        (held,) = chunks
        # Polars stores its categories as string views.
        values = _plain(_plain_storage(held.dictionary))
        return pa.DictionaryArray.from_arrays(held.indices.cast(pa.int32()), values)
    if pt.is_null(chunks[0].type):
        chunks = tuple(each.cast(pa.large_string()) for each in chunks)
    try:
        held = _dictionary_of([_plain_storage(each) for each in chunks])
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        held = _dictionary_of([texts_of(each) for each in chunks])
    return pa.DictionaryArray.from_arrays(
        held.indices.cast(pa.int32()), _plain(_plain_storage(held.dictionary))
    )


def _dictionary_of(chunks: Sequence[pa.Array]) -> pa.DictionaryArray:
    """Cells of chunks with one dictionary."""
    held = [each for each in chunks if len(each)]
    if len(held) <= 1:
        return (held or chunks)[0].dictionary_encode()
    return pa.chunked_array(held).dictionary_encode().combine_chunks()


def _plain_storage(cells: pa.Array) -> pa.Array:
    """Cells in a layout that can be encoded."""
    kind = cells.type
    if pt.is_string_view(kind):
        return cells.cast(pa.binary_view()).cast(pa.large_binary()).view(pa.large_string())
    if pt.is_binary_view(kind) or pt.is_fixed_size_binary(kind):
        return cells.cast(pa.large_binary())
    if pt.is_float16(kind):
        return cells.cast(pa.float32())
    return cells


def _plain(values: pa.Array) -> pa.Array:
    """Distinct values as the engine can hold them; a value that it cannot hold becomes NULL."""
    kind = values.type
    if pt.is_string(kind) or pt.is_large_string(kind):
        return valid_texts(values)
    if pt.is_timestamp(kind) and kind.unit in _MOST:
        least = _FIRST_SECOND * _A_SECOND[kind.unit]
        return _in_microseconds(values, pa.timestamp("us", kind.tz), least)
    if pt.is_duration(kind) and kind.unit in _MOST:
        return _in_microseconds(values, pa.duration("us"), -_MOST[kind.unit])
    if pt.is_time(kind):
        return _within_a_day(values)
    if pt.is_decimal256(kind):
        return texts_of(values)
    return values


def valid_texts(texts: pa.Array) -> pa.Array:
    """Texts; a text that is not UTF-8 becomes NULL."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        sized = pa.large_binary() if pt.is_large_string(texts.type) else pa.binary()
        held: list[bytes | None] = texts.view(sized).to_pylist()
        texts = pa.array([_decoded(cell) for cell in held], pa.large_string())
    return texts.cast(pa.large_string())


def _decoded(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def _in_microseconds(values: pa.Array, kind: pa.DataType, least: int) -> pa.Array:
    """Times in microseconds; a time below ``least`` (in its unit) or too large becomes NULL."""
    ticks = values.view(pa.int64())
    within = _within(ticks, least, _MOST[values.type.unit])
    if values.type.unit == "us":
        within = pc.or_(within, pc.equal(ticks, whole(-_MOST["us"])))
    return pc.if_else(within, values, no_value(values.type)).cast(kind)


def _within_a_day(values: pa.Array) -> pa.Array:
    """Times of day; a time that no day has becomes NULL."""
    ticks = values.view(f"int{values.type.bit_width}")
    last = 24 * 60 * 60 * _A_SECOND[values.type.unit] - 1
    return pc.if_else(_within(ticks, 0, last), values, no_value(values.type))


def _within(ticks: pa.Array, least: int, most: int) -> pa.Array:
    return pc.and_(pc.greater_equal(ticks, whole(least)), pc.less_equal(ticks, whole(most)))


def is_number(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type are numbers."""
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))


def doubles_of(numbers: pa.Array) -> pa.DoubleArray:
    """Nearest double of each number, whatever its type; NaN becomes NULL.

    A column of objects takes NaN as missing, and a cell of another row may turn this column into a
    column of objects.
    """
    if pt.is_decimal(numbers.type):
        # Arrow's own cast of a decimal depends on the scale of its column.
        held = [None if cell is None else float(cell) for cell in numbers.to_pylist()]
        return pa.array(held, pa.float64())
    doubles = numbers.cast(pa.float64(), safe=False)
    if not true_in(pc.is_nan(doubles)).any():
        return doubles
    return pc.if_else(pc.is_nan(doubles), no_value(doubles.type), doubles)


def plain_values(values: pa.Array) -> pa.Array:
    """Values in a form that does not depend on the column's type, which other rows can change.

    A number becomes the text of its double, since pandas turns whole numbers into doubles if a cell
    is missing.  A time becomes microseconds, since a cell in another unit changes the unit of the
    column.  Bytes become text.
    """
    kind = values.type
    if is_number(kind):
        return _number_texts(values)
    if pt.is_timestamp(kind):
        return values.cast(pa.timestamp("us", kind.tz), safe=False)
    if pt.is_duration(kind):
        return values.cast(pa.duration("us"), safe=False)
    if pt.is_binary(kind) or pt.is_large_binary(kind):
        return valid_texts(values.cast(pa.large_binary()).view(pa.large_string()))
    return values


def _number_texts(numbers: pa.Array) -> pa.LargeStringArray:
    doubles = doubles_of(numbers)
    pairs = zip(numpy_of(doubles).tolist(), numpy_of(doubles.is_valid()).tolist(), strict=True)
    return pa.array(
        [number_text(number) if held else None for number, held in pairs], pa.large_string()
    )


def texts_of(cells: pa.Array) -> pa.Array:
    """Texts of cells of any type."""
    plain = plain_values(cells)
    if pt.is_large_string(plain.type):
        return plain
    if pt.is_timestamp(plain.type):
        zoned = plain.type.tz is not None
        return _time_texts(plain, lambda ticks: moment_text(ticks, zoned=zoned))
    if pt.is_duration(plain.type):
        return _time_texts(plain, span_text)
    return pa.array(map(_text, cells), pa.large_string())


def _time_texts(times: pa.Array, text: Callable[[int], str | None]) -> pa.LargeStringArray:
    """Texts of times in microseconds; Python's own times end with the year 9999."""
    ticks: list[int | None] = times.view(pa.int64()).to_pylist()
    return pa.array([None if tick is None else text(tick) for tick in ticks], pa.large_string())


def _text(cell: pa.Scalar) -> str | None:
    """Text of one cell; None if Python cannot hold a part of it: a year 0, or no UTF-8."""
    try:
        held = cell.as_py()
    except Exception:  # noqa: BLE001 - no cell may end the run, whatever it is
        return None
    return text_of(held)
