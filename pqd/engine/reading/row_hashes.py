"""Keyed hashes of whole rows, and of a table as a multiset of rows.

A row's hash is the product, modulo the prime 2^31 - 1, of one number for each of its cells, which
a keyed BLAKE2b draws from the column's name and the cell's text; a table's is the sum of those of
its rows, with their number.  The order of rows and columns does not matter (Clarke et al.,
ASIACRYPT 2003, call it MSet-Add-Hash).

How often two tables meet that are not the same multiset of rows, over the choice of a secret key:
the numbers of cells are then independent and uniform.  The difference of the two sums is a
polynomial in them: a row is one monomial, of degree the number of columns, and different rows are
different monomials; its coefficient is how much more often one table has the row.  It is not the
zero polynomial where the tables have fewer than 2^31 - 1 rows, so it is zero with a chance of at
most columns / (2^31 - 1) (Schwartz and Zippel), and of that to the fourth power for the four
independent hashes taken here: about 5 * 10^-34 for ten columns.  A sum of numbers in place of the
product would be the same for all tables with the same columns, whatever their rows.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from pqd.engine.reading.columns import Column

_BITS = 31
_PRIME = (1 << _BITS) - 1
_LANES = 4
# Rows that are gathered before they are hashed, and rows that stay in the processor's cache.
_GATHERED, _CACHED = 1 << 20, 1 << 13


class RowHasher:
    """Hashes of the rows of one table, which come in blocks of all of its columns.

    ``texts`` gives the text of distinct values; ``ranked`` keeps each row's hash.
    """

    def __init__(
        self,
        names: Sequence[str],
        key: bytes,
        texts: Callable[[pa.Array], Sequence[str | None]],
        *,
        ranked: bool = False,
    ) -> None:
        """No rows yet."""
        self._names, self._texts = tuple(names), texts
        self._keys = [_column_key(name, key) for name in names]
        self._ranks: list[NDArray[np.uint64]] | None = [] if ranked else None
        self._sums = [0] * _LANES
        self._rows = 0
        self._begin()

    def _begin(self) -> None:
        self._gathered = 0
        self._builders = [ColumnBuilder() for _ in self._names]

    def add(self, block: Mapping[str, pa.DictionaryArray]) -> None:
        """Add the rows of a block."""
        for name, builder in zip(self._names, self._builders, strict=True):
            builder.add(block[name])
        self._gathered += len(block[self._names[0]])
        if self._gathered >= _GATHERED:
            self._hash()

    def _hash(self) -> None:
        """Hash the rows that were gathered, and let them go."""
        columns = [builder.column() for builder in self._builders]
        numbers = [
            _numbers(self._texts(column.values), key)
            for column, key in zip(columns, self._keys, strict=True)
        ]
        for first in range(0, self._gathered, _CACHED):
            rows = slice(first, min(first + _CACHED, self._gathered))
            self._take(_products(columns, numbers, rows))
        self._rows += self._gathered
        self._begin()

    def _take(self, products: NDArray[np.uint64]) -> None:
        totals = products.sum(axis=0).tolist()
        self._sums = [(a + b) % _PRIME for a, b in zip(self._sums, totals, strict=True)]
        if self._ranks is not None:
            self._ranks.append((products[:, 0] << np.uint64(_BITS)) | products[:, 1])

    def content(self) -> tuple[int, ...]:
        """Number of rows, and the sums of their hashes."""
        self._hash()
        return (self._rows, *self._sums)

    def ranks(self) -> NDArray[np.uint64]:
        """Hash of each row, of 62 bits: rows that are alike have the same, others hardly ever."""
        self._hash()
        return np.concatenate([np.empty(0, np.uint64), *(self._ranks or [])])


def _column_key(name: str, key: bytes) -> bytes:
    """Key of one column's cells: the same cell of another column is another number."""
    return hashlib.blake2b(fold_case(name).encode(), key=key[:64], digest_size=64).digest()


def _numbers(texts: Sequence[str | None], key: bytes) -> NDArray[np.uint64]:
    """Numbers of distinct texts (texts, 4) below the prime; that of no text is another one."""
    digests = b"".join(
        hashlib.blake2b(
            b"" if text is None else b"+" + text.encode(), key=key, digest_size=8 * _LANES
        ).digest()
        for text in texts
    )
    numbers: NDArray[np.uint64] = np.frombuffer(digests, "<u8").reshape(-1, _LANES) % _PRIME
    return numbers


def _products(
    columns: Sequence[Column], numbers: Sequence[NDArray[np.uint64]], rows: slice
) -> NDArray[np.uint64]:
    """Products of the numbers of each row's cells (rows, 4), below the prime."""
    product: NDArray[Any] = np.ones((rows.stop - rows.start, _LANES), np.uint64)
    for column, of_values in zip(columns, numbers, strict=True):
        product *= of_values[column.codes[rows]]
        # Below 2^62, then below 2^32, then at most the prime and one: the next product fits.
        for _ in range(2):
            product = (product & np.uint64(_PRIME)) + (product >> np.uint64(_BITS))
    product[product >= _PRIME] -= np.uint64(_PRIME)
    return product
