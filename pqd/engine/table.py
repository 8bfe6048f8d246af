"""Table of a run: its role, its name, its source, and what was read of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeVar

from pqd.errors import TableError
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from pqd.engine.counting.arrow_sql import ArrowSQL
    from pqd.engine.counting.batch import Batch, Column
    from pqd.engine.counting.tally import Counter
    from pqd.engine.scan_plan import TablePlan
    from pqd.engine.sources.source import Role, Source, Version

    Opened = Callable[["Table", ArrowSQL], "Scanner"]

Whole = TypeVar("Whole")


class Scanner(Protocol):
    """Scanner of one table, which reads, recognises and counts it.

    Conformers: LocalScanner (every source), SparkScanner.

    A private table that cannot be read is a RunError, a public one a TableError; no message says
    anything of the content.
    """

    def read(
        self, names: Sequence[str], content_keys: Collection[bytes], *, ahead: bool = False
    ) -> None:
        """Read the stored columns ``names``, and the content under each key, in one pass.

        With ``ahead`` a second thread reads the blocks of a CSV in advance.
        """
        ...

    def content(self, key: bytes) -> str:
        """Keyed hash of all that the table holds, whatever the order of its rows and columns."""
        ...

    def same_rows(self, public: Table, names: Collection[str]) -> bool:
        """Whether ``public`` is the same multiset of rows, however its cells are written.

        The columns ``names`` are compared first, then all.  If the comparison of all columns
        breaks, the answer is no: an error would say that the columns ``names`` are equal.
        """
        ...

    def scan(self, counter: Counter[Whole], plan: TablePlan) -> Whole:
        """What ``counter`` counts of all rows, of the columns and persons of ``plan``."""
        ...

    def rows(self, names: Sequence[str]) -> Batch:
        """All rows of a public table, in one batch of the stored columns ``names``."""
        ...


class TableMemory:
    """Batches of a table that are kept, its contents by key, and its digest.

    ``version`` is the source's when it was read, None of a frame, and ``digest`` is kept with that
    of its own; ``odd`` says, without a cell, what is not as it should be: of a column's cells by
    its name, of whole rows under None.  ``batches`` have the columns ``names``, and ranks under
    ``rank_key``; there is none of a table that is too large.
    """

    def __init__(self) -> None:
        """Nothing was read."""
        self.lock, self.digest_lock = Lock(), Lock()
        self.digest: tuple[tuple[int | str, ...], bytes | None] | None = None
        self.forget(None)

    def forget(self, version: tuple[int | str, ...] | None) -> None:
        """Begin anew: the rows are another ``version``."""
        self.version = version
        self.names: frozenset[str] | None = None
        self.rank_key: bytes | None = None
        self.batches: list[Batch] = []
        self.contents: dict[bytes, str] = {}
        self.odd: dict[str | None, str] = {}

    def has(self, names: Collection[str], rank_key: bytes | None) -> bool:
        """Whether columns were read, with ranks under a key or without any."""
        own = self.names
        return own is not None and own.issuperset(names) and rank_key in (None, self.rank_key)

    @property
    def columns(self) -> Mapping[str, Column]:
        """Columns of a public table that were read."""
        return self.batches[0].columns if self.batches else {}

    def note(self, odd: str, column: str | None = None) -> None:
        """Note what is odd of a column's cells, or of whole rows."""
        self.odd[column] = odd

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private."""
        return "TableMemory(...)"


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
    scanner: Opened = field(repr=False, compare=False, kw_only=True)

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

    def stored_names(self, plan: TablePlan) -> tuple[dict[str, str], str | None]:
        """Stored name of each column of a plan by its public name, and of the column of persons."""
        stored = {fold_case(name): name for name in self.columns}
        names = {name: stored[fold_case(name)] for name in plan.columns}
        return names, stored.get(fold_case(plan.unit.column)) if plan.unit else None

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


def missing(table: Table, column: str) -> NoReturn:
    """Refuse a query on a column that one of the tables lacks; none that it has is named."""
    other = "synthetic" if table.role == "private" else "private"
    header = "; its first line must name the columns" if table.textual else ""
    raise TableError(
        f'the column "{column}" is in the {other} table but not in the {table.role} one '
        f"({table.label}){header}; both tables need every column of a query"
    )
