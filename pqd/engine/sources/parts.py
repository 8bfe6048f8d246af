"""Parts of a table: files of one folder or pattern, in the order of their names.

All parts have the same columns in the same order.  A program that writes a Parquet file may guess
the type of a column from the rows of this file: null without a value, integers if no cell is
missing.  So parts may differ in the type of a column, and pqd converts their values to a type
that holds all of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from pqd.engine.reading.common_types import as_type, common_type
from pqd.engine.reading.values import encoded
from pqd.engine.sources.files import (
    PART_KINDS,
    JsonLinesFile,
    ParquetFile,
    TableFile,
    check_path,
    file_kind,
    open_file,
)
from pqd.engine.sources.source import Place, Role, Version, place_key
from pqd.errors import TableError
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from pqd.engine.reading.csv_files import Odd
    from pqd.engine.reading.text_format import TextFormat
    from pqd.engine.sources.locations import Location

_GLOB = "name its parts by a pattern, such as '{}/*{}'"


@dataclass(frozen=True)
class Parts:
    """Files that are parts of one table: all of one format."""

    label: str
    columns: tuple[str, ...] = field(repr=False)
    location: Location
    files: tuple[TableFile, ...] = field(repr=False)

    @property
    def catalogued(self) -> bool:
        """Whether the footers of the parts name the columns."""
        return self.files[0].catalogued

    @property
    def textual(self) -> bool:
        """Whether the parts are text."""
        return self.files[0].textual

    @property
    def text_format(self) -> TextFormat | None:
        """Format of the cells of text parts."""
        return self.files[0].text_format

    @property
    def ordered(self) -> bool:
        """True: parts come in the order of their names."""
        return True

    @property
    def places(self) -> tuple[Place, ...]:
        """All files."""
        return tuple(Place(part.path) for part in self.files)

    @property
    def folder(self) -> Path:
        """Folder of the parts."""
        return self.location.folder

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:
        """Batches of all parts, part by part; each column has one type."""
        every = chain.from_iterable(part.batches(wanted, odd) for part in self.files)
        if self.textual:
            return every
        return self._of_one_type(every, wanted)

    def _of_one_type(
        self, batches: Iterator[pa.RecordBatch], wanted: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        common = {name: common_type(types) for name, types in self._types(wanted).items()}
        for batch in batches:
            cells = [as_type(encoded(batch.column(name)), common[name]) for name in wanted]
            yield pa.RecordBatch.from_arrays(cells, names=list(wanted))

    def _types(self, wanted: Sequence[str]) -> dict[str, set[pa.DataType]]:
        """Types that Parquet parts give to each of the columns ``wanted``."""
        every = [part.types(wanted) for part in self.files if isinstance(part, ParquetFile)]
        return {name: {types[name] for types in every} for name in wanted}

    def loose(self, names: Sequence[str]) -> Collection[str]:
        """Loose columns of text parts; for Parquet, columns whose types differ and become text."""
        if self.textual:
            return self.files[0].loose(names)
        text = pa.large_string()
        types = self._types(names)
        return [
            name
            for name in names
            if types[name] - {pa.null(), text} and common_type(types[name]) == text
        ]

    def version(self) -> Version:
        """Marks of all parts; they change when a part is written, added or removed."""
        marks: list[int | str] = []
        for part in self.files:
            own = part.version()
            if not own:
                return ()
            marks += own
        return (*marks, *map(str, self.location.files))

    def digest(self) -> bytes | None:
        """Hash of the digests of all parts; of a single part, its own digest."""
        digests = [part.digest() for part in self.files]
        if len(digests) == 1:
            return digests[0]
        found = [digest for digest in digests if digest is not None]
        if len(found) < len(digests):
            return None
        return hashlib.sha256(b"parts\n" + b"".join(found)).digest()


def open_parts(location: Location, role: Role, text_format: TextFormat) -> Parts:
    """Parts at ``location``, delimited text of ``text_format``; only their headers are read.

    Raises
    ------
    TableError
        If there is no part, a part is unusable, or the parts differ in format or columns.
    """
    label = _label(location)
    what = f"the {role} table {location.text}"
    check_path(location.path, role)
    paths = _found(location, what)
    files = tuple(open_file(path, role, text_format) for path in paths)
    if len({type(part) for part in files}) > 1:
        advice = _GLOB.format(location.path, ".parquet")
        raise TableError(f"{what} has parts of several formats; {advice}")
    if isinstance(files[0], JsonLinesFile):
        # A part need not have all keys.
        keys = {fold_case(name): name for part in files[::-1] for name in part.columns}
        order = dict.fromkeys(fold_case(name) for part in files for name in part.columns)
        files = tuple(replace(part, columns=tuple(keys[name] for name in order)) for part in files)
    first = files[0]
    for part in files:
        if part.columns != first.columns:
            raise TableError(
                f"{what} has a part {part.path.name} whose columns are not those of "
                f"{first.path.name}; all parts must have the same, in the same order"
            )
    return Parts(label, first.columns, location, files)


def _found(location: Location, what: str) -> tuple[Path, ...]:
    """Paths of the parts; TableError if there is no part, or a file that is no part."""
    try:
        paths = location.files
        folders = location.pattern == "*" and any(
            path.is_dir() and not path.name.startswith((".", "_"))
            for path in location.path.iterdir()
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its pattern cannot be used"
        raise TableError(f"{what} cannot be opened: {reason}") from None
    if not paths and not folders:
        raise TableError(
            f"{what} has no part: no file is there that it names; check its name and the folder "
            "you are in"
        )
    # The message names no file of the folder, since a name can tell about people.
    kinds = {file_kind(path) for path in paths}
    if folders or kinds.difference(PART_KINDS):
        others = "folders" if folders else "files that are no .csv, .tsv, .jsonl or .parquet"
        deep = "/**" if folders and not kinds else ""
        ending = next((kind for kind in PART_KINDS if kind in kinds), ".parquet")
        raise TableError(f"{what} holds {others}; {_GLOB.format(f'{location.path}{deep}', ending)}")
    if len({place_key(Place(path)) for path in paths}) < len(paths):
        raise TableError(f"{what} has one file as two parts, by a link; remove the link")
    return paths


def _label(location: Location) -> str:
    """Name of the folder, or the pattern, with its folder if the pattern begins with ``*``."""
    folder = location.path.resolve().name
    if location.pattern == "*" and not location.text.endswith("*"):
        return folder
    return f"{folder}/{location.pattern}" if location.pattern.startswith("*") else location.pattern
