"""Reader of a table: its columns, each distinct value once, in one pass over the file or frame."""

from __future__ import annotations

import json
import re
import zlib
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from pqd.engine.reading.blocks_ahead import blocks_ahead
from pqd.engine.reading.columns import Columns
from pqd.engine.reading.dictionaries import ColumnBuilder
from pqd.engine.reading.object_texts import number_text
from pqd.engine.reading.row_codes import CodeStore
from pqd.engine.reading.row_hashes import RowHasher
from pqd.engine.reading.values import plain_values
from pqd.engine.sources.files import DelimitedFile
from pqd.engine.sources.source import UnreadableError
from pqd.errors import PqdError, RunError, TableError
from pqd.exception_barrier import of_memory, withheld
from pqd.interrupts import heed
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence

    from pqd.engine.sources.source import Blocks
    from pqd.engine.tables import Table

    Texts = Callable[[pa.Array], Sequence[str | None]]

_BREAKS = (pa.ArrowException, OSError, EOFError, zlib.error)
# Numbers as programs write them.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-][0-9]+)?")
# Truths as pandas writes them, and as the engine does.
_TRUTHS = {"True": "true", "False": "false"}
Result = TypeVar("Result")


def plain_texts(values: pa.Array) -> Sequence[str | None]:
    """Texts of values that are texts."""
    texts: list[str | None] = values.cast(pa.large_string()).to_pylist()
    return texts


class TableReader:
    """Reader of one table; ``texts`` gives the texts of distinct values, for hashes.

    What is asked for together is read in one pass, and kept in the table's memory.
    """

    def __init__(self, table: Table, texts: Texts = plain_texts) -> None:
        """Nothing is read yet."""
        self._table, self._texts, self._memory = table, texts, table.memory

    def columns(self, names: Sequence[str], rank_key: bytes | None = None) -> Columns:
        """Columns ``names``, as the table stores them, ranked by whole rows under ``rank_key``.

        Raises
        ------
        TableError
            If a synthetic table cannot be read.
        RunError
            If the private one cannot; the message says nothing of the content.
        """
        # Rows are counted by the cells of a column, the first if none is asked for.
        wanted = list(names) or list(self._table.columns[:1])
        ranked = [] if rank_key is None else [rank_key]
        with self._memory.lock:
            self._read(wanted, ranked, ())
            memory = self._memory
            ranks = None if rank_key is None else memory.ranks[rank_key]
            return Columns(memory.rows, {name: memory.columns[name] for name in names}, ranks)

    def content(self, key: bytes) -> str:
        """Keyed hash of all that the table holds, whatever the order of its rows and columns.

        Raises
        ------
        TableError, RunError
            As ``columns``.
        """
        with self._memory.lock:
            self._read((), (), (key,))
            content = self._memory.contents[key]
        with suppress(*_BREAKS):
            names = sorted(map(fold_case, self._table.columns))
            return json.dumps([names, *map(str, content.result())])
        raise unreadable(self._table)

    def read(
        self,
        names: Sequence[str],
        content_keys: Collection[bytes],
        *,
        apart: bool = False,
        ahead: bool = False,
    ) -> None:
        """Read columns, and the content under each key, in one pass.

        Where rows are hashed ``apart``, columns are there before the content is; blocks of a CSV
        may be read ``ahead``.  Each takes a thread more.

        Raises
        ------
        TableError, RunError
            As ``columns``.
        """
        with self._memory.lock:
            self._read(names, (), content_keys, apart=apart, ahead=ahead)

    def _read(
        self,
        names: Sequence[str],
        rank_keys: Collection[bytes],
        content_keys: Collection[bytes],
        *,
        apart: bool = False,
        ahead: bool = False,
    ) -> None:
        """Read what is not known yet, in one pass."""
        memory, every = self._memory, self._table.columns
        version = self._table.version()
        if version != memory.version:
            memory.forget(version)
        new = [name for name in names if name not in memory.columns]
        ranked = [key for key in rank_keys if key not in memory.ranks]
        hashed = [key for key in content_keys if key not in memory.contents]
        if (new or ranked) and not self._table.source.ordered:
            # All that goes by the order of rows is of one pass.
            new = list(dict.fromkeys([*memory.columns, *new]))
            ranked = list(dict.fromkeys([*memory.ranks, *ranked]))

        written = self._table.source.textual

        def work(blocks: Blocks) -> None:
            store = CodeStore()
            builders = {name: ColumnBuilder(store) for name in new}
            hasher = partial(RowHasher, every, texts=self._texts, shared=builders)
            rankers = {
                key: hasher(key, texts=rank_texts(self._texts, written=written), ranked=True)
                for key in ranked
            }
            hashers = {key: hasher(key, apart=apart) for key in hashed}
            for block in blocks:
                for name, builder in builders.items():
                    builder.add(block[name])
                for each in (*rankers.values(), *hashers.values()):
                    each.add(block)
            memory.ranks |= {key: ranker.ranks() for key, ranker in rankers.items()}
            memory.contents |= {key: each.content() for key, each in hashers.items()}
            # At the end, since the columns take the codes that hashes are made of.
            columns = {name: builder.column() for name, builder in builders.items()}
            memory.columns |= columns
            if new:
                memory.rows = columns[new[0]].rows

        if new or ranked or hashed:
            in_one_pass(self._table, every if ranked or hashed else new, work, ahead=ahead)


def rank_texts(texts: Texts, *, written: bool = False) -> Texts:
    """Texts of distinct values for ranks: of a value alone, whatever type its column has.

    Another person's cell may change that type, and would decide which of a person's rows come
    first.  Where a table is ``written`` as text it was perhaps a program that wrote all numbers of
    a column by their type, so those that say the same are one.
    """

    def plain(values: pa.Array) -> Sequence[str | None]:
        found = texts(plain_values(values))
        return [text and _alike(text) for text in found] if written else found

    return plain


def _alike(text: str) -> str:
    return number_text(float(text)) if _NUMBER.fullmatch(text) else _TRUTHS.get(text, text)


def read_columns(table: Table, names: Sequence[str]) -> Columns:
    """Columns ``names`` of ``table``, whose cells are texts; see ``TableReader``."""
    return TableReader(table).columns(names)


def in_one_pass(
    table: Table,
    wanted: Sequence[str],
    work: Callable[[Blocks], Result],
    *,
    ahead: bool = False,
) -> Result:
    """Result of ``work`` on the blocks of a table: cells of the ``wanted`` columns by name.

    Those of a CSV may be read ``ahead``, in a thread more.

    Raises
    ------
    TableError, RunError
        As ``TableReader.columns``.
    """
    advice = "check the file"
    try:
        with _broken(), closing(_blocks(table, wanted, ahead=ahead)) as blocks:
            return work(blocks)
    except UnreadableError as error:
        advice = error.advice
    # Raised outside the handler, since the reader's own error may hold a value.
    raise unreadable(table, advice)


@contextmanager
def _broken() -> Iterator[None]:
    """Context that ends where a table breaks; that memory ran out is no fault of the table."""
    lacking = None
    try:
        yield
    except _BREAKS as error:
        lacking = withheld(error) if of_memory(error) else None
    # Raised outside the handler, as below.
    if lacking:
        raise RunError(lacking)


def unreadable(table: Table, advice: str = "check the file") -> PqdError:
    """Refusal of a table that breaks; what broke is not quoted."""
    kind = TableError if table.role == "synthetic" else RunError
    return kind(f"the {table.title} could not be read to its end; {advice}")


def _blocks(
    table: Table, wanted: Sequence[str], *, ahead: bool
) -> Generator[Mapping[str, pa.Array]]:
    blocks = table.source.blocks(wanted, table.memory.note)
    # Blocks of other sources may be large, or belong to the thread that opened them.
    if ahead and isinstance(table.source, DelimitedFile):
        blocks = blocks_ahead(blocks)
    for block in blocks:
        heed()
        yield block
