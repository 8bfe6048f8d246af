"""Recognition of a table: keyed hashes of whole rows, and the content of a table as their sum.

A keyed BLAKE2b maps each cell, by the column's name and the cell's text, to a number.  The hash of
a row is the product of the numbers of its cells modulo the prime 2^31 - 1.  The content of a table
is the sum of the hashes of its rows, with the number of rows.  The order of rows and columns does
not matter (Clarke et al., ASIACRYPT 2003, call it MSet-Add-Hash), so contents of batches add up.

Two tables with different multisets of rows have the same content only with a small chance, over the
choice of a secret key.  Under a secret key the numbers of distinct cells are independent and
uniform.  The difference of the two sums is a polynomial in these numbers.  Each row is a monomial,
whose degree is the number of columns, and different rows are different monomials.  A coefficient
says how much more often one table has the row.  If the tables have fewer than 2^31 - 1 rows, the
polynomial is not zero.  So its value is zero with a chance of at most columns / (2^31 - 1)
(Schwartz and Zippel).  Four independent hashes are taken, so the chance is this number to the
fourth power: about 5 * 10^-34 for ten columns.  If a row's hash were a sum instead of a product,
all tables with the same columns would have the same content, whatever their rows.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.counting.facts import ByValue
from pqd.engine.counting.tally import Counts, Tally
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from pqd.engine.counting.batch import Batch, Names
    from pqd.engine.counting.facts import FactArrays

    Texts = Callable[[pa.Array], Sequence[str | None]]

_BITS = 31
_PRIME = np.uint64((1 << _BITS) - 1)
# Independent hashes of a row.
LANES = 4
# Rows whose products stay in the processor's cache.
_CACHED = 1 << 13
# Most combinations of values for which several columns become one factor.
_COMBINED = 1 << 14


class RowHash:
    """Hash of each row by the columns ``names`` under ``key``; ``texts`` gives texts of values."""

    def __init__(self, names: Sequence[str], key: bytes, texts: Texts) -> None:
        """Nothing is hashed yet."""
        self._numbers = {
            name: ByValue(partial(_numbers, texts, column_key(name, key))) for name in names
        }

    def hashes(self, batch: Batch) -> Iterator[NDArray[np.uint64]]:
        """Arrays (rows, 4) with four hashes, below the prime, of each row; some rows at a time."""
        factors = self._factors(batch)
        for first in range(0, batch.rows, _CACHED):
            some = slice(first, first + _CACHED)
            (codes, numbers), *others = factors
            product = numbers.take(codes[some], axis=0)
            for codes, numbers in others:
                # Both factors are below 2^31, and 2^31 is 1 modulo the prime.
                product *= numbers.take(codes[some], axis=0)
                product = (product & _PRIME) + (product >> np.uint64(_BITS))
                product = (product & _PRIME) + (product >> np.uint64(_BITS))
            yield product % _PRIME

    def _factors(self, batch: Batch) -> list[tuple[NDArray[Any], NDArray[np.uint64]]]:
        """Codes of rows and numbers of codes, by factor; columns of few values share a factor."""
        factors: list[tuple[NDArray[Any], NDArray[np.uint64]]] = []
        by_size = sorted(self._numbers, key=lambda name: len(batch.columns[name].values))
        for name in by_size:
            column = batch.columns[name]
            (numbers,) = self._numbers[name].of(column.values)
            codes, size = column.codes, len(numbers)
            if factors and len(factors[-1][1]) * size <= _COMBINED:
                others, known = factors.pop()
                codes = others.astype(np.uint32) * np.uint32(size) + codes
                numbers = (known[:, np.newaxis] * numbers % _PRIME).reshape(-1, LANES)
            factors.append((codes, numbers))
        return factors

    def __repr__(self) -> str:
        """Name of the type alone: the object holds a key, and cached values may be private."""
        return "RowHash(...)"


class ContentCounter:
    """Counter of the content of a table by ``columns``: its number of rows, and sums of hashes.

    Key 0 of the tally counts the rows, keys 1 to 4 have the sums.
    """

    distinct: frozenset[int] = frozenset()

    def __init__(self, columns: Names, key: bytes, texts: Texts) -> None:
        """Nothing is hashed yet."""
        self.columns, self._key, self._texts = columns, key, texts
        self._hash = RowHash(columns, key, texts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy for another process, with an empty cache."""
        return ContentCounter, (self.columns, self._key, self._texts)

    def count(self, batch: Batch) -> Counts:
        """Content of ``batch``."""
        sums = sum(
            (part.sum(axis=0) for part in self._hash.hashes(batch)), np.zeros(LANES, np.uint64)
        )
        return Counts(
            {0: Tally(np.arange(1 + LANES), np.array([batch.rows, *(sums % _PRIME)], np.int64))}
        )

    def whole(self, counts: Counts) -> str:
        """Content of the table, as ledgers store it."""
        rows, *sums = counts[0].counts.tolist() or [0] * (1 + LANES)
        names = sorted(map(fold_case, self.columns))
        return json.dumps([names, str(rows), *(str(total % int(_PRIME)) for total in sums)])

    def __repr__(self) -> str:
        """Name of the type alone: the object holds a key, and cached values may be private."""
        return "ContentCounter(...)"


def column_key(name: str, key: bytes) -> bytes:
    """Key of one column's cells: equal cells of different columns have different numbers."""
    return hashlib.blake2b(fold_case(name).encode(), key=key[:64], digest_size=64).digest()


def _numbers(texts: Texts, key: bytes, values: pa.Array) -> FactArrays:
    """Numbers (values, 4) of distinct values, below the prime; NULL has a number of its own."""
    keyed = hashlib.blake2b(key=key, digest_size=8 * LANES)
    digests = bytearray()
    for text in texts(values):
        digest = keyed.copy()
        if text is not None:
            digest.update(b"+" + text.encode())
        digests += digest.digest()
    return [np.frombuffer(digests, "<u8").reshape(-1, LANES) % _PRIME]


def hashed(text: str | None, key: bytes, size: int) -> bytes:
    """Keyed hash of a value's text; NULL has a hash of its own."""
    content = b"" if text is None else b"+" + text.encode()
    return hashlib.blake2b(content, key=key[:64], digest_size=size).digest()
