"""Bound profile: the marginals of a copy with their counts.

Only the header of the private table is read.  Each copy has cells of its own, so its distances do
not depend on the copies that it is compared with; a stated table may give the cells of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pqd.deciders.names import near_hint, nearest_names
from pqd.deciders.note import Note, note
from pqd.deciders.options import option
from pqd.engine.counting.persons import parts_per_row
from pqd.engine.marginals import Marginal, MarginalPlan, RowMap, Unseen
from pqd.engine.partitions import Lacking, Partition, TextBins
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.errors import NothingSelectedError, ParameterError, for_all
from pqd.marginals.marginal_selection import select_marginals
from pqd.marginals.partition_choice import (
    choose_partition,
    heaps_partition,
    known_partition,
    lacking_partition,
    ordered_partition,
    steps_partition,
)
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.marginals.profiled_columns import (
    BY_BLANKS,
    NOT_PRIVATE,
    ColumnChoice,
    candidate_columns,
    choose_columns,
    coarse_columns,
)
from pqd.planning.binding import unit_notes
from pqd.planning.query_warnings import absent_notes, header_warnings, key_notes
from pqd.reports.models.profile import ProfiledColumn
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.standings import Standing
from pqd.run.measurement import BoundTables, Kinds
from pqd.sql.schema import Kind, Schema, fold_case, header_hint
from pqd.stated.cells import check_cells
from pqd.stated.column_facts import (
    Facts,
    StatedCells,
    check_facts,
    fact_notes,
    stated_kinds,
    unknown_column,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Kinds whose values are ordered.
ORDERED = (Kind.NUMBER, Kind.TIME)
# If no column is left, the message gives the reasons of at most this number of columns.
_REASONS = 3
# Stated values, and nearest values of the copy, that a message shows.
_SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class BoundMarginal:
    """Marginal, with the counts of its cells in the copy; all of it public.

    ``weights`` are exact: rows, or parts of a row where the rows of a person share a weight.
    Distances compare shares of them.  ``copy`` has them in whole rows, for chance and for figures.
    """

    marginal: Marginal
    copy: NDArray[np.int64]
    weights: NDArray[np.int64]

    @classmethod
    def of(cls, marginal: Marginal, weights: NDArray[np.int64], parts: int) -> BoundMarginal:
        """Marginal whose cells have ``weights`` in so many ``parts`` of a row.

        A cell that the copy has keeps at least one row.
        """
        if parts == 1:
            return cls(marginal, weights, weights)
        rows = (2 * weights + parts) // (2 * parts)
        return cls(marginal, np.maximum(rows, weights > 0), weights)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.marginal.columns

    @property
    def ways(self) -> int:
        """Number of columns."""
        return len(self.marginal.partitions)

    @property
    def lacks_column(self) -> bool:
        """Whether the copy lacks one of the columns; the distance is then 100 %."""
        return any(isinstance(each, Lacking) for each in self.marginal.partitions)


class ColumnValues(NamedTuple):
    """Values of one column of the copy; all of it public.

    ``histogram`` is the marginal of the column alone.  ``singles`` is the number of rows with a
    value that exactly one row or person has, in the table that gives the cells.  ``heaps`` is the
    marginal of its numbers by roundness; it is None for a column without numbers, or with few
    values.  ``ordered`` has the cells of an ordered column in their order; it is None for other
    columns.  ``known`` tells the copy's texts from new ones where new ones lie in bins; else None.
    """

    histogram: BoundMarginal
    singles: int
    heaps: BoundMarginal | None
    ordered: BoundMarginal | None
    known: BoundMarginal | None


def mean_weights(
    marginals: Sequence[BoundMarginal], ways: int | None = None
) -> tuple[Fraction, ...]:
    """Weight of each marginal in the overall quality, or in the quality of ``ways`` columns.

    All columns together, all pairs together and all triples together have the same weight.  Within
    each of these sets the marginals have equal weights.
    """
    sizes = Counter(each.ways for each in marginals if ways in {None, each.ways})
    weights = {size: Fraction(1, len(sizes) * number) for size, number in sizes.items()}
    return tuple(weights.get(each.ways, Fraction(0)) for each in marginals)


# Without slots, so that the kinds are computed once.
@dataclass(frozen=True, eq=False, kw_only=True)
class BoundProfile(BoundTables):
    """Marginals of one copy, with their counts; all of it public.

    Attributes
    ----------
    label
        The name of the copy.
    copy
        The engine that holds the copy.
    columns
        The judged columns, in the order of the tables.
    partitions
        The cells of each of ``columns`` in the marginals.
    marginals
        The marginals: columns, then pairs, then triples, each in the order of the columns.
    ordered
        A marginal with finer cells for each ordered column, for the Kolmogorov-Smirnov distance;
        empty if this distance is not measured.
    steps
        A marginal with equal steps for each ordered column, for the earth mover's distance; empty
        if this distance is not measured.
    column_values
        The values of each of ``columns``: its histogram, single values and heaps.
    unseen
        The map of rows to two cells; the last cell is for rows with a value that the table of the
        cells never has.
    left_out
        Columns and marginals that are not judged, with the reason.
    flaws
        Judged columns that the copy lacks, or has turned into identifiers.
    copy_rows
        The number of counted rows of the copy.
    """

    label: str
    copy: SyntheticTable
    columns: tuple[ProfiledColumn, ...]
    partitions: tuple[Partition, ...]
    marginals: tuple[BoundMarginal, ...]
    ordered: tuple[BoundMarginal, ...]
    steps: tuple[BoundMarginal, ...]
    column_values: tuple[ColumnValues, ...]
    unseen: RowMap
    left_out: tuple[LeftOut, ...]
    flaws: tuple[LeftOut, ...]
    copy_rows: int

    @cached_property
    def kinds(self) -> Kinds:
        """Names and kinds of the profiled columns."""
        return self.tables.kinds_read(self.schema, self._names, self.unit)

    @property
    def _names(self) -> set[str]:
        return {each.name for each in self.columns}

    def codes(self, partitions: Sequence[Partition]) -> NDArray[np.int64]:
        """Cell of each row of the copy in each of ``partitions``: (rows, partitions).

        The rows of a copy that lacks a column are in the column's last cell.
        """
        present = [each for each in partitions if not isinstance(each, Lacking)]
        known = self.copy.codes(self.schema, present) if present else None
        rows = self.copy.rows() if known is None else len(known)
        every = iter(() if known is None else known.T)
        lacking = np.ones(rows, np.int64)
        return np.column_stack(
            [lacking if isinstance(each, Lacking) else next(every) for each in partitions]
        )

    def kinds_of(self, columns: Sequence[str]) -> Kinds:
        """Names and kinds of some of the columns."""
        return self.tables.kinds_read(self.schema, self._names.intersection(columns), self.unit)


def bind_profile(
    tables: SyntheticTables, request: ProfileRequest, unit: PrivacyUnit | None = None
) -> BoundProfile:
    """Profile of the first copy; see ``bind_profiles``."""
    return bind_profiles(tables, request, unit)[0]


def bind_profiles(
    tables: SyntheticTables, request: ProfileRequest, unit: PrivacyUnit | None = None
) -> tuple[BoundProfile, ...]:
    """Profile of each copy, with the same judged columns; each table is read once.

    Raises
    ------
    PqdError
        TableError or ParameterError for a column, for cells or for a marginal that does not fit
        the tables; NothingSelectedError if no column is left.
    """
    notes = tuple(unit_notes(tables, unit))
    _check_cells(tables, request)
    schema = _kinds(tables, request, unit)
    choice = choose_columns(tables, schema, request, unit)
    if not choice.judged:
        raise NothingSelectedError(_without_columns(choice.left_out))
    notes += tuple(header_warnings(tables, choice.judged))
    notes += (*fact_notes(request.facts), *key_notes(tables, request.facts, unit))
    bindings = [
        _Binding(tables, request, unit, schema, choice, place)
        for place, _ in enumerate(tables.copies)
    ]
    bound = [binding.bound() for binding in bindings]
    labels = ", ".join(each.label for each in tables.tables[:_SHOWN])
    notes = (*tables.kind_notes, *tables.notes, *_value_notes(labels, bindings, request), *notes)
    notes = (*notes, *_coarse_notes(bound))
    return tuple(replace(each, notes=notes) for each in bound)


def unjudged_columns(
    tables: SyntheticTables, facts: Facts, unit: PrivacyUnit | None = None
) -> tuple[LeftOut, ...]:
    """Columns of either table that are not judged, but those that the ``facts`` set aside.

    It is public: only the header of the private table is read, whose names may be told.

    Raises
    ------
    PqdError
        As ``bind_profiles``.
    """
    request = ProfileRequest(facts=facts)
    choice = choose_columns(tables, _kinds(tables, request, unit), request, unit)
    return tuple(each for each in choice.left_out if each.standing is not Standing.SET_ASIDE)


def _kinds(tables: SyntheticTables, request: ProfileRequest, unit: PrivacyUnit | None) -> Schema:
    """Kinds of the columns that may be judged, which are loaded for this."""
    names, _ = candidate_columns(tables, request, unit)
    stated = stated_kinds(request.facts, tables.all_columns)
    columns = [*names, *([unit.column] if unit else [])]
    schema = tables.schema(columns, stated, partial=True)
    check_facts(request.facts, dict.fromkeys(tables.all_columns, Kind.TEXT), [])
    return schema


def _check_cells(tables: SyntheticTables, request: ProfileRequest) -> None:
    """Refuse cells stated for a column that is not compared: its name may be a typo."""
    known = set(map(fold_case, tables.all_columns))
    compared = known if request.named is None else set(map(fold_case, request.named))

    def check(name: str) -> None:
        if fold_case(name) not in known:
            raise unknown_column(name, tables.all_columns, "cells")
        if fold_case(name) not in compared:
            raise ParameterError(
                f'cells: the column "{name}" is not among those that are compared '
                f"({', '.join(request.named or ())}); name it there too "
                f"({option('--columns')}), or leave its cells out"
            )

    # A file of metadata may describe more columns; ``check_facts`` looks up their names.
    for_all(check, request.own_cells)


def _value_notes(labels: str, bindings: Sequence[_Binding], request: ProfileRequest) -> list[Note]:
    """Warnings on stated values that no copy has, which may be misspelt.

    A file of metadata describes more than a copy, so the copy may lack all that it lists.

    Raises
    ------
    ParameterError
        If no copy has any of the values of a column: all its rows would be in one cell.
    """
    notes = list[Note]()

    def check(name: str) -> None:
        stated, held = request.own_cells[name].values, list[str]()
        for binding in bindings:
            held += binding.texts(name) or stated
        if stated and not set(stated) & set(held):
            near = dict.fromkeys(chain.from_iterable(nearest_names(each, held) for each in stated))
            raise ParameterError(
                f'cells: the copy has none of the values that are stated for "{name}" '
                f"({', '.join(stated[:_SHOWN])}), so it would have one cell alone"
                f"{near_hint([*near][:_SHOWN])}; correct them, or list them in a file of metadata "
                f"({option('--metadata')}) if the private table may have them. Nothing was spent"
            )
        absent = [value for value in stated if value not in held]
        notes.extend(absent_notes(name, absent, held, labels))

    for_all(check, request.own_cells)
    return notes


def _coarse_notes(profiles: Sequence[BoundProfile]) -> Iterator[Note]:
    """Yield a warning on each copy with far fewer cells than another copy has."""
    sizes: dict[str, list[int]] = {}
    for profile in profiles:
        for column in profile.columns:
            sizes.setdefault(column.name, []).append(column.cells)
    flaws = [{each.columns[0] for each in profile.flaws} for profile in profiles]
    for place, names in coarse_columns(sizes, flaws).items():
        yield note("coarse-cells", copy=profiles[place].label, columns=names)


class _Binding:
    """One copy with the judged columns of all copies."""

    def __init__(
        self,
        tables: SyntheticTables,
        request: ProfileRequest,
        unit: PrivacyUnit | None,
        schema: Schema,
        choice: ColumnChoice,
        place: int,
    ) -> None:
        """Take the copy at ``place``; nothing is counted yet."""
        self._tables, self._request, self._unit = tables, request, unit
        self._schema, self._choice, self._place = schema, choice, place
        self._engine, self._table = tables.copies[place]
        own = set(map(fold_case, self._table.columns))
        self._lacking = {name for name in choice.judged if fold_case(name) not in own}
        self._left_out = list(choice.left_out)

    def bound(self) -> BoundProfile:
        names = self._choice.judged
        source = self._engine if self._tables.cells_from is None else self._tables.engine
        self._summaries = {
            name: source.value_counts(self._schema, name)
            for name in names
            if name not in self._lacking
        }
        self._singles = {name: self._single_rows(source, name) for name in names}
        chosen = {name: self._partition(name) for name in names}
        self._partitions = {name: partition for name, (partition, _) in chosen.items()}
        marginals = [self._marginal(each) for each in self._marginal_columns(names)]
        orders = [self._ordered(name, self._order) for name in names]
        finer = [each for each in orders if each]
        ordered = finer if "ks" in self._request.distances else []
        steps = self._step_marginals(names)
        # A column that is a marginal is counted once.
        singles = {each.columns: each for each in marginals}
        histograms = [singles.get((name,)) or self._marginal([name]) for name in names]
        heaps = [self._heaps(name) for name in names]
        rounded = [each for each in heaps if each]
        lists = [self._known(name) for name in names]
        known = [each for each in lists if each]
        counts = self._counts([*marginals, *histograms, *rounded, *finer, *known, *steps])
        partitions = tuple(self._partitions.values())
        bound = tuple(map(counts, marginals))
        return BoundProfile(
            tables=self._tables,
            schema=self._schema,
            unit=self._unit,
            label=self._table.label,
            copy=self._engine,
            columns=tuple(facts for _, facts in chosen.values()),
            partitions=partitions,
            marginals=bound,
            ordered=tuple(map(counts, ordered)),
            steps=tuple(map(counts, steps)),
            column_values=tuple(
                ColumnValues(
                    counts(own),
                    self._singles[name],
                    counts(heap) if heap else None,
                    counts(order) if order else None,
                    counts(texts) if texts else None,
                )
                for name, own, heap, order, texts in zip(
                    names, histograms, heaps, orders, lists, strict=True
                )
            ),
            unseen=Unseen(partitions),
            left_out=tuple(self._left_out),
            flaws=self._choice.flaws[self._place],
            notes=(),
            copy_rows=self._copy_rows(bound[0]),
        )

    def _copy_rows(self, marginal: BoundMarginal) -> int:
        """Counted rows of the copy, rounded; each person counts as a few at most."""
        parts, weight = parts_per_row(self._unit), int(marginal.weights.sum())
        return max(weight > 0, (2 * weight + parts) // (2 * parts))

    def texts(self, name: str) -> list[str]:
        """Distinct texts of a column of the copy; empty if it has none, or is not one of texts."""
        return [
            str(value)
            for column, summary in self._summaries.items()
            if fold_case(column) == fold_case(name) and self._schema[column] is Kind.TEXT
            for value in summary.values
        ]

    def _stated_cells(self, name: str) -> StatedCells | None:
        stated = {fold_case(column): cells for column, cells in self._request.cells.items()}
        return stated.get(fold_case(name))

    def _partition(self, name: str) -> tuple[Partition, ProfiledColumn]:
        kind = self._schema[name]
        if name in self._lacking:
            return lacking_partition(name, kind)
        cells, singles = self._stated_cells(name), self._singles[name]
        return choose_partition(name, kind, self._summaries[name], cells, singles=singles)

    def _marginal_columns(self, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yield the columns of each marginal; a pair or triple with too many cells is left out.

        ParameterError if a single column, or a marginal that the caller names, has too many cells.
        """
        stated = self._request.marginals
        if stated is None:
            selected = select_marginals(names, self._request.ways)
        else:
            spelled = {fold_case(name): name for name in names}
            selected = tuple(tuple(spelled[fold_case(n)] for n in each) for each in stated)
            for each in selected:
                if len(set(each)) < len(each) or not each:
                    raise ParameterError(f"a marginal names columns, each once: {', '.join(each)}")
            # Sort the columns, so that their order changes neither the marginal nor its cache key.
            ordered = (tuple(sorted(each, key=names.index)) for each in selected)
            selected = tuple(dict.fromkeys(ordered))
        rows = self._engine.rows()
        for columns in selected:
            reason = check_cells(self._marginal(columns), rows)
            if reason is None:
                yield columns
            elif stated is None and len(columns) > 1:
                self._left_out.append(LeftOut(columns=columns, reason=reason))
            else:
                raise ParameterError(f"{', '.join(columns)}: {reason}")

    def _marginal(self, columns: Sequence[str]) -> Marginal:
        return Marginal(tuple(self._partitions[name] for name in columns))

    def _ordered(self, name: str, make: Callable[[str], Partition]) -> Marginal | None:
        """Marginal of an ordered column; None for another one, or where the copy lacks it."""
        if self._schema[name] not in ORDERED or name in self._lacking:
            return None
        return Marginal((make(name),))

    def _step_marginals(self, names: Sequence[str]) -> list[Marginal]:
        """Marginals for the earth mover's distance; none if it is not measured."""
        if "emd" not in self._request.distances:
            return []
        return [each for name in names if (each := self._ordered(name, self._steps))]

    def _order(self, name: str) -> Partition:
        return ordered_partition(name, self._schema[name], self._summaries[name])

    def _heaps(self, name: str) -> Marginal | None:
        if name in self._lacking:
            return None
        heaps = heaps_partition(name, self._schema[name], self._summaries[name])
        return Marginal((heaps,)) if heaps else None

    def _known(self, name: str) -> Marginal | None:
        partition = self._partitions[name]
        if not isinstance(partition, TextBins) or partition.known:
            return None
        return Marginal((known_partition(name, self._schema[name], self._summaries[name]),))

    def _single_rows(self, source: SyntheticTable, name: str) -> int:
        """Rows with a value that exactly one row has, or with a unit exactly one person."""
        if name in self._lacking:
            return 0
        return source.singles(self._schema, name, self._unit)

    def _steps(self, name: str) -> Partition:
        facts = {fold_case(column): each for column, each in self._request.facts.items()}
        stated = facts.get(fold_case(name))
        low, high = (stated.bounds if stated else None) or (None, None)
        bounds = None if low is None or high is None else (low, high)
        return steps_partition(name, self._schema[name], self._summaries[name], bounds)

    def _counts(self, marginals: Sequence[Marginal]) -> Callable[[Marginal], BoundMarginal]:
        """Function from a marginal to its counts; the copy is scanned once for all.

        Marginals with a column that the copy lacks need no scan: all rows are in the last cell.
        """
        bare = [each for each in marginals if not self._lacking.intersection(each.columns)]
        # A copy that lacks all columns is scanned for its number of rows alone.
        plan = MarginalPlan(tuple(dict.fromkeys(bare)), self._unit)
        counted = self._engine.marginals(self._table, self._schema, plan) if bare else None
        parts = parts_per_row(self._unit)
        rows = int(counted[bare[0]].sum()) if counted else parts * self._engine.rows()

        def bound(each: Marginal) -> BoundMarginal:
            if counted and not self._lacking.intersection(each.columns):
                return BoundMarginal.of(each, counted[each], parts)
            counts = np.zeros(each.size, np.int64)
            counts[-1] = rows
            return BoundMarginal.of(each, counts, parts)

        return bound


def _without_columns(left_out: Sequence[LeftOut]) -> str:
    """Message that no column is left to profile, with reasons for the first columns."""
    reasons = [f"{', '.join(each.columns)}: {each.reason}" for each in left_out[:_REASONS]]
    if more := len(left_out) - len(reasons):
        reasons.append(f"and {more} more")
    why = f" ({'; '.join(reasons)})" if reasons else ""
    hint = header_hint(column for each in left_out for column in each.columns)
    advice = f"name columns of both tables by {option('--columns')}"
    if any(each.reason.endswith(BY_BLANKS) for each in left_out):
        advice = "give the columns of both tables the same names"
    elif not hint and {each.reason for each in left_out} == {NOT_PRIVATE}:
        advice = "the first line of both files must name the columns"
    return f"there is no column to profile{why}; {advice}{hint}"
