"""Locations of tables as a user writes them: a file, a table in a file, parts, a server's table.

This module looks at names, and at which files exist; it opens nothing.  So the command line can
find the ledger or the files of a run before it loads any large library.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TypeGuard

from pqd.engine.sources.postgres_address import FORM, is_postgres, table_name, without_password
from pqd.engine.sources.spark_address import is_spark_address, spark_label
from pqd.errors import TableError

# Sign between a DuckDB file and the name of its table.
OF_TABLE = "::"
LEDGER_NAME = "pqd-ledger.sqlite"
_WILD = frozenset("*?[")
# Beginning of an address; a single letter is a drive of Windows.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:)/")
# Words of a connection string as libpq takes it, with the password in it.
_CONNECTION = re.compile(r"(?:^|\s)(?:host|hostaddr|dbname|user|password|service)\s*=")
_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".gz", ".duckdb")


@dataclass(frozen=True, slots=True)
class Location:
    """Location of a table: ``text`` as written, and the ``path`` of its file or folder.

    ``table`` is the name of a table in the file, ``pattern`` the pattern of the names of parts;
    each is empty if there is none.  The table of a ``server`` is in no file.
    """

    text: str
    path: Path
    table: str = ""
    pattern: str = ""
    server: bool = False

    @property
    def whole_table(self) -> str:
        """Name of the table in small letters, with its schema; the default schema is main."""
        name = self.table.lower().replace('"', "")
        return name if "." in name or not name else f"main.{name}"

    @property
    def folder(self) -> Path:
        """Default folder of the ledger: that of the file or parts, or else the working folder."""
        if self.server:
            return Path.cwd()
        return self.path.resolve() if self.pattern else self.path.resolve().parent

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that hold the table: parts in the order of their names.

        Empty if the folder cannot be read, or the system cannot follow the pattern.
        """
        if not self.pattern:
            return () if self.server else (self.path,)
        try:
            return tuple(sorted(filter(_is_part, self.path.glob(self.pattern))))
        except (OSError, ValueError, NotImplementedError):
            return ()

    def takes(self, file: Path) -> bool:
        """Whether a file that is not there yet would be a part."""
        above, place = self.path.resolve(), file.resolve()
        if not self.pattern or not _is_part(file) or not place.is_relative_to(above):
            return False
        return fits_pattern(self.pattern, place.relative_to(above).parts)


def fits_pattern(pattern: str, below: Sequence[str]) -> bool:
    """Whether a ``pattern`` of parts takes a file, given the file's path ``below`` the folder.

    A pattern with ``**`` takes a file in any folder below if the file's name fits.
    """
    names = Path(pattern).parts
    if "**" in names:
        return fnmatch(below[-1], names[-1])
    return len(below) == len(names) and all(map(fnmatch, below, names))


def is_address(given: object) -> TypeGuard[str]:
    """Whether a table is given by an address, not as a file or a frame."""
    return is_postgres(given) or is_spark_address(given)


def address_name(address: str) -> str:
    """Name of the table at an address, as written; the address itself if it names no table."""
    name = spark_label(address) if is_spark_address(address) else table_name(address)
    return name or address


def written_address(address: str) -> str:
    """Address as a file may hold it, without a password."""
    return address if is_spark_address(address) else without_password(address)


def location_of(given: str | Path) -> Location:
    """Location of ``given``; a file with exactly this name wins over a pattern or ``::``.

    Raises
    ------
    TableError
        If it is an address that pqd cannot read.
    """
    if is_address(given):
        return Location(given, Path(), server=True)
    text, path = str(given), Path(given)
    if _exists(path):
        return Location(text, path, pattern="*") if path.is_dir() else Location(text, path)
    check_scheme(text)
    file, sign, table = text.rpartition(OF_TABLE)
    if sign and file:
        return Location(text, Path(file), table.strip())
    if not _WILD.intersection(text):
        return Location(text, path)
    fixed = next(n for n, part in enumerate(path.parts) if _WILD.intersection(part))
    return Location(text, Path(*path.parts[:fixed]), pattern=str(Path(*path.parts[fixed:])))


def check_scheme(text: str) -> None:
    """Refuse an address that pqd cannot read; the message quotes only its beginning.

    The rest may be a password.

    Raises
    ------
    TableError
        If pqd cannot read the address; the message names the forms that pqd reads.
    """
    if not is_address(text) and _CONNECTION.search(text):
        raise TableError(f"pqd reads no table at a connection string of libpq; write {FORM}")
    foreign = None if is_address(text) else _SCHEME.match(text)
    if foreign:
        raise TableError(
            f"pqd reads no table at an address that begins with {foreign[1]!r}; write the path of "
            f"a file on this machine, {FORM}, or spark://schema.table"
        )


def short_name(given: str | Path) -> str:
    """Name of a table without its schema, of a file without its suffix, or of a parts' folder."""
    if is_address(given) or OF_TABLE in str(given):
        name = address_name(str(given)).rpartition(OF_TABLE)[2]
        return name.rpartition(".")[2].strip('"')
    plain = (part for part in reversed(Path(given).parts) if not _WILD.intersection(part))
    return next(plain, "copy").partition(".")[0]


def like_table(text: str) -> bool:
    """Whether a text is written like the location of a table."""
    return is_address(text) or OF_TABLE in text or text.lower().endswith(_SUFFIXES)


def _exists(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return path.exists()
    return False


def _is_part(path: Path) -> bool:
    """Whether a file is a part; names that begin with . or _ are files of other programs."""
    return not path.name.startswith((".", "_", LEDGER_NAME)) and not path.is_dir()
