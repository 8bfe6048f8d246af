"""Partial content: hashes of some rows of a table, whose sums are those of all; and their persons.

Which table it is, and whether it is the same as before, is told by sums over its rows
(pqd/engine/reading/row_hashes.py), so partitions add up.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pqd.engine.kernel.arrow_sql import worker_sql
from pqd.engine.kernel.tally import Counts, Tally
from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.engine.reading.row_hashes import LANES, RowHasher, reduced_sum
from pqd.engine.reading.values import plain_values
from pqd.engine.table_likeness import TableLikeness
from pqd.engine.table_reader import rank_texts
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from pqd.engine.spark.partial_counts import Block


# Number of rows, and sums of their hashes.
Content = tuple[int, ...]
_PERSON = 8


@dataclass(frozen=True)
class ContentCounting:
    """Number of rows, and sums of their keyed hashes, by the cells of ``columns``.

    ``loose`` hashes are alike for cells that say the same in another type.
    """

    columns: tuple[str, ...]
    key: bytes
    loose: bool = False

    def sums(self, blocks: Iterable[Block]) -> list[int]:
        """Sums over the rows of ``blocks``."""
        sql = worker_sql()
        texts = TableLikeness(sql).loose_texts if self.loose else sql.texts
        hasher = RowHasher(self.columns, self.key, texts)
        for block in blocks:
            hasher.add(block)
        return list(hasher.content().result())

    def content(self, sums: Sequence[int]) -> Content:
        """Content of a table from the sums of its partitions."""
        rows, *others = sums or [0] * (1 + LANES)
        return (rows, *map(reduced_sum, others))

    def __repr__(self) -> str:
        """Name of the type alone: it holds a key."""
        return "ContentCounting(...)"


@dataclass(frozen=True)
class Contents:
    """Several contents of one table, taken in one scan."""

    each: tuple[ContentCounting, ...]
    persons: None = None
    distinct: frozenset[int] = frozenset()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        return tuple(dict.fromkeys(name for one in self.each for name in one.columns))

    def counts(
        self,
        blocks: Sequence[Block],
        ranks: NDArray[np.uint64] | None = None,  # noqa: ARG002 - no persons are told apart
    ) -> Counts:
        """Sums over the rows of ``blocks``: of content ``i`` by the number ``-1 - i``."""
        sums = [np.array(one.sums(blocks), np.int64) for one in self.each]
        tallies = (Tally(np.arange(each.size), each) for each in sums)
        return Counts({-1 - number: tally for number, tally in enumerate(tallies)})

    def contents(self, counts: Counts) -> list[Content]:
        """Contents of the table."""
        return [
            one.content(counts[-1 - number].counts.tolist()) for number, one in enumerate(self.each)
        ]


@dataclass(frozen=True)
class PersonCells:
    """Persons by the stored ``column``, and ranks of rows by all ``columns`` under ``key``."""

    columns: tuple[str, ...]
    column: str
    key: bytes

    def told(self, block: Block) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number of the person, and rank, of each row.

        Rows that the kernel takes for one person's have one number; the order of
        persons is that of keyed hashes, and says nothing.
        """
        sql = worker_sql()
        ranker = RowHasher(self.columns, self.key, rank_texts(sql.texts), ranked=True)
        ranker.add(block)
        builder = ColumnBuilder()
        builder.add(block[self.column])
        column = builder.column()
        texts = sql.texts(plain_values(column.values))
        hashes = [hashed(text, self.key, _PERSON) for text in texts]
        persons = np.frombuffer(b"".join(hashes), np.int64)[column.codes]
        return persons, ranker.ranks().view(np.int64)

    def __repr__(self) -> str:
        """Name of the type alone: it holds a key."""
        return "PersonCells(...)"


def content_text(names: Iterable[str], content: Content) -> str:
    """Text of a content, as ``TableReader.content`` gives it."""
    return json.dumps([sorted(map(fold_case, names)), *map(str, content)])


def hashed(text: str | None, key: bytes, size: int) -> bytes:
    """Keyed hash of a value's text; that of no text is another one."""
    content = b"" if text is None else b"+" + text.encode()
    return hashlib.blake2b(content, key=key[:64], digest_size=size).digest()
