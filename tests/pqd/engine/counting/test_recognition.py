"""Hashes of rows: the same for the same multiset of rows in any order, another for any other."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pqd.engine.counting import facts, recognition
from pqd.engine.counting.batch import Batch
from pqd.engine.counting.recognition import CellNumbers, ContentCounter
from pqd.engine.counting.tally import folded
from tests.support.batches import batches_of
from tests.support.drawing import examples

KEY = b"k" * 32
PRIME = 2**31 - 1
Row = tuple[str | None, ...]


def counter(names: Sequence[str] = "ab", key: bytes = KEY) -> ContentCounter:
    return ContentCounter(tuple(names), key, lambda values: values.to_pylist())


def batches(rows: Sequence[Row], names: Sequence[str] = "ab", size: int = 3) -> list[Batch]:
    kinds = pa.schema([(name, pa.large_string()) for name in names])
    columns = [[row[place] for row in rows] for place in range(len(names))]
    table = pa.table(columns, schema=kinds)
    return list(batches_of(table, size))


def content(
    rows: Sequence[Row], names: Sequence[str] = "ab", key: bytes = KEY, size: int = 3
) -> tuple[int, ...]:
    """Number of rows, and sums of their hashes."""
    one = counter(names, key)
    whole = one.whole(folded(map(one.count, batches(rows, names, size))))
    assert list(whole.names) == sorted(name.lower() for name in names)
    assert json.loads(whole.text) == [whole.rows, *whole.sums]
    return whole.rows, *whole.sums


cells = st.sampled_from([None, "", "-", "x", "1", "+x"])
tables = st.lists(st.tuples(cells, cells), max_size=8)


@examples(150)
@given(tables, tables, st.integers(1, 9))
def test_tables_are_alike_where_their_multisets_of_rows_are(
    one: list[Row], other: list[Row], block: int
) -> None:
    assert (content(one) == content(other)) == (Counter(one) == Counter(other))
    assert content(one[::-1], size=block) == content(one)
    swapped = [(b, a) for a, b in one]
    assert content(swapped, "ba") == content(one)
    assert (content(swapped) == content(one)) == (Counter(swapped) == Counter(one))


PAIRS: list[tuple[list[Row], list[Row]]] = [
    # The same columns, but not the same rows: sums of cells would be alike.
    ([("a", "x"), ("b", "y")], [("a", "y"), ("b", "x")]),
    ([("1", "12")], [("11", "2")]),
    ([(None, "x")], [("", "x")]),
    ([("a", "a")] * 2, [("a", "a")]),
    ([], [("a", "a")]),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_tables_that_differ_little(pair: tuple[list[Row], list[Row]]) -> None:
    one, other = map(content, pair)
    assert not set(one[1:]) & set(other[1:]), "each of the four hashes tells them apart"


def test_another_key_or_name_is_another_hash() -> None:
    rows: list[Row] = [("a", "x"), ("b", "y")]
    assert not set(content(rows)[1:]) & set(content(rows, key=b"j" * 32)[1:])
    assert not set(content(rows)[1:]) & set(content(rows, "ac")[1:])
    assert content(rows, "aB") == content(rows), "capitals of a name do not matter"


def test_a_hash_is_the_product_of_its_cells_numbers() -> None:
    """By exact arithmetic, for more columns than one fold of a product could take."""
    names = [f"c{n}" for n in range(40)]
    rows: list[Row] = [tuple(f"{n * row % 7}" for n in range(40)) for row in range(300)]
    totals = [0] * 4
    for row in rows:
        products = [1] * 4
        for name, text in zip(names, row, strict=True):
            (numbers,) = CellNumbers(name, KEY).of([text]).tolist()
            products = [a * b % PRIME for a, b in zip(products, numbers, strict=True)]
        totals = [(a + b) % PRIME for a, b in zip(totals, products, strict=True)]
    assert content(rows, names, size=100) == (300, *totals)


@pytest.mark.parametrize("width", range(1, 9))
@pytest.mark.parametrize("most", [0, 1 << 14])
def test_the_largest_numbers_do_not_overflow(
    width: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = np.full((1, 4), PRIME - 1, np.uint64)
    monkeypatch.setattr(CellNumbers, "of", lambda *_: largest)
    monkeypatch.setattr(recognition, "_COMBINED", most)
    names = [f"c{n}" for n in range(width)]
    rows: list[Row] = [("a",) * width] * 3
    power = pow(PRIME - 1, width, PRIME)
    assert content(rows, names) == (3, *[3 * power % PRIME] * 4)


@pytest.mark.parametrize(
    ("size", "cached", "kept"), [(1, 1, -1), (2, 4, 1), (3, 2, 3), (7, 4, 2), (1000, 3, 9)]
)
def test_rows_are_hashed_in_parts(
    monkeypatch: pytest.MonkeyPatch, size: int, cached: int, kept: int
) -> None:
    """However many at a time, and however many values are remembered."""
    rows: list[Row] = [(f"{n % 5}" if n % 4 else None, f"{n * n % 11 - n % 2}") for n in range(70)]
    whole = content(rows)
    monkeypatch.setattr(recognition, "_CACHED", cached)
    monkeypatch.setattr(facts, "MOST", kept)
    for most in (0, 100, 1 << 14):
        monkeypatch.setattr(recognition, "_COMBINED", most)
        assert content(rows, size=size) == whole


class Null(CellNumbers):
    """Column whose NULL has the number 0 in some lanes: nothing can be divided by it."""

    def _hashed(self, texts: Sequence[str | None]) -> NDArray[np.uint64]:
        numbers = super()._hashed(texts)
        if texts == [None]:
            numbers = numbers * np.array([0, 1, 0, 1], np.uint64)
        return numbers


def test_a_null_is_one_whatever_its_number_is() -> None:
    assert Null("a", KEY).null[0] == Null("a", KEY).null[2] == 1
    assert Null("a", KEY).of(["x", None])[1].tolist() == [1] * 4
    assert Null("a", KEY).of(["x"]).all()


@examples(100)
@given(tables, st.integers(1, 9))
def test_earlier_ledgers_hold_what_the_content_still_gives(rows: list[Row], size: int) -> None:
    """By the earlier rule NULL was a number like any other, and the names of columns counted."""

    def number(name: str, text: str | None) -> list[int]:
        keyed = hashlib.blake2b(name.encode(), key=KEY, digest_size=64).digest()
        held = b"" if text is None else b"+" + text.encode()
        found = hashlib.blake2b(held, key=keyed, digest_size=32).digest()
        return [int.from_bytes(found[n : n + 8], "little") % PRIME for n in range(0, 32, 8)]

    totals = [0] * 4
    for row in rows:
        pairs = zip(
            *(number(name, text) for name, text in zip("ab", row, strict=True)), strict=True
        )
        totals = [(total + x * y) % PRIME for total, (x, y) in zip(totals, pairs, strict=True)]
    one = counter("bA")
    whole = one.whole(folded(map(one.count, batches(rows, "Ab", size))))
    assert json.loads(whole.earlier(KEY)) == [["a", "b"], str(len(rows)), *map(str, totals)]
