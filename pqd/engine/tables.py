"""Tables that a user gives to a run: a file, parts, a database, a frame; each is opened once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NoReturn

from pqd.engine.reading.json_lines import LINE
from pqd.engine.reading.text_format import USUAL, TextFormat
from pqd.engine.scan import LocalScanner
from pqd.engine.sources.files import JsonLinesFile, file_kind, open_file
from pqd.engine.sources.frame import open_frame
from pqd.engine.sources.lazy_sources import open_lazy
from pqd.engine.sources.locations import location_of
from pqd.engine.sources.parts import Parts, open_parts
from pqd.engine.sources.postgres import open_postgres
from pqd.engine.sources.postgres_address import is_postgres
from pqd.engine.sources.source import Role, Source
from pqd.engine.sources.spark_address import is_spark
from pqd.engine.table import Table, missing
from pqd.errors import PqdError
from pqd.threads import thread_count

if TYPE_CHECKING:
    from pqd.engine.counting.arrow_sql import ArrowSQL

__all__ = ["Role", "Table", "dry_table", "missing", "open_table", "opened_ahead", "table_of"]


def open_table(given: object, role: Role, text_format: TextFormat = USUAL) -> Table:
    """Table that is ``given`` as a location, a URL or a frame; only names are read.

    The cells of delimited text are written in ``text_format``.  A frame that is neither pandas nor
    pyarrow nor lazy is converted to Arrow here, once.  A table that is open already is returned as
    it is.

    Raises
    ------
    TableError
        If there is no such file or table, its format is not known, or its header is unusable.
    """
    if isinstance(given, Table):
        return given
    if is_spark(given) and not is_postgres(given):
        from pqd.engine.spark_scanner import open_spark_table  # noqa: PLC0415 - only where it is used

        return open_spark_table(given, role)
    return table_of(_source(given, role, text_format), role, given)


def dry_table(given: object, role: Role = "private") -> Table:
    """Private table of a dry run, which is ``given`` as for ``open_table``; only names are read."""
    return replace(open_table(given, role), dry=True, scanner=_no_scanner)


def _no_scanner(table: Table, sql: ArrowSQL) -> NoReturn:  # noqa: ARG001 - a scanner takes it
    raise ValueError(f"a dry run would read the {table.role} table")


def table_of(source: Source, role: Role, given: object = None) -> Table:
    """Table of a source whose rows are read in this process; ``given`` is the user's argument."""
    table = Table(role, source.label, source.columns, source, given, scanner=LocalScanner)
    file = source.files[0] if isinstance(source, Parts) else source
    return replace(table, content=(LINE,)) if isinstance(file, JsonLinesFile) else table


def opened_ahead(given: str, text_format: TextFormat = USUAL) -> Table | str:
    """Private table, opened if ``given`` is a CSV; if not, ``given`` itself.

    A thread takes the digest of the CSV while the modules of a run are loaded.  If the table cannot
    be opened, the error is raised where the table is opened again.
    """
    # If no thread can start, the digest is taken later.
    with suppress(PqdError, OSError, RuntimeError):
        path = Path(given)
        if thread_count() > 1 and path.is_file() and file_kind(path) in {".csv", ".tsv"}:
            table = open_table(given, "private", text_format)
            Thread(target=_digest, args=(table,), daemon=True).start()
            return table
    return given


def _digest(table: Table) -> None:
    # The thread could only print an error; the next call of ``digest`` meets the error again.
    with suppress(MemoryError, RuntimeError, ImportError):
        table.digest()


def _source(given: object, role: Role, text_format: TextFormat) -> Source:
    if is_postgres(given):
        return open_postgres(given, role)
    if not isinstance(given, (str, Path)):
        return open_lazy(given, role) or open_frame(given, role)
    location = location_of(given)
    if location.pattern:
        return open_parts(location, role, text_format)
    if location.table or location.path.suffix.lower() == ".duckdb":
        # Imported here: DuckDB is slow to load, and the command line needs names before.
        from pqd.engine.sources.duckdb_tables import open_duckdb_table  # noqa: PLC0415

        return open_duckdb_table(location, role)
    return open_file(location.path, role, text_format)
