"""Source of a table: the places of its rows, the names of its columns, and its rows in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from pqd.errors import TableError
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa

    from pqd.engine.reading.csv_files import Odd
    from pqd.engine.reading.text_format import TextFormat

# A held-out table is private too.
Role = Literal["private", "held-out", "synthetic"]
# Marks that change when the rows change; empty if the rows are gone, None if there are no marks.
Version = tuple[int | str, ...] | None


class Place(NamedTuple):
    """Place of rows: a file, or a ``table`` of a file or of a server.

    ``address`` is the lasting name of a server's table, without credentials: the same for every
    version of its rows, and for every name of the server.  ``table`` may change with a restart.
    """

    file: Path | None = None
    table: str = ""
    address: str = ""


def place_key(place: Place) -> tuple[int | str, ...]:
    """Key that all names of one place share; the place need not exist."""
    with suppress(OSError, ValueError, RuntimeError):
        if place.file:
            status = place.file.stat()
            return status.st_dev, status.st_ino, place.table
    return str(place.file or ""), place.table


class UnreadableError(Exception):
    """Error of a source that cannot be read to its end; ``advice`` quotes no cell.

    A scanner (pqd/engine/scan.py) raises an error of pqd instead.
    """

    def __init__(self, advice: str = "check the file") -> None:
        """Keep the advice."""
        super().__init__(advice)
        self.advice = advice


class Source(Protocol):
    """Source of the rows of a table.

    A source is opened before any row is read, so its names and places are public.  Conformers:
    ``DelimitedFile``, ``JsonLinesFile``, ``ParquetFile``, ``Parts``, ``DuckDBTable``,
    ``PostgresTable``, ``SparkTable``, ``Frame``, ``LazySource``.

    Attributes
    ----------
    label
        Name of the table in messages and reports.
    columns
        Names of the columns as stored, in order.
    textual
        Whether cells are stored as text; the kinds of columns are then found from the texts.
    catalogued
        Whether a catalogue or a footer names the columns.  Otherwise a first line, or a library,
        may have taken the names from a row.
    ordered
        Whether each pass gives the rows in the same order.
    places
        Places of the rows; empty for rows in memory.
    folder
        Default folder of the table's ledger; None for the working folder.
    text_format
        Format of the cells, if they are stored as text; None for a table with types.
    """

    @property
    def label(self) -> str: ...  # noqa: D102 - see the class
    @property
    def columns(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def textual(self) -> bool: ...  # noqa: D102
    @property
    def catalogued(self) -> bool: ...  # noqa: D102
    @property
    def ordered(self) -> bool: ...  # noqa: D102
    @property
    def places(self) -> tuple[Place, ...]: ...  # noqa: D102
    @property
    def folder(self) -> Path | None: ...  # noqa: D102
    @property
    def text_format(self) -> TextFormat | None: ...  # noqa: D102

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:
        """Rows of the ``wanted`` columns in batches of any size, in Arrow's own types.

        There is at least one batch.  The source calls ``odd`` with a sentence on each defect of
        rows or cells; the sentence quotes no cell.

        Raises
        ------
        pyarrow.ArrowException, OSError, EOFError, zlib.error, UnreadableError
            If the source cannot be read to its end.
        """
        ...

    def loose(self, names: Sequence[str]) -> Collection[str]:
        """Columns among ``names`` whose kinds are found from the texts of their cells."""
        ...

    def version(self) -> Version:
        """Marks that change when the rows change; None without marks, empty without rows."""
        ...

    def digest(self) -> bytes | None:
        """Hash of the stored bytes and of how they are read; None without readable bytes."""
        ...


class TypedSource:
    """Source whose columns have types; the base of most sources.

    By default the source is in no file, and gives its rows in any order.
    """

    @property
    def textual(self) -> bool:
        """False: columns have types."""
        return False

    @property
    def catalogued(self) -> bool:
        """True: a catalogue or a footer has the names with the types."""
        return True

    @property
    def ordered(self) -> bool:
        """False: rows may come in another order in another pass."""
        return False

    @property
    def folder(self) -> Path | None:
        """None: the rows are in no folder."""
        return None

    @property
    def text_format(self) -> TextFormat | None:
        """None: columns have types."""
        return None

    def loose(self, names: Sequence[str]) -> Collection[str]:  # noqa: ARG002 - none of them
        """No column: the source states the types."""
        return ()

    def version(self) -> Version:
        """None: there are no marks."""
        return None

    def digest(self) -> bytes | None:
        """None: there is no file."""
        return None


def checked_names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns; an error gives places of unusable names, since the names may be cells.

    Raises
    ------
    TableError
        If there is no column, a column without a name, or two of one name; ``what`` names the
        table.
    """
    lowered = [fold_case(name) for name in names]
    twice = [place for place, name in enumerate(lowered, 1) if lowered.count(name) > 1]
    if not names or not all(lowered):
        raise TableError(f"{what} has no columns, or one without a name; name them all")
    if twice:
        places = [place for place in twice if lowered[place - 1] == lowered[twice[0] - 1]]
        raise TableError(
            f"{what} has columns of the same name, capitals aside: columns "
            f"{', '.join(map(str, places[:-1]))} and {places[-1]}; rename all but one of them"
        )
    return tuple(names)
