"""Synthetic tables of a run, and the public facts that they give together."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from pqd.deciders import Lattice
from pqd.deciders.note import Note, note
from pqd.deciders.options import option
from pqd.engine.counting.misfits import way_in
from pqd.engine.counting.text_styles import joined_options
from pqd.engine.synthetic_table import SyntheticTable
from pqd.errors import ParameterError, TableError
from pqd.sql.schema import Kind, fold_case
from pqd.threads import thread_count

if TYPE_CHECKING:
    from pqd.deciders import Histogram
    from pqd.engine.marginals import ValueCounts
    from pqd.engine.scan_plan import PrivacyUnit, ScanPlan
    from pqd.engine.tables import Table
    from pqd.sql.schema import Schema
    from pqd.sql.select import BoundExpression

_UNSPENT = "Nothing was spent"


class SyntheticTables:
    """Synthetic tables, each with its own engine; the first engine also reads the private table.

    The first table gives the kinds of columns, so that one query fits all tables.  The first
    ``telling`` tables (by default all) give bounds and groups.  ``hints`` maps the name of a
    column, in small letters, to the reason why its texts are not numbers or times.  ``taken_kinds``
    are the kinds, other than text, that the first table gave to columns without a stated kind.

    ``cells_from`` is a public table that is no copy: it comes first, and it alone gives kinds and
    values.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        private: Table | None = None,
        telling: int | None = None,
        *,
        cells_from: Table | None = None,
    ) -> None:
        """Make the engines; no row is read yet."""
        self.cells_from = cells_from
        if cells_from is not None:
            tables, telling = (cells_from, *tables), 1
        _, *others = tables
        self.engine = SyntheticTable()
        self.engines = (self.engine, *(SyntheticTable() for _ in others))
        self.tables = tuple(tables)
        self.private = private
        self._telling = self.engines[:telling]
        self.notes: dict[Note, None] = {}
        self.taken_kinds: dict[str, Kind] = {}
        self.hints: dict[str, Note] = {}
        # Option that would read each of these columns.
        self._options: dict[str, str] = {}

    def reopened(self) -> SyntheticTables:
        """Same tables, for another reading; whether they are public was found out before."""
        return SyntheticTables(self.tables, self.private)

    def of_copy(self, place: int) -> SyntheticTables:
        """One copy alone with the private table, for another reading; it is known to be public."""
        return SyntheticTables([self.copies[place][1]], self.private)

    @property
    def copies(self) -> tuple[tuple[SyntheticTable, Table], ...]:
        """Copies, each with its engine: all tables but ``cells_from``."""
        pairs = tuple(zip(self.engines, self.tables, strict=True))
        return pairs if self.cells_from is None else pairs[1:]

    @property
    def label(self) -> str:
        """The first copy's name."""
        return self.copies[0][1].label

    @property
    def copy_names(self) -> tuple[str, ...]:
        """Name of each copy's table, without the references that a comparison makes.

        A copy that the caller has given a name of its own is called ``name=file.csv``.
        """
        tables = [table for _, table in self.copies][: len(self._telling)]
        if self.cells_from is not None:
            tables = [table for _, table in self.copies]
        files = [table.source.label for table in tables]
        return tuple(
            file if table.label == file else f"{table.label}={file}"
            for table, file in zip(tables, files, strict=True)
        )

    @property
    def private_label(self) -> str:
        """The private table's name; empty if there is no private table."""
        return self.private.label if self.private else ""

    @property
    def rows(self) -> tuple[int, ...]:
        """Number of rows of each table, once its columns are loaded."""
        return tuple(engine.rows() for engine in self.engines)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the first table's columns."""
        return self.tables[0].columns

    @property
    def all_columns(self) -> tuple[str, ...]:
        """Columns that any table has, in the spelling of the first table that has them."""
        names = {fold_case(name): name for table in self.tables[::-1] for name in table.columns}
        order = (fold_case(name) for table in self.tables for name in table.columns)
        return tuple(names[name] for name in dict.fromkeys(order))

    def read(self, names: Collection[str], content_keys: Mapping[int, Collection[bytes]]) -> None:
        """Read columns of all tables in parallel, and keep them.

        ``content_keys`` gives, for the place of a table, the keys under which its content is
        hashed; the private table is last.  With more than one thread, digests of files are computed
        in the background, and a later call for a digest waits.  With more threads than tables,
        blocks of a CSV are read ahead.

        Raises
        ------
        TableError, RunError
            If a table cannot be read.
        """
        threads = thread_count()
        pool = ThreadPoolExecutor(threads)
        keys = [content_keys.get(place, ()) for place, _ in enumerate(self._every)]
        read = partial(self.engine.read, ahead=threads > len(keys))
        tasks = [
            pool.submit(read, table, names, own)
            for table, own in zip(self._every, keys, strict=True)
        ]
        # Digests are queued last: a thread that has read its table takes them.
        for table, own in zip(self._every, keys, strict=True):
            if own:
                pool.submit(_take_digest, table)
        pool.shutdown(wait=threads == 1)
        for engine in self.engines:
            engine.open()
        for each in tasks:
            each.result()

    def take_digests(self) -> None:
        """Compute the digests of all files in parallel, and keep them."""
        with ThreadPoolExecutor(thread_count()) as pool:
            list(pool.map(_take_digest, self._every))

    @property
    def _every(self) -> tuple[Table, ...]:
        """All tables that the run reads, the private one last; a dry run does not read it."""
        return (*self.tables, *([self.private] if self.private and not self.private.dry else []))

    def schema(self, wanted: Iterable[str], stated: Schema, *, partial: bool = False) -> Schema:
        """Load the ``wanted`` columns and return the kind of every column of the first table.

        With ``partial`` a wanted column may be missing in the first table; then the next table
        that has the column gives its kind.

        Raises
        ------
        TableError
            If a table cannot be read or has no rows.
        ParameterError
            If there is a private table, as ``check_kinds``.
        """
        names = {fold_case(name) for name in wanted}
        kinds: Schema = {}
        for engine, table in zip(self.engines, self.tables, strict=True):
            own_kinds = engine.schema(table, names, _renamed(stated, table))
            if not engine.rows():
                raise TableError(f"the {table.title} has no rows")
            if not kinds:
                kinds = own_kinds
                self._take_kinds(kinds, names, stated)
            elif partial:
                known = set(map(fold_case, kinds))
                more = {
                    name: kind
                    for name, kind in own_kinds.items()
                    if fold_case(name) in names - known
                }
                kinds = {**kinds, **more}
                self._take_kinds(more, names, stated)
            for name, kind in _renamed(kinds, table).items():
                if fold_case(name) in names:
                    if own_kinds[name] is not kind:
                        differs = note(
                            "kind-differs",
                            column=name,
                            kind=str(own_kinds[name]),
                            table=table.label,
                            as_kind=str(kind),
                            first=self.tables[0].label,
                        )
                        self.notes[differs] = None
                    is_stated = fold_case(name) in map(fold_case, stated)
                    self._check_fit(engine, table, name, kind, stated=is_stated)
            self._note_missing(table, names)
        if self.private:
            self.check_kinds()
            self._note_missing(self.private, ())
        return kinds

    def _take_kinds(self, kinds: Schema, names: Collection[str], stated: Schema) -> None:
        """Keep the kinds that the first table gave to the columns ``names``."""
        for name, kind in kinds.items():
            if fold_case(name) in names and name not in stated and kind is not Kind.TEXT:
                self.taken_kinds[name] = kind

    @property
    def kind_notes(self) -> tuple[Note, ...]:
        """Note on the kinds that the first table gave to columns, none if all are texts."""
        first = self.tables[0].label
        return (kinds_note(first, self.taken_kinds),) if self.taken_kinds else ()

    def _note_missing(self, table: Table, names: Collection[str]) -> None:
        """Note the texts that mean a missing cell: those in a copy's columns ``names``.

        Of a private table all texts are listed, where no copy can show them.
        """
        if table.text_format is None:
            return
        texts = table.text_format.missing_texts
        if table.role == "synthetic":
            cells: dict[str, int] = {}
            for name, counts in table.memory.missing.items():
                for text, number in counts.items() if fold_case(name) in names else ():
                    cells[text] = cells.get(text, 0) + number
            if cells:
                most = tuple(sorted(cells.items(), key=lambda pair: (-pair[1], pair[0])))
                self.notes[note("cells-missing", table=table.label, cells=most)] = None
        elif texts and not any(each.text_format == table.text_format for each in self.tables):
            self.notes[note("texts-missing", texts=texts)] = None

    def check_kinds(self) -> None:
        """Stop a run that would compare numbers or days of a copy as texts.

        Raises
        ------
        ParameterError
            If a column of texts without a stated kind holds numbers or days in another form.
        """
        if not self.hints:
            return
        told = [hint.sentence for hint in self.hints.values()]
        if all_options := joined_options(self._options.values()):
            told.append(f"All together: {option(all_options)}")
        raise ParameterError("\n".join([*told, _UNSPENT]))

    def _check_fit(
        self, engine: SyntheticTable, table: Table, name: str, kind: Kind, *, stated: bool
    ) -> None:
        """Note cells of a column that do not fit its kind; TableError if no cell fits."""
        found = engine.misfits(name, kind)
        if found and found.unfit:
            facts = {
                "column": name,
                "kind": str(kind),
                "table": table.label,
                "cells": found.cells,
                "example": found.example,
                "way": way_in(found.example),
            }
            if found.unfit == found.cells:
                raise TableError(note("no-cell-fits", **facts).sentence)
            self.notes[note("cells-misfit", unfit=found.unfit, **facts)] = None
        elif kind is Kind.TEXT and not stated and (style := engine.text_style(name)):
            not_read = note(
                "text-not-read",
                column=name,
                table=table.label,
                way=style.way,
                example=style.example,
                options=style.options if table.textual else (),
            )
            self.hints[fold_case(name)] = not_read
            if table.textual and style.options:
                self._options[fold_case(name)] = style.options[0]
            # Texts are compared as texts: 24.12.1980 is greater than 02.01.2020.
            self.notes[not_read] = None

    def kinds_read(
        self, schema: Schema, names: Iterable[str], unit: PrivacyUnit | None = None
    ) -> tuple[tuple[str, str], ...]:
        """Columns with their kinds, as a cache key has them, sorted.

        A key also says how private cells of the kind are read, if not in the usual format; and so
        it names the column of the ``unit``.
        """
        text_format = self.private.text_format if self.private else None
        if text_format is None:
            return tuple((name, str(schema[name])) for name in sorted(names))
        pairs = {(name, f"{schema[name]}{text_format.way(schema[name])}") for name in names}
        if unit and (way := text_format.way(Kind.TEXT)):
            pairs.add((fold_case(unit.column), f"person{way}"))
        return tuple(sorted(pairs))

    def check(self, columns: Sequence[str]) -> None:
        """Raise TableError if any table but the first lacks one of ``columns``."""
        for table in (*self.tables[1:], *([self.private] if self.private else [])):
            self.engine.check(table, columns)

    def histograms(self, schema: Schema, workload: ScanPlan) -> list[tuple[Histogram, ...]]:
        """For each statistic, the histograms of all tables."""
        histograms = [
            engine.histograms(table, schema, workload)
            for engine, table in zip(self.engines, self.tables, strict=True)
        ]
        return list(zip(*histograms, strict=True))

    def value_counts(self, schema: Schema, column: str) -> tuple[ValueCounts, ...]:
        """Counts of the values of ``column`` in each of the telling tables."""
        return tuple(engine.value_counts(schema, column) for engine in self._telling)

    def profile(
        self, schema: Schema, value: str, totalled: PrivacyUnit | None = None
    ) -> Lattice | None:
        """Narrowest lattice that holds all values of ``value`` (SQL) in the telling tables."""
        lattices = [e.profile(schema, value, totalled) for e in self._telling]
        return united([lattice for lattice in lattices if lattice])

    def distinct_values(self, schema: Schema, column: str, most: int) -> Mapping[Any, None] | None:
        """Values of ``column`` but NULL, telling table by telling table; None if too many."""
        known: dict[Any, None] = {}
        for engine in self._telling:
            values = engine.distinct_values(schema, column, most)
            if values is None:
                return None
            known.update(dict.fromkeys(sorted(values)))
        return known if len(known) <= most else None

    def groups(
        self, schema: Schema, columns: Sequence[str], resolved: BoundExpression, most: int
    ) -> list[tuple[Any, ...]]:
        """At most ``most`` combinations of ``columns`` on matching rows of the telling tables."""
        groups = (e.groups(schema, columns, resolved, most) for e in self._telling)
        return list(dict.fromkeys(key for keys in groups for key in keys))[:most]


def _take_digest(table: Table) -> None:
    """Compute the digest of a file; the table keeps it."""
    table.digest()


def _renamed(kinds: Schema, table: Table) -> Schema:
    """``kinds`` by the names that ``table`` has for its columns."""
    known = {fold_case(name): kind for name, kind in kinds.items()}
    return {name: known[fold_case(name)] for name in table.columns if fold_case(name) in known}


def united(lattices: Sequence[Lattice]) -> Lattice | None:
    """Narrowest lattice that holds all points of the given lattices; None if there are none."""
    if not lattices:
        return None
    lower = min(lattice.lower for lattice in lattices)
    parts = [lattice.step for lattice in lattices] + [lattice.lower - lower for lattice in lattices]
    denominator = math.lcm(*(part.denominator for part in parts))
    step = Fraction(math.gcd(*(int(part * denominator) for part in parts)), denominator)
    return Lattice(lower, max(lattice.upper for lattice in lattices), step)


def kinds_note(table: str, kinds: Mapping[str, Kind]) -> Note:
    """Note on the kinds that a synthetic table gave to its columns."""
    pairs = tuple((column, str(kind)) for column, kind in kinds.items())
    return note("kinds-of-copy", table=table, kinds=pairs)
