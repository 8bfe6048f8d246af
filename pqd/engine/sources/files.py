"""Files that hold a table: delimited text, JSON lines and Parquet.

Opening a private file reads no row.  Of JSON lines that are public all keys are read.
"""

from __future__ import annotations

import hashlib
import zlib
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from pqd.engine.reading.csv_blocks import LONGEST_ROW, LongRowError, csv_blocks
from pqd.engine.reading.csv_files import Dialect, Odd, header_of, opened_text
from pqd.engine.reading.frames import SUFFIXES
from pqd.engine.reading.json_lines import json_batches, json_keys
from pqd.engine.reading.parquet_files import parquet_batches, parquet_schema
from pqd.engine.reading.values import value_types
from pqd.engine.sources.source import (
    Place,
    Role,
    TypedSource,
    UnreadableError,
    Version,
    checked_names,
)
from pqd.errors import NO_PERMISSION, TableError

if TYPE_CHECKING:
    import gzip
    from collections.abc import Collection, Iterator, Sequence
    from io import BufferedReader
    from pathlib import Path

    from pqd.engine.reading.text_format import TextFormat

# Most bytes of a row of a public table: a small packed file may hold a row of any length.
_LONGEST_PUBLIC_ROW = 1 << 26
_LONG_ROW = (
    f"a row of it has more than {_LONGEST_PUBLIC_ROW >> 20} MB; look for a quote that is never "
    "closed, or leave out the column that is so long"
)
# Bytes that a digest reads at a time.
_BLOCK = 1 << 23
_CHANGED = "it was written since its header was read; run again when it is settled"
# Suffixes of the files that a table in parts may have.
PART_KINDS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
_JSON_LINES = (".jsonl", ".ndjson")
# Advice for files of other kinds, which a custodian may name.
_ADVICE = dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), "; save the sheet as CSV UTF-8")
_ADVICE[".json"] = "; if each line is an object of its own, call it .jsonl"
_ADVICE |= dict.fromkeys((".db", ".ddb"), "; of a DuckDB file, name a table: FILE::TABLE")


@dataclass(frozen=True)
class _File(ABC):
    """File that holds a table: ``path`` is absolute, ``label`` is the name that the user gave."""

    path: Path
    label: str
    columns: tuple[str, ...] = field(repr=False)

    @property
    def ordered(self) -> bool:
        """True: rows come in the order of the file."""
        return True

    @property
    def places(self) -> tuple[Place, ...]:
        """The file."""
        return (Place(self.path),)

    @property
    def folder(self) -> Path:
        """Folder of the file."""
        return self.path.parent

    def version(self) -> Version:
        """Marks that change when the file is written; empty if there is no file."""
        return file_version(self.path)

    def digest(self) -> bytes | None:
        """Hash of the file and of how it is read; None if unreadable."""
        try:
            content = file_digest(self.path).hex()
        except OSError:
            return None
        return hashlib.sha256(f"{content}\n{self._reading}".encode()).digest()

    @property
    @abstractmethod
    def _reading(self) -> str:
        """How the file is read."""


@dataclass(frozen=True)
class _TextFile(_File):
    """File whose cells are read as text.

    ``text_format`` says what the texts of cells mean; the source itself gives them as stored.
    ``opened`` are the file's marks from before it was first read; a file that has changed is
    refused.
    """

    role: Role = field(repr=False, compare=False)
    text_format: TextFormat = field(repr=False, compare=False)
    opened: Version = field(repr=False, compare=False)

    @property
    def textual(self) -> bool:
        """True: cells are stored as text."""
        return True

    @property
    def catalogued(self) -> bool:
        """False: names stand where a row may stand."""
        return False

    def loose(self, names: Sequence[str]) -> Collection[str]:
        """All columns, since every cell is text."""
        return names

    @contextmanager
    def _unchanged(self) -> Iterator[gzip.GzipFile | BufferedReader]:
        """Context with the opened file; UnreadableError if it was written or replaced."""
        # The file is opened before the check, so a file that replaces it later is not read.
        with opened_text(self.path) as file:
            if self.version() != self.opened:
                raise UnreadableError(_CHANGED)
            yield file


@dataclass(frozen=True)
class DelimitedFile(_TextFile):
    """Delimited text (CSV, TSV), read as text in its ``dialect``."""

    dialect: Dialect

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:
        """Texts of the ``wanted`` columns.

        Raises
        ------
        UnreadableError
            If the file was written or replaced since it was opened, or a row is too long.
        """
        public, mark = self.role == "synthetic", self.dialect.delimiter
        longest = _LONGEST_PUBLIC_ROW if public else LONGEST_ROW
        with self._unchanged() as file:
            file.read(self.dialect.header_size)
            try:
                yield from csv_blocks(file, self.columns, wanted, mark, longest, odd)
            except LongRowError:
                raise (UnreadableError(_LONG_ROW) if public else UnreadableError()) from None

    @property
    def _reading(self) -> str:
        return f"text {self.dialect.delimiter}"


@dataclass(frozen=True)
class JsonLinesFile(_TextFile):
    """JSON lines, each an object whose values are read as texts.

    No line names the columns.  ``columns`` of a public file are all its keys; those of a private
    file are what the run looks up, since its own keys are cells.
    """

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Texts of the ``wanted`` columns.

        Raises
        ------
        UnreadableError
            If the file was written or replaced since it was opened, or a line is too long.
        """
        longest = _LONGEST_PUBLIC_ROW if self.role == "synthetic" else None
        with self._unchanged() as file:
            try:
                yield from json_batches(file, wanted, longest)
            except LongRowError:
                raise UnreadableError(_LONG_ROW) from None

    @property
    def _reading(self) -> str:
        return "json lines"


@dataclass(frozen=True)
class ParquetFile(_File, TypedSource):
    """Parquet file; only the wanted columns are read."""

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Cells of the ``wanted`` columns."""
        return parquet_batches(self.path, wanted)

    def types(self, wanted: Sequence[str]) -> dict[str, pa.DataType]:
        """Types of the distinct values of the ``wanted`` columns, as blocks have them."""
        return value_types(parquet_schema(self.path), wanted)

    @property
    def _reading(self) -> str:
        return "parquet"


def file_digest(path: Path) -> bytes:
    """SHA-256 of the bytes of a file.

    Blocks are large: after each block, the thread may have to wait for threads that run Python.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    digest, block = hashlib.sha256(), memoryview(bytearray(_BLOCK))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(block):
            digest.update(block[:size])
    return digest.digest()


def file_version(path: Path) -> Version:
    """Marks that change when a file is written; empty if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


TableFile = DelimitedFile | JsonLinesFile | ParquetFile


def open_file(path: Path, role: Role, text_format: TextFormat) -> TableFile:
    """File at ``path``, recognised by its suffix; cells of text are of ``text_format``.

    Raises
    ------
    TableError
        If there is no such file, its format is not known, or its header is unusable.
    """
    check_file(path, role)
    kind = file_kind(path)
    if kind == ".parquet":
        check_open(path, role)
        return ParquetFile(path.resolve(), path.name, _stored_names(path, role))
    if kind in (".csv", ".tsv"):
        check_open(path, role)
        what, opened = f"the {role} table {path}", file_version(path.resolve())
        found, dialect = header_of(path, what, "\t" if kind == ".tsv" else None)
        names = checked_names(what, found)
        file = path.resolve()
        return DelimitedFile(file, path.name, names, role, text_format, opened, dialect)
    if kind in _JSON_LINES:
        check_open(path, role)
        return _open_json_lines(path, role, text_format)
    raise TableError(
        f"the {role} table {path} ends in none of {SUFFIXES}{_ADVICE.get(path.suffix.lower(), '')}"
    )


def _open_json_lines(path: Path, role: Role, text_format: TextFormat) -> JsonLinesFile:
    """JSON lines; TableError if a public file has a line that is no object."""
    what, file, opened = f"the {role} table {path}", path.resolve(), file_version(path.resolve())
    names: tuple[str, ...] = ()
    if role == "synthetic":
        names = checked_names(what, _keys(file, what))
    # Numbers of JSON have a point, whatever the format of other tables.
    own = text_format.without_numbers
    return JsonLinesFile(file, path.name, names, role, own, opened)


def _keys(path: Path, what: str) -> list[str]:
    """Keys of a public file."""
    try:
        with opened_text(path) as file:
            keys, broken = json_keys(file, _LONGEST_PUBLIC_ROW)
    except LongRowError:
        raise TableError(f"{what} could not be read to its end; {_LONG_ROW}") from None
    except (OSError, EOFError, zlib.error):
        raise TableError(f"{what} could not be read to its end; check the file") from None
    if broken is not None:
        raise TableError(
            f"line {broken} of {what} is no JSON object; each line must be one, such as "
            '{"age": 34, "sex": "f"}'
        )
    return keys


def check_file(path: Path, role: Role) -> None:
    """Refuse a path that leads to no file."""
    check_path(path, role)
    if not path.exists():
        # The message names no other file of the folder, since a name can tell about people.
        file, sign, table = str(path).rpartition(".duckdb:")
        write = f", or write {file}.duckdb::{table} for a table of a DuckDB file" if sign else ""
        raise TableError(
            f"the {role} table {path} does not exist; check its name and the folder you are "
            f"in{write}"
        )
    if path.is_dir():
        raise TableError(f"the {role} table {path} is a folder, not a file; name the file in it")
    if not path.is_file():
        raise TableError(f"the {role} table {path} is not a file")


def file_kind(path: Path) -> str:
    """Suffix that tells how a file is read; for ``a.csv.gz`` it is ``.csv``."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    return "".join(kind)


def _stored_names(path: Path, role: Role) -> tuple[str, ...]:
    """Column names of a Parquet file."""
    with suppress(pa.ArrowException, OSError):
        return checked_names(f"the {role} table {path}", parquet_schema(path).names)
    # Raised outside the handler, since the reader's own error may quote the file.
    raise TableError(f"the {role} table {path.name} is not Parquet, or broken; write it anew")


def check_path(path: Path, role: Role) -> None:
    """Refuse a path that the system or the engine cannot handle."""
    try:
        str(path.resolve()).encode()
        path.exists()
    except PermissionError as error:
        raise _closed(path, role, error) from None
    except (OSError, ValueError, RuntimeError):
        raise TableError(f"the {role} table has a path that cannot be used; rename it") from None


def check_open(path: Path, role: Role) -> None:
    """Refuse a file that the user may not read, or that is empty."""
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise _closed(path, role, error) from None
    if empty:
        raise TableError(f"the {role} table {path} is empty: it holds not one byte")


def _closed(path: Path, role: Role, error: OSError) -> TableError:
    """Refusal with the system's reason, which quotes no content."""
    if isinstance(error, PermissionError):
        return TableError(f"the {role} table {path} may not be read: {NO_PERMISSION}")
    return TableError(f"the {role} table {path} cannot be opened: {error.strerror or 'no reason'}")
