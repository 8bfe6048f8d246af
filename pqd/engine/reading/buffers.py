"""Arrow arrays as numpy arrays, and the reverse, by their buffers.

Pyarrow's own conversions, even of single values and lists, import pandas.  This takes longer
than to read a small table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}


def numpy_of(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Values of an array of numbers or truths; other values become objects.

    If there is a null, numbers become doubles with NaN for null, and truths become objects.
    """
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, array.type)
    if pa.types.is_boolean(array.type) and not array.null_count:
        return _truths(array)
    if not pa.types.is_integer(array.type) and not pa.types.is_floating(array.type):
        return np.array(array.to_pylist(), dtype=object)
    values = _numbers(array)
    if array.null_count:
        values = values.astype(np.float64)
        values[~_truths(array.is_valid())] = np.nan
    return values


def filled(array: pa.Array, missing: int) -> NDArray[Any]:
    """Whole numbers of an array, ``missing`` in place of a null."""
    numbers = _numbers(array)
    return np.where(_truths(array.is_valid()), numbers, missing) if array.null_count else numbers


def true_in(array: pa.BooleanArray) -> NDArray[np.bool_]:
    """Mask of the places where an array of truths is true; a null is not true."""
    truths = _truths(array)
    return truths & _truths(array.is_valid()) if array.null_count else truths


def octets(texts: pa.LargeStringArray) -> NDArray[np.uint8]:
    """Bytes of all texts, joined; the text of a null must be empty."""
    bounds = np.frombuffer(texts.buffers()[1] or b"", np.int64)
    if not bounds.size:
        return np.empty(0, np.uint8)
    first, last = bounds[[texts.offset, texts.offset + len(texts)]]
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)[first:last]


def _truths(array: pa.BooleanArray) -> NDArray[np.bool_]:
    bits = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    return np.unpackbits(bits, bitorder="little")[array.offset :][: len(array)].astype(np.bool_)


def _numbers(array: pa.Array) -> NDArray[Any]:
    dtype = np.dtype(_FLOATS.get(str(array.type), str(array.type)))
    values = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    first = array.offset * dtype.itemsize
    return values[first : first + len(array) * dtype.itemsize].view(dtype)


def arrow_of(values: NDArray[Any]) -> pa.Array:
    """Array of whole numbers, doubles or truths, without a null."""
    if values.dtype == np.bool_:
        packed = np.packbits(values, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), values.size, [None, pa.py_buffer(packed)])
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [None, buffer])


def texts_of(texts: Sequence[str]) -> pa.LargeStringArray:
    """Array of texts."""
    held = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, held)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(held))]
    return pa.Array.from_buffers(pa.large_string(), len(held), buffers)


def whole(number: int) -> pa.Scalar:
    """Whole number of 64 bits as an Arrow value."""
    return arrow_of(np.array([number], np.int64))[0]


def no_value(kind: pa.DataType) -> pa.Scalar:
    """Null of a type as an Arrow value."""
    return pa.nulls(1, kind)[0]
