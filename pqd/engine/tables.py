"""Tables of a run: what each is to it, what it is called, its source, and what was read of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NoReturn

from pqd.engine.scan import LocalScanner, TableMemory
from pqd.engine.sources.files import file_kind, open_file
from pqd.engine.sources.frame import open_frame
from pqd.engine.sources.lazy_sources import open_lazy
from pqd.engine.sources.locations import location_of
from pqd.engine.sources.parts import open_parts
from pqd.engine.sources.postgres import open_postgres
from pqd.engine.sources.postgres_address import is_postgres
from pqd.engine.sources.source import Role, Source
from pqd.engine.sources.spark_address import is_spark
from pqd.errors import PqdError, TableError
from pqd.threads import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from pqd.engine.kernel.arrow_sql import ArrowSQL
    from pqd.engine.scan import Scanner
    from pqd.engine.sources.source import Version

    Opened = Callable[["Table", ArrowSQL], Scanner]

__all__ = ["Role", "Table", "missing", "open_table", "opened_ahead"]


@dataclass(frozen=True)
class Table:
    """A table that is not read yet.

    ``label`` is what messages and reports call it; ``columns`` are its names as stored (public);
    ``source`` is where its rows are, and ``given`` what it was opened from.  ``memory`` keeps what
    was read, and ``scanner`` makes the scanner of such a table.
    """

    role: Role
    label: str
    columns: tuple[str, ...] = field(repr=False)
    source: Source = field(repr=False)
    given: object = field(default=None, repr=False)
    memory: TableMemory = field(default_factory=TableMemory, repr=False, compare=False)
    scanner: Opened = field(default=LocalScanner, repr=False, compare=False)

    @property
    def textual(self) -> bool:
        """Whether its cells are stored as text, from which their kinds are told."""
        return self.source.textual

    @property
    def title(self) -> str:
        """What a sentence calls it, after "the": a frame has no other name than its role."""
        own = f"{self.role} frame"
        return own if self.label == own else f"{self.role} table {self.label}"

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that hold its rows, none of what is in memory."""
        return tuple(dict.fromkeys(place.file for place in self.source.places if place.file))

    def version(self) -> Version:
        """Marks that change when the rows do; None where nothing tells, empty if they are gone."""
        return self.source.version()

    def digest(self) -> bytes | None:
        """Hash of the bytes and of how they are read; None where there are none, or unreadable.

        Another thread may read the table meanwhile.
        """
        version = self.version()
        if not version:
            return None
        with self.memory.digest_lock:
            known = self.memory.digest
            if known is None or known[0] != version:
                self.memory.digest = known = version, self.source.digest()
            return known[1]


def open_table(given: object, role: Role) -> Table:
    """Recognise what is ``given`` (a location, a URL, a frame) as a table; only names are read.

    A frame that is neither pandas nor pyarrow nor lazy is taken over as Arrow here, once.  A
    table that was opened before is returned as it is.

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
    source = _source(given, role)
    return Table(role, source.label, source.columns, source, given)


def opened_ahead(given: str) -> Table | str:
    """Private table, opened, and its digest under way, if ``given`` is a CSV; else as it is.

    The digest takes the core that has nothing to do while the modules of a run are loaded.  What is
    wrong with the table is told where it is opened again.
    """
    # Where there can be no more threads, it is taken later.
    with suppress(PqdError, OSError, RuntimeError):
        path = Path(given)
        if thread_count() > 1 and path.is_file() and file_kind(path) in {".csv", ".tsv"}:
            table = open_table(given, "private")
            Thread(target=_digest, args=(table,), daemon=True).start()
            return table
    return given


def _digest(table: Table) -> None:
    # Whoever asks for it takes it again: a thread could only print that memory ran out.
    with suppress(MemoryError, RuntimeError, ImportError):
        table.digest()


def _source(given: object, role: Role) -> Source:
    if is_postgres(given):
        return open_postgres(given, role)
    if not isinstance(given, (str, Path)):
        return open_lazy(given, role) or open_frame(given, role)
    location = location_of(given)
    if location.pattern:
        return open_parts(location, role)
    if location.table or location.path.suffix.lower() == ".duckdb":
        # Imported here: DuckDB is slow to load, and the command line asks for names before.
        from pqd.engine.sources.duckdb_tables import open_duckdb_table  # noqa: PLC0415

        return open_duckdb_table(location, role)
    return open_file(location.path, role)


def missing(table: Table, column: str) -> NoReturn:
    """Refuse a query on a column that one of the tables lacks; none that it has is named."""
    other = "synthetic" if table.role == "private" else "private"
    header = "; its first line must name the columns" if table.textual else ""
    raise TableError(
        f'the column "{column}" is in the {other} table but not in the {table.role} one '
        f"({table.label}){header}; both tables need every column of a query"
    )
