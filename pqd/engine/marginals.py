"""Marginals: rows counted by the cells of one or several columns; the cells are public."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.partitions import Partition
    from pqd.engine.scan_plan import PrivacyUnit

    Codes = Mapping[Partition, NDArray[np.int64]]


# Two marginals are one only if they are the same object: a scan counts each object once.
@dataclass(frozen=True, eq=False)
class RowMap(ABC):
    """Map of each row to one of ``size`` cells, by the cells of its columns alone; public.

    Conformers: Marginal, Unseen, Predictions (pqd/distances/target.py).
    """

    partitions: tuple[Partition, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(partition.column for partition in self.partitions)

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of cells."""

    @abstractmethod
    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Cell of each row, ``0 .. size - 1``, by the codes of its columns.

        The cell of one row depends on that row alone.
        """

    @abstractmethod
    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """All that the cell of a row is a function of, for a cache key."""


@dataclass(frozen=True, eq=False)
class Marginal(RowMap):
    """Marginal of one or several columns: a cell for each combination of theirs.

    The first column counts slowest: ``counts.reshape(shape)`` has an axis for each column.
    """

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(partition.size for partition in self.partitions)

    @property
    def size(self) -> int:
        """Number of cells: the product of the columns'."""
        return math.prod(self.shape)

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Cell of each row."""
        first, *others = self.partitions
        cells = codes[first]
        for partition in others:
            cells = cells * partition.size + codes[partition]
        return cells

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Columns and their cells."""
        return ["marginal", [partition.facts() for partition in self.partitions]]


@dataclass(frozen=True, eq=False)
class Unseen(RowMap):
    """Whether any column of a row holds a value that the copy never has: cell 1, else 0."""

    @property
    def size(self) -> int:
        """Two."""
        return 2

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Cell of each row."""
        unseen = [codes[one] == one.unseen for one in self.partitions if one.unseen is not None]
        rows = next(iter(codes.values())).size
        any_unseen: NDArray[np.bool_] = np.logical_or.reduce(unseen or [np.zeros(rows, bool)])
        return any_unseen.astype(np.int64)

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Columns and their cells."""
        return ["unseen", [partition.facts() for partition in self.partitions]]


@dataclass(frozen=True)
class MarginalPlan:
    """Row maps that one scan counts; ``key`` chooses which rows of a person are kept.

    With a ``unit`` at most ``max_rows`` rows of each person are kept.
    """

    marginals: tuple[RowMap, ...]
    unit: PrivacyUnit | None = None
    key: bytes = field(default=b"", repr=False)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Every distinct partition."""
        return tuple(dict.fromkeys(one for each in self.marginals for one in each.partitions))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(sorted({partition.column for partition in self.partitions}))


@dataclass(frozen=True, slots=True, repr=False)
class MarginalCounts:
    """Rows in each cell of each row map of a plan."""

    counts: Mapping[RowMap, NDArray[np.int64]]

    def __getitem__(self, marginal: RowMap) -> NDArray[np.int64]:
        """Rows in each cell of ``marginal``."""
        return self.counts[marginal]

    def __repr__(self) -> str:
        """Name of the type alone: what it counts may be private, and a traceback may show this."""
        return "MarginalCounts(...)"
