"""Bound profile: the marginals of the synthetic tables with their counts.

Only the header of the private table is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pqd.engine.marginals import Marginal, MarginalPlan, RowMap, Unseen
from pqd.engine.partitions import Partition
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.errors import NothingSelectedError, ParameterError
from pqd.marginals.marginal_selection import select_marginals
from pqd.marginals.partition_choice import (
    choose_partition,
    heaps_partition,
    ordered_partition,
    steps_partition,
)
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.marginals.profiled_columns import NOT_PRIVATE, profiled_columns, shared_columns
from pqd.planning.binding import unit_notes
from pqd.planning.query_warnings import header_warnings, key_warnings
from pqd.reports.models.profile import DistanceId, LeftOut, ProfiledColumn
from pqd.run.measurement import BoundTables, Kinds
from pqd.sql.schema import Kind, Schema, fold_case, header_hint
from pqd.stated.cells import check_cells
from pqd.stated.column_facts import StatedCells, check_facts, stated_kinds, unknown_column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Kinds whose values are ordered.
ORDERED = (Kind.NUMBER, Kind.TIME)
# If no column is left, the message gives the reasons of at most this number of columns.
_REASONS = 3


@dataclass(frozen=True, slots=True, eq=False)
class BoundMarginal:
    """Marginal, with the counts of its cells in each synthetic table; all of it public."""

    marginal: Marginal
    copies: tuple[NDArray[np.int64], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.marginal.columns

    @property
    def ways(self) -> int:
        """Number of columns."""
        return len(self.marginal.partitions)


class ColumnValues(NamedTuple):
    """Values of one column of the synthetic tables; all of it public.

    ``histogram`` is the marginal of the column alone.  ``singles`` has, for each table that chooses
    the cells, the number of values that exactly one row has.  ``heaps`` is the marginal of its
    numbers by roundness; it is None for a column without numbers, or with few values.
    """

    histogram: BoundMarginal
    singles: tuple[int, ...]
    heaps: BoundMarginal | None


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
    """Marginals of the synthetic tables, with their counts; all of it public.

    Attributes
    ----------
    columns
        The profiled columns, in the order of the first table.
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
        The map of rows to two cells; the last cell is for rows with a value that no copy has.
    left_out
        Columns and marginals that are not profiled, with the reason.
    copy_rows
        The number of counted rows of each synthetic table.
    """

    columns: tuple[ProfiledColumn, ...]
    partitions: tuple[Partition, ...]
    marginals: tuple[BoundMarginal, ...]
    ordered: tuple[BoundMarginal, ...]
    steps: tuple[BoundMarginal, ...]
    column_values: tuple[ColumnValues, ...]
    unseen: RowMap
    left_out: tuple[LeftOut, ...]
    copy_rows: tuple[int, ...]

    @cached_property
    def kinds(self) -> Kinds:
        """Names and kinds of the profiled columns."""
        names = sorted(each.name for each in self.columns)
        return tuple((name, str(self.schema[name])) for name in names)

    def kinds_of(self, columns: Sequence[str]) -> Kinds:
        """Names and kinds of some of the columns."""
        return tuple((name, kind) for name, kind in self.kinds if name in columns)


def bind_profile(
    tables: SyntheticTables, request: ProfileRequest, unit: PrivacyUnit | None = None
) -> BoundProfile:
    """Profile bound to the synthetic tables, which are read once.

    Raises
    ------
    PqdError
        TableError or ParameterError for a column, for cells or for a marginal that does not fit
        the tables; NothingSelectedError if no column is left.
    """
    return _Binding(tables, request, unit).bound()


class _Binding:
    """One reading of the synthetic tables."""

    def __init__(
        self, tables: SyntheticTables, request: ProfileRequest, unit: PrivacyUnit | None
    ) -> None:
        """Read nothing yet."""
        self._tables, self._request, self._unit = tables, request, unit
        self._left_out: list[LeftOut] = []

    def bound(self) -> BoundProfile:
        tables = self._tables
        notes = (*unit_notes(tables, self._unit), *key_warnings(tables, self._unit))
        self._check_cells()
        self._schema = self._kinds()
        names, left_out = profiled_columns(tables, self._schema, self._request.named, self._unit)
        self._left_out.extend(left_out)
        if not names:
            raise NothingSelectedError(_without_columns(left_out))
        self._summaries = {name: tables.value_counts(self._schema, name) for name in names}
        notes += tuple(header_warnings(tables, names))
        chosen = {name: self._partition(name) for name in names}
        self._partitions = {name: partition for name, (partition, _) in chosen.items()}
        marginals = [self._marginal(each) for each in self._marginal_columns(names)]
        ordered, steps = self._ordered_marginals(names, "ks"), self._ordered_marginals(names, "emd")
        # A column that is a marginal is counted once.
        singles = {each.columns: each for each in marginals}
        histograms = [singles.get((name,)) or self._marginal([name]) for name in names]
        heaps = [self._heaps(name) for name in names]
        rounded = [each for each in heaps if each]
        counts = self._counts([*marginals, *histograms, *rounded, *ordered, *steps])
        partitions = tuple(self._partitions.values())
        return BoundProfile(
            tables=tables,
            schema=self._schema,
            unit=self._unit,
            columns=tuple(facts for _, facts in chosen.values()),
            partitions=partitions,
            marginals=tuple(map(counts, marginals)),
            ordered=tuple(map(counts, ordered)),
            steps=tuple(map(counts, steps)),
            column_values=tuple(
                ColumnValues(counts(own), self._singles(name), counts(heap) if heap else None)
                for name, own, heap in zip(names, histograms, heaps, strict=True)
            ),
            unseen=Unseen(partitions),
            left_out=tuple(self._left_out),
            notes=(*tables.kind_notes, *tables.notes, *notes),
            copy_rows=tuple(int(copy.sum()) for copy in counts(marginals[0]).copies),
        )

    def _kinds(self) -> Schema:
        """Kinds of the columns that may be profiled, which are loaded for this."""
        tables, facts = self._tables, self._request.facts
        names, _ = shared_columns(tables, self._request.named, self._unit)
        unit = [self._unit.column] if self._unit else []
        schema = tables.schema([*names, *unit], stated_kinds(facts, tables.columns))
        check_facts(facts, schema, [])
        return schema

    def _check_cells(self) -> None:
        """Refuse cells stated for a column that is not compared: its name may be a typo."""
        known = set(map(fold_case, self._tables.columns))
        named = self._request.named
        compared = known if named is None else set(map(fold_case, named))
        for name in self._request.cells:
            if fold_case(name) not in known:
                raise unknown_column(name, self._tables.columns, "cells")
            if fold_case(name) not in compared:
                raise ParameterError(
                    f'cells: the column "{name}" is not among those that are compared '
                    f"({', '.join(named or ())}); name it there too (--columns), or leave its "
                    "cells out"
                )

    def _stated_cells(self, name: str) -> StatedCells | None:
        stated = {fold_case(column): cells for column, cells in self._request.cells.items()}
        return stated.get(fold_case(name))

    def _partition(self, name: str) -> tuple[Partition, ProfiledColumn]:
        return choose_partition(
            name, self._schema[name], self._summaries[name], self._stated_cells(name)
        )

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
        rows = min(engine.rows() for engine in self._tables.engines)
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

    def _ordered_marginals(self, names: Sequence[str], distance: DistanceId) -> list[Marginal]:
        """Marginals of single ordered columns for a distance; empty for an unmeasured distance."""
        if distance not in self._request.distances:
            return []
        make = self._steps if distance == "emd" else self._order
        return [Marginal((make(name),)) for name in names if self._schema[name] in ORDERED]

    def _order(self, name: str) -> Partition:
        return ordered_partition(name, self._schema[name], self._summaries[name])

    def _heaps(self, name: str) -> Marginal | None:
        heaps = heaps_partition(name, self._schema[name], self._summaries[name])
        return Marginal((heaps,)) if heaps else None

    def _singles(self, name: str) -> tuple[int, ...]:
        """Number of values that exactly one row has, in each table whose values are known."""
        return tuple(int((each.counts == 1).sum()) for each in self._summaries[name])

    def _steps(self, name: str) -> Partition:
        facts = {fold_case(column): each for column, each in self._request.facts.items()}
        stated = facts.get(fold_case(name))
        low, high = (stated.bounds if stated else None) or (None, None)
        bounds = None if low is None or high is None else (low, high)
        return steps_partition(name, self._schema[name], self._summaries[name], bounds)

    def _counts(self, marginals: Sequence[Marginal]) -> Callable[[Marginal], BoundMarginal]:
        """Function from a marginal to its counts; each synthetic table is scanned once for all."""
        tables, plan = self._tables, MarginalPlan(tuple(dict.fromkeys(marginals)), self._unit)
        copies = [
            engine.marginals(table, self._schema, plan)
            for engine, table in zip(tables.engines, tables.tables, strict=True)
        ]
        return lambda each: BoundMarginal(each, tuple(counts[each] for counts in copies))


def _without_columns(left_out: Sequence[LeftOut]) -> str:
    """Message that no column is left to profile, with reasons for the first columns."""
    reasons = [f"{', '.join(each.columns)}: {each.reason}" for each in left_out[:_REASONS]]
    if more := len(left_out) - len(reasons):
        reasons.append(f"and {more} more")
    why = f" ({'; '.join(reasons)})" if reasons else ""
    hint = header_hint(column for each in left_out for column in each.columns)
    advice = "name columns of both tables by --columns"
    if not hint and {each.reason for each in left_out} == {NOT_PRIVATE}:
        advice = "the first line of both files must name the columns"
    return f"there is no column to profile{why}; {advice}{hint}"
