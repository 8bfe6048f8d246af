"""Request of a profile: its marginals, distances and cells, as a caller wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pqd.column_facts import Facts, StatedCells
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.reports.models.profile import DistanceId

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
    cells: Mapping[str, StatedCells] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)

    @property
    def named(self) -> tuple[str, ...] | None:
        """Columns that the caller names, also by marginals of theirs; None for all."""
        if self.marginals is None:
            return self.columns
        return tuple(dict.fromkeys((*(self.columns or ()), *chain.from_iterable(self.marginals))))

    def mentioned(self, unit: PrivacyUnit | None) -> set[str] | None:
        """Names of the columns that a run reads; None for all."""
        return None if self.named is None else {*self.named, *([unit.column] if unit else [])}
