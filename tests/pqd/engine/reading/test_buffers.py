"""Arrow arrays as numpy arrays, against pyarrow's own conversion."""

import math

import numpy as np
import pyarrow as pa
import pytest

from pqd.engine.reading.buffers import arrow_of, filled, no_value, numpy_of, texts_of, whole

NUMBERS = (
    *(np.array([0, 1, 200], f"{sign}int{size}") for sign in ("", "u") for size in (16, 32, 64)),
    np.array([0, 255], np.uint8),
    np.array([-128, 127], np.int8),
    np.array([2**63 - 1, -(2**63)]),
    np.array([0.0, -0.0, math.inf, math.nan, 0.1]),
    np.array([0.1, 2], np.float32),
    np.array([True, False, True]),
    np.arange(21) % 3 == 0,
    np.array([], np.int64),
    np.array([], np.bool_),
)


@pytest.mark.parametrize("values", NUMBERS, ids=lambda values: f"{values.dtype}-{values.size}")
def test_numbers_come_back_as_they_went(values: np.ndarray) -> None:
    array = arrow_of(values)
    array.validate(full=True)
    assert array.equals(pa.array(values)) or np.isnan(values.astype(float)).any()
    for part in (array, array[1:], array[:-1], array[1:2]):
        found = numpy_of(part)
        expected = part.to_numpy(zero_copy_only=False)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


def test_every_second_number_is_taken_as_it_stands() -> None:
    assert arrow_of(np.arange(10)[::2]).to_pylist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint8(), pa.float64(), pa.float32()])
def test_a_null_among_numbers_is_not_a_number(kind: pa.DataType) -> None:
    array = pa.array([1, None, 3, None], kind)
    for part in (array, array[1:], array[2:3]):
        expected = part.to_numpy(zero_copy_only=False)
        assert np.array_equal(numpy_of(part), expected, equal_nan=True)
    assert numpy_of(array).dtype == np.float64


def test_chunks_are_one_array() -> None:
    chunks = pa.chunked_array([[1, 2], [], [3]], pa.int64())
    assert numpy_of(chunks).tolist() == [1, 2, 3]
    assert numpy_of(pa.chunked_array([], pa.int32())).size == 0
    assert numpy_of(pa.chunked_array([[True], [False, True]])).tolist() == [True, False, True]


def test_what_is_no_number_is_an_object() -> None:
    assert numpy_of(pa.array(["a", None, "ü"])).tolist() == ["a", None, "ü"]
    assert numpy_of(pa.array([True, None])).tolist() == [True, None]


@pytest.mark.parametrize("kind", [pa.int32(), pa.uint8(), pa.int64()])
def test_another_number_stands_for_a_null(kind: pa.DataType) -> None:
    array = pa.array([1, None, 3, None], kind)
    assert filled(array, 7).tolist() == [1, 7, 3, 7]
    assert filled(array[1:3], 7).tolist() == [7, 3]
    assert filled(array[2:3], 7).tolist() == [3]
    assert filled(pa.nulls(0, kind), 7).size == 0


def test_a_single_value() -> None:
    assert [whole(n).as_py() for n in (0, -1, 2**63 - 1)] == [0, -1, 2**63 - 1]
    assert no_value(pa.time64("us")).equals(pa.scalar(None, pa.time64("us")))


def test_texts_are_those_that_were_given() -> None:
    texts = ["", "NA", "Zoë", "\0", "🙂", "a" * 1_000]
    array = texts_of(texts)
    array.validate(full=True)
    assert array.to_pylist() == texts
    assert len(texts_of([])) == 0
