"""Where a table comes from: a file or a frame, its column names, and the SQL that reads it."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

import pyarrow as pa

from pqd.engine.reading.csv_files import Dialect, header_of
from pqd.engine.reading.frames import SUFFIXES, arrow_frame, is_pandas
from pqd.engine.reading.memory import TableMemory
from pqd.engine.reading.parquet_files import parquet_names
from pqd.errors import NO_PERMISSION, TableError
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Sequence

Role = Literal["private", "synthetic"]
# Spreadsheets, which a custodian may hand in as they are.
_SHEETS = {".xlsx", ".xls", ".xlsm", ".ods"}


@dataclass(frozen=True)
class Table:
    """A table that is not read yet.

    ``label`` is what messages and reports call it; ``columns`` are its names as stored (public);
    ``path`` is the file that holds it, or ``frame`` the object; ``source`` is what it was opened
    from.  A ``textual`` table (CSV) is read as text in its ``dialect``.  ``memory`` keeps what was
    read.
    """

    role: Role
    label: str
    columns: tuple[str, ...] = field(repr=False)
    dialect: Dialect | None = None
    path: Path | None = None
    frame: object | None = field(default=None, repr=False)
    source: object = field(default=None, repr=False)
    memory: TableMemory = field(default_factory=TableMemory, repr=False, compare=False)

    @property
    def textual(self) -> bool:
        """Whether its cells are stored as text, from which their kinds are told."""
        return self.dialect is not None

    def version(self) -> tuple[int, ...] | None:
        """Marks that change when the file is written; None for a frame, empty if it is gone."""
        if self.path is None:
            return None
        try:
            status = self.path.stat()
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino

    def digest(self) -> bytes | None:
        """Hash of the file and of how it is read; None for a frame or if unreadable.

        Another thread may read the table meanwhile.
        """
        version = self.version()
        if self.path is None or not version:
            return None
        with self.memory.digest_lock:
            known = self.memory.digest
            if known is None or known[0] != version:
                self.memory.digest = known = version, self._digest(self.path)
            return known[1]

    def _digest(self, path: Path) -> bytes | None:
        try:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None
        reading = f"text {self.dialect.delimiter}" if self.dialect else "parquet"
        return hashlib.sha256(f"{content}\n{reading}".encode()).digest()


def open_table(source: object, role: Role) -> Table:
    """Recognise ``source`` (a path or a frame) as the ``role`` table; nothing is read but names.

    A frame that is neither pandas nor pyarrow is taken over as Arrow here, once: a DuckDB relation
    is evaluated.  A table that was opened before is returned as it is.

    Raises
    ------
    TableError
        If there is no such file, its format is not known, or its header is unusable.
    """
    if isinstance(source, Table):
        return source
    return replace(_opened(source, role), source=source)


def _opened(source: object, role: Role) -> Table:
    if isinstance(source, (str, Path)):
        return _file(Path(source), role)
    if is_pandas(source):
        return _frame(source, role, [str(name) for name in getattr(source, "columns", ())])
    table = arrow_frame(source, f"the {role} table")
    return _frame(table, role, table.column_names)


def _frame(frame: object, role: Role, columns: list[str]) -> Table:
    _check_names(f"the {role} frame", columns)
    return Table(role, f"{role} frame", tuple(columns), frame=frame)


def _file(path: Path, role: Role) -> Table:
    _check_path(path, role)
    if not path.exists():
        # What else lies there is not told: names of files can speak of people.
        raise TableError(
            f"the {role} table {path} does not exist; check its name and the folder you are in"
        )
    if path.is_dir():
        raise TableError(f"the {role} table {path} is a folder, not a file; name the file in it")
    if not path.is_file():
        raise TableError(f"the {role} table {path} is not a file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    if kind in ([".csv"], [".tsv"], [".parquet"]):
        _check_open(path, role)
    if kind in ([".csv"], [".tsv"]):
        return _delimited(path, role, "\t" if kind == [".tsv"] else None)
    if kind == [".parquet"]:
        return Table(role, path.name, _stored_names(path, role), path=path.resolve())
    sheet = "; save the sheet as CSV UTF-8" if path.suffix.lower() in _SHEETS else ""
    raise TableError(f"the {role} table {path} ends in none of {SUFFIXES}{sheet}")


def _stored_names(path: Path, role: Role) -> tuple[str, ...]:
    """Column names of a Parquet file."""
    with suppress(pa.ArrowException, OSError):
        names = parquet_names(path)
        _check_names(f"the {role} table {path}", names)
        return names
    # Raised outside the handler, since the reader's own error may quote the file.
    raise TableError(f"the {role} table {path.name} is not Parquet, or broken; write it anew")


def _delimited(path: Path, role: Role, delimiter: str | None) -> Table:
    what = f"the {role} table {path}"
    names, dialect = header_of(path, what, delimiter)
    _check_names(what, names)
    return Table(role, path.name, tuple(names), dialect, path.resolve())


def _check_path(path: Path, role: Role) -> None:
    """Refuse a path that the system or the engine cannot handle."""
    try:
        str(path.resolve()).encode()
        path.exists()
    except PermissionError as error:
        raise _closed(path, role, error) from None
    except (OSError, ValueError, RuntimeError):
        raise TableError(f"the {role} table has a path that cannot be used; rename it") from None


def _check_open(path: Path, role: Role) -> None:
    """Refuse a file that the user may not read, or that holds nothing."""
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise _closed(path, role, error) from None
    if empty:
        raise TableError(f"the {role} table {path} is empty: it holds not one byte")


def _closed(path: Path, role: Role, error: OSError) -> TableError:
    """Reason why a file cannot be opened: the system's, which knows nothing of content."""
    if isinstance(error, PermissionError):
        return TableError(f"the {role} table {path} may not be read: {NO_PERMISSION}")
    return TableError(f"the {role} table {path} cannot be opened: {error.strerror or 'no reason'}")


def _check_names(what: str, names: Sequence[str]) -> None:
    """Refuse unusable names; they are told by their places, since they may be a row of cells."""
    lowered = [fold_case(name) for name in names]
    twice = [place for place, name in enumerate(lowered, 1) if lowered.count(name) > 1]
    if not names or not all(lowered):
        raise TableError(f"{what} has no columns, or one without a name; name them all")
    if twice:
        places = [place for place in twice if lowered[place - 1] == lowered[twice[0] - 1]]
        raise TableError(
            f"{what} has columns of one name, capitals aside: numbers "
            f"{', '.join(map(str, places))}; rename all but one"
        )


def missing(table: Table, column: str) -> NoReturn:
    """Refuse a query on a column that one of the tables lacks; none that it has is named."""
    other = "synthetic" if table.role == "private" else "private"
    header = "; its first line must name the columns" if table.textual else ""
    raise TableError(
        f'the column "{column}" is in the {other} table but not in the {table.role} one '
        f"({table.label}){header}; both tables need every column of a query"
    )
