"""Hashes of rows: the same for the same multiset of rows in any order, another for any other."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.reading import row_hashes
from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.engine.reading.row_hashes import RowHasher
from tests.support.drawing import examples

KEY = b"k" * 32
PRIME = 2**31 - 1
Row = tuple[str | None, ...]


def hasher(
    rows: Sequence[Row],
    names: Sequence[str] = "ab",
    key: bytes = KEY,
    block: int = 3,
    shared: str = "",
    apart: bool = False,
) -> RowHasher:
    builders = {name: ColumnBuilder() for name in shared}
    texts = lambda values: values.to_pylist()  # noqa: E731
    made = RowHasher(names, key, texts, ranked=not apart, shared=builders, apart=apart)
    for first in range(0, len(rows), block):
        columns = zip(*rows[first : first + block], strict=True)
        cells = [pa.array(column, pa.large_string()).dictionary_encode() for column in columns]
        blocks = dict(zip(names, cells, strict=True))
        for name, builder in builders.items():
            builder.add(blocks[name])
        made.add(blocks)
    return made


def content(rows: Sequence[Row], names: Sequence[str] = "ab", key: bytes = KEY) -> tuple[int, ...]:
    return hasher(rows, names, key).content().result()


cells = st.sampled_from([None, "", "-", "x", "1", "+x"])
tables = st.lists(st.tuples(cells, cells), max_size=8)


@examples(150)
@given(tables, tables, st.integers(1, 9))
def test_tables_are_alike_where_their_multisets_of_rows_are(
    one: list[Row], other: list[Row], block: int
) -> None:
    assert (content(one) == content(other)) == (Counter(one) == Counter(other))
    assert hasher(one[::-1], block=block).content().result() == content(one)
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
    totals, ranks = [0] * 4, []
    for row in rows:
        products = [1] * 4
        for name, text in zip(names, row, strict=True):
            key = row_hashes._column_key(name, KEY)
            numbers = row_hashes._numbers([text], key)[0].tolist()
            products = [a * b % PRIME for a, b in zip(products, numbers, strict=True)]
        totals = [(a + b) % PRIME for a, b in zip(totals, products, strict=True)]
        ranks.append(products[0] << 31 | products[1])
    made = hasher(rows, names, block=100)
    assert made.content().result() == (300, *totals)
    assert made.ranks().tolist() == ranks


def test_the_largest_numbers_do_not_overflow() -> None:
    factor = row_hashes._Factor(np.zeros(3, np.uint8), np.full((1, 4), PRIME - 1, np.uint64))
    for width in range(1, 9):
        for factors in ([factor] * width, row_hashes._combined([factor] * width)):
            products = row_hashes._products(factors, slice(0, 3))
            assert products.max() < 2**33, "the sum of many of them fits, and one product more"
            assert (products % PRIME).tolist() == [[pow(PRIME - 1, width, PRIME)] * 4] * 3


@pytest.mark.parametrize("shared", ["", "a", "ab"])
@pytest.mark.parametrize(
    ("gathered", "cached", "kept"), [(1, 1, 0), (2, 4, 1), (3, 2, 3), (7, 4, 2), (1000, 3, 9)]
)
def test_rows_are_hashed_in_parts(
    monkeypatch: pytest.MonkeyPatch, gathered: int, cached: int, kept: int, shared: str
) -> None:
    """However many at a time, whichever columns are read besides, however many values are kept."""
    rows: list[Row] = [(f"{n % 5}" if n % 4 else None, f"{n * n % 11 - n % 2}") for n in range(70)]
    whole, distinct = hasher(rows), len(set(rows))
    monkeypatch.setattr(row_hashes, "_GATHERED", gathered)
    monkeypatch.setattr(row_hashes, "_CACHED", cached)
    monkeypatch.setattr(row_hashes, "_KEPT", kept)
    for block in (1, 2, 3, 7, 100):
        parts = hasher(rows, block=block, shared=shared)
        assert parts.content().result() == whole.content().result()
        assert parts.ranks().tolist() == whole.ranks().tolist()
        apart = hasher(rows, block=block, shared=shared, apart=True)
        assert apart.content().result() == whole.content().result()
    assert len(set(parts.ranks().tolist())) == distinct


@examples(100)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=7), st.integers(0, 2**32 - 1))
def test_combined_columns_have_the_products_of_the_single_ones(sizes: list[int], seed: int) -> None:
    rng, rows = np.random.default_rng(seed), 50
    factors = [
        row_hashes._Factor(
            rng.integers(0, size, rows, np.uint8), rng.integers(0, PRIME, (size, 4), np.uint64)
        )
        for size in sizes
    ]
    expected = [[1] * 4] * rows
    for codes, numbers in factors:
        cells = numbers[codes].tolist()
        pairs = zip(expected, cells, strict=True)
        expected = [[a * b % PRIME for a, b in zip(*pair, strict=True)] for pair in pairs]
    for most in (0, 100, 1 << 14):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_hashes, "_COMBINED", most)
            combined = row_hashes._combined(factors)
        products = row_hashes._products(combined, slice(0, rows))
        assert (products % PRIME).tolist() == expected
        assert row_hashes._summed(products) == products.sum(axis=0).tolist()
    assert len(combined) <= len(factors)
