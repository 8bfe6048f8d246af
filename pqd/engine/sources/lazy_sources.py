"""Lazy sources: their library evaluates them when they are read, for the wanted columns only.

A lazy source is a ``LazyFrame`` of polars, a relation of DuckDB or a dataset of pyarrow.  The user
has defined the table; pqd asks for some of its columns, and reads its rows in batches.  The order
of rows may change from pass to pass, and an error of the library may quote a cell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pqd.engine.reading.frames import arrow_frame
from pqd.engine.reading.values import at_least_one
from pqd.engine.sources.computed_copies import bounded
from pqd.engine.sources.files import file_version
from pqd.engine.sources.source import (
    Place,
    Role,
    TypedSource,
    UnreadableError,
    Version,
    checked_names,
)
from pqd.errors import TableError
from pqd.sql.schema import quote_identifier

if TYPE_CHECKING:
    from pqd.engine.reading.csv_files import Odd

Scan = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]

_ADVICE = (
    "its own library cannot evaluate it; evaluate it without pqd to see why, and give its columns "
    "types that Arrow has"
)
# Rows of a batch.
_ROWS = 1 << 17
# Several relations may share a connection of DuckDB, which has at most one open result.
_ONE_RELATION = RLock()


@dataclass(frozen=True)
class LazySource(TypedSource):
    """Source that is evaluated when it is read; ``scan`` gives batches of some of its columns.

    ``schema`` has the types of its columns, and ``files`` are the files that it is known to read.
    A ``computed_copy`` is a synthetic table that computes its rows as it is read.
    """

    label: str
    columns: tuple[str, ...] = field(repr=False)
    schema: pa.Schema = field(repr=False)
    scan: Scan = field(repr=False)
    files: tuple[Path, ...] = field(default=(), repr=False)
    computed_copy: bool = False

    @property
    def catalogued(self) -> bool:
        """False: the library may take the names from a row."""
        return False

    @property
    def places(self) -> tuple[Place, ...]:
        """Files that the source is known to read."""
        return tuple(map(Place, self.files))

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Cells of the ``wanted`` columns."""
        try:
            batches = at_least_one(self.scan(wanted), self.schema, wanted)
            yield from bounded(batches) if self.computed_copy else batches
        except UnreadableError:
            raise
        except BaseException as error:
            if not _broke(error):
                raise
        else:
            return
        # Raised outside the handler, since the library's own error may quote a cell.
        raise UnreadableError(_ADVICE)

    def version(self) -> Version:
        """Marks of the files; None if no file is known."""
        marks = [file_version(path) for path in self.files]
        if not marks:
            return None
        return tuple(mark for each in marks for mark in each or ()) if all(marks) else ()


def open_lazy(given: Any, role: Role) -> LazySource | None:  # noqa: ANN401 - of any library
    """Lazy source made of ``given``, not evaluated; None if ``given`` is no lazy source.

    Raises
    ------
    TableError
        If its columns have types that Arrow lacks, or unusable names.
    """
    kinds = {
        (kind.__module__.strip("_").partition(".")[0], kind.__name__)
        for kind in type(given).__mro__
    }
    opened = next((_OPENED[kind] for kind in _OPENED.keys() & kinds), None)
    if opened is None:
        return None
    what = f"the {role} table"
    try:
        schema, scan, files = opened(given, what)
        names = checked_names(f"the {role} frame", schema.names)
        # A dataset computes nothing: it gives the rows of its files.
        computed_copy = role == "synthetic" and opened is not _dataset
        return LazySource(f"{role} frame", names, schema, scan, files, computed_copy)
    except BaseException as error:
        if isinstance(error, TableError) or not _broke(error):
            raise
    # Raised outside the handler, since the library's own error may quote a cell.
    raise TableError(f"{what} is a {type(given).__name__} that cannot be taken over: {_ADVICE}")


def _broke(error: BaseException) -> bool:
    """Whether a library raised the error: a library in Rust raises errors that are no Exception."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _lazy_frame(given: Any, what: str) -> tuple[pa.Schema, Scan, tuple[Path, ...]]:  # noqa: ANN401
    # The types are known without a row, so an empty frame has them.
    schema = arrow_frame(given.clear().collect(), what).schema

    def scan(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # By a selector, since polars would read some plain names as patterns.
        chosen = given.select(sys.modules["polars"].selectors.by_name(*wanted))
        if hasattr(chosen, "collect_batches"):
            frames = chosen.collect_batches(chunk_size=_ROWS, maintain_order=True)
        else:
            frames = [chosen.collect()]
        for frame in frames:
            yield from pa.table(frame).to_batches()

    return schema, scan, ()


def _relation(given: Any, what: str) -> tuple[pa.Schema, Scan, tuple[Path, ...]]:  # noqa: ANN401, ARG001
    def scan(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _ONE_RELATION:
            chosen = given.project(", ".join(map(quote_identifier, wanted)))
            with pa.RecordBatchReader.from_stream(chosen) as reader:
                yield from reader

    with _ONE_RELATION, pa.RecordBatchReader.from_stream(given.limit(0)) as reader:
        schema = reader.schema
    return schema, scan, ()


def _dataset(given: Any, what: str) -> tuple[pa.Schema, Scan, tuple[Path, ...]]:  # noqa: ANN401, ARG001
    def scan(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        columns = {name: pa.compute.field(name) for name in wanted}
        batches: Iterator[pa.RecordBatch] = given.to_batches(
            columns=columns, batch_size=_ROWS, batch_readahead=2, fragment_readahead=1
        )
        return batches

    local = getattr(getattr(given, "filesystem", None), "type_name", "") == "local"
    files = tuple(map(Path, given.files)) if local else ()
    return given.schema, scan, files


_OPENED = {
    ("polars", "LazyFrame"): _lazy_frame,
    ("duckdb", "DuckDBPyRelation"): _relation,
    ("pyarrow", "Dataset"): _dataset,
}
