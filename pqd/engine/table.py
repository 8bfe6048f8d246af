"""Table of a run: its role, its name, its source, and a cache of what was read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeVar

from pqd.errors import TableError
from pqd.sql.schema import differs_by_blanks, fold_case

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from pqd.engine.counting.arrow_sql import ArrowSQL
    from pqd.engine.counting.batch import Batch, Column
    from pqd.engine.counting.recognition import Content
    from pqd.engine.counting.tally import Counter
    from pqd.engine.reading.text_format import TextFormat
    from pqd.engine.scan_plan import TablePlan
    from pqd.engine.sources.source import Role, Source, Version

    Opened = Callable[["Table", ArrowSQL], "Scanner"]

Whole = TypeVar("Whole")


class Scanner(Protocol):
    """Scanner of one table, which reads, recognises and counts it.

    Conformers: LocalScanner (every source), SparkScanner.

    If a table cannot be read, a scanner raises RunError for a private and TableError for a public
    table; no message tells anything of the content.
    """

    def read(
        self, names: Sequence[str], content_keys: Collection[bytes], *, ahead: bool = False
    ) -> None:
        """Read the stored columns ``names``, and hash the content under each key, in one pass.

        With ``ahead`` a second thread reads the blocks of a CSV in advance.
        """
        ...

    def content(self, key: bytes) -> Content:
        """Keyed hash of the whole content; the order of rows and columns does not count."""
        ...

    def same_rows(self, public: Table, names: Collection[str]) -> bool:
        """Whether ``public`` has the same multiset of rows, however its cells are written.

        The columns ``names`` are compared first, then all columns.  If the comparison of all
        columns breaks, the answer is no: an error would tell that the columns ``names`` are equal.
        """
        ...

    def scan(self, counter: Counter[Whole], plan: TablePlan) -> Whole:
        """Result of ``counter`` on all rows, with the columns and persons of ``plan``."""
        ...

    def rows(self, names: Sequence[str]) -> Batch:
        """All rows of a public table, in one batch of the stored columns ``names``."""
        ...


class TableMemory:
    """Cache of a table: its kept batches, its contents by key, and its digest.

    ``version`` is the source's version when it was read, None for a frame; ``digest`` is stored
    with its own version.  ``odd`` maps a column's name to a sentence on defects of its cells, and
    None to a sentence on defects of rows; no cell is quoted.  ``missing`` has, by column of a
    public table, the number of cells with each text that means a missing cell.  ``batches`` have
    the columns ``names``; a table that is too large has no batches.
    """

    def __init__(self) -> None:
        """Nothing is read yet."""
        self.lock, self.digest_lock = Lock(), Lock()
        self.digest: tuple[tuple[int | str, ...], bytes | None] | None = None
        self.forget(None)

    def forget(self, version: tuple[int | str, ...] | None) -> None:
        """Forget what was read, since the rows have another ``version``."""
        self.version = version
        self.names: frozenset[str] | None = None
        self.batches: list[Batch] = []
        self.contents: dict[bytes, Content] = {}
        self.odd: dict[str | None, str] = {}
        self.missing: dict[str, dict[str, int]] = {}

    def has(self, names: Collection[str]) -> bool:
        """Whether columns were read."""
        return self.names is not None and self.names.issuperset(names)

    @property
    def columns(self) -> Mapping[str, Column]:
        """Columns of a public table that were read."""
        return self.batches[0].columns if self.batches else {}

    def note(self, odd: str, column: str | None = None) -> None:
        """Keep a sentence on defects of a column's cells, or of rows."""
        self.odd[column] = odd

    def count_missing(self, cells: Mapping[str, Mapping[str, int]]) -> None:
        """Add the cells of a batch to ``missing``."""
        for name, counts in cells.items():
            known = self.missing.setdefault(name, {})
            for text, number in counts.items():
                known[text] = known.get(text, 0) + number

    def __repr__(self) -> str:
        """Name of the type alone, since the content may be private."""
        return "TableMemory(...)"


@dataclass(frozen=True)
class Table:
    """Table of a run; the constructor reads no row.

    ``label`` is its name in messages and reports; ``columns`` are the stored names of its columns
    (public); ``source`` gives its rows; ``given`` is the argument that it was opened from.
    ``memory`` caches what was read, and ``scanner`` makes the scanner of the table.  ``content``
    are the columns by which a ledger recognises the rows; empty if they are ``columns``.  ``dry``:
    the run is a dry run, which reads neither a row nor the bytes of the table.
    """

    role: Role
    label: str
    columns: tuple[str, ...] = field(repr=False)
    source: Source = field(repr=False)
    given: object = field(default=None, repr=False)
    memory: TableMemory = field(default_factory=TableMemory, repr=False, compare=False)
    content: tuple[str, ...] = field(default=(), repr=False)
    dry: bool = field(default=False, repr=False)
    scanner: Opened = field(repr=False, compare=False, kw_only=True)

    @property
    def textual(self) -> bool:
        """Whether cells are stored as text; the kinds of columns are then found from the texts."""
        return self.source.textual

    @property
    def text_format(self) -> TextFormat | None:
        """Format of its cells, if they are stored as text."""
        return self.source.text_format

    @property
    def content_columns(self) -> tuple[str, ...]:
        """Columns by which a ledger recognises the rows."""
        return self.content or self.columns

    def looking_up(self, names: Sequence[str]) -> Table:
        """Table with the columns ``names``, if no file names its columns; else the table itself.

        A private table of JSON lines has the columns that the run looks up: a list of its own keys
        would tell of its rows.
        """
        if self.columns or not self.content:
            return self
        known = {fold_case(name): name for name in names[::-1]}
        ordered = dict.fromkeys(map(fold_case, names))
        return replace(self, columns=tuple(known[name] for name in ordered))

    @property
    def title(self) -> str:
        """Name in a sentence, after "the"; a frame has no name but its role."""
        own = f"{self.role} frame"
        return own if self.label == own else f"{self.role} table {self.label}"

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that hold its rows; none for rows in memory."""
        return tuple(dict.fromkeys(place.file for place in self.source.places if place.file))

    def stored_names(self, plan: TablePlan) -> tuple[dict[str, str], str | None]:
        """Stored names of a plan's columns, by public name; stored name of the unit's column."""
        stored = {fold_case(name): name for name in self.columns}
        names = {name: stored[fold_case(name)] for name in plan.columns}
        return names, stored.get(fold_case(plan.unit.column)) if plan.unit else None

    def version(self) -> Version:
        """Marks that change when the rows change; None without marks, empty without rows."""
        return self.source.version()

    def digest(self) -> bytes | None:
        """Hash of the stored bytes and of how they are read; None without readable bytes.

        Another thread may read the table meanwhile.  A dry run reads no byte.
        """
        version = self.version()
        if not version or self.dry:
            return None
        with self.memory.digest_lock:
            known = self.memory.digest
            if known is None or known[0] != version:
                self.memory.digest = known = version, self.source.digest()
            return known[1]


def missing(table: Table, column: str) -> NoReturn:
    """Refuse a query on a column that ``table`` lacks; its other columns are not named."""
    other = "private" if table.role == "synthetic" else "synthetic"
    hint = "; its first line must name the columns" if table.textual else ""
    if differs_by_blanks(column, table.columns):
        hint = "; the names differ only by blanks"
    raise TableError(
        f'the column "{column}" is in the {other} table but not in the {table.role} one '
        f"({table.label}){hint}; both tables need every column of a query"
    )
