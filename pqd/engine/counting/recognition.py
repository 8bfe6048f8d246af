"""Recognition of a table: keyed hashes of whole rows, and the content of a table as their sum.

A keyed BLAKE2b maps each cell, by the column's name and the cell's text, to a number; NULL is 1.
The hash of a row is the product of the numbers of its cells modulo the prime 2^31 - 1.  The content
of a table is the sum of the hashes of its rows, with the number of rows.  The order of rows and
columns does not matter (Clarke et al., ASIACRYPT 2003, call it MSet-Add-Hash), so contents of
batches add up.  A cell that is NULL and a cell that is missing are the same, so a table has one
content, whether each row names its cells (JSON lines) or a header does (CSV, Parquet).

Two tables with different multisets of rows have the same content only with a small chance, over the
choice of a secret key.  Under a secret key the numbers of distinct cells are independent and
uniform.  The difference of the two sums is a polynomial in these numbers.  Each row is a monomial,
whose degree is the number of its cells, and different rows are different monomials.  A coefficient
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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pqd.engine.counting.facts import ByValue
from pqd.engine.counting.tally import Counts, Tally
from pqd.engine.reading.json_lines import LINE, cells_of
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


class Content(NamedTuple):
    """Content of a table: folded names of its columns, number of rows, and sums of row hashes."""

    names: tuple[str, ...]
    rows: int
    sums: tuple[int, ...]

    @property
    def text(self) -> str:
        """Text of the rows, as ledgers keep a keyed hash of it; columns without a cell are none."""
        return json.dumps([self.rows, *self.sums])

    def earlier(self, key: bytes) -> str:
        """Text by the rule of the first ledgers: names count, and NULL has a number of its own.

        A cell's number is divided by that of NULL in its column, so all sums have one factor more.
        """
        sums = self.sums
        for name in self.names:
            null = CellNumbers(name, key).null
            sums = tuple(one * factor % int(_PRIME) for one, factor in zip(sums, null, strict=True))
        return json.dumps([sorted(self.names), str(self.rows), *map(str, sums)])

    def __repr__(self) -> str:
        """Name of the type alone, since the number of rows is private."""
        return "Content(...)"


class RowHash:
    """Hash of each row by the columns ``names`` under ``key``; ``texts`` gives texts of values."""

    def __init__(self, names: Sequence[str], key: bytes, texts: Texts) -> None:
        """Nothing is hashed yet."""
        self._key, self._texts = key, texts
        # Numbers of cells, by the name of their column.
        self._cells: dict[str, CellNumbers] = {}
        for name in names:
            if name != LINE:
                self._of(name)
        self._numbers = {name: ByValue(partial(self._facts, name)) for name in names}

    @property
    def names(self) -> tuple[str, ...]:
        """Folded names of all columns; those of JSON lines are the keys of the lines so far."""
        return tuple(sorted({fold_case(name) for name in self._cells}))

    def _of(self, name: str) -> CellNumbers:
        known = self._cells.get(name)
        if known is None:
            known = self._cells[name] = CellNumbers(name, self._key)
        return known

    def _facts(self, name: str, values: pa.Array) -> FactArrays:
        """Numbers (values, 4) of the distinct values of a column."""
        texts = self._texts(values)
        return [self._of_lines(texts) if name == LINE else self._of(name).of(texts)]

    def _of_lines(self, lines: Sequence[str | None]) -> NDArray[np.uint64]:
        """Products (lines, 4) of the numbers of all cells that each line names."""
        places: dict[tuple[str, str], int] = {}
        held = [
            [places.setdefault(cell, len(places)) for cell in cells_of(line or "")]
            for line in lines
        ]
        numbers = np.ones((len(places), LANES), np.uint64)
        by_name: dict[str, list[tuple[int, str | None]]] = {}
        for (name, text), place in places.items():
            by_name.setdefault(name, []).append((place, text or None))
        for name, cells in by_name.items():
            own, texts = zip(*cells, strict=True)
            numbers[[*own]] = self._of(name).of(texts)
        products = np.ones((len(held), LANES), np.uint64)
        sizes = np.array([len(line) for line in held], np.int64)
        every = np.array([place for line in held for place in line], np.int64)
        first = np.cumsum(sizes) - sizes
        for number in range(sizes.max(initial=0)):
            longer = np.flatnonzero(sizes > number)
            more = numbers[every[first[longer] + number]]
            products[longer] = products[longer] * more % _PRIME
        return products

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

    def whole(self, counts: Counts) -> Content:
        """Content of the table."""
        rows, *sums = counts[0].counts.tolist() or [0] * (1 + LANES)
        return Content(self._hash.names, rows, tuple(total % int(_PRIME) for total in sums))

    def __repr__(self) -> str:
        """Name of the type alone: the object holds a key, and cached values may be private."""
        return "ContentCounter(...)"


class CellNumbers:
    """Numbers of the cells of one column: equal cells of different columns have different ones."""

    def __init__(self, name: str, key: bytes) -> None:
        """Derive the key of the column, whose case does not count."""
        own = hashlib.blake2b(fold_case(name).encode(), key=key[:64], digest_size=64).digest()
        self._keyed = hashlib.blake2b(key=own, digest_size=8 * LANES)
        # Earlier ledgers have this number in the place of 1 (``Content.earlier``).
        self.null = tuple(number or 1 for number in self._hashed([None])[0].tolist())
        inverse = [pow(number, -1, int(_PRIME)) for number in self.null]
        self._inverse = np.array(inverse, np.uint64)

    def of(self, texts: Sequence[str | None]) -> NDArray[np.uint64]:
        """Numbers (texts, 4) of distinct ``texts``, below the prime; that of NULL is 1."""
        numbers = self._hashed(texts) * self._inverse % _PRIME
        if None in texts:
            numbers[texts.index(None)] = 1
        return numbers

    def _hashed(self, texts: Sequence[str | None]) -> NDArray[np.uint64]:
        digests = bytearray()
        for text in texts:
            digest = self._keyed.copy()
            if text is not None:
                digest.update(b"+" + text.encode())
            digests += digest.digest()
        return np.frombuffer(digests, "<u8").reshape(-1, LANES) % _PRIME

    def __repr__(self) -> str:
        """Name of the type alone: the object holds a key."""
        return "CellNumbers(...)"


def hashed(text: str | None, key: bytes, size: int) -> bytes:
    """Keyed hash of a value's text; NULL has a hash of its own."""
    content = b"" if text is None else b"+" + text.encode()
    return hashlib.blake2b(content, key=key[:64], digest_size=size).digest()
