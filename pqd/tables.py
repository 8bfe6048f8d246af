"""Where a table comes from: a file or a frame, its column names, and the SQL that reads it."""

from __future__ import annotations

import csv
import gzip
import hashlib
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from pqd.errors import TableError
from pqd.expressions import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

Role = Literal["private", "synthetic"]

FORMATS = ".csv, .tsv, .parquet (also .csv.gz, .tsv.gz), a pandas DataFrame or a pyarrow Table"
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Table:
    """A table that is not read yet.

    ``label`` is what messages and reports call it; ``columns`` are its names as stored (public;
    the engine fills them in for Parquet);
    ``relation`` is the DuckDB SQL that reads it, ``path`` the only file that it touches and
    ``frame`` the object that it is registered from, whichever applies.  A ``textual`` table (CSV)
    is read as text; an empty field is NULL.
    """

    role: Role
    label: str
    columns: tuple[str, ...]
    relation: str
    textual: bool = False
    path: Path | None = None
    frame: object | None = None

    def version(self) -> tuple[int, ...] | None:
        """Return what changes when the file is written; None for a frame, empty if it is gone."""
        if self.path is None:
            return None
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino

    def digest(self) -> bytes | None:
        """Return a hash of the file and of how it is read; None for a frame or if unreadable."""
        if self.path is None:
            return None
        try:
            with self.path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None
        reading = self.relation.replace(quoted(literal_path(self.path)), "")
        return hashlib.sha256(f"{content}\n{reading}".encode()).digest()


def open_table(source: object, role: Role) -> Table:
    """Recognise ``source`` (a path or a frame) as the ``role`` table; nothing is read but names.

    A table that was opened before is returned as it is.

    Raises
    ------
    TableError
        If there is no such file, its format is not known, or its header is unusable.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, Path)):
        return _file(Path(source), role)
    module = type(source).__module__.partition(".")[0]
    if module == "pandas" and hasattr(source, "columns"):
        return _frame(source, role, [str(name) for name in source.columns])
    if module == "pyarrow" and hasattr(source, "column_names"):
        return _frame(source, role, list(source.column_names))
    raise TableError(f"the {role} table is a {type(source).__name__}; pqd reads {FORMATS}")


def _frame(frame: object, role: Role, columns: list[str]) -> Table:
    _check_names(f"the {role} frame", columns)
    name = f"{role}_frame"
    return Table(role, f"{role} frame", tuple(columns), name, frame=frame)


def _file(path: Path, role: Role) -> Table:
    _check_path(path, role)
    if not path.exists():
        near = (
            sorted(p.name for p in path.parent.glob(f"{path.stem[:4]}*"))[:3] if path.name else []
        )
        hint = f"; beside it there is {', '.join(near)}" if near else ""
        raise TableError(f"the {role} table {path} does not exist{hint}")
    if not path.is_file():
        raise TableError(f"the {role} table {path} is not a file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    if kind in ([".csv"], [".tsv"]):
        return _delimited(path, role, "\t" if kind == [".tsv"] else None)
    if kind == [".parquet"]:
        relation = (
            f"read_parquet({quoted(literal_path(path.resolve()))}, hive_partitioning = false)"
        )
        return Table(role, path.name, (), relation, path=path.resolve())
    raise TableError(f"the {role} table {path} ends in none of the known formats: {FORMATS}")


def _delimited(path: Path, role: Role, delimiter: str | None) -> Table:
    header = _header_line(path, role)
    try:
        if delimiter is None:
            delimiter = max(_DELIMITERS, key=lambda mark: _width(header, mark))
        names = _fields(header, delimiter)
    except csv.Error:
        raise TableError(
            f"the first line of the {role} table {path} is not a CSV header; check its quotes"
        ) from None
    _check_names(f"the {role} table {path}", names)
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    # The dialect is fixed here, since a guess from the content would depend on private rows; and a
    # malformed private line is left out, since an error would tell that such a line is there.
    lenient = ", ignore_errors = true, strict_mode = false" if role == "private" else ""
    packed = ", compression = 'gzip'" if path.suffix.lower() == ".gz" else ""
    relation = (
        f"read_csv({quoted(literal_path(path.resolve()))}, auto_detect = false, header = true, "
        f"columns = {{{columns}}}, delim = {quoted(delimiter)}, "
        f"quote = '\"', escape = '\"', hive_partitioning = false{packed}{lenient})"
    )
    return Table(role, path.name, tuple(names), relation, textual=True, path=path.resolve())


def _check_path(path: Path, role: Role) -> None:
    """Refuse a path that the system or the engine cannot handle."""
    try:
        str(path.resolve()).encode()
        path.exists()
    except (OSError, ValueError, RuntimeError):
        raise TableError(f"the {role} table has a path that cannot be used; rename it") from None


def literal_path(path: Path) -> str:
    """Return ``path`` as a pattern that matches this file alone, whatever signs it holds."""
    return re.sub(r"[\[*?]", r"[\g<0>]", str(path))


def _width(header: str, delimiter: str) -> int:
    try:
        return len(_fields(header, delimiter))
    except csv.Error:
        return 0


def _fields(header: str, delimiter: str) -> list[str]:
    return next(csv.reader([header], delimiter=delimiter, strict=True))


def _header_line(path: Path, role: Role) -> str:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as file:
            # Only the first line is decoded: what follows it must not decide whether this fails.
            line = bytes(file.readline(1 << 20)).decode("utf-8-sig").rstrip("\r\n")
    except (OSError, UnicodeDecodeError, EOFError, zlib.error):
        raise TableError(f"the {role} table {path} cannot be read as text; is it a CSV?") from None
    if not line.strip():
        raise TableError(f"the {role} table {path} is empty; its first line must name the columns")
    if "\0" in line:
        raise TableError(f"the {role} table {path} is not text; is it a CSV?")
    return line


def _check_names(what: str, names: Sequence[str]) -> None:
    lowered = [folded(name) for name in names]
    twice = sorted({name for name in lowered if lowered.count(name) > 1})
    if twice:
        raise TableError(f"{what} has two columns named {', '.join(twice)}; rename one")
    if not names or not all(lowered):
        raise TableError(f"{what} has no columns, or one without a name; name them all")


def quoted(value: object) -> str:
    """Return ``value`` as a SQL text literal."""
    return "'" + str(value).replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return ``name`` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def missing(role: Role, label: str, column: str) -> NoReturn:
    """Refuse a query on a column that one of the tables lacks."""
    other = "synthetic" if role == "private" else "private"
    raise TableError(
        f'the column "{column}" is in the {other} table but not in the {role} one ({label}); '
        "both tables need every column of a query"
    )
