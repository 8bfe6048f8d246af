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
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pqd.engine.reading.buffers import arrow_of
from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    Texts = Callable[[pa.Array], Sequence[str | None]]

_BITS = 31
_PRIME = (1 << _BITS) - 1
# Independent hashes of a row.
LANES = 4
# Rows that are gathered before they are hashed, and rows that stay in the processor's cache.
_GATHERED, _CACHED = 1 << 18, 1 << 13
# Rows that are added up side by side.
_WIDE = 16
# Times that many rows wait at most for a thread of its own.
_WAITING = 4
# Values of a column whose numbers are kept, and combinations of columns that are made one factor.
_KEPT, _COMBINED = 1 << 18, 1 << 14


class _Cells(NamedTuple):
    """Cells of one column on rows that are to be hashed: row ``i`` holds ``values[codes[i]]``.

    The ``last`` are those after which a dictionary begins anew.
    """

    codes: NDArray[np.unsignedinteger]
    values: pa.Array
    last: bool = False

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "_Cells(...)"


class _Factor(NamedTuple):
    """Factor of each row's product: ``numbers[codes[i]]`` of row ``i``, (values, 4)."""

    codes: NDArray[np.unsignedinteger]
    numbers: NDArray[np.uint64]

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "_Factor(...)"


class RowHasher:
    """Hashes of the rows of one table, which come in blocks of all of its columns.

    ``texts`` gives the text of distinct values; ``ranked`` keeps each row's hash.  ``shared`` are
    the builders of columns that are read besides: each block is added to them before.  Where it
    hashes ``apart``, that is in a thread of its own, behind the one that adds blocks.
    """

    def __init__(
        self,
        names: Sequence[str],
        key: bytes,
        texts: Texts,
        *,
        ranked: bool = False,
        shared: Mapping[str, ColumnBuilder] | None = None,
        apart: bool = False,
    ) -> None:
        """No rows yet."""
        builders = shared or {}
        self._columns = {
            name: _HashedColumn(_column_key(name, key), texts, builders.get(name)) for name in names
        }
        self._ranks: list[NDArray[np.uint64]] | None = [] if ranked else None
        self._sums = [0] * LANES
        self._rows = self._gathered = 0
        self._thread = ThreadPoolExecutor(1) if apart else None
        self._waiting: deque[Future[None]] = deque()

    def add(self, block: Mapping[str, pa.Array]) -> None:
        """Add the rows of a block."""
        for name, column in self._columns.items():
            column.add(block[name])
        self._gathered += len(block[next(iter(self._columns))])
        if self._gathered >= _GATHERED:
            self._hash()

    def _hash(self) -> None:
        """Hash the rows that were gathered, and let them go."""
        rows, self._gathered = self._gathered, 0
        cells = [column.cells() for column in self._columns.values()]
        if self._thread is None:
            self._take(cells, rows)
            return
        self._waiting.append(self._thread.submit(self._take, cells, rows))
        if len(self._waiting) > _WAITING:
            self._waiting.popleft().result()

    def _take(self, cells: Sequence[_Cells], rows: int) -> None:
        """Add up the hashes of so many rows."""
        parts = zip(self._columns.values(), cells, strict=True)
        factors = _combined([column.factor(part) for column, part in parts])
        for first in range(0, rows, _CACHED):
            products = _products(factors, slice(first, min(first + _CACHED, rows)))
            totals = _summed(products)
            self._sums = [(a + b) % _PRIME for a, b in zip(self._sums, totals, strict=True)]
            if self._ranks is not None:
                first_two = _reduced(products[:, :2])
                self._ranks.append((first_two[:, 0] << np.uint64(_BITS)) | first_two[:, 1])
        self._rows += rows

    def content(self) -> Future[tuple[int, ...]]:
        """Number of rows, and the sums of their hashes; after it no row is added."""
        self._hash()
        if self._thread is None:
            done: Future[tuple[int, ...]] = Future()
            done.set_result(self._content())
            return done
        content = self._thread.submit(self._content)
        self._thread.shutdown(wait=False)
        return content

    def _content(self) -> tuple[int, ...]:
        for hashed in self._waiting:
            hashed.result()
        return (self._rows, *self._sums)

    def ranks(self) -> NDArray[np.uint64]:
        """Hash of each row, of 62 bits: rows that are alike have the same, others hardly ever."""
        self._hash()
        return np.concatenate([np.empty(0, np.uint64), *(self._ranks or [])])


class _HashedColumn:
    """Column whose cells are hashed part by part; a value's number is drawn once while it is kept.

    The dictionary is ``shared`` with the reader of the column, or its own: then what is kept of it
    is bounded.  Cells are taken by the thread that adds blocks, and made factors in that order, by
    one thread as well.
    """

    def __init__(self, key: bytes, texts: Texts, shared: ColumnBuilder | None) -> None:
        self._key, self._texts, self._shared = key, texts, shared
        self._taken = 0
        self._own = ColumnBuilder()
        self._forget()

    def _forget(self) -> None:
        self._numbers = np.empty((0, LANES), np.uint64)

    def add(self, block: pa.Array) -> None:
        """Add the rows of a block."""
        if self._shared is None:
            self._own.add(block)

    def cells(self) -> _Cells:
        """Cells of the rows that were added since the last."""
        if self._shared is not None:
            cells = _Cells(*self._shared.since(self._taken))
            self._taken += cells.codes.size
            return cells
        cells = _Cells(*self._own.since(0), last=self._own.size > _KEPT)
        if cells.last:
            self._own = ColumnBuilder()
        self._own.forget_rows()
        return cells

    def factor(self, cells: _Cells) -> _Factor:
        """Factor of ``cells``, which are the next."""
        codes, values, last = cells
        if self._shared is not None and len(values) > _KEPT:
            # Of very many values those are looked at that these rows have.
            self._forget()
            used, codes = np.unique(codes, return_inverse=True)
            return _Factor(codes, self._drawn(values.take(arrow_of(used))))
        if len(values) > len(self._numbers):
            new = self._drawn(values[len(self._numbers) :])
            self._numbers = np.concatenate([self._numbers, new])
        factor = _Factor(codes, self._numbers)
        if last:
            self._forget()
        return factor

    def _drawn(self, values: pa.Array) -> NDArray[np.uint64]:
        return _numbers(self._texts(values), self._key)


def _column_key(name: str, key: bytes) -> bytes:
    """Key of one column's cells: the same cell of another column is another number."""
    return hashlib.blake2b(fold_case(name).encode(), key=key[:64], digest_size=64).digest()


def _numbers(texts: Sequence[str | None], key: bytes) -> NDArray[np.uint64]:
    """Numbers of distinct texts (texts, 4) below the prime; that of no text is another one."""
    keyed = hashlib.blake2b(key=key, digest_size=8 * LANES)
    digests = bytearray()
    for text in texts:
        digest = keyed.copy()
        if text is not None:
            digest.update(b"+" + text.encode())
        digests += digest.digest()
    numbers: NDArray[np.uint64] = np.frombuffer(digests, "<u8").reshape(-1, LANES) % _PRIME
    return numbers


def _combined(factors: Sequence[_Factor]) -> list[_Factor]:
    """Fewer factors of the same products: of columns with few values one, of their combinations."""
    combined: list[_Factor] = []
    for factor in sorted(factors, key=lambda each: len(each.numbers)):
        size = len(factor.numbers)
        if combined and len(combined[-1].numbers) * size <= _COMBINED:
            codes, numbers = combined.pop()
            every = (numbers[:, np.newaxis] * factor.numbers).reshape(-1, LANES)
            combined.append(_Factor(codes * np.uint32(size) + factor.codes, _reduced(every)))
        else:
            combined.append(_Factor(factor.codes.astype(np.uint32), factor.numbers))
    return combined


def _products(factors: Sequence[_Factor], rows: slice) -> NDArray[np.uint64]:
    """Products of the factors of each row (rows, 4), modulo the prime, below 2^33."""
    (codes, numbers), *others = factors
    product: NDArray[np.uint64] = numbers.take(codes[rows], axis=0)
    factor, high = np.empty_like(product), np.empty_like(product)
    for place, (codes, numbers) in enumerate(others):
        numbers.take(codes[rows], axis=0, out=factor, mode="clip")
        product *= factor
        # A product of one below 2^32 + 2^31 fits 64 bits.  Of one below 2^31 + 4 this leaves one
        # below 2^32 + 4 the first time; of that the next, twice, one below 2^31 + 4 again.
        for _ in range(1 + place % 2):
            np.right_shift(product, np.uint64(_BITS), out=high)
            product &= np.uint64(_PRIME)
            product += high
    return product


def _summed(products: NDArray[np.uint64]) -> list[int]:
    """Sums of the columns of ``products``, many rows at a time: sums of four are slow."""
    wide = len(products) // _WIDE * _WIDE
    sums = products[:wide].reshape(-1, _WIDE * LANES).sum(axis=0).reshape(_WIDE, LANES)
    totals: list[int] = (sums.sum(axis=0) + products[wide:].sum(axis=0)).tolist()
    return totals


def reduced_sum(total: int) -> int:
    """Sum of the hashes of rows, from the sums of parts of them added up."""
    return total % _PRIME


def _reduced(products: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Products of two numbers below the prime, themselves below it."""
    # Below 2^62, then below 2^32, then at most the prime and one.
    for _ in range(2):
        products = (products & np.uint64(_PRIME)) + (products >> np.uint64(_BITS))
    products[products >= _PRIME] -= np.uint64(_PRIME)
    return products
