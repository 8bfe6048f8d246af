"""Bound profile: the marginals of the synthetic tables, counted; the private one is not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pqd.measurement import MeasurementSet
from reports.text.notes import WARNING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pqd.column_facts import Facts
    from pqd.engine.marginals import Marginal, RowMap
    from pqd.engine.partitions import Partition
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.engine.synthetic_tables import SyntheticTables
    from pqd.engine.tables import Table
    from pqd.measurement import Kinds, Measurement
    from pqd.sql.schema import Schema
    from reports.models.profile import DistanceId, LeftOut, ProfiledColumn

# Distances that can be measured, and those that are where nothing else is stated.
DISTANCES: tuple[DistanceId, ...] = ("tv", "ks", "emd")
USUAL: tuple[DistanceId, ...] = ("tv", "ks")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest:
    """Marginals that a caller wants to be compared, and by which distances; all of it public.

    Attributes
    ----------
    columns
        Names of the columns, None for all that a profile is made for.
    ways
        The most columns of one marginal: every marginal of 1 .. ``ways`` columns is wanted.
    marginals
        Marginals by the names of their columns, in place of all those; None for all.
    distances
        Total variation of every marginal is always measured; the others of ordered columns.
    cells
        Stated cells, by column.
    facts
        Public facts of columns.
    """

    columns: tuple[str, ...] | None = None
    ways: int = 2
    marginals: tuple[tuple[str, ...], ...] | None = None
    distances: tuple[DistanceId, ...] = USUAL
    cells: Mapping[str, Any] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class BoundMarginal:
    """Marginal with the counts of each synthetic table; all of it public."""

    marginal: Marginal
    copies: tuple[NDArray[np.int64], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        return self.marginal.columns

    @property
    def ways(self) -> int:
        """Number of its columns."""
        return len(self.marginal.partitions)


# Without slots, so that kinds are looked up once.
@dataclass(frozen=True, eq=False, kw_only=True)
class BoundProfile:
    """Marginals of the synthetic tables, with their counts; all of it public.

    Attributes
    ----------
    tables
        The synthetic tables, and the private one if there is any.
    schema
        The columns and their kinds.
    unit
        The privacy unit.
    columns
        The columns that are profiled, with their cells, in the order of the first table.
    partitions
        The cells of each of ``columns``, as its marginals have them.
    marginals
        The marginals, by ways, then in the order of the columns.
    ordered
        One per ordered column, for Kolmogorov-Smirnov; none if that is not wanted.
    steps
        One per bounded ordered column, for the earth mover's distance; none if it is not wanted.
    unseen
        Whether a row holds a value that no synthetic table has.
    left_out
        Columns and marginals that are not profiled, with the reason.
    notes
        Remarks to show.
    copy_rows
        Number of rows of each synthetic table, as they count.
    """

    tables: SyntheticTables
    schema: Schema
    unit: PrivacyUnit | None
    columns: tuple[ProfiledColumn, ...]
    partitions: tuple[Partition, ...]
    marginals: tuple[BoundMarginal, ...]
    ordered: tuple[BoundMarginal, ...]
    steps: tuple[BoundMarginal, ...]
    unseen: RowMap
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    copy_rows: tuple[int, ...]

    @property
    def private(self) -> Table:
        """Private table; TypeError if there is none."""
        if self.tables.private is None:
            raise TypeError("nothing can be measured without a private table")
        return self.tables.private

    @cached_property
    def kinds(self) -> Kinds:
        """Columns that are profiled, with their kinds."""
        names = sorted(each.name for each in self.columns)
        return tuple((name, str(self.schema[name])) for name in names)

    def kinds_of(self, columns: Sequence[str]) -> Kinds:
        """Kinds of some of the columns."""
        return tuple((name, kind) for name, kind in self.kinds if name in columns)

    def measurement_set(self, measurements: Sequence[Measurement[Any]]) -> MeasurementSet:
        """``measurements`` with the engine, the tables and the unit that they need."""
        return MeasurementSet(
            self.tables.engine,
            self.private,
            self.schema,
            self.unit,
            tuple(measurements),
            tuple(note for note in self.notes if note.startswith(WARNING)),
        )


def bind_profile(
    tables: SyntheticTables, request: ProfileRequest, unit: PrivacyUnit | None = None
) -> BoundProfile:
    """Profile bound to the synthetic tables, which are read once; of the private one the header.

    Raises
    ------
    PqdError
        TableError or ParameterError for a column, cells or a marginal that cannot be; and
        NothingSelectedError where no column is left.
    """
    raise NotImplementedError
