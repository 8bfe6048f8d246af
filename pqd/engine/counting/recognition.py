"""Recognition of a table: keyed hashes of whole rows, and the content of a table as their sum.

A row's hash is the product, modulo the prime 2^31 - 1, of one number for each of its cells, which
a keyed BLAKE2b draws from the column's name and the cell's text; a table's content is the sum of
those of its rows, with their number.  The order of rows and columns does not matter (Clarke et al.,
ASIACRYPT 2003, call it MSet-Add-Hash), so contents of batches add up.

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
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.counting.facts import ByValue
from pqd.engine.counting.tally import Counts, Tally
from pqd.engine.reading.object_texts import number_text
from pqd.engine.reading.values import plain_values
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
# Combinations of values of several columns that are made one factor.
_COMBINED = 1 << 14
# Numbers as programs write them.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-][0-9]+)?")
# Truths as pandas writes them, and as the engine does.
_TRUTHS = {"True": "true", "False": "false"}


class RowHash:
    """Hash of each row by the columns ``names`` under ``key``; ``texts`` are those of values."""

    def __init__(self, names: Sequence[str], key: bytes, texts: Texts) -> None:
        """Nothing is hashed yet."""
        self._numbers = {
            name: ByValue(partial(_numbers, texts, column_key(name, key))) for name in names
        }

    def hashes(self, batch: Batch) -> Iterator[NDArray[np.uint64]]:
        """Four hashes of each row, below the prime, of some rows (rows, 4) after the others."""
        factors = self._factors(batch)
        for first in range(0, batch.rows, _CACHED):
            some = slice(first, first + _CACHED)
            (codes, numbers), *others = factors
            product = numbers.take(codes[some], axis=0)
            for codes, numbers in others:
                # Both are below 2^31: 2^31 is 1 modulo the prime.
                product *= numbers.take(codes[some], axis=0)
                product = (product & _PRIME) + (product >> np.uint64(_BITS))
                product = (product & _PRIME) + (product >> np.uint64(_BITS))
            yield product % _PRIME

    def _factors(self, batch: Batch) -> list[tuple[NDArray[Any], NDArray[np.uint64]]]:
        """Codes of the rows and numbers of the codes; columns of few values are one factor."""
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
        """Name of the type alone: it holds a key, and what it remembers may be private."""
        return "RowHash(...)"


class ContentCounter:
    """Counter of the content of a table by ``columns``: its number of rows, and sums of hashes.

    The key of the number is 0, those of the sums are 1, 2, 3, 4.
    """

    distinct: frozenset[int] = frozenset()

    def __init__(self, columns: Names, key: bytes, texts: Texts) -> None:
        """Nothing is hashed yet."""
        self.columns, self._key, self._texts = columns, key, texts
        self._hash = RowHash(columns, key, texts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy for another process: it knows no value."""
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
        """Content of the table, as ledgers know it."""
        rows, *sums = counts[0].counts.tolist() or [0] * (1 + LANES)
        names = sorted(map(fold_case, self.columns))
        return json.dumps([names, str(rows), *(str(total % int(_PRIME)) for total in sums)])

    def __repr__(self) -> str:
        """Name of the type alone: it holds a key, and what it remembers may be private."""
        return "ContentCounter(...)"


class RowRanks:
    """Ranks of rows, by which the rows of a person are put in order: two of a row's hashes.

    Rows that are alike have the same rank, others hardly ever.
    """

    def __init__(self, names: Sequence[str], key: bytes, texts: Texts, *, written: bool) -> None:
        """Nothing is hashed yet; a table is ``written`` as text, or its columns have types."""
        self._hash = RowHash(names, key, partial(_rank_texts, texts, written=written))

    def of(self, batch: Batch) -> NDArray[np.uint64]:
        """Rank of each row, of 62 bits."""
        parts = [(part[:, 0] << np.uint64(_BITS)) | part[:, 1] for part in self._hash.hashes(batch)]
        return np.concatenate([np.zeros(0, np.uint64), *parts])

    def __repr__(self) -> str:
        """Name of the type alone: it holds a key, and what it remembers may be private."""
        return "RowRanks(...)"


def _rank_texts(texts: Texts, values: pa.Array, *, written: bool) -> Sequence[str | None]:
    """Texts of distinct values for ranks: of a value alone, whatever type its column has.

    Another person's cell may change that type, and would decide which of a person's rows come
    first.  Where a table is ``written`` as text it was perhaps a program that wrote all numbers of
    a column by their type, so those that say the same are one.
    """
    found = texts(plain_values(values))
    return [text and _alike(text) for text in found] if written else found


def _alike(text: str) -> str:
    return number_text(float(text)) if _NUMBER.fullmatch(text) else _TRUTHS.get(text, text)


def column_key(name: str, key: bytes) -> bytes:
    """Key of one column's cells: the same cell of another column is another number."""
    return hashlib.blake2b(fold_case(name).encode(), key=key[:64], digest_size=64).digest()


def _numbers(texts: Texts, key: bytes, values: pa.Array) -> FactArrays:
    """Numbers of distinct values (values, 4) below the prime; that of no text is another one."""
    keyed = hashlib.blake2b(key=key, digest_size=8 * LANES)
    digests = bytearray()
    for text in texts(values):
        digest = keyed.copy()
        if text is not None:
            digest.update(b"+" + text.encode())
        digests += digest.digest()
    return [np.frombuffer(digests, "<u8").reshape(-1, LANES) % _PRIME]


def hashed(text: str | None, key: bytes, size: int) -> bytes:
    """Keyed hash of a value's text; that of no text is another one."""
    content = b"" if text is None else b"+" + text.encode()
    return hashlib.blake2b(content, key=key[:64], digest_size=size).digest()
