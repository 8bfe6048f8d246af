"""Tables of DuckDB files, each read by its own connection, which is locked and cannot write."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import duckdb
import pyarrow as pa

from pqd.deciders.names import near_hint, nearest_names
from pqd.engine.reading.values import at_least_one
from pqd.engine.sources.computed_copies import bounded
from pqd.engine.sources.files import (
    PART_KINDS,
    check_file,
    file_digest,
    file_kind,
    file_version,
)
from pqd.engine.sources.locations import OF_TABLE, Location
from pqd.engine.sources.source import (
    Place,
    Role,
    TypedSource,
    UnreadableError,
    Version,
    checked_names,
)
from pqd.errors import TableError
from pqd.sql.schema import fold_case, quote_identifier, quote_literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pqd.engine.reading.csv_files import Odd

# Settings of the connection from its start: it can open this file alone.
_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
}
# With these optimizers, the result of a row depends on other rows or on the file's format.  For
# example, statistics decide isnan() for a whole row group, and a TRY_CAST that is pushed into the
# CSV reader drops cells that do not convert.
_MEDDLING = {
    *("statistics_propagation", "type_pushdown", "scalar_fn_pushdown", "filter_pushdown"),
    *("row_group_pruner", "late_materialization", "compressed_materialization", "extension"),
}
_TABLES = """
SELECT schema_name, table_name, false FROM duckdb_tables() WHERE NOT internal AND NOT temporary
UNION ALL
SELECT schema_name, view_name, true FROM duckdb_views() WHERE NOT internal AND NOT temporary
"""
_HELD = (
    "another program holds it open, or this one does to write; close it there, or name a copy of "
    "the file"
)
_ADVICE = (
    "check that it is whole, and that no other program holds it open to write; a view may fail on "
    "some rows, so make a table of it"
)
_BROKEN_VIEW = (
    "is a view that cannot be read by itself: it names another file, or what is not there; make a "
    "table of it"
)
_PART = re.compile(r'"(?:[^"]|"")*"|[^".]+')
_NO_DUCKDB = "is no DuckDB file that can be read; check the file, or write it anew"
_PLAIN = f"is no table of a DuckDB file, and no other is written with {OF_TABLE}; write "


@dataclass(frozen=True)
class DuckDBTable(TypedSource):
    """Table or view of a DuckDB file, by its ``schema`` and its ``name`` there.

    ``reads`` are the tables whose rows it has: the table itself, or the tables that a view reads.
    A ``computed_copy`` is a view that serves as the synthetic table.
    """

    path: Path
    label: str
    columns: tuple[str, ...] = field(repr=False)
    schema: str
    name: str
    reads: tuple[str, ...] = field(repr=False)
    computed_copy: bool

    @property
    def places(self) -> tuple[Place, ...]:
        """The table in the file and, of a view, the tables that it reads."""
        own = fold_case(f"{self.schema}.{self.name}")
        return tuple(Place(self.path, name) for name in dict.fromkeys((own, *self.reads)))

    @property
    def folder(self) -> Path:
        """Folder of the file."""
        return self.path.parent

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Cells of the ``wanted`` columns."""
        with suppress(duckdb.Error, pa.ArrowException):
            with _connected(self.path) as connection:
                cells = self._cells(connection, wanted)
                yield from bounded(cells, connection.interrupt) if self.computed_copy else cells
            return
        # Raised outside the handler, since the driver's own error may quote a cell.
        raise UnreadableError(_ADVICE)

    def _cells(
        self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        chosen = connection.sql(_selection(self.schema, self.name, wanted))
        with pa.RecordBatchReader.from_stream(chosen) as reader:
            yield from at_least_one(reader, reader.schema, wanted)

    def version(self) -> Version:
        """Marks of the file, and of the log of writes that are not in the file yet."""
        own = file_version(self.path)
        return own and (*own, *(file_version(_log(self.path)) or ()))

    def digest(self) -> bytes | None:
        """Hash of the file, of the log of writes not in the file yet, and of the table's name."""
        digest = hashlib.sha256(f"duckdb {self.schema}.{self.name}\n".encode())
        try:
            for path in (self.path, _log(self.path)):
                if path is self.path or path.exists():
                    digest.update(file_digest(path))
        except OSError:
            return None
        return digest.digest()


def open_duckdb_table(location: Location, role: Role) -> DuckDBTable:
    """Table of a DuckDB file, by its name or by ``schema.name``.

    Raises
    ------
    TableError
        If there is no such file or table, or another program holds the file open.
    """
    what = f"the {role} table {location.text}"
    check_file(location.path, role)
    if not location.table:
        _refuse(what, f"is a DuckDB file; name its table: {location.path}{OF_TABLE}TABLE")
    if file_kind(location.path) in PART_KINDS:
        _refuse(what, f"{_PLAIN}{location.path}")
    path, reason = location.path.resolve(), ""
    found: list[tuple[str, str]] = []
    views: set[tuple[str, str]] = set()
    names: list[str] = []
    reads: set[str] = set()
    every: list[tuple[str, str, bool]] = []
    try:
        with _connected(path) as connection:
            every = connection.sql(_TABLES).fetchall()
            views = {(schema, name) for schema, name, is_view in every if is_view}
            found = [each[:2] for each in every if _is_named(location.table, *each[:2])]
            if len(found) == 1:
                reason = _BROKEN_VIEW
                selection = _selection(*found[0])
                names, reason = connection.sql(selection).columns, ""
                reads = _tables_read(connection, selection)
    except duckdb.ConnectionException:
        reason = f"cannot be opened: {_HELD}"
    except duckdb.Error as error:
        held = "Could not set lock" in str(error)
        reason = reason or (f"cannot be opened: {_HELD}" if held else _NO_DUCKDB)
    # Raised outside the handlers, since the driver's own error may quote the file.
    if reason:
        _refuse(what, reason)
    if not found:
        # Names of the catalogue, which whoever opens the file may read; a name is no row.
        near = nearest_names(location.table, dict.fromkeys(name for _, name, _ in every))
        advice = near_hint(near) or "; check the table's name, or write schema.table"
        _refuse(what, f"is not in that file{advice}")
    if len(found) > 1:
        _refuse(what, "is in several schemas of that file; write schema.table")
    label = f"{location.path.name}{OF_TABLE}{location.table}"
    every_read = tuple(sorted(map(_whole_name, reads)))
    computed_copy = role == "synthetic" and found[0] in views
    columns = checked_names(what, names)
    return DuckDBTable(path, label, columns, *found[0], every_read, computed_copy)


def _tables_read(connection: duckdb.DuckDBPyConnection, selection: str) -> set[str]:
    """Tables that a selection reads, by its names and by its plan, since either may miss some."""
    read: set[str] = set()
    with suppress(duckdb.Error):
        read |= connection.get_table_names(selection, qualified=True)
    (_, plan), *_ = connection.sql(f"EXPLAIN (FORMAT json) {selection}").fetchall()
    nodes = json.loads(plan)
    for node in nodes:
        nodes += node.get("children", ())
        read.add(str(node.get("extra_info", {}).get("Table", "")))
    return read - {""}


def _whole_name(stated: str) -> str:
    """Name of a table with its schema, without the quotes that DuckDB puts around odd names."""
    found = _PART.findall(stated)
    parts = [part[1:-1].replace('""', '"') if part[0] == '"' else part for part in found]
    return fold_case(".".join([*(["main"] if len(parts) == 1 else []), *parts[-2:]]))


def _refuse(what: str, reason: str) -> NoReturn:
    raise TableError(f"{what} {reason}")


def _is_named(stated: str, schema: str, name: str) -> bool:
    """Whether ``stated`` names this table; each part may stand in double quotes."""
    schemas, names = {schema, quote_identifier(schema)}, {name, quote_identifier(name)}
    whole = names | {f"{one}.{other}" for one in schemas for other in names}
    return fold_case(stated) in map(fold_case, whole)


def _selection(schema: str, name: str, columns: Sequence[str] = ()) -> str:
    chosen = ", ".join(map(quote_identifier, columns)) or "*"
    return f"SELECT {chosen} FROM {quote_identifier(schema)}.{quote_identifier(name)}"


def without_meddling(connection: duckdb.DuckDBPyConnection) -> str:
    """SQL that switches off those of these optimizers that this release of DuckDB has."""
    rows = connection.execute("SELECT * FROM duckdb_optimizers()").fetchall()
    names = sorted(_MEDDLING & {str(row[0]) for row in rows})
    return f"SET disabled_optimizers = {quote_literal(','.join(names))}"


@contextmanager
def _connected(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connection that reads this file alone; its settings cannot be changed."""
    with duckdb.connect(str(path), read_only=True, config=_LOCKED) as connection:
        # In a second connection to the file these settings are locked already, and SET fails.
        with suppress(duckdb.Error):
            connection.execute("SET enable_progress_bar = false")
            connection.execute(without_meddling(connection))
            connection.execute("SET lock_configuration = true")
        yield connection


def _log(path: Path) -> Path:
    """Log of writes that are not in the DuckDB file yet."""
    return path.with_name(f"{path.name}.wal")
